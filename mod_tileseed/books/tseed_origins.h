/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The origins: which answer of the upstream each metatile in the cache came from, so that a reseed
 * leaves alone what did not change. Main thread only, unless another one is named. */
#ifndef TSEED_ORIGINS_H
#define TSEED_ORIGINS_H

#include "books/tseed_cache.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

typedef struct tseed_origins_t tseed_origins_t;

/* Makes the origins in the context's pool; none is in memory yet. */
tseed_origins_t *tseed_origins_create(const tseed_context_t *context,
                                      const tseed_session_t *session, const tseed_cache_t *cache);

/* The recipe by which a task makes tiles of answers; never 0. `scratch` gets the text of which the
 * recipe is the digest. Any process and thread. */
uint64_t tseed_origins_recipe(const tseed_task_t *task, const tseed_tileset_t *tileset,
                              apr_pool_t *scratch);

/* Compares the recipe of a run with the recipe of its tile set, booked->record.recipe, and sets the
 * latter. Other recipes' origins are forgotten. */
void tseed_origins_follow(tseed_origins_t *origins, tseed_run_t *run);

/* Forgets the pages of a tile set that leaves the book; the database is the caller's matter. */
void tseed_origins_leave(tseed_origins_t *origins, const tseed_book_tileset_t *booked);

/* The shape of the cell that was asked for when a metatile was made. {0, 0}: that is not known. */
tseed_cell_shape_t tseed_origins_cell(tseed_origins_t *origins, tseed_run_t *run,
                                      const tseed_metatile_t *metatile);

/* Before a job, with those that it leads, is fetched, when its address is known: sets what its
 * answer is to be compared with, and whether the upstream is asked for a change only. */
void tseed_origins_ask(tseed_origins_t *origins, tseed_job_t *leader, const char *address);

/* Takes in what a CUT that has come back says of its metatile's origin: that its tiles are of no
 * answer if they were made of a shade. */
void tseed_origins_take(tseed_origins_t *origins, tseed_job_t *job);

/* Forgets the origins of all metatiles of a tile set, here and with the next save: what was written
 * may be lost. */
void tseed_origins_forget_all(tseed_origins_t *origins, tseed_book_tileset_t *booked);

/* Forgets the origins of the metatiles that have some tiles of a run's tile set. */
void tseed_origins_forget_tiles(tseed_origins_t *origins, tseed_run_t *run,
                                const tseed_range_t *tiles);

/* Forgets the origin of a job's metatile: its tiles may be of several answers, or of none that
 * counts. */
void tseed_origins_forget(tseed_origins_t *origins, tseed_job_t *job);

/* Writes what has changed into the open transaction, behind the changes of the book. Fails when the
 * database does: then all is written again the next time. */
apr_status_t tseed_origins_write(const tseed_origins_t *origins);

/* Notes that the transaction is committed; forgets the origin pages that nobody has used lately. */
void tseed_origins_saved(tseed_origins_t *origins);

#endif
