/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The wait for room: an account of the disk quota has refused a write, and the run waits until
 * there is room. The module knows how much room is wanted. It sets the reasons of runs that wait.
 * The eviction makes room. Main thread only. */
#ifndef TSEED_QUOTA_WAIT_H
#define TSEED_QUOTA_WAIT_H

#include "books/tseed_free_space.h"
#include "books/tseed_marks.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"

/* What refused writes would have needed. */
typedef struct {
    tseed_account_t *account;
    tseed_amount_t amount; /* for all that the metatile lacks, */
    tseed_amount_t least;  /* and for a single tile of it */
} tseed_want_t;

typedef struct tseed_quota_wait_t tseed_quota_wait_t;

/* Makes the wait of all runs, in context->pool. Nothing is wanted. */
tseed_quota_wait_t *tseed_quota_wait_create(const tseed_context_t *context, tseed_runs_t *runs,
                                            const tseed_free_space_t *space,
                                            const tseed_display_t *display);

/* Takes a job that was refused room: its run waits until there is room, at most a second. */
void tseed_quota_wait_put(tseed_quota_wait_t *wait, const tseed_job_t *job);

/* A write of the run has succeeded: the run waits no more. A pause that is not over at `now` has
 * begun since the write, and goes on. */
void tseed_quota_wait_end(tseed_run_t *run, apr_time_t now);

/* Why a job can't be stored at all: it needs more than its quota allows. In scratch. NULL: the job
 * waits, because room may come. */
const char *tseed_quota_wait_refuse(const tseed_quota_wait_t *wait, const tseed_job_t *job);

/* What is wanted; NULL: nothing, or the store root in question has not been measured. */
const tseed_want_t *tseed_quota_wait_wanted(const tseed_quota_wait_t *wait);

/* Forgets what is wanted. The runs ask again when their second is over. */
void tseed_quota_wait_forget(tseed_quota_wait_t *wait);

/* There may be room: nothing is wanted any more, and each run that waits tries again. */
void tseed_quota_wait_wake(tseed_quota_wait_t *wait);

/* No page may go: each task that waits for room in an account (NULL: any) says why. The task goes
 * on by itself when that changes. */
void tseed_quota_wait_say(tseed_quota_wait_t *wait, const tseed_account_t *account,
                          const char *why);

/* Whether an account takes that amount once `leaving` has gone. */
int tseed_quota_wait_has_room(const tseed_account_t *account, tseed_amount_t amount,
                              tseed_amount_t leaving);

#endif
