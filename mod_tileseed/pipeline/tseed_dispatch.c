/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dispatch: tasks in turn, then background runs. */
#include "pipeline/tseed_dispatch.h"

#include "base/tseed_clock.h"
#include "tiling/tseed_range.h"

#define ANSWERS_OF_WORKER 2 /* the one that it cuts and its next */

/* So long an answer may wait until it is stored. The map may have changed meanwhile. */
#define ANSWER_AGE_MOST (60 * APR_USEC_PER_SEC)

struct tseed_dispatch_t {
    tseed_dispatch_uses_t uses;
    tseed_client_t tasks, background;
};

/* The job of a position. NULL: another run is at work there. */
static tseed_job_t *take_position(tseed_dispatch_t *dispatch, tseed_run_t *run,
                                  const tseed_request_t *request, int64_t position)
{
    tseed_job_t *job =
        tseed_flow_begin(dispatch->uses.flow, run, position, tseed_ends_sink(dispatch->uses.ends));

    if (job) {
        tseed_run_hand_out(run, position);
        tseed_savings_begin(dispatch->uses.savings, job, request);
    }
    return job;
}

/* The jobs of a request, as a list that begins with its lowest. NULL: other runs are at work there.
 */
static tseed_job_t *take_positions(tseed_dispatch_t *dispatch, tseed_run_t *run,
                                   const tseed_request_t *request)
{
    tseed_job_t *list = NULL;

    for (int i = request->count - 1; i >= 0; i--) {
        tseed_job_t *job = take_position(dispatch, run, request, request->positions[i]);

        if (job) {
            list = tseed_join_push(list, job);
        }
    }
    return list;
}

/* Whether a metatile must not be derived before a truncate is done. */
static int is_barred(const tseed_dispatch_t *dispatch, tseed_run_t *run,
                     const tseed_metatile_t *metatile)
{
    const int64_t truncate = tseed_cutoff_bars(dispatch->uses.cutoff, run, &metatile->wanted);

    run->barred_by = truncate ? truncate : run->barred_by;
    return truncate != 0;
}

/* Whether a reseed has given up metatiles from which this one is derived: what lies there is of
 * before, and would count as made anew. -1: the database has failed. */
static int is_lost_below(const tseed_dispatch_t *dispatch, tseed_run_t *run,
                         const tseed_metatile_t *metatile)
{
    tseed_range_t below;
    int is = 0;

    if (run->task->type == TSEED_RESEED && tseed_run_derives(run, metatile->whole.z) &&
        run->progress.failures + run->losses > 0) {
        below = tseed_halving_below(run->tileset.subset->gridset, &metatile->wanted);
        is = tseed_ends_have_lost(&is, dispatch->uses.ends, run, &below) == APR_SUCCESS ? is : -1;
    }
    return is;
}

static int begin_metatiles(tseed_dispatch_t *dispatch, tseed_run_t *run)
{
    tseed_request_t request;
    tseed_metatile_t metatile;
    tseed_job_t *list;
    int is_lost;

    tseed_savings_next(&request, dispatch->uses.savings, run);
    if (request.count == 0) {
        tseed_ends_settle(dispatch->uses.ends, run);
        return 0;
    }
    metatile = tseed_run_metatile(run, request.positions[0]);
    is_lost = is_barred(dispatch, run, &metatile) ? -1 : is_lost_below(dispatch, run, &metatile);
    if (is_lost < 0) {
        return 0;
    }
    run->is_sizing = request.why == TSEED_SIZE_TRIAL ||
                     (request.why == TSEED_SIZE_MEMORY && tseed_run_is_new(run));
    list = take_positions(dispatch, run, &request);
    if (!list) {
        return 0;
    }
    tseed_flow_start(dispatch->uses.flow, list, run->task->type == TSEED_SEED, request.cell,
                     is_lost ? "a metatile that it is derived from has failed" : NULL);
    return 1;
}

static int begin_level(tseed_dispatch_t *dispatch, tseed_run_t *run)
{
    const int64_t position = tseed_run_peek(run);

    if (run->jobs || position < 0) {
        return 0;
    }
    tseed_flow_begin_level(dispatch->uses.flow, run, position,
                           tseed_ends_sink(dispatch->uses.ends));
    tseed_run_hand_out(run, position);
    return 1;
}

static int may_cut(const tseed_dispatch_t *dispatch, const tseed_run_t *run)
{
    return run->ready.count > 0 && run->working < run->threads &&
           run->working - run->checking <
               ANSWERS_OF_WORKER * dispatch->uses.context->settings->workers;
}

/* Whether no other task of the tile set is under way. Such a task puts or removes tiles as well, so
 * nothing is renamed away from it. */
static int is_alone(const tseed_dispatch_t *dispatch, const tseed_run_t *run)
{
    for (const tseed_run_t *other = dispatch->uses.runs->tasks; other; other = other->next_run) {
        if (other != run && other->booked == run->booked) {
            return 0;
        }
    }
    return 1;
}

/* Fills the remnant of a level, which becomes the level's name when it is renamed away. */
static void describe(const tseed_dispatch_t *dispatch, tseed_job_t *job)
{
    const tseed_run_t *run = job->run;

    job->request.remnant.print = run->booked->record.print;
    job->request.remnant.task = run->task->id;
    tseed_book_level(&job->request.remnant.usage, dispatch->uses.cache->book, run->booked,
                     job->metatile.wanted.z);
}

/* Whether a job and those that it leads may be given to a worker. All are asked: the marks note
 * what each of them waits for. */
static int may_work(tseed_dispatch_t *dispatch, tseed_job_t *job)
{
    int may = 1;

    for (; job; job = job->savings.joined) {
        may &= tseed_holds_may_work(dispatch->uses.holds, job);
    }
    return may;
}

/* Whether a job's answer has waited for too long, while the task was paused above all. */
static int is_too_old(const tseed_job_t *job, apr_time_t now)
{
    return job->request.stage == TSEED_STAGE_CUT && now - job->request.answered > ANSWER_AGE_MOST;
}

/* Gives the first job that may be worked on to a worker, or has it fetched again if its answer is
 * too old. Returns whether there was one. */
static int begin_ready(tseed_dispatch_t *dispatch, tseed_run_t *run, apr_time_t now)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        job->request.is_whole = job->request.is_whole && is_alone(dispatch, run);
        if (may_work(dispatch, job)) {
            if (is_too_old(job, now)) {
                tseed_jobs_doubt(job);
                tseed_flow_want(job);
                return 1;
            }
            if (job->request.is_whole) {
                describe(dispatch, job);
            }
            tseed_flow_work(dispatch->uses.flow, job, job->request.stage);
            return 1;
        }
        tseed_queue_put(&run->ready, job);
    }
    return 0;
}

/* Bytes of the answers that the run has, and expected bytes of the answers on their way. */
static int64_t answers_of(const tseed_run_t *run)
{
    double expected = (double)run->pixels_expected * tseed_run_pixel_bytes(run);
    int64_t bytes = (int64_t)expected;

    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        bytes += job->request.stage == TSEED_STAGE_CUT
                     ? (int64_t)(job->request.transfer.capacity + job->result.drawn.length)
                     : 0;
    }
    return bytes;
}

/* One answer more than the run has threads may wait for a worker or for a commit. Otherwise the
 * upstream of a run with a single thread would wait as well. */
static int may_fetch(const tseed_run_t *run, apr_time_t now)
{
    const int under_way = run->fetching + run->deriving;

    return tseed_ends_may_ask(run, now) && under_way < run->threads &&
           under_way + run->ready.count <= run->threads && answers_of(run) < TSEED_ANSWERS_BUDGET;
}

/* As many metatiles may be looked up or wait for the upstream as the run has threads. What waits
 * has the size that was chosen before. So where the size is about to change, no more are than may
 * be sent, and one. */
static int may_check(const tseed_run_t *run)
{
    const int ahead = run->threads - (run->is_sizing && run->fetching > 0 ? run->fetching - 1 : 0);

    return run->working < run->threads && run->wanted.count + run->checking < ahead;
}

/* A copy of an answer needs its memory as well. */
static int may_follow(const tseed_run_t *run)
{
    return run->ready.count <= run->threads && answers_of(run) < TSEED_ANSWERS_BUDGET;
}

/* Lets the first job that can do without a request of its own follow a partner's. Returns whether
 * there was one. */
static int follow_partner(tseed_dispatch_t *dispatch, tseed_run_t *run)
{
    int follows = 0;

    for (int waiting = run->wanted.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->wanted);

        if (!follows && tseed_flow_follow(dispatch->uses.flow, job)) {
            follows = 1;
        } else {
            tseed_queue_put(&run->wanted, job);
        }
    }
    return follows;
}

/* The first job that may be fetched, or derived; NULL: there is none. */
static tseed_job_t *take_wanted(tseed_dispatch_t *dispatch, tseed_run_t *run)
{
    for (int waiting = run->wanted.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->wanted);

        if (!is_barred(dispatch, run, &job->metatile)) {
            return job;
        }
        tseed_queue_put(&run->wanted, job);
    }
    return NULL;
}

/* Begins one stage of one job of a run, the latest stage first. Returns whether there was one. */
static int feed_run(tseed_dispatch_t *dispatch, tseed_run_t *run, apr_time_t now)
{
    tseed_job_t *job;

    run->barred_by = 0;
    if (may_cut(dispatch, run) && begin_ready(dispatch, run, now)) {
        return 1;
    }
    if (run->task->type == TSEED_TRUNCATE) {
        return begin_level(dispatch, run);
    }
    if (tseed_savings_wait(dispatch->uses.savings, run, now)) {
        return 0;
    }
    if (may_follow(run) && follow_partner(dispatch, run)) {
        return 1;
    }
    if (run->wanted.count > 0 && may_fetch(run, now) &&
        (job = take_wanted(dispatch, run)) != NULL) {
        tseed_flow_get(dispatch->uses.flow, job);
        return 1;
    }
    if (run->task->type == TSEED_SEED) {
        return may_check(run) && begin_metatiles(dispatch, run);
    }
    return may_fetch(run, now) && begin_metatiles(dispatch, run);
}

static void feed_tasks(void *module)
{
    tseed_dispatch_t *dispatch = module;
    apr_time_t now = tseed_clock_monotonic();
    int begun;

    do {
        begun = 0;
        for (tseed_run_t *run = dispatch->uses.runs->tasks; run; run = run->next_run) {
            if (run->phase == TSEED_RUN_GOING && now >= run->pause_until) {
                begun += feed_run(dispatch, run, now);
            }
        }
    } while (begun > 0);
}

/* ---- background runs ---- */

/* Whether a refused job still waits until there may be room. */
static int lacks_room(const tseed_run_t *run, const tseed_job_t *job, apr_time_t now)
{
    return run->short_of && now < job->request.due;
}

/* Whether waiting requests get their tiles unstored: nothing can be stored for now, and the answer
 * is not the reason. */
static int must_pass(const tseed_dispatch_t *dispatch, const tseed_job_t *job)
{
    return job->request.stage == TSEED_STAGE_CUT && !job->request.due &&
           (dispatch->uses.marks->is_recounting || dispatch->uses.cache->is_loading ||
            job->run->booked->is_late || dispatch->uses.session->trouble);
}

static void work_off(tseed_dispatch_t *dispatch, tseed_run_t *run, apr_time_t now)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        if (!lacks_room(run, job, now) && tseed_holds_may_work(dispatch->uses.holds, job)) {
            tseed_flow_work(dispatch->uses.flow, job, job->request.stage);
        } else if (must_pass(dispatch, job)) {
            job->request.is_unstored = 1;
            tseed_flow_work(dispatch->uses.flow, job, job->request.stage);
        } else {
            tseed_queue_put(&run->ready, job);
        }
    }
}

static void feed_background(void *module)
{
    tseed_dispatch_t *dispatch = module;
    const apr_time_t now = tseed_clock_monotonic();

    for (tseed_run_t *run = dispatch->uses.runs->background; run; run = run->next_run) {
        work_off(dispatch, run, now);
    }
}

tseed_dispatch_t *tseed_dispatch_create(const tseed_dispatch_uses_t *uses)
{
    tseed_dispatch_t *dispatch = apr_pcalloc(uses->context->pool, sizeof(*dispatch));

    dispatch->uses = *uses;
    dispatch->tasks = (tseed_client_t){.module = dispatch, .feed = feed_tasks};
    dispatch->background = (tseed_client_t){.module = dispatch, .feed = feed_background};
    return dispatch;
}

tseed_client_t *tseed_dispatch_tasks(tseed_dispatch_t *dispatch)
{
    return &dispatch->tasks;
}

tseed_client_t *tseed_dispatch_background(tseed_dispatch_t *dispatch)
{
    return &dispatch->background;
}
