/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Traces: notes on the board about the jobs under way. If the seeder dies, the next seeder compares
 * the traces with the disk and so knows of each tile what was done.
 *
 * A job writes its trace before it changes the disk:
 *
 *      a seed's metatile    which of its tiles lay there before the job wrote the first tile. Other
 *                           tiles that the next seeder finds were made by the job.
 *      a truncate's level   how many tiles the task has removed so far, and which tile it removes
 *                           next. If the next seeder does not find that tile, the task removed it.
 *
 * The table has a fixed size. When it is full a job has no trace, and after a crash its tiles may
 * count as skipped. Nobody believes a trace: readers compare its tiles with the disk and bound its
 * numbers. Traces have numbers from 1. Number 0 is no trace; functions do nothing with it.
 *
 * The seeder's main thread calls all functions but those of the worker, which say so.
 */
#ifndef TSEED_TRACES_H
#define TSEED_TRACES_H

#include "board/tseed_board.h"

#define TSEED_TRACE_WORDS 16
#define TSEED_TRACES_MOST 4096

/* Begins the trace of a metatile; `found` has a bit for each tile that lies there. Or begins the
 * trace of a level; `removed` counts the tiles that the task has removed so far. Returns the
 * trace's number, or 0 when the table is full. */
unsigned tseed_trace_begin(tseed_board_t *board, int64_t task, int64_t position,
                           const uint64_t found[TSEED_TRACE_WORDS]);
unsigned tseed_trace_begin_level(tseed_board_t *board, int64_t task, int64_t position,
                                 int64_t removed);

/* The number of a job's trace; 0: the job has none. */
unsigned tseed_trace_find(const tseed_board_t *board, int64_t task, int64_t position);

/* Forgets a trace. The board must have shown its position as finished before. */
void tseed_trace_end(tseed_board_t *board, unsigned trace);

/* Forgets the traces of the task's finished positions; `progress` NULL: all traces of the task. */
void tseed_traces_forget(tseed_board_t *board, int64_t task, const tseed_progress_t *progress);

/* A bound: no trace above this number is taken. And the task of a trace; 0: the trace is free. */
unsigned tseed_traces_used(const tseed_board_t *board);
int64_t tseed_trace_task(const tseed_board_t *board, unsigned trace);

/* Clears the bits in `present` of tiles that did not lie there when the trace began. Forgets in the
 * trace the tiles that lay there and are gone. */
void tseed_trace_recall(tseed_board_t *board, unsigned trace, uint64_t present[TSEED_TRACE_WORDS]);

/* How many tiles the task of a level has removed. The number may be nonsense: bound it. */
int64_t tseed_trace_removed(const tseed_board_t *board, unsigned trace);

/* Note a tile of a level before it is removed, and count it when it is. The worker that has the
 * job. */
void tseed_trace_remove(tseed_board_t *board, unsigned trace, int64_t x, int64_t y);
void tseed_trace_count(tseed_board_t *board, unsigned trace);

/* Whether the trace names a tile that was about to be removed and is not counted yet. Column and
 * row may be nonsense: bound them. The worker that has the job. */
int tseed_trace_doubt(const tseed_board_t *board, unsigned trace, int64_t *x, int64_t *y);

#endif
