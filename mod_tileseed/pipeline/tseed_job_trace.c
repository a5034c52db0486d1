/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Traces of jobs: on the board, from the begin of a CUT or of a level to its end. */
#include "pipeline/tseed_job_trace.h"

#include <assert.h>
#include <string.h>

#include "board/tseed_traces.h"
#include "protocol/tseed_task_levels.h"

static_assert(TSEED_TRACE_WORDS == TSEED_METATILE_TILES_MAX / 64, "a bit for each tile");

void tseed_job_trace_begin(tseed_board_t *board, tseed_job_t *job)
{
    const tseed_run_t *run = job->run;

    if (job->trace == 0 && !run->is_background && run->task->type == TSEED_SEED) {
        job->trace = tseed_trace_begin(board, run->task->id, job->position, job->present);
    }
}

void tseed_job_trace_recall(tseed_board_t *board, tseed_job_t *job)
{
    memcpy(job->written, job->present, sizeof(job->written));
    job->trace = tseed_trace_find(board, job->run->task->id, job->position);
    tseed_trace_recall(board, job->trace, job->present);
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

void tseed_job_trace_begin_level(tseed_board_t *board, tseed_job_t *job)
{
    tseed_run_t *run = job->run;
    const int64_t task = run->task->id;
    int64_t removed;

    job->trace = tseed_trace_find(board, task, job->position);
    removed = tseed_trace_removed(board, job->trace);
    job->inherits = job->trace > 0 && can_be(run, removed);
    if (job->inherits) {
        run->removed_before = removed;
    } else {
        tseed_trace_end(board, job->trace);
        job->trace = tseed_trace_begin_level(board, task, job->position, run->removed_before);
    }
}

int tseed_job_trace_is_row(const tseed_row_t *row, const tseed_task_t *task,
                           const tseed_gridset_t *gridset)
{
    return row->id == task->id && row->type == task->type &&
           row->tiles_total == task->tiles_total && strcmp(row->layer, task->layer) == 0 &&
           (!gridset || tseed_task_adds_up(task, &row->progress, gridset));
}
