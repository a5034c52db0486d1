/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The ends of a task's job: its metatile or level is finished, or was cut short. The progress
 * counts what was done, the board shows it, and the job is put back. Main thread only. */
#ifndef TSEED_ENDS_H
#define TSEED_ENDS_H

#include "pipeline/tseed_jobs.h"
#include "pipeline/tseed_quota_wait.h"
#include "usage/tseed_display.h"

typedef struct tseed_ends_t tseed_ends_t;

/* Makes the ends, in context->pool. */
tseed_ends_t *tseed_ends_create(const tseed_context_t *context, tseed_jobs_t *jobs,
                                const tseed_display_t *display);

/* Finishes a metatile. `coming`: how many jobs, with this one, have come back together and are not
 * finished; each took an equal share of the time. */
void tseed_ends_finish(tseed_ends_t *ends, tseed_job_t *job, int coming);

/* Finishes a level. Tiles that the levels so far did not have count as skipped. */
void tseed_ends_finish_level(tseed_ends_t *ends, tseed_job_t *job);

/* Counts the files that a truncate has removed, at most as many as the levels up to `position`
 * hold: a truncate that goes on may meet tiles that a running seed has put back. */
void tseed_ends_count_removed(tseed_run_t *run, int64_t position);

/* Puts back a job that was cut short, and the jobs that it leads. What they wrote or removed counts
 * if nobody will go over their metatiles again. */
void tseed_ends_discard(tseed_ends_t *ends, tseed_job_t *leader);

#endif
