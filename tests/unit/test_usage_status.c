/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The usage status: what a comparison of the book with the disk has found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "books/tseed_cache.h"

static tseed_cache_t cache;

static int setup(void **state)
{
    (void)state;
    cache = (tseed_cache_t){.is_reconciling = 1};
    return 0;
}

static void count(tseed_effect_t difference)
{
    tseed_cache_counted(&cache, 1, &difference);
}

static void assert_counted(int64_t pages, int64_t differing)
{
    assert_int_equal(cache.status.reconcile.counted, pages);
    assert_int_equal(cache.status.reconcile.differing, differing);
}

static void test_usage_status__a_page_differs_in_any_number(void **state)
{
    (void)state;
    count((tseed_effect_t){0, 0, 0, 0});
    assert_counted(1, 0);
    count((tseed_effect_t){1, 0, 0, 0});
    count((tseed_effect_t){0, -1, 0, 0});
    count((tseed_effect_t){0, 0, 1, 0});
    count((tseed_effect_t){0, 0, 0, -1});
    assert_counted(5, 4);
    count((tseed_effect_t){-1, -1, -300, -4096});
    assert_counted(6, 5); /* a page counts once */
}

static void test_usage_status__found_and_lost_are_summed_apart(void **state)
{
    const tseed_reconcile_t *reconcile = &cache.status.reconcile;

    (void)state;
    count((tseed_effect_t){3, 2, 600, 8192});
    count((tseed_effect_t){-1, -1, -300, -4096});
    count((tseed_effect_t){1, -1, 10, -2});
    assert_int_equal(reconcile->found.names, 4);
    assert_int_equal(reconcile->found.files, 2);
    assert_int_equal(reconcile->found.bytes, 610);
    assert_int_equal(reconcile->found.allocated, 8192);
    assert_int_equal(reconcile->lost.names, 1);
    assert_int_equal(reconcile->lost.files, 2);
    assert_int_equal(reconcile->lost.bytes, 300);
    assert_int_equal(reconcile->lost.allocated, 4098);
}

/* Shared files are of no page. */
static void test_usage_status__shared_files_are_no_page(void **state)
{
    (void)state;
    tseed_cache_counted(&cache, 0, &(tseed_effect_t){0, 1, 70, 4096});
    assert_counted(0, 0);
    assert_int_equal(cache.status.reconcile.found.files, 1);
}

static void test_usage_status__other_counts_say_nothing(void **state)
{
    (void)state;
    cache.is_reconciling = 0;
    count((tseed_effect_t){1, 1, 1, 1});
    assert_counted(0, 0);
    assert_int_equal(cache.status.reconcile.found.names, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(test_usage_status__##name, setup)
    const struct CMUnitTest tests[] = {
        TEST(a_page_differs_in_any_number),
        TEST(found_and_lost_are_summed_apart),
        TEST(shared_files_are_no_page),
        TEST(other_counts_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
