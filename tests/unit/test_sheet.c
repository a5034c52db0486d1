/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sheets: what is put in is found, also after a way through text; what is no line is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "layer/tseed_page.h"
#include "pool_fixture.h"
#include "seeder/tseed_sheet.h"

#define LONGEST "If-None-Match: W/\"a \\\"b\\\" c\""

static void put(tseed_sheet_t *sheet, int at, uint64_t digest, const char *condition)
{
    tseed_sheet_put(sheet, &(tseed_known_t){at, digest, digest + 1, condition});
}

static void assert_known(const tseed_sheet_t *sheet, int at, uint64_t digest, const char *condition)
{
    const tseed_known_t *known = tseed_sheet_find(sheet, at);

    assert_non_null(known);
    assert_true(known->digest == digest);
    assert_string_equal(known->condition, condition);
    assert_true(!*condition || known->asked == digest + 1);
}

static void test_sheet__holds_a_whole_page(void **state)
{
    tseed_sheet_t sheet = {0}, loaded = {0};

    (void)state;
    for (int at = 0; at < TSEED_PAGE_TILES; at++) {
        put(&sheet, at, UINT64_MAX - (uint64_t)at, at % 2 ? LONGEST : "");
    }
    put(&sheet, 7, 1, "");
    assert_int_equal(tseed_sheet_forget(&sheet, 8), 1);
    assert_int_equal(tseed_sheet_forget(&sheet, 8), 0);
    tseed_sheet_load(&loaded, tseed_sheet_save(&sheet, pool));
    assert_int_equal(loaded.count, TSEED_PAGE_TILES - 1);
    assert_null(tseed_sheet_find(&loaded, 8));
    assert_known(&loaded, 7, 1, "");
    assert_known(&loaded, 1023, UINT64_MAX - 1023, LONGEST);
    assert_known(&loaded, 0, UINT64_MAX, "");
    tseed_sheet_clear(&sheet);
    tseed_sheet_clear(&loaded);
    assert_string_equal(tseed_sheet_save(&loaded, pool), "");
}

static void test_sheet__leaves_out_what_is_no_line(void **state)
{
    tseed_sheet_t sheet = {0};

    (void)state;
    tseed_sheet_load(&sheet, "\n-1 5\n1024 5\n3 0\n3\nnonsense\n5 10 11\n6 10 11 A: b\n4 ff");
    assert_int_equal(sheet.count, 3);
    assert_known(&sheet, 4, 255, "");
    assert_known(&sheet, 5, 16, "");
    assert_known(&sheet, 6, 16, "A: b");
    tseed_sheet_clear(&sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sheet__holds_a_whole_page),
        cmocka_unit_test(test_sheet__leaves_out_what_is_no_line),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
