/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Routing: every address of the contract by every method, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "protocol/tseed_route.h"

#include "pool_fixture.h"

#define GET    TSEED_METHOD_GET
#define POST   TSEED_METHOD_POST
#define PUT    TSEED_METHOD_PUT
#define DELETE TSEED_METHOD_DELETE

typedef struct {
    const char *path;
    tseed_method_t method;
    tseed_action_t action;
    const char *layer;
} case_t;

static void test_route__addresses_and_methods_lead_to_actions(void **state)
{
    static const case_t cases[] = {
        {"/seed", POST, TSEED_ACTION_KILL, NULL},
        {"/seed/", POST, TSEED_ACTION_KILL, NULL},
        {"/seed.json", GET, TSEED_ACTION_LIST, NULL},
        {"/seed/topp:states.xml", POST, TSEED_ACTION_SEED, "topp:states"},
        {"/seed/topp:states.json", POST, TSEED_ACTION_SEED, "topp:states"},
        {"/seed/topp:states.xml", GET, TSEED_ACTION_LIST, "topp:states"},
        {"/seed/topp:states.json", GET, TSEED_ACTION_LIST, "topp:states"},
        {"/seed/topp:states", POST, TSEED_ACTION_KILL, "topp:states"},
        {"/diskquota.xml", GET, TSEED_ACTION_QUOTA_GET, NULL},
        {"/diskquota.json", GET, TSEED_ACTION_QUOTA_GET, NULL},
        {"/diskquota", GET, TSEED_ACTION_QUOTA_GET, NULL},
        {"/diskquota", PUT, TSEED_ACTION_QUOTA_PUT, NULL},
        {"/diskquota.xml", PUT, TSEED_ACTION_QUOTA_PUT, NULL},
        {"/diskquota.json", PUT, TSEED_ACTION_QUOTA_PUT, NULL},
        {"/diskquota/usage.json", GET, TSEED_ACTION_USAGE, NULL},
        {"/diskquota/usage/3.json", DELETE, TSEED_ACTION_FORGET, NULL},
        {"/diskquota/reconcile", POST, TSEED_ACTION_RECONCILE, NULL},
        {"/diskquota/cleanup", POST, TSEED_ACTION_CLEANUP, NULL},
        {"/upstreams/again/a%2Fb", POST, TSEED_ACTION_ASK_AGAIN, "a/b"},
        {"/estimate/topp:states.xml", POST, TSEED_ACTION_ESTIMATE, "topp:states"},
        {"/estimate/topp:states.json", POST, TSEED_ACTION_ESTIMATE, "topp:states"},
        {"/estimate/topp:states.json", GET, TSEED_ACTION_ESTIMATE, "topp:states"},
        {"/layers.json", GET, TSEED_ACTION_LAYERS, NULL},
        {"/overview.json", GET, TSEED_ACTION_OVERVIEW, NULL},
        {"/upstreams.json", GET, TSEED_ACTION_UPSTREAMS, NULL},
        {"/metrics", GET, TSEED_ACTION_METRICS, NULL},
        {"/coverage/3/12.json", GET, TSEED_ACTION_COVERAGE, NULL},
        {"", GET, TSEED_ACTION_PAGE, NULL},
        {"/", GET, TSEED_ACTION_PAGE, NULL},
        {"/page/page.js", GET, TSEED_ACTION_PAGE, NULL},
        {"/tasks.json", GET, TSEED_ACTION_TASKS, NULL},
        {"/tasks/7.json", GET, TSEED_ACTION_TASK_GET, NULL},
        {"/tasks/7.json", DELETE, TSEED_ACTION_TASK_DELETE, NULL},
        {"/tasks/7/failures.json", GET, TSEED_ACTION_FAILURES, NULL},
        {"/tasks/7/retry", POST, TSEED_ACTION_RETRY, NULL},
        {"/hosts.json", GET, TSEED_ACTION_HOSTS, NULL},
        {"/hosts/web1.example.org", PUT, TSEED_ACTION_DRAIN, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_route_t route = tseed_route(cases[i].path, cases[i].method, pool);

        assert_int_equal(route.action, cases[i].action);
        assert_true(route.allowed & (unsigned)cases[i].method);
        assert_true(!route.layer == !cases[i].layer);
        if (cases[i].layer) {
            assert_string_equal(route.layer, cases[i].layer);
        }
    }
}

static void test_route__other_methods_learn_which_are_allowed(void **state)
{
    static const struct {
        const char *path;
        unsigned allowed;
    } cases[] = {
        {"/seed", POST},
        {"/seed/", POST},
        {"/seed.json", GET},
        {"/seed/nowhere.xml", GET | POST},
        {"/seed/nowhere.json", GET | POST},
        {"/seed/nowhere", POST},
        {"/diskquota.xml", GET | PUT},
        {"/diskquota.json", GET | PUT},
        {"/diskquota", GET | PUT},
        {"/diskquota/usage.json", GET},
        {"/diskquota/usage/3.json", DELETE},
        {"/diskquota/reconcile", POST},
        {"/estimate/a.xml", GET | POST},
        {"/layers.json", GET},
        {"/metrics", GET},
        {"/coverage/3/0.json", GET},
        {"", GET},
        {"/", GET},
        {"/page/page.js", GET},
        {"/tasks.json", GET},
        {"/tasks/1.json", GET | DELETE},
        {"/tasks/1/failures.json", GET},
        {"/tasks/1/retry", POST},
        {"/hosts.json", GET},
        {"/hosts/web1", PUT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (unsigned method = GET; method <= TSEED_METHOD_OTHER; method <<= 1) {
            tseed_route_t route = tseed_route(cases[i].path, (tseed_method_t)method, pool);

            assert_int_equal(route.allowed, cases[i].allowed);
            assert_int_equal(route.action != TSEED_ACTION_NONE, (cases[i].allowed & method) != 0);
        }
    }
}

static void test_route__a_host_is_named(void **state)
{
    (void)state;
    assert_string_equal(tseed_route("/hosts/web1.example.org", PUT, pool).host, "web1.example.org");
    assert_null(tseed_route("/hosts.json", GET, pool).host);
}

static void test_route__any_other_address_is_none(void **state)
{
    static const char *const paths[] = {
        "//",
        "seed",
        "/page",
        "/page/",
        "/page/.htaccess",
        "/page/..",
        "/page/a/b.js",
        "/hosts",
        "/hosts/",
        "/hosts/a/b",
        "/seeds",
        "/seed.xml",
        "/seed.json/",
        "/seed/a/",
        "/seed/a/b.xml",
        "/seed//",
        "//seed",
        "/seed.jsonx",
        "/SEED",
        "/diskquota/",
        "/diskquota.yaml",
        "/diskquota.xml/",
        "/diskquotas.xml",
        "/diskquotax.xml",
        "/estimate",
        "/estimate/a",
        "/estimate/.json",
        "/tasks",
        "/tasks/",
        "/tasks.xml",
        "/tasks.json/",
        "/tasks/.json",
        "/tasks/1",
        "/tasks/1.xml",
        "/tasks/0.json",
        "/tasks/-1.json",
        "/tasks/+1.json",
        "/tasks/1a.json",
        "/tasks/ 1.json",
        "/tasks/9223372036854775808.json",
        "/tasks/1/retry.json",
        "/tasks/1/retry/",
        "/tasks/0/retry",
        "/tasks/1/failures.xml",
        "/tasks/1/failures",
        "/tasks/0/failures.json",
        "/tasks/1/2/failures.json",
        "/layers.xml",
        "/metrics.json",
        "/coverage.json",
        "/coverage/3.json",
        "/coverage/3/12",
        "/coverage/3/12.xml",
        "/coverage/0/12.json",
        "/coverage/3/-1.json",
        "/coverage/3/+1.json",
        "/coverage/3/.json",
        "/coverage//12.json",
        "/coverage/3/2147483648.json",
        "/coverage/3/1/2.json",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        tseed_route_t route = tseed_route(paths[i], GET, pool);

        assert_int_equal(route.action, TSEED_ACTION_NONE);
        assert_int_equal(route.allowed, 0);
        assert_null(route.layer);
    }
}

static void test_route__only_the_last_suffix_is_the_format(void **state)
{
    static const struct {
        const char *path, *layer;
        tseed_action_t action;
        tseed_format_of_body_t format;
    } cases[] = {
        {"/seed/a.v2.xml", "a.v2", TSEED_ACTION_SEED, TSEED_BODY_XML},
        {"/seed/a.xml.json", "a.xml", TSEED_ACTION_SEED, TSEED_BODY_JSON},
        {"/seed/a.json.xml", "a.json", TSEED_ACTION_SEED, TSEED_BODY_XML},
        {"/seed/a b .xml", "a b ", TSEED_ACTION_SEED, TSEED_BODY_XML},
        {"/seed/..xml", ".", TSEED_ACTION_SEED, TSEED_BODY_XML},
        {"/seed/a.XML", "a.XML", TSEED_ACTION_KILL, TSEED_BODY_XML},
        {"/seed/axml", "axml", TSEED_ACTION_KILL, TSEED_BODY_XML},
        {"/seed/ws%2Fa%2fb.json", "ws/a/b", TSEED_ACTION_SEED, TSEED_BODY_JSON},
        {"/seed/100%.json", "100%", TSEED_ACTION_SEED, TSEED_BODY_JSON},
        {"/seed/ws%3Aa%2.json", "ws%3Aa%2", TSEED_ACTION_SEED, TSEED_BODY_JSON},
        {"/seed/stra\xC3\x9F"
         "en.xml",
         "stra\xC3\x9F"
         "en",
         TSEED_ACTION_SEED, TSEED_BODY_XML},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_route_t route = tseed_route(cases[i].path, POST, pool);

        assert_int_equal(route.action, cases[i].action);
        assert_string_equal(route.layer, cases[i].layer);
        if (cases[i].action == TSEED_ACTION_SEED) {
            assert_int_equal(route.format, cases[i].format);
        }
    }
}

static void test_route__task_ids_have_64_bits(void **state)
{
    (void)state;
    assert_int_equal(tseed_route("/tasks/1.json", GET, pool).number, 1);
    assert_int_equal(tseed_route("/tasks/9223372036854775807.json", GET, pool).number, INT64_MAX);
    assert_int_equal(tseed_route("/tasks/12/failures.json", GET, pool).number, 12);
    assert_int_equal(tseed_route("/coverage/12/3.json", GET, pool).number, 12);
    assert_int_equal(tseed_route("/coverage/12/3.json", GET, pool).level, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route__addresses_and_methods_lead_to_actions),
        cmocka_unit_test(test_route__other_methods_learn_which_are_allowed),
        cmocka_unit_test(test_route__a_host_is_named),
        cmocka_unit_test(test_route__any_other_address_is_none),
        cmocka_unit_test(test_route__only_the_last_suffix_is_the_format),
        cmocka_unit_test(test_route__task_ids_have_64_bits),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
