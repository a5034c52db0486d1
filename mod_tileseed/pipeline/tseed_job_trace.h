/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Traces of jobs: what jobs leave on the board, so that each tile counts as what became of it
 * although the seeder dies in the middle of a metatile, or leaves it. A reseed leaves no trace: the
 * next seeder makes its metatile again. Main thread only. */
#ifndef TSEED_JOB_TRACE_H
#define TSEED_JOB_TRACE_H

#include "board/tseed_board.h"
#include "work/tseed_run.h"

/* Before a worker gets a job at CUT: leaves on the board what CHECK has found, if the job is a
 * seed's. */
void tseed_job_trace_begin(tseed_board_t *board, tseed_job_t *job);

/* After CHECK: takes the tiles that a seeder which died at this metatile has made out of `present`
 * and puts them into `written`. */
void tseed_job_trace_recall(tseed_board_t *board, tseed_job_t *job);

/* A truncate begins a level, or goes on where a seeder died at this level. */
void tseed_job_trace_begin_level(tseed_board_t *board, tseed_job_t *job);

/* Whether a row can be what a seeder has shown of that task. Any process may have written into the
 * row. */
int tseed_job_trace_is_row(const tseed_row_t *row, const tseed_task_t *task);

#endif
