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

static void begin_trace(tseed_board_t *board, tseed_job_t *job)
{
    const tseed_run_t *run = job->run;

    if (job->accounts.trace == 0 && !run->is_background && run->task->type == TSEED_SEED) {
        job->accounts.trace =
            tseed_trace_begin(board, run->task->id, job->position, job->result.present);
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

    job->accounts.trace = tseed_trace_find(board, task, job->position);
    removed = tseed_trace_removed(board, job->accounts.trace);
    job->accounts.inherits = job->accounts.trace > 0 && can_be(run, removed);
    if (job->accounts.inherits) {
        tseed_run_count_from(run, removed);
    } else {
        tseed_trace_end(board, job->accounts.trace);
        job->accounts.trace =
            tseed_trace_begin_level(board, task, job->position, run->removed_before);
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
    tseed_board_t *board;
    tseed_holds_t *holds;
    tseed_queue_t idle;
};

tseed_jobs_t *tseed_jobs_create(const tseed_context_t *context, tseed_holds_t *holds)
{
    tseed_jobs_t *jobs = apr_pcalloc(context->pool, sizeof(*jobs));

    jobs->board = context->board;
    jobs->holds = holds;
    return jobs;
}

/* A stage is over. */
static void come_back(void *module, void *about)
{
    tseed_jobs_t *jobs = module;
    tseed_job_t *job = about;

    if (job->accounts.at_work) {
        job->run->working--;
        job->run->checking -= job->request.stage == TSEED_STAGE_CHECK;
    }
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->accounts.at_work = 0;
        if (one->request.stage == TSEED_STAGE_CUT) {
            tseed_holds_unpin(jobs->holds, one);
        } else if (one->request.stage == TSEED_STAGE_CHECK) { /* of a seeder that died at it */
            one->accounts.trace = tseed_trace_find(jobs->board, one->run->task->id, one->position);
        }
    }
    job->client->take(job->client->module, job);
}

void tseed_jobs_lend(tseed_jobs_t *jobs, tseed_job_t *job)
{
    job->run->working++;
    job->run->checking += job->request.stage == TSEED_STAGE_CHECK;
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->accounts.at_work = 1;
        if (one->request.stage == TSEED_STAGE_CUT) {
            tseed_holds_pin(jobs->holds, one);
            begin_trace(jobs->board, one);
        }
    }
}

void tseed_jobs_doubt(tseed_job_t *leader)
{
    for (tseed_job_t *job = leader; job; job = job->savings.joined) {
        job->accounts.is_stale = 1;
    }
}

void tseed_jobs_renew(tseed_job_t *job)
{
    job->accounts.is_stale = 0;
}

/* Here alone a job is made: all that is not named begins at zero. What is named last is memory that
 * is kept from use to use. */
tseed_job_t *tseed_jobs_get(tseed_jobs_t *jobs, const tseed_job_what_t *what)
{
    tseed_job_t *job = tseed_queue_take(&jobs->idle);

    job = job ? job : tseed_memory_get(sizeof(*job));
    *job = (tseed_job_t){
        .letter = {.take = come_back, .module = jobs, .about = job},
        .client = what->client,
        .sink = what->sink,
        .run = what->run,
        .position = what->position,
        .metatile = what->metatile,
        .is_recount = what->is_recount,
        .report = what->report,
        .report_module = what->report_module,
        .expected = what->expected,
        .savings.step = -1,
        .savings.why = TSEED_SIZE_ALONE,
        .request = {.stage = what->first,
                    .transfer = {.baton = &job->letter, .condition = job->accounts.condition},
                    .url = job->request.url,
                    .url_size = job->request.url_size,
                    .portion = job->request.portion},
        .result.tally = job->result.tally,
    };
    tseed_run_job_add(what->run, job);
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
    transfer->sent = transfer->sent_in_vain = 0;
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
    tseed_jobs_forget_answer(&job->request.transfer);
    tseed_job_forget_drawn(job);
    tseed_job_booked(job);
    tseed_holds_drop(jobs->holds, job);
    tseed_run_job_remove(job->run, job);
    tseed_queue_put(&jobs->idle, job);
}
