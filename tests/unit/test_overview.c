/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The documents of overview.json and upstreams.json: whole, null where nothing is known, and of
 * moments that can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "document_fixture.h"
#include "protocol/tseed_answer.h"

#define SECOND APR_USEC_PER_SEC

/* 2026-01-02T03:04:05Z, when the machine has been up for 1000 s. */
#define WALL (INT64_C(1767323045) * SECOND)
#define UP   (1000 * SECOND)

static const tseed_overview_now_t now = {UP, WALL};
static const tseed_settings_t settings = {.quota_files = INT64_MAX, .min_free = 77};

static tseed_overview_t empty(void)
{
    return (tseed_overview_t){
        .now = now,
        .seeder = {.state = "WORKING",
                   .since = UP - 5 * SECOND,
                   .responds = 1,
                   .pid = 42,
                   .starts = 2,
                   .host = "web1",
                   .active = "web1"},
        .is_whole = 1,
        .tasks = apr_array_make(pool, 1, sizeof(tseed_overview_task_t)),
        .settings = &settings,
        .upstreams = apr_array_make(pool, 1, sizeof(tseed_overview_upstream_t)),
    };
}

static void test_overview__of_an_idle_server(void **state)
{
    const tseed_overview_t overview = empty();

    (void)state;
    assert_string_equal(tseed_overview_document(&overview, pool),
                        "{\"seeder\":{\"state\":\"WORKING\",\"since\":\"2026-01-02T03:04:00.000Z\","
                        "\"responding\":true,\"pid\":42,\"starts\":2,\"host\":\"web1\","
                        "\"activeHost\":\"web1\",\"tilesPerSecond\":0.0},"
                        "\"tasksRunning\":0,\"tasksPending\":0,\"tasksComplete\":true,\"tasks\":[],"
                        "\"quota\":null,\"upstreams\":[]}");
}

static void test_overview__of_a_host_that_stands_by(void **state)
{
    tseed_overview_t overview = empty();
    const char *document;

    (void)state;
    overview.seeder.state = "STANDBY";
    overview.seeder.active = "";
    document = tseed_overview_document(&overview, pool);
    assert_non_null(strstr(document, "\"state\":\"STANDBY\""));
    assert_non_null(strstr(document, "\"host\":\"web1\",\"activeHost\":null"));
}

static void test_overview__of_a_task(void **state)
{
    const tseed_progress_t progress = {.state = TSEED_RUNNING,
                                       .made = 30,
                                       .failed = 10,
                                       .rate = 2500,
                                       .started = WALL - SECOND,
                                       .reason = "it says \"no\"",
                                       .reason_code = TSEED_REASON_SILENT};
    tseed_overview_t overview = empty();

    (void)state;
    APR_ARRAY_PUSH(overview.tasks, tseed_overview_task_t) =
        (tseed_overview_task_t){7, 100, "a<b", TSEED_RESEED, &progress};
    overview.seeder.running = 1;
    overview.seeder.pending = 3;
    overview.seeder.rate = 2.5;
    overview.is_whole = 0;
    assert_non_null(strstr(
        tseed_overview_document(&overview, pool),
        "\"tilesPerSecond\":2.5},\"tasksRunning\":1,\"tasksPending\":3,\"tasksComplete\":false,"
        "\"tasks\":[{\"id\":7,\"layer\":\"a<b\",\"type\":\"reseed\",\"state\":\"RUNNING\","
        "\"reason\":\"it says \\\"no\\\"\",\"reasonCode\":\"SILENT\","
        "\"tilesTotal\":100,\"tilesProcessed\":40,"
        "\"tilesFailed\":10,\"tilesPerSecond\":2.5,\"secondsRemaining\":24,"
        "\"started\":\"2026-01-02T03:04:04.000Z\"}],"));
}

static void test_overview__of_a_quota(void **state)
{
    const tseed_quota_gauge_t quota = {.is_complete = 1,
                                       .used_bytes = 600,
                                       .used_files = 6,
                                       .disk_free = -1,
                                       .tasks = 2,
                                       .in_doubt = 5,
                                       .grace = WALL,
                                       .clean_started = WALL - 2 * SECOND,
                                       .clean_last = WALL - SECOND,
                                       .clean_pages = 3,
                                       .clean_bytes = 4,
                                       .clean_files = 9};
    const tseed_quota_rule_t rule = {1, TSEED_POLICY_LFU, 1000};
    tseed_overview_t overview = empty();

    (void)state;
    overview.rule = &rule;
    overview.quota = &quota;
    assert_non_null(strstr(
        tseed_overview_document(&overview, pool),
        "\"quota\":{\"enabled\":true,\"policy\":\"LFU\","
        "\"limit\":{\"bytes\":1000,\"files\":null,\"minFree\":77},"
        "\"used\":{\"bytes\":600,\"files\":6},\"free\":{\"bytes\":400,\"disk\":null},"
        "\"tasksWaiting\":2,\"complete\":true,\"pagesInDoubt\":5,"
        "\"grace\":\"2026-01-02T03:04:05.000Z\","
        "\"lastCleanUp\":{\"pages\":3,\"bytes\":4,\"files\":9,"
        "\"started\":\"2026-01-02T03:04:03.000Z\",\"finished\":\"2026-01-02T03:04:04.000Z\"}}"));
}

/* A limit may be lowered below what is used, and a disk may be full. */
static void test_overview__nothing_is_free_over_the_limit(void **state)
{
    const tseed_quota_gauge_t quota = {.used_bytes = 1001, .disk_free = 0};
    const tseed_quota_rule_t rule = {0, TSEED_POLICY_LFU, 1000};
    tseed_overview_t overview = empty();

    (void)state;
    overview.rule = &rule;
    overview.quota = &quota;
    assert_non_null(strstr(tseed_overview_document(&overview, pool),
                           "\"free\":{\"bytes\":0,\"disk\":0},\"tasksWaiting\":0,"
                           "\"complete\":false,\"pagesInDoubt\":0,\"grace\":null,"
                           "\"lastCleanUp\":null}"));
}

/* Where some layers alone are seen, sums of all are not. */
static void test_overview__sums_that_are_not_to_be_seen_are_null(void **state)
{
    const tseed_quota_rule_t rule = {0, TSEED_POLICY_LFU, 500 << 20};
    tseed_overview_t overview = empty();

    (void)state;
    overview.rule = &rule;
    assert_non_null(strstr(tseed_overview_document(&overview, pool),
                           "\"minFree\":77},\"used\":null,\"free\":null,\"tasksWaiting\":null,"
                           "\"complete\":null,\"pagesInDoubt\":null,\"grace\":null,"
                           "\"lastCleanUp\":null}"));
}

/* ---- upstreams ---- */

static apr_array_header_t *one(const tseed_overview_upstream_t *upstream)
{
    apr_array_header_t *upstreams = apr_array_make(pool, 1, sizeof(*upstream));

    APR_ARRAY_PUSH(upstreams, tseed_overview_upstream_t) = *upstream;
    return upstreams;
}

static void test_overview__of_an_upstream_that_is_away(void **state)
{
    const tseed_upstream_t configured = {.name = "u", .connections = 4, .interval = SECOND / 8};
    tseed_overview_upstream_t upstream = {
        .configured = &configured,
        .gauge = {.name = "u",
                  .state = TSEED_UPSTREAM_AWAY,
                  .window = 2,
                  .under_way = 1,
                  .queued = 5,
                  .tasks = 3,
                  .requests = 20,
                  .errors = 9,
                  .usual = SECOND / 4,
                  .heard = UP - 10 * SECOND,
                  .since = UP - 9 * SECOND,
                  .quiet_until = UP + SECOND,
                  .next = UP + 2 * SECOND,
                  .cause = "503"},
        .layers = apr_array_make(pool, 1, sizeof(const char *)),
    };

    (void)state;
    APR_ARRAY_PUSH(upstream.layers, const char *) = "a";
    APR_ARRAY_PUSH(upstream.layers, const char *) = "b";
    assert_string_equal(
        tseed_upstreams_document(one(&upstream), &now, pool),
        "{\"upstreams\":[{\"upstream\":\"u\",\"state\":\"AWAY\","
        "\"since\":\"2026-01-02T03:03:56.000Z\",\"cause\":\"503\",\"failingLayer\":null,\"window\":"
        "2,"
        "\"usualLatency\":0.250,\"requestsUnderWay\":1,\"requestsQueued\":5,\"tasksWaiting\":3,"
        "\"requests\":20,\"errors\":9,\"recentAnswers\":0,\"recentFailed\":0,"
        "\"lastAnswer\":\"2026-01-02T03:03:55.000Z\","
        "\"quietUntil\":\"2026-01-02T03:04:06.000Z\",\"nextTry\":\"2026-01-02T03:04:07.000Z\","
        "\"connections\":4,\"rate\":8,\"layers\":[\"a\",\"b\"]}]}");
}

static void test_overview__of_an_upstream_that_nobody_asked(void **state)
{
    const tseed_overview_upstream_t upstream = {.gauge = {.name = "u"}};

    (void)state;
    assert_string_equal(
        tseed_upstreams_document(one(&upstream), &now, pool),
        "{\"upstreams\":[{\"upstream\":\"u\",\"state\":\"UNASKED\",\"since\":null,"
        "\"cause\":null,\"failingLayer\":null,\"window\":null,\"usualLatency\":null,"
        "\"requestsUnderWay\":0,"
        "\"requestsQueued\":0,\"tasksWaiting\":0,\"requests\":0,\"errors\":0,"
        "\"recentAnswers\":0,\"recentFailed\":0,"
        "\"lastAnswer\":null,\"quietUntil\":null,\"nextTry\":null,\"connections\":null,"
        "\"rate\":null}]}");
}

/* Whoever has the board may write anything there. */
static void test_overview__moments_that_cannot_be_are_null(void **state)
{
    static const apr_time_t moments[] = {INT64_MIN, -1, INT64_MAX, INT64_MAX - UP};

    (void)state;
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        const tseed_overview_upstream_t upstream = {
            .gauge = {.name = "u", .since = moments[i], .next = moments[i]}};
        const char *document = tseed_upstreams_document(one(&upstream), &now, pool);

        assert_non_null(strstr(document, "\"since\":null"));
        assert_non_null(strstr(document, "\"nextTry\":null"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overview__of_an_idle_server),
        cmocka_unit_test(test_overview__of_a_host_that_stands_by),
        cmocka_unit_test(test_overview__of_a_task),
        cmocka_unit_test(test_overview__of_a_quota),
        cmocka_unit_test(test_overview__nothing_is_free_over_the_limit),
        cmocka_unit_test(test_overview__sums_that_are_not_to_be_seen_are_null),
        cmocka_unit_test(test_overview__of_an_upstream_that_is_away),
        cmocka_unit_test(test_overview__of_an_upstream_that_nobody_asked),
        cmocka_unit_test(test_overview__moments_that_cannot_be_are_null),
    };

    return cmocka_run_group_tests(tests, setup_documents, teardown_group);
}
