/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Parking: where a metatile waits whose answer was no picture, while its task goes on with others.
 *
 * An answer that speaks of the request counts as an attempt. One that says the upstream is away
 * counts only if the upstream has answered anything else afterwards: else nobody knows whether the
 * metatile is to blame, and an upstream that is restarted leaves no failure behind. A pause that
 * the upstream asked for never counts.
 */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"

#define BACK_OFF_FIRST APR_USEC_PER_SEC
#define BACK_OFF_MOST  (30 * APR_USEC_PER_SEC)

apr_interval_time_t tseed_parking_back_off(int attempts)
{
    apr_interval_time_t wait = BACK_OFF_FIRST << (attempts < 6 ? attempts - 1 : 5);

    wait = wait < BACK_OFF_MOST ? wait : BACK_OFF_MOST;
    return wait + (apr_interval_time_t)(drand48() * (double)(wait / 2)) - wait / 4;
}

static void park(tseed_job_t *job, apr_time_t now)
{
    tseed_run_t *run = job->run;
    apr_interval_time_t asked = run->task->retry_wait;
    tseed_job_t **link = &run->parked;

    tseed_jobs_forget_answer(&job->transfer);
    job->due = now + (asked > 0 ? asked : tseed_parking_back_off(job->tries));
    while (*link && (*link)->due <= job->due) {
        link = &(*link)->next;
    }
    job->next = *link;
    *link = job;
}

static int is_lost(const tseed_seeder_t *seeder, const tseed_job_t *job, apr_time_t now)
{
    return job->attempts > job->run->task->retries ||
           now - job->first_failed > seeder->context->settings->give_up;
}

void tseed_parking_put(tseed_seeder_t *seeder, tseed_job_t *job)
{
    apr_time_t now = tseed_clock_monotonic();
    int is_away = job->stage == TSEED_STAGE_FETCH && job->transfer.result == TSEED_FETCH_AWAY;

    tseed_loss_note(job->run, job->cause, now);
    job->first_failed = job->tries++ ? job->first_failed : now;
    job->in_doubt = is_away && job->transfer.http_status != 429 && job->transfer.retry_after == 0;
    job->attempts += !is_away;
    if (is_lost(seeder, job, now)) {
        tseed_loss_give_up(seeder, job);
    } else {
        park(job, now);
    }
}

/* Its time has come. Whatever the upstream has answered meanwhile, it was there. */
static void leave(tseed_seeder_t *seeder, tseed_job_t *job, apr_time_t now)
{
    tseed_outlook_t outlook;

    tseed_fetcher_outlook(seeder->context->fetcher, &outlook, job->transfer.upstream);
    job->attempts += job->in_doubt && outlook.heard > job->transfer.ended;
    if (is_lost(seeder, job, now)) {
        tseed_loss_give_up(seeder, job);
    } else {
        tseed_queue_put(&job->run->wanted, job);
    }
}

/* Those that are due are wanted again, or given up. */
static void release(tseed_seeder_t *seeder, tseed_run_t *run, apr_time_t now)
{
    while (run->parked && run->parked->due <= now) {
        tseed_job_t *job = run->parked;

        run->parked = job->next;
        leave(seeder, job, now);
    }
}

static void feed(void *module)
{
    tseed_seeder_t *seeder = module;
    const apr_time_t now = tseed_clock_monotonic();

    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        if (run->phase == TSEED_RUN_GOING) {
            release(seeder, run, now);
        }
    }
}

/* When the next one is due. */
static apr_time_t next_due(const void *module)
{
    const tseed_seeder_t *seeder = module;
    apr_time_t due = INT64_MAX;

    for (const tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        if (run->phase == TSEED_RUN_GOING && run->parked && run->parked->due < due) {
            due = run->parked->due;
        }
    }
    return due;
}

tseed_client_t tseed_parking_client = {.feed = feed, .due = next_due};
