/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Background runs: work in a tile set for no task. Such work makes tiles that requests wait for,
 * and counts or removes pages. Main thread only.
 *
 * A tile set has one background run as long as there is work, and a minute longer unless there are
 * many such runs. A background run has no place on the board and in the database. When the seeder
 * dies, the next seeder begins the work anew.
 */
#ifndef TSEED_BACKGROUND_H
#define TSEED_BACKGROUND_H

#include "books/tseed_cache.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

typedef struct tseed_background_t tseed_background_t;

/* Makes the keeper of runs->background, in context->pool. */
tseed_background_t *tseed_background_create(const tseed_context_t *context, tseed_runs_t *runs,
                                            tseed_session_t *session, tseed_cache_t *cache);

/* The record of the client that forgets runs which nobody uses. It is the module's. */
tseed_client_t *tseed_background_client(tseed_background_t *background);

/* Finds the run of a tile set, or makes it. APR_NOTFOUND: no such tile set is configured.
 * Any other error: the database can't record the tile set now; the error has been logged. */
apr_status_t tseed_background_get(tseed_run_t **run, tseed_background_t *background,
                                  const tseed_names_t *names);

/* Finds the run of a tile set in the book, or makes it; NULL: not now. */
tseed_run_t *tseed_background_of(tseed_background_t *background,
                                 const tseed_book_tileset_t *booked);

/* Dismisses a run if nothing is under way in it. Returns whether it did. */
int tseed_background_leave(tseed_background_t *background, tseed_run_t *run);

#endif
