/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Failures: the log tells of answers of the upstream that failed. A metatile that is given up is a
 * loss. Main thread only. */
#ifndef TSEED_FAILURES_H
#define TSEED_FAILURES_H

#include "pipeline/tseed_jobs.h"
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

#endif
