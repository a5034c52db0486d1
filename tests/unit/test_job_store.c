/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What jobs do in a store: what is on the disk afterwards, what the job has noted for the book, and
 * what the account was charged. Blocks have 512 bytes: a file of 3 bytes takes one, a file of 700
 * bytes two. */
#include "job_fixture.h"

#include <errno.h>

#include "work/tseed_job_store.h"

static const tseed_tile_t first = {4, 1, 2}, second = {4, 9, 3};

static apr_status_t store_sized(const tseed_tile_t *at, const char *data, size_t length,
                                int is_uniform)
{
    const tseed_encoded_t one = {(const unsigned char *)data, length, is_uniform, {0}};

    return tseed_job_store_tile(files->store, &job, at, &one);
}

static apr_status_t store(const tseed_tile_t *at, const char *data, int is_uniform)
{
    return store_sized(at, data, strlen(data), is_uniform);
}

static void assert_effect(const tseed_effect_t *effect, int64_t names, int64_t number,
                          int64_t bytes, int64_t allocated)
{
    assert_int_equal(effect->names, names);
    assert_int_equal(effect->files, number);
    assert_int_equal(effect->bytes, bytes);
    assert_int_equal(effect->allocated, allocated);
}

/* The tiles of these tests are in one page. */
static void assert_noted(int64_t names, int64_t number, int64_t bytes, int64_t allocated)
{
    unsigned cursor = 0;
    const tseed_line_t *line = tseed_tally_next(&job.result.tally, &cursor);

    assert_non_null(line);
    assert_int_equal(line->page.z, 4);
    assert_effect(&line->effect, names, number, bytes, allocated);
    assert_null(tseed_tally_next(&job.result.tally, &cursor));
}

static void assert_used(int64_t bytes, int64_t number)
{
    const tseed_amount_t used = tseed_account_used(account);

    assert_int_equal(used.bytes, bytes);
    assert_int_equal(used.files, number);
}

static struct stat stat_of(const tseed_tile_t *at)
{
    struct stat found;

    assert_int_equal(lstat(tile(files, at->z, at->x, at->y), &found), 0);
    return found;
}

static void test_job_store__a_tile_has_its_own_file(void **state)
{
    (void)state;
    assert_int_equal(store(&first, "sea", 1), APR_SUCCESS); /* the layer does not link */
    files->made.layer.store.link_uniform = 1;
    assert_int_equal(store(&second, "sea", 0), APR_SUCCESS);
    assert_int_equal(stat_of(&first).st_nlink, 1);
    assert_int_equal(stat_of(&second).st_nlink, 1);
    assert_noted(2, 2, 6, 1024);
    assert_effect(&job.result.shared, 0, 0, 0, 0);
    assert_int_equal(job.result.bytes, 6);
    assert_used(1024, 2);
}

/* The tile that brings a colour is the second name of the shared file. */
static void test_job_store__the_first_of_a_colour_is_linked_too(void **state)
{
    (void)state;
    files->made.layer.store.link_uniform = 1;
    assert_int_equal(store(&first, "sea", 1), APR_SUCCESS);
    assert_int_equal(stat_of(&first).st_size, 3);
    assert_int_equal(stat_of(&first).st_nlink, 2);
    assert_noted(1, 0, 0, 0);
    assert_effect(&job.result.shared, 0, 1, 3, 512);
    assert_int_equal(job.result.bytes, 3);
    assert_used(512, 1);
}

static void test_job_store__the_next_of_a_colour_costs_nothing(void **state)
{
    (void)state;
    files->made.layer.store.link_uniform = 1;
    assert_int_equal(store(&first, "sea", 1), APR_SUCCESS);
    assert_int_equal(store(&second, "sea", 1), APR_SUCCESS);
    assert_int_equal(stat_of(&second).st_ino, stat_of(&first).st_ino);
    assert_int_equal(stat_of(&second).st_nlink, 3);
    assert_noted(2, 0, 0, 0);
    assert_effect(&job.result.shared, 0, 1, 3, 512);
    assert_int_equal(job.result.bytes, 3);
    assert_used(512, 1);
}

/* The account has the old file until the book has the change. */
static void test_job_store__a_link_frees_the_file_it_replaces(void **state)
{
    static const char photo[700];

    (void)state;
    files->made.layer.store.link_uniform = 1;
    assert_int_equal(store_sized(&first, photo, sizeof(photo), 0), APR_SUCCESS);
    assert_noted(1, 1, 700, 1024);
    assert_int_equal(store(&first, "sea", 1), APR_SUCCESS);
    assert_noted(1, 0, 0, 0);
    assert_effect(&job.result.shared, 0, 1, 3, 512);
    assert_int_equal(job.result.freed.bytes, 1024);
    assert_int_equal(job.result.freed.files, 1);
    assert_used(1024 + 512, 2);
}

/* A file of two blocks that becomes one of one block is charged whole before it is written. */
static void test_job_store__a_smaller_file_frees_the_difference(void **state)
{
    static const char photo[700];

    (void)state;
    assert_int_equal(store_sized(&first, photo, sizeof(photo), 0), APR_SUCCESS);
    assert_int_equal(store(&first, "sea", 0), APR_SUCCESS);
    assert_noted(1, 1, 3, 512);
    assert_int_equal(job.result.freed.bytes, 512);
    assert_int_equal(job.result.freed.files, 0);
    assert_used(1024, 1);
}

static void assert_refused(int is_uniform)
{
    assert_int_equal(store(&first, "sea", is_uniform), APR_FROM_OS_ERROR(EDQUOT));
    assert_ptr_equal(job.result.refused, account);
    assert_int_equal(job.result.needed, 512);
    assert_false(is_there(first.z, first.x, first.y));
    assert_int_equal(job.result.tally.count, 0);
    assert_effect(&job.result.shared, 0, 0, 0, 0);
    assert_used(0, 0);
}

static void test_job_store__a_refused_tile_is_not_written(void **state)
{
    (void)state;
    files->made.layer.store.link_uniform = 1;
    tseed_account_limit_set(account, (tseed_amount_t){511, TSEED_NO_LIMIT});
    assert_refused(0);
    assert_refused(1);
    tseed_account_limit_set(account, (tseed_amount_t){TSEED_NO_LIMIT, 0});
    assert_refused(0);
    assert_refused(1);
    tseed_account_limit_set(account, (tseed_amount_t){512, 1});
    assert_int_equal(store(&first, "sea", 1), APR_SUCCESS);
    assert_null(job.result.refused);
}

static void test_job_store__a_stopped_job_writes_nothing(void **state)
{
    (void)state;
    atomic_store(&run.stopped, 1);
    assert_int_not_equal(store(&first, "sea", 0), APR_SUCCESS);
    assert_false(is_there(first.z, first.x, first.y));
    assert_int_equal(job.result.tally.count, 0);
    assert_used(0, 0);
}

static void test_job_store__check_finds_the_tiles_that_are_there(void **state)
{
    (void)state;
    job_wants(4, 1, 2, 3, 3); /* the tile in column 2 of row 3 is the fifth of six */
    assert_int_equal(store(&(tseed_tile_t){4, 2, 3}, "sea", 0), APR_SUCCESS);
    tseed_job_check(files->store, &job);
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_int_equal(job.result.present[0], 1 << 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(test_job_store__a_tile_has_its_own_file),
        JOB_TEST(test_job_store__the_first_of_a_colour_is_linked_too),
        JOB_TEST(test_job_store__the_next_of_a_colour_costs_nothing),
        JOB_TEST(test_job_store__a_link_frees_the_file_it_replaces),
        JOB_TEST(test_job_store__a_smaller_file_frees_the_difference),
        JOB_TEST(test_job_store__a_refused_tile_is_not_written),
        JOB_TEST(test_job_store__a_stopped_job_writes_nothing),
        JOB_TEST(test_job_store__check_finds_the_tiles_that_are_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
