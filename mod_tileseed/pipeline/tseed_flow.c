/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The flow of a metatile's job.
 *
 * Joined jobs go to a stage together, and each is judged by itself when they come back. Those that
 * go on then go on together: what is to be fetched in new requests, what is to be cut once more
 * with the answer that they have. */
#include "pipeline/tseed_flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "pipeline/tseed_upstreams.h"
#include "source/tseed_source.h"

#define CRASHES_OF_METATILE 2

struct tseed_flow_t {
    tseed_flow_uses_t uses;
    tseed_client_t client;
};

/* ---- the judgement ---- */

static tseed_verdict_t judge_answer(const tseed_job_t *job)
{
    if (job->accounts.is_stale || job->request.transfer.result == TSEED_FETCH_CANCELLED) {
        return TSEED_FLOW_ANEW;
    }
    return tseed_transfer_is_good(&job->request.transfer) ? TSEED_FLOW_ON : TSEED_FLOW_FAILED;
}

/* A look asks the upstream even where all tiles are there. */
static int is_all_there(const tseed_job_t *job)
{
    return !tseed_job_is_look(job) && tseed_job_present(job) + tseed_job_written(job) ==
                                          tseed_range_count(&job->metatile.wanted);
}

static tseed_verdict_t judge_good_work(const tseed_job_t *job)
{
    if (job->request.stage == TSEED_STAGE_DERIVE) {
        return job->accounts.is_stale ? TSEED_FLOW_ANEW : TSEED_FLOW_ON;
    }
    if (job->request.stage == TSEED_STAGE_CHECK) {
        return is_all_there(job) ? TSEED_FLOW_DONE : TSEED_FLOW_ON;
    }
    return TSEED_FLOW_DONE;
}

tseed_verdict_t tseed_flow_judge(const tseed_job_t *job)
{
    const int has_changed =
        job->request.stage == TSEED_STAGE_CUT || job->request.stage == TSEED_STAGE_REMOVE;

    if (job->run->phase != TSEED_RUN_GOING &&
        !(has_changed && job->result.outcome == TSEED_JOB_OK)) {
        return TSEED_FLOW_DROPPED;
    }
    if (job->request.stage == TSEED_STAGE_FETCH) {
        return judge_answer(job);
    }
    switch (job->result.outcome) {
    case TSEED_JOB_OK:
        return judge_good_work(job);
    case TSEED_JOB_BAD_ANSWER:
        return TSEED_FLOW_FAILED;
    case TSEED_JOB_NO_BODY:
        return TSEED_FLOW_ANEW;
    case TSEED_JOB_LACKS:
    case TSEED_JOB_CRASHED:
        return TSEED_FLOW_LOST;
    case TSEED_JOB_MORE:
        return TSEED_FLOW_AGAIN;
    case TSEED_JOB_STOPPED:
        return TSEED_FLOW_DROPPED;
    default:
        return TSEED_FLOW_REFUSED;
    }
}

/* ---- beginnings ---- */

static tseed_job_t *make_job(tseed_flow_t *flow, tseed_run_t *run, int64_t position,
                             const tseed_metatile_t *metatile, const tseed_sink_t *sink)
{
    return tseed_jobs_get(flow->uses.jobs, &(tseed_job_what_t){.client = &flow->client,
                                                               .sink = sink,
                                                               .run = run,
                                                               .position = position,
                                                               .metatile = *metatile});
}

tseed_job_t *tseed_flow_begin(tseed_flow_t *flow, tseed_run_t *run, int64_t position,
                              const tseed_sink_t *sink)
{
    const tseed_metatile_t metatile = tseed_run_metatile(run, position);
    tseed_job_t *job;

    if (tseed_run_holder(flow->uses.runs->tasks, run, &metatile) ||
        tseed_run_holder(flow->uses.runs->background, run, &metatile)) {
        return NULL;
    }
    job = make_job(flow, run, position, &metatile, sink);
    tseed_holds_hold(flow->uses.holds, job);
    return job;
}

/* Whether a level of a truncate is all that the tile set may have there. */
static int is_whole(const tseed_run_t *run, const tseed_range_t *level)
{
    const tseed_subset_t *subset = run->tileset.subset;
    const tseed_range_t all = tseed_range_of(subset->gridset, level->z, &subset->extent);

    return level->minx <= all.minx && level->miny <= all.miny && level->maxx >= all.maxx &&
           level->maxy >= all.maxy;
}

tseed_job_t *tseed_flow_begin_level(tseed_flow_t *flow, tseed_run_t *run, int64_t position,
                                    const tseed_sink_t *sink)
{
    const tseed_range_t level = tseed_run_level(run, position);
    const tseed_metatile_t metatile = {level, level};
    tseed_job_t *job = make_job(flow, run, position, &metatile, sink);

    job->request.stage = TSEED_STAGE_REMOVE;
    job->request.is_whole = is_whole(run, &level);
    tseed_job_trace_begin_level(flow->uses.context->board, job);
    tseed_holds_mark_level(flow->uses.holds, job);
    tseed_queue_put(&run->ready, job);
    return job;
}

void tseed_flow_start(tseed_flow_t *flow, tseed_job_t *list, int is_to_check,
                      tseed_cell_shape_t cell, const char *obstacle)
{
    tseed_run_t *run = list->run;

    if (!list->savings.joined && tseed_board_crashes_at(flow->uses.context->board, run->task->id,
                                                        list->position) >= CRASHES_OF_METATILE) {
        tseed_job_lose(list, TSEED_JOB_CRASHED, "the seeder crashed twice at work on it");
    } else if (obstacle) {
        tseed_job_lose(list, TSEED_JOB_LACKS, obstacle);
    }
    if (tseed_flow_judge(list) == TSEED_FLOW_LOST) {
        list->sink->give_up(list->sink->module, list);
    } else if (is_to_check) {
        tseed_flow_work(flow, tseed_join_chain(list), TSEED_STAGE_CHECK);
    } else {
        tseed_savings_join(flow->uses.savings, list, cell);
    }
}

/* ---- stages ---- */

void tseed_flow_work(tseed_flow_t *flow, tseed_job_t *job, tseed_stage_t stage)
{
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->request.stage = stage;
    }
    tseed_jobs_lend(flow->uses.jobs, job);
    tseed_workers_push(flow->uses.context->workers, job);
}

static void set_url(tseed_flow_t *flow, tseed_job_t *job, int address)
{
    tseed_ask_t ask = {.tileset = &job->run->tileset,
                       .whole = &job->savings.asked,
                       .gutter = job->run->task->gutter};
    const char *url = tseed_source_url(&ask, address, flow->uses.context->scratch);
    size_t size = strlen(url) + 1;

    job->request.width = ask.width;
    job->request.height = ask.height;
    if (size > job->request.url_size) {
        free(job->request.url);
        job->request.url = tseed_memory_get(size);
        job->request.url_size = size;
    }
    memcpy(job->request.url, url, size);
}

static int64_t pixels_of(const tseed_job_t *job)
{
    return (int64_t)job->request.width * job->request.height;
}

/* The picture of a derived metatile counts among the answers of its run. */
static int64_t derived_pixels_of(const tseed_job_t *job)
{
    const tseed_gridset_t *gridset = job->run->positions.gridset;

    return tseed_range_count(&job->metatile.wanted) * gridset->tile_width * gridset->tile_height;
}

/* What was made of a stale answer is out of date as well. */
static void begin_get(tseed_job_t *leader)
{
    for (tseed_job_t *job = leader; job; job = job->savings.joined) {
        if (job->accounts.is_stale) {
            tseed_job_forget_made(job);
            tseed_jobs_renew(job);
            tseed_savings_renew(job);
        }
        job->request.stage = TSEED_STAGE_FETCH;
    }
}

/* A request of a task may be sent by another host, unless other runs of this host wait for its
 * answer as well, or the request has failed before. */
static void set_portion(tseed_flow_t *flow, tseed_job_t *job, int address, int is_shared)
{
    const char *text;

    free(job->request.portion);
    job->request.portion = NULL;
    if (!is_shared && !job->run->is_background && job->request.tries == 0 &&
        tseed_fetcher_has_help(flow->uses.context->fetcher)) {
        text = flow->uses.fleet->doors->portion(job, address, flow->uses.context->scratch);
        job->request.portion = text ? tseed_memory_copy(text) : NULL;
    }
    job->request.transfer.portion = job->request.portion;
}

static void ask_upstream(tseed_flow_t *flow, tseed_job_t *job)
{
    const tseed_source_t *source = &job->run->tileset.layer->source;
    int address = tseed_upstreams_choose(flow->uses.context->fetcher, job);
    int is_shared;

    set_url(flow, job, address);
    is_shared = tseed_savings_ask(flow->uses.savings, job, address);
    tseed_jobs_forget_answer(&job->request.transfer);
    job->request.transfer.url = job->request.url;
    job->request.transfer.upstream = source->addresses[address].upstream;
    job->request.transfer.owner = job->run;
    job->request.transfer.layer = job->run->tileset.layer;
    job->request.transfer.weight = job->savings.weight;
    job->request.transfer.may_go_elsewhere = source->count > 1;
    job->request.transfer.most = tseed_source_most(job->request.width, job->request.height);
    set_portion(flow, job, address, is_shared);
    job->run->fetching++;
    job->run->pixels_expected += pixels_of(job);
    tseed_fetcher_submit(flow->uses.context->fetcher, &job->request.transfer);
}

void tseed_flow_get(tseed_flow_t *flow, tseed_job_t *job)
{
    begin_get(tseed_join_chain(job));
    if (tseed_savings_draws(flow->uses.savings, job)) {
        tseed_savings_derive(flow->uses.savings, job);
        job->request.transfer.upstream = job->run->tileset.layer->source.addresses[0].upstream;
        job->run->deriving++;
        job->run->pixels_expected += derived_pixels_of(job);
        tseed_flow_work(flow, job, TSEED_STAGE_DERIVE);
    } else {
        ask_upstream(flow, job);
    }
}

int tseed_flow_follow(tseed_flow_t *flow, tseed_job_t *job)
{
    struct tseed_shared_request_t *request;
    int address;

    request = tseed_savings_partner(flow->uses.savings, tseed_join_chain(job), &address);
    if (!request) {
        return 0;
    }
    begin_get(job);
    set_url(flow, job, address);
    return tseed_savings_follow(flow->uses.savings, request, job);
}

static void prepare(tseed_job_t *job)
{
    if (job->sink->prepare) {
        job->request.unstored = job->sink->prepare(job->sink->module, job);
    }
}

void tseed_flow_cut(tseed_job_t *leader)
{
    const apr_time_t now = tseed_clock_monotonic();

    for (tseed_job_t *job = leader; job; job = job->savings.joined) {
        job->request.stage = TSEED_STAGE_CUT;
        job->request.answered = now;
        tseed_jobs_renew(job);
        prepare(job);
    }
    tseed_queue_put(&leader->run->ready, leader);
}

void tseed_flow_want(tseed_job_t *leader)
{
    tseed_jobs_forget_answer(&leader->request.transfer);
    tseed_job_forget_drawn(leader);
    tseed_queue_put(&leader->run->wanted, leader);
}

void tseed_flow_send_back(tseed_run_t *run)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        if (job->accounts.is_stale) {
            tseed_flow_want(job);
        } else {
            tseed_queue_put(&run->ready, job);
        }
    }
}

/* ---- an answer has come ---- */

/* The first answers say more than what was expected before them. */
static void measure_pixels(tseed_run_t *run, const tseed_job_t *job)
{
    const double found = (double)job->request.transfer.capacity / (double)pixels_of(job);
    const double before = tseed_run_pixel_bytes(run);

    run->pixel_bytes = before + (found - before) / (tseed_run_is_new(run) ? 2 : 4);
    run->answers += tseed_run_is_new(run);
}

/* Takes a fetch off its run's counts when it has come back, whatever its result. Where the
 * configuration says so, an answer "there is no tile" becomes an answer without a body. */
static void arrive(tseed_flow_t *flow, tseed_job_t *job)
{
    tseed_run_t *run = job->run;

    tseed_savings_came(flow->uses.savings, job);
    tseed_source_settle(&run->tileset.layer->source, &job->request.transfer);
    if (!job->savings.follows) {
        run->fetching--;
        run->pixels_expected -= pixels_of(job);
    }
    if (job->request.transfer.result == TSEED_FETCH_OK) {
        measure_pixels(run, job);
    }
    if (job->sink->hear) {
        job->sink->hear(job->sink->module, job);
    }
    job->request.transfer.sent_in_vain = 0;
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
static void fail(tseed_flow_t *flow, tseed_job_t *leader)
{
    const tseed_transfer_t *transfer = &leader->request.transfer;

    tseed_health_take(flow->uses.health, leader, tseed_clock_monotonic());
    if (leader->savings.joined && may_be_too_large(transfer) &&
        !tseed_run_is_refused(leader->run)) {
        tseed_savings_fail(flow->uses.savings, leader);
    }
    if (leader->savings.joined && transfer->result != TSEED_FETCH_AWAY) {
        tseed_jobs_forget_answer(&leader->request.transfer);
        tseed_join_part(&leader->run->wanted, leader);
    } else {
        leader->sink->failed(leader->sink->module, leader);
    }
}

static void fetched(tseed_flow_t *flow, tseed_job_t *leader)
{
    tseed_verdict_t verdict;

    arrive(flow, leader);
    verdict = tseed_flow_judge(leader);
    if (verdict == TSEED_FLOW_DROPPED) {
        leader->sink->discard(leader->sink->module, leader);
    } else if (verdict == TSEED_FLOW_ANEW) {
        tseed_flow_want(leader);
    } else if (verdict == TSEED_FLOW_FAILED) {
        fail(flow, leader);
    } else {
        tseed_savings_took(flow->uses.savings, leader);
        tseed_flow_cut(leader);
    }
}

/* ---- a worker is through ---- */

/* Jobs that have come back together from a worker. Those that are not finished go into lists. */
typedef struct {
    int coming;          /* are not judged yet */
    tseed_job_t *wanted; /* are to be fetched */
    tseed_job_t *bad;    /* their answer is no picture */
    tseed_job_t *ready;  /* are to be cut once more: the store or an account has refused, … */
    const tseed_job_t *refused; /* … one of them, … */
    tseed_job_t *keeper;        /* … and the one that has the answer */
} piles_t;

static void carry_out(piles_t *piles, tseed_job_t *job)
{
    const tseed_sink_t *sink = job->sink;
    tseed_verdict_t verdict = tseed_flow_judge(job);

    if (verdict == TSEED_FLOW_REFUSED) {
        verdict = sink->refuse(sink->module, job);
    }
    if (piles->keeper == job && verdict != TSEED_FLOW_WAITS) {
        piles->keeper = NULL; /* the answer goes with it */
    }
    switch (verdict) {
    case TSEED_FLOW_DONE:
        if (job->request.stage == TSEED_STAGE_CHECK) {
            tseed_job_count_found(job);
        }
        sink->finish(sink->module, job, piles->coming);
        break;
    case TSEED_FLOW_ON:
    case TSEED_FLOW_ANEW:
        job->request.must_fetch |= job->result.outcome == TSEED_JOB_NO_BODY;
        if (verdict == TSEED_FLOW_ON && job->request.stage == TSEED_STAGE_DERIVE) {
            tseed_flow_cut(job);
        } else {
            piles->wanted = tseed_join_push(piles->wanted, job);
        }
        break;
    case TSEED_FLOW_AGAIN:
        job->request.is_whole = 0; /* it could not be renamed away */
        tseed_queue_put(&job->run->ready, job);
        break;
    case TSEED_FLOW_FAILED:
        piles->bad = tseed_join_push(piles->bad, job);
        break;
    case TSEED_FLOW_LOST:
        sink->give_up(sink->module, job);
        break;
    case TSEED_FLOW_WAITS:
        piles->ready = tseed_join_push(piles->ready, job);
        piles->refused = job;
        break;
    default:
        sink->discard(sink->module, job);
    }
}

static int is_stale(const tseed_job_t *leader)
{
    int is = 0;

    for (const tseed_job_t *job = leader; job; job = job->savings.joined) {
        is |= job->accounts.is_stale;
    }
    return is;
}

/* The jobs wait for a worker once more, with their answer, after a pause. If the answer is out of
 * date or lost meanwhile, or there is none yet, they wait to be fetched again. */
static void cut_again(const piles_t *piles)
{
    tseed_job_t *list = piles->ready;
    tseed_run_t *run = list->run;
    int is_lost;

    tseed_join_resume(list, piles->keeper);
    if (piles->keeper) {
        list->request.width = piles->keeper->request.width;
        list->request.height = piles->keeper->request.height;
    }
    is_lost = is_stale(list) || list->request.stage == TSEED_STAGE_DERIVE ||
              (list->request.stage == TSEED_STAGE_CUT && !piles->keeper);
    if (is_lost) {
        tseed_flow_want(list);
    } else {
        tseed_queue_put(&run->ready, list);
    }
    if (list->sink->pause) {
        list->sink->pause(list->sink->module, run, piles->refused);
    }
    for (tseed_job_t *job = list; job; job = job->savings.joined) {
        job->request.due = run->pause_until;
        prepare(job);
    }
}

/* The first job that may need the answer again gets it, before the leader may be put back. */
static tseed_job_t *keep_answer(tseed_job_t *leader)
{
    tseed_job_t *job = leader->request.stage == TSEED_STAGE_CUT ? leader : NULL;

    while (job && job->result.outcome != TSEED_JOB_NO_ROOM &&
           job->result.outcome != TSEED_JOB_NO_STORE) {
        job = job->savings.joined;
    }
    if (job) {
        tseed_join_hand_over(job, leader);
        job->request.width = leader->request.width;
        job->request.height = leader->request.height;
    }
    return job;
}

/* An answer that was no picture says nothing of each of joined metatiles. */
static void fetch_otherwise(tseed_flow_t *flow, tseed_job_t *list, int was_joined)
{
    tseed_run_t *run = list->run;

    if (list->savings.joined) {
        tseed_savings_fail(flow->uses.savings, tseed_join_chain(list));
    }
    if (!was_joined) {
        list->sink->failed(list->sink->module, list);
        return;
    }
    for (tseed_job_t *job = list; job; job = job->savings.joined) {
        tseed_jobs_forget_answer(&job->request.transfer); /* one of them has it */
    }
    if (list->savings.joined) {
        tseed_join_part(&run->wanted, tseed_join_chain(list));
    } else {
        tseed_queue_put(&run->wanted, list);
    }
}

static void recall(const tseed_flow_t *flow, tseed_job_t *job)
{
    if (job->result.outcome == TSEED_JOB_OK && job->run->phase == TSEED_RUN_GOING) {
        tseed_job_recall(flow->uses.context->board, job);
    }
}

/* Takes a DERIVE off its run's counts. */
static void arrive_derived(tseed_job_t *job)
{
    job->run->deriving--;
    job->run->pixels_expected -= derived_pixels_of(job);
}

/* Takes in what the worker has found or changed, before what becomes of the jobs. */
static void take_in(const tseed_flow_t *flow, tseed_job_t *leader)
{
    for (tseed_job_t *job = leader; job; job = job->savings.joined) {
        if (job->request.stage == TSEED_STAGE_CHECK) {
            recall(flow, job);
        } else if (job->request.stage == TSEED_STAGE_DERIVE) {
            arrive_derived(job);
            tseed_savings_took(flow->uses.savings, job);
        } else if (!job->request.is_unstored) {
            tseed_holds_book(flow->uses.holds, job);
            tseed_savings_took(flow->uses.savings, job);
        }
    }
}

static void worked(tseed_flow_t *flow, tseed_job_t *leader)
{
    const tseed_cell_shape_t cell = tseed_join_cell(leader);
    piles_t piles = {.coming = tseed_join_count(leader), .keeper = keep_answer(leader)};
    const int was_joined = piles.coming > 1;

    if (!tseed_job_is_drawn(leader)) {
        tseed_health_take(flow->uses.health, leader, tseed_clock_monotonic());
    }
    take_in(flow, leader);
    for (tseed_job_t *job = leader, *next; job; job = next, piles.coming--) {
        next = tseed_join_pop(job);
        carry_out(&piles, job);
    }
    tseed_savings_join(flow->uses.savings, piles.wanted, cell);
    if (piles.ready) {
        cut_again(&piles);
    }
    if (piles.bad) {
        fetch_otherwise(flow, piles.bad, was_joined);
    }
}

static void take(void *module, tseed_job_t *job)
{
    if (job->request.stage == TSEED_STAGE_FETCH) {
        fetched(module, job);
    } else {
        worked(module, job);
    }
}

/* ---- counts ---- */

void tseed_flow_no_store(void *module, tseed_job_t *count)
{
    tseed_flow_t *flow = module;
    tseed_run_t *background = count->run;

    for (tseed_run_t *run = flow->uses.runs->tasks; run; run = run->next_run) {
        if (run->booked == background->booked && run->ready.count > 0) {
            const tseed_sink_t *sink = run->ready.head->sink;

            sink->pause(sink->module, run, count);
        }
    }
    for (int waiting = background->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&background->ready);

        if (job->request.stage == TSEED_STAGE_CUT) {
            job->request.is_unstored = 1;
            tseed_flow_work(flow, job, TSEED_STAGE_CUT);
        } else {
            tseed_queue_put(&background->ready, job);
        }
    }
}

tseed_flow_t *tseed_flow_create(const tseed_flow_uses_t *uses)
{
    tseed_flow_t *flow = apr_pcalloc(uses->context->pool, sizeof(*flow));

    flow->uses = *uses;
    flow->client = (tseed_client_t){.module = flow, .take = take};
    return flow;
}
