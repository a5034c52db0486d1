/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The flow: the way of a metatile's job, the same for a task and for requests that wait.
 *
 *      start ──► CHECK ──► wanted ──► FETCH ──► ready ──► CUT ──► finish
 *                  │          ▲           │                  │
 *                  │          └─ anew ◄───┴──────────────────┤
 *                  └► finish                                 └► ready, when room has come
 *
 * `wanted` and `ready` are queues of the job's run. Who feeds them says when a job goes on
 * (pipeline/tseed_dispatch.h, seeder/tseed_misses.h). What a stage has come to is judged here, in
 * one place. What that means for those who want the metatile, their sink knows. A truncate's levels
 * go this way as well, from `ready` to REMOVE to their end. Main thread only. */
#ifndef TSEED_FLOW_H
#define TSEED_FLOW_H

#include "fleet/tseed_doors.h"
#include "books/tseed_holds.h"
#include "books/tseed_jobs.h"
#include "pipeline/tseed_health.h"
#include "savings/tseed_savings.h"

/* What becomes of a job whose stage is over, or that has just begun. */
typedef enum {
    TSEED_FLOW_ON,      /* the next stage */
    TSEED_FLOW_DONE,    /* nothing is left to do */
    TSEED_FLOW_ANEW,    /* there is no answer that counts: it is fetched once more */
    TSEED_FLOW_AGAIN,   /* a worker goes on with the same stage */
    TSEED_FLOW_FAILED,  /* the upstream gave no picture */
    TSEED_FLOW_LOST,    /* it can't be made, whoever tries: the cause says why */
    TSEED_FLOW_REFUSED, /* the store or an account refuses; its sink says what that means: */
    TSEED_FLOW_WAITS,   /* it waits with its answer until the store may take it */
    TSEED_FLOW_DROPPED  /* the work is cut short */
} tseed_verdict_t;

/* Who wants the metatiles of jobs: a task (pipeline/tseed_ends.h), or requests
 * (seeder/tseed_misses.h). A job that is handed to finish, give_up, failed or discard is the sink's
 * from then on: the sink puts it back, or into a list of its run. `hear`, `prepare` and `pause` may
 * be NULL. */
typedef struct tseed_sink_t {
    void *module; /* handed to each of these */
    /* An answer has come, or none will: before anything else becomes of it. */
    void (*hear)(void *module, const tseed_job_t *leader);
    /* The job has its picture, and will wait for a worker. Returns the tiles that are to be handed
     * over if they can't be stored, in the place of the job's `unstored`, malloc'd; or NULL. */
    tseed_unstored_t *(*prepare)(void *module, const tseed_job_t *job);
    /* DONE. `coming`: how many jobs, with this one, have come back together and are not judged;
     * each took an equal share of the time. */
    void (*finish)(void *module, tseed_job_t *job, int coming);
    /* LOST. */
    void (*give_up)(void *module, tseed_job_t *job);
    /* FAILED: joined jobs only if their upstream is away. */
    void (*failed)(void *module, tseed_job_t *leader);
    /* REFUSED: returns what becomes of the job, any other verdict than AGAIN, DONE and ON. */
    tseed_verdict_t (*refuse)(void *module, tseed_job_t *job);
    /* Jobs of a run WAIT, refused as `refused` was, a job of the same tile set: the run pauses. */
    void (*pause)(void *module, tseed_run_t *run, const tseed_job_t *refused);
    /* DROPPED, with those that it leads. */
    void (*discard)(void *module, tseed_job_t *leader);
} tseed_sink_t;

typedef struct tseed_flow_t tseed_flow_t;

/* What the flow uses. */
typedef struct {
    const tseed_context_t *context;
    const tseed_runs_t *runs;
    tseed_jobs_t *jobs;
    tseed_holds_t *holds;
    tseed_savings_t *savings;
    tseed_health_t *health;
    const tseed_fleet_t *fleet;
} tseed_flow_uses_t;

/* Makes the flow, in context->pool. */
tseed_flow_t *tseed_flow_create(const tseed_flow_uses_t *uses);

/* Judges a job by its stage and what has come of it. Pure. */
tseed_verdict_t tseed_flow_judge(const tseed_job_t *job);

/* Makes the job of a metatile of a run, which holds its pages. NULL: another run is at work there.
 */
tseed_job_t *tseed_flow_begin(tseed_flow_t *flow, tseed_run_t *run, int64_t position,
                              const tseed_sink_t *sink);

/* Makes the job of a level of a truncate, which waits in `ready`. */
tseed_job_t *tseed_flow_begin_level(tseed_flow_t *flow, tseed_run_t *run, int64_t position,
                                    const tseed_sink_t *sink);

/* Starts a list of jobs that have just begun, of one cell of shape `cell`. They go to CHECK, or, if
 * not `is_to_check`, wait to be fetched. `obstacle`: why their metatile can't be made, or NULL. A
 * job that is alone is given up for that, or when the seeder has crashed twice at it. */
void tseed_flow_start(tseed_flow_t *flow, tseed_job_t *list, int is_to_check,
                      tseed_cell_shape_t cell, const char *obstacle);

/* Begins a stage of a job with a worker. */
void tseed_flow_work(tseed_flow_t *flow, tseed_job_t *job, tseed_stage_t stage);

/* Gets the picture of a job, from the upstream or of the tiles below. */
void tseed_flow_get(tseed_flow_t *flow, tseed_job_t *job);

/* Lets a job that is to be fetched take the answer of a partner's request. Returns whether it
 * does. */
int tseed_flow_follow(tseed_flow_t *flow, tseed_job_t *job);

/* Lets a job wait to be fetched. What it has of an answer is freed: while a run's answers take all
 * the memory that they may take, no other one is asked for. */
void tseed_flow_want(tseed_job_t *leader);

/* Lets a job wait for a worker that cuts it: it has its picture, or needs none. */
void tseed_flow_cut(tseed_job_t *job);

/* Sends the jobs of a run back to be fetched again whose answers wait for a worker and are stale.
 * Those under way come back to the same. */
void tseed_flow_send_back(tseed_run_t *run);

/* The store of a background run's tile set can't be looked at, as a count has found. Tasks of the
 * tile set pause, and tiles that requests wait for are made without the store. flow: a
 * tseed_flow_t. */
void tseed_flow_no_store(void *flow, tseed_job_t *count);

#endif
