/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The door of the savings: how they go together in one run. Level 5 of web mercator has 8 x 8
 * metatiles of 4 x 4 tiles, level 6 has 16 x 16. Origins say nothing here. */
#include "state_fixture.h"

#include "base/tseed_clock.h"
#include "board_memory.h"
#include "origins_fixture.h"
#include "savings/tseed_savings.h"
#include "state/tseed_books.h"

#define TOP      5
#define POSITION 64 /* of the first metatile of level 6 */
#define LEFT     256

static tseed_board_t *board;
static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_mailbox_t mailbox;
static tseed_cache_t cache;
static tseed_runs_t runs;
static tseed_upstream_t upstream;
static tseed_format_t format;
static tseed_subset_t subset;
static tseed_layer_t layer;
static tseed_task_t tasks[2];
static tseed_run_t all[2], *const run = all;
static tseed_book_tileset_t booked[2];
static tseed_savings_t *savings;

/* ---- one run, and a partner of another tile set ---- */

static void make_run(int i)
{
    const tseed_gridset_t *gridset = subset.gridset;

    tasks[i] = (tseed_task_t){.id = 7 + i,
                              .type = TSEED_SEED,
                              .layer = "sea",
                              .zoom_start = TOP,
                              .zoom_stop = TOP + 1,
                              .meta_width = 4,
                              .meta_height = 4};
    booked[i] = (tseed_book_tileset_t){.number = (unsigned)i + 1,
                                       .record = {.print = 1 + (uint64_t)i,
                                                  .key = "k",
                                                  .layer = "sea",
                                                  .gridset = "EPSG:3857",
                                                  .format = "image/png",
                                                  .parameters = "{}",
                                                  .root = "/tiles",
                                                  .place = ""}};
    all[i] = (tseed_run_t){.task = &tasks[i],
                           .tileset = {.layer = &layer, .subset = &subset, .format = &format},
                           .booked = &booked[i],
                           .terminated = 1, /* so that the board has no slot of it */
                           .threads = 4,
                           .answers = 1,
                           .pixel_bytes = .1};
    tseed_positions_init(&all[i].positions, gridset, &gridset->extent,
                         &(tseed_shape_t){TOP, TOP + 1, 4, 4});
    tseed_progress_pass(&all[i].progress, POSITION); /* level 5 is done */
}

static int begin(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");

    const fixture_t *fixture;

    setup(state);
    fixture = *state;
    pool = fixture->pool;
    board = make_board(4, 2);
    asked = taken = forgotten = left = 0;
    settings = (tseed_settings_t){.workers = 2};
    context = (tseed_context_t){
        .settings = &settings, .board = board, .mailbox = &mailbox, .pool = pool, .scratch = pool};
    tseed_mailbox_init(&mailbox);
    session = (tseed_session_t){.state = fixture->state};
    upstream = (tseed_upstream_t){.name = "ows", .connections = 4, .timeout = 1};
    format = (tseed_format_t){.mime = "image/png", .from = "image/png"};
    subset = (tseed_subset_t){.gridset = gridset, .zoom_last = 20, .extent = gridset->extent};
    layer = (tseed_layer_t){.name = "sea",
                            .most_width = 16,
                            .most_height = 16,
                            .uniform = {.is_on = 1},
                            .source = {.kind = TSEED_SOURCE_XYZ, .count = 1}};
    layer.source.addresses[0] = (tseed_address_t){"http://h/{z}/{x}/{y}.png", &upstream};
    make_run(0);
    assert_int_equal(tseed_books_add(fixture->state, &booked[0].record), APR_SUCCESS);
    runs = (tseed_runs_t){.tasks = run, .count = 1};
    savings = tseed_savings_create(&(tseed_savings_uses_t){
        .context = &context,
        .session = &session,
        .runs = &runs,
        .cache = &cache,
        .cutoff = tseed_cutoff_create(&context, &runs),
        .display = tseed_display_create(&context, &session, tseed_durable_create(&cache, pool)),
    });
    return 0;
}

static int end(void **state)
{
    for (int i = 0; i < 2; i++) {
        tseed_savings_leave(savings, &booked[i]);
    }
    close(mailbox.wake);
    free(board->segment);
    return teardown(state);
}

/* The metatile in a column and row of level 5 is of one colour, and cut. */
static tseed_job_t find_sea(int64_t x, int64_t y)
{
    const int64_t position = tseed_positions_of(&run->positions, TOP, 4 * x, 4 * y);
    tseed_job_t job = {.run = run,
                       .request.stage = TSEED_STAGE_CUT,
                       .position = position,
                       .metatile = tseed_run_metatile(run, position)};

    job.result.plain.colours = TSEED_COLOURS_ONE;
    job.result.plain.length = 4;
    memcpy(job.result.plain.data, "blue", 4);
    assert_null(tseed_savings_shade(savings, run, position));
    tseed_savings_took(savings, &job);
    return job;
}

static void save(void)
{
    assert_true(tseed_savings_has_changes(savings));
    assert_int_equal(tseed_state_begin(session.state), APR_SUCCESS);
    assert_int_equal(tseed_savings_write(savings, 1), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(session.state), APR_SUCCESS);
    tseed_savings_saved(savings, 1);
    assert_false(tseed_savings_has_changes(savings));
}

/* Hands out the positions of what comes next. Returns how many there were. */
static int hand_out(tseed_request_t *request)
{
    tseed_savings_next(request, savings, run);
    for (int i = 0; i < request->count; i++) {
        assert_true(tseed_run_is_free(run, request->positions[i]));
        assert_true(i == 0 || request->positions[i] > request->positions[i - 1]);
        tseed_run_hand_out(run, request->positions[i]);
    }
    return request->count;
}

static int is_below(int64_t position, int64_t x, int64_t y)
{
    const tseed_place_t place = tseed_positions_place(&run->positions, position);

    return place.block.z == TOP + 1 && place.x / 2 == x && place.y / 2 == y;
}

/* ---- what comes next ---- */

static void test_savings__what_is_not_pruned_is_joined(void **state)
{
    tseed_request_t request;
    int metatiles = 0, requests = 0;

    (void)state;
    find_sea(0, 0);
    find_sea(3, 4);
    save();
    for (; hand_out(&request) > 0; requests++) {
        metatiles += request.count;
        for (int i = 0; i < request.count; i++) {
            assert_false(is_below(request.positions[i], 0, 0));
            assert_false(is_below(request.positions[i], 3, 4));
        }
    }
    assert_int_equal(metatiles, LEFT - 8);
    assert_in_range(requests, 1, metatiles / 4 + 1); /* the first trial is of four */
    assert_int_equal(run->progress.spared, 8);
    assert_int_equal(run->progress.pruned, 8 * 16);
}

static void test_savings__what_prunes_is_saved_before(void **state)
{
    tseed_request_t request;

    (void)state;
    find_sea(0, 0);
    assert_int_equal(hand_out(&request), 0);
    assert_true(session.must_save && session.must_record);
    save();
    assert_int_equal(hand_out(&request), 4);
}

static void test_savings__looks_are_requests_of_their_own(void **state)
{
    tseed_request_t request;
    tseed_job_t job = {.run = run};

    (void)state;
    layer.uniform.share = 100;
    find_sea(0, 0);
    save();
    assert_int_equal(hand_out(&request), 1);
    assert_int_equal(request.why, TSEED_SIZE_ALONE);
    job.position = request.positions[0];
    tseed_savings_begin(savings, &job, &request);
    assert_int_equal(job.savings.step, -1);
    assert_int_equal(job.savings.why, TSEED_SIZE_ALONE);
    assert_true(tseed_job_is_look(&job) && tseed_job_must_fetch(&job));
    assert_memory_equal(job.savings.shade->data, "blue", 4);
    assert_ptr_equal(tseed_savings_shade(savings, run, job.position), job.savings.shade);
}

/* Not even with its neighbour, an island that another task has found. */
static void test_savings__looks_leave_islands_out(void **state)
{
    const int64_t position = tseed_positions_of_metatile(&run->positions, TOP + 1, 1, 0);
    tseed_job_t island = {.run = run,
                          .request.stage = TSEED_STAGE_CUT,
                          .position = position,
                          .metatile = tseed_run_metatile(run, position)};
    tseed_request_t request;

    (void)state;
    layer.uniform.share = 100;
    find_sea(0, 0);
    island.result.plain.colours = TSEED_COLOURS_SEVERAL;
    tseed_savings_took(savings, &island);
    save();
    assert_int_equal(hand_out(&request), 1);
    assert_int_equal(request.positions[0], POSITION);
}

static void test_savings__nothing_is_learnt_from_what_is_stale(void **state)
{
    tseed_job_t job = find_sea(0, 0);
    tseed_request_t request;

    (void)state;
    tseed_savings_leave(savings, run->booked);
    assert_int_equal(left, 1);
    tseed_savings_next(&request, savings, run); /* the tile set has come anew */
    job.accounts.is_stale = 1;
    tseed_savings_took(savings, &job);
    assert_int_equal(taken, 1);
    assert_int_equal(forgotten, 1);
    assert_false(tseed_savings_has_changes(savings));
    assert_int_equal(hand_out(&request), 4);
    assert_int_equal(request.positions[0], POSITION);
}

static void test_savings__derived_metatiles_wait_for_what_lies_below(void **state)
{
    tseed_job_t below = {.run = run};
    tseed_request_t request;

    (void)state;
    layer.uniform.is_on = 0;
    run->positions.derived = (tseed_derived_t){TOP + 1, TOP + 2};
    below.metatile = tseed_run_metatile(run, 0);
    run->jobs = &below;
    assert_int_equal(hand_out(&request), 0);
    run->jobs = NULL;
    assert_int_equal(hand_out(&request), 1);
    below.metatile = tseed_run_metatile(run, request.positions[0]);
    assert_true(tseed_savings_draws(savings, &below));
    tseed_savings_derive(savings, &below);
    assert_int_equal(asked, 1);
    below.request.stage = TSEED_STAGE_DERIVE;
    below.result.has_broken = 1;
    tseed_savings_took(savings, &below);
    assert_int_equal(forgotten, 64);
}

/* ---- what is asked ---- */

/* The run of another format asks for what the first one has asked for. */
static void test_savings__a_request_serves_two_runs(void **state)
{
    tseed_job_t leader = {.run = run, .request.url = "u"}, follower;
    tseed_request_t request;
    int address;

    (void)state;
    make_run(1);
    all[0].next_run = &all[1];
    runs.count = 2;
    hand_out(&request);
    leader.position = request.positions[0];
    leader.metatile = tseed_run_metatile(run, leader.position);
    tseed_join_chain(&leader);
    follower = leader;
    follower.run = &all[1];
    assert_true(tseed_savings_ask(savings, &leader, 0));
    assert_false(tseed_savings_wait(savings, run, tseed_clock_monotonic()));
    assert_true(tseed_savings_follow(savings, tseed_savings_partner(savings, &follower, &address),
                                     &follower));
    assert_int_equal(address, 0);
    tseed_savings_drain(savings, &all[1]);
    assert_int_equal(follower.request.transfer.result, TSEED_FETCH_CANCELLED);
    leader.request.transfer.result = TSEED_FETCH_OK;
    tseed_savings_came(savings, &leader);
    assert_null(tseed_savings_partner(savings, &follower, &address)); /* who had it */
    assert_true(tseed_savings_ask(savings, &leader, 0));
    tseed_savings_came(savings, &leader);
    assert_non_null(tseed_savings_partner(savings, &follower, &address));
    tseed_savings_close(savings);
    assert_int_equal(tseed_savings_truncate(savings, &run->tileset), 0);
    assert_null(tseed_savings_partner(savings, &follower, &address));
    tseed_savings_tick(savings);
}

/* The last run that could follow has gone. */
static void test_savings__answers_that_nobody_needs_are_forgotten(void **state)
{
    tseed_job_t leaders[3];
    int address;

    (void)state;
    make_run(1);
    all[0].next_run = &all[1];
    runs.count = 2;
    for (int i = 0; i < 3; i++) {
        leaders[i] = (tseed_job_t){.run = run, .request.url = "u", .position = POSITION + 2 * i};
        leaders[i].metatile = tseed_run_metatile(run, leaders[i].position);
        tseed_join_chain(&leaders[i]);
        assert_true(tseed_savings_ask(savings, &leaders[i], 0));
        leaders[i].request.transfer.result = TSEED_FETCH_OK;
        tseed_savings_came(savings, &leaders[i]);
    }
    tseed_savings_tick(savings);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            leaders[i].run = &all[1];
            assert_int_equal(tseed_savings_partner(savings, &leaders[i], &address) != NULL,
                             round == 0);
        }
        all[0].next_run = NULL;
        tseed_savings_tick(savings);
    }
}

/* The upstream draws no more than 8 x 8 tiles. */
static void test_savings__requests_keep_to_the_upstream(void **state)
{
    tseed_request_t request;

    (void)state;
    tseed_savings_bound(savings, "sea", 8 * 256, 8 * 256);
    for (int i = 0; i < 20 && hand_out(&request) > 0; i++) {
        assert_in_range(request.count, 1, 4);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_savings__##name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_pruned_is_joined),
        TEST(what_prunes_is_saved_before),
        TEST(looks_are_requests_of_their_own),
        TEST(looks_leave_islands_out),
        TEST(answers_that_nobody_needs_are_forgotten),
        TEST(nothing_is_learnt_from_what_is_stale),
        TEST(derived_metatiles_wait_for_what_lies_below),
        TEST(a_request_serves_two_runs),
        TEST(requests_keep_to_the_upstream),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
