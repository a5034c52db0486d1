/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The ends of a task's jobs: what is counted, how long a metatile waits after failed answers, and
 * when it is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_strings.h>

#define WITH_BOARD
#define WITH_SOURCE
#include "board_memory.h"
#include "flow_fixture.h"
#include "pipeline/tseed_ends.h"
#include "savings/tseed_join.h"

#define SECOND   APR_USEC_PER_SEC
#define NOW      (1000 * SECOND)
#define GIVE_UP  (3600 * SECOND)
#define IN_ORDER (10 * SECOND) /* a wait that the task asks for */

static const tseed_upstream_t upstream = {.name = "maps"};
static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t cache;
static tseed_task_t task;
static tseed_run_t run;
static tseed_runs_t runs = {.tasks = &run};
static tseed_book_tileset_t booked;
static tseed_board_t *board;
static tseed_ends_t *ends;
static const tseed_sink_t *sink;

/* The run is `terminated`, so that the board has no slot of it. */
static int setup(void **state)
{
    tseed_display_t *display;

    (void)state;
    forget_neighbours();
    settings = (tseed_settings_t){.give_up = GIVE_UP};
    board = make_board(1, 1);
    context =
        (tseed_context_t){.settings = &settings, .pool = pool, .scratch = pool, .board = board};
    session = (tseed_session_t){0};
    task = (tseed_task_t){.id = 7, .layer = "topp:states", .retries = 2, .failure_limit = -1};
    run = (tseed_run_t){.task = &task, .booked = &booked, .terminated = 1};
    run.positions.count = 1000;
    run.progress.state = TSEED_RUNNING;
    display = tseed_display_create(&context, &session, tseed_durable_create(&cache, pool));
    ends = tseed_ends_create(
        &(tseed_ends_uses_t){.context = &context,
                             .session = &session,
                             .runs = &runs,
                             .quota_wait = tseed_quota_wait_create(&context, &runs, NULL, display),
                             .display = display});
    sink = tseed_ends_sink(ends);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tseed_ends_recorded(ends);
    free(board->segment);
    return 0;
}

static void fail_at(tseed_job_t *job, apr_time_t when)
{
    now = when;
    sink->failed(sink->module, job);
}

static void feed_at(apr_time_t when)
{
    now = when;
    tseed_ends_client(ends)->feed(ends);
}

static apr_time_t next_due(void)
{
    return tseed_ends_client(ends)->due(ends);
}

/* A job of one tile that has come back from a stage. */
static tseed_job_t *job_of(int64_t position, tseed_stage_t stage)
{
    const tseed_range_t tile = {3, 1, 1, 1, 1};
    tseed_job_t *job = tseed_jobs_get(NULL, &(tseed_job_what_t){.sink = sink,
                                                                .run = &run,
                                                                .position = position,
                                                                .metatile = {tile, tile},
                                                                .first = stage});

    job->request.transfer.upstream = &upstream;
    job->request.transfer.result = TSEED_FETCH_FAILED;
    job->request.transfer.ended = NOW;
    job->request.transfer.retry_after = 0;
    return job;
}

/* A job whose upstream is away. */
static tseed_job_t *away_job(void)
{
    tseed_job_t *job = job_of(0, TSEED_STAGE_FETCH);

    job->request.transfer.result = TSEED_FETCH_AWAY;
    return job;
}

static void end(tseed_job_t *job)
{
    tseed_jobs_put_back(NULL, job);
}

/* ---- back-off ---- */

static void test_ends__waits_twice_as_long_each_time(void **state)
{
    const int seconds[] = {1, 2, 4, 8, 16, 30, 30};

    (void)state;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(tseed_ends_wait(i + 1, 0.5), seconds[i] * SECOND);
    }
    assert_int_equal(tseed_ends_wait(1000000, 0.5), 30 * SECOND);
}

static void test_ends__waits_up_to_a_quarter_more_or_less(void **state)
{
    (void)state;
    assert_int_equal(tseed_ends_wait(3, 0), 3 * SECOND);
    assert_int_equal(tseed_ends_wait(3, 0.25), 3 * SECOND + SECOND / 2);
    assert_in_range(tseed_ends_wait(3, 0.999999), 4 * SECOND, 5 * SECOND - 1);
}

/* ---- attempts ---- */

static void test_ends__an_answer_that_is_no_picture_is_an_attempt(void **state)
{
    tseed_job_t *job = job_of(5, TSEED_STAGE_CUT);

    (void)state;
    for (int attempt = 1; attempt <= 2; attempt++) {
        fail_at(job, NOW);
        assert_int_equal(job->request.attempts, attempt);
        assert_ptr_equal(run.to_retry, job);
        run.to_retry = NULL;
    }
    fail_at(job, NOW); /* two retries are allowed */
    assert_null(run.to_retry);
    assert_int_equal(tseed_ends_losses(ends)->position, 5);
    assert_int_equal(tseed_ends_losses(ends)->record.attempts, 3);
    assert_int_equal(tseed_ends_losses(ends)->failed, 1);
    assert_int_equal(run.losses, 1);
    assert_int_equal(session.must_record, 1);
}

static void test_ends__comes_back_when_it_is_due(void **state)
{
    tseed_job_t *job = job_of(0, TSEED_STAGE_CUT);

    (void)state;
    task.retry_wait = IN_ORDER;
    fail_at(job, NOW);
    assert_int_equal(next_due(), NOW + IN_ORDER);
    feed_at(NOW + IN_ORDER - 1);
    assert_int_equal(run.wanted.count, 0);
    feed_at(NOW + IN_ORDER);
    assert_ptr_equal(tseed_queue_take(&run.wanted), job);
    assert_null(run.to_retry);
    assert_true(next_due() == INT64_MAX);
    end(job);
}

static void test_ends__the_first_that_is_due_comes_first(void **state)
{
    tseed_job_t *late = job_of(0, TSEED_STAGE_CUT), *early = job_of(1, TSEED_STAGE_CUT);

    (void)state;
    task.retry_wait = IN_ORDER;
    fail_at(late, NOW + SECOND);
    fail_at(early, NOW);
    assert_int_equal(next_due(), NOW + IN_ORDER);
    feed_at(NOW + IN_ORDER + SECOND);
    assert_ptr_equal(tseed_queue_take(&run.wanted), early);
    assert_ptr_equal(tseed_queue_take(&run.wanted), late);
    end(early);
    end(late);
}

/* ---- an upstream that is away ---- */

static void test_ends__an_upstream_that_stays_away_is_no_attempt(void **state)
{
    tseed_job_t *job = away_job();

    (void)state;
    for (int i = 0; i < 10; i++) {
        fail_at(job, NOW);
        feed_at(job->request.due);
        assert_int_equal(job->request.attempts, 0);
        assert_ptr_equal(tseed_queue_take(&run.wanted), job);
    }
    assert_int_equal(job->request.tries, 10);
    end(job);
}

/* An upstream that was never asked has answered at 0, as far as the fetcher says. So a fetch that
 * ended before 0 ended before that answer. */
static void test_ends__an_upstream_that_was_not_away_makes_it_an_attempt(void **state)
{
    tseed_job_t *job = away_job();

    (void)state;
    job->request.transfer.ended = -1;
    fail_at(job, NOW);
    assert_int_equal(job->request.attempts, 0);
    feed_at(job->request.due);
    assert_int_equal(job->request.attempts, 1);
    assert_ptr_equal(tseed_queue_take(&run.wanted), job);
    end(job);
}

/* The answer comes while the job is sent again already: a probe has found out that the upstream is
 * there. */
static void test_ends__an_answer_between_two_failures_makes_the_first_an_attempt(void **state)
{
    tseed_job_t *job = away_job();

    (void)state;
    job->request.transfer.ended = 1; /* what the upstream has answered, it has at 0 */
    fail_at(job, NOW);
    feed_at(job->request.due);
    assert_int_equal(job->request.attempts, 0);
    assert_ptr_equal(tseed_queue_take(&run.wanted), job);
    job->request.doubted = -1; /* as if it had answered since */
    fail_at(job, NOW);
    assert_int_equal(job->request.attempts, 1);
    assert_int_equal(job->request.doubted, 1);
    run.to_retry = NULL;
    end(job);
}

/* The failures before it may have been the upstream's. */
static void test_ends__an_answer_to_the_job_itself_settles_no_earlier_failure(void **state)
{
    tseed_job_t *job = away_job();

    (void)state;
    fail_at(job, NOW);
    run.to_retry = NULL;
    job->request.doubted = -1;
    job->request.transfer.result = TSEED_FETCH_FAILED;
    fail_at(job, NOW);
    assert_int_equal(job->request.attempts, 1);
    assert_int_equal(job->request.doubted, 0);
    run.to_retry = NULL;
    end(job);
}

static void test_ends__a_pause_that_was_asked_for_is_no_attempt(void **state)
{
    tseed_job_t *busy = away_job(), *limited = away_job();

    (void)state;
    busy->request.transfer.ended = limited->request.transfer.ended = -1;
    busy->request.transfer.http_status = 503;
    busy->request.transfer.retry_after = SECOND;
    limited->request.transfer.http_status = 429;
    fail_at(busy, NOW);
    fail_at(limited, NOW);
    feed_at(NOW + 2 * SECOND);
    assert_int_equal(run.wanted.count, 2);
    assert_int_equal(busy->request.attempts, 0);
    assert_int_equal(limited->request.attempts, 0);
    end(busy);
    end(limited);
}

static void test_ends__has_an_end_however_long_the_upstream_is_away(void **state)
{
    tseed_job_t *job = away_job();

    (void)state;
    task.retry_wait = IN_ORDER;
    fail_at(job, NOW);
    feed_at(NOW + IN_ORDER);
    assert_ptr_equal(tseed_queue_take(&run.wanted), job);
    fail_at(job, NOW + GIVE_UP);
    assert_null(tseed_ends_losses(ends));
    feed_at(NOW + GIVE_UP + IN_ORDER);
    assert_non_null(tseed_ends_losses(ends));
    assert_int_equal(run.wanted.count, 0);
}

/* ---- requests for several metatiles ---- */

static void test_ends__a_request_for_several_metatiles_comes_back_in_parts(void **state)
{
    tseed_job_t *first = away_job(), *second = away_job();

    (void)state;
    run.positions.shape = (tseed_shape_t){3, 3, 1, 1};
    second->metatile.whole = second->metatile.wanted = (tseed_range_t){3, 2, 1, 2, 1};
    first->savings.step = 1;
    first->request.transfer.ended =
        -1;                /* the upstream was there: that says nothing of each of the two */
    run.is_background = 1; /* nor of sizes: such runs choose none */
    fail_at(tseed_join_chain(tseed_join_push(second, first)), NOW);
    assert_ptr_equal(run.to_retry, first);
    assert_null(first->next);
    feed_at(first->request.due);
    assert_ptr_equal(tseed_queue_take(&run.wanted), first);
    assert_ptr_equal(tseed_queue_take(&run.wanted), second);
    assert_false(tseed_job_is_joined(first) || tseed_job_is_joined(second));
    assert_int_equal(first->request.attempts + second->request.attempts, 0);
    assert_int_equal(first->savings.step, -1);
    assert_int_equal(first->request.first_failed,
                     NOW); /* each of them waits for as long as the other */
    assert_int_equal(second->request.first_failed, NOW);
    end(first);
    end(second);
}

/* ---- runs ---- */

static void test_ends__a_run_that_drains_gets_nothing_back(void **state)
{
    tseed_job_t *job = job_of(0, TSEED_STAGE_CUT);

    (void)state;
    fail_at(job, NOW);
    run.phase = TSEED_RUN_DRAINING;
    feed_at(NOW + GIVE_UP);
    assert_ptr_equal(run.to_retry, job);
    assert_true(next_due() == INT64_MAX);
    end(job);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- refusals ---- */

static void note(const tseed_job_t *job, apr_time_t when)
{
    now = when;
    sink->hear(sink->module, job);
}

/* Notes an answer of a status, and puts its job among those to be tried again. */
static void refuse(int64_t position, int status, apr_time_t when)
{
    tseed_job_t *job = job_of(position, TSEED_STAGE_FETCH);

    job->request.transfer.http_status = status;
    apr_cpystrn(job->request.transfer.cause, "401 Unauthorized",
                sizeof(job->request.transfer.cause));
    note(job, when);
    fail_at(job, when);
}

static void give_picture(void)
{
    const tseed_job_t job = {
        .run = &run, .request.stage = TSEED_STAGE_FETCH, .request.transfer.result = TSEED_FETCH_OK};

    note(&job, NOW);
    run.answers++;
}

static void end_all(void)
{
    while (run.to_retry) {
        tseed_job_t *job = run.to_retry;

        run.to_retry = job->next;
        end(job);
    }
}

static void test_ends__refusals_in_a_row_make_the_run_wait(void **state)
{
    tseed_layer_t layer = {.source = {.count = 1}};

    (void)state;
    run.tileset.layer = &layer;
    task.retries = 0;
    refuse(0, 401, NOW);
    refuse(1, 401, NOW);
    assert_false(tseed_run_is_refused(&run));
    refuse(2, 401, NOW);
    assert_true(tseed_run_is_refused(&run));
    assert_string_equal(run.refused.cause, "401 Unauthorized");
    assert_int_equal(run.losses, 3);
    refuse(3, 401, NOW); /* the others are not at fault, however few retries they have */
    assert_int_equal(run.losses, 3);
    assert_int_equal(run.to_retry->request.attempts, 0);
    assert_false(tseed_ends_may_ask(&run, NOW));
    assert_true(tseed_ends_may_ask(&run, run.refused.next));
    run.fetching = 1;
    assert_false(tseed_ends_may_ask(&run, run.refused.next));
    give_picture();
    assert_false(tseed_run_is_refused(&run));
    assert_true(tseed_ends_may_ask(&run, NOW));
    end_all();
}

static void test_ends__a_403_among_pictures_refuses_that_one_alone(void **state)
{
    tseed_layer_t layer = {.source = {.count = 1}};

    (void)state;
    run.tileset.layer = &layer;
    give_picture();
    for (int i = 0; i < 5; i++) {
        refuse(i, 403, NOW);
    }
    assert_false(tseed_run_is_refused(&run));
    assert_int_equal(run.to_retry->request.attempts, 1);
    end_all();
}

static void test_ends__what_another_address_may_have_is_not_refused(void **state)
{
    tseed_layer_t layer = {.source = {.count = 2}};

    (void)state;
    run.tileset.layer = &layer;
    for (int i = 0; i < 5; i++) {
        refuse(i, 401, NOW);
    }
    assert_false(tseed_run_is_refused(&run));
    end_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ends__waits_twice_as_long_each_time),
        TEST(test_ends__waits_up_to_a_quarter_more_or_less),
        TEST(test_ends__an_answer_that_is_no_picture_is_an_attempt),
        TEST(test_ends__comes_back_when_it_is_due),
        TEST(test_ends__the_first_that_is_due_comes_first),
        TEST(test_ends__an_upstream_that_stays_away_is_no_attempt),
        TEST(test_ends__an_upstream_that_was_not_away_makes_it_an_attempt),
        TEST(test_ends__an_answer_between_two_failures_makes_the_first_an_attempt),
        TEST(test_ends__an_answer_to_the_job_itself_settles_no_earlier_failure),
        TEST(test_ends__a_pause_that_was_asked_for_is_no_attempt),
        TEST(test_ends__has_an_end_however_long_the_upstream_is_away),
        TEST(test_ends__a_request_for_several_metatiles_comes_back_in_parts),
        TEST(test_ends__a_run_that_drains_gets_nothing_back),
        TEST(test_ends__refusals_in_a_row_make_the_run_wait),
        TEST(test_ends__a_403_among_pictures_refuses_that_one_alone),
        TEST(test_ends__what_another_address_may_have_is_not_refused),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
