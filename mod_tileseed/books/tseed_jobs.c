/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The jobs: a list of idle ones, their traces; the mailbox brings each back to its client. */
#include "books/tseed_jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_memory.h"
#include "board/tseed_traces.h"
#include "protocol/tseed_task.h"

/* Traces of jobs: on the board, from the begin of a CUT or of a level to its end. */

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

struct tseed_jobs_t {
    tseed_holds_t *holds;
    tseed_job_t *idle; /* by next */
};

tseed_jobs_t *tseed_jobs_create(const tseed_context_t *context, tseed_holds_t *holds)
{
    tseed_jobs_t *jobs = apr_pcalloc(context->pool, sizeof(*jobs));

    jobs->holds = holds;
    return jobs;
}

/* A stage is over. */
static void come_back(void *module, void *about)
{
    tseed_jobs_t *jobs = module;
    tseed_job_t *job = about;

    for (tseed_job_t *one = job; one; one = one->joined) {
        one->at_work = 0;
        if (one->stage == TSEED_STAGE_CUT) {
            tseed_holds_unpin(jobs->holds, one);
        }
    }
    job->client->take(job->client->module, job);
}

/* Here alone a job is made: all that is not named begins at zero. What is named last is memory that
 * is kept from use to use. */
tseed_job_t *tseed_jobs_get(tseed_jobs_t *jobs, const tseed_client_t *client)
{
    tseed_job_t *job = jobs->idle;

    if (job) {
        jobs->idle = job->next;
    } else {
        job = tseed_memory_get(sizeof(*job));
    }
    *job = (tseed_job_t){
        .letter = {.take = come_back, .module = jobs, .about = job},
        .client = client,
        .step = -1,
        .why = TSEED_SIZE_ALONE,
        .stage = TSEED_STAGE_CHECK,
        .transfer = {.baton = &job->letter},
        .tally = job->tally,
        .url = job->url,
        .url_size = job->url_size,
        .portion = job->portion,
    };
    return job;
}

void tseed_jobs_forget_answer(tseed_transfer_t *transfer)
{
    free(transfer->body);
    transfer->body = NULL;
    transfer->length = transfer->capacity = 0;
}

/* Makes an answer that of another transfer, all but its body. */
static void describe_answer(tseed_transfer_t *transfer, const tseed_transfer_t *other)
{
    const tseed_transfer_t asked = *transfer;

    tseed_jobs_forget_answer(transfer);
    *transfer = *other;
    transfer->url = asked.url;
    transfer->owner = asked.owner;
    transfer->condition = asked.condition;
    transfer->portion = asked.portion;
    transfer->baton = asked.baton;
    transfer->body = NULL;
}

void tseed_jobs_copy_answer(tseed_transfer_t *transfer, const tseed_transfer_t *other)
{
    describe_answer(transfer, other);
    transfer->capacity = other->length;
    if (other->length > 0) {
        transfer->body = memcpy(tseed_memory_get(other->length), other->body, other->length);
    }
}

void tseed_jobs_move_answer(tseed_transfer_t *transfer, tseed_transfer_t *other)
{
    describe_answer(transfer, other);
    transfer->body = other->body;
    other->body = NULL;
    tseed_jobs_forget_answer(other);
}

void tseed_jobs_put_back(tseed_jobs_t *jobs, tseed_job_t *job)
{
    tseed_jobs_forget_answer(&job->transfer);
    tseed_tally_clear(&job->tally);
    tseed_holds_drop(jobs->holds, job);
    tseed_run_job_remove(job->run, job);
    job->run = NULL;
    job->next = jobs->idle;
    jobs->idle = job;
}
