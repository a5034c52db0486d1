/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The neighbours of the flow, replaced: nothing is fetched, written, held or learnt. They note what
 * they are told. The clock stands at `now`. Include it once in a test program. */
#ifndef FLOW_FIXTURE_H
#define FLOW_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board/tseed_board.h"
#include "board/tseed_traces.h"
#include "pipeline/tseed_flow.h"
#include "pipeline/tseed_upstreams.h"
#include "pool_fixture.h"
#include "source/tseed_source.h"
#include "fleet/tseed_doors.h"

#define JOBS 16

static apr_time_t now;
static tseed_job_t jobs[JOBS];
static int jobs_begun, jobs_ended;
static int pushed, fetches, orphans, adoptions, cancels, booked_jobs; /* how often */
static int sizes_taken, sizes_failed;
static unsigned crashes;
static tseed_outlook_t outlook;

static void forget_neighbours(void)
{
    memset(jobs, 0, sizeof(jobs));
    jobs_begun = jobs_ended = pushed = fetches = orphans = adoptions = cancels = booked_jobs = 0;
    sizes_taken = sizes_failed = 0;
    crashes = 0;
    outlook = (tseed_outlook_t){0};
    now = 1000 * APR_USEC_PER_SEC;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = apr_time_sec(now), .tv_nsec = apr_time_usec(now) * 1000};
    return 0;
}

#ifndef WITH_BOARD /* the real one otherwise */
unsigned tseed_board_crashes_at(const tseed_board_t *board, int64_t task, int64_t position)
{
    (void)board;
    (void)task;
    (void)position;
    return crashes;
}

unsigned tseed_trace_find(const tseed_board_t *board, int64_t task, int64_t position)
{
    (void)board;
    (void)task;
    (void)position;
    return 0;
}

void tseed_trace_recall(tseed_board_t *board, unsigned trace, uint64_t present[TSEED_TRACE_WORDS])
{
    (void)board;
    (void)trace;
    (void)present;
}
#endif

/* ---- jobs ---- */

tseed_job_t *tseed_jobs_get(tseed_jobs_t *all, const tseed_job_what_t *what)
{
    tseed_job_t *job = &jobs[jobs_begun++];

    (void)all;
    *job = (tseed_job_t){.client = what->client,
                         .sink = what->sink,
                         .run = what->run,
                         .position = what->position,
                         .metatile = what->metatile,
                         .request.stage = what->first,
                         .savings.step = -1};
    tseed_run_job_add(what->run, job);
    return job;
}

void tseed_jobs_lend(tseed_jobs_t *all, tseed_job_t *job)
{
    (void)all;
    job->run->working++;
    job->run->checking += job->request.stage == TSEED_STAGE_CHECK;
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->accounts.at_work = 1;
    }
}

/* A stage is over. */
static inline void give_back(tseed_job_t *job)
{
    if (job->accounts.at_work) {
        job->run->working--;
        job->run->checking -= job->request.stage == TSEED_STAGE_CHECK;
    }
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->accounts.at_work = 0;
    }
    job->client->take(job->client->module, job);
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

void tseed_jobs_put_back(tseed_jobs_t *all, tseed_job_t *job)
{
    (void)all;
    tseed_run_job_remove(job->run, job);
    free(job->request.url);
    job->request.url = NULL;
    jobs_ended++;
}

void tseed_jobs_forget_answer(tseed_transfer_t *transfer)
{
    free(transfer->body);
    transfer->body = NULL;
    transfer->length = transfer->capacity = 0;
}

void tseed_jobs_move_answer(tseed_transfer_t *transfer, tseed_transfer_t *other)
{
    transfer->result = other->result;
    transfer->length = other->length;
    transfer->body = other->body;
    other->body = NULL;
}

void tseed_job_trace_begin_level(tseed_board_t *board, tseed_job_t *job)
{
    (void)board;
    job->accounts.trace = 1;
}

/* ---- workers and fetcher ---- */

void tseed_workers_push(tseed_workers_t *workers, tseed_job_t *job)
{
    (void)workers;
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->result.outcome = TSEED_JOB_OK;
        one->result.refused = NULL;
        one->result.made = one->result.skipped = 0;
    }
    pushed++;
}

void tseed_workers_tick(tseed_workers_t *workers, apr_time_t when)
{
    (void)workers;
    (void)when;
}

int tseed_workers_is_hung(tseed_workers_t *workers, const tseed_run_t *of)
{
    (void)workers;
    (void)of;
    return 0;
}

void tseed_mailbox_put(tseed_mailbox_t *mailbox, tseed_letter_t *letter)
{
    (void)mailbox;
    (void)letter;
}

void tseed_fetcher_submit(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer)
{
    (void)fetcher;
    (void)transfer;
    fetches++;
}

int tseed_fetcher_has_help(tseed_fetcher_t *fetcher)
{
    (void)fetcher;
    return 0;
}

void tseed_fetcher_cancel(tseed_fetcher_t *fetcher, const void *owner)
{
    (void)fetcher;
    (void)owner;
    cancels++;
}

void tseed_fetcher_orphan(tseed_fetcher_t *fetcher, const tseed_transfer_t *transfer)
{
    (void)fetcher;
    (void)transfer;
    orphans++;
}

void tseed_fetcher_adopt(tseed_fetcher_t *fetcher, const tseed_transfer_t *transfer)
{
    (void)fetcher;
    (void)transfer;
    adoptions++;
}

void tseed_fetcher_outlook(tseed_fetcher_t *fetcher, tseed_outlook_t *found,
                           const tseed_upstream_t *upstream)
{
    (void)fetcher;
    (void)upstream;
    *found = outlook;
}

void tseed_fetcher_ask_again(tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream)
{
    (void)fetcher;
    (void)upstream;
}

int tseed_upstreams_get(tseed_fetcher_t *fetcher, tseed_outlook_t *found, const tseed_run_t *of)
{
    (void)fetcher;
    (void)of;
    *found = outlook;
    return 0;
}

int tseed_upstreams_choose(tseed_fetcher_t *fetcher, const tseed_job_t *job)
{
    (void)fetcher;
    (void)job;
    return 0;
}

#ifndef WITH_SOURCE /* the real one otherwise */
void tseed_source_settle(const tseed_source_t *source, tseed_transfer_t *transfer)
{
    (void)source;
    (void)transfer;
}

size_t tseed_source_most(int width, int height)
{
    (void)width;
    (void)height;
    return 0;
}

tseed_refusal_t tseed_source_refusal(const tseed_source_t *source, const tseed_transfer_t *transfer)
{
    (void)source;
    (void)transfer;
    return TSEED_REFUSES_NOTHING;
}

const char *tseed_source_url(tseed_ask_t *ask, int address, apr_pool_t *p)
{
    (void)address;
    (void)p;
    ask->width = ask->height = 1024;
    return "http://maps.example/tile";
}

int tseed_source_is_tiled(const tseed_source_t *source)
{
    (void)source;
    return 0;
}
#endif

static const char *portion_of(const tseed_job_t *leader, int address, apr_pool_t *p)
{
    (void)leader;
    (void)address;
    (void)p;
    return "";
}

static const tseed_fleet_doors_t doors = {.portion = portion_of};
static const tseed_fleet_t fleet = {&doors};

/* ---- books ---- */

void tseed_holds_hold(tseed_holds_t *holds, tseed_job_t *job)
{
    (void)holds;
    job->accounts.holds = 1;
}

void tseed_holds_mark_level(tseed_holds_t *holds, tseed_job_t *job)
{
    (void)holds;
    job->accounts.levels = 1;
}

void tseed_holds_book(tseed_holds_t *holds, tseed_job_t *job)
{
    (void)holds;
    (void)job;
    booked_jobs++;
}

int64_t tseed_holds_date(const tseed_holds_t *holds)
{
    (void)holds;
    return 0;
}

/* ---- savings ---- */

static int no_draw(struct tseed_derive_t *derive, const tseed_tile_t *tile)
{
    (void)derive, (void)tile;
    return 0;
}

int tseed_savings_draws(tseed_savings_t *savings, tseed_job_t *job)
{
    (void)savings;
    job->savings.draw = tseed_run_derives(job->run, job->metatile.whole.z) ? no_draw : NULL;
    return tseed_job_is_drawn(job);
}

void tseed_savings_derive(tseed_savings_t *savings, tseed_job_t *job)
{
    (void)savings;
    (void)job;
}

void tseed_savings_join(tseed_savings_t *savings, tseed_job_t *list, tseed_cell_shape_t cell)
{
    (void)savings;
    if (list) {
        tseed_join_queue(&list->run->wanted, list, cell, -1);
    }
}

int tseed_savings_ask(tseed_savings_t *savings, tseed_job_t *leader, int address)
{
    (void)savings;
    (void)address;
    leader->savings.follows = 0;
    return 0;
}

struct tseed_shared_request_t *tseed_savings_partner(tseed_savings_t *savings, tseed_job_t *leader,
                                                     int *address)
{
    (void)savings;
    (void)leader;
    (void)address;
    return NULL;
}

int tseed_savings_follow(tseed_savings_t *savings, struct tseed_shared_request_t *request,
                         tseed_job_t *leader)
{
    (void)savings;
    (void)request;
    leader->savings.follows = 1;
    return 1;
}

void tseed_savings_came(tseed_savings_t *savings, const tseed_job_t *leader)
{
    (void)savings;
    (void)leader;
}

void tseed_savings_took(tseed_savings_t *savings, tseed_job_t *job)
{
    (void)savings;
    sizes_taken += job->request.stage == TSEED_STAGE_FETCH && !job->savings.follows;
}

void tseed_savings_fail(tseed_savings_t *savings, const tseed_job_t *leader)
{
    (void)savings;
    (void)leader;
    sizes_failed++;
}

void tseed_savings_count(const tseed_job_t *job)
{
    (void)job;
}

void tseed_savings_renew(tseed_job_t *job)
{
    job->savings.shade = NULL;
}

void tseed_savings_drain(tseed_savings_t *savings, const tseed_run_t *of)
{
    (void)savings;
    (void)of;
}

void tseed_savings_tick(tseed_savings_t *savings)
{
    (void)savings;
}

#endif
