/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Forms of GeoWebCache's web page: which one it is, and what it asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "protocol/tseed_form.h"

#include "pool_fixture.h"

static apr_table_t *form_of(const char *body)
{
    return tseed_form_read(body, strlen(body), pool);
}

static void test_form__its_fields_tell_what_it_is(void **state)
{
    static const struct {
        const char *body;
        tseed_form_kind_t kind;
    } cases[] = {
        {"", TSEED_FORM_KILL_ALL},
        {"kill_all=all", TSEED_FORM_KILL_ALL},
        {"minX=&kill_all=all", TSEED_FORM_KILL_ALL},
        {"kill_thread=1&thread_id=2&kill_all=all", TSEED_FORM_KILL_ALL},
        {"kill_thread=1&thread_id=2", TSEED_FORM_KILL_THREAD},
        {"thread_id=2", TSEED_FORM_KILL_ALL},
        {"threadCount=1&minX=&minY=", TSEED_FORM_SEED},
        {"type=truncate&bbox=1,2,3,4", TSEED_FORM_SEED},
        {"threadCount=1&type=seed", TSEED_FORM_KILL_ALL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(tseed_form_kind(form_of(cases[i].body)), cases[i].kind);
    }
}

static void test_form__a_thread_is_a_task(void **state)
{
    static const char *const wrong[] = {"kill_thread=1", "thread_id=", "thread_id=0", "thread_id=x",
                                        "thread_id=1.5"};
    int64_t task;

    (void)state;
    assert_null(tseed_form_thread(&task, form_of("thread_id=+5000000000+"), pool));
    assert_int_equal(task, INT64_C(5000000000));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_non_null(tseed_form_thread(&task, form_of(wrong[i]), pool));
    }
    assert_string_equal(tseed_form_thread(&task, form_of("thread_id=x"), pool),
                        "thread_id must be the id of a task, not 'x'");
}

static void test_form__a_filled_one_has_every_member(void **state)
{
    static const char *const coords[] = {"-124.73", "24.9", "-66.9", "49.4"};
    tseed_seed_document_t document;

    (void)state;
    tseed_form_seed(&document,
                    form_of("threadCount=02&type=reseed&gridSetId=EPSG%3A4326&"
                            "tileFormat=image%2Fpng&zoomStart=00&zoomStop=12&minX=-124.73&"
                            "minY=+24.9&maxX=-66.9&maxY=49.4&parameter_STYLES=a+b&"
                            "parameter_CQL_FILTER=&tileFailureRetryCount=3&"
                            "tileFailureRetryWaitTime=100&totalFailuresBeforeAborting=-1"),
                    pool);
    assert_null(document.name);
    assert_null(document.srs);
    assert_string_equal(document.thread_count, "02");
    assert_string_equal(document.type, "reseed");
    assert_string_equal(document.gridset, "EPSG:4326");
    assert_string_equal(document.format, "image/png");
    assert_string_equal(document.zoom_start, "00");
    assert_string_equal(document.zoom_stop, "12");
    assert_string_equal(document.retry_count, "3");
    assert_string_equal(document.retry_wait, "100");
    assert_string_equal(document.failure_limit, "-1");
    for (int i = 0; i < 4; i++) {
        assert_string_equal(APR_ARRAY_IDX(document.coords, i, const char *), coords[i]);
    }
    assert_int_equal(apr_table_elts(document.parameters)->nelts, 1);
    assert_string_equal(apr_table_get(document.parameters, "STYLES"), "a b");
}

static void test_form__an_empty_one_has_none(void **state)
{
    tseed_seed_document_t document;

    (void)state;
    tseed_form_seed(&document,
                    form_of("minX=&minY=&maxX=&maxY=&zoomStart=&zoomStop=+&gridSetId=&format=&"
                            "threadCount=&tileFormat="),
                    pool);
    assert_null(document.coords);
    assert_null(document.zoom_start);
    assert_null(document.zoom_stop);
    assert_null(document.gridset);
    assert_null(document.format);
    assert_null(document.thread_count);
    assert_null(document.type);
    assert_int_equal(apr_table_elts(document.parameters)->nelts, 0);
}

static void test_form__what_must_not_be_empty_is_kept(void **state)
{
    tseed_seed_document_t document;

    (void)state;
    tseed_form_seed(&document, form_of("minX=&minY=1&maxX=2&type=&format=image/jpeg"), pool);
    assert_string_equal(document.type, "");
    assert_string_equal(document.format, "image/jpeg");
    assert_int_equal(document.coords->nelts, 4);
    assert_string_equal(APR_ARRAY_IDX(document.coords, 0, const char *), "");
    assert_string_equal(APR_ARRAY_IDX(document.coords, 3, const char *), "");
}

static void test_form__a_box_is_four_fields(void **state)
{
    tseed_seed_document_t document;

    (void)state;
    assert_null(tseed_form_seed(&document, form_of("type=truncate&minX=&bbox=5.9,45,10,48"), pool));
    assert_int_equal(document.coords->nelts, 4);
    assert_string_equal(APR_ARRAY_IDX(document.coords, 0, const char *), "5.9");
    assert_string_equal(APR_ARRAY_IDX(document.coords, 3, const char *), "48");
    assert_null(document.unknown.ignored);
    assert_null(tseed_form_seed(&document, form_of("minX=&bbox="), pool));
    assert_null(document.coords);
    assert_string_equal(tseed_form_seed(&document, form_of("bbox=1,2,3"), pool),
                        "bbox must be four numbers, minx,miny,maxx,maxy, not '1,2,3'");
    assert_non_null(tseed_form_seed(&document, form_of("bbox=1,2,,3,4"), pool));
    assert_string_equal(
        tseed_form_seed(&document, form_of("maxY=7&bbox=1,2,3,4"), pool),
        "bbox and minX, minY, maxX, maxY say the same: only one of them may be filled in");
    assert_string_equal(tseed_form_seed(&document, form_of("minX=&extent=1,2,3,4"), pool),
                        "Unknown member: 'extent'. Is bbox meant?");
    assert_string_equal(tseed_form_seed(&document, form_of("minX=&maxZoom=4"), pool),
                        "Unknown member: 'maxZoom'. Is zoomStop meant?");
}

static void test_form__fields_that_nobody_knows(void **state)
{
    tseed_seed_document_t document;

    (void)state;
    assert_null(tseed_form_seed(
        &document, form_of("minX=&TYPE=seed&submit=Submit&parameter_STYLE=a&PARAMETER_X=b"), pool));
    assert_string_equal(document.unknown.ignored, "submit");
    assert_string_equal(tseed_form_seed(&document, form_of("minX=&zoomstopp=3"), pool),
                        "Unknown member: 'zoomstopp'. Is zoomStop meant?");
    assert_string_equal(tseed_form_seed(&document, form_of("minX=&parameters_STYLES=a"), pool),
                        "Unknown field: 'parameters_STYLES'. Is parameter_STYLES meant?");
}

static void test_form__a_list_is_of_all_or_of_a_layer(void **state)
{
    int is_all;

    (void)state;
    assert_int_equal(tseed_form_kind(form_of("list=all")), TSEED_FORM_LIST);
    assert_null(tseed_form_list(&is_all, form_of("list=ALL"), pool));
    assert_true(is_all);
    assert_null(tseed_form_list(&is_all, form_of("list=layer"), pool));
    assert_false(is_all);
    assert_string_equal(tseed_form_list(&is_all, form_of("list=some"), pool),
                        "Unknown list: 'some'. One of layer|all is expected");
    assert_string_equal(tseed_form_list(&is_all, form_of("list="), pool),
                        "Unknown list: ''. One of layer|all is expected");
}

/* Adds a query to the request that a form makes; returns what is wrong. */
static const char *add(tseed_seed_document_t *document, const char *body, const char *query)
{
    assert_null(tseed_form_seed(document, form_of(body), pool));
    return tseed_form_add_query(document, query, pool);
}

static void test_form__a_query_adds_what_the_body_leaves_open(void **state)
{
    tseed_seed_document_t document;

    (void)state;
    assert_null(add(&document, "minX=&zoomStart=2", NULL));
    assert_null(document.zoom_stop);
    assert_null(add(&document, "minX=&zoomStart=2&parameter_STYLES=a",
                    "zoomStart=02&zoomStop=5&gridSetId=g&format=image/png&type=seed&threadCount=3&"
                    "bbox=1,2,3,4&parameter_STYLES=a&parameter_TIME=7&_=1&"
                    "tileFailureRetryCount=1&tileFailureRetryWaitTime=2&"
                    "totalFailuresBeforeAborting=3"));
    assert_string_equal(document.zoom_start, "2");
    assert_string_equal(document.zoom_stop, "5");
    assert_string_equal(document.gridset, "g");
    assert_string_equal(document.format, "image/png");
    assert_string_equal(document.type, "seed");
    assert_string_equal(document.thread_count, "3");
    assert_string_equal(document.failure_limit, "3");
    assert_string_equal(APR_ARRAY_IDX(document.coords, 3, const char *), "4");
    assert_string_equal(apr_table_get(document.parameters, "TIME"), "7");
    assert_string_equal(document.unknown.ignored, "_");
    assert_null(document.unknown.dropped);
    assert_null(add(&document, "minX=", "_=1&f=json&workspace=topp&kill_all=all&1761&color="));
    assert_null(document.unknown.dropped);
    assert_null(add(&document, "minX=", "_=1&color=2"));
    assert_string_equal(document.unknown.dropped, "color");
    assert_null(tseed_form_query(&document, "minX=&color=2", pool));
    assert_string_equal(document.unknown.dropped, "color");
    assert_null(add(&document, "bbox=1,2,3,4", "minX=1.0&minY=2&maxX=3&maxY=4"));
    assert_null(add(&document, "minX=", "parameter_TIME=7"));
    assert_string_equal(apr_table_get(document.parameters, "TIME"), "7");
}

static void test_form__a_query_contradicts_nothing(void **state)
{
    static const struct {
        const char *body, *query, *problem;
    } cases[] = {
        {"minX=&zoomStop=3", "zoomStop=4", "zoomStop is '4' in the query and '3' in the body"},
        {"minX=&type=seed", "type=truncate",
         "type is 'truncate' in the query and 'seed' in the body"},
        {"bbox=1,2,3,4", "bbox=1,2,3,5",
         "a number of the box is '5' in the query and '4' in the body"},
        {"minX=&parameter_STYLES=a", "parameter_STYLES=b",
         "STYLES is 'b' in the query and 'a' in the body"},
        {"minX=", "zoomEnd=4", "Unknown member: 'zoomEnd'. Is zoomStop meant?"},
        {"minX=", "zmin=4&zmax=4", "Unknown member: 'zmin'. Is zoomStart meant?"},
        {"minX=", "only=4", "Unknown member: 'only'. Is zoomStart, zoomStop or bbox meant?"},
        {"minX=", "tileFormat=a&format=b", "tileFormat 'a' and format 'b' say two things"},
    };
    tseed_seed_document_t document;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(add(&document, cases[i].body, cases[i].query), cases[i].problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form__its_fields_tell_what_it_is),
        cmocka_unit_test(test_form__a_thread_is_a_task),
        cmocka_unit_test(test_form__a_filled_one_has_every_member),
        cmocka_unit_test(test_form__an_empty_one_has_none),
        cmocka_unit_test(test_form__what_must_not_be_empty_is_kept),
        cmocka_unit_test(test_form__a_box_is_four_fields),
        cmocka_unit_test(test_form__fields_that_nobody_knows),
        cmocka_unit_test(test_form__a_list_is_of_all_or_of_a_layer),
        cmocka_unit_test(test_form__a_query_adds_what_the_body_leaves_open),
        cmocka_unit_test(test_form__a_query_contradicts_nothing),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
