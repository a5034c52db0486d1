/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A job that is used again has nothing of its last use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "board/tseed_traces.h"
#include "board_memory.h"
#include "books/tseed_jobs.h"

static void test_jobs__begin_at_the_first_stage(void **state)
{
    const tseed_context_t context = {.pool = pool};
    const tseed_client_t client = {0};
    tseed_run_t run = {0};
    const tseed_job_what_t what = {.client = &client, .run = &run};
    tseed_jobs_t *jobs = tseed_jobs_create(&context, NULL);
    tseed_job_t *job = tseed_jobs_get(jobs, &what);

    (void)state;
    job->request.stage = TSEED_STAGE_CUT;
    tseed_jobs_put_back(jobs, job);
    assert_ptr_equal(tseed_jobs_get(jobs, &what), job);
    assert_int_equal(job->request.stage, TSEED_STAGE_CHECK);
    free(job);
}

/* Whatever the last use has left in it, a job is as one that was never used. */
static void test_jobs__have_nothing_of_their_last_use(void **state)
{
    const tseed_context_t context = {.pool = pool};
    const tseed_client_t client = {0};
    tseed_run_t run = {0};
    const tseed_job_what_t what = {.client = &client, .run = &run};
    tseed_jobs_t *jobs = tseed_jobs_create(&context, NULL);
    tseed_job_t *job = tseed_jobs_get(jobs, &what), *fresh = malloc(sizeof(*fresh));

    (void)state;
    memcpy(fresh, job, sizeof(*fresh));
    memset(job, 0x5a, sizeof(*job));
    job->run = &run;
    job->sibling = NULL;
    job->accounts.holds = job->accounts.pins = 0;
    job->accounts.levels = 0;
    job->request.transfer.body = NULL; /* the memory that a job keeps */
    job->result.tally = (tseed_tally_t){0};
    job->result.drawn.body = NULL;
    job->request.url = job->request.portion = NULL;
    job->request.url_size = 0;
    tseed_jobs_put_back(jobs, job);
    assert_ptr_equal(tseed_jobs_get(jobs, &what), job);
    assert_memory_equal(job, fresh, sizeof(*job));
    free(fresh);
    free(job);
}

static void take(void *module, tseed_job_t *job)
{
    (void)module;
    (void)job;
}

/* A seeder has died at a metatile: the job of the next one goes on with its trace. */
static void test_jobs__take_over_the_trace_of_a_seeder_that_died(void **state)
{
    const uint64_t found[TSEED_TRACE_WORDS] = {5};
    tseed_task_t task = {.id = 7, .type = TSEED_SEED};
    const tseed_client_t client = {.take = take};
    tseed_board_t *board = make_board(4, 1);
    const tseed_context_t context = {.pool = pool, .board = board};
    tseed_run_t run = {.task = &task};
    const tseed_job_what_t what = {.client = &client, .run = &run, .position = 3};
    tseed_jobs_t *jobs = tseed_jobs_create(&context, NULL);
    tseed_job_t *job = tseed_jobs_get(jobs, &what);
    const unsigned trace = tseed_trace_begin(board, task.id, what.position, found);

    (void)state;
    tseed_jobs_lend(jobs, job);
    assert_int_equal(run.checking, 1);
    job->letter.take(job->letter.module, job->letter.about);
    assert_int_equal(run.checking, 0);
    assert_int_equal(job->accounts.trace, trace);
    job->request.stage = TSEED_STAGE_CUT;
    tseed_jobs_lend(jobs, job);
    assert_int_equal(job->accounts.trace, trace);
    assert_int_equal(tseed_traces_used(board), 1);
    free(job);
    free(board->segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs__begin_at_the_first_stage),
        cmocka_unit_test(test_jobs__have_nothing_of_their_last_use),
        cmocka_unit_test(test_jobs__take_over_the_trace_of_a_seeder_that_died),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
