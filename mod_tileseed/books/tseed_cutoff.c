/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutoff: what truncates and reseeds make out of date. */
#include "books/tseed_cutoff.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_memory.h"
#include "tiling/tseed_range.h"

/* An unfinished truncate; malloc'd. */
typedef struct line_t {
    struct line_t *next;
    int64_t truncate;
    char *tileset;          /* the key of its tile set, malloc'd */
    int zoom_start;         /* it removes tiles from this level on, */
    tseed_positions_t area; /* to the last level of this, which has the levels above as well */
} line_t;

struct tseed_cutoff_t {
    const tseed_runs_t *runs;
    line_t *lines;
};

tseed_cutoff_t *tseed_cutoff_create(const tseed_context_t *context, const tseed_runs_t *runs)
{
    tseed_cutoff_t *cutoff = apr_pcalloc(context->pool, sizeof(*cutoff));

    cutoff->runs = runs;
    return cutoff;
}

/* ---- the rule ---- */

static int meets(const line_t *line, const tseed_range_t *tiles)
{
    return tiles->z >= 0 && tiles->z <= line->area.shape.zoom_stop &&
           tseed_range_meets(&line->area.range[tiles->z], tiles);
}

int tseed_cutoff_has(const tseed_cutoff_t *cutoff, const char *tileset, const tseed_range_t *tiles)
{
    for (const line_t *line = cutoff->lines; line; line = line->next) {
        if (strcmp(line->tileset, tileset) == 0 && meets(line, tiles)) {
            return 1;
        }
    }
    return 0;
}

int64_t tseed_cutoff_bars(const tseed_cutoff_t *cutoff, const tseed_run_t *run,
                          const tseed_range_t *tiles)
{
    tseed_range_t below;

    if (!cutoff->lines || !tseed_run_derives(run, tiles->z)) {
        return 0;
    }
    below = tseed_halving_below(run->tileset.subset->gridset, tiles);
    for (const line_t *line = cutoff->lines; line; line = line->next) {
        if (strcmp(line->tileset, run->tileset.key) == 0 && below.z >= line->zoom_start &&
            meets(line, &below)) {
            return line->truncate;
        }
    }
    return 0;
}

/* ---- lines ---- */

/* Whether a job has something of before: an answer, or a colour that its tiles are taken to be of.
 */
static int has_something(const tseed_job_t *job)
{
    return job->request.stage == TSEED_STAGE_FETCH || job->request.stage == TSEED_STAGE_DERIVE ||
           job->request.stage == TSEED_STAGE_CUT || job->savings.shade;
}

static void make_stale(const line_t *line, const char *tileset, tseed_run_t *runs)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        tseed_job_t *job = strcmp(run->tileset.key, tileset) == 0 ? run->jobs : NULL;

        for (; job; job = job->sibling) {
            if (has_something(job) && meets(line, &job->metatile.whole)) {
                tseed_cutoff_doubt(job);
            }
        }
    }
}

void tseed_cutoff_draw(tseed_cutoff_t *cutoff, const tseed_task_t *task,
                       const tseed_tileset_t *tileset)
{
    const tseed_shape_t shape = {0, task->zoom_stop, task->meta_width, task->meta_height};
    line_t line = {.next = cutoff->lines, .truncate = task->id, .zoom_start = task->zoom_start};

    if (!task->has_area) {
        return;
    }
    tseed_positions_init(&line.area, tileset->subset->gridset, &task->bounds, &shape);
    make_stale(&line, tileset->key, cutoff->runs->tasks);
    make_stale(&line, tileset->key, cutoff->runs->background);
    if (task->type == TSEED_TRUNCATE) {
        line.tileset = tseed_memory_copy(tileset->key);
        cutoff->lines = tseed_memory_get(sizeof(line));
        *cutoff->lines = line;
    }
}

void tseed_cutoff_end(tseed_cutoff_t *cutoff, int64_t truncate)
{
    line_t **link = &cutoff->lines, *line;

    while (*link && (*link)->truncate != truncate) {
        link = &(*link)->next;
    }
    line = *link;
    if (line) {
        *link = line->next;
        free(line->tileset);
        free(line);
    }
}
