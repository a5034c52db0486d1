/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The flow: what becomes of a job after each stage, whoever wants its metatile. The sink and all
 * neighbours are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "flow_fixture.h"
#include "savings/tseed_join.h"

static tseed_context_t context;
static tseed_task_t task;
static tseed_layer_t layer;
static tseed_upstream_t upstream;
static tseed_run_t run, other; /* of one tile set */
static tseed_runs_t runs;
static tseed_book_tileset_t booked;
static tseed_flow_t *flow;

/* ---- a sink that writes down what it is told ---- */

static char told[400];
static tseed_verdict_t refusal; /* what it says of a job that was refused */

static void tell(const char *what, int64_t position, int number)
{
    const size_t length = strlen(told);

    snprintf(told + length, sizeof(told) - length, "%s%s %d", length ? ", " : "", what,
             (int)position);
    if (number >= 0) {
        snprintf(told + strlen(told), sizeof(told) - strlen(told), "/%d", number);
    }
}

static void hear(void *module, const tseed_job_t *leader)
{
    (void)module;
    tell("heard", leader->position, -1);
}

static tseed_unstored_t *prepare(void *module, const tseed_job_t *job)
{
    (void)module;
    tell("prepared", job->position, -1);
    return NULL;
}

static void end(tseed_job_t *job)
{
    tseed_jobs_forget_answer(&job->request.transfer);
    tseed_jobs_put_back(NULL, job);
}

static void finish(void *module, tseed_job_t *job, int coming)
{
    (void)module;
    tell("finished", job->position, coming);
    end(job);
}

static void give_up(void *module, tseed_job_t *job)
{
    (void)module;
    tell(tseed_job_cause(job), job->position, -1);
    end(job);
}

/* Keeps the job, as a sink does that tries again later. */
static void failed(void *module, tseed_job_t *leader)
{
    (void)module;
    tell("failed", leader->position, tseed_join_count(leader));
    leader->run->to_retry = leader;
}

static tseed_verdict_t refuse(void *module, tseed_job_t *job)
{
    (void)module;
    tell("refused", job->position, -1);
    return refusal;
}

static void pause_run(void *module, tseed_run_t *of, const tseed_job_t *refused)
{
    (void)module;
    of->pause_until = now + 1;
    tell("paused", refused->position, -1);
}

static void discard(void *module, tseed_job_t *leader)
{
    (void)module;
    tell("dropped", leader->position, tseed_join_count(leader));
    for (tseed_job_t *job = leader, *next; job; job = next) {
        next = job->savings.joined;
        end(job);
    }
}

static const tseed_sink_t sink = {.hear = hear,
                                  .prepare = prepare,
                                  .finish = finish,
                                  .give_up = give_up,
                                  .failed = failed,
                                  .refuse = refuse,
                                  .pause = pause_run,
                                  .discard = discard};

/* Compares what the sink was told since the last call. */
static void assert_told(const char *expected)
{
    assert_string_equal(told, expected);
    told[0] = '\0';
}

/* ---- runs and jobs ---- */

/* Level 3 has 8 x 8 tiles: 16 metatiles of 2 x 2. */
static int setup(void **state)
{
    static const tseed_shape_t shape = {3, 3, 2, 2};
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:900913");

    (void)state;
    forget_neighbours();
    told[0] = '\0';
    refusal = TSEED_FLOW_WAITS;
    context = (tseed_context_t){.pool = pool, .scratch = pool};
    task = (tseed_task_t){.id = 7, .type = TSEED_SEED, .layer = "states"};
    layer = (tseed_layer_t){.name = "states"};
    layer.source.addresses[0].upstream = &upstream;
    run = other = (tseed_run_t){.task = &task, .tileset.layer = &layer, .booked = &booked};
    tseed_positions_init(&run.positions, gridset, &gridset->extent, &shape);
    other.positions = run.positions;
    other.is_background = 1;
    runs = (tseed_runs_t){.tasks = &run, .background = &other};
    flow = tseed_flow_create(&(tseed_flow_uses_t){
        .context = &context, .runs = &runs, .health = tseed_health_create(pool), .fleet = &fleet});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    while (run.jobs) {
        end(run.jobs);
    }
    return told[0] != '\0';
}

static tseed_job_t *begin(int64_t position)
{
    tseed_job_t *job = tseed_flow_begin(flow, &run, position, &sink);

    assert_non_null(job);
    return job;
}

/* Jobs of neighbouring metatiles, 0 and 1, joined, that have come to a stage. */
static tseed_job_t *begin_two(tseed_stage_t stage)
{
    tseed_job_t *first = begin(0), *second = begin(1);

    tseed_join_chain(tseed_join_push(tseed_join_push(NULL, second), first));
    first->request.stage = second->request.stage = stage;
    first->request.transfer.upstream = &upstream;
    return first;
}

static void work(tseed_job_t *job, tseed_stage_t stage, tseed_outcome_t outcome)
{
    tseed_flow_work(flow, job, stage);
    job->result.outcome = outcome;
    give_back(job);
}

static void fetch(tseed_job_t *job, tseed_fetch_result_t result)
{
    tseed_flow_get(flow, job);
    job->request.transfer.result = result;
    give_back(job);
}

static tseed_job_t *take_wanted(void)
{
    return tseed_queue_take(&run.wanted);
}

/* ---- the judgement ---- */

typedef struct {
    tseed_stage_t stage;
    int result; /* of FETCH tseed_fetch_result_t, else tseed_outcome_t */
    int is_stale;
    tseed_phase_t phase;
    tseed_verdict_t verdict;
} case_t;

static void test_flow__judges_by_stage_and_outcome(void **state)
{
    static const case_t cases[] = {
        {TSEED_STAGE_FETCH, TSEED_FETCH_OK, 0, TSEED_RUN_GOING, TSEED_FLOW_ON},
        {TSEED_STAGE_FETCH, TSEED_FETCH_UNCHANGED, 0, TSEED_RUN_GOING, TSEED_FLOW_ON},
        {TSEED_STAGE_FETCH, TSEED_FETCH_FAILED, 0, TSEED_RUN_GOING, TSEED_FLOW_FAILED},
        {TSEED_STAGE_FETCH, TSEED_FETCH_AWAY, 0, TSEED_RUN_GOING, TSEED_FLOW_FAILED},
        {TSEED_STAGE_FETCH, TSEED_FETCH_CANCELLED, 0, TSEED_RUN_GOING, TSEED_FLOW_ANEW},
        {TSEED_STAGE_FETCH, TSEED_FETCH_OK, 1, TSEED_RUN_GOING, TSEED_FLOW_ANEW},
        {TSEED_STAGE_FETCH, TSEED_FETCH_FAILED, 1, TSEED_RUN_GOING, TSEED_FLOW_ANEW},
        {TSEED_STAGE_FETCH, TSEED_FETCH_OK, 0, TSEED_RUN_DRAINING, TSEED_FLOW_DROPPED},
        {TSEED_STAGE_CHECK, TSEED_JOB_OK, 0, TSEED_RUN_GOING, TSEED_FLOW_ON},
        {TSEED_STAGE_CHECK, TSEED_JOB_OK, 0, TSEED_RUN_LEAVING, TSEED_FLOW_DROPPED},
        {TSEED_STAGE_CHECK, TSEED_JOB_CRASHED, 0, TSEED_RUN_GOING, TSEED_FLOW_LOST},
        {TSEED_STAGE_CHECK, TSEED_JOB_NO_STORE, 0, TSEED_RUN_GOING, TSEED_FLOW_REFUSED},
        {TSEED_STAGE_DERIVE, TSEED_JOB_OK, 0, TSEED_RUN_GOING, TSEED_FLOW_ON},
        {TSEED_STAGE_DERIVE, TSEED_JOB_OK, 1, TSEED_RUN_GOING, TSEED_FLOW_ANEW},
        {TSEED_STAGE_DERIVE, TSEED_JOB_LACKS, 0, TSEED_RUN_GOING, TSEED_FLOW_LOST},
        {TSEED_STAGE_CUT, TSEED_JOB_OK, 0, TSEED_RUN_GOING, TSEED_FLOW_DONE},
        {TSEED_STAGE_CUT, TSEED_JOB_OK, 1, TSEED_RUN_GOING, TSEED_FLOW_DONE},
        {TSEED_STAGE_CUT, TSEED_JOB_OK, 0, TSEED_RUN_DRAINING, TSEED_FLOW_DONE},
        {TSEED_STAGE_CUT, TSEED_JOB_BAD_ANSWER, 0, TSEED_RUN_GOING, TSEED_FLOW_FAILED},
        {TSEED_STAGE_CUT, TSEED_JOB_NO_BODY, 0, TSEED_RUN_GOING, TSEED_FLOW_ANEW},
        {TSEED_STAGE_CUT, TSEED_JOB_NO_ROOM, 0, TSEED_RUN_GOING, TSEED_FLOW_REFUSED},
        {TSEED_STAGE_CUT, TSEED_JOB_NO_ROOM, 0, TSEED_RUN_DRAINING, TSEED_FLOW_DROPPED},
        {TSEED_STAGE_CUT, TSEED_JOB_STOPPED, 0, TSEED_RUN_GOING, TSEED_FLOW_DROPPED},
        {TSEED_STAGE_REMOVE, TSEED_JOB_OK, 0, TSEED_RUN_LEAVING, TSEED_FLOW_DONE},
        {TSEED_STAGE_REMOVE, TSEED_JOB_MORE, 0, TSEED_RUN_GOING, TSEED_FLOW_AGAIN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const case_t *one = &cases[i];
        const int is_fetch = one->stage == TSEED_STAGE_FETCH;
        const tseed_job_t job = {
            .run = &run,
            .request.stage = one->stage,
            .request.transfer.result = is_fetch ? (tseed_fetch_result_t)one->result : 0,
            .result.outcome = is_fetch ? TSEED_JOB_OK : (tseed_outcome_t)one->result,
            .accounts.is_stale = one->is_stale};

        run.phase = one->phase;
        if (tseed_flow_judge(&job) != one->verdict) {
            fail_msg("case %d: %d", (int)i, (int)tseed_flow_judge(&job));
        }
    }
}

static void test_flow__a_check_that_finds_all_tiles_ends_but_no_look(void **state)
{
    const tseed_range_t tiles = {3, 0, 0, 1, 1};
    tseed_shade_t shade = {0};
    tseed_job_t job = {.run = &run,
                       .metatile = {tiles, tiles},
                       .request.stage = TSEED_STAGE_CHECK,
                       .result = {.present = {0x5}, .written = {0xa}}};

    (void)state;
    assert_int_equal(tseed_flow_judge(&job), TSEED_FLOW_DONE);
    job.savings.shade = &shade;
    assert_int_equal(tseed_flow_judge(&job), TSEED_FLOW_ON);
}

/* ---- beginnings ---- */

static void test_flow__one_run_at_a_metatile_at_a_time(void **state)
{
    (void)state;
    begin(3);
    assert_null(tseed_flow_begin(flow, &other, 3, &sink));
    assert_int_equal(run.jobs->accounts.holds, 1);
}

static void test_flow__looks_or_waits_to_be_fetched(void **state)
{
    tseed_job_t *seed = begin(0), *reseed = begin(1);

    (void)state;
    tseed_flow_start(flow, seed, 1, (tseed_cell_shape_t){1, 1}, NULL);
    assert_int_equal(seed->request.stage, TSEED_STAGE_CHECK);
    assert_int_equal(run.checking, 1);
    tseed_flow_start(flow, reseed, 0, (tseed_cell_shape_t){1, 1}, NULL);
    assert_ptr_equal(take_wanted(), reseed);
    assert_int_equal(pushed, 1);
}

static void test_flow__gives_up_what_crashed_two_seeders(void **state)
{
    (void)state;
    crashes = 1;
    tseed_flow_start(flow, begin(0), 1, (tseed_cell_shape_t){1, 1}, NULL);
    assert_told("");
    crashes = 2;
    tseed_flow_start(flow, begin(1), 0, (tseed_cell_shape_t){1, 1}, NULL);
    assert_told("the seeder crashed twice at work on it 1");
}

/* Which of them it was is not known: each is looked at by itself the next time. */
static void test_flow__gives_up_none_of_joined_jobs_for_a_crash(void **state)
{
    (void)state;
    crashes = 2;
    tseed_flow_start(flow, begin_two(TSEED_STAGE_CHECK), 1, (tseed_cell_shape_t){2, 1}, NULL);
    assert_int_equal(pushed, 1);
}

static void test_flow__gives_up_what_has_an_obstacle(void **state)
{
    (void)state;
    tseed_flow_start(flow, begin(4), 0, (tseed_cell_shape_t){1, 1}, "no tiles below");
    assert_told("no tiles below 4");
}

/* ---- answers ---- */

static void test_flow__an_answer_waits_for_a_worker(void **state)
{
    tseed_job_t *job = begin(0);

    (void)state;
    tseed_flow_get(flow, job);
    assert_int_equal(run.fetching, 1);
    job->request.transfer.result = TSEED_FETCH_OK;
    give_back(job);
    assert_told("heard 0, prepared 0");
    assert_int_equal(run.fetching, 0);
    assert_int_equal(run.pixels_expected, 0);
    assert_int_equal(sizes_taken, 1);
    assert_ptr_equal(tseed_queue_take(&run.ready), job);
    assert_int_equal(job->request.stage, TSEED_STAGE_CUT);
    assert_int_equal(job->request.answered, now);
}

static void test_flow__a_stale_answer_is_fetched_again_without_what_was_made(void **state)
{
    tseed_job_t *job = begin(0);

    (void)state;
    tseed_flow_get(flow, job);
    job->result.written[0] = 1;
    job->accounts.is_stale = 1;
    give_back(job);
    assert_told("heard 0");
    assert_ptr_equal(take_wanted(), job);
    fetch(job, TSEED_FETCH_OK);
    assert_told("heard 0, prepared 0");
    assert_int_equal(tseed_job_written(job), 0);
}

static void test_flow__what_waits_with_a_stale_answer_is_sent_back(void **state)
{
    tseed_job_t *stale = begin(0), *good = begin(1);

    (void)state;
    tseed_flow_cut(stale);
    tseed_flow_cut(good);
    assert_told("prepared 0, prepared 1");
    tseed_jobs_doubt(stale);
    tseed_flow_send_back(&run);
    assert_ptr_equal(take_wanted(), stale);
    assert_ptr_equal(tseed_queue_take(&run.ready), good);
}

static void test_flow__a_failure_is_the_sinks(void **state)
{
    (void)state;
    fetch(begin(0), TSEED_FETCH_FAILED);
    assert_told("heard 0, failed 0/1");
    assert_int_equal(sizes_failed, 0);
}

static void test_flow__a_request_for_several_that_fails_is_parted(void **state)
{
    tseed_job_t *first = begin_two(TSEED_STAGE_FETCH), *second = first->savings.joined;

    (void)state;
    fetch(first, TSEED_FETCH_FAILED);
    assert_told("heard 0");
    assert_int_equal(sizes_failed, 1);
    assert_ptr_equal(take_wanted(), first);
    assert_ptr_equal(take_wanted(), second);
}

static void test_flow__it_waits_whole_while_the_upstream_is_away(void **state)
{
    tseed_job_t *first = begin_two(TSEED_STAGE_FETCH);

    (void)state;
    upstream.timeout = upstream.first_byte_timeout = 1000;
    fetch(first, TSEED_FETCH_AWAY);
    assert_told("heard 0, failed 0/2");
    assert_int_equal(sizes_failed, 0);
}

static void test_flow__drops_what_comes_to_a_run_that_ends(void **state)
{
    (void)state;
    run.phase = TSEED_RUN_DRAINING;
    fetch(begin_two(TSEED_STAGE_FETCH), TSEED_FETCH_OK);
    assert_told("heard 0, dropped 0/2");
}

/* ---- workers ---- */

static void test_flow__each_of_joined_jobs_is_judged_by_itself(void **state)
{
    tseed_job_t *first = begin_two(TSEED_STAGE_CUT), *second = first->savings.joined;

    (void)state;
    tseed_flow_work(flow, first, TSEED_STAGE_CUT);
    second->result.outcome = TSEED_JOB_BAD_ANSWER;
    give_back(first);
    assert_told("finished 0/2");
    assert_int_equal(booked_jobs, 2);
    assert_ptr_equal(take_wanted(), second); /* by itself it may be a picture */
    assert_int_equal(run.working, 0);
    work(second, TSEED_STAGE_CUT, TSEED_JOB_BAD_ANSWER);
    assert_told("failed 1/1");
}

static void test_flow__an_answer_without_a_body_is_asked_for_whole(void **state)
{
    tseed_job_t *job = begin(0);

    (void)state;
    work(job, TSEED_STAGE_CUT, TSEED_JOB_NO_BODY);
    assert_ptr_equal(take_wanted(), job);
    assert_true(job->request.must_fetch);
}

/* The one that waits has the answer, though another one led. */
static void test_flow__who_is_refused_waits_with_the_answer(void **state)
{
    tseed_job_t *first = begin_two(TSEED_STAGE_CUT), *second = first->savings.joined;
    unsigned char *body = malloc(4);

    (void)state;
    first->request.transfer.body = body;
    tseed_flow_work(flow, first, TSEED_STAGE_CUT);
    second->result.outcome = TSEED_JOB_NO_ROOM;
    give_back(first);
    assert_told("finished 0/2, refused 1, paused 1, prepared 1");
    assert_ptr_equal(tseed_queue_take(&run.ready), second);
    assert_ptr_equal(second->request.transfer.body, body);
    assert_int_equal(second->request.due, now + 1);
    assert_int_equal(second->savings.asked.maxx, 3); /* of both: the answer is still all of it */
}

static void test_flow__the_sink_says_what_a_refusal_means(void **state)
{
    tseed_job_t *anew = begin(1);

    (void)state;
    refusal = TSEED_FLOW_LOST;
    work(begin(0), TSEED_STAGE_CUT, TSEED_JOB_NO_ROOM);
    assert_told("refused 0,  0");
    refusal = TSEED_FLOW_ANEW;
    work(anew, TSEED_STAGE_CHECK, TSEED_JOB_NO_STORE);
    assert_told("refused 1");
    assert_ptr_equal(take_wanted(), anew);
    refusal = TSEED_FLOW_DROPPED;
    work(begin(2), TSEED_STAGE_CUT, TSEED_JOB_NO_STORE);
    assert_told("refused 2, dropped 2/1");
}

static void test_flow__a_derived_picture_waits_for_a_worker(void **state)
{
    tseed_job_t *job;

    (void)state;
    run.positions.derived = (tseed_derived_t){3, 4};
    job = begin(0);
    tseed_flow_get(flow, job);
    assert_int_equal(job->request.stage, TSEED_STAGE_DERIVE);
    assert_int_equal(run.deriving, 1);
    give_back(job);
    assert_told("prepared 0");
    assert_int_equal(run.deriving, 0);
    assert_int_equal(fetches, 0);
    assert_ptr_equal(tseed_queue_take(&run.ready), job);
}

static void test_flow__a_level_that_can_not_be_renamed_goes_on_tile_by_tile(void **state)
{
    tseed_job_t *job = begin(0);

    (void)state;
    job->request.is_whole = 1;
    work(job, TSEED_STAGE_REMOVE, TSEED_JOB_MORE);
    assert_ptr_equal(tseed_queue_take(&run.ready), job);
    assert_false(job->request.is_whole);
}

static void test_flow__tiles_that_are_not_stored_are_not_booked(void **state)
{
    tseed_job_t *job = begin(0);

    (void)state;
    job->request.is_unstored = 1;
    refusal = TSEED_FLOW_DROPPED;
    work(job, TSEED_STAGE_CUT, TSEED_JOB_NO_STORE);
    assert_told("refused 0, dropped 0/1");
    assert_int_equal(booked_jobs, 0);
}

/* ---- a store that can't be counted ---- */

static void test_flow__without_a_store_tasks_pause_and_waiting_tiles_are_made(void **state)
{
    tseed_job_t count = {.run = &other, .position = 9}, *job;

    (void)state;
    tseed_flow_cut(begin(0));
    job = tseed_flow_begin(flow, &other, 5, &sink);
    tseed_flow_cut(job);
    assert_told("prepared 0, prepared 5");
    tseed_flow_no_store(flow, &count);
    assert_told("paused 9");
    assert_int_equal(run.ready.count, 1);
    assert_false(run.ready.head->request.is_unstored);
    assert_int_equal(other.ready.count, 0);
    assert_true(job->request.is_unstored);
    assert_int_equal(other.working, 1);
    end(job);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_flow__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(judges_by_stage_and_outcome),
        TEST(a_check_that_finds_all_tiles_ends_but_no_look),
        TEST(one_run_at_a_metatile_at_a_time),
        TEST(looks_or_waits_to_be_fetched),
        TEST(gives_up_what_crashed_two_seeders),
        TEST(gives_up_none_of_joined_jobs_for_a_crash),
        TEST(gives_up_what_has_an_obstacle),
        TEST(an_answer_waits_for_a_worker),
        TEST(a_stale_answer_is_fetched_again_without_what_was_made),
        TEST(what_waits_with_a_stale_answer_is_sent_back),
        TEST(a_failure_is_the_sinks),
        TEST(a_request_for_several_that_fails_is_parted),
        TEST(it_waits_whole_while_the_upstream_is_away),
        TEST(drops_what_comes_to_a_run_that_ends),
        TEST(each_of_joined_jobs_is_judged_by_itself),
        TEST(an_answer_without_a_body_is_asked_for_whole),
        TEST(who_is_refused_waits_with_the_answer),
        TEST(the_sink_says_what_a_refusal_means),
        TEST(a_derived_picture_waits_for_a_worker),
        TEST(a_level_that_can_not_be_renamed_goes_on_tile_by_tile),
        TEST(tiles_that_are_not_stored_are_not_booked),
        TEST(without_a_store_tasks_pause_and_waiting_tiles_are_made),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
