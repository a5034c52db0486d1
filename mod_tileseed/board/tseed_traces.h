/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Traces: what a seeder leaves on the board of jobs under way, for the one that comes after it.
 *
 * A trace says what is about to be done before it is, so that at any instant the trace and the disk
 * together tell what was done:
 *
 *      a seed's metatile    which of its tiles lay there before the first one was written; others
 *                           that are there were made
 *      a truncate's level   how many tiles are removed of the whole task, and which is about to be:
 *                           if it is not there it was
 *
 * A table of fixed size; when it is full a job goes without, and its tiles may count as skipped
 * after a crash. Nobody believes a trace: what it says of tiles is compared with the disk, numbers
 * are bounded by whoever reads them. Traces are named by numbers from 1; 0 is none, of which
 * nothing is kept.
 *
 * Seeder, main thread, but for what is said to be a worker's.
 */
#ifndef TSEED_TRACES_H
#define TSEED_TRACES_H

#include "board/tseed_board.h"

#define TSEED_TRACE_WORDS 16
#define TSEED_TRACES_MOST 4096

/* Begins the trace of a metatile with the tiles that lie there, a bit each, or that of a level with
 * the tiles that the task has removed so far. 0: the table is full. */
unsigned tseed_trace_begin(tseed_board_t *board, int64_t task, int64_t position,
                           const uint64_t found[TSEED_TRACE_WORDS]);
unsigned tseed_trace_begin_level(tseed_board_t *board, int64_t task, int64_t position,
                                 int64_t removed);

/* The trace that there is of a job. */
unsigned tseed_trace_find(const tseed_board_t *board, int64_t task, int64_t position);

/* Forgets it. Its position must have been shown as finished before. */
void tseed_trace_end(tseed_board_t *board, unsigned trace);

/* Forgets those of the task's finished positions; `progress` NULL: all of the task's. */
void tseed_traces_forget(tseed_board_t *board, int64_t task, const tseed_progress_t *progress);

/* Traces from 1 to this one may be taken; the task of one of them, 0: it is free. */
unsigned tseed_traces_used(const tseed_board_t *board);
int64_t tseed_trace_task(const tseed_board_t *board, unsigned trace);

/* Takes those tiles out of `present` that did not lie there before; what lay there and is gone is
 * forgotten. */
void tseed_trace_recall(tseed_board_t *board, unsigned trace, uint64_t present[TSEED_TRACE_WORDS]);

/* Tiles that the task of a level has removed; may be nonsense. */
int64_t tseed_trace_removed(const tseed_board_t *board, unsigned trace);

/* Before a tile of a level is removed, and when it is. The worker that has the job. */
void tseed_trace_remove(tseed_board_t *board, unsigned trace, int64_t x, int64_t y);
void tseed_trace_count(tseed_board_t *board, unsigned trace);

/* Whether a tile was about to be removed that does not count yet; may be nonsense. The worker that
 * has the job. */
int tseed_trace_doubt(const tseed_board_t *board, unsigned trace, int64_t *x, int64_t *y);

#endif
