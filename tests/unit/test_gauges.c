/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Gauges: what the board shows of upstreams and quota, when it counts a change, and what the
 * seeder makes of an outlook. */
#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "board_fixture.h"
#include "board/tseed_gauges.h"
#include "protocol/tseed_quota_config.h"
#include "seeder/tseed_gauge_display.h"

#define ROUNDS 20000
#define NOW    (1000 * APR_USEC_PER_SEC)

/* Every part follows from `step`, so that a mixture of two steps shows. */
static tseed_upstream_gauge_t gauge_of(int64_t step)
{
    tseed_upstream_gauge_t gauge;

    memset(&gauge, 0, sizeof(gauge));
    snprintf(gauge.name, sizeof(gauge.name), "upstream %lld", (long long)step);
    gauge.window = gauge.under_way = gauge.queued = gauge.tasks = step;
    gauge.requests = gauge.errors = gauge.usual = gauge.heard = step;
    snprintf(gauge.cause, sizeof(gauge.cause), "cause %lld", (long long)step);
    return gauge;
}

static void test_gauges__there_are_none_at_first(void **state)
{
    tseed_upstream_gauge_t upstream;
    tseed_quota_gauge_t quota;

    (void)state;
    assert_int_equal(tseed_gauges_upstreams(board), 0);
    assert_false(tseed_gauges_upstream_get(board, 0, &upstream));
    assert_false(tseed_gauges_quota_get(board, &quota));
}

static void test_gauges__are_read_as_they_were_written(void **state)
{
    const tseed_quota_gauge_t quota = {.used_bytes = 5, .disk_free = -1, .clean_pages = 7};
    tseed_upstream_gauge_t found, first = gauge_of(1), second = gauge_of(2);
    tseed_quota_gauge_t found_quota;

    (void)state;
    tseed_gauges_upstream_set(board, 0, &first);
    tseed_gauges_upstream_set(board, 1, &second);
    tseed_gauges_quota_set(board, &quota);
    assert_int_equal(tseed_gauges_upstreams(board), 2);
    assert_true(tseed_gauges_upstream_get(board, 1, &found));
    assert_memory_equal(&found, &second, sizeof(found));
    assert_true(tseed_gauges_upstream_get(board, 0, &found));
    assert_memory_equal(&found, &first, sizeof(found));
    assert_false(tseed_gauges_upstream_get(board, 2, &found));
    assert_true(tseed_gauges_quota_get(board, &found_quota));
    assert_memory_equal(&found_quota, &quota, sizeof(quota));
}

/* A new seeder has asked nobody yet; what it has not measured stays as the last one left it. */
static void test_gauges__of_upstreams_go_with_their_seeder(void **state)
{
    const tseed_quota_gauge_t quota = {.used_bytes = 5};
    tseed_upstream_gauge_t gauge = gauge_of(1);
    tseed_quota_gauge_t found;

    (void)state;
    tseed_gauges_upstream_set(board, 0, &gauge);
    tseed_gauges_quota_set(board, &quota);
    tseed_board_seeder_begin(board, 1, 2);
    assert_int_equal(tseed_gauges_upstreams(board), 0);
    assert_false(tseed_gauges_upstream_get(board, 0, &gauge));
    assert_true(tseed_gauges_quota_get(board, &found));
}

static void test_gauges__nonsense_on_the_board_harms_nobody(void **state)
{
    tseed_upstream_gauge_t gauge = gauge_of(1);

    (void)state;
    tseed_gauges_upstream_set(board, 0, &gauge);
    memset(board->segment->upstreams[0].gauge, 0xff, sizeof(board->segment->upstreams[0].gauge));
    atomic_store(&board->segment->upstreams_used, UINT64_MAX);
    assert_int_equal(tseed_gauges_upstreams(board), TSEED_GAUGES_UPSTREAMS);
    assert_true(tseed_gauges_upstream_get(board, 0, &gauge));
    assert_int_equal(strlen(gauge.name), sizeof(gauge.name) - 1);
    assert_int_equal(strlen(gauge.cause), sizeof(gauge.cause) - 1);
    assert_int_equal(strlen(gauge.layer), sizeof(gauge.layer) - 1);
    assert_string_equal(tseed_upstream_state_name(gauge.state), "UNASKED");
    assert_false(tseed_gauges_upstream_get(board, TSEED_GAUGES_UPSTREAMS, &gauge));
}

/* The longest texts that have an end. */
static void test_gauges__long_texts_are_whole(void **state)
{
    tseed_upstream_gauge_t found, gauge = gauge_of(1);

    (void)state;
    memset(gauge.name, 'n', sizeof(gauge.name) - 1);
    memset(gauge.cause, 'c', sizeof(gauge.cause) - 1);
    memset(gauge.layer, 'l', sizeof(gauge.layer) - 1);
    tseed_gauges_upstream_set(board, 0, &gauge);
    assert_true(tseed_gauges_upstream_get(board, 0, &found));
    assert_memory_equal(&found, &gauge, sizeof(found));
}

/* ---- changes ---- */

/* How often the board has counted a change since the last call. */
static int changes(void)
{
    static uint64_t last;
    const uint64_t now = tseed_board_changes(board);
    const int count = (int)(now - last);

    last = now;
    return count;
}

static void test_gauges__a_change_is_counted_when_readers_see_it(void **state)
{
    tseed_upstream_gauge_t gauge = gauge_of(1);
    tseed_quota_gauge_t quota = {.used_bytes = 5};

    (void)state;
    changes();
    tseed_gauges_upstream_set(board, 0, &gauge);
    assert_int_equal(changes(), 1);
    tseed_gauges_upstream_set(board, 0, &gauge);
    assert_int_equal(changes(), 0);
    gauge.queued++;
    tseed_gauges_upstream_set(board, 0, &gauge);
    assert_int_equal(changes(), 1);
    tseed_gauges_quota_set(board, &quota);
    assert_int_equal(changes(), 1);
    tseed_gauges_quota_set(board, &quota);
    assert_int_equal(changes(), 0);
    quota.used_bytes = 0;
    tseed_gauges_quota_set(board, &quota);
    assert_int_equal(changes(), 1);
}

static void test_gauges__keep_the_quota_configuration(void **state)
{
    const tseed_quota_rule_t rule = {1, TSEED_POLICY_LRU, INT64_C(7) << 40};
    const tseed_quota_rule_t nonsense = {-1, 77, 5};
    tseed_quota_rule_t found;

    (void)state;
    assert_false(tseed_gauges_rule_get(board, &found));
    changes();
    tseed_gauges_rule_set(board, &rule);
    assert_int_equal(changes(), 1);
    tseed_gauges_rule_set(board, &rule);
    assert_int_equal(changes(), 0);
    assert_true(tseed_gauges_rule_get(board, &found));
    assert_memory_equal(&found, &rule, sizeof(rule));
    tseed_gauges_rule_set(board, &nonsense);
    assert_true(tseed_gauges_rule_get(board, &found));
    assert_int_equal(found.enabled, 1);
    assert_int_equal(found.policy, TSEED_POLICY_LFU);
    assert_int_equal(found.bytes, 5);
}

/* The same upstream again is a change to readers that a new seeder has sent away. */
static void test_gauges__what_comes_back_is_a_change(void **state)
{
    const tseed_upstream_gauge_t gauge = gauge_of(1);

    (void)state;
    tseed_gauges_upstream_set(board, 0, &gauge);
    tseed_board_seeder_begin(board, 1, 2);
    changes();
    tseed_gauges_upstream_set(board, 0, &gauge);
    assert_int_equal(changes(), 1);
    assert_int_equal(tseed_gauges_upstreams(board), 1);
}

static void test_gauges__tasks_and_seeder_count_too(void **state)
{
    const tseed_task_t task = {.id = 1, .layer = "a", .tiles_total = 9};
    tseed_progress_t progress = {.state = TSEED_PENDING};
    int slot;

    (void)state;
    changes();
    tseed_board_seeder_begin(board, 1, 2);
    assert_int_equal(changes(), 1);
    tseed_board_seeder_state_set(board, TSEED_SEEDER_WORKING, 7);
    assert_int_equal(changes(), 1);
    assert_int_equal(tseed_board_seeder_since(board), 7);
    slot = tseed_board_slot_claim(board, &task, &progress);
    assert_int_equal(changes(), 1);
    tseed_board_slot_update(board, slot, &progress);
    assert_int_equal(changes(), 0); /* it is shown already */
    progress.made = 4;
    tseed_board_slot_update(board, slot, &progress);
    assert_int_equal(changes(), 1);
    tseed_board_slot_terminating(board, slot);
    assert_int_equal(changes(), 1);
    tseed_board_slot_release(board, slot);
    assert_int_equal(changes(), 1);
    tseed_board_crowd(board, 1);
    assert_int_equal(changes(), 1);
    assert_int_equal(tseed_board_quota_set(board, "{}", 1), APR_SUCCESS);
    assert_int_equal(changes(), 1);
}

/* What readers are not shown, or what changes with time alone. */
static void test_gauges__all_else_does_not_count(void **state)
{
    (void)state;
    changes();
    tseed_board_heartbeat(board, 8);
    tseed_board_apply(board, tseed_board_commit(board));
    tseed_board_crowd(board, 0);
    tseed_board_worker_begin(board, 0, 1, 2);
    tseed_board_worker_end(board, 0);
    assert_int_equal(changes(), 0);
}

static void test_gauges__two_boards_are_told_apart(void **state)
{
    const uint64_t born = tseed_board_born(board);

    teardown(state);
    while (born == (uint64_t)apr_time_now()) {
    }
    setup(state);
    assert_true(tseed_board_born(board) != born);
}

/* ---- a reader beside the writer ---- */

static _Atomic int over;

static void *read_all(void *data)
{
    int64_t *torn = data;
    tseed_upstream_gauge_t gauge, expected;

    while (!atomic_load(&over)) {
        if (tseed_gauges_upstream_get(board, 0, &gauge)) {
            expected = gauge_of(gauge.window);
            *torn += memcmp(&gauge, &expected, sizeof(gauge)) != 0;
        }
    }
    return NULL;
}

static void test_gauges__nobody_reads_half_of_one(void **state)
{
    int64_t torn = 0;
    pthread_t reader;

    (void)state;
    atomic_store(&over, 0);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &torn), 0);
    for (int64_t i = 0; i < ROUNDS; i++) {
        const tseed_upstream_gauge_t gauge = gauge_of(i);

        tseed_gauges_upstream_set(board, 0, &gauge);
    }
    atomic_store(&over, 1);
    pthread_join(reader, NULL);
    assert_int_equal(torn, 0);
}

/* ---- of an outlook ---- */

static const tseed_upstream_t upstream = {.name = "wms.example"};

static tseed_upstream_gauge_t shown_with(tseed_outlook_t outlook, tseed_illness_t illness,
                                         int64_t tasks)
{
    tseed_upstream_gauge_t gauge;

    outlook.upstream = &upstream;
    tseed_gauge_of_upstream(&gauge, &outlook, &illness, tasks, NOW);
    return gauge;
}

static tseed_upstream_gauge_t shown(tseed_outlook_t outlook)
{
    return shown_with(outlook, (tseed_illness_t){0}, 3);
}

static void test_gauges__states_of_an_upstream(void **state)
{
    static const struct {
        tseed_outlook_t outlook;
        const char *name;
    } rows[] = {
        {{.requests = 0}, "UNASKED"},
        {{.requests = 1}, "WELL"},
        {{.requests = 1, .quiet_until = NOW - 1}, "WELL"},
        {{.silent = NOW - 6}, "SILENT"},
        {{.requests = 1, .waits = NOW - 6, .quiet_until = NOW + 6}, "QUIET"},
        {{.requests = 1, .waits = NOW - 6, .quiet_until = NOW - 1}, "QUIET"},
        {{.requests = 3, .waits = NOW - 6, .opened = NOW - 6}, "AWAY"},
        {{.requests = 3, .waits = NOW - 6, .opened = NOW - 6, .quiet_until = NOW + 1}, "QUIET"},
        {{.requests = 3, .waits = NOW - 6, .opened = NOW - 6, .silent = NOW - 9}, "AWAY"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(tseed_upstream_state_name(shown(rows[i].outlook).state), rows[i].name);
    }
}

static void test_gauges__an_upstream_that_is_well_has_no_cause(void **state)
{
    const tseed_outlook_t well = {.requests = 9, .errors = 3, .next = 5, .cause = "503"};
    const tseed_outlook_t away = {
        .requests = 9, .waits = 4, .opened = 4, .next = 5, .cause = "503"};
    tseed_upstream_gauge_t gauge = shown(well);

    (void)state;
    assert_string_equal(gauge.name, "wms.example");
    assert_string_equal(gauge.cause, "");
    assert_int_equal(gauge.since, 0);
    assert_int_equal(gauge.next, 0);
    assert_int_equal(gauge.requests, 9);
    assert_int_equal(gauge.errors, 3);
    assert_int_equal(gauge.tasks, 3);
    gauge = shown(away);
    assert_string_equal(gauge.cause, "503");
    assert_int_equal(gauge.since, 4);
    assert_int_equal(gauge.next, 5);
}

/* Nobody asks it any more, so that nobody knows. */
static void test_gauges__away_ends_with_the_last_who_waits(void **state)
{
    tseed_outlook_t away = {.requests = 3, .waits = 4, .opened = 4, .away_at = 4, .cause = "gone"};
    tseed_upstream_gauge_t gauge = shown_with(away, (tseed_illness_t){0}, 0);

    (void)state;
    assert_int_equal(gauge.state, TSEED_UPSTREAM_UNASKED);
    assert_string_equal(gauge.cause, "");
    assert_int_equal(gauge.since, 0);
    away.queued = 1;
    assert_int_equal(shown_with(away, (tseed_illness_t){0}, 0).state, TSEED_UPSTREAM_AWAY);
    away.queued = 0;
    away.away_at = NOW - 1;
    assert_int_equal(shown_with(away, (tseed_illness_t){0}, 0).state, TSEED_UPSTREAM_AWAY);
}

/* ---- what answers say of an upstream ---- */

static tseed_layer_t one_layer = {.name = "one"}, other_layer = {.name = "other"};
static tseed_health_t *health;
static apr_time_t moment;

/* What came of a request: of no answer, of one that is no picture, or of a picture. */
static void answer(tseed_layer_t *layer, const char *cause, int status, int tries)
{
    static tseed_job_t job;
    static tseed_run_t run;

    run = (tseed_run_t){.tileset.layer = layer};
    job =
        (tseed_job_t){.run = &run,
                      .request.stage = cause ? TSEED_STAGE_FETCH : TSEED_STAGE_CUT,
                      .request.tries = tries,
                      .request.first_failed = tries ? moment - tries : 0,
                      .request.transfer = {.upstream = &upstream,
                                           .result = status ? TSEED_FETCH_FAILED : TSEED_FETCH_AWAY,
                                           .http_status = status,
                                           .sent = 1}};
    apr_cpystrn(job.request.transfer.cause, cause ? cause : "", sizeof(job.request.transfer.cause));
    tseed_health_take(health, &job, ++moment);
}

static tseed_illness_t illness(void)
{
    return tseed_health_of(health, &upstream, moment);
}

static const char *failing(void)
{
    const char *layer = illness().layer;

    return layer ? layer : "";
}

static int setup_health(void **state)
{
    const int code = setup(state);

    health = tseed_health_create(pool);
    moment = NOW;
    return code;
}

static void test_gauges__the_first_answers_say_that_a_layer_fails(void **state)
{
    const tseed_outlook_t outlook = {.requests = 9};
    tseed_upstream_gauge_t gauge;

    (void)state;
    assert_string_equal(failing(), "");
    answer(&one_layer, "401 Unauthorized", 401, 0);
    assert_string_equal(failing(), "one");
    gauge = shown_with(outlook, illness(), 0);
    assert_int_equal(gauge.state, TSEED_UPSTREAM_FAILING);
    assert_string_equal(gauge.cause, "401 Unauthorized");
    assert_string_equal(gauge.layer, "one");
    assert_int_equal(gauge.since, NOW + 1);
    assert_int_equal(gauge.failed, 1);
    assert_int_equal(gauge.looked, 1);
    answer(&one_layer, NULL, 200, 0);
    assert_string_equal(failing(), "");
    assert_int_equal(shown_with(outlook, illness(), 0).state, TSEED_UPSTREAM_WELL);
}

/* One that answers well hides none that does not; some failures among many are none. */
static void test_gauges__each_layer_is_judged_by_itself(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        answer(&one_layer, NULL, 200, 0);
    }
    answer(&other_layer, NULL, 200, 0);
    answer(&other_layer, "500", 500, 0);
    answer(&other_layer, "500", 500, 0);
    assert_string_equal(failing(), "");
    answer(&one_layer, NULL, 200, 0);
    answer(&other_layer, "200 with text", 200, 0);
    assert_string_equal(failing(), "other");
    assert_int_equal(illness().looked, 32 + 4);
    assert_int_equal(illness().failed, 3);
}

/* A metatile that fails again, and tiles that are not there, say nothing of the rest. */
static void test_gauges__known_failures_say_nothing(void **state)
{
    (void)state;
    answer(&one_layer, NULL, 200, 0);
    for (int i = 0; i < 9; i++) {
        moment += 2;
        answer(&one_layer, "500", 500, 1);
        answer(&one_layer, NULL, 200, 0);
    }
    moment += 9;
    for (int tries = 10; tries < 20; tries++) {
        answer(&one_layer, "500", 500, tries);
    }
    assert_string_equal(failing(), "");
    other_layer.source.kind = TSEED_SOURCE_XYZ;
    answer(&other_layer, "404", 404, 0);
    assert_string_equal(failing(), "other");
    answer(&other_layer, NULL, 200, 0);
    for (int i = 0; i < 9; i++) {
        answer(&other_layer, "404", 404, 0);
    }
    assert_string_equal(failing(), "");
    other_layer.source.kind = TSEED_SOURCE_WMS;
}

static void test_gauges__old_failures_are_told_no_more(void **state)
{
    (void)state;
    answer(&one_layer, "connection refused", 0, 0);
    assert_string_equal(failing(), "one");
    moment += TSEED_HEALTH_AWAY_LASTS;
    assert_string_equal(failing(), "");
    answer(&one_layer, "500", 500, 0);
    moment += TSEED_HEALTH_AWAY_LASTS;
    assert_string_equal(failing(), "one");
    moment += TSEED_HEALTH_LASTS;
    assert_string_equal(failing(), "");
}

#define TEST_HEALTH(name)                                                                          \
    cmocka_unit_test_setup_teardown(test_gauges__##name, setup_health, teardown)
#define TEST(name) cmocka_unit_test_setup_teardown(test_gauges__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(there_are_none_at_first),
        TEST(are_read_as_they_were_written),
        TEST(of_upstreams_go_with_their_seeder),
        TEST(nonsense_on_the_board_harms_nobody),
        TEST(long_texts_are_whole),
        TEST(a_change_is_counted_when_readers_see_it),
        TEST(keep_the_quota_configuration),
        TEST(what_comes_back_is_a_change),
        TEST(tasks_and_seeder_count_too),
        TEST(all_else_does_not_count),
        TEST(two_boards_are_told_apart),
        TEST(nobody_reads_half_of_one),
        TEST(states_of_an_upstream),
        TEST(an_upstream_that_is_well_has_no_cause),
        TEST(away_ends_with_the_last_who_waits),
        TEST_HEALTH(the_first_answers_say_that_a_layer_fails),
        TEST_HEALTH(each_layer_is_judged_by_itself),
        TEST_HEALTH(known_failures_say_nothing),
        TEST_HEALTH(old_failures_are_told_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
