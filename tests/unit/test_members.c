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
    assert_string_equal(tseed_name_meant("ozomStrt", known),
                        "zoomStart"); /* two swapped, one left */
    assert_string_equal(tseed_name_meant("zoomSta", known), "zoomStart"); /* so near is zoomStop */
}

typedef struct {
    const char *name;
    tseed_subject_t subject;
} row_t;

static void check_subjects(const row_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tseed_name_subject(rows[i].name) != rows[i].subject) {
            fail_msg("%s speaks of %d", rows[i].name, tseed_name_subject(rows[i].name));
        }
    }
}

static void test_members__names_speak_of_what_narrows(void **state)
{
    static const row_t rows[] = {
        {"boundingBox", TSEED_SUBJECT_BOX},
        {"bbox", TSEED_SUBJECT_BOX},
        {"extent", TSEED_SUBJECT_BOX},
        {"minX", TSEED_SUBJECT_BOX},
        {"MINX", TSEED_SUBJECT_BOX},
        {"minLat", TSEED_SUBJECT_BOX},
        {"lat_min", TSEED_SUBJECT_BOX},
        {"envelope", TSEED_SUBJECT_BOX},
        {"@maxy", TSEED_SUBJECT_BOX},
        {"coords", TSEED_SUBJECT_BOX},
        {"upperRight", TSEED_SUBJECT_BOX},
        {"zoom", TSEED_SUBJECT_LEVELS},
        {"zoomLevel", TSEED_SUBJECT_LEVELS},
        {"levels", TSEED_SUBJECT_LEVELS},
        {"minZoom", TSEED_SUBJECT_FIRST_LEVEL},
        {"startZoom", TSEED_SUBJECT_FIRST_LEVEL},
        {"zoomEnd", TSEED_SUBJECT_LAST_LEVEL},
        {"zoomMax", TSEED_SUBJECT_LAST_LEVEL},
        {"stop", TSEED_SUBJECT_LAST_LEVEL},
        {"gridSetName", TSEED_SUBJECT_GRID},
        {"gridSubset", TSEED_SUBJECT_GRID},
        {"tileMatrixSet", TSEED_SUBJECT_GRID},
        {"crs", TSEED_SUBJECT_SYSTEM},
        {"EPSG_code", TSEED_SUBJECT_SYSTEM},
        {"tileFormat", TSEED_SUBJECT_FORMAT},
        {"mimeType", TSEED_SUBJECT_FORMAT},
        {"styles", TSEED_SUBJECT_PARAMETER},
        {"CQL_FILTER", TSEED_SUBJECT_PARAMETER},
        {"TIME", TSEED_SUBJECT_PARAMETER},
        {"params", TSEED_SUBJECT_PARAMETER},
        {"operation", TSEED_SUBJECT_KIND},
        {"seedType", TSEED_SUBJECT_KIND},
        {"action", TSEED_SUBJECT_KIND},
        {"layerName", TSEED_SUBJECT_CHOICE},
        {"thread_id", TSEED_SUBJECT_CHOICE},
        {"submit", TSEED_SUBJECT_NONE},
        {"restart", TSEED_SUBJECT_NONE},
        {"direct", TSEED_SUBJECT_NONE},
        {"textile", TSEED_SUBJECT_NONE},
        {"priority", TSEED_SUBJECT_NONE},
        {"translate", TSEED_SUBJECT_NONE},
        {"comment", TSEED_SUBJECT_NONE},
        {"transaction", TSEED_SUBJECT_NONE},
        {"validFrom", TSEED_SUBJECT_NONE},
        {"f", TSEED_SUBJECT_NONE},
        {"_", TSEED_SUBJECT_NONE},
        {"", TSEED_SUBJECT_NONE},
        {"timeout", TSEED_SUBJECT_NONE},
        {"midnight", TSEED_SUBJECT_NONE},
        {"gr\303\266\303\237e", TSEED_SUBJECT_NONE},
    };

    (void)state;
    check_subjects(rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_members__names_speak_of_a_part(void **state)
{
    static const row_t rows[] = {
        {"zmin", TSEED_SUBJECT_FIRST_LEVEL},
        {"minz", TSEED_SUBJECT_FIRST_LEVEL},
        {"ZMAX", TSEED_SUBJECT_LAST_LEVEL},
        {"z0", TSEED_SUBJECT_LEVELS},
        {"lods", TSEED_SUBJECT_LEVELS},
        {"pyramid", TSEED_SUBJECT_LEVELS},
        {"startAt", TSEED_SUBJECT_FIRST_LEVEL},
        {"stopAt", TSEED_SUBJECT_LAST_LEVEL},
        {"rect", TSEED_SUBJECT_BOX},
        {"x", TSEED_SUBJECT_PART},
        {"window", TSEED_SUBJECT_BOX},
        {"shp", TSEED_SUBJECT_BOX},
        {"shape_file", TSEED_SUBJECT_BOX},
        {"areaOfInterest", TSEED_SUBJECT_BOX},
        {"dim_x", TSEED_SUBJECT_PARAMETER},
        {"startTime", TSEED_SUBJECT_PARAMETER},
        {"dryRun", TSEED_SUBJECT_KIND},
        {"seedRequest", TSEED_SUBJECT_KIND},
        {"suffix", TSEED_SUBJECT_FORMAT},
        {"tiles", TSEED_SUBJECT_PART},
        {"tileRange", TSEED_SUBJECT_PART},
        {"maxTiles", TSEED_SUBJECT_PART},
        {"columns", TSEED_SUBJECT_PART},
        {"quadkey", TSEED_SUBJECT_PART},
        {"subset", TSEED_SUBJECT_PART},
        {"only", TSEED_SUBJECT_PART},
        {"limitTo", TSEED_SUBJECT_PART},
        {"expires", TSEED_SUBJECT_PART},
        {"per_page", TSEED_SUBJECT_PART},
    };

    (void)state;
    check_subjects(rows, sizeof(rows) / sizeof(rows[0]));
}

static const tseed_members_t members = {.known = known,
                                        .meant = {[TSEED_SUBJECT_LEVELS] = "zoomStart",
                                                  [TSEED_SUBJECT_PART] = "bounds",
                                                  [TSEED_SUBJECT_CHOICE] = ""},
                                        .idle = (const char *const[]){"workspace", NULL}};

static const char *judge(tseed_unknown_t *unknown, const char *part, const char *name)
{
    return tseed_member_judge(unknown, &members, part, name, TSEED_CONTENT_PLAIN, pool);
}

static void test_members__unknown_ones_are_noted_with_their_part(void **state)
{
    tseed_unknown_t unknown = {NULL, NULL};

    (void)state;
    assert_null(tseed_member_judge(&unknown, &members, "", "levels", TSEED_CONTENT_NONE, pool));
    assert_null(unknown.dropped);
    assert_null(judge(&unknown, "", "priority"));
    assert_null(judge(&unknown, "", "WORKSPACE"));
    assert_null(judge(&unknown, "bounds", "a\nb"));
    assert_string_equal(unknown.ignored, "levels\npriority\nWORKSPACE\nbounds.a?b");
    assert_string_equal(unknown.dropped, "priority");
    assert_string_equal(tseed_members_joined(unknown.ignored, pool),
                        "levels, priority, WORKSPACE, bounds.a?b");
}

static void test_members__what_narrows_is_refused(void **state)
{
    static const char *const none[] = {NULL};
    const tseed_members_t closed = {.known = none, .is_closed = 1};
    tseed_unknown_t unknown = {NULL, NULL};

    (void)state;
    assert_string_equal(judge(&unknown, "", "zoom stop"),
                        "Unknown member: 'zoom stop'. Is zoomStop meant?");
    assert_string_equal(judge(&unknown, "part", "Type"),
                        "Unknown member: 'part.Type'. Is part.type meant?");
    assert_string_equal(judge(&unknown, "part", "zoomLevel"),
                        "Unknown member: 'part.zoomLevel'. Is zoomStart meant?");
    assert_string_equal(judge(&unknown, "", "user"),
                        "Unknown member: 'user'. Possible here: name, gridSetId, srs, bounds, "
                        "zoomStart, zoomStop, threadCount, type, format");
    assert_string_equal(tseed_member_judge(&unknown, &closed, "", "x", TSEED_CONTENT_PLAIN, pool),
                        "Unknown member: 'x'. None is possible here");
    assert_string_equal(judge(&unknown, "", "onlyThese"),
                        "Unknown member: 'onlyThese'. Is bounds meant?");
    assert_non_null(
        tseed_member_judge(&unknown, &members, "", "priority", TSEED_CONTENT_PARTS, pool));
    assert_null(unknown.ignored);
}

/* Each is noted once, also those of one length and those that begin alike. */
static void test_members__each_name_is_noted_once(void **state)
{
    const char *ignored = NULL;

    (void)state;
    tseed_members_note(&ignored, "first", pool);
    tseed_members_note(&ignored, "other", pool);
    tseed_members_note(&ignored, "firstly", pool);
    tseed_members_note(&ignored, "fir", pool);
    tseed_members_note(&ignored, "other", pool);
    tseed_members_note(&ignored, "first", pool);
    tseed_members_note(&ignored, "fir", pool);
    assert_string_equal(ignored, "first\nother\nfirstly\nfir");
}

static void test_members__many_are_cut(void **state)
{
    tseed_unknown_t unknown = {NULL, NULL};

    (void)state;
    for (int i = 0; i < 10000; i++) {
        assert_null(judge(&unknown, "", "somethingElse"));
    }
    assert_string_equal(unknown.ignored, "somethingElse");
    for (int i = 0; i < 10000; i++) {
        assert_null(judge(&unknown, apr_psprintf(pool, "part%d", i), "priority"));
    }
    assert_true(strlen(unknown.ignored) < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members__misspelt_names_are_meant),
        cmocka_unit_test(test_members__others_are_not),
        cmocka_unit_test(test_members__the_nearest_is_meant),
        cmocka_unit_test(test_members__names_speak_of_what_narrows),
        cmocka_unit_test(test_members__names_speak_of_a_part),
        cmocka_unit_test(test_members__unknown_ones_are_noted_with_their_part),
        cmocka_unit_test(test_members__what_narrows_is_refused),
        cmocka_unit_test(test_members__each_name_is_noted_once),
        cmocka_unit_test(test_members__many_are_cut),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
