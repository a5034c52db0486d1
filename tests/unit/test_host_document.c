/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document hosts.json, the body that drains a host, and the names of hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <apr_strings.h>

#include "fleet/tseed_host_document.h"

#include "document_fixture.h"

#define NOW APR_TIME_C(1790000000000000)

static void add(tseed_host_list_t *list, const tseed_host_row_t *host)
{
    APR_ARRAY_PUSH(list->hosts, tseed_host_row_t) = *host;
}

static tseed_host_list_t list_of(const char *active)
{
    return (tseed_host_list_t){.hosts = apr_array_make(pool, 4, sizeof(tseed_host_row_t)),
                               .active = active,
                               .self = "web2",
                               .now = NOW};
}

static void test_host_document__says_the_state_of_each(void **state)
{
    static const struct {
        tseed_host_row_t host;
        const char *expected;
    } cases[] = {
        {{.name = "web1", .until = NOW + 14900000}, "\"state\":\"ACTIVE\""},
        {{.name = "web2", .until = NOW + 1}, "\"state\":\"STANDBY\""},
        {{.name = "web1", .until = NOW + 1, .is_draining = 1}, "\"state\":\"DRAINING\""},
        {{.name = "web1", .until = NOW - 1, .is_dead = 1}, "\"state\":\"DEAD\""},
        {{.name = "web2", .until = NOW - 1, .is_dead = 1, .is_draining = 1}, "\"state\":\"DEAD\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_host_list_t list = list_of("web1");

        add(&list, &cases[i].host);
        assert_non_null(strstr(tseed_host_document(&list, pool), cases[i].expected));
    }
}

static void test_host_document__has_all_members(void **state)
{
    tseed_host_list_t list = list_of("web1");

    (void)state;
    add(&list, &(tseed_host_row_t){.name = "web1",
                                   .machine = "m1.example",
                                   .version = "1.2",
                                   .until = NOW + 14940000,
                                   .is_fetching = 1,
                                   .started = NOW - 60000000,
                                   .seen = NOW});
    assert_string_equal(
        tseed_host_document(&list, pool),
        "{\"answeredBy\":\"web2\",\"active\":\"web1\",\"hosts\":[{\"name\":\"web1\","
        "\"state\":\"ACTIVE\",\"since\":\"2026-09-21T14:12:20.000Z\","
        "\"lastSeen\":\"2026-09-21T14:13:20.000Z\",\"leaseLeft\":14.9,\"fetches\":true,"
        "\"machine\":\"m1.example\",\"version\":\"1.2\"}]}");
}

/* Nobody works; a host that has its database for itself has no lease. */
static void test_host_document__says_null_of_what_there_is_not(void **state)
{
    tseed_host_list_t list = list_of("");
    const char *document;

    (void)state;
    add(&list, &(tseed_host_row_t){.name = "web2", .machine = "", .version = ""});
    document = tseed_host_document(&list, pool);
    assert_non_null(strstr(document, "\"active\":null"));
    assert_non_null(strstr(document, "\"leaseLeft\":null"));
    assert_non_null(strstr(document, "\"since\":null"));
}

/* ---- the body ---- */

static const char *read_body(int *is_draining, const char *body)
{
    return tseed_host_body_read(is_draining, body, strlen(body), pool);
}

static void test_host_document__reads_both_states(void **state)
{
    int is_draining = -1;

    (void)state;
    assert_null(read_body(&is_draining, "{\"state\":\"draining\"}"));
    assert_true(is_draining);
    assert_null(read_body(&is_draining, " { \"state\" : \"active\" }\n"));
    assert_false(is_draining);
}

static void test_host_document__refuses_other_bodies(void **state)
{
    static const char *const bodies[] = {
        "",
        "draining",
        "{}",
        "null",
        "[]",
        "{\"state\":\"draining\"",
        "{\"state\":\"drain\"}",
        "{\"state\":\"\"}",
        "{\"state\":null}",
        "{\"state\":[\"draining\"]} {}",
        "{\"status\":\"draining\"}",
        "{\"state\":\"draining\",\"name\":\"web1\"}",
        "{\"state\":\"draining\"},\"more\":{}",
        "<state>draining</state>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        int is_draining;
        const char *error = read_body(&is_draining, bodies[i]);

        if (!error) {
            fail_msg("'%s' was taken", bodies[i]);
        }
        assert_non_null(strstr(error, "{\"state\": \"draining\"}"));
    }
}

/* ---- names ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_document__says_the_state_of_each),
        cmocka_unit_test(test_host_document__has_all_members),
        cmocka_unit_test(test_host_document__says_null_of_what_there_is_not),
        cmocka_unit_test(test_host_document__reads_both_states),
        cmocka_unit_test(test_host_document__refuses_other_bodies),
    };

    return cmocka_run_group_tests(tests, setup_documents, teardown_group);
}
