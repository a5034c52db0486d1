/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dispatch: which job begins next, and how much of a run is under way. Flow and ends are real,
 * their neighbours are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WITH_BOARD
#include "board_memory.h"
#include "flow_fixture.h"
#include "pipeline/tseed_dispatch.h"

#define SECOND APR_USEC_PER_SEC

static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t cache;
static tseed_marks_t marks;
static tseed_task_t tasks[2], requested;
static tseed_layer_t layer;
static tseed_upstream_t upstream;
static tseed_run_t run[2], background;
static tseed_runs_t runs;
static tseed_book_tileset_t booked[3];
static tseed_flow_t *flow;
static tseed_ends_t *ends;
static tseed_dispatch_t *dispatch;
static tseed_board_t *board;

/* ---- what else the dispatch uses ---- */

static int may_work, catches_up;
static int64_t barring; /* that bars what would be begun; 0: none */

int tseed_holds_may_work(tseed_holds_t *holds, tseed_job_t *job)
{
    (void)holds;
    (void)job;
    return may_work;
}

int64_t tseed_cutoff_bars(const tseed_cutoff_t *cutoff, const tseed_run_t *of,
                          const tseed_range_t *tiles)
{
    (void)cutoff;
    (void)of;
    (void)tiles;
    return barring;
}

int tseed_savings_wait(tseed_savings_t *savings, tseed_run_t *of, apr_time_t when)
{
    (void)savings;
    (void)of;
    (void)when;
    return catches_up;
}

/* One metatile after the other. */
void tseed_savings_next(tseed_request_t *request, tseed_savings_t *savings, tseed_run_t *of)
{
    const int64_t position = tseed_run_peek(of);

    (void)savings;
    *request = (tseed_request_t){
        .positions = {position}, .count = position >= 0, .cell = {1, 1}, .step = -1};
}

void tseed_savings_begin(tseed_savings_t *savings, tseed_job_t *job, const tseed_request_t *request)
{
    (void)savings;
    (void)job;
    (void)request;
}

/* ---- runs ---- */

static void make_run(tseed_run_t *made, tseed_task_t *task, int number)
{
    static const tseed_shape_t shape = {3, 3, 2, 2};
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:900913");

    *task = (tseed_task_t){.id = number + 1, .type = TSEED_SEED, .layer = "states"};
    *made = (tseed_run_t){.task = task,
                          .tileset.layer = &layer,
                          .booked = &booked[number],
                          .threads = 2,
                          .terminated = 1};
    tseed_positions_init(&made->positions, gridset, &gridset->extent, &shape);
}

static int setup(void **state)
{
    (void)state;
    forget_neighbours();
    may_work = 1;
    catches_up = 0;
    barring = 0;
    settings = (tseed_settings_t){.workers = 4, .give_up = 3600 * SECOND};
    board = make_board(1, 1);
    context =
        (tseed_context_t){.settings = &settings, .pool = pool, .scratch = pool, .board = board};
    session = (tseed_session_t){0};
    marks = (tseed_marks_t){0};
    cache = (tseed_cache_t){0};
    layer = (tseed_layer_t){.name = "states", .source.count = 1};
    layer.source.addresses[0].upstream = &upstream;
    make_run(&run[0], &tasks[0], 0);
    make_run(&run[1], &tasks[1], 1);
    make_run(&background, &requested, 2);
    background.is_background = 1;
    run[0].next_run = NULL;
    runs = (tseed_runs_t){.tasks = &run[0], .background = &background};
    flow = tseed_flow_create(&(tseed_flow_uses_t){
        .context = &context, .runs = &runs, .health = tseed_health_create(pool), .fleet = &fleet});
    ends = tseed_ends_create(
        &(tseed_ends_uses_t){.context = &context, .session = &session, .runs = &runs});
    dispatch = tseed_dispatch_create(&(tseed_dispatch_uses_t){.context = &context,
                                                              .session = &session,
                                                              .runs = &runs,
                                                              .cache = &cache,
                                                              .marks = &marks,
                                                              .flow = flow,
                                                              .ends = ends});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < jobs_begun; i++) {
        free(jobs[i].request.url);
    }
    free(board->segment);
    return 0;
}

static void feed(void)
{
    tseed_client_t *client = tseed_dispatch_tasks(dispatch);

    client->feed(client->module);
}

static void feed_background(void)
{
    tseed_client_t *client = tseed_dispatch_background(dispatch);

    client->feed(client->module);
}

static void fetched(tseed_job_t *job)
{
    assert_int_equal(job->request.stage, TSEED_STAGE_FETCH);
    job->request.transfer.result = TSEED_FETCH_OK;
    give_back(job);
}

/* ---- a run's limits ---- */

static void test_dispatch__a_seed_looks_at_as_many_as_it_has_threads(void **state)
{
    (void)state;
    feed();
    assert_int_equal(pushed, 2);
    assert_int_equal(run[0].checking, 2);
    assert_int_equal(jobs[1].position, 1);
    give_back(&jobs[0]);
    feed(); /* what was looked at is fetched, and the next is looked at */
    assert_int_equal(fetches, 1);
    assert_int_equal(jobs[0].request.stage, TSEED_STAGE_FETCH);
    assert_int_equal(run[0].checking, 2);
}

static void test_dispatch__a_reseed_fetches_without_looking(void **state)
{
    (void)state;
    tasks[0].type = TSEED_RESEED;
    feed();
    assert_int_equal(fetches, 2);
    assert_int_equal(pushed, 0);
    assert_int_equal(run[0].fetching, 2);
}

/* So the upstream of a run with a single thread need not wait for the worker. */
static void test_dispatch__one_answer_more_than_threads_may_wait(void **state)
{
    (void)state;
    tasks[0].type = TSEED_RESEED;
    may_work = 0; /* what is there must be counted first */
    run[0].threads = 1;
    feed();
    fetched(&jobs[0]);
    feed();
    assert_int_equal(fetches, 2);
    fetched(&jobs[1]);
    feed();
    assert_int_equal(fetches, 2);
    may_work = 1;
    feed();
    assert_int_equal(pushed, 1);
    assert_int_equal(jobs[0].request.stage, TSEED_STAGE_CUT);
    assert_int_equal(fetches, 3);
}

static void test_dispatch__answers_bound_the_memory(void **state)
{
    (void)state;
    tasks[0].type = TSEED_RESEED;
    may_work = 0;
    feed();
    jobs[0].request.transfer.capacity = TSEED_ANSWERS_BUDGET;
    fetched(&jobs[0]);
    fetched(&jobs[1]);
    feed();
    assert_int_equal(fetches, 2);
}

static void test_dispatch__an_old_answer_is_fetched_again(void **state)
{
    (void)state;
    tasks[0].type = TSEED_RESEED;
    run[0].threads = 1;
    may_work = 0;
    feed();
    fetched(&jobs[0]);
    may_work = 1;
    now += 61 * SECOND;
    feed();
    assert_int_equal(jobs[0].request.stage, TSEED_STAGE_FETCH);
    assert_int_equal(pushed, 0);
}

static void test_dispatch__old_answers_of_the_whole_budget_are_fetched_again(void **state)
{
    (void)state;
    tasks[0].type = TSEED_RESEED;
    run[0].threads = 1;
    may_work = 0;
    feed();
    jobs[0].request.transfer.capacity = TSEED_ANSWERS_BUDGET;
    fetched(&jobs[0]);
    may_work = 1;
    now += 61 * SECOND;
    feed();
    assert_int_equal(jobs[0].request.stage, TSEED_STAGE_FETCH);
}

static void test_dispatch__workers_have_two_answers_each_at_most(void **state)
{
    (void)state;
    settings.workers = 1;
    tasks[0].type = TSEED_RESEED;
    run[0].threads = 4;
    feed();
    for (int i = 0; i < 4; i++) {
        fetched(&jobs[i]);
    }
    feed();
    assert_int_equal(run[0].working, 2);
    assert_int_equal(run[0].ready.count, 2);
}

/* ---- who begins ---- */

static void test_dispatch__tasks_take_turns(void **state)
{
    (void)state;
    run[0].next_run = &run[1];
    feed();
    assert_ptr_equal(jobs[0].run, &run[0]);
    assert_ptr_equal(jobs[1].run, &run[1]);
    assert_ptr_equal(jobs[2].run, &run[0]);
    assert_ptr_equal(jobs[3].run, &run[1]);
    assert_int_equal(jobs_begun, 4);
}

static void test_dispatch__a_run_that_waits_begins_nothing(void **state)
{
    (void)state;
    run[0].pause_until = now + 1;
    feed();
    run[0].pause_until = 0;
    run[0].phase = TSEED_RUN_DRAINING;
    feed();
    run[0].phase = TSEED_RUN_GOING;
    catches_up = 1;
    feed();
    assert_int_equal(jobs_begun, 0);
    catches_up = 0;
    feed();
    assert_int_equal(jobs_begun, 2);
}

static void test_dispatch__a_refused_run_asks_with_one_request(void **state)
{
    (void)state;
    tasks[0].type = TSEED_RESEED;
    run[0].refused = (tseed_refused_t){.count = TSEED_REFUSALS_MOST, .next = now + SECOND};
    feed();
    assert_int_equal(fetches, 0);
    now += SECOND;
    feed();
    assert_int_equal(fetches, 1);
}

static void test_dispatch__a_truncate_bars_what_is_derived(void **state)
{
    (void)state;
    barring = 9;
    feed();
    assert_int_equal(jobs_begun, 0);
    assert_int_equal(run[0].barred_by, 9);
    barring = 0;
    feed();
    assert_int_equal(run[0].barred_by, 0);
    assert_int_equal(jobs_begun, 2);
}

static void test_dispatch__the_end_of_a_run_is_noticed(void **state)
{
    (void)state;
    run[0].progress.low = run[0].positions.count;
    feed();
    assert_int_equal(run[0].phase, TSEED_RUN_ENDING);
    assert_int_equal(session.must_record, 1);
}

/* ---- truncates ---- */

static void test_dispatch__a_truncate_removes_one_level_after_the_other(void **state)
{
    static const tseed_subset_t subset = {.zoom_last = 3};
    tseed_subset_t all = subset;

    (void)state;
    all.gridset = tseed_gridset_builtin("EPSG:900913");
    all.extent = (tseed_bounds_t){-1, -1, 1, 1};
    tasks[0] = (tseed_task_t){
        .id = 1, .type = TSEED_TRUNCATE, .layer = "states", .zoom_start = 2, .zoom_stop = 3};
    run[0].tileset.subset = &all;
    run[0].positions.range[2] = (tseed_range_t){2, 0, 0, 0, 0}; /* not the whole level */
    feed();
    assert_int_equal(jobs_begun, 1);
    assert_int_equal(jobs[0].request.stage, TSEED_STAGE_REMOVE);
    assert_int_equal(jobs[0].metatile.wanted.z, 2);
    assert_false(jobs[0].request.is_whole);
    assert_int_equal(pushed, 1);
    feed();
    assert_int_equal(jobs_begun, 1);
}

/* ---- background runs ---- */

static tseed_job_t *waiting_job(void)
{
    tseed_job_t *job = tseed_flow_begin(flow, &background, 0, tseed_ends_sink(ends));

    tseed_flow_cut(job);
    return job;
}

static void test_dispatch__requests_get_what_can_not_be_stored(void **state)
{
    tseed_job_t *job = waiting_job();

    (void)state;
    may_work = 0;
    feed_background();
    assert_int_equal(background.ready.count, 1);
    session.trouble = "the database is away";
    feed_background();
    assert_int_equal(background.ready.count, 0);
    assert_true(job->request.is_unstored);
    assert_int_equal(pushed, 1);
}

static void test_dispatch__a_refused_job_waits_until_room_may_have_come(void **state)
{
    tseed_job_t *job = waiting_job();
    const tseed_account_t *full = (const void *)&booked;

    (void)state;
    background.short_of = full;
    job->request.due = now + 1;
    feed_background();
    assert_int_equal(pushed, 0);
    now++;
    feed_background();
    assert_int_equal(pushed, 1);
    assert_false(job->request.is_unstored);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_dispatch__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_seed_looks_at_as_many_as_it_has_threads),
        TEST(a_reseed_fetches_without_looking),
        TEST(one_answer_more_than_threads_may_wait),
        TEST(answers_bound_the_memory),
        TEST(an_old_answer_is_fetched_again),
        TEST(old_answers_of_the_whole_budget_are_fetched_again),
        TEST(workers_have_two_answers_each_at_most),
        TEST(tasks_take_turns),
        TEST(a_run_that_waits_begins_nothing),
        TEST(a_refused_run_asks_with_one_request),
        TEST(a_truncate_bars_what_is_derived),
        TEST(the_end_of_a_run_is_noticed),
        TEST(a_truncate_removes_one_level_after_the_other),
        TEST(requests_get_what_can_not_be_stored),
        TEST(a_refused_job_waits_until_room_may_have_come),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
