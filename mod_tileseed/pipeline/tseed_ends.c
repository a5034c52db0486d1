/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What becomes of the jobs of tasks: counted, tried again later, given up, or waiting for a store.
 *
 * Jobs to be tried again wait in their run's list `to_retry`, by the time that they are due. A
 * metatile that is given up is a loss; its position is finished when the database has the loss. */
#include "pipeline/tseed_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "board/tseed_traces.h"

#define BACK_OFF_FIRST APR_USEC_PER_SEC
#define BACK_OFF_MOST  (30 * APR_USEC_PER_SEC)
#define SUMMARY_EVERY  (60 * APR_USEC_PER_SEC)
#define ROWS_AT_ONCE   1000 /* of failures that are read */
#define RATES          20
#define CALM           5 /* ticks without a paused task: a full disk may take a file now and then */

/* What the log knows to be wrong with a store. malloc'd. */
typedef struct trouble_t {
    const char *root; /* the configuration's */
    char *place;      /* malloc'd */
    apr_status_t rv;
    int calm; /* ticks */
    struct trouble_t *next;
} trouble_t;

struct tseed_ends_t {
    tseed_ends_uses_t uses;
    tseed_sink_t sink;
    tseed_client_t client;
    tseed_loss_t *losses; /* that the database does not have */
    trouble_t *troubles;
};

/* ---- answers ---- */

static void say_errors(tseed_run_t *run, apr_time_t now)
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

void tseed_ends_summarise(tseed_run_t *run, apr_time_t now)
{
    if (run->errors > 0 && now >= run->next_summary) {
        say_errors(run, now);
    }
}

void tseed_ends_note(tseed_run_t *run, const char *cause, apr_time_t now)
{
    run->errors++;
    apr_cpystrn(run->last_cause, cause, sizeof(run->last_cause));
    tseed_ends_summarise(run, now);
}

/* ---- losses ---- */

const tseed_loss_t *tseed_ends_losses(const tseed_ends_t *ends)
{
    return ends->losses;
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
static apr_status_t load_lost(tseed_ends_t *ends, tseed_run_t *run)
{
    tseed_session_t *session = ends->uses.session;
    tseed_failure_query_t from = {.limit = ROWS_AT_ONCE, .z = -1};
    apr_array_header_t *rows;
    int64_t total;
    apr_status_t rv;

    if (!session->state || (session->trouble && tseed_clock_monotonic() < session->retry_at)) {
        return APR_EAGAIN;
    }
    run->lost = apr_hash_make(run->pool);
    do {
        rv = tseed_state_failures(session->state, &rows, &total, run->task->id, &from,
                                  ends->uses.context->scratch);
        for (int i = 0; rv == APR_SUCCESS && i < rows->nelts; i++) {
            const tseed_failure_t *row = &APR_ARRAY_IDX(rows, i, tseed_failure_t);

            note_lost(run, row);
            from = (tseed_failure_query_t){ROWS_AT_ONCE, row->z, row->x, row->y};
        }
    } while (rv == APR_SUCCESS && rows->nelts == ROWS_AT_ONCE);
    for (const tseed_loss_t *loss = ends->losses; loss; loss = loss->next) {
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

apr_status_t tseed_ends_have_lost(int *have, tseed_ends_t *ends, tseed_run_t *run,
                                  const tseed_range_t *tiles)
{
    const int width = run->task->meta_width, height = run->task->meta_height;
    const int64_t first_x = tiles->minx > 0 ? tiles->minx / width : 0;
    const int64_t first_y = tiles->miny > 0 ? tiles->miny / height : 0;
    const apr_status_t rv = run->lost ? APR_SUCCESS : load_lost(ends, run);

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

static void give_up(void *module, tseed_job_t *job)
{
    tseed_ends_t *ends = module;
    tseed_run_t *run = job->run;
    tseed_loss_t *loss = tseed_memory_get(sizeof(*loss));

    loss->run = run;
    loss->position = job->position;
    loss->skipped = tseed_job_present(job);
    loss->made = tseed_job_written(job);
    loss->bytes = job->result.bytes;
    loss->trace = job->accounts.trace;
    loss->failed = tseed_range_count(&job->metatile.wanted) - loss->skipped - loss->made;
    apr_cpystrn(loss->cause, tseed_job_cause(job), sizeof(loss->cause));
    loss->record = (tseed_failure_t){
        .task = run->task->id,
        .z = job->metatile.whole.z,
        .x = job->metatile.whole.minx,
        .y = job->metatile.whole.miny,
        .cause = loss->cause,
        .http_status = job->request.transfer.http_status,
        .attempts = job->request.attempts,
        .time = tseed_clock_wall(run->progress.started),
    };
    loss->next = ends->losses;
    ends->losses = loss;
    ends->uses.session->must_record = 1;
    run->losses++;
    if (run->lost) {
        note_lost(run, &loss->record);
    }
    tseed_jobs_put_back(ends->uses.jobs, job);
    tseed_ends_settle(ends, run);
}

/* A loss is durable. */
static void settle_loss(tseed_ends_t *ends, const tseed_loss_t *loss)
{
    tseed_run_t *run = loss->run;

    run->losses--;
    run->progress.failures++;
    apr_cpystrn(run->loss_cause, loss->cause, sizeof(run->loss_cause));
    run->progress.skipped += loss->skipped;
    run->progress.made += loss->made;
    run->progress.bytes += loss->bytes;
    run->progress.failed += loss->failed;
    tseed_progress_finish(&run->progress, loss->position);
    if (run->phase == TSEED_RUN_GOING && run->task->failure_limit >= 0 &&
        run->progress.failures > run->task->failure_limit) {
        tseed_run_abort(run);
        tseed_progress_say(&run->progress, TSEED_REASON_FAILURE_LIMIT,
                           "more than %" APR_INT64_T_FMT " metatile%s failed, the last one: %s",
                           run->task->failure_limit, run->task->failure_limit == 1 ? "" : "s",
                           loss->cause);
        tseed_ends_drain(ends, run);
    }
    tseed_display_run(ends->uses.display, run);
    tseed_trace_end(ends->uses.context->board, loss->trace);
    tseed_ends_settle(ends, run);
}

void tseed_ends_recorded(tseed_ends_t *ends)
{
    tseed_loss_t *loss;

    while ((loss = ends->losses) != NULL) {
        ends->losses = loss->next;
        settle_loss(ends, loss);
        free(loss);
    }
}

/* ---- metatiles ---- */

/* A reseed skips what did not change, and nothing else. */
static void count_skipped(const tseed_job_t *job, int64_t skipped)
{
    tseed_progress_t *progress = &job->run->progress;

    progress->skipped += skipped;
    progress->unchanged += job->run->task->type == TSEED_RESEED ? skipped : 0;
}

static void measure(const tseed_job_t *job, int coming, apr_time_t now)
{
    tseed_run_t *run = job->run;
    const apr_interval_time_t taken = now - run->measured_at;

    tseed_run_measure(run, job, coming > 1 ? run->measured_at + taken / coming : now);
}

static void finish_position(tseed_ends_t *ends, tseed_job_t *job, int64_t skipped, int coming)
{
    tseed_run_t *run = job->run;
    const unsigned trace = job->accounts.trace;
    const apr_time_t now = tseed_clock_monotonic();

    run->progress.made += job->result.made;
    count_skipped(job, skipped);
    run->progress.bytes += job->result.bytes;
    tseed_savings_count(job);
    tseed_progress_finish(&run->progress, job->position);
    measure(job, coming, now);
    if (job->request.stage != TSEED_STAGE_CHECK) { /* a look proves nothing about writing */
        run->pauses = 0;
        tseed_quota_wait_end(run, now);
        tseed_run_remind(run);
    }
    tseed_jobs_put_back(ends->uses.jobs, job);
    tseed_display_run(ends->uses.display, run);
    tseed_trace_end(ends->uses.context->board, trace);
    tseed_ends_settle(ends, run);
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

/* Counts the files that a truncate has removed, at most as many as the levels up to `position`
 * hold: a truncate that goes on may meet tiles that a running seed has put back. */
static void count_removed(tseed_run_t *run, int64_t position)
{
    int64_t most = tiles_up_to(run, position) - run->progress.skipped;
    int64_t removed = run->removed_before + atomic_load(&run->unlinked);

    run->progress.removed = removed < most ? removed : most;
}

/* Tiles that the levels so far did not have count as skipped. */
static void finish_level(tseed_ends_t *ends, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    count_removed(run, job->position);
    tseed_run_count_from(run, run->progress.removed);
    finish_position(ends, job,
                    tiles_up_to(run, job->position) - tseed_progress_processed(&run->progress), 1);
}

static void finish(void *module, tseed_job_t *job, int coming)
{
    if (job->request.stage == TSEED_STAGE_REMOVE) {
        finish_level(module, job);
    } else {
        finish_position(module, job, job->result.skipped, coming);
    }
}

/* What a job that was cut short wrote or removed counts if nobody will go over its metatile again.
 */
static void discard_one(tseed_ends_t *ends, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    if (job->request.stage == TSEED_STAGE_REMOVE) {
        count_removed(run, job->position);
    } else if (run->phase == TSEED_RUN_DRAINING) {
        run->progress.made += tseed_job_written(job);
        count_skipped(job, job->result.skipped);
        run->progress.bytes += job->result.bytes;
    }
    tseed_jobs_put_back(ends->uses.jobs, job);
    tseed_display_run(ends->uses.display, run);
}

static void discard(void *module, tseed_job_t *leader)
{
    tseed_ends_t *ends = module;
    tseed_run_t *run = leader->run;

    for (tseed_job_t *job = leader, *next; job; job = next) {
        next = job->savings.joined;
        discard_one(ends, job);
    }
    tseed_ends_settle(ends, run);
}

/* ---- how long to wait ---- */

apr_interval_time_t tseed_ends_wait(int failures, double random)
{
    apr_interval_time_t wait = BACK_OFF_FIRST << (failures < 6 ? failures - 1 : 5);

    wait = wait < BACK_OFF_MOST ? wait : BACK_OFF_MOST;
    return wait + (apr_interval_time_t)(random * (double)(wait / 2)) - wait / 4;
}

static apr_interval_time_t back_off(int failures)
{
    return tseed_ends_wait(failures, drand48());
}

/* ---- refusals ---- */

/* An upstream that has given pictures may well refuse others with 403: many stores of objects say
 * so of what is not there. */
static tseed_refusal_t refusal_of(const tseed_job_t *job)
{
    const tseed_run_t *run = job->run;
    const tseed_source_t *source = &run->tileset.layer->source;
    const int has_pictures = run->answers > 0 || run->progress.made + run->progress.unchanged > 0;

    if (job->request.stage != TSEED_STAGE_FETCH || job->savings.joined ||
        job->request.tries + 1 < source->count ||
        (job->request.transfer.http_status == 403 && has_pictures)) {
        return TSEED_REFUSES_NOTHING; /* its parts are, or another address may have it */
    }
    return tseed_source_refusal(source, &job->request.transfer);
}

/* The upstream has asked for a pause for the run's layer, and no other address may have it. */
static int is_paused(const tseed_job_t *job)
{
    return job->request.stage == TSEED_STAGE_FETCH && job->request.transfer.pauses_layer &&
           job->request.tries + 1 >= job->run->tileset.layer->source.count;
}

static void note_pause(tseed_refused_t *refused, const tseed_transfer_t *transfer, apr_time_t now)
{
    *refused = (tseed_refused_t){.count = TSEED_REFUSALS_MOST,
                                 .next = now + transfer->retry_after,
                                 .what = TSEED_REFUSES_NOTHING,
                                 .by = transfer->upstream};
    memcpy(refused->cause, transfer->cause, sizeof(refused->cause));
}

/* Any answer ends a pause. Answers to requests that were under way already when the run began to
 * wait are no new ones. */
static void note_refusal(const tseed_job_t *job, apr_time_t now)
{
    tseed_refused_t *refused = &job->run->refused;
    const tseed_refusal_t what = refusal_of(job);

    if (job->request.transfer.result == TSEED_FETCH_CANCELLED) {
        return; /* of the request that it followed: nothing was asked */
    }
    if (is_paused(job)) {
        note_pause(refused, &job->request.transfer, now);
    } else if (tseed_transfer_is_good(&job->request.transfer) ||
               (refused->count > 0 && refused->what == TSEED_REFUSES_NOTHING)) {
        *refused = (tseed_refused_t){0};
    } else if (what != TSEED_REFUSES_NOTHING) {
        refused->count++;
        refused->what = what;
        refused->by = job->request.transfer.upstream;
        memcpy(refused->cause, job->request.transfer.cause, sizeof(refused->cause));
        if (refused->count >= TSEED_REFUSALS_MOST && now >= refused->next) {
            refused->next = now + back_off(++refused->asks);
        }
    }
}

static void hear(void *module, const tseed_job_t *leader)
{
    const tseed_transfer_t *transfer = &leader->request.transfer;
    tseed_run_t *run = leader->run;
    const int is_good = tseed_transfer_is_good(transfer);

    (void)module;
    note_refusal(leader, tseed_clock_monotonic());
    run->progress.requests += transfer->sent + transfer->sent_in_vain;
    run->progress.shared += leader->savings.follows && is_good && run->phase == TSEED_RUN_GOING;
}

int tseed_ends_may_ask(const tseed_run_t *run, apr_time_t now)
{
    return !tseed_run_is_refused(run) || (run->fetching == 0 && now >= run->refused.next);
}

/* ---- jobs ---- */

static void wait_to_retry(tseed_job_t *job, apr_time_t now)
{
    tseed_run_t *run = job->run;
    apr_interval_time_t asked = run->task->retry_wait;
    tseed_job_t **link = &run->to_retry;

    tseed_jobs_forget_answer(&job->request.transfer);
    tseed_job_forget_drawn(job);
    job->request.due = now + (asked > 0 ? asked : back_off(job->request.tries));
    while (*link && (*link)->request.due <= job->request.due) {
        link = &(*link)->next;
    }
    job->next = *link;
    *link = job;
}

static int is_lost(const tseed_ends_t *ends, const tseed_job_t *job, apr_time_t now)
{
    return job->request.attempts > job->run->task->retries ||
           now - job->request.first_failed > ends->uses.context->settings->give_up;
}

/* Returns whether the upstream has answered anything since the job's failure, and so was not away.
 */
static int was_there(const tseed_ends_t *ends, const tseed_job_t *job)
{
    tseed_outlook_t outlook;

    tseed_fetcher_outlook(ends->uses.context->fetcher, &outlook, job->request.transfer.upstream);
    return job->request.doubted && outlook.heard > job->request.doubted;
}

/* Counts a failure that was in doubt once it is in doubt no more. */
static void settle_doubt(const tseed_ends_t *ends, tseed_job_t *job)
{
    if (!job->savings.joined && was_there(ends, job)) {
        job->request.attempts++;
        job->request.doubted = 0;
    }
}

/* When the upstream fails at nothing but this job, an earlier failure is settled only by the answer
 * to a probe, after which the job was sent, and failed, again. */
static void doubt(const tseed_ends_t *ends, tseed_job_t *job)
{
    const tseed_transfer_t *transfer = &job->request.transfer;

    settle_doubt(ends, job);
    job->request.doubted =
        transfer->http_status != 429 && transfer->retry_after == 0 ? transfer->ended : 0;
}

/* The job waits to be fetched again, or is given up. */
static void fail(void *module, tseed_job_t *job)
{
    tseed_ends_t *ends = module;
    const apr_time_t now = tseed_clock_monotonic();

    tseed_ends_note(job->run, tseed_job_cause(job), now);
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->request.first_failed = one->request.tries++ ? one->request.first_failed : now;
    }
    if (job->request.stage == TSEED_STAGE_FETCH &&
        job->request.transfer.result == TSEED_FETCH_AWAY) {
        doubt(ends, job);
    } else if (job->run->refused.count <= TSEED_REFUSALS_MOST ||
               refusal_of(job) == TSEED_REFUSES_NOTHING) {
        job->request.attempts++;
        job->request.doubted = 0;
    }
    if (!job->savings.joined && is_lost(ends, job, now)) {
        give_up(ends, job);
    } else {
        wait_to_retry(job, now);
    }
}

/* A request for several metatiles may have been too much for the upstream, which was there. */
static void part(tseed_ends_t *ends, tseed_job_t *leader)
{
    if (was_there(ends, leader)) {
        tseed_savings_fail(ends->uses.savings, leader);
    }
    leader->request.doubted = 0; /* the request was: its metatiles are not */
    tseed_join_part(&leader->run->wanted, leader);
}

/* Takes a job out of the list when it is due. */
static void leave(tseed_ends_t *ends, tseed_job_t *job, apr_time_t now)
{
    if (job->savings.joined) {
        part(ends, job);
        return;
    }
    settle_doubt(ends, job);
    if (is_lost(ends, job, now)) {
        give_up(ends, job);
    } else {
        tseed_queue_put(&job->run->wanted, job);
    }
}

static void feed(void *module)
{
    tseed_ends_t *ends = module;
    const apr_time_t now = tseed_clock_monotonic();

    for (tseed_run_t *run = ends->uses.runs->tasks; run; run = run->next_run) {
        while (run->phase == TSEED_RUN_GOING && run->to_retry &&
               run->to_retry->request.due <= now) {
            tseed_job_t *job = run->to_retry;

            run->to_retry = job->next;
            leave(ends, job, now);
        }
    }
}

void tseed_ends_hurry(tseed_run_t *run, apr_time_t now)
{
    for (tseed_job_t *job = run->to_retry; job; job = job->next) {
        job->request.due = job->request.due < now ? job->request.due : now;
    }
    run->refused.next = run->refused.next < now ? run->refused.next : now;
}

/* ---- stores that can't be used ---- */

/* Whether an error is about a whole file system, wherever it is met. */
static int is_of_disk(apr_status_t rv)
{
    return APR_STATUS_IS_ENOSPC(rv) || rv == EDQUOT || rv == EROFS || rv == EIO;
}

/* Notes a trouble; returns 0 if the log has it already: many tasks may meet it, and often. */
static int is_news(tseed_ends_t *ends, const char *root, const char *place, apr_status_t rv)
{
    trouble_t *trouble = ends->troubles;

    place = is_of_disk(rv) ? root : place;
    while (trouble && (trouble->rv != rv || strcmp(trouble->root, root) != 0 ||
                       strcmp(trouble->place, place) != 0)) {
        trouble = trouble->next;
    }
    if (trouble) {
        return 0;
    }
    trouble = tseed_memory_get(sizeof(*trouble));
    *trouble = (trouble_t){root, tseed_memory_copy(place), rv, 0, ends->troubles};
    ends->troubles = trouble;
    return 1;
}

static int pauses_any(const tseed_ends_t *ends, const char *root)
{
    const tseed_run_t *run = ends->uses.runs->tasks;

    while (run && (run->pauses == 0 || strcmp(run->tileset.layer->store.root, root) != 0)) {
        run = run->next_run;
    }
    return run != NULL;
}

/* Ends troubles that have paused no task for a while. */
static void end_troubles(tseed_ends_t *ends)
{
    for (trouble_t **link = &ends->troubles, *trouble; (trouble = *link) != NULL;) {
        trouble->calm = pauses_any(ends, trouble->root) ? 0 : trouble->calm + 1;
        if (trouble->calm < CALM) {
            link = &trouble->next;
            continue;
        }
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0096: no task is paused any more by what was wrong at %s, in the store %s",
                  trouble->place, trouble->root);
        *link = trouble->next;
        free(trouble->place);
        free(trouble);
    }
}

/* The store can't be written: the task keeps its answers, says why and tries again after a pause.
 * Jobs that fail together are one failure. */
static void pause_for_store(tseed_ends_t *ends, tseed_run_t *run, const tseed_job_t *job)
{
    const char *root = run->tileset.layer->store.root;
    const char *place = job->result.place[0] ? job->result.place : root;
    apr_time_t now = tseed_clock_monotonic();
    char why[TSEED_CAUSE_SIZE], layer[64];

    apr_strerror(job->result.rv, why, sizeof(why));
    if (run->pauses == 0) {
        tseed_counters_add(ends->uses.context->board, TSEED_COUNT_STORE_ERRORS, 1);
    }
    if (run->pauses == 0 && is_news(ends, root, place, job->result.rv)) {
        tseed_log(TSEED_LOG_ERROR, job->result.rv,
                  "TS0026: task %" APR_INT64_T_FMT
                  " of layer '%s' is paused: %s, in the layer's store %s, can't be used; the task "
                  "goes on by itself when it can, and so do others",
                  run->task->id, run->task->layer, place, root);
    }
    if (now >= run->pause_until) {
        run->pauses++;
        tseed_run_pause(run, now + back_off(run->pauses));
    }
    if (job->result.rv == ELOOP) {
        tseed_progress_say(&run->progress, TSEED_REASON_STORE,
                           "paused: %s is a symbolic link, and none is followed below a store's "
                           "directory",
                           place);
    } else {
        tseed_progress_say(
            &run->progress, TSEED_REASON_STORE,
            "paused: the store of layer %s can't be used: %s; the error log says where",
            tseed_text_fit(layer, sizeof(layer), run->task->layer), why);
    }
    tseed_display_run(ends->uses.display, run);
}

/* An account has refused a tile: the job waits. If the tile is larger than the whole quota, its
 * metatile is given up. */
static tseed_verdict_t refuse(void *module, tseed_job_t *job)
{
    const tseed_ends_t *ends = module;
    const char *cause = job->result.outcome == TSEED_JOB_NO_ROOM
                            ? tseed_quota_wait_refuse(ends->uses.quota_wait, job)
                            : NULL;

    if (cause) {
        tseed_job_lose(job, TSEED_JOB_LACKS, cause);
    }
    return cause ? TSEED_FLOW_LOST : TSEED_FLOW_WAITS;
}

static void wait_for_store(void *module, tseed_run_t *run, const tseed_job_t *refused)
{
    const tseed_ends_t *ends = module;

    if (refused->result.outcome == TSEED_JOB_NO_ROOM) {
        tseed_quota_wait_put(ends->uses.quota_wait, refused);
    } else {
        pause_for_store(module, run, refused);
    }
}

/* ---- runs ---- */

void tseed_ends_drain(tseed_ends_t *ends, tseed_run_t *run)
{
    tseed_job_t *job;

    if (run->phase == TSEED_RUN_GOING) {
        run->phase = TSEED_RUN_DRAINING;
    }
    tseed_run_stop(run);
    tseed_fetcher_cancel(ends->uses.context->fetcher, run);
    tseed_savings_drain(ends->uses.savings, run);
    while ((job = tseed_queue_take(&run->wanted)) || (job = tseed_queue_take(&run->ready))) {
        discard(ends, job);
    }
    while ((job = run->to_retry)) {
        run->to_retry = job->next;
        discard(ends, job);
    }
    tseed_ends_settle(ends, run);
}

void tseed_ends_conclude(tseed_run_t *run)
{
    run->phase = TSEED_RUN_ENDING;
}

void tseed_ends_leave(tseed_run_t *run)
{
    run->phase = run->phase == TSEED_RUN_GOING ? TSEED_RUN_LEAVING : run->phase;
}

void tseed_ends_settle(tseed_ends_t *ends, tseed_run_t *run)
{
    if (run->phase == TSEED_RUN_GOING && tseed_run_is_through(run)) {
        tseed_run_remind(run);
        tseed_run_conclude(run);
        run->phase = TSEED_RUN_DRAINING;
    }
    if (run->phase == TSEED_RUN_DRAINING && !run->jobs) {
        run->phase = TSEED_RUN_ENDING;
        if (run->errors > 0) {
            say_errors(run, tseed_clock_monotonic());
        }
    }
    if (run->phase == TSEED_RUN_ENDING) {
        ends->uses.session->must_record = 1;
    }
}

/* ---- once a tick ---- */

static int waits(const tseed_run_t *run, apr_time_t now)
{
    return run->waits_since || run->is_silent || run->is_hung || run->is_behind || run->short_of ||
           now < run->pause_until;
}

/* Takes the rate once a tick: tiles in 1000 s, as a mean in which older ticks count less, so that
 * the rate soon shows a break. Only the board shows the rate: a rate alone is nothing to save. now:
 * monotonic. */
static void take_rate(tseed_run_t *run, const tseed_display_t *display, apr_time_t now)
{
    const int64_t processed = tseed_progress_worked(&run->progress);
    const double seconds = (double)(now - run->rated_at) / APR_USEC_PER_SEC;
    const double rate = 1000 * (double)(processed - run->rated_tiles) / seconds;

    if (waits(run, now)) { /* what was is no rate, and says nothing of what is left */
        run->rates = 0;
        run->progress.rate = 0;
    } else if (run->rated_at && seconds > 0) {
        run->rates += run->rates < RATES;
        run->progress.rate += (int64_t)((rate - (double)run->progress.rate) / run->rates);
    }
    tseed_display_show(display, run);
    run->rated_at = now;
    run->rated_tiles = processed;
}

static void look_at_store(tseed_ends_t *ends, tseed_run_t *run)
{
    const int was_hung = run->is_hung;
    char layer[64];

    run->is_hung = (run->working > 0 || (run->booked && run->booked->is_late)) &&
                   tseed_workers_is_hung(ends->uses.context->workers, run);
    if (run->is_hung) {
        tseed_progress_say(&run->progress, TSEED_REASON_STORE,
                           "the store of layer %s has not answered for more than 10 s",
                           tseed_text_fit(layer, sizeof(layer), run->task->layer));
    } else if (was_hung && run->phase == TSEED_RUN_GOING) {
        tseed_run_remind(run);
    }
}

void tseed_ends_tick(void *module, apr_time_t now)
{
    tseed_ends_t *ends = module;

    tseed_workers_tick(ends->uses.context->workers, now);
    for (tseed_run_t *run = ends->uses.runs->tasks; run; run = run->next_run) {
        look_at_store(ends, run);
        take_rate(run, ends->uses.display, now);
        if (run->task->type == TSEED_TRUNCATE && run->jobs) {
            count_removed(run, run->jobs->position);
            tseed_display_run(ends->uses.display, run);
        }
        tseed_ends_summarise(run, now);
    }
    for (tseed_run_t *run = ends->uses.runs->background; run; run = run->next_run) {
        run->is_hung = run->working > 0 && tseed_workers_is_hung(ends->uses.context->workers, run);
    }
    end_troubles(ends);
    tseed_savings_tick(ends->uses.savings);
}

/* ---- the module ---- */

/* When the next job is due. */
static apr_time_t next_due(const void *module)
{
    const tseed_ends_t *ends = module;
    apr_time_t due = INT64_MAX;

    for (const tseed_run_t *run = ends->uses.runs->tasks; run; run = run->next_run) {
        if (run->phase == TSEED_RUN_GOING && run->to_retry && run->to_retry->request.due < due) {
            due = run->to_retry->request.due;
        }
    }
    return due;
}

tseed_ends_t *tseed_ends_create(const tseed_ends_uses_t *uses)
{
    tseed_ends_t *ends = apr_pcalloc(uses->context->pool, sizeof(*ends));

    ends->uses = *uses;
    ends->sink = (tseed_sink_t){.module = ends,
                                .hear = hear,
                                .finish = finish,
                                .give_up = give_up,
                                .failed = fail,
                                .refuse = refuse,
                                .pause = wait_for_store,
                                .discard = discard};
    ends->client =
        (tseed_client_t){.module = ends, .feed = feed, .tick = tseed_ends_tick, .due = next_due};
    return ends;
}

const tseed_sink_t *tseed_ends_sink(const tseed_ends_t *ends)
{
    return &ends->sink;
}

tseed_client_t *tseed_ends_client(tseed_ends_t *ends)
{
    return &ends->client;
}
