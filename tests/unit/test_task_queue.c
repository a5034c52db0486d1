/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The task queue by itself: which PENDING tasks begin, and why the others wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>

#include "seeder/tseed_task_queue.h"

#define THREADS 3

static apr_pool_t *pool;
static tseed_runs_t runs; /* none: all threads are vacant */

static int group_setup(void **state)
{
    (void)state;
    apr_initialize();
    return apr_pool_create(&pool, NULL);
}

static int group_teardown(void **state)
{
    (void)state;
    apr_terminate();
    return 0;
}

/* Links entries in their order. */
static tseed_entry_t *list(tseed_entry_t *entries, int count)
{
    for (int i = 0; i < count; i++) {
        entries[i].id = i + 1;
        entries[i].layer = "world";
        entries[i].next = i + 1 < count ? &entries[i + 1] : NULL;
    }
    return entries;
}

/* "1 2 3" */
static const char *ids_of(const apr_array_header_t *found)
{
    const char *ids = "";

    for (int i = 0; i < found->nelts; i++) {
        ids = apr_psprintf(pool, "%s%s%d", ids, i ? " " : "",
                           (int)APR_ARRAY_IDX(found, i, tseed_entry_t *)->id);
    }
    return ids;
}

/* Why the last one of a list waits. */
static tseed_reason_t code_of_last;

static const char *reason_of_last(const tseed_entry_t *entries)
{
    tseed_task_queue_t queue = tseed_task_queue_of(&runs, THREADS, pool);

    for (; entries->next; entries = entries->next) {
        tseed_task_queue_pass(&queue, entries);
    }
    return tseed_task_queue_reason(&queue, entries, &code_of_last);
}

static void test_task_queue__begins_the_first_ones(void **state)
{
    tseed_entry_t entries[4] = {
        {.tileset = "a"}, {.tileset = "a"}, {.tileset = "b"}, {.tileset = "c"}};
    tseed_task_queue_t queue = tseed_task_queue_of(&runs, THREADS, pool);

    (void)state;
    assert_string_equal(ids_of(tseed_task_queue_find(&queue, list(entries, 4))), "1 2 3");
}

static void test_task_queue__has_tasks_wait_for_an_earlier_truncate(void **state)
{
    tseed_entry_t entries[4] = {{.tileset = "a"},
                                {.tileset = "b", .type = TSEED_TRUNCATE},
                                {.tileset = "a"},
                                {.tileset = "b"}};
    tseed_task_queue_t queue = tseed_task_queue_of(&runs, THREADS, pool);

    (void)state;
    assert_string_equal(ids_of(tseed_task_queue_find(&queue, list(entries, 4))), "2 1 3");
    assert_string_equal(reason_of_last(entries),
                        "waits for task 2, a truncate of the same tile set");
}

/* A task that this host can't work on takes no thread, and holds up nobody. */
static void test_task_queue__passes_over_what_has_an_obstacle(void **state)
{
    tseed_entry_t entries[3] = {{.tileset = "", .obstacle = "waits for another host"},
                                {.tileset = "a"},
                                {.tileset = "", .obstacle = "waits for another configuration"}};
    tseed_task_queue_t queue = tseed_task_queue_of(&runs, THREADS, pool);

    (void)state;
    assert_string_equal(ids_of(tseed_task_queue_find(&queue, list(entries, 3))), "2");
    assert_string_equal(reason_of_last(entries), "waits for another configuration");
    assert_int_equal(code_of_last, TSEED_REASON_CONFIGURATION);
}

#define TEST(name) cmocka_unit_test(test_task_queue__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(begins_the_first_ones),
        TEST(has_tasks_wait_for_an_earlier_truncate),
        TEST(passes_over_what_has_an_obstacle),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
