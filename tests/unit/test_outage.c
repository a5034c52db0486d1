/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Outages: what a task says while its upstream is away, when it goes on and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "pipeline/tseed_outage.h"
#include "board_memory.h"

#define SECOND  APR_USEC_PER_SEC
#define NOW     (100000 * SECOND) /* monotonic */
#define GIVE_UP (3600 * SECOND)

static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t cache;
static tseed_task_t task;
static tseed_run_t run;
static tseed_runs_t runs = {.tasks = &run};
static tseed_outage_t *outage;
static tseed_board_t *board;

static void ignore_fetch(void *baton, tseed_transfer_t *transfer)
{
    (void)baton;
    (void)transfer;
}

/* It counts what runs have done. */
/* The run is `terminated`, so that the board has no slot of it. */
static int setup(void **state)
{
    tseed_ends_t *ends;
    tseed_display_t *display;

    (void)state;
    settings = (tseed_settings_t){.give_up = GIVE_UP};
    board = make_board(1, 1);
    context = (tseed_context_t){
        .settings = &settings, .pool = pool, .scratch = pool, .board = board};
    session = (tseed_session_t){0};
    task = (tseed_task_t){.id = 7, .layer = "topp:states"};
    run = (tseed_run_t){.task = &task, .fetching = 1, .terminated = 1};
    run.progress.state = TSEED_RUNNING;
    display = tseed_display_create(&context, &session, tseed_durable_create(&cache, pool));
    ends = tseed_ends_create(&(tseed_ends_uses_t){
        .context = &context,
        .session = &session,
        .runs = &runs,
        .savings = tseed_savings_create(&(tseed_savings_uses_t){
            .context = &context, .session = &session, .runs = &runs, .display = display}),
        .display = display});
    outage = tseed_outage_create(&context, &runs, ends, display);
    return tseed_fetcher_create(&context.fetcher, ignore_fetch, NULL, pool);
}

static int teardown(void **state)
{
    (void)state;
    tseed_fetcher_destroy(context.fetcher);
    free(board->segment);
    return 0;
}

/* The upstream is away since 1970-01-01T00:00:01Z, and is asked again in some seconds. */
static void look_away(apr_time_t now, int seconds)
{
    const tseed_outlook_t outlook = {
        .since = SECOND, .next = now + seconds * SECOND, .cause = "it is gone"};

    tseed_outage_look(outage, &run, "maps", &outlook, now);
}

static void look(const tseed_outlook_t *outlook, apr_time_t now)
{
    tseed_outage_look(outage, &run, "maps", outlook, now);
}

static const tseed_outlook_t unknown, well = {.heard = NOW};

static void assert_reason(const char *part)
{
    if (!strstr(run.progress.reason, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, run.progress.reason);
    }
}

/* `part` and the wall time `offset` after now, in whole seconds, of which one may have begun since
 * the reason was written. */
static void assert_reason_time(const char *part, apr_interval_time_t offset)
{
    const apr_time_t now = apr_time_now();
    char time[TSEED_TIME_SIZE], earlier[TSEED_TIME_SIZE];

    tseed_text_second(time, now + offset);
    tseed_text_second(earlier, now + offset - SECOND);
    if (!strstr(run.progress.reason, apr_pstrcat(pool, part, time, NULL))) {
        assert_reason(apr_pstrcat(pool, part, earlier, NULL));
    }
}

static void assert_waits(void)
{
    assert_int_equal(run.phase, TSEED_RUN_GOING);
    assert_int_equal(run.progress.state, TSEED_RUNNING);
    assert_reason("waiting for upstream maps: it is gone since 1970-01-01");
}

static void assert_has_given_up(void)
{
    assert_int_equal(run.phase, TSEED_RUN_ENDING);
    assert_int_equal(run.progress.state, TSEED_ABORTED);
    assert_string_equal(run.progress.reason, "the upstream maps was away for longer than "
                                             "TileSeedGiveUp allows: it is gone");
    assert_int_equal(session.must_record, 1);
}

static void test_outage__says_when_the_next_try_is(void **state)
{
    (void)state;
    look_away(NOW, 5);
    assert_waits();
    assert_reason_time(", next try at ", 6 * SECOND - 1);
    look_away(NOW + SECOND, 0);
    assert_waits();
    assert_reason(", it is being tried");
}

static void test_outage__ends_the_task_after_its_time(void **state)
{
    (void)state;
    look_away(NOW, 5);
    assert_int_equal(run.waits_since, NOW);
    look_away(NOW + GIVE_UP - 1, 5);
    assert_waits();
    look_away(NOW + GIVE_UP, 5);
    assert_has_given_up();
}

static void test_outage__goes_on_when_the_upstream_is_back(void **state)
{
    (void)state;
    look_away(NOW, 5);
    assert_true(run.progress.away_since > 0);
    look(&well, NOW + SECOND);
    assert_int_equal(run.waits_since, 0);
    assert_int_equal(run.progress.away_since, 0);
    assert_string_equal(run.progress.reason, "");
    assert_int_equal(run.measured_at, NOW + SECOND);
    look_away(NOW + GIVE_UP, 5); /* another outage counts from its own beginning */
    assert_waits();
}

/* ---- an earlier seeder ---- */

static void test_outage__counts_what_an_earlier_seeder_has_waited(void **state)
{
    (void)state;
    run.progress.away_since = apr_time_now() - GIVE_UP / 2;
    look_away(NOW, 5);
    assert_waits();
    assert_true(run.waits_since <= NOW - GIVE_UP / 2);
    look_away(NOW + GIVE_UP / 2, 5);
    assert_has_given_up();
}

static void test_outage__of_an_earlier_seeder_lasts_until_the_first_answer(void **state)
{
    const apr_time_t since = apr_time_now() - SECOND;

    (void)state;
    run.progress.away_since = since;
    look(&unknown, NOW);
    assert_true(run.progress.away_since == since);
    look(&well, NOW);
    assert_int_equal(run.progress.away_since, 0);
}

/* ---- refusals ---- */

static const tseed_upstream_t maps = {.name = "maps"};

static void be_refused(tseed_refusal_t what)
{
    run.refused = (tseed_refused_t){.count = 3, .what = what, .by = &maps, .cause = "it says no"};
    run.refused.next = NOW + 5 * SECOND;
}

static void test_outage__a_refused_task_waits_and_goes_on_or_ends(void **state)
{
    (void)state;
    be_refused(TSEED_REFUSES_LOGIN);
    look(&well, NOW);
    assert_reason("refused by upstream maps: it says no since ");
    assert_reason_time(", next try at ", 6 * SECOND - 1);
    assert_int_equal(run.progress.reason_code, TSEED_REASON_REFUSED);
    run.refused.count = 0;
    look(&well, NOW + SECOND);
    assert_string_equal(run.progress.reason, "");
    assert_int_equal(run.progress.away_since, 0);
    be_refused(TSEED_REFUSES_LOGIN);
    look(&well, NOW + SECOND);
    look(&well, NOW + GIVE_UP);
    assert_int_equal(run.phase, TSEED_RUN_GOING);
    look(&well, NOW + SECOND + GIVE_UP);
    assert_int_equal(run.progress.state, TSEED_ABORTED);
    assert_string_equal(run.progress.reason, "the upstream maps refused the task for longer than "
                                             "TileSeedGiveUp allows: it says no");
    assert_int_equal(run.progress.reason_code, TSEED_REASON_GIVEN_UP);
}

static void test_outage__a_layer_that_is_not_there_is_not_waited_for_long(void **state)
{
    (void)state;
    be_refused(TSEED_REFUSES_LAYER);
    look(&well, NOW);
    assert_int_equal(run.progress.reason_code, TSEED_REASON_REFUSED);
    look(&well, NOW + GIVE_UP / 10);
    assert_int_equal(run.progress.state, TSEED_ABORTED);
    assert_string_equal(run.progress.reason,
                        "the upstream maps does not have what the layer asks for: it says no");
}

static void test_outage__a_layer_that_capabilities_lack_too_is_not_waited_for(void **state)
{
    (void)state;
    be_refused(TSEED_REFUSES_LAYER);
    run.lacks_layer = 1;
    look(&well, NOW);
    assert_int_equal(run.progress.state, TSEED_ABORTED);
    assert_int_equal(run.progress.reason_code, TSEED_REASON_GIVEN_UP);
}

/* ---- silence ---- */

static void test_outage__silence_is_said_and_is_no_outage(void **state)
{
    const tseed_outlook_t silent = {.heard = NOW, .silent = NOW};

    (void)state;
    look(&silent, NOW + 12 * SECOND);
    assert_reason_time("waiting for upstream maps: no answer since ", -12 * SECOND);
    look(&silent, NOW + 2 * GIVE_UP);
    assert_int_equal(run.phase, TSEED_RUN_GOING);
    assert_int_equal(run.waits_since, 0);
    look(&well, NOW + 2 * GIVE_UP);
    assert_string_equal(run.progress.reason, "");
    assert_int_equal(run.is_silent, 0);
}

/* ---- records ---- */

static void test_outage__the_database_has_its_beginning_and_end_only(void **state)
{
    (void)state;
    look_away(NOW, 5);
    assert_int_equal(run.dirty, 1);
    run.dirty = 0;
    look_away(NOW + SECOND, 4);
    assert_reason_time("next try at ", 5 * SECOND - 1);
    assert_int_equal(run.dirty, 0);
    look(&well, NOW + 2 * SECOND);
    assert_int_equal(run.dirty, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_outage__says_when_the_next_try_is),
        TEST(test_outage__ends_the_task_after_its_time),
        TEST(test_outage__goes_on_when_the_upstream_is_back),
        TEST(test_outage__counts_what_an_earlier_seeder_has_waited),
        TEST(test_outage__of_an_earlier_seeder_lasts_until_the_first_answer),
        TEST(test_outage__a_refused_task_waits_and_goes_on_or_ends),
        TEST(test_outage__a_layer_that_is_not_there_is_not_waited_for_long),
        TEST(test_outage__a_layer_that_capabilities_lack_too_is_not_waited_for),
        TEST(test_outage__silence_is_said_and_is_no_outage),
        TEST(test_outage__the_database_has_its_beginning_and_end_only),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
