/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The jobs: a list of idle ones; the mailbox brings each back to its client. */
#include "pipeline/tseed_jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/tseed_memory.h"

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

tseed_job_t *tseed_jobs_get(tseed_jobs_t *jobs, const tseed_client_t *client)
{
    tseed_job_t *job = jobs->idle;

    if (job) {
        jobs->idle = job->next;
    } else {
        job = tseed_memory_get(sizeof(*job));
    }
    job->letter = (tseed_letter_t){.take = come_back, .module = jobs, .about = job};
    job->transfer.baton = &job->letter;
    job->client = client;
    job->leader = job->joined = NULL;
    job->follows = 0;
    job->step = -1;
    job->why = TSEED_SIZE_ALONE;
    job->transfer.weight = 0;
    job->stage = TSEED_STAGE_CHECK;
    job->outcome = TSEED_JOB_OK;
    job->attempts = job->tries = 0;
    job->made = job->skipped = job->bytes = 0;
    job->due = 0;
    job->levels = 0;
    job->must_fetch = job->is_stale = job->is_unstored = 0;
    job->digest = job->below = 0;
    job->is_recount = job->is_whole = job->has_waited = 0;
    job->inherits = 0;
    job->report = NULL;
    job->shade = NULL;
    job->is_made_of_shade = job->is_wrong = 0;
    job->pruned = 0;
    job->plain.colours = TSEED_COLOURS_UNKNOWN;
    job->trace = 0;
    job->cause[0] = '\0';
    job->transfer.http_status = 0;
    job->transfer.took = 0;
    memset(job->present, 0, sizeof(job->present));
    memset(job->written, 0, sizeof(job->written));
    memset(job->lacking, 0, sizeof(job->lacking));
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
    tseed_holds_drop(jobs->holds, job);
    tseed_run_job_remove(job->run, job);
    job->run = NULL;
    job->next = jobs->idle;
    jobs->idle = job;
}
