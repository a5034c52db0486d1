/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The saved origins: a text for each page says which answers its tiles came from. The text is an
 * origin page (books/tseed_origin_page.h), which the seeder makes.
 *
 * Only the seeder's main thread calls these functions. A write joins the transaction that
 * tseed_state_begin began, or is a transaction of its own. The text of a page goes with the page.
 * Statuses as in tseed_state.h.
 */
#ifndef TSEED_ORIGIN_ROWS_H
#define TSEED_ORIGIN_ROWS_H

#include "layer/tseed_page.h"
#include "state/tseed_state.h"

/* *text in `pool`; "": there is none. */
apr_status_t tseed_origin_rows_load(tseed_state_t *state, const char **text, int64_t tileset,
                                    const tseed_page_t *page, apr_pool_t *pool);

/* Saves the text of a page, whether there was one or not. */
apr_status_t tseed_origin_rows_save(tseed_state_t *state, int64_t tileset, const tseed_page_t *page,
                                    const char *text);

/* Forgets the texts that may be wrong once a page is in doubt: the text of the page, and the texts
 * of the three pages one column before it, one row before it, and both. Metatiles of those three
 * pages may reach into the page. */
apr_status_t tseed_origin_rows_doubt(tseed_state_t *state, int64_t tileset,
                                     const tseed_page_t *page);

/* Likewise of all pages of these levels (bits). */
apr_status_t tseed_origin_rows_doubt_levels(tseed_state_t *state, int64_t tileset, uint64_t levels);

#endif
