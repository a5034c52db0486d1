/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Origin pages: what is put in is found, also after a way through text; what is no line is left
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "books/tseed_origin_page.h"
#include "layer/tseed_page.h"
#include "pool_fixture.h"

#define LONGEST "If-None-Match: W/\"a \\\"b\\\" c\""

static void put(tseed_origin_page_t *page, int at, uint64_t digest, const char *condition)
{
    tseed_origin_page_put(page, &(tseed_origin_t){at, digest, digest + 1, condition, 0, 0});
}

static void assert_known(const tseed_origin_page_t *page, int at, uint64_t digest,
                         const char *condition)
{
    const tseed_origin_t *origin = tseed_origin_page_find(page, at);

    assert_non_null(origin);
    assert_true(origin->digest == digest);
    assert_string_equal(origin->condition, condition);
    assert_true(!*condition || origin->request == digest + 1);
}

static void test_origin_page__holds_a_whole_page(void **state)
{
    tseed_origin_page_t page = {0}, loaded = {0};

    (void)state;
    for (int at = 0; at < TSEED_PAGE_TILES; at++) {
        put(&page, at, UINT64_MAX - (uint64_t)at, at % 2 ? LONGEST : "");
    }
    put(&page, 7, 1, "");
    assert_int_equal(tseed_origin_page_forget(&page, 8), 1);
    assert_int_equal(tseed_origin_page_forget(&page, 8), 0);
    tseed_origin_page_load(&loaded, tseed_origin_page_save(&page, pool));
    assert_int_equal(loaded.count, TSEED_PAGE_TILES - 1);
    assert_null(tseed_origin_page_find(&loaded, 8));
    assert_known(&loaded, 7, 1, "");
    assert_known(&loaded, 1023, UINT64_MAX - 1023, LONGEST);
    assert_known(&loaded, 0, UINT64_MAX, "");
    tseed_origin_page_clear(&page);
    tseed_origin_page_clear(&loaded);
    assert_string_equal(tseed_origin_page_save(&loaded, pool), "");
}

static void test_origin_page__leaves_out_what_is_no_line(void **state)
{
    tseed_origin_page_t page = {0};

    (void)state;
    tseed_origin_page_load(&page, "\n-1 5\n1024 5\n3 0\n3\nnonsense\n5 10 11\n6 10 11 A: b\n4 ff");
    assert_int_equal(page.count, 3);
    assert_known(&page, 4, 255, "");
    assert_known(&page, 5, 16, "");
    assert_known(&page, 6, 16, "A: b");
    tseed_origin_page_clear(&page);
}

/* A metatile that was asked for with others, and one whose cell is nonsense. */
static void test_origin_page__keeps_the_cell_of_a_request(void **state)
{
    const tseed_origin_t joined = {.at = 40, .digest = 7, .condition = "", .columns = 4, .rows = 2};
    tseed_origin_page_t page = {0}, again = {0};

    (void)state;
    tseed_origin_page_put(&page, &joined);
    tseed_origin_page_load(&again, tseed_origin_page_save(&page, pool));
    assert_int_equal(tseed_origin_page_find(&again, 40)->columns, 4);
    assert_int_equal(tseed_origin_page_find(&again, 40)->rows, 2);
    tseed_origin_page_load(&again, "41/99x1 0000000000000005\n42/4 0000000000000006\n");
    assert_int_equal(tseed_origin_page_find(&again, 41)->columns, 0);
    assert_int_equal(tseed_origin_page_find(&again, 42)->digest, 6);
    tseed_origin_page_clear(&page);
    tseed_origin_page_clear(&again);
}

static void assert_cell(const tseed_origin_page_t *page, int at, int columns, int rows)
{
    const tseed_origin_t *origin = tseed_origin_page_find(page, at);

    assert_non_null(origin);
    assert_int_equal(origin->columns, columns);
    assert_int_equal(origin->rows, rows);
}

/* A page has 32 x 32 tiles. A line is about a cell of one metatile unless it says otherwise. */
static void test_origin_page__a_cell_is_two_numbers_that_fit(void **state)
{
    static const char text[] = "1/3 5\n3/0x2 5\n4/2x0 5\n5/33x1 5\n6/1x33 5\n7/12x10 5\n"
                               "8/32x32 5\n9/2x1 5\n10/1x2 5\n11/-1x2 5\n12/1x1 5\n13/3y2 5\n";
    tseed_origin_page_t page = {0}, again = {0};

    (void)state;
    tseed_origin_page_load(&page, text);
    tseed_origin_page_load(&again, tseed_origin_page_save(&page, pool));
    assert_cell(&page, 1, 0, 0);
    assert_cell(&page, 3, 0, 0);
    assert_cell(&page, 4, 0, 0);
    assert_cell(&page, 5, 0, 0);
    assert_cell(&page, 6, 0, 0);
    assert_cell(&again, 7, 12, 10);
    assert_cell(&again, 8, 32, 32);
    assert_cell(&again, 9, 2, 1);
    assert_cell(&again, 10, 1, 2);
    assert_cell(&page, 11, 0, 0);
    assert_cell(&page, 12, 1, 1);
    assert_null(tseed_origin_page_find(&page, 13));
    tseed_origin_page_clear(&page);
    tseed_origin_page_clear(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origin_page__keeps_the_cell_of_a_request),
        cmocka_unit_test(test_origin_page__a_cell_is_two_numbers_that_fit),
        cmocka_unit_test(test_origin_page__holds_a_whole_page),
        cmocka_unit_test(test_origin_page__leaves_out_what_is_no_line),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
