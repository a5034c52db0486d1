/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Members that nobody asked for: which ones are misspelt, and how the others are noted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include <apr_strings.h>

#include "protocol/tseed_members.h"

#include "pool_fixture.h"

static const char *const known[] = {"name",     "gridSetId",   "srs",  "bounds", "zoomStart",
                                    "zoomStop", "threadCount", "type", "format", NULL};

static void test_members__misspelt_names_are_meant(void **state)
{
    static const char *const pairs[][2] = {
        {"zoomstop", "zoomStop"},
        {"ZOOM_STOP", "zoomStop"},
        {"zoom-stop", "zoomStop"},
        {"zoomStpo", "zoomStop"},
        {"zomStop", "zoomStop"},
        {"zooomStopp", "zoomStop"},
        {"gridSetID", "gridSetId"},
        {"gridSet", "gridSetId"},
        {"gridset-id", "gridSetId"},
        {"Type", "type"},
        {"tpye", "type"},
        {"typ", "type"},
        {"SRS", "srs"},
        {"crs", "srs"},
        {"bound", "bounds"},
        {"formats", "format"},
        {"fromat", "format"},
        {"threadsCount", "threadCount"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        assert_string_equal(tseed_name_meant(pairs[i][0], known), pairs[i][1]);
    }
}

static void test_members__others_are_not(void **state)
{
    static const char *const names[] = {
        "filterUpdate",
        "priority",
        "mimeFormat",
        "bbox",
        "zoom",
        "thread",
        "user",
        "",
        "--",
        "x",
        "id",
        "title",
        "date",
        "gr\303\266\303\237e",
        "a name that is longer than any that is known to any document at all",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_null(tseed_name_meant(names[i], known));
    }
}

static void test_members__the_nearest_is_meant(void **state)
{
    (void)state;
    assert_string_equal(tseed_name_meant("zoomStat", known), "zoomStart");
    assert_string_equal(tseed_name_meant("zoomstep", known), "zoomStop");
}

static void test_members__unknown_ones_are_noted_with_their_part(void **state)
{
    const char *ignored = NULL;

    (void)state;
    assert_null(tseed_member_unknown(&ignored, "", "priority", known, pool));
    assert_null(tseed_member_unknown(&ignored, "bounds", "a\nb", known, pool));
    assert_string_equal(ignored, "priority\nbounds.a?b");
    assert_string_equal(tseed_members_joined(ignored, pool), "priority, bounds.a?b");
    assert_string_equal(tseed_member_unknown(&ignored, "", "zoom stop", known, pool),
                        "Unknown member: 'zoom stop'. Is zoomStop meant?");
    assert_string_equal(tseed_member_unknown(&ignored, "part", "Type", known, pool),
                        "Unknown member: 'part.Type'. Is part.type meant?");
    assert_string_equal(ignored, "priority\nbounds.a?b");
}

static void test_members__many_are_cut(void **state)
{
    const char *ignored = NULL;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        assert_null(tseed_member_unknown(&ignored, "", "somethingElse", known, pool));
    }
    assert_string_equal(ignored, "somethingElse");
    for (int i = 0; i < 10000; i++) {
        assert_null(tseed_member_unknown(&ignored, apr_psprintf(pool, "part%d", i), "priority",
                                         known, pool));
    }
    assert_true(strlen(ignored) < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members__misspelt_names_are_meant),
        cmocka_unit_test(test_members__others_are_not),
        cmocka_unit_test(test_members__the_nearest_is_meant),
        cmocka_unit_test(test_members__unknown_ones_are_noted_with_their_part),
        cmocka_unit_test(test_members__many_are_cut),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
