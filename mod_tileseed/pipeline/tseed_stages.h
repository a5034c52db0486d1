/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The stages of a job: the job of a task goes from stage to stage until its metatile is finished or
 * given up. Other clients begin single stages here. Main thread only. */
#ifndef TSEED_STAGES_H
#define TSEED_STAGES_H

#include "books/tseed_holds.h"
#include "books/tseed_marks.h"
#include "books/tseed_origins.h"
#include "pipeline/tseed_failures.h"
#include "pipeline/tseed_health.h"
#include "pipeline/tseed_sharing.h"
#include "pipeline/tseed_sizing.h"

typedef struct tseed_stages_t tseed_stages_t;

/* What the stages use. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_runs_t *runs;
    tseed_jobs_t *jobs;
    tseed_failures_t *failures;
    tseed_retry_t *retry;
    tseed_quota_wait_t *quota_wait;
    tseed_holds_t *holds;
    tseed_origins_t *origins;
    tseed_sizing_t *sizing;
    tseed_sharing_t *sharing;
    tseed_health_t *health;
    tseed_ends_t *ends;
    const tseed_display_t *display;
} tseed_stages_uses_t;

/* Makes the stages, in context->pool. */
tseed_stages_t *tseed_stages_create(const tseed_stages_uses_t *uses);

/* The record of the client that takes the jobs of tasks. It is the module's. */
tseed_client_t *tseed_stages_client(tseed_stages_t *stages);

/* Begins a stage of a job with a worker. */
void tseed_stages_work(tseed_stages_t *stages, tseed_job_t *job, tseed_stage_t stage);

/* Begins FETCH of a job with the fetcher. */
void tseed_stages_fetch(tseed_stages_t *stages, tseed_job_t *job);

/* Lets a job that is to be fetched take the answer of a partner's request. Returns whether it
 * does. */
int tseed_stages_follow(tseed_stages_t *stages, tseed_job_t *job);

/* Takes a fetch off its run's counts when it has come back, whatever its result. Where the
 * configuration says so, an answer "there is no tile" becomes an answer without a body. */
void tseed_stages_arrive(tseed_job_t *job);

/* The store of a background run's tile set can't be looked at, as a count has found. Tasks of the
 * tile set pause, and tiles that requests wait for are made without the store. */
void tseed_stages_no_store(void *stages, tseed_job_t *count);

/* Begins nothing more of a run. Ends its transfers at once, and its workers at the next file. */
void tseed_stages_drain(tseed_stages_t *stages, tseed_run_t *run);

/* Moves a run on to ENDING if nothing of it is left to do. */
void tseed_stages_settle(tseed_stages_t *stages, tseed_run_t *run);

/* Brings live counts of truncates, rates, and summaries of failed answers up to date. module: the
 * stages; now: monotonic. Once a tick, and at the end. */
void tseed_stages_tick(void *module, apr_time_t now);

#endif
