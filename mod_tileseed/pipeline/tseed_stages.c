/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The stages of a job. */
#include "pipeline/tseed_stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "books/tseed_jobs.h"
#include "books/tseed_marks.h"
#include "pipeline/tseed_derive.h"
#include "pipeline/tseed_join.h"
#include "pipeline/tseed_upstreams.h"
#include "source/tseed_source.h"
#include "work/tseed_portion.h"

/* How fast a run gets on, for those who watch it. Main thread only. */

/* The rate of a run. */

#define RATES 20

static int waits(const tseed_run_t *run, apr_time_t now)
{
    return run->waits_since || run->is_silent || run->is_hung || run->is_behind || run->short_of ||
           now < run->pause_until;
}

/* Takes the rate once a tick: tiles in 1000 s, as a mean in which older ticks count less, so that
 * the rate soon shows a break. Only the board shows the rate: `dirty` stays as it was, because a
 * rate alone is nothing to save. now: monotonic. */
static void tseed_rate_take(tseed_run_t *run, const tseed_display_t *display, apr_time_t now)
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
    tseed_display_run(display, run);
    run->dirty = was_dirty;
    run->rated_at = now;
    run->rated_tiles = processed;
}

#define CALM 5 /* ticks without a paused task: a full disk may take a file now and then */

/* What the log knows to be wrong with a store. malloc'd. */
typedef struct trouble_t {
    const char *root; /* the configuration's */
    char *place;      /* malloc'd */
    apr_status_t rv;
    int calm; /* ticks */
    struct trouble_t *next;
} trouble_t;

struct tseed_stages_t {
    tseed_stages_uses_t uses;
    tseed_client_t client;
    trouble_t *troubles;
};

/* ---- jobs ---- */

void tseed_stages_work(tseed_stages_t *stages, tseed_job_t *job, tseed_stage_t stage)
{
    for (tseed_job_t *one = job; one; one = one->joined) {
        one->stage = stage;
        one->at_work = 1;
        if (stage == TSEED_STAGE_CUT) {
            tseed_holds_pin(stages->uses.holds, one);
            tseed_job_trace_begin(stages->uses.context->board, one);
        }
    }
    job->run->working++;
    job->run->checking += stage == TSEED_STAGE_CHECK;
    if (tseed_workers_push(stages->uses.context->workers, job) != APR_SUCCESS) {
        job->outcome = TSEED_JOB_NO_STORE;
        job->rv = APR_ENOMEM;
        tseed_mailbox_put(stages->uses.context->mailbox, &job->letter);
    }
}

static void set_url(tseed_stages_t *stages, tseed_job_t *job, int address)
{
    tseed_ask_t ask = {
        .tileset = &job->run->tileset, .whole = &job->asked, .gutter = job->run->task->gutter};
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

/* What was made of a stale answer is out of date as well. */
static void begin_fetch(tseed_job_t *leader)
{
    for (tseed_job_t *job = tseed_join_chain(leader); job; job = job->joined) {
        if (job->is_stale) {
            memset(job->written, 0, sizeof(job->written));
            job->plain.colours = TSEED_COLOURS_UNKNOWN;
            job->digest = 0;
            job->shade = NULL; /* the finding is forgotten: it is no look any more */
            job->is_wrong = 0;
            job->is_stale = 0;
        }
        job->stage = TSEED_STAGE_FETCH;
    }
}

/* A request of a task may be sent by another host, unless other runs of this host wait for its
 * answer as well, or the request has failed before. */
static void set_portion(tseed_stages_t *stages, tseed_job_t *job, int address, int is_shared)
{
    free(job->portion);
    job->portion = NULL;
    if (!is_shared && !job->run->is_background && job->tries == 0 &&
        tseed_fetcher_has_help(stages->uses.context->fetcher)) {
        job->portion =
            tseed_memory_copy(tseed_portion_write(job, address, stages->uses.context->scratch));
    }
    job->transfer.portion = job->portion;
}

static void ask_upstream(tseed_stages_t *stages, tseed_job_t *job)
{
    const tseed_source_t *source = &job->run->tileset.layer->source;
    int address = tseed_upstreams_choose(stages->uses.context->fetcher, job);
    int is_shared;

    set_url(stages, job, address);
    tseed_origins_ask(stages->uses.origins, job, job->url);
    is_shared = tseed_sharing_ask(stages->uses.sharing, job, address);
    tseed_sizing_begin(stages->uses.sizing, job);
    tseed_jobs_forget_answer(&job->transfer);
    job->transfer.url = job->url;
    job->transfer.upstream = source->addresses[address].upstream;
    job->transfer.owner = job->run;
    job->transfer.layer = job->run->tileset.layer;
    job->transfer.may_go_elsewhere = source->count > 1;
    job->transfer.most = tseed_source_most(job->width, job->height);
    set_portion(stages, job, address, is_shared);
    job->run->fetching++;
    job->run->pixels_expected += pixels_of(job);
    tseed_fetcher_submit(stages->uses.context->fetcher, &job->transfer);
}

void tseed_stages_fetch(tseed_stages_t *stages, tseed_job_t *job)
{
    begin_fetch(job);
    if (tseed_derive_is(job)) {
        tseed_derive_prepare(job, stages->uses.origins);
        tseed_stages_work(stages, job, TSEED_STAGE_DERIVE);
    } else {
        ask_upstream(stages, job);
    }
}

int tseed_stages_follow(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_shared_request_t *request;
    tseed_range_t asked;
    int address;

    if (tseed_derive_is(job)) {
        return 0;
    }
    request = tseed_sharing_find(stages->uses.sharing, tseed_join_chain(job), &asked, &address);
    if (!request) {
        return 0;
    }
    begin_fetch(job);
    job->asked = asked;
    set_url(stages, job, address);
    tseed_origins_ask(stages->uses.origins, job, job->url);
    return tseed_sharing_follow(stages->uses.sharing, request, job);
}

/* The first answers say more than what was expected before them. */
static void measure_pixels(tseed_run_t *run, const tseed_job_t *job)
{
    const double found = (double)job->transfer.capacity / (double)pixels_of(job);

    run->pixel_bytes += (found - run->pixel_bytes) / (tseed_run_is_new(run) ? 2 : 4);
    run->answers += tseed_run_is_new(run);
}

void tseed_stages_arrive(tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    tseed_source_settle(&run->tileset.layer->source, &job->transfer);
    if (!job->follows) {
        run->fetching--;
        run->pixels_expected -= pixels_of(job);
    }
    if (job->transfer.result == TSEED_FETCH_OK) {
        measure_pixels(run, job);
    }
}

/* ---- stores that can't be used ---- */

/* Whether an error is about a whole file system, wherever it is met. */
static int is_of_disk(apr_status_t rv)
{
    return APR_STATUS_IS_ENOSPC(rv) || rv == EDQUOT || rv == EROFS || rv == EIO;
}

/* Notes a trouble; returns 0 if the log has it already: many tasks may meet it, and often. */
static int is_news(tseed_stages_t *stages, const char *root, const char *place, apr_status_t rv)
{
    trouble_t *trouble = stages->troubles;

    place = is_of_disk(rv) ? root : place;
    while (trouble && (trouble->rv != rv || strcmp(trouble->root, root) != 0 ||
                       strcmp(trouble->place, place) != 0)) {
        trouble = trouble->next;
    }
    if (trouble) {
        return 0;
    }
    trouble = tseed_memory_get(sizeof(*trouble));
    *trouble = (trouble_t){root, tseed_memory_copy(place), rv, 0, stages->troubles};
    stages->troubles = trouble;
    return 1;
}

static int pauses_any(const tseed_stages_t *stages, const char *root)
{
    const tseed_run_t *run = stages->uses.runs->tasks;

    while (run && (run->pauses == 0 || strcmp(run->tileset.layer->store.root, root) != 0)) {
        run = run->next_run;
    }
    return run != NULL;
}

/* Ends troubles that have paused no task for a while. */
static void end_troubles(tseed_stages_t *stages)
{
    for (trouble_t **link = &stages->troubles, *trouble; (trouble = *link) != NULL;) {
        trouble->calm = pauses_any(stages, trouble->root) ? 0 : trouble->calm + 1;
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
static void pause_run(tseed_stages_t *stages, tseed_run_t *run, const tseed_job_t *job)
{
    const char *root = run->tileset.layer->store.root;
    const char *place = job->place[0] ? job->place : root;
    apr_time_t now = tseed_clock_monotonic();
    char why[TSEED_CAUSE_SIZE], layer[64];

    apr_strerror(job->rv, why, sizeof(why));
    if (run->pauses == 0) {
        tseed_counters_add(stages->uses.context->board, TSEED_COUNT_STORE_ERRORS, 1);
    }
    if (run->pauses == 0 && is_news(stages, root, place, job->rv)) {
        tseed_log(TSEED_LOG_ERROR, job->rv,
                  "TS0026: task %" APR_INT64_T_FMT
                  " of layer '%s' is paused: %s, in the layer's store %s, can't be used; the task "
                  "goes on by itself when it can, and so do others",
                  run->task->id, run->task->layer, place, root);
    }
    if (now >= run->pause_until) {
        run->pauses++;
        run->pause_until = now + tseed_retry_back_off(run->pauses);
    }
    if (job->rv == ELOOP) {
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
    tseed_display_run(stages->uses.display, run);
}

/* ---- stages ---- */

/* Returns whether the job needs a picture. A look does, even where all its tiles are there. */
static int checked(tseed_stages_t *stages, tseed_job_t *job, int coming)
{
    const int64_t tiles = tseed_range_count(&job->metatile.wanted);

    tseed_job_trace_recall(stages->uses.context->board, job);
    if (tseed_job_is_look(job) || tseed_job_present(job) + tseed_job_written(job) < tiles) {
        return 1;
    }
    job->made = tseed_job_written(job);
    job->skipped = tiles - job->made;
    tseed_ends_finish(stages->uses.ends, job, coming);
    return 0;
}

/* An answer has come: the jobs wait for a worker. If the answer is out of date meanwhile, they wait
 * to be fetched again. */
static void answered(tseed_job_t *leader)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_run_t *run = leader->run;

    for (tseed_job_t *job = leader; job; job = job->joined) {
        job->stage = TSEED_STAGE_CUT;
        job->answered = now;
    }
    tseed_queue_put(leader->is_stale ? &run->wanted : &run->ready, leader);
}

/* Whether an answer that says that the upstream is away may be about the size of the request: the
 * upstream asked for a pause, or was late. */
static int may_be_too_large(const tseed_transfer_t *transfer)
{
    return transfer->result != TSEED_FETCH_AWAY || transfer->retry_after > 0 ||
           transfer->http_status == 429 || transfer->took >= transfer->upstream->timeout / 10 * 9 ||
           transfer->took >= transfer->upstream->first_byte_timeout / 10 * 9;
}

/* A request for several metatiles that has failed says nothing of each of them. */
static void refused(tseed_stages_t *stages, tseed_job_t *leader)
{
    if (leader->joined && may_be_too_large(&leader->transfer) &&
        !tseed_retry_is_refused(leader->run)) {
        tseed_sizing_fail(stages->uses.sizing, leader);
    }
    if (leader->joined && leader->transfer.result != TSEED_FETCH_AWAY) {
        tseed_jobs_forget_answer(&leader->transfer);
        tseed_join_part(&leader->run->wanted, leader);
    } else {
        tseed_retry_put(stages->uses.retry, leader, tseed_clock_monotonic());
    }
}

static void fetched(tseed_stages_t *stages, tseed_job_t *job)
{
    tseed_run_t *run = job->run;
    const int follows = job->follows;

    tseed_sharing_arrive(stages->uses.sharing, job);
    tseed_stages_arrive(job);
    job->follows = 0;
    tseed_retry_note(job, tseed_clock_monotonic());
    run->progress.requests += job->transfer.sent + job->transfer.sent_in_vain;
    job->transfer.sent_in_vain = 0;
    if (run->phase != TSEED_RUN_GOING ||
        (job->transfer.result == TSEED_FETCH_CANCELLED && !follows)) {
        tseed_ends_discard(stages->uses.ends, job);
    } else if (job->transfer.result == TSEED_FETCH_CANCELLED) {
        tseed_queue_put(&run->wanted, job); /* what it followed has failed: it asks for itself */
    } else if (job->transfer.result == TSEED_FETCH_OK ||
               job->transfer.result == TSEED_FETCH_UNCHANGED) {
        if (follows) {
            run->progress.shared++;
        } else {
            tseed_sizing_take(stages->uses.sizing, job);
        }
        answered(job);
    } else {
        memcpy(job->cause, job->transfer.cause, sizeof(job->cause));
        tseed_health_take(stages->uses.health, job, tseed_clock_monotonic());
        refused(stages, job);
    }
}

/* Jobs that have come back together from a worker. Those that are not finished go into lists. */
typedef struct {
    int coming;          /* are not judged yet */
    tseed_job_t *wanted; /* are to be fetched */
    tseed_job_t *bad;    /* their answer is no picture */
    tseed_job_t *ready;  /* are to be cut once more: the store or the quota has refused, … */
    const tseed_job_t *refusal; /* … one of them, … */
    tseed_job_t *keeper;        /* … and the one that has the answer */
} piles_t;

static void work_done(tseed_stages_t *stages, piles_t *piles, tseed_job_t *job)
{
    if (job->stage == TSEED_STAGE_CUT) {
        tseed_ends_finish(stages->uses.ends, job, piles->coming);
    } else if (job->stage == TSEED_STAGE_REMOVE) {
        tseed_ends_finish_level(stages->uses.ends, job);
    } else if (job->run->phase != TSEED_RUN_GOING) {
        tseed_ends_discard(stages->uses.ends, job);
    } else if (job->stage == TSEED_STAGE_DERIVE) {
        answered(job);
    } else if (checked(stages, job, piles->coming)) {
        piles->wanted = tseed_join_push(piles->wanted, job);
    }
}

/* The quota has refused a tile: the job waits. If the tile is larger than the whole quota, the
 * metatile is given up. Returns whether the job waits. */
static int may_wait_for_room(tseed_stages_t *stages, tseed_job_t *job)
{
    const char *cause = tseed_quota_wait_refuse(stages->uses.quota_wait, job);

    if (cause) {
        apr_cpystrn(job->cause, cause, sizeof(job->cause));
        tseed_failures_give_up(stages->uses.failures, job);
    }
    return !cause;
}

static void keep_waiting(tseed_stages_t *stages, piles_t *piles, tseed_job_t *job)
{
    if (job->outcome == TSEED_JOB_NO_ROOM && !may_wait_for_room(stages, job)) {
        piles->keeper = piles->keeper == job ? NULL : piles->keeper;
        return;
    }
    piles->ready = tseed_join_push(piles->ready, job);
    piles->refusal = job;
}

/* What becomes of one job that has come back from a worker. */
static void judge(tseed_stages_t *stages, piles_t *piles, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    if (job->outcome == TSEED_JOB_OK) {
        work_done(stages, piles, job);
    } else if (run->phase != TSEED_RUN_GOING || job->outcome == TSEED_JOB_STOPPED) {
        tseed_ends_discard(stages->uses.ends, job);
    } else if (job->outcome == TSEED_JOB_LACKS) {
        tseed_failures_give_up(stages->uses.failures, job);
    } else if (job->outcome == TSEED_JOB_BAD_ANSWER) {
        piles->bad = tseed_join_push(piles->bad, job);
    } else if (job->outcome == TSEED_JOB_NO_BODY) {
        job->must_fetch = 1;
        piles->wanted = tseed_join_push(piles->wanted, job);
    } else if (job->outcome == TSEED_JOB_MORE) { /* it could not be renamed away */
        job->is_whole = 0;
        tseed_queue_put(&run->ready, job);
    } else {
        keep_waiting(stages, piles, job);
    }
}

static int is_stale(const tseed_job_t *leader)
{
    int is = 0;

    for (const tseed_job_t *job = leader; job; job = job->joined) {
        is |= job->is_stale;
    }
    return is;
}

/* The jobs wait for a worker once more, with their answer, after a pause. If the answer is out of
 * date or lost meanwhile, or there is none yet, they wait to be fetched again. */
static void cut_again(tseed_stages_t *stages, const piles_t *piles)
{
    tseed_job_t *job = piles->ready;
    tseed_run_t *run = job->run;
    int is_lost;

    if (piles->keeper) {
        const tseed_range_t asked = piles->keeper->asked; /* the answer is still all of it */

        tseed_join_chain(job);
        tseed_join_hand_over(job, piles->keeper);
        job->asked = asked;
    } else {
        tseed_join_chain(job);
    }
    is_lost = is_stale(job) || job->stage == TSEED_STAGE_DERIVE ||
              (job->stage == TSEED_STAGE_CUT && !piles->keeper);
    tseed_queue_put(is_lost ? &run->wanted : &run->ready, job);
    if (piles->refusal->outcome == TSEED_JOB_NO_ROOM) {
        tseed_quota_wait_put(stages->uses.quota_wait, piles->refusal);
    } else {
        pause_run(stages, run, piles->refusal);
    }
}

/* The first job that will need the answer again gets it, before the leader may be put back. */
static tseed_job_t *keep_answer(tseed_job_t *leader)
{
    tseed_job_t *job = leader->stage == TSEED_STAGE_CUT ? leader : NULL;

    while (job && job->outcome != TSEED_JOB_NO_ROOM && job->outcome != TSEED_JOB_NO_STORE) {
        job = job->joined;
    }
    if (job) {
        tseed_join_hand_over(job, leader);
    }
    return job;
}

/* An answer that was no picture says nothing of each of joined metatiles. */
static void fetch_otherwise(tseed_stages_t *stages, tseed_job_t *list, int was_joined)
{
    tseed_run_t *run = list->run;

    if (list->joined) {
        tseed_sizing_fail(stages->uses.sizing, tseed_join_chain(list));
    }
    if (!was_joined) {
        tseed_retry_put(stages->uses.retry, list, tseed_clock_monotonic());
    } else if (list->joined) {
        tseed_join_part(&run->wanted, tseed_join_chain(list));
    } else {
        tseed_queue_put(&run->wanted, list);
    }
}

static void book(const tseed_stages_t *stages, tseed_job_t *leader)
{
    for (tseed_job_t *job = leader; job; job = job->joined) {
        tseed_holds_book(stages->uses.holds, job);
    }
}

static void worked(tseed_stages_t *stages, tseed_job_t *leader)
{
    tseed_run_t *run = leader->run;
    const tseed_cell_shape_t cell = tseed_join_cell(leader);
    piles_t piles = {.coming = tseed_join_count(leader), .keeper = keep_answer(leader)};
    const int was_joined = piles.coming > 1;

    run->working--;
    run->checking -= leader->stage == TSEED_STAGE_CHECK;
    if (!tseed_derive_is(leader)) {
        tseed_health_take(stages->uses.health, leader, tseed_clock_monotonic());
    }
    if (leader->stage == TSEED_STAGE_DERIVE) {
        tseed_derive_arrive(leader, stages->uses.origins);
    } else if (leader->stage != TSEED_STAGE_CHECK) {
        book(stages, leader);
    }
    for (tseed_job_t *job = leader, *next; job; job = next, piles.coming--) {
        next = job->joined;
        job->leader = job->joined = NULL;
        judge(stages, &piles, job);
    }
    tseed_join_queue(&run->wanted, piles.wanted, cell);
    if (piles.ready) {
        cut_again(stages, &piles);
    }
    if (piles.bad) {
        fetch_otherwise(stages, piles.bad, was_joined);
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
    tseed_sharing_drain(stages->uses.sharing, run);
    while ((job = tseed_queue_take(&run->wanted)) || (job = tseed_queue_take(&run->ready))) {
        tseed_ends_discard(stages->uses.ends, job);
    }
    while ((job = run->to_retry)) {
        run->to_retry = job->next;
        tseed_ends_discard(stages->uses.ends, job);
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

/* ---- counts ---- */

void tseed_stages_no_store(void *module, tseed_job_t *count)
{
    tseed_stages_t *stages = module;
    tseed_run_t *background = count->run;

    for (tseed_run_t *run = stages->uses.runs->tasks; run; run = run->next_run) {
        if (run->booked == background->booked && run->ready.count > 0) {
            pause_run(stages, run, count);
        }
    }
    for (int waiting = background->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&background->ready);

        if (job->stage == TSEED_STAGE_CUT) {
            tseed_stages_work(stages, job, TSEED_STAGE_CUT);
        } else {
            tseed_queue_put(&background->ready, job);
        }
    }
}

/* ---- once a tick ---- */

static void look_at_store(tseed_stages_t *stages, tseed_run_t *run)
{
    const int was_hung = run->is_hung;
    char layer[64];

    run->is_hung = (run->working > 0 || (run->booked && run->booked->is_late)) &&
                   tseed_workers_is_hung(stages->uses.context->workers, run);
    if (run->is_hung) {
        tseed_progress_say(&run->progress, TSEED_REASON_STORE,
                           "the store of layer %s has not answered for more than 10 s",
                           tseed_text_fit(layer, sizeof(layer), run->task->layer));
    } else if (was_hung && run->phase == TSEED_RUN_GOING) {
        tseed_run_remind(run);
    }
}

void tseed_stages_tick(void *module, apr_time_t now)
{
    tseed_stages_t *stages = module;

    tseed_workers_tick(stages->uses.context->workers, now);
    for (tseed_run_t *run = stages->uses.runs->tasks; run; run = run->next_run) {
        look_at_store(stages, run);
        tseed_rate_take(run, stages->uses.display, now);
        if (run->task->type == TSEED_TRUNCATE && run->jobs) {
            tseed_ends_count_removed(run, run->jobs->position);
            tseed_display_run(stages->uses.display, run);
        }
        tseed_failures_summarise(run, now);
    }
    for (tseed_run_t *run = stages->uses.runs->background; run; run = run->next_run) {
        run->is_hung =
            run->working > 0 && tseed_workers_is_hung(stages->uses.context->workers, run);
    }
    end_troubles(stages);
    tseed_sharing_tick(stages->uses.sharing);
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
