/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutoff: a truncate is a line in time.
 *
 *      answer fetched ──┐
 *                       ├─ truncate taken in ──► its tiles are removed ──► done
 *      answer fetched ──┘         │
 *                                 └─ what was fetched before is not stored after it
 *
 * Whoever truncates says that the tiles are out of date, and so is an answer that the upstream gave
 * before. When a truncate is taken in, all answers for its area that are at hand or on their way
 * become stale: they are thrown away and asked for again. One that a worker is just storing may be
 * stored: its tiles are removed, for a truncate does not begin in a place where somebody writes.
 *
 * Nothing of this is kept: answers die with the seeder that has asked for them.
 */
#include <string.h>

#include "seeder/tseed_house.h"

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
    return job->stage == TSEED_STAGE_FETCH || job->stage == TSEED_STAGE_CUT;
}

/* Answers that wait for a worker; those under way are asked for again when they come back. */
static void send_back(tseed_seeder_t *seeder, tseed_run_t *run)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        if (!job->is_stale) {
            tseed_queue_put(&run->ready, job);
        } else if (run->is_standing) {
            tseed_misses_fetch_again(seeder->misses, job);
        } else {
            tseed_queue_put(&run->wanted, job);
        }
    }
}

static void draw(tseed_seeder_t *seeder, tseed_run_t *runs, const tseed_tileset_t *tileset,
                 const tseed_positions_t *area)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        tseed_job_t *job = strcmp(run->tileset.key, tileset->key) == 0 ? run->jobs : NULL;

        for (; job; job = job->sibling) {
            job->is_stale |= has_answer(job) && is_in(area, job);
        }
        send_back(seeder, run);
    }
}

void tseed_cutoff_draw(tseed_seeder_t *seeder, const tseed_task_t *truncate,
                       const tseed_tileset_t *tileset)
{
    const tseed_shape_t shape = {truncate->zoom_start, truncate->zoom_stop, truncate->meta_width,
                                 truncate->meta_height};
    tseed_positions_t area;

    if (truncate->has_area) {
        tseed_positions_init(&area, tileset->subset->gridset, &truncate->bounds, &shape);
        draw(seeder, seeder->runs->tasks, tileset, &area);
        draw(seeder, seeder->runs->background, tileset, &area);
    }
}
