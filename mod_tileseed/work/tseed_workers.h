/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The workers: threads that look, cut, encode, store and count, and a thread for each removal.
 *
 * The main thread pushes a job. The job comes back through the mailbox with its outcome. Each
 * worker has a cutter with its buffers and a scratch pool with its own allocator, because these are
 * expensive to make. Each worker has a number. The number names its temporary files, its view of a
 * run's store and its record on the board. Workers are never cancelled or joined: a run's `stopped`
 * makes them leave at the next file, and the process ends with _exit.
 */
#ifndef TSEED_WORKERS_H
#define TSEED_WORKERS_H

#include "board/tseed_board.h"
#include "work/tseed_run.h"

typedef struct tseed_workers_t tseed_workers_t;

/* Starts `count` threads. Main thread, all signals blocked. Fails when a thread or the memory for
 * one can't be had. */
apr_status_t tseed_workers_create(tseed_workers_t **workers, unsigned count,
                                  tseed_mailbox_t *mailbox, tseed_board_t *board);

/* Sets what sizes on disk are rounded up to; jobs that are begun later go by it. Main thread. */
void tseed_workers_block_set(tseed_workers_t *workers, int64_t block);

/* Gives a job, and those that it leads, to a worker, at any stage but FETCH; at the stage REMOVE to
 * a thread of its own. Jobs of a store root that does not answer keep no job of another root from
 * being done. Main thread. */
void tseed_workers_push(tseed_workers_t *workers, tseed_job_t *job);

/* Looks which store roots do not answer: jobs of them are at work, and none has come back for ten
 * seconds. Logs when that begins and ends. now: monotonic. Main thread, once a tick. */
void tseed_workers_tick(tseed_workers_t *workers, apr_time_t now);

/* Whether the store root of a run did not answer at the last tick, nor since then. Main thread. */
int tseed_workers_is_hung(tseed_workers_t *workers, const tseed_run_t *run);

/* Closes the workers' views of the run's store. Main thread, when no job of the run is under way.
 */
void tseed_workers_forget(tseed_workers_t *workers, tseed_run_t *run);

#endif
