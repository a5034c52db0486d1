/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How jobs end: done, tried again later, or given up; lines in the log, and the list of losses. */
#include "pipeline/tseed_failures.h"

#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "board/tseed_traces.h"
#include "pipeline/tseed_join.h"

/* The ends of a task's job. */

struct tseed_ends_t {
    const tseed_context_t *context;
    tseed_jobs_t *jobs;
    const tseed_display_t *display;
};

tseed_ends_t *tseed_ends_create(const tseed_context_t *context, tseed_jobs_t *jobs,
                                const tseed_display_t *display)
{
    tseed_ends_t *ends = apr_pcalloc(context->pool, sizeof(*ends));

    ends->context = context;
    ends->jobs = jobs;
    ends->display = display;
    return ends;
}

/* ---- metatiles ---- */

/* A reseed skips what did not change, and nothing else. */
static void count_skipped(const tseed_job_t *job)
{
    tseed_progress_t *progress = &job->run->progress;

    progress->skipped += job->skipped;
    progress->unchanged += job->run->task->type == TSEED_RESEED ? job->skipped : 0;
}

/* Counts what a look at a pruned metatile has found. A CHECK that finds its tiles is no look. */
static void count_pruned(const tseed_job_t *job)
{
    tseed_progress_t *progress = &job->run->progress;

    progress->pruned += job->pruned;
    if (job->shade && job->stage == TSEED_STAGE_CUT) {
        progress->looked++;
        progress->wrong += job->is_wrong;
    }
}

static void measure(const tseed_job_t *job, int coming, apr_time_t now)
{
    tseed_run_t *run = job->run;
    const apr_interval_time_t taken = now - run->measured_at;

    tseed_run_measure(run, job, coming > 1 ? run->measured_at + taken / coming : now);
}

void tseed_ends_finish(tseed_ends_t *ends, tseed_job_t *job, int coming)
{
    tseed_run_t *run = job->run;
    const unsigned trace = job->trace;
    const apr_time_t now = tseed_clock_monotonic();

    run->progress.made += job->made;
    count_skipped(job);
    run->progress.bytes += job->bytes;
    count_pruned(job);
    tseed_progress_finish(&run->progress, job->position);
    measure(job, coming, now);
    if (job->stage != TSEED_STAGE_CHECK) { /* a look proves nothing about writing */
        run->pauses = 0;
        tseed_quota_wait_end(run, now);
        tseed_run_remind(run);
    }
    tseed_jobs_put_back(ends->jobs, job);
    tseed_display_run(ends->display, run);
    tseed_trace_end(ends->context->board, trace);
}

/* ---- levels ---- */

/* Tiles of a truncate's levels 0 .. position. */
static int64_t tiles_up_to(const tseed_run_t *run, int64_t position)
{
    int64_t tiles = 0;

    for (int64_t i = 0; i <= position; i++) {
        tseed_range_t level = tseed_run_level(run, i);

        tiles += tseed_range_count(&level);
    }
    return tiles;
}

void tseed_ends_count_removed(tseed_run_t *run, int64_t position)
{
    int64_t most = tiles_up_to(run, position) - run->progress.skipped;
    int64_t removed = run->removed_before + atomic_load(&run->unlinked);

    run->progress.removed = removed < most ? removed : most;
}

void tseed_ends_finish_level(tseed_ends_t *ends, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    tseed_ends_count_removed(run, job->position);
    atomic_store(&run->unlinked, 0);
    run->removed_before = run->progress.removed;
    job->skipped = tiles_up_to(run, job->position) - tseed_progress_processed(&run->progress);
    tseed_ends_finish(ends, job, 1);
}

static void discard(tseed_ends_t *ends, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    if (job->stage == TSEED_STAGE_REMOVE) {
        tseed_ends_count_removed(run, job->position);
    } else if (run->phase == TSEED_RUN_DRAINING) {
        run->progress.made += tseed_job_written(job);
        count_skipped(job);
        run->progress.bytes += job->bytes;
    }
    tseed_jobs_put_back(ends->jobs, job);
    tseed_display_run(ends->display, run);
}

void tseed_ends_discard(tseed_ends_t *ends, tseed_job_t *leader)
{
    for (tseed_job_t *job = leader, *next; job; job = next) {
        next = job->joined;
        discard(ends, job);
    }
}

/* Retries: jobs wait in their run's list `to_retry`, by the time that they are due. */

#define BACK_OFF_FIRST APR_USEC_PER_SEC
#define BACK_OFF_MOST  (30 * APR_USEC_PER_SEC)
#define REFUSALS_MOST  3 /* without a picture between them, until the run waits */

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

/* ---- refusals ---- */

/* An upstream that has given pictures may well refuse others with 403: many stores of objects say
 * so of what is not there. */
static tseed_refusal_t refusal_of(const tseed_job_t *job)
{
    const tseed_run_t *run = job->run;
    const tseed_source_t *source = &run->tileset.layer->source;
    const int has_pictures = run->answers > 0 || run->progress.made + run->progress.unchanged > 0;

    if (job->stage != TSEED_STAGE_FETCH || job->joined || job->tries + 1 < source->count ||
        (job->transfer.http_status == 403 && has_pictures)) {
        return TSEED_REFUSES_NOTHING; /* its parts are, or another address may have it */
    }
    return tseed_source_refusal(source, &job->transfer);
}

int tseed_retry_is_refused(const tseed_run_t *run)
{
    return run->refused.count >= REFUSALS_MOST;
}

/* The upstream has asked for a pause for the run's layer, and no other address may have it. */
static int is_paused(const tseed_job_t *job)
{
    return job->stage == TSEED_STAGE_FETCH && job->transfer.pauses_layer &&
           job->tries + 1 >= job->run->tileset.layer->source.count;
}

static void pause_run(tseed_refused_t *refused, const tseed_transfer_t *transfer, apr_time_t now)
{
    *refused = (tseed_refused_t){.count = REFUSALS_MOST,
                                 .next = now + transfer->retry_after,
                                 .what = TSEED_REFUSES_NOTHING,
                                 .by = transfer->upstream};
    memcpy(refused->cause, transfer->cause, sizeof(refused->cause));
}

/* Any answer ends a pause. Answers to requests that were under way already when the run began to
 * wait are no new ones. */
void tseed_retry_note(const tseed_job_t *job, apr_time_t now)
{
    tseed_refused_t *refused = &job->run->refused;
    const tseed_refusal_t what = refusal_of(job);

    if (is_paused(job)) {
        pause_run(refused, &job->transfer, now);
    } else if (job->transfer.result == TSEED_FETCH_OK ||
               job->transfer.result == TSEED_FETCH_UNCHANGED ||
               (refused->count > 0 && refused->what == TSEED_REFUSES_NOTHING)) {
        *refused = (tseed_refused_t){0};
    } else if (what != TSEED_REFUSES_NOTHING) {
        refused->count++;
        refused->what = what;
        refused->by = job->transfer.upstream;
        memcpy(refused->cause, job->transfer.cause, sizeof(refused->cause));
        if (refused->count >= REFUSALS_MOST && now >= refused->next) {
            refused->next = now + tseed_retry_back_off(++refused->asks);
        }
    }
}

int tseed_retry_may_ask(const tseed_run_t *run, apr_time_t now)
{
    return !tseed_retry_is_refused(run) || (run->fetching == 0 && now >= run->refused.next);
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
    job->doubted = transfer->http_status != 429 && transfer->retry_after == 0 ? transfer->ended : 0;
}

void tseed_retry_put(tseed_retry_t *retry, tseed_job_t *job, apr_time_t now)
{
    tseed_failures_note(job->run, job->cause, now);
    for (tseed_job_t *one = job; one; one = one->joined) {
        one->first_failed = one->tries++ ? one->first_failed : now;
    }
    if (job->stage == TSEED_STAGE_FETCH && job->transfer.result == TSEED_FETCH_AWAY) {
        doubt(retry, job);
    } else if (job->run->refused.count <= REFUSALS_MOST ||
               refusal_of(job) == TSEED_REFUSES_NOTHING) {
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
    run->refused.next = run->refused.next < now ? run->refused.next : now;
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

#define SUMMARY_EVERY (60 * APR_USEC_PER_SEC)

#define PORTION 1000 /* rows of failures that are read at once */

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
