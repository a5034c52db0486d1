/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The sizing: which bounds hold, what is known of levels, layers and earlier seeders, and why a
 * size was chosen. The database is a note here. Level 7 of web mercator has 32 x 32 metatiles. */
#include "board_fixture.h"

#include <apr_strings.h>

#include "base/tseed_log.h"
#include "savings/tseed_sizing.h"
#include "state/tseed_books.h"

#define Z 7

static const char *note; /* NULL: none */
static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_upstream_t upstream;
static tseed_format_t format;
static tseed_subset_t subset;
static tseed_layer_t layer;
static tseed_task_t task;
static tseed_run_t run;
static tseed_job_t jobs[TSEED_CELL_MOST];
static tseed_sizing_t *sizing;
static char said[1024];

apr_status_t tseed_books_note_get(tseed_state_t *state, const char **value, const char *name,
                                  apr_pool_t *p)
{
    (void)state;
    (void)p;
    assert_string_equal(name, "sizes");
    *value = note ? note : *value;
    return note ? APR_SUCCESS : APR_NOTFOUND;
}

apr_status_t tseed_books_note_set(tseed_state_t *state, const char *name, const char *value)
{
    (void)state;
    assert_string_equal(name, "sizes");
    note = apr_pstrdup(pool, value);
    return APR_SUCCESS;
}

static void keep_line(void *baton, tseed_log_level_t level, apr_status_t rv, const char *line)
{
    (void)baton;
    (void)level;
    (void)rv;
    apr_cpystrn(said, line, sizeof(said));
}

static void begin_seeder(void)
{
    context =
        (tseed_context_t){.settings = &settings, .board = board, .pool = pool, .scratch = pool};
    sizing = tseed_sizing_create(&context, &session);
}

static void init_positions(tseed_derived_t derived)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");

    tseed_positions_init_derived(&run.positions, gridset, &gridset->extent,
                                 &(tseed_shape_t){Z, Z + 1, 4, 4}, &derived);
}

/* Metatiles of 4 x 4 tiles, requests of up to 16 x 16, and answers of little memory. */
static int begin(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");

    setup(state);
    note = NULL;
    said[0] = '\0';
    settings = (tseed_settings_t){.workers = 2};
    session.state = (void *)&note; /* any but NULL: what reads and writes it is replaced above */
    upstream = (tseed_upstream_t){.name = "ows", .connections = 4, .timeout = 1};
    format = (tseed_format_t){.mime = "image/png", .from = "image/png"};
    subset = (tseed_subset_t){.gridset = gridset, .zoom_last = 20, .extent = gridset->extent};
    layer = (tseed_layer_t){
        .name = "roads", .most_width = 16, .most_height = 16, .source = {.count = 1}};
    layer.source.addresses[0] = (tseed_address_t){"http://h/wms", &upstream};
    task = (tseed_task_t){.id = 7,
                          .type = TSEED_SEED,
                          .layer = "roads",
                          .zoom_start = Z,
                          .zoom_stop = Z + 1,
                          .meta_width = 4,
                          .meta_height = 4};
    memset(&run, 0, sizeof(run));
    run.task = &task;
    run.tileset = (tseed_tileset_t){.layer = &layer, .subset = &subset, .format = &format};
    init_positions((tseed_derived_t){0, 0});
    run.threads = 4;
    run.pixel_bytes = .1;
    run.answers = 1;
    tseed_log_sink_set(keep_line, NULL);
    begin_seeder();
    return 0;
}

static int end(void **state)
{
    tseed_log_sink_set(NULL, NULL);
    return teardown(state);
}

static int64_t position_at(int z)
{
    return run.positions.first[z];
}

static tseed_choice_t choose_at(int z)
{
    return tseed_sizing_choose(sizing, &run, position_at(z), (tseed_cell_shape_t){0, 0});
}

/* The request of a choice, which has taken so many milliseconds. */
static tseed_job_t *request_of(const tseed_choice_t *choice, int z, double milliseconds)
{
    int64_t found[TSEED_CELL_MOST];
    int count = tseed_cells_at(found, &run.positions, position_at(z), choice->cell);
    tseed_job_t *list = NULL;

    memset(jobs, 0, sizeof(jobs));
    while (count-- > 0) {
        jobs[count].run = &run;
        jobs[count].metatile = tseed_positions_at(&run.positions, found[count]);
        jobs[count].savings.step = choice->step;
        jobs[count].savings.why = (uint8_t)choice->why;
        list = tseed_join_push(list, &jobs[count]);
    }
    tseed_join_chain(list);
    list->request.transfer.result = TSEED_FETCH_OK;
    list->request.transfer.length = 1000;
    list->request.transfer.took = (apr_interval_time_t)(milliseconds * 1000);
    return list;
}

/* An upstream that takes `request` ms for each request and `metatile` ms for each metatile. */
static tseed_choice_t ask(int z, double request, double metatile)
{
    const tseed_choice_t choice = choose_at(z);
    const int metatiles = choice.cell.columns * choice.cell.rows;
    tseed_job_t *leader = request_of(&choice, z, request + metatile * metatiles);

    tseed_sizing_begin(sizing, leader);
    tseed_sizing_take(sizing, leader);
    return choice;
}

static void ask_often(int z, double request, double metatile)
{
    for (int i = 0; i < 40; i++) {
        ask(z, request, metatile);
    }
}

static int metatiles_of(tseed_choice_t choice)
{
    return choice.cell.columns * choice.cell.rows;
}

static void assert_single(tseed_size_reason_t why)
{
    const tseed_choice_t choice = choose_at(Z);

    assert_int_equal(metatiles_of(choice), 1);
    assert_int_equal(choice.step, -1);
    assert_int_equal(choice.why, why);
}

/* ---- who asks for single metatiles ---- */

static void test_sizing__a_fixed_size_is_never_joined(void **state)
{
    (void)state;
    layer.most_width = layer.most_height = 0;
    assert_single(TSEED_SIZE_FIXED);
}

static void test_sizing__runs_that_derive_or_retry_ask_for_single_metatiles(void **state)
{
    (void)state;
    assert_int_equal(metatiles_of(choose_at(Z)), 4);

    init_positions((tseed_derived_t){Z, Z + 1});
    assert_single(TSEED_SIZE_ALONE);
    init_positions((tseed_derived_t){0, 0});

    run.list = apr_array_make(pool, 1, sizeof(tseed_tile_t));
    APR_ARRAY_PUSH((apr_array_header_t *)run.list, tseed_tile_t) = (tseed_tile_t){Z, 0, 0};
    assert_int_equal(tseed_sizing_choose(sizing, &run, 0, (tseed_cell_shape_t){0, 0}).why,
                     TSEED_SIZE_LISTED);
}

/* One metatile is to be blamed for the next crash. */
static void test_sizing__a_task_that_crashed_a_seeder_asks_for_single_metatiles(void **state)
{
    (void)state;
    tseed_board_seeder_begin(board, 1, 1);
    tseed_board_worker_begin(board, 0, task.id, 3);
    tseed_board_crash(board, 0);
    tseed_board_seeder_begin(board, 2, 2);
    assert_single(TSEED_SIZE_CRASHED);
}

/* ---- bounds ---- */

/* What is chosen where a request is all that takes time. */
static tseed_choice_t largest(void)
{
    ask_often(Z, 100, 0);
    return choose_at(Z);
}

static void assert_largest(int columns, int rows, tseed_size_reason_t why)
{
    const tseed_choice_t choice = largest();

    assert_int_equal(choice.cell.columns, columns);
    assert_int_equal(choice.cell.rows, rows);
    assert_int_equal(choice.why, why);
}

static void test_sizing__max_is_the_largest_request(void **state)
{
    (void)state;
    assert_largest(4, 4, TSEED_SIZE_LARGEST);
    assert_non_null(strstr(said, "16 metatiles"));
}

static void test_sizing__max_may_be_wider_than_high(void **state)
{
    (void)state;
    layer.most_width = 8;
    layer.most_height = 4;
    assert_largest(2, 1, TSEED_SIZE_LARGEST);
}

/* 2048 pixels with a gutter of 10 are less than eight tiles: one metatile of four across. */
static void test_sizing__capabilities_bound_a_picture(void **state)
{
    (void)state;
    task.gutter = 10;
    tseed_sizing_bound(sizing, "roads", 2048, 4116);
    assert_largest(1, 4, TSEED_SIZE_LARGEST);
}

static void test_sizing__capabilities_without_bounds_bound_nothing(void **state)
{
    (void)state;
    tseed_sizing_bound(sizing, "roads", 0, 0);
    tseed_sizing_bound(sizing, "rivers", 256, 256);
    assert_largest(4, 4, TSEED_SIZE_LARGEST);
}

/* 2 bytes a pixel and four connections: a cell of 4 metatiles would be 8 MiB, and 6.5 may be. */
static void test_sizing__long_answers_are_not_asked_for(void **state)
{
    (void)state;
    run.pixel_bytes = 2;
    assert_largest(2, 1, TSEED_SIZE_MEMORY);
    run.threads = 3; /* 8.7 MiB for each of them */
    assert_largest(2, 2, TSEED_SIZE_MEMORY);
}

/* A run expects long answers until some have come, whenever in a trial that is: what was the best
 * because more was not possible is not the best when more is. */
static void test_sizing__larger_requests_are_tried_when_answers_turn_out_short(void **state)
{
    (void)state;
    for (int late = 0; late < 24; late++) {
        int largest_asked = 0;

        format.from = apr_psprintf(pool, "image/%d", late); /* nothing is known of it */
        run.pixel_bytes = 3;
        for (int i = 0; i < 40; i++) {
            const int asked = metatiles_of(ask(Z, 100, 10));

            largest_asked = asked > largest_asked ? asked : largest_asked;
            run.pixel_bytes = i < late ? 3 : .75 * run.pixel_bytes;
        }
        assert_int_equal(largest_asked, 16);
    }
}

/* 16 workers with pictures of 4 bytes a pixel: 32 MiB for each of them. */
static void test_sizing__many_workers_decode_smaller_pictures(void **state)
{
    (void)state;
    settings.workers = 16;
    assert_largest(4, 2, TSEED_SIZE_MEMORY);
}

static void test_sizing__a_metatile_is_asked_for_whatever_it_takes(void **state)
{
    (void)state;
    settings.workers = 256;
    run.pixel_bytes = 100;
    assert_int_equal(metatiles_of(largest()), 1);
}

/* ---- choices ---- */

static void test_sizing__requests_stay_small_where_large_ones_are_no_better(void **state)
{
    (void)state;
    ask_often(Z, 0.01, 50);
    assert_int_equal(metatiles_of(choose_at(Z)), 1);
    assert_int_equal(choose_at(Z).why, TSEED_SIZE_BEST);
}

/* A trial in one level is the beginning of the next. */
static void test_sizing__a_level_goes_on_with_what_its_neighbour_knows(void **state)
{
    (void)state;
    assert_int_equal(metatiles_of(choose_at(Z + 1)), 4);
    begin_seeder();
    ask_often(Z, 100, 0);
    assert_int_equal(metatiles_of(choose_at(Z + 1)), 16);
    assert_int_equal(choose_at(Z + 1).why, TSEED_SIZE_LARGEST);
}

static void test_sizing__another_layer_knows_nothing_of_it(void **state)
{
    (void)state;
    ask_often(Z, 100, 0);
    layer.name = "rivers";
    assert_int_equal(choose_at(Z).why, TSEED_SIZE_TRIAL);
    layer.name = "roads";
    format.from = "image/jpeg";
    assert_int_equal(choose_at(Z).why, TSEED_SIZE_TRIAL);
}

/* Four connections, the last 16 metatiles: four for each. */
static void test_sizing__the_rest_is_parted_among_the_connections(void **state)
{
    tseed_choice_t choice;

    (void)state;
    ask_often(Z, 100, 20);
    run.next = run.positions.count - 16;
    choice = choose_at(Z);
    assert_int_equal(choice.why, TSEED_SIZE_REST);
    assert_int_equal(metatiles_of(choice), 4);
}

/* Answers can be compared only when they are of the same request. */
static void test_sizing__a_reseed_asks_as_before(void **state)
{
    const tseed_cell_shape_t before = {2, 1};
    tseed_choice_t choice;

    (void)state;
    ask_often(Z, 1, 50);
    choice = tseed_sizing_choose(sizing, &run, position_at(Z), before);
    assert_int_equal(choice.why, TSEED_SIZE_AS_BEFORE);
    assert_int_equal(choice.cell.columns, 2);
    assert_int_equal(choice.cell.rows, 1);
    choice = tseed_sizing_choose(sizing, &run, position_at(Z), (tseed_cell_shape_t){8, 8});
    assert_int_not_equal(choice.why, TSEED_SIZE_AS_BEFORE); /* it is larger than max= now */
}

/* The size from before costs four times as much as the best one: no reason to keep to it. */
static void test_sizing__a_reseed_does_not_keep_to_what_costs_much(void **state)
{
    const tseed_cell_shape_t before = {2, 2};

    (void)state;
    ask_often(Z, 100, 0);
    assert_int_equal(tseed_sizing_choose(sizing, &run, position_at(Z), before).why,
                     TSEED_SIZE_LARGEST);
}

/* Two levels that are asked for in turn: the second begins with the answer of the first, then each
 * has a trial of its own. */
static void test_sizing__levels_that_are_begun_go_on_by_themselves(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ask(Z, 100, 0);
        ask(Z + 1, 100, 0);
    }
    assert_int_equal(metatiles_of(choose_at(Z)), 4); /* after two answers */
    assert_int_equal(metatiles_of(choose_at(Z + 1)), 16);
    ask(Z, 100, 0);
    assert_int_equal(metatiles_of(choose_at(Z)), 16);
}

/* ---- failures ---- */

static void test_sizing__requests_are_halved_when_one_fails(void **state)
{
    tseed_choice_t choice;
    tseed_job_t *leader;

    (void)state;
    choice = largest();
    leader = request_of(&choice, Z, 100);
    leader->request.stage = TSEED_STAGE_FETCH;
    strcpy(leader->request.transfer.cause, "400 Bad Request");
    tseed_sizing_fail(sizing, leader);
    assert_non_null(strstr(said, "'roads' at level 7: a request for 16x16 tiles failed"));
    assert_non_null(strstr(said, "400 Bad Request"));
    choice = choose_at(Z);
    assert_int_equal(metatiles_of(choice), 8);
    assert_int_equal(choice.why, TSEED_SIZE_FAILED);
    said[0] = '\0';
    tseed_sizing_fail(sizing, leader); /* it was under way already */
    assert_string_equal(said, "");
}

/* Parts, and answers of requests for tiles, say nothing of sizes. */
static void test_sizing__nothing_is_learnt_of_what_nobody_chose(void **state)
{
    tseed_choice_t choice = choose_at(Z);
    tseed_job_t *leader = request_of(&choice, Z, 100);

    (void)state;
    leader->savings.step = -1;
    for (int i = 0; i < 40; i++) {
        tseed_sizing_take(sizing, leader);
        tseed_sizing_fail(sizing, leader);
    }
    assert_int_equal(choose_at(Z).why, TSEED_SIZE_TRIAL);
    assert_string_equal(said, "");
}

/* ---- what others are told ---- */

static void test_sizing__progress_says_what_was_asked_for(void **state)
{
    (void)state;
    largest();
    ask(Z, 100, 0);
    assert_int_equal(run.progress.request_width, 16);
    assert_int_equal(run.progress.request_height, 16);
    assert_int_equal(run.progress.request_why, TSEED_SIZE_LARGEST);
    /* 100 ms for 256 tiles */
    assert_non_null(strstr(said, "for 256 tiles (16 metatiles), which takes 0.39 ms for a tile"));
}

/* Nobody looks at the progress of a run without a task, nor at the size of single metatiles. */
static void test_sizing__others_say_nothing(void **state)
{
    (void)state;
    run.is_background = 1;
    ask(Z, 100, 0);
    assert_int_equal(run.progress.request_width, 0);
    run.is_background = 0;
    layer.most_width = layer.most_height = 0;
    ask(Z, 100, 0);
    assert_int_equal(run.progress.request_width, 0);
    assert_true(tseed_sizing_overhead(sizing, &run, Z) < 0);
}

/* The fetcher is told that a request for 16 takes a little longer than one for a metatile, and
 * nothing while nobody knows. */
static void test_sizing__the_fetcher_knows_how_long_a_request_takes(void **state)
{
    tseed_choice_t choice = choose_at(Z);
    tseed_job_t *leader = request_of(&choice, Z, 100);

    (void)state;
    tseed_sizing_begin(sizing, leader);
    assert_true(leader->savings.weight < 0);
    choice = (tseed_choice_t){{1, 1}, -1, TSEED_SIZE_FIXED};
    leader = request_of(&choice, Z, 100);
    tseed_sizing_begin(sizing, leader);
    assert_true(leader->savings.weight == 0);
}

/* ---- over restarts ---- */

static void test_sizing__the_next_seeder_begins_with_what_was_found(void **state)
{
    (void)state;
    assert_int_equal(tseed_sizing_write(sizing), APR_SUCCESS);
    assert_null(note); /* nothing has changed */
    ask_often(Z, 100, 0);
    assert_int_equal(tseed_sizing_write(sizing), APR_SUCCESS);
    tseed_sizing_saved(sizing);
    assert_non_null(strstr(note, " 7:4:4:0.00"));
    begin_seeder();
    assert_int_equal(metatiles_of(choose_at(Z)), 16);
    assert_int_equal(choose_at(Z).why, TSEED_SIZE_LARGEST);
    assert_int_equal(metatiles_of(choose_at(Z + 1)), 16);
}

/* What is known of the lowest or the highest level is where all others begin. */
static void test_sizing__a_note_may_speak_of_any_level(void **state)
{
    static const char *const levels[] = {"0:4:4:0.01", "63:4:4:0.01", "0:4:6:0.01"};
    char *print;

    (void)state;
    ask_often(Z, 100, 0);
    tseed_sizing_write(sizing);
    print = apr_pstrndup(pool, note, 16);
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        note = apr_psprintf(pool, "%s %s\n", print, levels[i]);
        begin_seeder();
        assert_int_equal(metatiles_of(choose_at(Z)), 16);
    }
    note = apr_psprintf(pool, "%s 0:0:4:0.01\n", print);
    begin_seeder();
    assert_int_equal(metatiles_of(choose_at(Z)), 1);
    assert_int_equal(choose_at(Z).why, TSEED_SIZE_BEST);
    note = apr_psprintf(pool, "%s 64:4:4:0.01\n", print);
    begin_seeder();
    assert_int_equal(choose_at(Z).why, TSEED_SIZE_TRIAL);
}

/* A note that somebody has changed is no reason to fail, nor to ask for what may not be. */
static void test_sizing__what_can_not_be_read_is_not_known(void **state)
{
    static const char *const wrong[] = {"",  "\n", "x",      "0",         " 7:4:4:0.1",
                                        "%", "7",  "7 7:4:", "7 99:4:4:1"};
    static const char *const levels[] = {"7:5:4:0.1", "7:-1:4:0.1", "7:4:7:0.1",
                                         "7:4:4:0",   "7:4:4:-1",   "7:4:4:1e99"};
    char *print;

    (void)state;
    ask_often(Z, 100, 0);
    tseed_sizing_write(sizing);
    print = apr_pstrndup(pool, note, 16);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        note = wrong[i];
        begin_seeder();
        assert_int_equal(choose_at(Z).why, TSEED_SIZE_TRIAL);
    }
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        note = apr_psprintf(pool, "%s %s\n", print, levels[i]);
        begin_seeder();
        assert_int_equal(choose_at(Z).why, TSEED_SIZE_TRIAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_sizing__##name, begin, end)
        TEST(a_fixed_size_is_never_joined),
        TEST(runs_that_derive_or_retry_ask_for_single_metatiles),
        TEST(a_task_that_crashed_a_seeder_asks_for_single_metatiles),
        TEST(max_is_the_largest_request),
        TEST(max_may_be_wider_than_high),
        TEST(capabilities_bound_a_picture),
        TEST(capabilities_without_bounds_bound_nothing),
        TEST(long_answers_are_not_asked_for),
        TEST(larger_requests_are_tried_when_answers_turn_out_short),
        TEST(many_workers_decode_smaller_pictures),
        TEST(a_metatile_is_asked_for_whatever_it_takes),
        TEST(requests_stay_small_where_large_ones_are_no_better),
        TEST(a_level_goes_on_with_what_its_neighbour_knows),
        TEST(another_layer_knows_nothing_of_it),
        TEST(the_rest_is_parted_among_the_connections),
        TEST(a_reseed_asks_as_before),
        TEST(a_reseed_does_not_keep_to_what_costs_much),
        TEST(levels_that_are_begun_go_on_by_themselves),
        TEST(requests_are_halved_when_one_fails),
        TEST(nothing_is_learnt_of_what_nobody_chose),
        TEST(progress_says_what_was_asked_for),
        TEST(others_say_nothing),
        TEST(the_fetcher_knows_how_long_a_request_takes),
        TEST(the_next_seeder_begins_with_what_was_found),
        TEST(a_note_may_speak_of_any_level),
        TEST(what_can_not_be_read_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
