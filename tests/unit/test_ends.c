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
static tseed_upstream_t any = {.name = "any"};
static const tseed_layer_t plain = {
    .name = "topp:states", .source = {.count = 1, .addresses[0].upstream = &any}};
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
    run = (tseed_run_t){
        .task = &task, .tileset.layer = &plain, .booked = &booked, .terminated = 1};
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
    assert_true(!first->savings.joined && !second->savings.joined && !second->savings.leader);
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

/* ---- what was made ---- */

/* A job that comes back from a CUT of four tiles: so many were made and found there. */
static tseed_job_t *cut_job(int64_t position, int made, int skipped)
{
    tseed_job_t *job = job_of(position, TSEED_STAGE_CUT);

    job->metatile.whole = job->metatile.wanted = (tseed_range_t){3, 0, 0, 1, 1};
    job->result.made = made;
    job->result.skipped = skipped;
    job->result.bytes = 100 * made;
    job->result.written[0] = (UINT64_C(1) << made) - 1;
    return job;
}

static void finish(tseed_job_t *job, int coming)
{
    sink->finish(sink->module, job, coming);
}

static void test_ends__a_metatile_is_counted_once(void **state)
{
    (void)state;
    run.pauses = 3;
    finish(cut_job(0, 3, 1), 1);
    assert_int_equal(run.progress.made, 3);
    assert_int_equal(run.progress.skipped, 1);
    assert_int_equal(run.progress.unchanged, 0);
    assert_int_equal(run.progress.bytes, 300);
    assert_int_equal(run.progress.low, 1);
    assert_int_equal(run.pauses, 0);
    assert_int_equal(run.dirty, 1);
    assert_int_equal(jobs_ended, 1);
}

static void test_ends__a_reseed_skips_what_is_unchanged(void **state)
{
    (void)state;
    task.type = TSEED_RESEED;
    finish(cut_job(0, 1, 3), 1);
    assert_int_equal(run.progress.skipped, 3);
    assert_int_equal(run.progress.unchanged, 3);
}

/* It proves nothing about writing. */
static void test_ends__a_check_ends_no_pause(void **state)
{
    tseed_job_t *job = cut_job(0, 0, 4);

    (void)state;
    run.pauses = 3;
    job->request.stage = TSEED_STAGE_CHECK;
    finish(job, 1);
    assert_int_equal(run.progress.skipped, 4);
    assert_int_equal(run.pauses, 3);
}

static void test_ends__the_last_metatile_ends_the_run(void **state)
{
    (void)state;
    run.positions.count = 2;
    finish(cut_job(1, 4, 0), 1);
    assert_int_equal(run.phase, TSEED_RUN_GOING);
    finish(cut_job(0, 4, 0), 1);
    assert_int_equal(run.phase, TSEED_RUN_ENDING);
    assert_int_equal(run.progress.state, TSEED_DONE);
    assert_int_equal(session.must_record, 1);
}

/* Who goes on with the task looks at such a metatile again, and finds its tiles. */
static void test_ends__what_is_cut_short_counts_if_nobody_goes_on(void **state)
{
    (void)state;
    run.phase = TSEED_RUN_LEAVING;
    sink->discard(sink->module, cut_job(0, 2, 1));
    assert_int_equal(run.progress.made, 0);
    run.phase = TSEED_RUN_DRAINING;
    sink->discard(sink->module, cut_job(1, 2, 1));
    assert_int_equal(run.progress.made, 2);
    assert_int_equal(run.progress.skipped, 1);
    assert_int_equal(run.progress.low, 0);
    assert_int_equal(run.phase, TSEED_RUN_ENDING);
}

static void test_ends__a_drained_run_keeps_nothing(void **state)
{
    tseed_job_t *leader = job_of(0, TSEED_STAGE_FETCH), *at_work = cut_job(4, 1, 0);

    (void)state;
    tseed_join_chain(tseed_join_push(tseed_join_push(NULL, job_of(1, TSEED_STAGE_FETCH)), leader));
    tseed_queue_put(&run.wanted, leader);
    tseed_queue_put(&run.ready, cut_job(2, 0, 0));
    fail_at(job_of(3, TSEED_STAGE_CUT), NOW);
    tseed_ends_drain(ends, &run);
    assert_int_equal(jobs_ended, 4);
    assert_int_equal(cancels, 1);
    assert_true(atomic_load(&run.stopped));
    assert_int_equal(run.phase, TSEED_RUN_DRAINING); /* a worker has the last one */
    finish(at_work, 1);
    assert_int_equal(run.phase, TSEED_RUN_ENDING);
}

/* ---- levels of a truncate ---- */

static void test_ends__a_level_counts_what_is_gone_and_what_was_not_there(void **state)
{
    tseed_job_t *job;

    (void)state;
    task = (tseed_task_t){.id = 7, .type = TSEED_TRUNCATE, .zoom_start = 1, .zoom_stop = 2};
    run.positions.range[1] = (tseed_range_t){1, 0, 0, 1, 1};
    run.positions.range[2] = (tseed_range_t){2, 0, 0, 3, 3};
    run.positions.tiles = 20;
    job = job_of(0, TSEED_STAGE_REMOVE);
    atomic_store(&run.unlinked, 3);
    finish(job, 1);
    assert_int_equal(run.progress.removed, 3);
    assert_int_equal(run.progress.skipped, 1);
    assert_int_equal(run.removed_before, 3);
    job = job_of(1, TSEED_STAGE_REMOVE);
    atomic_store(&run.unlinked, 30); /* a seed has put some back meanwhile */
    finish(job, 1);
    assert_int_equal(run.progress.removed, 19);
    assert_int_equal(run.progress.skipped, 1);
    assert_int_equal(run.progress.state, TSEED_DONE);
}

/* ---- losses ---- */

static void lose(int64_t position)
{
    tseed_job_t *job = cut_job(position, 1, 0);

    tseed_job_lose(job, TSEED_JOB_LACKS, "it is gone");
    sink->give_up(sink->module, job);
}

static void test_ends__a_loss_counts_when_the_database_has_it(void **state)
{
    (void)state;
    lose(0);
    assert_int_equal(run.losses, 1);
    assert_int_equal(run.progress.low, 0);
    assert_string_equal(tseed_ends_losses(ends)->cause, "it is gone");
    tseed_ends_recorded(ends);
    assert_null(tseed_ends_losses(ends));
    assert_int_equal(run.losses, 0);
    assert_int_equal(run.progress.low, 1);
    assert_int_equal(run.progress.failures, 1);
    assert_int_equal(run.progress.made, 1);
    assert_int_equal(run.progress.failed, 3);
    assert_string_equal(run.loss_cause, "it is gone");
}

static void test_ends__too_many_losses_end_the_task(void **state)
{
    (void)state;
    task.failure_limit = 1;
    lose(0);
    lose(1);
    tseed_ends_recorded(ends);
    assert_int_equal(run.progress.state, TSEED_ABORTED);
    assert_int_equal(run.progress.reason_code, TSEED_REASON_FAILURE_LIMIT);
    assert_int_equal(run.phase, TSEED_RUN_ENDING);
    assert_int_equal(run.progress.failures, 2);
}

static void test_ends__knows_its_losses_only_from_the_database(void **state)
{
    const tseed_range_t tiles = {3, 0, 0, 1, 1};
    int have = -1;

    (void)state;
    task.meta_width = task.meta_height = 2;
    assert_int_equal(tseed_ends_have_lost(&have, ends, &run, &tiles), APR_EAGAIN);
    run.pool = pool;
    run.lost = apr_hash_make(pool);
    assert_int_equal(tseed_ends_have_lost(&have, ends, &run, &tiles), APR_SUCCESS);
    assert_int_equal(have, 0);
    lose(0);
    assert_int_equal(tseed_ends_have_lost(&have, ends, &run, &tiles), APR_SUCCESS);
    assert_int_equal(have, 1);
}

/* ---- stores ---- */

static tseed_job_t *refused_job(int64_t position, tseed_outcome_t outcome, apr_status_t rv)
{
    tseed_job_t *job = cut_job(position, 0, 0);

    job->result.outcome = outcome;
    job->result.rv = rv;
    return job;
}

static void test_ends__a_store_that_fails_pauses_the_task_longer_and_longer(void **state)
{
    tseed_layer_t layer = {.name = "states", .store.root = "/tiles"};
    tseed_job_t *job = refused_job(0, TSEED_JOB_NO_STORE, APR_ENOSPC);
    apr_time_t first;

    (void)state;
    run.tileset.layer = &layer;
    assert_int_equal(sink->refuse(sink->module, job), TSEED_FLOW_WAITS);
    sink->pause(sink->module, &run, job);
    sink->pause(sink->module, &run, job); /* of the same failure */
    assert_int_equal(run.pauses, 1);
    assert_int_equal(run.progress.reason_code, TSEED_REASON_STORE);
    first = run.pause_until - now;
    assert_in_range(first, SECOND * 3 / 4, SECOND * 5 / 4);
    now = run.pause_until;
    sink->pause(sink->module, &run, job);
    assert_int_equal(run.pauses, 2);
    assert_in_range(run.pause_until - now, 2 * SECOND * 3 / 4, 2 * SECOND * 5 / 4);
    end(job);
    run.pauses = 0;
    for (int i = 0; i < 5; i++) { /* by then the log says that it is over */
        tseed_ends_tick(ends, now += SECOND);
    }
}

static void test_ends__waits_for_room_unless_there_can_be_none(void **state)
{
    tseed_account_t *account = tseed_account_create();
    tseed_job_t *job = refused_job(0, TSEED_JOB_NO_ROOM, APR_ENOSPC);

    (void)state;
    booked.chain.layer = account;
    job->result.refused = account;
    job->result.needed = 5000;
    tseed_account_limit_set(account, (tseed_amount_t){10000, 100});
    assert_int_equal(sink->refuse(sink->module, job), TSEED_FLOW_WAITS);
    sink->pause(sink->module, &run, job);
    assert_ptr_equal(run.short_of, account);
    assert_int_equal(run.pauses, 0);
    tseed_account_limit_set(account, (tseed_amount_t){4000, 100});
    assert_int_equal(sink->refuse(sink->module, job), TSEED_FLOW_LOST);
    assert_non_null(strstr(tseed_job_cause(job), "a tile needs "));
    end(job);
    free(account);
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
        TEST(test_ends__a_metatile_is_counted_once),
        TEST(test_ends__a_reseed_skips_what_is_unchanged),
        TEST(test_ends__a_check_ends_no_pause),
        TEST(test_ends__the_last_metatile_ends_the_run),
        TEST(test_ends__what_is_cut_short_counts_if_nobody_goes_on),
        TEST(test_ends__a_drained_run_keeps_nothing),
        TEST(test_ends__a_level_counts_what_is_gone_and_what_was_not_there),
        TEST(test_ends__a_loss_counts_when_the_database_has_it),
        TEST(test_ends__too_many_losses_end_the_task),
        TEST(test_ends__knows_its_losses_only_from_the_database),
        TEST(test_ends__a_store_that_fails_pauses_the_task_longer_and_longer),
        TEST(test_ends__waits_for_room_unless_there_can_be_none),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
