/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Lending: who gets the seeding threads that nobody uses. */
#include "seeder/tseed_lending.h"

#include "base/tseed_clock.h"

/* A run that tries again after a failure of its store, or waits for room, is stuck until the run
 * has stored something. A run whose upstream does not answer may wait for minutes before its
 * requests fail; a run whose store does not answer may wait for ever. A run that waits for a
 * truncate does nothing meanwhile. */
static int is_stuck(const tseed_run_t *run)
{
    return run->waits_since || run->is_silent || run->is_hung || run->pauses > 0 || run->short_of ||
           run->barred_by || tseed_clock_monotonic() < run->pause_until;
}

/* The truncate that a job waits for, or one that the job leads; NULL: none. */
static const tseed_run_t *truncate_of(const tseed_runs_t *runs, const tseed_job_t *job)
{
    const tseed_run_t *found = NULL;

    for (; job && !found; job = job->savings.joined) {
        found = tseed_run_excluder(runs->tasks, job);
        found = found && found->task->type == TSEED_TRUNCATE ? found : NULL;
    }
    return found;
}

/* The truncate that all waits for which a run has fetched, or NULL. */
static const tseed_run_t *truncate_before(const tseed_runs_t *runs, const tseed_run_t *run)
{
    const tseed_job_t *job = run->ready.head;
    const tseed_run_t *truncate = NULL;

    if (run->working || run->fetching || run->deriving) {
        return NULL;
    }
    do {
        truncate = job ? truncate_of(runs, job) : NULL;
    } while (truncate && (job = job->next) != NULL);
    return truncate;
}

const tseed_run_t *tseed_lending_stuck_before(const tseed_runs_t *runs, const tseed_run_t *run)
{
    const tseed_run_t *holder;
    tseed_metatile_t metatile;
    int64_t position;

    if (run->phase != TSEED_RUN_GOING || run->task->type == TSEED_TRUNCATE) {
        return NULL;
    }
    if (run->jobs) {
        return truncate_before(runs, run);
    }
    position = tseed_run_peek(run);
    if (position < 0) {
        return NULL;
    }
    metatile = tseed_run_metatile(run, position);
    holder = tseed_run_holder(runs->tasks, run, &metatile);
    holder = holder ? holder : tseed_run_holder(runs->background, run, &metatile);
    return holder && is_stuck(holder) ? holder : NULL;
}

int tseed_lending_is_paused(const tseed_runs_t *runs, const tseed_run_t *run)
{
    return is_stuck(run) || tseed_lending_stuck_before(runs, run);
}

int tseed_lending_vacant(const tseed_runs_t *runs, int threads)
{
    int vacant = threads;

    for (const tseed_run_t *run = runs->tasks; run; run = run->next_run) {
        vacant -= run->task->type != TSEED_TRUNCATE && !tseed_lending_is_paused(runs, run);
    }
    return vacant > 0 ? vacant : 0;
}

void tseed_lending_lend(const tseed_runs_t *runs, int threads)
{
    int left = tseed_lending_vacant(runs, threads);
    int lent = 1;

    for (tseed_run_t *run = runs->tasks; run; run = run->next_run) {
        run->threads = 1;
    }
    while (left > 0 && lent > 0) {
        lent = 0;
        for (tseed_run_t *run = runs->tasks; run && left > 0; run = run->next_run) {
            if (run->task->type != TSEED_TRUNCATE && run->threads < run->task->thread_count &&
                !tseed_lending_is_paused(runs, run)) {
                run->threads++;
                lent++;
                left--;
            }
        }
    }
}
