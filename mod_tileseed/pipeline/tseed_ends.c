/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The ends of a task's job. */
#include "pipeline/tseed_ends.h"

#include "base/tseed_clock.h"
#include "board/tseed_traces.h"

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
