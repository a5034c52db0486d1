/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutoff: a truncate is a line in time, and a reseed. Main thread only.
 *
 *      answer fetched ──┐
 *                       ├─ truncate taken in ──► its tiles are removed ──► done
 *      answer fetched ──┘         │                        │
 *                                 │                        └─ nothing is derived from its tiles
 *                                 └─ what was fetched before is worth nothing after it
 *
 * A truncate says that its tiles are out of date. All that was learnt of them before is out of date
 * as well: answers, pictures of derived metatiles, what a job has learnt of its answer (an origin,
 * a finding), findings that were saved. This is one rule, and this module alone says what is out of
 * date: what lies in the area of the truncate, or above it, because a finding there speaks of the
 * tiles below it.
 *
 *      when it is taken in   Jobs in the area become stale (accounts.is_stale). Their answers are
 *                            asked for again. A worker that is storing an answer just then may go
 *                            on: the truncate removes those tiles, because a truncate does not
 *                            begin in a page where a worker writes. Nothing is learnt from a stale
 *                            job (savings/tseed_savings.c).
 *      until it is done      The line stays open. Nothing is derived from tiles in the area: some
 *                            of them are still there. A finding that is read from the database
 *                            meanwhile is asked for here.
 *
 * A reseed says the same of its tiles, but makes them itself: the jobs of other tasks and requests
 * become stale when the reseed is taken in, so that no answer of before is stored or learnt from
 * behind it. No line stays open.
 *
 * Lines are not saved. Answers die with the seeder that has asked for them, and the next seeder
 * draws the lines of unfinished truncates anew before it does anything.
 */
#ifndef TSEED_CUTOFF_H
#define TSEED_CUTOFF_H

#include "work/tseed_context.h"
#include "work/tseed_run.h"

typedef struct tseed_cutoff_t tseed_cutoff_t;

/* Makes the module in the context's pool; no line is open. */
tseed_cutoff_t *tseed_cutoff_create(const tseed_context_t *context, const tseed_runs_t *runs);

/* Opens the line of a truncate, when the truncate is taken in, and makes jobs stale; of a reseed
 * does the latter alone. The caller then forgets what was found (not for a reseed), and sends back
 * what waits with a stale answer. */
void tseed_cutoff_draw(tseed_cutoff_t *cutoff, const tseed_task_t *task,
                       const tseed_tileset_t *tileset);

/* Closes the line of a truncate that has ended, if there is one. */
void tseed_cutoff_end(tseed_cutoff_t *cutoff, int64_t truncate);

/* Whether a truncate of a tile set that is not done, by the tile set's key, makes out of date what
 * was known of some tiles. */
int tseed_cutoff_has(const tseed_cutoff_t *cutoff, const char *tileset, const tseed_range_t *tiles);

/* The truncate that is to remove tiles from which some tiles of a run's tile set are derived: they
 * must not be derived before it is done. 0: there is none. */
int64_t tseed_cutoff_bars(const tseed_cutoff_t *cutoff, const tseed_run_t *run,
                          const tseed_range_t *tiles);

/* Makes the answer that a job has, or will have, one of before a line, or of before writes that
 * have failed. */
static inline void tseed_cutoff_doubt(tseed_job_t *one)
{
    one->accounts.is_stale = tseed_job_leader(one)->accounts.is_stale = 1;
}

#endif
