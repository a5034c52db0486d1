/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Failures: lines in the log about answers, and the list of losses. */
#include "pipeline/tseed_failures.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"

#define SUMMARY_EVERY (60 * APR_USEC_PER_SEC)

struct tseed_failures_t {
    tseed_session_t *session;
    tseed_jobs_t *jobs;
    tseed_loss_t *first;
};

tseed_failures_t *tseed_failures_create(const tseed_context_t *context, tseed_session_t *session,
                                        tseed_jobs_t *jobs)
{
    tseed_failures_t *failures = apr_pcalloc(context->pool, sizeof(*failures));

    failures->session = session;
    failures->jobs = jobs;
    return failures;
}

/* ---- answers ---- */

void tseed_failures_say(tseed_run_t *run, apr_time_t now)
{
    char who[40] = "requested tiles";

    if (!run->is_background) {
        apr_snprintf(who, sizeof(who), "task %" APR_INT64_T_FMT, run->task->id);
    }
    tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
              "TS0023: %s of layer '%s': %" APR_INT64_T_FMT
              " failed answer%s of the upstream, the last one: %s",
              who, run->task->layer, run->errors, run->errors == 1 ? "" : "s", run->last_cause);
    run->errors = 0;
    run->next_summary = now + SUMMARY_EVERY;
}

void tseed_failures_summarise(tseed_run_t *run, apr_time_t now)
{
    if (run->errors > 0 && now >= run->next_summary) {
        tseed_failures_say(run, now);
    }
}

void tseed_failures_note(tseed_run_t *run, const char *cause, apr_time_t now)
{
    run->errors++;
    apr_cpystrn(run->last_cause, cause, sizeof(run->last_cause));
    tseed_failures_summarise(run, now);
}

/* ---- losses ---- */

const tseed_loss_t *tseed_failures_first(const tseed_failures_t *failures)
{
    return failures->first;
}

tseed_loss_t *tseed_failures_take(tseed_failures_t *failures)
{
    tseed_loss_t *loss = failures->first;

    failures->first = loss ? loss->next : NULL;
    return loss;
}

void tseed_failures_give_up(tseed_failures_t *failures, tseed_job_t *job)
{
    tseed_run_t *run = job->run;
    tseed_loss_t *loss = tseed_memory_get(sizeof(*loss));

    loss->run = run;
    loss->position = job->position;
    loss->skipped = tseed_job_present(job);
    loss->made = tseed_job_written(job);
    loss->bytes = job->bytes;
    loss->trace = job->trace;
    loss->failed = tseed_range_count(&job->metatile.wanted) - loss->skipped - loss->made;
    memcpy(loss->cause, job->cause, sizeof(loss->cause));
    loss->record = (tseed_failure_t){
        .task = run->task->id,
        .z = job->metatile.whole.z,
        .x = job->metatile.whole.minx,
        .y = job->metatile.whole.miny,
        .cause = loss->cause,
        .http_status = job->transfer.http_status,
        .attempts = job->attempts,
        .time = tseed_clock_wall(run->progress.started),
    };
    loss->next = failures->first;
    failures->first = loss;
    failures->session->must_record = 1;
    run->losses++;
    tseed_jobs_put_back(failures->jobs, job);
}
