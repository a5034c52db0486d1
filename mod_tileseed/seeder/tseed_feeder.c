/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The feeder: which job begins next.
 *
 * Of one run, at most `threads` requests and at most `threads` worker jobs are under way, so the
 * fetch of the next metatile overlaps the work on the last. Memory is bounded: what is fetched and
 * waits for a worker counts with the requests, all but one; workers get no more answers than keep
 * them busy; and nothing is asked for while the answers under way fill the run's budget of bytes.
 */
#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "pipeline/tseed_job_trace.h"
#include "seeder/tseed_house.h"

#define CRASHES_OF_METATILE 2
#define ANSWERS_OF_WORKER   2          /* the one that it cuts and its next */
#define ANSWERS_BUDGET      (26 << 20) /* bytes of a run's answers under way */

static int begin_metatile(tseed_seeder_t *seeder, tseed_run_t *run)
{
    int64_t position = tseed_run_peek(run);
    tseed_metatile_t metatile;
    tseed_job_t *job;

    if (position < 0) {
        return 0;
    }
    metatile = tseed_run_metatile(run, position);
    if (tseed_run_holder(seeder->runs->tasks, run, &metatile) ||
        tseed_run_holder(seeder->runs->background, run, &metatile)) {
        return 0;
    }
    job = tseed_jobs_get(seeder->jobs, &tseed_pump_client);
    job->position = position;
    job->metatile = metatile;
    run->next = position + 1;
    tseed_run_job_add(run, job);
    tseed_holds_hold(seeder->holds, job);
    if (tseed_board_crashes_at(seeder->context->board, run->task->id, position) >=
        CRASHES_OF_METATILE) {
        apr_cpystrn(job->cause, "the seeder crashed twice at work on it", sizeof(job->cause));
        tseed_failures_give_up(seeder->failures, job);
    } else if (run->task->type == TSEED_SEED) {
        tseed_pump_work(seeder, job, TSEED_STAGE_CHECK);
    } else {
        tseed_pump_fetch(seeder, job);
    }
    return 1;
}

/* Whether a level of a truncate is all that the tile set may have there. */
static int is_whole(const tseed_run_t *run, const tseed_range_t *level)
{
    const tseed_subset_t *subset = run->tileset.subset;
    const tseed_range_t all = tseed_range_of(subset->gridset, level->z, &subset->extent);

    return level->minx <= all.minx && level->miny <= all.miny && level->maxx >= all.maxx &&
           level->maxy >= all.maxy;
}

static int begin_level(tseed_seeder_t *seeder, tseed_run_t *run)
{
    tseed_job_t *job;
    int64_t position = tseed_run_peek(run);

    if (run->jobs || position < 0) {
        return 0;
    }
    job = tseed_jobs_get(seeder->jobs, &tseed_pump_client);
    job->position = position;
    job->metatile.whole = job->metatile.wanted = tseed_run_level(run, position);
    run->next = position + 1;
    tseed_run_job_add(run, job);
    job->stage = TSEED_STAGE_REMOVE;
    job->is_whole = is_whole(run, &job->metatile.wanted);
    tseed_job_trace_begin_level(seeder->context->board, job);
    tseed_holds_mark_level(seeder->holds, job);
    tseed_queue_put(&run->ready, job);
    return 1;
}

/* Removing may take long: it leaves a worker to others. */
static int may_remove(const tseed_seeder_t *seeder)
{
    int working = 0;

    for (const tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        working += run->task->type == TSEED_TRUNCATE ? run->working : 0;
    }
    return working == 0 || working < seeder->context->settings->workers - 1;
}

static int may_cut(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    if (run->task->type == TSEED_TRUNCATE && !may_remove(seeder)) {
        return 0;
    }
    return run->ready.count > 0 && run->working < run->threads &&
           run->working - run->checking < ANSWERS_OF_WORKER * seeder->context->settings->workers;
}

/* Another task of the tile set puts or removes tiles as well: nothing is renamed away from it. */
static int is_alone(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    for (const tseed_run_t *other = seeder->runs->tasks; other; other = other->next_run) {
        if (other != run && other->booked == run->booked) {
            return 0;
        }
    }
    return 1;
}

/* What is to stand in the name of a level that is renamed away. */
static void describe(const tseed_seeder_t *seeder, tseed_job_t *job)
{
    const tseed_run_t *run = job->run;

    job->remnant.print = run->booked->record.print;
    job->remnant.task = run->task->id;
    tseed_book_level(&job->remnant.usage, seeder->cache->book, run->booked, job->metatile.wanted.z);
}

/* Gives the first job that may be worked on to a worker. Returns whether there was one. */
static int begin_ready(tseed_seeder_t *seeder, tseed_run_t *run)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        job->is_whole = job->is_whole && is_alone(seeder, run);
        if (tseed_holds_may_work(seeder->holds, job)) {
            if (job->is_whole) {
                describe(seeder, job);
            }
            tseed_pump_work(seeder, job, job->stage);
            return 1;
        }
        tseed_queue_put(&run->ready, job);
    }
    return 0;
}

/* Bytes of the answers that the run has, and of those on their way what they are likely to be. */
static int64_t answers_of(const tseed_run_t *run)
{
    double expected = (double)run->pixels_expected * run->pixel_bytes;
    int64_t bytes = (int64_t)expected;

    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        bytes += job->stage == TSEED_STAGE_CUT ? (int64_t)job->transfer.capacity : 0;
    }
    return bytes;
}

/* One answer may wait for a worker, or for a commit, beyond what the threads are for: with a single
 * thread the upstream would wait with it. */
static int may_fetch(const tseed_run_t *run)
{
    return run->fetching < run->threads && run->fetching + run->ready.count <= run->threads &&
           answers_of(run) < ANSWERS_BUDGET;
}

/* Begins one thing of a run, the furthest along first. Returns whether there was one. */
static int feed_run(tseed_seeder_t *seeder, tseed_run_t *run)
{
    if (may_cut(seeder, run) && begin_ready(seeder, run)) {
        return 1;
    }
    if (run->task->type == TSEED_TRUNCATE) {
        return begin_level(seeder, run);
    }
    if (run->wanted.count > 0 && may_fetch(run)) {
        tseed_pump_fetch(seeder, tseed_queue_take(&run->wanted));
        return 1;
    }
    if (run->task->type == TSEED_SEED) {
        return run->working < run->threads && run->wanted.count + run->checking < run->threads &&
               begin_metatile(seeder, run);
    }
    return may_fetch(run) && begin_metatile(seeder, run);
}

static void feed_tasks(void *module)
{
    tseed_seeder_t *seeder = module;
    apr_time_t now = tseed_clock_monotonic();
    int begun;

    do {
        begun = 0;
        for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
            if (run->phase == TSEED_RUN_GOING && now >= run->pause_until) {
                begun += feed_run(seeder, run);
            }
        }
    } while (begun > 0);
}

tseed_client_t tseed_feeder_tasks_client = {.feed = feed_tasks};

/* ---- standing runs ---- */

/* What was refused once waits until there may be room. */
static int lacks_room(const tseed_run_t *run, const tseed_job_t *job, apr_time_t now)
{
    return run->short_of && now < job->due;
}

/* A guest's answer that can't be stored for reasons that have nothing to do with it. */
static int must_pass(const tseed_seeder_t *seeder, const tseed_job_t *job)
{
    return job->stage == TSEED_STAGE_CUT && !job->due &&
           (seeder->marks->is_recounting || seeder->cache->is_loading || seeder->session->trouble);
}

static void work_off(tseed_seeder_t *seeder, tseed_run_t *run, apr_time_t now)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        if (!lacks_room(run, job, now) && tseed_holds_may_work(seeder->holds, job)) {
            tseed_pump_work(seeder, job, job->stage);
        } else if (must_pass(seeder, job)) {
            job->is_passing = 1;
            tseed_pump_work(seeder, job, job->stage);
        } else {
            tseed_queue_put(&run->ready, job);
        }
    }
}

static void feed_standing(void *module)
{
    tseed_seeder_t *seeder = module;
    const apr_time_t now = tseed_clock_monotonic();

    for (tseed_run_t *run = seeder->runs->background; run; run = run->next_run) {
        work_off(seeder, run, now);
    }
}

tseed_client_t tseed_feeder_standing_client = {.feed = feed_standing};
