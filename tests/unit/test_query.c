/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Queries behind the addresses of tasks: what they mean, and what is refused in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "protocol/tseed_route.h"

#include "pool_fixture.h"

static void test_query__without_one_are_all_tasks_meant(void **state)
{
    static const char *const texts[] = {NULL, "", "x=y", "state=", "state=,"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tseed_task_query_t query;

        assert_null(tseed_task_query_read(&query, texts[i], pool));
        for (int s = TSEED_ABORTED; s <= TSEED_DONE; s++) {
            assert_true(query.states & TSEED_STATE_BIT(s));
        }
        assert_null(query.layer);
        assert_int_equal(query.before, INT64_MAX);
        assert_int_equal(query.limit, 100);
    }
}

static void test_query__tasks_by_state_layer_and_page(void **state)
{
    tseed_task_query_t query;

    (void)state;
    assert_null(tseed_task_query_read(
        &query, "state=RUNNING,done&state=aborted&layer=topp%3Astates+2&limit=1000&before=12",
        pool));
    assert_int_equal(query.states, TSEED_STATE_BIT(TSEED_RUNNING) | TSEED_STATE_BIT(TSEED_DONE) |
                                       TSEED_STATE_BIT(TSEED_ABORTED));
    assert_string_equal(query.layer, "topp:states 2");
    assert_int_equal(query.limit, 1000);
    assert_int_equal(query.before, 12);
}

static void test_query__failures_by_page(void **state)
{
    tseed_failure_query_t query;

    (void)state;
    assert_null(tseed_failure_query_read(&query, NULL, pool));
    assert_int_equal(query.limit, 1000);
    assert_int_equal(query.z, -1);
    assert_null(tseed_failure_query_read(&query, "limit=7&after=21/4000000000%2F8", pool));
    assert_int_equal(query.limit, 7);
    assert_int_equal(query.z, 21);
    assert_int_equal(query.x, INT64_C(4000000000));
    assert_int_equal(query.y, 8);
}

static void test_query__what_cannot_be_is_refused_in_these_words(void **state)
{
    static const struct {
        const char *text, *message;
    } tasks[] = {
        {"limit=0", "limit must be a whole number from 1 to 1000, not '0'"},
        {"limit=1001", "limit must be a whole number from 1 to 1000, not '1001'"},
        {"limit=ten", "limit must be a whole number from 1 to 1000, not 'ten'"},
        {"limit=", "limit must be a whole number from 1 to 1000, not ''"},
        {"before=-1", "before must be a whole number from 1 to 9223372036854775807, not '-1'"},
        {"state=done,over",
         "Unknown state: 'over'. Some of pending,running,done,aborted are expected"},
    };
    static const char *const failures[] = {"limit=10001", "after=",       "after=1/2",
                                           "after=1/2/x", "after=1/2/-3", "after=1/2/3/4",
                                           "after=99/0/0"};
    tseed_task_query_t query;
    tseed_failure_query_t page;

    (void)state;
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        assert_string_equal(tseed_task_query_read(&query, tasks[i].text, pool), tasks[i].message);
    }
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        assert_non_null(tseed_failure_query_read(&page, failures[i], pool));
    }
    assert_string_equal(tseed_failure_query_read(&page, "after=1/2", pool),
                        "after must be a metatile as z/x/y, not '1/2'");
}

static void assert_empty(const char *body, int is_empty)
{
    assert_int_equal(tseed_body_is_empty(body, strlen(body)), is_empty);
}

static void test_query__bodies_that_say_nothing(void **state)
{
    (void)state;
    assert_empty("", 1);
    assert_empty(" \r\n", 1);
    assert_empty("{}", 1);
    assert_empty("\n{ }\n", 1);
    assert_empty("{", 0);
    assert_empty("}{", 0);
    assert_empty("{}{}", 0);
    assert_empty("{\"a\":1}", 0);
    assert_empty("x", 0);
    assert_int_equal(tseed_body_is_empty("\0\0", 2), 0);
    assert_int_equal(tseed_body_is_empty("{}x", 2), 1);
}

static void assert_refused(const char *query, const char *const *known, const char *part)
{
    const char *problem = tseed_query_refusal(query, known, pool);

    if (!part || !problem) {
        assert_null(problem);
        assert_null(part);
        return;
    }
    if (!strstr(problem, part)) {
        fail_msg("%s", problem);
    }
}

static void test_query__fields_that_are_not_known_are_refused(void **state)
{
    static const char *const known[] = {"state", "layer", NULL};

    (void)state;
    assert_refused(NULL, known, NULL);
    assert_refused("", known, NULL);
    assert_refused("state=DONE&layer=a", known, NULL);
    assert_refused("state=DONE&colour=blue", known, "colour");
    assert_refused("stat=DONE", known, "stat");
    assert_refused("zoomStop=5", known, "zoomStop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query__without_one_are_all_tasks_meant),
        cmocka_unit_test(test_query__tasks_by_state_layer_and_page),
        cmocka_unit_test(test_query__failures_by_page),
        cmocka_unit_test(test_query__what_cannot_be_is_refused_in_these_words),
        cmocka_unit_test(test_query__bodies_that_say_nothing),
        cmocka_unit_test(test_query__fields_that_are_not_known_are_refused),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
