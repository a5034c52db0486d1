/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What jobs do in a store. A change is charged before it is made, and noted for the book
 * afterwards. The worker that has the job calls these. */
#ifndef TSEED_JOB_STORE_H
#define TSEED_JOB_STORE_H

#include "image/tseed_cutter.h"
#include "work/tseed_run.h"

/* Whether workers are to leave this run at the next file; takes a tseed_run_t, as tseed_stop_t
 * wants it. */
int tseed_job_is_stopped(void *run);

/* Sets the outcome of a job whose store has failed with `rv`, and the place. `store` is NULL when
 * it can't be opened. */
void tseed_job_no_store(tseed_job_t *job, tseed_store_t *store, apr_status_t rv);

/* Takes what storing a tile has failed with. If the tile's own file can't be replaced, the tile is
 * noted as lacking, the cause names the file, and the job goes on: returns 1. Else the outcome is
 * set as by tseed_job_no_store: returns 0. */
int tseed_job_blame(tseed_job_t *job, tseed_store_t *store, const tseed_tile_t *tile,
                    apr_status_t rv);

/* Finds which wanted tiles exist. */
void tseed_job_check(tseed_store_t *store, tseed_job_t *job);

/* Gives back the part of a charge that the change did not need. Bytes and files that the change has
 * freed are given back when the change is booked. Until then the book still has them: if another
 * write took them now, the book would exceed the limit. */
void tseed_job_settle(tseed_job_t *job, int64_t allocated, int files, const tseed_effect_t *effect);

/* Notes the effect of a change of one tile. */
void tseed_job_note(tseed_job_t *job, const tseed_tile_t *tile, const tseed_effect_t *effect);

/* Charges the unfinished files that the last call has left in the store, since no page has them,
 * and says so in the log. Call it before what that call was charged is released. */
void tseed_job_charge_unremoved(tseed_store_t *store, const tseed_job_t *job);

/* Stores an encoded tile, as a link to a shared file where that may be. EDQUOT: an account refuses.
 * Fails also when the store does. */
apr_status_t tseed_job_store_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                                  const tseed_encoded_t *encoded);

#endif
