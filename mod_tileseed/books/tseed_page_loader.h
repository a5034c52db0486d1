/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The page loader: the pages of the book out of the database, beside the work. Main thread only. */
#ifndef TSEED_PAGE_LOADER_H
#define TSEED_PAGE_LOADER_H

#include "books/tseed_cache.h"
#include "books/tseed_holds.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

typedef struct tseed_page_loader_t tseed_page_loader_t;

/* Makes the loader in the context's pool. */
tseed_page_loader_t *tseed_page_loader_create(tseed_context_t *context, tseed_session_t *session,
                                              const tseed_runs_t *runs, tseed_cache_t *cache,
                                              tseed_holds_t *holds);

/* Begins anew, each time that the tile sets of the cache have been loaded. */
void tseed_page_loader_begin(tseed_page_loader_t *loader);

/* Loads all pages of one tile set now, before tseed_page_loader_go only. Fails when the database
 * does. */
apr_status_t tseed_page_loader_load(tseed_page_loader_t *loader, tseed_book_tileset_t *booked);

/* Lets the other pages come with the turns of the loop. */
void tseed_page_loader_go(tseed_page_loader_t *loader);

/* Loads the next portion, once a turn. Returns whether that was the last one: the book can be
 * believed from now on. */
int tseed_page_loader_turn(tseed_page_loader_t *loader);

/* Whether another database is in the place of the database that is being read: the seeder starts
 * anew. */
int tseed_page_loader_is_lost(const tseed_page_loader_t *loader);

/* Why no task is begun, and how many pages have been read so far; in the context's scratch pool. */
const char *tseed_page_loader_reason(const tseed_page_loader_t *loader);

#endif
