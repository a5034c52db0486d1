/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The jobs: where a job begins, the way back to its client after each stage, and its end. A job is
 * malloc'd and used again. Main thread only. */
#ifndef TSEED_JOBS_H
#define TSEED_JOBS_H

#include "usage/tseed_holds.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"

typedef struct tseed_jobs_t tseed_jobs_t;

/* Makes the jobs; they live in context->pool. */
tseed_jobs_t *tseed_jobs_create(const tseed_context_t *context, tseed_holds_t *holds);

/* Returns a job that is under way nowhere. The client takes the job each time that a stage is over,
 * and gives it back at last. */
tseed_job_t *tseed_jobs_get(tseed_jobs_t *jobs, const tseed_client_t *client);

/* Takes a job back: the job drops its pages and its answer, and leaves its run. */
void tseed_jobs_put_back(tseed_jobs_t *jobs, tseed_job_t *job);

/* Frees the answer of a transfer, which is most of the memory of a job. */
void tseed_jobs_forget_answer(tseed_transfer_t *transfer);

/* Makes the answer of a transfer a copy of another's, with a body of its own. What was asked stays.
 */
void tseed_jobs_copy_answer(tseed_transfer_t *transfer, const tseed_transfer_t *other);

/* Makes the answer of a transfer another's, which has no body from then on. What was asked stays.
 */
void tseed_jobs_move_answer(tseed_transfer_t *transfer, tseed_transfer_t *other);

#endif
