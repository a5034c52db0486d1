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

#define PORTION       1000 /* rows of failures that are read at once */

struct tseed_failures_t {
    const tseed_context_t *context;
    tseed_session_t *session;
    tseed_jobs_t *jobs;
    tseed_loss_t *first;
};

tseed_failures_t *tseed_failures_create(const tseed_context_t *context, tseed_session_t *session,
                                        tseed_jobs_t *jobs)
{
    tseed_failures_t *failures = apr_pcalloc(context->pool, sizeof(*failures));

    failures->context = context;
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

/* Metatiles that are lost, by the columns and rows of metatiles. TileSeedFailureLimit bounds them.
 */
typedef struct {
    int64_t z, x, y;
} place_t;

static void note_lost(tseed_run_t *run, const tseed_failure_t *failure)
{
    const place_t place = {failure->z, failure->x / run->task->meta_width,
                           failure->y / run->task->meta_height};

    if (!apr_hash_get(run->lost, &place, sizeof(place))) {
        apr_hash_set(run->lost, apr_pmemdup(run->pool, &place, sizeof(place)), sizeof(place), run);
    }
}

/* Reads what an earlier seeder has recorded, and notes what is not recorded yet. */
static apr_status_t load_lost(tseed_failures_t *failures, tseed_run_t *run)
{
    tseed_session_t *session = failures->session;
    tseed_failure_query_t from = {.limit = PORTION, .z = -1};
    apr_array_header_t *rows;
    int64_t total;
    apr_status_t rv;

    if (!session->state || (session->trouble && tseed_clock_monotonic() < session->retry_at)) {
        return APR_EAGAIN;
    }
    run->lost = apr_hash_make(run->pool);
    do {
        rv = tseed_state_failures(session->state, &rows, &total, run->task->id, &from,
                                  failures->context->scratch);
        for (int i = 0; rv == APR_SUCCESS && i < rows->nelts; i++) {
            const tseed_failure_t *row = &APR_ARRAY_IDX(rows, i, tseed_failure_t);

            note_lost(run, row);
            from = (tseed_failure_query_t){PORTION, row->z, row->x, row->y};
        }
    } while (rv == APR_SUCCESS && rows->nelts == PORTION);
    for (const tseed_loss_t *loss = failures->first; loss; loss = loss->next) {
        if (loss->run == run) {
            note_lost(run, &loss->record);
        }
    }
    if (rv != APR_SUCCESS) {
        run->lost = NULL;
        tseed_session_fail(session, rv, "read what has failed");
    }
    return rv;
}

apr_status_t tseed_failures_have(int *have, tseed_failures_t *failures, tseed_run_t *run,
                                 const tseed_range_t *tiles)
{
    const int width = run->task->meta_width, height = run->task->meta_height;
    const int64_t first_x = tiles->minx > 0 ? tiles->minx / width : 0;
    const int64_t first_y = tiles->miny > 0 ? tiles->miny / height : 0;
    const apr_status_t rv = run->lost ? APR_SUCCESS : load_lost(failures, run);

    *have = 0;
    if (rv != APR_SUCCESS) {
        return rv;
    }
    for (int64_t y = first_y; y <= tiles->maxy / height; y++) {
        for (int64_t x = first_x; x <= tiles->maxx / width; x++) {
            const place_t place = {tiles->z, x, y};

            *have |= apr_hash_get(run->lost, &place, sizeof(place)) != NULL;
        }
    }
    return APR_SUCCESS;
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
    if (run->lost) {
        note_lost(run, &loss->record);
    }
    tseed_jobs_put_back(failures->jobs, job);
}
