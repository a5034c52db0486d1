/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutoff: answers of before a truncate become stale. */
#include "seeder/tseed_cutoff.h"

#include <string.h>

static int is_in(const tseed_positions_t *area, const tseed_job_t *job)
{
    const tseed_range_t *whole = &job->metatile.whole;
    tseed_range_t common;

    if (whole->z < area->shape.zoom_start || whole->z > area->shape.zoom_stop) {
        return 0;
    }
    common = tseed_range_intersect(&area->range[whole->z], whole);
    return tseed_range_count(&common) > 0;
}

static int has_answer(const tseed_job_t *job)
{
    return job->stage == TSEED_STAGE_FETCH || job->stage == TSEED_STAGE_DERIVE ||
           job->stage == TSEED_STAGE_CUT;
}

/* Answers that wait for a worker; those under way are asked for again when they come back. */
static void send_back(tseed_misses_t *misses, tseed_run_t *run)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        if (!job->is_stale) {
            tseed_queue_put(&run->ready, job);
        } else if (run->is_background) {
            tseed_misses_fetch_again(misses, job);
        } else {
            tseed_queue_put(&run->wanted, job);
        }
    }
}

static void draw(tseed_misses_t *misses, tseed_run_t *runs, const tseed_tileset_t *tileset,
                 const tseed_positions_t *area)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        tseed_job_t *job = strcmp(run->tileset.key, tileset->key) == 0 ? run->jobs : NULL;

        for (; job; job = job->sibling) {
            if (has_answer(job) && is_in(area, job)) {
                job->is_stale = tseed_job_leader(job)->is_stale = 1;
            }
        }
        send_back(misses, run);
    }
}

void tseed_cutoff_draw(const tseed_runs_t *runs, tseed_misses_t *misses,
                       const tseed_task_t *truncate, const tseed_tileset_t *tileset)
{
    const tseed_shape_t shape = {truncate->zoom_start, truncate->zoom_stop, truncate->meta_width,
                                 truncate->meta_height};
    tseed_positions_t area;

    if (truncate->has_area) {
        tseed_positions_init(&area, tileset->subset->gridset, &truncate->bounds, &shape);
        draw(misses, runs->tasks, tileset, &area);
        draw(misses, runs->background, tileset, &area);
    }
}
