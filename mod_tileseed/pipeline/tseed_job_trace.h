/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Traces of jobs: a job leaves on the board what it has found and made. When a seeder dies or ends
 * in the middle of a metatile, the next seeder reads the trace. So each tile is counted as what it
 * was, made or skipped. A reseed leaves no trace: the next seeder makes the whole metatile again.
 * Main thread only. */
#ifndef TSEED_JOB_TRACE_H
#define TSEED_JOB_TRACE_H

#include "board/tseed_board.h"
#include "work/tseed_run.h"

/* Before a worker gets a job at CUT: leaves on the board what CHECK has found, if the job is a
 * seed's. */
void tseed_job_trace_begin(tseed_board_t *board, tseed_job_t *job);

/* After CHECK: moves tiles from `present` to `written` that a seeder has made which died at this
 * metatile. */
void tseed_job_trace_recall(tseed_board_t *board, tseed_job_t *job);

/* A truncate begins a level, or goes on where a seeder died at this level. */
void tseed_job_trace_begin_level(tseed_board_t *board, tseed_job_t *job);

/* Whether a row can be what a seeder has shown of that task. Any process may have written into the
 * row. `gridset` is the task's, as it was when the task was accepted, or NULL: then the counts are
 * not compared with the finished positions. */
int tseed_job_trace_is_row(const tseed_row_t *row, const tseed_task_t *task,
                           const tseed_gridset_t *gridset);

#endif
