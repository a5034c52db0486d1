/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The ends of the jobs of tasks: the sink (pipeline/tseed_flow.h) that counts what was made, has
 * metatiles fetched again whose answer was no picture, gives metatiles up, and pauses a task whose
 * store can't be used. It also moves a run on to its own end. Main thread only. */
#ifndef TSEED_ENDS_H
#define TSEED_ENDS_H

#include "books/tseed_marks.h"
#include "books/tseed_quota_wait.h"
#include "pipeline/tseed_flow.h"
#include "state/tseed_state.h"
#include "work/tseed_session.h"

/* A loss, until the database has it: only then its position is finished. malloc'd. */
typedef struct tseed_loss_t {
    tseed_run_t *run;
    int64_t position, skipped, made, failed; /* tiles */
    int64_t bytes;                           /* of the tiles made */
    unsigned trace;                          /* on the board */
    tseed_failure_t record;                  /* its cause points to `cause` */
    char cause[TSEED_CAUSE_SIZE];
    struct tseed_loss_t *next;
} tseed_loss_t;

typedef struct tseed_ends_t tseed_ends_t;

/* What the ends use. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_runs_t *runs;
    tseed_jobs_t *jobs;
    tseed_savings_t *savings;
    tseed_quota_wait_t *quota_wait;
    const tseed_display_t *display;
} tseed_ends_uses_t;

/* Makes the ends, without a loss, in context->pool. */
tseed_ends_t *tseed_ends_create(const tseed_ends_uses_t *uses);

/* The sink of the jobs of tasks, and the record of the client that has jobs fetched again when they
 * are due. Both are the module's. */
const tseed_sink_t *tseed_ends_sink(const tseed_ends_t *ends);
tseed_client_t *tseed_ends_client(tseed_ends_t *ends);

/* Begins nothing more of a run. Ends its transfers at once, and its workers at the next file. */
void tseed_ends_drain(tseed_ends_t *ends, tseed_run_t *run);

/* A run that has not begun any job ends: its state is set. */
void tseed_ends_conclude(tseed_run_t *run);

/* The process stops: begins nothing more of a run, which goes on in the next process. */
void tseed_ends_leave(tseed_run_t *run);

/* Moves a run on to ENDING if nothing of it is left to do. */
void tseed_ends_settle(tseed_ends_t *ends, tseed_run_t *run);

/* Whether the task of a run has given up a metatile that has some of these tiles, be it in the life
 * of an earlier seeder. Fails when the database does. */
apr_status_t tseed_ends_have_lost(int *have, tseed_ends_t *ends, tseed_run_t *run,
                                  const tseed_range_t *tiles);

/* The first loss that the database does not have, then by `next`; NULL: there is none. */
const tseed_loss_t *tseed_ends_losses(const tseed_ends_t *ends);

/* The database has all losses: their positions are finished now, and a task with too many of them
 * ends. */
void tseed_ends_recorded(tseed_ends_t *ends);

/* Counts a failed answer. Logs it now, or with others in one line a minute. now: monotonic. */
void tseed_ends_note(tseed_run_t *run, const char *cause, apr_time_t now);

/* Logs the failed answers since the last line about them, if that line is a minute old. */
void tseed_ends_summarise(tseed_run_t *run, apr_time_t now);

/* Whether a run may send a request. A run whose upstream refuses the credentials or the layer
 * learns so from the first answers: all others would be the same. It then waits, and one request
 * asks again and again, with growing pauses. now: monotonic. */
int tseed_ends_may_ask(const tseed_run_t *run, apr_time_t now);

/* Has the jobs of a run fetched again at once, and lets a run ask that is refused. now: monotonic.
 */
void tseed_ends_hurry(tseed_run_t *run, apr_time_t now);

/* How long to wait after so many failures in a row, at least one. The wait grows exponentially; up
 * to a quarter is added or taken away by the random number 0 <= random < 1, so that jobs which
 * failed together do not come back together. Pure. */
apr_interval_time_t tseed_ends_wait(int failures, double random);

/* Brings live counts of truncates, rates, and summaries of failed answers up to date. module: the
 * ends; now: monotonic. Once a tick, and at the end. */
void tseed_ends_tick(void *module, apr_time_t now);

#endif
