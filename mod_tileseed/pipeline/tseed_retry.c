/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Retries: jobs wait in their run's list `to_retry`, by the time that they are due. */
#include "pipeline/tseed_retry.h"

#include <stdlib.h>

#include "base/tseed_clock.h"
#include "pipeline/tseed_join.h"

#define BACK_OFF_FIRST APR_USEC_PER_SEC
#define BACK_OFF_MOST  (30 * APR_USEC_PER_SEC)

struct tseed_retry_t {
    const tseed_context_t *context;
    const tseed_runs_t *runs;
    tseed_failures_t *failures;
    tseed_sizing_t *sizing;
    tseed_client_t client;
};

/* ---- how long to wait ---- */

apr_interval_time_t tseed_retry_wait(int failures, double random)
{
    apr_interval_time_t wait = BACK_OFF_FIRST << (failures < 6 ? failures - 1 : 5);

    wait = wait < BACK_OFF_MOST ? wait : BACK_OFF_MOST;
    return wait + (apr_interval_time_t)(random * (double)(wait / 2)) - wait / 4;
}

apr_interval_time_t tseed_retry_back_off(int failures)
{
    return tseed_retry_wait(failures, drand48());
}

/* ---- jobs ---- */

static void wait_to_retry(tseed_job_t *job, apr_time_t now)
{
    tseed_run_t *run = job->run;
    apr_interval_time_t asked = run->task->retry_wait;
    tseed_job_t **link = &run->to_retry;

    tseed_jobs_forget_answer(&job->transfer);
    job->due = now + (asked > 0 ? asked : tseed_retry_back_off(job->tries));
    while (*link && (*link)->due <= job->due) {
        link = &(*link)->next;
    }
    job->next = *link;
    *link = job;
}

static int is_lost(const tseed_retry_t *retry, const tseed_job_t *job, apr_time_t now)
{
    return job->attempts > job->run->task->retries ||
           now - job->first_failed > retry->context->settings->give_up;
}

/* Returns whether the upstream has answered anything since the job's failure, and so was not away.
 */
static int was_there(const tseed_retry_t *retry, const tseed_job_t *job)
{
    tseed_outlook_t outlook;

    tseed_fetcher_outlook(retry->context->fetcher, &outlook, job->transfer.upstream);
    return job->doubted && outlook.heard > job->doubted;
}

/* Counts a failure that was in doubt once it is in doubt no more. */
static void settle(const tseed_retry_t *retry, tseed_job_t *job)
{
    if (!job->joined && was_there(retry, job)) {
        job->attempts++;
        job->doubted = 0;
    }
}

/* When the upstream fails at nothing but this job, an earlier failure is settled only by the answer
 * to a probe, after which the job was sent, and failed, again. */
static void doubt(const tseed_retry_t *retry, tseed_job_t *job)
{
    const tseed_transfer_t *transfer = &job->transfer;

    settle(retry, job);
    job->doubted =
        transfer->http_status != 429 && transfer->retry_after == 0 ? transfer->ended : 0;
}

void tseed_retry_put(tseed_retry_t *retry, tseed_job_t *job, apr_time_t now)
{
    tseed_failures_note(job->run, job->cause, now);
    for (tseed_job_t *one = job; one; one = one->joined) {
        one->first_failed = one->tries++ ? one->first_failed : now;
    }
    if (job->stage == TSEED_STAGE_FETCH && job->transfer.result == TSEED_FETCH_AWAY) {
        doubt(retry, job);
    } else {
        job->attempts++;
        job->doubted = 0;
    }
    if (!job->joined && is_lost(retry, job, now)) {
        tseed_failures_give_up(retry->failures, job);
    } else {
        wait_to_retry(job, now);
    }
}

/* A request for several metatiles may have been too much for the upstream, which was there. */
static void part(tseed_retry_t *retry, tseed_job_t *leader)
{
    if (was_there(retry, leader)) {
        tseed_sizing_fail(retry->sizing, leader);
    }
    leader->doubted = 0; /* the request was: its metatiles are not */
    tseed_join_part(&leader->run->wanted, leader);
}

/* Takes a job out of the list when it is due. */
static void leave(tseed_retry_t *retry, tseed_job_t *job, apr_time_t now)
{
    if (job->joined) {
        part(retry, job);
        return;
    }
    settle(retry, job);
    if (is_lost(retry, job, now)) {
        tseed_failures_give_up(retry->failures, job);
    } else {
        tseed_queue_put(&job->run->wanted, job);
    }
}

void tseed_retry_release(tseed_retry_t *retry, apr_time_t now)
{
    for (tseed_run_t *run = retry->runs->tasks; run; run = run->next_run) {
        while (run->phase == TSEED_RUN_GOING && run->to_retry && run->to_retry->due <= now) {
            tseed_job_t *job = run->to_retry;

            run->to_retry = job->next;
            leave(retry, job, now);
        }
    }
}

void tseed_retry_hurry(tseed_run_t *run, apr_time_t now)
{
    for (tseed_job_t *job = run->to_retry; job; job = job->next) {
        job->due = job->due < now ? job->due : now;
    }
}

/* ---- the client ---- */

static void feed(void *module)
{
    tseed_retry_release(module, tseed_clock_monotonic());
}

/* When the next job is due. */
static apr_time_t next_due(const void *module)
{
    const tseed_retry_t *retry = module;
    apr_time_t due = INT64_MAX;

    for (const tseed_run_t *run = retry->runs->tasks; run; run = run->next_run) {
        if (run->phase == TSEED_RUN_GOING && run->to_retry && run->to_retry->due < due) {
            due = run->to_retry->due;
        }
    }
    return due;
}

tseed_retry_t *tseed_retry_create(const tseed_context_t *context, const tseed_runs_t *runs,
                                  tseed_failures_t *failures, tseed_sizing_t *sizing)
{
    tseed_retry_t *retry = apr_pcalloc(context->pool, sizeof(*retry));

    retry->context = context;
    retry->runs = runs;
    retry->failures = failures;
    retry->sizing = sizing;
    retry->client = (tseed_client_t){.module = retry, .feed = feed, .due = next_due};
    return retry;
}

tseed_client_t *tseed_retry_client(tseed_retry_t *retry)
{
    return &retry->client;
}
