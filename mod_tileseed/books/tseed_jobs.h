/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The jobs: where a job begins, the way back to its client after each stage, and its end. A job is
 * malloc'd and used again. Main thread only. */
#ifndef TSEED_JOBS_H
#define TSEED_JOBS_H

#include "board/tseed_board.h"
#include "books/tseed_holds.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"

typedef struct tseed_jobs_t tseed_jobs_t;

/* Makes the jobs; they live in context->pool. */
tseed_jobs_t *tseed_jobs_create(const tseed_context_t *context, tseed_holds_t *holds);

/* Makes a job, which is under way in its run from then on. Its client takes the job each time that
 * a stage is over, and gives the job back at last. */
tseed_job_t *tseed_jobs_get(tseed_jobs_t *jobs, const tseed_job_what_t *what);

/* Before a worker gets a job at its stage, with those that it leads: they count as at work until
 * they come back. Before CUT: pins their pages, and leaves on the board what
 * CHECK has found, if the jobs are a seed's. */
void tseed_jobs_lend(tseed_jobs_t *jobs, tseed_job_t *job);

/* The answer of a job, and of those that it leads, is out of date. */
void tseed_jobs_doubt(tseed_job_t *leader);

/* A job is about to get another answer. */
void tseed_jobs_renew(tseed_job_t *job);

/* Takes a job back: the job drops its pages and its answer, and leaves its run. */
void tseed_jobs_put_back(tseed_jobs_t *jobs, tseed_job_t *job);

/* Frees the answer of a transfer, which is most of the memory of a job. */
void tseed_jobs_forget_answer(tseed_transfer_t *transfer);

/* Makes the answer of a transfer a copy of another's, for which nothing was sent, with a body of
 * its own. What was asked stays.
 */
void tseed_jobs_copy_answer(tseed_transfer_t *transfer, const tseed_transfer_t *other);

/* Makes the answer of a transfer another's, which has no body from then on. What was asked stays.
 */
void tseed_jobs_move_answer(tseed_transfer_t *transfer, tseed_transfer_t *other);

/* A truncate begins a level, or goes on where a seeder died at this level. */
void tseed_job_trace_begin_level(tseed_board_t *board, tseed_job_t *job);

/* Whether a row can be what a seeder has shown of that task. Any process may have written into the
 * row. `gridset` is the task's, as it was when the task was accepted, or NULL: then the counts are
 * not compared with the finished positions. */
int tseed_job_trace_is_row(const tseed_row_t *row, const tseed_task_t *task,
                           const tseed_gridset_t *gridset);

#endif
