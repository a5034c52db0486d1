/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The crew: an APR thread pool that looks, cuts, encodes, stores and removes.
 *
 * A job is pushed by the main thread and comes back through the mailbox with its outcome. Each
 * worker has what is expensive to make (a cutter with its buffers, a scratch pool with its own
 * allocator) and a number that names its temporary files, its view of a run's store and its record
 * on the board. Workers are never cancelled or joined: a run's `stopped` makes them leave at the
 * next file, and the process ends with _exit.
 */
#ifndef TSEED_CREW_H
#define TSEED_CREW_H

#include "board/tseed_board.h"
#include "seeder/tseed_run.h"

typedef struct tseed_crew_t tseed_crew_t;

/* Starts `workers` threads. Main thread, all signals blocked. */
apr_status_t tseed_crew_create(tseed_crew_t **crew, unsigned workers, tseed_mailbox_t *mailbox,
                               tseed_board_t *board, apr_pool_t *pool);

/* Sets what sizes on disk are rounded up to; jobs that are begun later go by it. Main thread. */
void tseed_crew_block_set(tseed_crew_t *crew, int64_t block);

/* Gives a job away, of any stage but FETCH. Main thread. */
apr_status_t tseed_crew_push(tseed_crew_t *crew, tseed_job_t *job);

/* Closes the workers' views of the run's store. Main thread, when no job of the run is under way.
 */
void tseed_crew_forget(tseed_crew_t *crew, tseed_run_t *run);

#endif
