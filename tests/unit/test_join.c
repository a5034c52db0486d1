/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Joined jobs: who leads, which jobs share a request, and how a request is parted. Level 5 of web
 * mercator has 32 x 32 tiles: one block of 8 x 8 metatiles, which are drawn here from the bottom
 * left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "savings/tseed_join.h"

#include "pool_fixture.h"

#define Z 5

static tseed_run_t run;
static tseed_job_t jobs[TSEED_CELL_MOST];
static int count;
static tseed_queue_t queue;

static int begin(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");

    (void)state;
    memset(&run, 0, sizeof(run));
    memset(jobs, 0, sizeof(jobs));
    queue = (tseed_queue_t){0};
    count = 0;
    tseed_positions_init(&run.positions, gridset, &gridset->extent, &(tseed_shape_t){Z, Z, 4, 4});
    return 0;
}

/* The job of the metatile in a column and row of metatiles. */
static tseed_job_t *job_at(int64_t x, int64_t y)
{
    tseed_job_t *job = &jobs[count++];

    job->run = &run;
    job->savings.step = 4;
    job->position = tseed_positions_of(&run.positions, Z, 4 * x, 4 * y);
    job->metatile = tseed_positions_at(&run.positions, job->position);
    return job;
}

/* The jobs of so many columns and rows from a metatile on, the lowest first. */
static tseed_job_t *list_of(int64_t left, int64_t low, int columns, int rows)
{
    tseed_job_t *list = NULL;

    for (int y = rows; y-- > 0;) {
        for (int x = columns; x-- > 0;) {
            list = tseed_join_push(list, job_at(left + x, low + y));
        }
    }
    return list;
}

static void assert_asked(const tseed_job_t *leader, int64_t minx, int64_t miny, int64_t maxx,
                         int64_t maxy)
{
    assert_int_equal(leader->savings.asked.z, Z);
    assert_int_equal(leader->savings.asked.minx, minx);
    assert_int_equal(leader->savings.asked.miny, miny);
    assert_int_equal(leader->savings.asked.maxx, maxx);
    assert_int_equal(leader->savings.asked.maxy, maxy);
}

static void test_join__the_first_job_leads(void **state)
{
    tseed_job_t *leader = tseed_join_chain(list_of(2, 4, 2, 2));

    (void)state;
    assert_asked(leader, 8, 16, 15, 23);
    assert_int_equal(tseed_join_count(leader), 4);
    assert_null(leader->savings.leader);
    for (tseed_job_t *job = leader->savings.joined; job; job = job->savings.joined) {
        assert_ptr_equal(job->savings.leader, leader);
        assert_ptr_equal(tseed_job_leader(job), leader);
    }
    assert_int_equal(tseed_join_cell(leader).columns, 2);
    assert_int_equal(tseed_join_cell(leader).rows, 2);
}

/* A job alone is what it was without joining. */
static void test_join__one_job_leads_itself(void **state)
{
    tseed_job_t *job = tseed_join_chain(list_of(7, 0, 1, 1));

    (void)state;
    assert_asked(job, 28, 0, 31, 3);
    assert_int_equal(tseed_join_count(job), 1);
    assert_ptr_equal(tseed_job_leader(job), job);
    assert_null(job->savings.joined);
    assert_int_equal(tseed_join_cell(job).columns * tseed_join_cell(job).rows, 1);
}

static void test_join__a_whole_cell_is_one_request(void **state)
{
    tseed_job_t *leader;

    (void)state;
    tseed_join_queue(&queue, list_of(4, 0, 4, 4), (tseed_cell_shape_t){4, 4}, -1);
    assert_int_equal(queue.count, 1);
    leader = tseed_queue_take(&queue);
    assert_int_equal(tseed_join_count(leader), 16);
    assert_asked(leader, 16, 0, 31, 15);
    assert_int_equal(leader->savings.step, 4);
}

/* Half of the tiles are needed: one request. Fewer: several, which say nothing of the size.
 *
 *      . #        # .
 *      # #        . #
 */
static void test_join__a_request_has_at_most_twice_the_tiles_that_are_needed(void **state)
{
    tseed_job_t *list = tseed_join_push(list_of(0, 0, 2, 1), job_at(1, 1));

    (void)state;
    tseed_join_queue(&queue, list, (tseed_cell_shape_t){2, 2}, -1);
    assert_int_equal(queue.count, 1);
    assert_asked(tseed_queue_take(&queue), 0, 0, 7, 7);

    list = tseed_join_push(list_of(3, 2, 1, 1), job_at(2, 3)); /* a diagonal is half as well */
    tseed_join_queue(&queue, list, (tseed_cell_shape_t){2, 2}, -1);
    assert_int_equal(queue.count, 1);
    assert_int_equal(tseed_join_count(tseed_queue_take(&queue)), 2);

    list = tseed_join_push(list_of(0, 0, 1, 1), job_at(3, 3)); /* corners of a large cell are not */
    tseed_join_queue(&queue, list, (tseed_cell_shape_t){4, 4}, -1);
    assert_int_equal(queue.count, 2);
    for (tseed_job_t *job; (job = tseed_queue_take(&queue));) {
        assert_int_equal(tseed_join_count(job), 1);
        assert_int_equal(job->savings.step, -1);
    }
}

/* Jobs of several cells are parted by cells: each job comes into one request, once. */
static void test_join__cells_are_requests_of_their_own(void **state)
{
    int served = 0;

    (void)state;
    tseed_join_queue(&queue, list_of(0, 0, 4, 4), (tseed_cell_shape_t){2, 2}, -1);
    assert_int_equal(queue.count, 4);
    for (tseed_job_t *job; (job = tseed_queue_take(&queue));) {
        assert_int_equal(tseed_join_count(job), 4);
        assert_int_equal(tseed_range_count(&job->savings.asked), 64);
        served += tseed_join_count(job);
    }
    assert_int_equal(served, 16);
    tseed_join_queue(&queue, NULL, (tseed_cell_shape_t){2, 2}, -1);
    assert_int_equal(queue.count, 0);
}

/* 16, then 8 and 8, then 4 and 4: after four failures a metatile is asked for alone. */
static void test_join__a_request_that_failed_is_halved(void **state)
{
    tseed_job_t *leader = tseed_join_chain(list_of(0, 4, 4, 4));

    (void)state;
    for (int left = 16; left > 1; left /= 2) {
        assert_int_equal(tseed_join_count(leader), left);
        queue = (tseed_queue_t){0};
        tseed_join_part(&queue, leader);
        assert_int_equal(queue.count, 2);
        leader = tseed_queue_take(&queue);
        assert_int_equal(tseed_range_count(&leader->savings.asked), 16 * left / 2);
        assert_int_equal(leader->savings.step, -1);
        assert_int_equal(leader->savings.why, TSEED_SIZE_FAILED);
    }
    assert_null(leader->savings.joined);
}

/* Two diagonal metatiles have the rectangle of four around them: halves of that are single. */
static void test_join__parts_are_smaller_even_where_jobs_lack(void **state)
{
    (void)state;
    tseed_join_part(&queue, tseed_join_chain(tseed_join_push(list_of(0, 0, 1, 1), job_at(1, 1))));
    assert_int_equal(queue.count, 2);
    assert_int_equal(tseed_range_count(&tseed_queue_take(&queue)->savings.asked), 16);
    assert_int_equal(tseed_range_count(&tseed_queue_take(&queue)->savings.asked), 16);
}

/* A row of four and one of the next row: parted, the halves have two metatiles less. */
static void test_join__a_request_is_parted_where_that_is_cheaper(void **state)
{
    const tseed_cell_shape_t cell = {4, 2};

    (void)state;
    tseed_join_queue(&queue, tseed_join_push(list_of(0, 0, 4, 1), job_at(0, 1)), cell, 4);
    assert_int_equal(queue.count, 1);
    assert_asked(tseed_queue_take(&queue), 0, 0, 15, 7);
    tseed_join_queue(&queue, tseed_join_push(list_of(0, 0, 4, 1), job_at(0, 1)), cell, 1);
    assert_int_equal(queue.count, 2);
}

/* The answer goes over, and is freed by one job. */
static void test_join__another_job_can_have_the_answer(void **state)
{
    tseed_job_t *leader = tseed_join_chain(list_of(0, 0, 2, 1)), *other = leader->savings.joined;
    char *body = malloc(4);

    (void)state;
    leader->request.transfer.body = (void *)body;
    leader->request.transfer.length = leader->request.transfer.capacity = 4;
    leader->request.transfer.result = TSEED_FETCH_OK;
    strcpy(leader->request.transfer.next_condition, "If-None-Match: \"1\"");
    tseed_join_hand_over(leader, leader);
    assert_ptr_equal(leader->request.transfer.body, body);
    tseed_join_hand_over(other, leader);
    assert_null(leader->request.transfer.body);
    assert_int_equal(leader->request.transfer.length, 0);
    assert_ptr_equal(other->request.transfer.body, body);
    assert_int_equal(other->request.transfer.length, 4);
    assert_int_equal(other->request.transfer.result, TSEED_FETCH_OK);
    assert_string_equal(other->request.transfer.next_condition, "If-None-Match: \"1\"");
    assert_asked(other, 0, 0, 7, 3);
    free(body);
}

/* What is left of a request waits with all of its answer. */
static void test_join__an_answer_is_kept_for_some_of_its_jobs(void **state)
{
    tseed_job_t *leader = tseed_join_chain(list_of(0, 0, 2, 1)), *rest = tseed_join_pop(leader);

    (void)state;
    assert_true(!leader->savings.leader && !leader->savings.joined);
    leader->request.transfer.body = (void *)strdup("abc");
    tseed_join_resume(rest, leader);
    assert_string_equal((char *)rest->request.transfer.body, "abc");
    assert_asked(rest, 0, 0, 7, 3);
    tseed_join_resume(rest, rest);
    assert_asked(rest, 0, 0, 7, 3);
    tseed_join_resume(rest, NULL);
    assert_asked(rest, 4, 0, 7, 3);
    free(rest->request.transfer.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_join__the_first_job_leads, begin),
        cmocka_unit_test_setup(test_join__one_job_leads_itself, begin),
        cmocka_unit_test_setup(test_join__a_whole_cell_is_one_request, begin),
        cmocka_unit_test_setup(test_join__a_request_has_at_most_twice_the_tiles_that_are_needed,
                               begin),
        cmocka_unit_test_setup(test_join__cells_are_requests_of_their_own, begin),
        cmocka_unit_test_setup(test_join__a_request_that_failed_is_halved, begin),
        cmocka_unit_test_setup(test_join__parts_are_smaller_even_where_jobs_lack, begin),
        cmocka_unit_test_setup(test_join__a_request_is_parted_where_that_is_cheaper, begin),
        cmocka_unit_test_setup(test_join__another_job_can_have_the_answer, begin),
        cmocka_unit_test_setup(test_join__an_answer_is_kept_for_some_of_its_jobs, begin),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
