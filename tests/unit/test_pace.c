/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The pace of requests, on a clock that the tests turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "source/tseed_pace.h"

static void take_weighed(tseed_pace_t *pace, tseed_pace_answer_t answer, apr_time_t sent,
                         double weight, apr_interval_time_t retry_after, apr_time_t now)
{
    static const tseed_fetch_result_t results[] = {
        [TSEED_PACE_WELL] = TSEED_FETCH_OK,
        [TSEED_PACE_ERROR] = TSEED_FETCH_FAILED,
        [TSEED_PACE_AWAY] = TSEED_FETCH_AWAY,
    };

    tseed_pace_hear(
        pace,
        &(tseed_transfer_t){
            .result = results[answer], .weight = weight, .retry_after = retry_after, .ended = now},
        sent);
}

/* The end of a usual request. */
static void take(tseed_pace_t *pace, tseed_pace_answer_t answer, apr_time_t sent,
                 apr_interval_time_t retry_after, apr_time_t now)
{
    take_weighed(pace, answer, sent, 1, retry_after, now);
}

#define SECOND APR_USEC_PER_SEC
#define START  (1000 * SECOND)
#define MILLI  (SECOND / 1000)

/* Requests that a client sends who asks every millisecond, late by up to `late`. */
static int send_for(tseed_pace_t *pace, apr_time_t *now, apr_interval_time_t time, int *burst)
{
    apr_time_t end = *now + time;
    int sent = 0;

    *burst = 0;
    for (; *now < end; *now += MILLI) {
        int at_once = 0;

        while (tseed_pace_next(pace, 0) <= *now) {
            tseed_pace_sent(pace, *now);
            at_once++;
        }
        sent += at_once;
        *burst = at_once > *burst ? at_once : *burst;
    }
    return sent;
}

static void test_pace__holds_the_rate(void **state)
{
    tseed_pace_t pace;
    apr_time_t now = START;
    int burst;

    (void)state;
    tseed_pace_init(&pace, 16, SECOND / 20, 0);
    assert_in_range(send_for(&pace, &now, 30 * SECOND, &burst), 600, 602);
    assert_in_range(burst, 1, 2);
    now += 60 * SECOND; /* what was not sent meanwhile is not made up for */
    assert_in_range(send_for(&pace, &now, SECOND, &burst), 20, 22);
    assert_in_range(burst, 1, 2);
}

/* Another seeder may have sent a request just before. */
static void test_pace__begins_with_a_pause(void **state)
{
    tseed_pace_t pace;

    (void)state;
    tseed_pace_init(&pace, 16, SECOND / 20, START);
    assert_int_equal(tseed_pace_next(&pace, 0), START + SECOND / 20);
    tseed_pace_init(&pace, 16, 0, START);
    assert_int_equal(tseed_pace_next(&pace, 0), START);
}

/* A client that always comes a little late keeps the rate all the same. */
static void test_pace__catches_up_with_one(void **state)
{
    tseed_pace_t pace;
    apr_time_t now = START;
    int sent = 0;

    (void)state;
    tseed_pace_init(&pace, 1, 10 * MILLI, 0);
    while (now < START + 10 * SECOND) {
        apr_time_t next = tseed_pace_next(&pace, 0);

        now = (next > now ? next : now) + 3 * MILLI;
        tseed_pace_sent(&pace, now);
        sent++;
    }
    assert_in_range(sent, 990, 1002);
}

static void test_pace__without_a_rate_sends_at_once(void **state)
{
    tseed_pace_t pace;

    (void)state;
    tseed_pace_init(&pace, 3, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(tseed_pace_next(&pace, i) <= START);
        tseed_pace_sent(&pace, START);
    }
    assert_int_equal(tseed_pace_next(&pace, 3), TSEED_PACE_NEVER);
}

static void test_pace__obeys_retry_after(void **state)
{
    tseed_pace_t pace;

    (void)state;
    tseed_pace_init(&pace, 4, 0, 0);
    take(&pace, TSEED_PACE_AWAY, START, 7 * SECOND, START + SECOND);
    assert_int_equal(tseed_pace_next(&pace, 0), START + 8 * SECOND);
    assert_true(tseed_pace_waits(&pace, START + 2 * SECOND));
    /* neither a shorter wish nor the answer to what was sent before lets it speak */
    take(&pace, TSEED_PACE_AWAY, START, SECOND, START + 2 * SECOND);
    take(&pace, TSEED_PACE_WELL, START, 0, START + 2 * SECOND);
    assert_int_equal(tseed_pace_next(&pace, 0), START + 8 * SECOND);
    assert_false(tseed_pace_waits(&pace, START + 8 * SECOND));
}

/* Whoever wants it ends a pause of the upstream, or between probes; one request finds out. */
static void test_pace__asks_again_before_the_end_of_a_pause(void **state)
{
    tseed_pace_t pace;

    (void)state;
    tseed_pace_init(&pace, 4, 0, 0);
    for (int i = 0; i < TSEED_PACE_TRIP; i++) {
        take(&pace, TSEED_PACE_AWAY, START, 7 * SECOND, START + SECOND);
        assert_int_equal(tseed_pace_next(&pace, 0), START + 8 * SECOND);
        tseed_pace_ask_again(&pace, START + 2 * SECOND);
        assert_true(tseed_pace_next(&pace, 0) <= START + 2 * SECOND);
        assert_int_equal(tseed_pace_next(&pace, 1), TSEED_PACE_NEVER);
    }
    assert_true(tseed_pace_is_open(&pace));
    take(&pace, TSEED_PACE_AWAY, START + 2 * SECOND, 0, START + 3 * SECOND);
    assert_true(tseed_pace_next(&pace, 0) > START + 3 * SECOND);
    tseed_pace_ask_again(&pace, START + 3 * SECOND);
    assert_true(tseed_pace_next(&pace, 0) <= START + 3 * SECOND);
    take(&pace, TSEED_PACE_WELL, START + 3 * SECOND, 0, START + 4 * SECOND);
    assert_false(tseed_pace_waits(&pace, START + 4 * SECOND));
}

/* Behind a pause that was asked for one request finds out whether it is over. */
static void test_pace__asks_once_behind_a_pause(void **state)
{
    tseed_pace_t pace;

    (void)state;
    tseed_pace_init(&pace, 4, 0, 0);
    take(&pace, TSEED_PACE_AWAY, START, 7 * SECOND, START + SECOND);
    assert_true(tseed_pace_next(&pace, 0) <= START + 9 * SECOND);
    assert_int_equal(tseed_pace_next(&pace, 1), TSEED_PACE_NEVER);
    take(&pace, TSEED_PACE_WELL, START + 9 * SECOND, 0, START + 10 * SECOND);
    assert_true(tseed_pace_next(&pace, 1) <= START + 10 * SECOND);
}

/* Answers of one latency until the window has stood still for long. */
static apr_time_t settle(tseed_pace_t *pace, apr_time_t now, apr_interval_time_t latency, int count)
{
    for (int i = 0; i < count; i++) {
        now += latency;
        take(pace, TSEED_PACE_WELL, now - latency, 0, now);
    }
    return now;
}

static void test_pace__halves_after_an_error_and_recovers(void **state)
{
    tseed_pace_t pace;
    apr_time_t now;

    (void)state;
    tseed_pace_init(&pace, 16, 0, 0);
    now = settle(&pace, START, 50 * MILLI, 100);
    assert_int_equal(pace.window, 16);
    for (int i = 0; i < 10; i++) { /* all of them were under way at once */
        take(&pace, TSEED_PACE_ERROR, now - 50 * MILLI, 0, now + i * MILLI);
    }
    assert_int_equal(pace.window, 8);
    now = settle(&pace, now + SECOND, 50 * MILLI, 8);
    assert_int_equal(pace.window, 9);
    now = settle(&pace, now, 50 * MILLI, 1000);
    assert_int_equal(pace.window, 16);
    for (int i = 0; i < 10; i++) {
        now += SECOND;
        take(&pace, TSEED_PACE_ERROR, now - MILLI, 0, now);
    }
    assert_int_equal(pace.window, 1);
}

static void test_pace__halves_when_latency_rises(void **state)
{
    tseed_pace_t pace;
    apr_time_t now;

    (void)state;
    tseed_pace_init(&pace, 16, 0, 0);
    now = settle(&pace, START, 100 * MILLI, 64);
    assert_int_equal(pace.window, 16);
    now = settle(&pace, now, 2 * SECOND, 16 + 8);
    assert_true(pace.window <= 4);
    now = settle(&pace, now, 100 * MILLI, 1000);
    assert_int_equal(pace.window, 16);
    /* slow even when it is asked for one thing at a time: that is how it is */
    settle(&pace, now, 2 * SECOND, 1000);
    assert_int_equal(pace.window, 16);
}

static void test_pace__opens_after_three_in_a_row(void **state)
{
    tseed_pace_t pace;
    apr_time_t now = START;
    apr_interval_time_t last = 0;

    (void)state;
    tseed_pace_init(&pace, 8, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_false(tseed_pace_is_open(&pace));
        take(&pace, TSEED_PACE_AWAY, now, 0, now);
    }
    assert_true(tseed_pace_is_open(&pace));
    assert_int_equal(pace.since, START);
    take(&pace, TSEED_PACE_AWAY, START - 1, 0, START + 1); /* sent before: no probe */
    assert_int_equal(pace.probes, 1);
    for (int i = 0; i < 12; i++) { /* one probe at a time, pauses that grow to 40 s */
        apr_interval_time_t pause = tseed_pace_next(&pace, 0) - now;

        assert_in_range(pause, 750 * MILLI, 40 * SECOND);
        assert_true(pause >= last * 3 / 4);
        assert_int_equal(tseed_pace_next(&pace, 1), TSEED_PACE_NEVER);
        last = pause;
        now += pause;
        take(&pace, TSEED_PACE_AWAY, now, 0, now);
    }
    assert_true(last >= 30 * SECOND);
    take(&pace, TSEED_PACE_WELL, now, 0, now + SECOND);
    assert_false(tseed_pace_is_open(&pace));
    assert_int_equal(pace.since, 0);
    assert_int_equal(pace.heard, now + SECOND);
    assert_true(tseed_pace_next(&pace, 0) <= now + SECOND);
}

/* Answers to requests of which nobody knows how long they take count as answers, and say nothing of
 * latency: the usual one stays what it was, however many they are. */
static void test_pace__knows_nothing_of_requests_that_differ(void **state)
{
    tseed_pace_t pace;
    apr_time_t now = START;

    (void)state;
    tseed_pace_init(&pace, 8, 0, 0);
    for (int i = 0; i < 1000; i++, now += SECOND) {
        take_weighed(&pace, TSEED_PACE_WELL, now - 500 * MILLI, -1, 0, now);
    }
    assert_int_equal(pace.usual, 0);
    assert_int_equal(pace.window, 8);
    for (int i = 0; i < 8; i++, now += SECOND) { /* 800 ms, but four times as much as usual */
        take_weighed(&pace, TSEED_PACE_WELL, now - 800 * MILLI, 4, 0, now);
    }
    assert_int_equal(pace.usual, 200 * MILLI);
    for (int i = 0; i < 1000; i++, now += SECOND) {
        take_weighed(&pace, TSEED_PACE_WELL, now - 500 * MILLI, -1, 0, now);
    }
    assert_int_equal(pace.usual, 200 * MILLI);
    take_weighed(&pace, TSEED_PACE_ERROR, now, -1, 0, now);
    assert_int_equal(pace.window, 4);
    for (int i = 0; i < 100; i++, now += SECOND) { /* and the window grows again */
        take_weighed(&pace, TSEED_PACE_WELL, now, -1, 0, now);
    }
    assert_int_equal(pace.window, 8);
}

/* A pause is one layer's when another layer has just got a picture. */
static void test_pace__hears_a_pause_of_one_layer(void **state)
{
    static const tseed_layer_t layers[2];
    tseed_transfer_t picture = {.layer = &layers[0], .http_status = 200, .ended = START};
    tseed_transfer_t pause = {.result = TSEED_FETCH_AWAY, .retry_after = SECOND};
    tseed_pace_t pace;

    (void)state;
    tseed_pace_init(&pace, 4, 0, START);
    pause.layer = &layers[0];
    pause.ended = START + SECOND;
    assert_int_equal(tseed_pace_hear(&pace, &picture, START), TSEED_PACE_WELL);
    assert_int_equal(tseed_pace_hear(&pace, &pause, START), TSEED_PACE_AWAY);
    assert_false(pause.pauses_layer);
    pause.layer = &layers[1];
    assert_int_equal(tseed_pace_hear(&pace, &pause, START), TSEED_PACE_ERROR);
    assert_true(pause.pauses_layer);
    pause.ended = START + 61 * SECOND;
    assert_int_equal(tseed_pace_hear(&pace, &pause, START), TSEED_PACE_AWAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace__holds_the_rate),
        cmocka_unit_test(test_pace__begins_with_a_pause),
        cmocka_unit_test(test_pace__catches_up_with_one),
        cmocka_unit_test(test_pace__without_a_rate_sends_at_once),
        cmocka_unit_test(test_pace__obeys_retry_after),
        cmocka_unit_test(test_pace__asks_again_before_the_end_of_a_pause),
        cmocka_unit_test(test_pace__asks_once_behind_a_pause),
        cmocka_unit_test(test_pace__halves_after_an_error_and_recovers),
        cmocka_unit_test(test_pace__halves_when_latency_rises),
        cmocka_unit_test(test_pace__knows_nothing_of_requests_that_differ),
        cmocka_unit_test(test_pace__opens_after_three_in_a_row),
        cmocka_unit_test(test_pace__hears_a_pause_of_one_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
