/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The trail: what jobs leave on the board, so that each tile counts as what became of it although
 * the seeder dies in the middle of a metatile, or leaves it. What was reseeded is made again.
 */
#include <assert.h>
#include <string.h>

#include "board/tseed_traces.h"
#include "seeder/tseed_house.h"

static_assert(TSEED_TRACE_WORDS == TSEED_METATILE_TILES_MAX / 64, "a bit for each tile");

void tseed_trail_begin(tseed_seeder_t *seeder, tseed_job_t *job)
{
    const tseed_run_t *run = job->run;

    if (job->trace == 0 && !run->is_standing && run->task->type == TSEED_SEED) {
        job->trace =
            tseed_trace_begin(seeder->context->board, run->task->id, job->position, job->present);
    }
}

void tseed_trail_recall(tseed_seeder_t *seeder, tseed_job_t *job)
{
    memcpy(job->written, job->present, sizeof(job->written));
    job->trace = tseed_trace_find(seeder->context->board, job->run->task->id, job->position);
    tseed_trace_recall(seeder->context->board, job->trace, job->present);
    for (size_t i = 0; i < TSEED_TRACE_WORDS; i++) {
        job->written[i] &= ~job->present[i];
    }
}

/* Whether a task may have removed that many tiles by now. */
static int can_be(const tseed_run_t *run, int64_t removed)
{
    const tseed_progress_t *progress = &run->progress;

    return removed >= progress->removed &&
           removed - progress->removed <=
               run->task->tiles_total - tseed_progress_processed(progress);
}

void tseed_trail_begin_level(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_run_t *run = job->run;
    const int64_t task = run->task->id;
    int64_t removed;

    job->trace = tseed_trace_find(seeder->context->board, task, job->position);
    removed = tseed_trace_removed(seeder->context->board, job->trace);
    job->inherits = job->trace > 0 && can_be(run, removed);
    if (job->inherits) {
        run->removed_before = removed;
    } else {
        tseed_trace_end(seeder->context->board, job->trace);
        job->trace = tseed_trace_begin_level(seeder->context->board, task, job->position,
                                             run->removed_before);
    }
}

int tseed_trail_is_row(const tseed_row_t *row, const tseed_task_t *task)
{
    return row->id == task->id && row->type == task->type &&
           row->tiles_total == task->tiles_total && strcmp(row->layer, task->layer) == 0;
}
