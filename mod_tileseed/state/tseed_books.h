/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book in the database: tile sets, their pages, and notes.
 *
 * The row of a tile set has the sums of its pages, so that readers of the usage need no pages. Only
 * the seeder's main thread writes, but any process writes notes. A write joins the transaction that
 * tseed_state_begin began, or is a transaction of its own. Statuses as in tseed_state.h.
 *
 * Results live in the pool that a call takes.
 */
#ifndef TSEED_BOOKS_H
#define TSEED_BOOKS_H

#include "layer/tseed_page.h"
#include "protocol/tseed_usage.h"
#include "state/tseed_state.h"

/* All tile sets (tseed_tileset_record_t), by id, in `pool`. Any process. */
apr_status_t tseed_books_tilesets(tseed_state_t *state, apr_array_header_t **records,
                                  apr_pool_t *pool);

/* Forgets the tile set with that print, its pages and its origins. */
apr_status_t tseed_books_forget(tseed_state_t *state, uint64_t print);

/* Records a tile set anew and sets record->id to its number. If the database has a tile set with
 * the same print (by other names, or because an administrator has put another database in place),
 * that tile set is forgotten with its pages and origins. */
apr_status_t tseed_books_add(tseed_state_t *state, tseed_tileset_record_t *record);

/* Saves the place of a tile set, which follows its configuration. */
apr_status_t tseed_books_place(tseed_state_t *state, const tseed_tileset_record_t *record);

/* Saves what may change of a tile set: sums, completeness, levels in doubt, recipe. APR_NOTFOUND:
 * the database has no tile set, and so no pages, with that number. */
apr_status_t tseed_books_save(tseed_state_t *state, const tseed_tileset_record_t *record);

/* At most `most` pages (tseed_page_record_t) of a tile set behind the place `after` (NULL: from the
 * first on), by level, column and row, in `pool`. Any process. */
apr_status_t tseed_books_pages(tseed_state_t *state, apr_array_header_t **pages, int64_t tileset,
                               const tseed_page_t *after, int64_t most, apr_pool_t *pool);

/* What the pages of a tile set (0: of all tile sets) hold by level: tseed_usage_level_t by tile set
 * and level, in `pool`. Reads each of the pages. Any process. */
apr_status_t tseed_books_levels(tseed_state_t *state, apr_array_header_t **levels, int64_t tileset,
                                apr_pool_t *pool);

/* Saves a page, whether there was one or not; deletes it, and its origins. */
apr_status_t tseed_books_page_save(tseed_state_t *state, const tseed_page_record_t *record);
apr_status_t tseed_books_page_delete(tseed_state_t *state, const tseed_page_record_t *record);

/* A short text by a name of at most 64 letters: when the last clean-up was, and the like. get:
 * APR_NOTFOUND before the first set. Any process. */
apr_status_t tseed_books_note_get(tseed_state_t *state, const char **value, const char *name,
                                  apr_pool_t *pool);
apr_status_t tseed_books_note_set(tseed_state_t *state, const char *name, const char *value);
/* As get, in a transaction: nobody else sets the text or appends to it before its end. A note that
 * clients append to is taken so, or what comes meanwhile is lost. "" before the first set. */
apr_status_t tseed_books_note_hold(tseed_state_t *state, const char **value, const char *name,
                                   apr_pool_t *pool);
/* Puts `more` behind what the text is, in one step. */
apr_status_t tseed_books_note_append(tseed_state_t *state, const char *name, const char *more);

#endif
