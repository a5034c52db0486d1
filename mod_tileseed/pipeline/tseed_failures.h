/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Failures: the log tells of answers of the upstream that failed. A metatile that is given up is a
 * loss. Main thread only. */
#ifndef TSEED_FAILURES_H
#define TSEED_FAILURES_H

#include "books/tseed_jobs.h"
#include "books/tseed_marks.h"
#include "books/tseed_quota_wait.h"
#include "pipeline/tseed_sizing.h"
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

typedef struct tseed_failures_t tseed_failures_t;

/* Makes the list of losses, which is empty and lives in context->pool. */
tseed_failures_t *tseed_failures_create(const tseed_context_t *context, tseed_session_t *session,
                                        tseed_jobs_t *jobs);

/* Gives a metatile up: puts its job back, and has the loss recorded in the next transaction. */
void tseed_failures_give_up(tseed_failures_t *failures, tseed_job_t *job);

/* Whether the task of a run has given up a metatile that has some of these tiles, be it in the life
 * of an earlier seeder. Fails when the database does. */
apr_status_t tseed_failures_have(int *have, tseed_failures_t *failures, tseed_run_t *run,
                                 const tseed_range_t *tiles);

/* The first loss that the database does not have, then by `next`; NULL: there is none. */
const tseed_loss_t *tseed_failures_first(const tseed_failures_t *failures);

/* Takes that loss off the list. The caller frees it. NULL: there is none. */
tseed_loss_t *tseed_failures_take(tseed_failures_t *failures);

/* Counts a failed answer. Logs it now, or with others in one line a minute. now: monotonic. */
void tseed_failures_note(tseed_run_t *run, const char *cause, apr_time_t now);

/* Logs the failed answers since the last line about them, if that line is a minute old. */
void tseed_failures_summarise(tseed_run_t *run, apr_time_t now);

/* Logs the failed answers since the last line about them. */
void tseed_failures_say(tseed_run_t *run, apr_time_t now);

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

typedef struct tseed_retry_t tseed_retry_t;

/* Makes the retries of the tasks' runs, in context->pool. */
tseed_retry_t *tseed_retry_create(const tseed_context_t *context, const tseed_runs_t *runs,
                                  tseed_failures_t *failures, tseed_sizing_t *sizing);

/* The record of the client that fetches again what is due. It is the module's. */
tseed_client_t *tseed_retry_client(tseed_retry_t *retry);

/* Takes a job whose answer was no picture: the job waits to be fetched again, or is given up. now:
 * monotonic. */
void tseed_retry_put(tseed_retry_t *retry, tseed_job_t *job, apr_time_t now);

/* Has jobs that are due fetched again, or gives them up. now: monotonic. */
void tseed_retry_release(tseed_retry_t *retry, apr_time_t now);

/* Notes an answer of a task's upstream, before put: a picture, or none. A run whose upstream
 * refuses the credentials or the layer learns so from the first answers: all others would be the
 * same. It then waits, and one request asks again and again, with growing pauses. now: monotonic.
 */
void tseed_retry_note(const tseed_job_t *job, apr_time_t now);

/* Whether a run waits because its upstream refuses it; and whether it may send a request. now:
 * monotonic. */
int tseed_retry_is_refused(const tseed_run_t *run);
int tseed_retry_may_ask(const tseed_run_t *run, apr_time_t now);

/* Has the jobs of a run fetched again at once, and lets a run ask that is refused. now: monotonic.
 */
void tseed_retry_hurry(tseed_run_t *run, apr_time_t now);

/* How long to wait after so many failures in a row, at least one. The wait grows exponentially; up
 * to a quarter is added or taken away at random, so that jobs which failed together do not come
 * back together. */
apr_interval_time_t tseed_retry_back_off(int failures);

/* The same with a random number of the caller's, 0 <= random < 1. Pure. */
apr_interval_time_t tseed_retry_wait(int failures, double random);

#endif
