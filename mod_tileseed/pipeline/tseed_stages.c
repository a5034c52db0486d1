/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The stages of a job. */
#include "pipeline/tseed_stages.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "board/tseed_traces.h"
#include "pipeline/tseed_derive.h"
#include "pipeline/tseed_job_trace.h"
#include "pipeline/tseed_upstreams.h"
#include "source/tseed_source.h"

#define ANSWER_BYTES_MAX (64 << 20) /* longest answer that is taken */
#define RATES            20

struct tseed_stages_t {
    tseed_stages_uses_t uses;
    tseed_client_t client;
};

/* ---- jobs ---- */

void tseed_stages_work(tseed_stages_t *stages, tseed_job_t *job, tseed_stage_t stage)
{
    job->stage = stage;
    job->at_work = 1;
    job->run->working++;
    job->run->checking += stage == TSEED_STAGE_CHECK;
    if (stage == TSEED_STAGE_CUT) {
        tseed_holds_pin(stages->uses.holds, job);
        tseed_job_trace_begin(stages->uses.context->board, job);
    }
    if (tseed_workers_push(stages->uses.context->workers, job) != APR_SUCCESS) {
        job->outcome = TSEED_JOB_NO_STORE;
        job->rv = APR_ENOMEM;
        tseed_mailbox_put(stages->uses.context->mailbox, &job->letter);
    }
}

static void set_url(tseed_stages_t *stages, tseed_job_t *job, int address)
{
    tseed_ask_t ask = {.tileset = &job->run->tileset,
                       .whole = &job->metatile.whole,
                       .gutter = job->run->task->gutter};
    const char *url = tseed_source_url(&ask, address, stages->uses.context->scratch);
    size_t size = strlen(url) + 1;

    job->width = ask.width;
    job->height = ask.height;
    if (size > job->url_size) {
        free(job->url);
        job->url = tseed_memory_get(size);
        job->url_size = size;
    }
    memcpy(job->url, url, size);
}

static int64_t pixels_of(const tseed_job_t *job)
{
    return (int64_t)job->width * job->height;
}

static void ask_upstream(tseed_stages_t *stages, tseed_job_t *job)
{
    const tseed_source_t *source = &job->run->tileset.layer->source;
    int address = tseed_upstreams_choose(stages->uses.context->fetcher, job);

    set_url(stages, job, address);
    tseed_origins_ask(stages->uses.origins, job, job->url);
    job->stage = TSEED_STAGE_FETCH;
    tseed_jobs_forget_answer(&job->transfer);
    job->transfer.url = job->url;
    job->transfer.upstream = source->addresses[address].upstream;
    job->transfer.owner = job->run;
    job->transfer.may_go_elsewhere = source->count > 1;
    job->transfer.most = ANSWER_BYTES_MAX;
    job->run->fetching++;
    job->run->pixels_expected += pixels_of(job);
    tseed_fetcher_submit(stages->uses.context->fetcher, &job->transfer);
}

void tseed_stages_fetch(tseed_stages_t *stages, tseed_job_t *job)
{
    if (job->is_stale) { /* what was made of the last answer is out of date as well */
        memset(job->written, 0, sizeof(job->written));
        job->plain.colours = TSEED_COLOURS_UNKNOWN;
        job->digest = 0;
        job->is_stale = 0;
    }
    if (tseed_derive_is(job)) {
        tseed_derive_prepare(job, stages->uses.origins);
        tseed_stages_work(stages, job, TSEED_STAGE_DERIVE);
    } else {
        ask_upstream(stages, job);
    }
}

/* Where the upstream has no tile, its answer becomes one without a body, from which empty tiles are
 * made. */
static void settle_missing(tseed_job_t *job)
{
    tseed_transfer_t *transfer = &job->transfer;

    if (job->run->tileset.layer->source.missing_is_empty &&
        transfer->result == TSEED_FETCH_FAILED &&
        (transfer->http_status == 404 || transfer->http_status == 204)) {
        transfer->result = TSEED_FETCH_OK;
        transfer->length = 0;
        transfer->next_condition[0] = '\0';
    }
}

void tseed_stages_arrive(tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    settle_missing(job);

    run->fetching--;
    run->pixels_expected -= pixels_of(job);
    if (job->transfer.result == TSEED_FETCH_OK) {
        double found = (double)job->transfer.capacity / (double)pixels_of(job);

        run->pixel_bytes += (found - run->pixel_bytes) / 4;
    }
}

/* ---- the ends of a metatile ---- */

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

static void finish(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_run_t *run = job->run;
    const unsigned trace = job->trace;
    const apr_time_t now = tseed_clock_monotonic();

    run->progress.made += job->made;
    count_skipped(job);
    run->progress.bytes += job->bytes;
    count_pruned(job);
    tseed_progress_finish(&run->progress, job->position);
    tseed_run_measure(run, job, now);
    if (job->stage != TSEED_STAGE_CHECK) { /* a look proves nothing about writing */
        run->pauses = 0;
        tseed_quota_wait_end(run, now);
        tseed_run_remind(run);
    }
    tseed_jobs_put_back(stages->uses.jobs, job);
    tseed_display_run(stages->uses.display, run);
    tseed_trace_end(stages->uses.context->board, trace);
}

/* The store can't be written: the task keeps its answers, says why and tries again after a pause.
 * Jobs that fail together are one failure. */
void tseed_stages_pause(tseed_stages_t *stages, tseed_run_t *run, const tseed_job_t *job)
{
    const int has_tiles = job->metatile.wanted.z >= 0; /* a count of shared files has none */
    const tseed_range_t *tiles = &(has_tiles ? job : run->ready.head)->metatile.wanted;
    const tseed_tile_t tile = {tiles->z, tiles->minx, tiles->miny};
    apr_time_t now = tseed_clock_monotonic();
    char why[TSEED_CAUSE_SIZE], layer[64];

    apr_strerror(job->rv, why, sizeof(why));
    if (job->rv == ELOOP) { /* the worker has found out which directory is a link */
        apr_cpystrn(why, job->cause, sizeof(why));
    }
    if (run->pauses == 0) {
        tseed_counters_add(stages->uses.context->board, TSEED_COUNT_STORE_ERRORS, 1);
        tseed_log(TSEED_LOG_ERROR, job->rv,
                  "TS0026: task %" APR_INT64_T_FMT
                  " of layer '%s' is paused: %s, in the layer's store %s, can't be used; the task "
                  "goes on by itself when it can",
                  run->task->id, run->task->layer,
                  tseed_store_obstacle(&run->tileset, &tile, stages->uses.context->scratch),
                  run->tileset.layer->store.root);
    }
    if (now >= run->pause_until) {
        run->pauses++;
        run->pause_until = now + tseed_retry_back_off(run->pauses);
    }
    if (job->rv == ELOOP) {
        tseed_text_say(run->progress.reason, sizeof(run->progress.reason), "paused: %s", why);
    } else {
        tseed_text_say(run->progress.reason, sizeof(run->progress.reason),
                       "paused: the store of layer %s can't be used: %s; the error log says where",
                       tseed_text_fit(layer, sizeof(layer), run->task->layer), why);
    }
    tseed_display_run(stages->uses.display, run);
}

/* ---- stages ---- */

static void checked(tseed_stages_t *stages, tseed_job_t *job)
{
    const int64_t tiles = tseed_range_count(&job->metatile.wanted);

    tseed_job_trace_recall(stages->uses.context->board, job);
    if (tseed_job_present(job) + tseed_job_written(job) < tiles) {
        tseed_queue_put(&job->run->wanted, job);
    } else {
        job->made = tseed_job_written(job);
        job->skipped = tiles - job->made;
        finish(stages, job);
    }
}

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

/* Counts the files removed so far, at most as many as the levels up to `position` hold: a resumed
 * truncate may meet tiles that a running seed has put back. */
static void count_removed(tseed_run_t *run, int64_t position)
{
    int64_t most = tiles_up_to(run, position) - run->progress.skipped;
    int64_t removed = run->removed_before + atomic_load(&run->unlinked);

    run->progress.removed = removed < most ? removed : most;
}

/* Ends a level. Tiles that the levels so far did not have count as skipped. */
static void level_done(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    count_removed(run, job->position);
    atomic_store(&run->unlinked, 0);
    run->removed_before = run->progress.removed;
    job->skipped = tiles_up_to(run, job->position) - tseed_progress_processed(&run->progress);
    finish(stages, job);
}

/* Puts a job back that was cut short. What it wrote or removed counts, if nobody will go over its
 * metatile again. */
static void discard(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    if (job->stage == TSEED_STAGE_REMOVE) {
        count_removed(run, job->position);
    } else if (run->phase == TSEED_RUN_DRAINING) {
        run->progress.made += tseed_job_written(job);
        count_skipped(job);
        run->progress.bytes += job->bytes;
    }
    tseed_jobs_put_back(stages->uses.jobs, job);
    tseed_display_run(stages->uses.display, run);
}

/* The queue in which a job waits for a worker. If its answer is out of date meanwhile, or there is
 * none: the queue in which it waits to be fetched again. */
static tseed_queue_t *queue_again(const tseed_job_t *job)
{
    return job->is_stale || job->stage == TSEED_STAGE_DERIVE ? &job->run->wanted : &job->run->ready;
}

static void answered(tseed_job_t *job)
{
    job->stage = TSEED_STAGE_CUT;
    tseed_queue_put(queue_again(job), job);
}

static void fetched(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    tseed_stages_arrive(job);
    run->progress.requests += job->transfer.sent;
    if (run->phase != TSEED_RUN_GOING || job->transfer.result == TSEED_FETCH_CANCELLED) {
        discard(stages, job);
    } else if (job->transfer.result == TSEED_FETCH_OK ||
               job->transfer.result == TSEED_FETCH_UNCHANGED) {
        answered(job);
    } else {
        memcpy(job->cause, job->transfer.cause, sizeof(job->cause));
        tseed_retry_put(stages->uses.retry, job, tseed_clock_monotonic());
    }
}

static void work_done(tseed_stages_t *stages, tseed_job_t *job)
{
    if (job->stage == TSEED_STAGE_CUT) {
        finish(stages, job);
    } else if (job->stage == TSEED_STAGE_REMOVE) {
        level_done(stages, job);
    } else if (job->run->phase != TSEED_RUN_GOING) {
        discard(stages, job);
    } else if (job->stage == TSEED_STAGE_DERIVE) {
        answered(job);
    } else {
        checked(stages, job);
    }
}

/* The store has failed: the job waits, and begins its stage again after a pause. */
static void wait_for_store(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_queue_put(queue_again(job), job);
    tseed_stages_pause(stages, job->run, job);
}

/* The quota has refused a tile: the job waits. If the tile is larger than the whole quota, the
 * metatile is given up. */
static void wait_for_room(tseed_stages_t *stages, tseed_job_t *job)
{
    const char *cause = tseed_quota_wait_refuse(stages->uses.quota_wait, job);

    if (cause) {
        apr_cpystrn(job->cause, cause, sizeof(job->cause));
        tseed_failures_give_up(stages->uses.failures, job);
        return;
    }
    tseed_queue_put(queue_again(job), job);
    tseed_quota_wait_put(stages->uses.quota_wait, job);
}

static void worked(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    run->working--;
    run->checking -= job->stage == TSEED_STAGE_CHECK;
    if (job->stage == TSEED_STAGE_DERIVE) {
        tseed_derive_arrive(job);
    } else if (job->stage != TSEED_STAGE_CHECK) {
        tseed_holds_book(stages->uses.holds, job);
    }
    if (job->outcome == TSEED_JOB_OK) {
        work_done(stages, job);
    } else if (run->phase != TSEED_RUN_GOING || job->outcome == TSEED_JOB_STOPPED) {
        discard(stages, job);
    } else if (job->outcome == TSEED_JOB_LACKS) {
        tseed_failures_give_up(stages->uses.failures, job);
    } else if (job->outcome == TSEED_JOB_BAD_ANSWER) {
        tseed_retry_put(stages->uses.retry, job, tseed_clock_monotonic());
    } else if (job->outcome == TSEED_JOB_NO_BODY) {
        job->must_fetch = 1;
        tseed_queue_put(&run->wanted, job);
    } else if (job->outcome == TSEED_JOB_MORE) { /* it could not be renamed away */
        job->is_whole = 0;
        tseed_queue_put(&run->ready, job);
    } else if (job->outcome == TSEED_JOB_NO_ROOM) {
        wait_for_room(stages, job);
    } else {
        wait_for_store(stages, job);
    }
}

static void take(void *module, tseed_job_t *job)
{
    tseed_stages_t *stages = module;
    tseed_run_t *run = job->run;

    if (job->stage == TSEED_STAGE_FETCH) {
        fetched(stages, job);
    } else {
        worked(stages, job);
    }
    tseed_stages_settle(stages, run);
}

void tseed_stages_drain(tseed_stages_t *stages, tseed_run_t *run)
{
    tseed_job_t *job;

    if (run->phase == TSEED_RUN_GOING) {
        run->phase = TSEED_RUN_DRAINING;
    }
    atomic_store(&run->stopped, 1);
    tseed_fetcher_cancel(stages->uses.context->fetcher, run);
    while ((job = tseed_queue_take(&run->wanted)) || (job = tseed_queue_take(&run->ready))) {
        discard(stages, job);
    }
    while ((job = run->to_retry)) {
        run->to_retry = job->next;
        discard(stages, job);
    }
    tseed_stages_settle(stages, run);
}

void tseed_stages_settle(tseed_stages_t *stages, tseed_run_t *run)
{
    if (run->phase == TSEED_RUN_GOING && tseed_run_is_through(run)) {
        tseed_run_remind(run);
        tseed_run_conclude(run);
        run->phase = TSEED_RUN_DRAINING;
    }
    if (run->phase == TSEED_RUN_DRAINING && !run->jobs) {
        run->phase = TSEED_RUN_ENDING;
        if (run->errors > 0) {
            tseed_failures_say(run, tseed_clock_monotonic());
        }
    }
    if (run->phase == TSEED_RUN_ENDING) {
        stages->uses.session->must_record = 1;
    }
}

/* ---- once a tick ---- */

static int waits(const tseed_run_t *run, apr_time_t now)
{
    return run->waits_since || run->is_silent || run->is_behind || run->short_of ||
           now < run->pause_until;
}

/* The rate: tiles in 1000 s, averaged over the last RATES ticks with less and less weight, so that
 * the rate soon shows a break. Pruned tiles take no time and are no part of it. Only the board
 * shows the rate: `dirty` is put back, because a rate alone is nothing to save. */
static void take_rate(tseed_stages_t *stages, tseed_run_t *run, apr_time_t now)
{
    const int64_t processed = tseed_progress_processed(&run->progress) - run->progress.pruned;
    const double seconds = (double)(now - run->rated_at) / APR_USEC_PER_SEC;
    const double rate = 1000 * (double)(processed - run->rated_tiles) / seconds;
    const int was_dirty = run->dirty;

    if (waits(run, now)) { /* what was is no rate, and says nothing of what is left */
        run->rates = 0;
        run->progress.rate = 0;
    } else if (run->rated_at && seconds > 0) {
        run->rates += run->rates < RATES;
        run->progress.rate += (int64_t)((rate - (double)run->progress.rate) / run->rates);
    }
    tseed_display_run(stages->uses.display, run);
    run->dirty = was_dirty;
    run->rated_at = now;
    run->rated_tiles = processed;
}

void tseed_stages_tick(void *module, apr_time_t now)
{
    tseed_stages_t *stages = module;

    for (tseed_run_t *run = stages->uses.runs->tasks; run; run = run->next_run) {
        take_rate(stages, run, now);
        if (run->task->type == TSEED_TRUNCATE && run->jobs) {
            count_removed(run, run->jobs->position);
            tseed_display_run(stages->uses.display, run);
        }
        tseed_failures_summarise(run, now);
    }
}

tseed_stages_t *tseed_stages_create(const tseed_stages_uses_t *uses)
{
    tseed_stages_t *stages = apr_pcalloc(uses->context->pool, sizeof(*stages));

    stages->uses = *uses;
    stages->client = (tseed_client_t){.module = stages, .take = take, .tick = tseed_stages_tick};
    return stages;
}

tseed_client_t *tseed_stages_client(tseed_stages_t *stages)
{
    return &stages->client;
}
