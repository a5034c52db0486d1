/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs in their store: what a worker changes there is charged before, and noted for the book.
 * The worker that has the job calls these. */
#ifndef TSEED_JOB_STORE_H
#define TSEED_JOB_STORE_H

#include "image/tseed_cutter.h"
#include "work/tseed_run.h"

/* Whether workers are to leave this run at the next file; takes a tseed_run_t, as tseed_stop_t
 * wants it. */
int tseed_job_is_stopped(void *run);

/* Sets the outcome of a job whose store has failed with `rv`. `store` is NULL when it can't be
 * opened. */
void tseed_job_no_store(tseed_job_t *job, tseed_store_t *store, apr_status_t rv);

/* Finds which wanted tiles exist. */
void tseed_job_check(tseed_store_t *store, tseed_job_t *job);

/* Gives back what was charged for a change and not needed. What the change has freed is given back
 * when the change is booked: until then the book has it still, and would be beyond the limit if
 * others had it as well. */
void tseed_job_settle(tseed_job_t *job, int64_t allocated, int files, const tseed_effect_t *effect);

/* Notes the effect of a change of one tile. */
void tseed_job_note(tseed_job_t *job, const tseed_tile_t *tile, const tseed_effect_t *effect);

/* Stores an encoded tile, as a link to a shared file where that may be. EDQUOT: an account refuses.
 * Fails also when the store does. */
apr_status_t tseed_job_store_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                                  const tseed_encoded_t *encoded);

#endif
