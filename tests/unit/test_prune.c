/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruning, through the door of the savings: what is found, who relies on it, and what ends it.
 * Level z of web mercator has 2^(z-2) metatiles of 4 x 4 tiles a side. Findings prune whose level
 * above is of their colour too. Nothing is joined, and origins say nothing. */
#include "state_fixture.h"

#include "base/tseed_clock.h"
#include "board_memory.h"
#include "origins_fixture.h"
#include "savings/tseed_finding_set.h"
#include "savings/tseed_savings.h"
#include "state/tseed_books.h"

#define FIRST 3
#define LAST  10

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
static tseed_task_t tasks[3];
static tseed_run_t all[3], *const run = all;
static tseed_book_tileset_t *booked;
static tseed_chain_t chain;
static tseed_cutoff_t *cutoff;
static tseed_savings_t *savings;

/* ---- runs of one tile set ---- */

static void make_run(int i, tseed_task_type_t type)
{
    tseed_tileset_t tileset;

    tasks[i] = (tseed_task_t){.id = 7 + i,
                              .type = type,
                              .layer = "sea",
                              .zoom_start = FIRST,
                              .zoom_stop = LAST,
                              .meta_width = 4,
                              .meta_height = 4};
    assert_null(tseed_tileset_init(&tileset, &layer, &subset, &format, NULL, pool));
    all[i] = (tseed_run_t){.task = &tasks[i],
                           .tileset = tileset,
                           .booked = booked,
                           .terminated = 1, /* so that the board has no slot of it */
                           .threads = 4,
                           .answers = 1,
                           .pixel_bytes = .1};
    tseed_positions_init(&all[i].positions, subset.gridset, &subset.gridset->extent,
                         &(tseed_shape_t){FIRST, LAST, 4, 4});
}

/* The next seeder, with the same database. */
static void make_savings(void)
{
    savings = tseed_savings_create(&(tseed_savings_uses_t){
        .context = &context,
        .session = &session,
        .runs = &runs,
        .cache = &cache,
        .cutoff = cutoff,
        .display = tseed_display_create(&context, &session, tseed_durable_create(&cache, pool)),
    });
}

static void enter_tileset(void)
{
    tseed_tileset_t tileset;
    tseed_tileset_record_t record = {.layer = "sea",
                                     .gridset = "EPSG:3857",
                                     .format = "image/png",
                                     .parameters = "{}",
                                     .root = "/tiles",
                                     .place = "",
                                     .recipe = 1,
                                     .complete = 1};
    const fixture_t fixture = {.state = session.state};

    assert_null(tseed_tileset_init(&tileset, &layer, &subset, &format, NULL, pool));
    record.key = tileset.key;
    record.print = tseed_tileset_print(&tileset, pool);
    assert_int_equal(tseed_books_add(fixture.state, &record), APR_SUCCESS);
    cache.book = tseed_book_create(pool);
    chain = (tseed_chain_t){tseed_account_create(), tseed_account_create(), tseed_account_create()};
    booked = tseed_book_add(cache.book, &record, &chain, 0);
}

static int begin(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");
    const fixture_t *fixture;

    setup(state);
    fixture = *state;
    pool = fixture->pool;
    board = make_board(4, 2);
    settings = (tseed_settings_t){.workers = 2};
    context = (tseed_context_t){
        .settings = &settings, .board = board, .mailbox = &mailbox, .pool = pool, .scratch = pool};
    tseed_mailbox_init(&mailbox);
    session = (tseed_session_t){.state = fixture->state};
    upstream = (tseed_upstream_t){.name = "ows", .connections = 4, .timeout = 1};
    tseed_format_init(&format, "image/png", pool);
    subset = (tseed_subset_t){.gridset = gridset, .zoom_last = LAST, .extent = gridset->extent};
    layer = (tseed_layer_t){.name = "sea",
                            .filters = apr_array_make(pool, 1, sizeof(tseed_filter_t)),
                            .meta_width = 4,
                            .meta_height = 4,
                            .uniform = {.is_on = 1, .depth = 1},
                            .source = {.kind = TSEED_SOURCE_XYZ, .count = 1}};
    layer.source.addresses[0] = (tseed_address_t){"http://h/{z}/{x}/{y}.png", &upstream};
    enter_tileset();
    make_run(0, TSEED_SEED);
    runs = (tseed_runs_t){.tasks = run, .count = 1};
    cutoff = tseed_cutoff_create(&context, &runs);
    make_savings();
    return 0;
}

static int end(void **state)
{
    tseed_savings_leave(savings, booked);
    close(mailbox.wake);
    free(board->segment);
    free(chain.layer);
    free(chain.root);
    free(chain.global);
    return teardown(state);
}

/* ---- what is cut ---- */

static int64_t position_of(int z, int64_t x, int64_t y)
{
    return tseed_positions_of_metatile(&run->positions, z, x, y);
}

/* A run has cut a metatile, whose tiles are of one colour. NULL: of several, "?": nobody looked. */
static tseed_job_t cut_by(tseed_run_t *by, int z, int64_t x, int64_t y, const char *colour)
{
    const int64_t position = position_of(z, x, y);
    tseed_job_t job = {.run = by,
                       .request.stage = TSEED_STAGE_CUT,
                       .position = position,
                       .metatile = tseed_run_metatile(by, position)};

    job.result.plain.colours = TSEED_COLOURS_SEVERAL;
    if (colour) {
        job.result.plain.colours = *colour == '?' ? TSEED_COLOURS_UNKNOWN : TSEED_COLOURS_ONE;
        job.result.plain.length = strlen(colour);
        memcpy(job.result.plain.data, colour, strlen(colour));
    }
    return job;
}

static void cut_of(tseed_run_t *by, int z, int64_t x, int64_t y, const char *colour)
{
    tseed_job_t job = cut_by(by, z, x, y, colour);

    tseed_savings_shade(savings, by, job.position); /* as before it is asked for: sets are loaded */
    tseed_savings_took(savings, &job);
}

static void cut(int z, int64_t x, int64_t y, const char *colour)
{
    cut_of(run, z, x, y, colour);
}

/* A look has found tiles of another colour than the finding above has. */
static void cut_wrong(int z, int64_t x, int64_t y, const char *colour)
{
    tseed_job_t job = cut_by(run, z, x, y, colour);
    const tseed_request_t request = {.step = -1};

    tseed_savings_begin(savings, &job, &request);
    assert_non_null(job.savings.shade);
    job.result.is_wrong = 1;
    tseed_savings_took(savings, &job);
}

static void assert_shade(int z, int64_t x, int64_t y, const char *colour)
{
    const tseed_shade_t *shade = tseed_savings_shade(savings, run, position_of(z, x, y));

    if (!colour || !shade) {
        assert_null(shade);
        assert_null(colour);
        return;
    }
    assert_int_equal(shade->length, strlen(colour));
    assert_memory_equal(shade->data, colour, shade->length);
}

static void save(void)
{
    assert_int_equal(tseed_state_begin(session.state), APR_SUCCESS);
    assert_int_equal(tseed_savings_write(savings, 1), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(session.state), APR_SUCCESS);
    tseed_savings_saved(savings, 1);
    assert_false(tseed_savings_has_changes(savings));
}

static int64_t next_of(tseed_run_t *by)
{
    tseed_request_t request;

    tseed_savings_next(&request, savings, by);
    assert_true(request.count <= 1);
    return request.count > 0 ? request.positions[0] : -1;
}

/* The first positions are finished. */
static void go_to(tseed_run_t *by, int z, int64_t x, int64_t y)
{
    tseed_progress_pass(&by->progress, position_of(z, x, y));
}

/* ---- what is found ---- */

static void test_prune__one_level_above_must_be_of_the_colour(void **state)
{
    (void)state;
    cut(3, 0, 0, "blue");
    assert_shade(4, 0, 0, NULL); /* the first alone is not believed */
    cut(4, 0, 0, "blue");
    cut(4, 1, 0, "green");
    cut(4, 2, 0, "blue"); /* above it nothing was found */
    assert_shade(5, 0, 0, "blue");
    assert_shade(5, 1, 1, "blue");
    assert_shade(8, 0, 15, "blue");
    assert_shade(8, 0, 16, NULL);
    assert_shade(5, 2, 0, NULL);
    assert_shade(5, 4, 0, NULL);
    cut(5, 2, 0, "green");
    assert_shade(6, 4, 0, "green");
    assert_shade(4, 0, 0, NULL);
}

static void test_prune__as_many_levels_as_are_configured(void **state)
{
    (void)state;
    layer.uniform.depth = 2;
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    assert_shade(5, 0, 0, NULL);
    cut(5, 0, 0, "blue");
    assert_shade(6, 0, 0, "blue");
    assert_shade(6, 2, 0, NULL);
}

/* The highest level has none above it. */
static void test_prune__the_first_level_of_all_prunes_without_depth(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(3, 1, 1, "blue");
    assert_shade(4, 2, 2, "blue");
    assert_shade(4, 1, 1, NULL);
}

/* Tiles of the last level have nothing below them. */
static void test_prune__the_last_level_is_not_kept(void **state)
{
    (void)state;
    tseed_savings_shade(savings, run, 0);
    cut(LAST, 0, 0, "blue");
    assert_false(tseed_savings_has_changes(savings));
    cut(LAST - 1, 0, 0, "blue");
    assert_true(tseed_savings_has_changes(savings));
}

static void test_prune__several_colours_are_not_kept(void **state)
{
    (void)state;
    cut(4, 0, 0, NULL);
    cut(4, 0, 0, "?");
    assert_false(tseed_savings_has_changes(savings));
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    assert_shade(5, 0, 0, "blue");
    cut(4, 0, 0, NULL); /* made again, it has several */
    assert_shade(5, 0, 0, NULL);
}

/* Requests that wait enter nothing new, but know what has changed. */
static void test_prune__requests_keep_what_is_known(void **state)
{
    tseed_run_t *background = &all[1];

    (void)state;
    make_run(1, TSEED_SEED);
    background->is_background = 1;
    tseed_savings_shade(savings, run, 0);
    cut_of(background, 3, 0, 0, "blue");
    assert_false(tseed_savings_has_changes(savings));
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    cut_of(background, 4, 0, 0, "green");
    assert_shade(5, 0, 0, NULL);
}

/* Tiles that were there, and whose colour is not what was made now, say nothing of all. */
static void test_prune__tiles_that_stay_were_not_looked_at(void **state)
{
    tseed_job_t job;

    (void)state;
    layer.uniform.depth = 0;
    tseed_savings_shade(savings, run, 0);
    job = cut_by(run, 4, 0, 0, "blue");
    job.result.present[0] = 1;
    tseed_savings_took(savings, &job);
    assert_shade(5, 0, 0, NULL);
    job.result.equal = 1; /* but it is just what would be made */
    tseed_savings_took(savings, &job);
    assert_shade(5, 0, 0, "blue");
}

/* A run that wants the tiles of a part: columns and rows from..to-1 of eight at level 3. */
static tseed_run_t *part_run(int i, int minx, int miny, int endx, int endy)
{
    const double side = subset.gridset->extent.maxx / 4, low = subset.gridset->extent.minx;
    const tseed_bounds_t part = {low + minx * side, low + miny * side, low + endx * side,
                                 low + endy * side};

    make_run(i, TSEED_SEED);
    tseed_positions_init(&all[i].positions, subset.gridset, &part,
                         &(tseed_shape_t){FIRST, LAST, 4, 4});
    return &all[i];
}

static void cut_part(tseed_run_t *by, int z, int64_t x, int64_t y, const char *colour)
{
    const int64_t position = tseed_positions_of_metatile(&by->positions, z, x, y);
    tseed_job_t job = cut_by(run, z, x, y, colour);

    job.run = by;
    job.position = position;
    job.metatile = tseed_run_metatile(by, position);
    tseed_savings_shade(savings, by, position);
    tseed_savings_took(savings, &job);
}

/* The rest of the metatile may be of another colour. */
static void test_prune__a_part_speaks_for_nothing(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut_part(part_run(1, 0, 0, 2, 2), 3, 0, 0, "blue");
    assert_shade(4, 0, 0, NULL);
    assert_false(tseed_savings_has_changes(savings));
}

/* ---- what ends it ---- */

static void test_prune__an_island_is_a_hole(void **state)
{
    (void)state;
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    assert_shade(7, 2, 2, "blue");
    cut(6, 1, 1, NULL);
    assert_shade(7, 2, 2, NULL);
    assert_shade(7, 3, 3, NULL);
    assert_shade(7, 4, 3, "blue");
    assert_shade(6, 1, 1, NULL);
    assert_shade(6, 1, 2, "blue");
    cut(6, 1, 1, "blue"); /* of one colour again: what lies below may still be of another */
    assert_shade(6, 1, 1, NULL);
    assert_shade(7, 2, 2, "blue");
    cut(6, 2, 2, "green");
    assert_shade(7, 4, 4, NULL);
}

/* Columns 0 to 2 and rows 0 to 3 of level 3: a part of the metatile 0, 1 of level 4. */
static void test_prune__a_part_of_another_colour_is_a_hole(void **state)
{
    tseed_run_t *west = part_run(1, 0, 0, 2, 3);

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    cut_part(west, 4, 0, 1, "blue");
    assert_shade(6, 0, 4, "blue");
    cut_part(west, 4, 0, 1, "green");
    assert_shade(6, 0, 4, NULL);
    assert_shade(6, 3, 7, NULL);
    assert_shade(6, 0, 3, "blue");
    cut(4, 0, 1, "green"); /* all of it */
    cut_part(west, 4, 0, 1, "green");
    assert_shade(6, 3, 7, "green");
    cut_part(west, 4, 0, 1, "blue");
    assert_shade(6, 3, 7, NULL);
}

static void test_prune__what_was_written_and_not_looked_at_is_a_hole(void **state)
{
    tseed_job_t failed, stale;

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    failed = cut_by(run, 6, 1, 1, NULL);
    failed.result.outcome = TSEED_JOB_NO_STORE;
    tseed_savings_took(savings, &failed);
    assert_shade(7, 2, 2, "blue");
    failed.result.written[0] = 1;
    tseed_savings_took(savings, &failed);
    assert_shade(7, 2, 2, NULL);
    stale = cut_by(run, 6, 2, 2, "blue");
    stale.accounts.is_stale = stale.result.written[0] = 1;
    tseed_savings_took(savings, &stale);
    assert_shade(7, 4, 4, NULL);
    assert_shade(7, 6, 6, "blue");
}

/* What was made below it since was no hole of it. */
static void test_prune__fewer_levels_make_no_finding_prune(void **state)
{
    (void)state;
    layer.uniform.depth = 2;
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    save();
    tseed_savings_leave(savings, booked);
    layer.uniform.depth = 1;
    make_savings();
    assert_shade(5, 0, 0, NULL);
    cut(5, 0, 0, "blue");
    assert_shade(6, 0, 0, "blue");
}

/* Answers of before are asked for again; the findings stay, and nothing is barred. */
static void test_prune__a_reseed_makes_answers_stale(void **state)
{
    const tseed_task_t reseed = {.id = 90,
                                 .type = TSEED_RESEED,
                                 .zoom_start = 4,
                                 .zoom_stop = 4,
                                 .meta_width = 4,
                                 .meta_height = 4,
                                 .has_area = 1,
                                 .bounds = subset.gridset->extent};
    tseed_job_t above = cut_by(run, 3, 0, 0, "blue"), below = cut_by(run, 5, 0, 0, "blue");

    (void)state;
    above.sibling = &below;
    run->jobs = &above;
    tseed_cutoff_draw(cutoff, &reseed, &run->tileset);
    assert_true(above.accounts.is_stale);
    assert_false(below.accounts.is_stale);
    assert_false(tseed_cutoff_has(cutoff, run->tileset.key, &above.metatile.whole));
    run->jobs = NULL;
}

/* What is made again of the colour of its finding above is no hole. */
static void test_prune__what_agrees_with_its_finding_is_no_hole(void **state)
{
    (void)state;
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    cut(6, 1, 1, "blue");
    assert_shade(6, 1, 1, "blue");
    assert_shade(7, 2, 2, "blue");
}

/* A finding that prunes is newer than findings below it of another colour. */
static void test_prune__older_findings_below_are_forgotten(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(5, 1, 1, "green");
    cut(5, 2, 1, "blue");
    assert_shade(6, 2, 2, "green");
    cut(4, 0, 0, "blue");
    assert_shade(6, 2, 2, "blue");
    cut(4, 0, 0, NULL); /* the green one does not count again */
    assert_shade(6, 2, 2, NULL);
    assert_shade(6, 4, 2, "blue");
}

static void test_prune__nothing_stays_known_where_it_is_off(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    layer.uniform.is_on = 0;
    assert_int_equal(next_of(run), 0);
    assert_true(tseed_savings_has_changes(savings));
    save();
    layer.uniform.is_on = 1;
    assert_shade(4, 0, 0, NULL);
}

static void test_prune__another_recipe_makes_other_tiles(void **state)
{
    tseed_job_t job;

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    job = cut_by(run, 3, 1, 0, "blue");
    booked->record.recipe = 2;
    tseed_savings_took(savings, &job); /* nobody has looked at the set since */
    assert_false(tseed_savings_has_changes(savings));
    assert_shade(4, 0, 0, NULL);
    assert_true(tseed_savings_has_changes(savings));
    save();
    tseed_savings_leave(savings, booked);
    assert_shade(4, 0, 0, NULL);
}

/* ---- the next seeder ---- */

static void test_prune__findings_are_loaded(void **state)
{
    (void)state;
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    cut(6, 1, 1, NULL);
    save();
    tseed_savings_leave(savings, booked);
    make_savings();
    assert_shade(5, 0, 0, "blue");
    assert_shade(7, 2, 2, NULL);
    assert_false(tseed_savings_has_changes(savings));
}

/* The database is away: nobody passes anything, and nobody is asked for what may be pruned. */
static void test_prune__without_the_database_nothing_begins(void **state)
{
    tseed_state_t *database = session.state;

    (void)state;
    session.state = NULL;
    assert_int_equal(next_of(run), -1);
    session.state = database;
    session.trouble = "it is away";
    session.retry_at = INT64_MAX;
    assert_int_equal(next_of(run), -1);
    session.retry_at = 0;
    assert_int_equal(next_of(run), 0);
    session.trouble = NULL;
}

/* ---- truncates ---- */

/* What lies in the area, or above it, is forgotten; those that have pruned are counted. */
static void test_prune__a_truncate_forgets_what_was_found(void **state)
{
    const tseed_bounds_t *world = &subset.gridset->extent;
    const tseed_task_t truncate = {.id = 90,
                                   .type = TSEED_TRUNCATE,
                                   .zoom_start = 5,
                                   .zoom_stop = 5,
                                   .meta_width = 4,
                                   .meta_height = 4,
                                   .has_area = 1,
                                   .bounds = {world->minx, world->miny, world->minx / 2, 0}};

    (void)state;
    cut(3, 0, 0, "blue"); /* above, prunes nothing */
    cut(4, 0, 0, "blue"); /* above */
    cut(6, 1, 1, NULL);   /* below: it is as it is */
    cut(3, 1, 1, "green");
    cut(4, 2, 2, "green"); /* beside */
    save();
    tseed_cutoff_draw(cutoff, &truncate, &run->tileset);
    session.must_save = session.must_record = 0;
    tseed_savings_close(savings);
    assert_int_equal(tseed_savings_truncate(savings, &run->tileset), 1);
    assert_true(session.must_save && session.must_record);
    assert_shade(5, 0, 0, NULL);
    assert_shade(5, 4, 4, "green");
    save();
    cut(3, 0, 0, "blue");
    cut(4, 0, 0, "blue");
    tseed_cutoff_end(cutoff, 90);
    assert_int_equal(tseed_savings_truncate(savings, &run->tileset), 0);
    assert_shade(5, 0, 0, "blue");
    /* a seeder that has not read them yet reads, and forgets */
    save();
    tseed_savings_leave(savings, booked);
    make_savings();
    tseed_cutoff_draw(cutoff, &truncate, &run->tileset);
    assert_int_equal(tseed_savings_truncate(savings, &run->tileset), 1);
    tseed_savings_leave(savings, booked);
    make_savings();
    assert_shade(5, 0, 0, NULL); /* so does one that only looks */
    assert_shade(5, 4, 4, "green");
    tseed_cutoff_end(cutoff, 90);
}

/* ---- who passes ---- */

static void test_prune__a_run_passes_and_counts(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue"); /* of 2 x 2 at level 3 */
    save();
    go_to(run, 4, 0, 0);
    assert_int_equal(next_of(run), position_of(4, 2, 0));
    assert_int_equal(run->progress.spared, 2);
    assert_int_equal(run->progress.pruned, 2 * 16);
    tseed_run_hand_out(run, position_of(4, 2, 0));
    tseed_run_hand_out(run, position_of(4, 3, 0));
    assert_int_equal(next_of(run), position_of(4, 2, 1));
    assert_int_equal(run->progress.spared, 4);
    assert_int_equal(run->progress.pruned, 4 * 16);
}

/* What an earlier seeder has finished is not counted again. */
static void test_prune__what_is_finished_is_not_counted_again(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    go_to(run, 4, 0, 0);
    tseed_progress_finish(&run->progress, position_of(4, 1, 0));
    assert_int_equal(next_of(run), position_of(4, 2, 0));
    assert_int_equal(run->progress.spared, 1);
    assert_int_equal(run->progress.pruned, 16);
}

/* A run that is longer than the window is passed when all before it is finished. */
static void test_prune__a_long_run_waits_for_what_is_before_it(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    for (int64_t x = 0; x < 2; x++) {
        for (int64_t y = 0; y < 2; y++) {
            cut(3, x, y, "blue");
        }
    }
    save();
    go_to(run, 3, 1, 1);
    tseed_run_hand_out(run, position_of(3, 1, 1));
    assert_int_equal(next_of(run), -1);
    assert_int_equal(run->progress.spared, 0);
    tseed_progress_finish(&run->progress, position_of(3, 1, 1));
    assert_int_equal(next_of(run), -1);
    assert_true(tseed_run_is_through(run));
    /* levels 4 to 10: 4^2 + ... + 4^8 metatiles of 16 tiles */
    assert_int_equal(run->progress.spared, 87376);
    assert_int_equal(run->progress.pruned, INT64_C(87376) * 16);
}

/* A metatile that was begun before anything was found above it is not passed. */
static void test_prune__a_run_ends_before_what_is_under_way(void **state)
{
    tseed_job_t job;

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    cut(3, 1, 0, "blue");
    save();
    go_to(run, 4, 0, 0);
    job = cut_by(run, 4, 3, 0, "blue");
    tseed_run_hand_out(run, job.position);
    run->jobs = &job;
    /* the rest of the row is passed in two steps */
    assert_int_equal(next_of(run), position_of(4, 0, 2));
    assert_int_equal(run->progress.spared, 7);
    assert_int_equal(run->progress.pruned, 7 * 16);
    assert_false(tseed_progress_is_done(&run->progress, job.position));
    run->jobs = NULL;
}

/* Findings of two tasks alternate by columns: 16 landings a row of level 7. */
static void test_prune__many_landings_are_for_the_next_turn(void **state)
{
    tseed_client_t *client = tseed_savings_client(savings);
    int turns = 0;

    (void)state;
    make_run(1, TSEED_SEED);
    layer.uniform.depth = 0;
    for (int64_t x = 0; x < 16; x++) {
        for (int64_t y = 0; y < 16; y++) {
            cut_of(&all[x % 2], 6, x, y, "blue");
        }
    }
    save();
    go_to(run, 7, 0, 0);
    assert_true(client->due(client->module) == INT64_MAX);
    while (!tseed_run_is_through(run) && turns++ < 100) {
        client->feed(client->module);
        assert_true(client->due(client->module) == INT64_MAX);
        assert_int_equal(next_of(run), -1);
        if (!tseed_run_is_through(run)) {
            assert_true(client->due(client->module) == 0);
        }
    }
    assert_in_range(turns, 3, 100);
    assert_int_equal(run->progress.spared, 1024 + 4096 + 16384 + 65536);
}

/* What the database has not could be lost, and what was passed below it with it. */
static void test_prune__only_what_is_saved_is_relied_on(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    go_to(run, 4, 0, 0);
    assert_int_equal(next_of(run), -1);
    assert_true(session.must_save && session.must_record);
    save();
    assert_int_equal(next_of(run), position_of(4, 2, 0));
}

/* What is found again need not be saved again, but another colour must be. */
static void test_prune__another_colour_is_saved_first(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    cut(3, 0, 0, "blue");
    go_to(run, 4, 0, 0);
    assert_int_equal(next_of(run), position_of(4, 2, 0));
    go_to(run, 4, 0, 1);
    cut(3, 0, 0, "green");
    assert_int_equal(next_of(run), -1);
    save();
    assert_int_equal(next_of(run), position_of(4, 2, 1));
}

/* A task that retries another one passes nothing. */
static void test_prune__a_list_is_asked_for(void **state)
{
    tseed_job_t job;
    tseed_request_t request;

    (void)state;
    layer.uniform = (tseed_uniform_config_t){.is_on = 1, .share = 100};
    cut(3, 0, 0, "blue");
    save();
    run->list = apr_array_make(pool, 1, sizeof(tseed_tile_t));
    *(tseed_tile_t *)apr_array_push((apr_array_header_t *)run->list) = (tseed_tile_t){4, 0, 0};
    tseed_savings_next(&request, savings, run);
    assert_int_equal(request.count, 1);
    assert_int_equal(request.positions[0], 0);
    job = (tseed_job_t){.run = run, .position = 0};
    tseed_savings_begin(savings, &job, &request);
    assert_null(job.savings.shade);
    run->list = NULL;
}

/* ---- reseeds ---- */

static tseed_run_t *reseed(void)
{
    make_run(1, TSEED_RESEED);
    go_to(&all[1], 4, 0, 0);
    return &all[1];
}

/* A reseed relies on what it has found itself, where there is nothing to be made anew. */
static void test_prune__a_reseed_relies_on_its_own_findings(void **state)
{
    tseed_run_t *again = reseed();

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    assert_int_equal(next_of(again), position_of(4, 0, 0)); /* of the seed */
    cut_of(again, 3, 0, 0, "blue");
    save();
    assert_int_equal(next_of(again), position_of(4, 2, 0));
}

static void assert_unclean(tseed_run_t *again)
{
    cut_of(again, 3, 0, 0, NULL); /* forgotten */
    cut_of(again, 3, 0, 0, "blue");
    save();
    assert_int_equal(next_of(again), position_of(4, 0, 0));
}

/* There are tiles below, or may be, or are about to be. */
static void test_prune__a_reseed_makes_anew_what_is_there(void **state)
{
    const tseed_effect_t tiles = {3, 3, 300, 12288}, none = {-3, -3, -300, -12288};
    const tseed_page_t page = {7, 0, 0}, itself = {3, 0, 0}, first = {4, 0, 0};
    tseed_run_t *again = reseed();
    tseed_job_t job = cut_by(run, 5, 1, 1, "?");

    (void)state;
    layer.uniform.depth = 0;
    booked->record.complete = 0;
    assert_unclean(again);
    booked->record.complete = 1;
    booked->in_doubt = 1;
    assert_unclean(again);
    booked->in_doubt = 0;
    run->jobs = &job; /* of the seed */
    assert_unclean(again);
    job.metatile.wanted = (tseed_range_t){5, 9, 9, 9, 9}; /* one tile */
    assert_unclean(again);
    runs.tasks = NULL;
    runs.background = run;
    assert_unclean(again);
    runs.background = NULL;
    runs.tasks = run;
    job = cut_by(run, 5, 4, 1, "?"); /* beside it */
    cut_of(again, 3, 0, 0, NULL);
    cut_of(again, 3, 0, 0, "blue");
    save();
    assert_int_equal(next_of(again), position_of(4, 2, 0));
    run->jobs = NULL;
    again = reseed();
    tseed_book_apply(cache.book, booked, &itself, &tiles, NULL); /* of level 3, not below */
    cut_of(again, 3, 0, 0, NULL);
    cut_of(again, 3, 0, 0, "blue");
    save();
    assert_int_equal(next_of(again), position_of(4, 2, 0));
    again = reseed();
    tseed_book_apply(cache.book, booked, &page, &tiles, NULL); /* tiles 0 to 31 of level 7 */
    assert_unclean(again);
    /* and where they are beside it, all is well */
    cut_of(again, 3, 1, 0, "blue");
    go_to(again, 4, 2, 0);
    save();
    assert_int_equal(next_of(again), position_of(4, 0, 1));
    tseed_book_apply(cache.book, booked, &page, &none, NULL);
    tseed_book_apply(cache.book, booked, &first, &tiles, NULL); /* of level 4 */
    again = reseed();
    assert_unclean(again);
}

/* Its answer was as before: what was found then is true still, for the reseed too. */
static void test_prune__a_reseed_confirms_what_is_unchanged(void **state)
{
    tseed_run_t *again = reseed();

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    cut_of(again, 3, 0, 0, "?");
    save();
    assert_int_equal(next_of(again), position_of(4, 2, 0));
    /* a seed that finds its tiles there learns nothing of their colour */
    cut(5, 0, 0, "?");
    assert_shade(6, 0, 0, "blue");
    /* but where a reseed finds them unchanged they may be of another */
    cut_of(again, 5, 1, 1, "?");
    assert_shade(6, 2, 2, NULL);
    assert_shade(6, 1, 1, "blue");
}

/* ---- looks ---- */

static void test_prune__all_below_a_broad_finding_wait_for_looks(void **state)
{
    tseed_request_t request;
    tseed_job_t job;

    (void)state;
    layer.uniform = (tseed_uniform_config_t){.is_on = 1, .share = 1};
    cut(3, 0, 0, "blue"); /* a quarter: its 4 metatiles of level 4 are looks, those below wait */
    save();
    go_to(run, 4, 0, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next_of(run), position_of(4, i, 0));
        tseed_run_hand_out(run, position_of(4, i, 0));
    }
    request = (tseed_request_t){.step = -1};
    job = cut_by(run, 4, 1, 0, "blue");
    tseed_savings_begin(savings, &job, &request);
    assert_non_null(job.savings.shade);
    run->jobs = &job;
    go_to(run, 5, 0, 0);
    assert_int_equal(next_of(run), -1);
    run->jobs = NULL;
    assert_true(next_of(run) >= position_of(5, 0, 0));
    assert_true(run->progress.spared > 0);
}

/* One wrong look at a broad finding, and it is not believed any more. */
static void test_prune__a_broad_finding_goes_with_its_first_wrong_look(void **state)
{
    (void)state;
    layer.uniform = (tseed_uniform_config_t){.is_on = 1, .share = 100};
    cut(3, 0, 0, "blue");
    save();
    assert_shade(4, 1, 1, "blue");
    cut_wrong(4, 0, 0, NULL);
    assert_shade(4, 1, 1, NULL);
    assert_shade(6, 7, 7, NULL);
}

/* At a deeper level it is an island: the finding stays, but for the hole. */
static void test_prune__a_wrong_look_below_is_an_island(void **state)
{
    (void)state;
    layer.uniform = (tseed_uniform_config_t){.is_on = 1, .share = 100};
    cut(3, 0, 0, "blue");
    save();
    cut_wrong(5, 0, 0, NULL);
    assert_shade(4, 1, 1, "blue");
    assert_shade(5, 1, 0, "blue");
    assert_shade(6, 0, 0, NULL);
}

/* A job that was made of a shade, or has found it confirmed, says nothing new. */
static void test_prune__what_was_painted_says_nothing(void **state)
{
    tseed_job_t job;

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    job = cut_by(run, 4, 0, 0, "green");
    assert_true(tseed_savings_paint(savings, &job));
    tseed_savings_took(savings, &job);
    assert_false(tseed_savings_has_changes(savings));
    job.savings.is_made_of_shade = 0; /* a look that was right */
    tseed_savings_took(savings, &job);
    assert_false(tseed_savings_has_changes(savings));
    tseed_savings_renew(&job);
    assert_null(job.savings.shade);
    job.result.outcome = TSEED_JOB_BAD_ANSWER;
    tseed_savings_took(savings, &job);
    assert_false(tseed_savings_has_changes(savings));
    job = cut_by(run, 4, 2, 2, "green");
    assert_false(tseed_savings_paint(savings, &job));
}

static void test_prune__looks_are_counted(void **state)
{
    tseed_job_t job;

    (void)state;
    layer.uniform = (tseed_uniform_config_t){.is_on = 1, .share = 100};
    cut(3, 0, 0, "blue");
    save();
    job = cut_by(run, 4, 0, 0, NULL);
    tseed_savings_begin(savings, &job, &(tseed_request_t){.step = -1});
    job.result.is_wrong = 1;
    tseed_savings_count(&job);
    job.result.is_wrong = 0;
    job.result.alike = 16;
    tseed_savings_count(&job);
    job.request.stage = TSEED_STAGE_CHECK;
    job.result.alike = 0;
    tseed_savings_count(&job);
    assert_int_equal(run->progress.looked, 2);
    assert_int_equal(run->progress.wrong, 1);
    assert_int_equal(run->progress.pruned, 16);
}

/* ---- estimates ---- */

/* Whether another process expects a task to pass a metatile. */
static int is_known(const tseed_run_t *of, int z, int64_t x, int64_t y)
{
    tseed_known_t *known;

    assert_int_equal(tseed_known_load(&known, session.state, of->task, &of->tileset, pool),
                     APR_SUCCESS);
    return tseed_known_has(known, &of->positions, position_of(z, x, y));
}

static void test_prune__estimates_know_what_is_saved(void **state)
{
    tseed_run_t *again = reseed();

    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    assert_false(is_known(run, 4, 0, 0));
    save();
    assert_true(is_known(run, 4, 0, 0));
    assert_true(is_known(run, 4, 1, 1));
    assert_false(is_known(run, 4, 2, 1));
    assert_true(is_known(again, 4, 0, 0));
    tasks[1].zoom_start = 4; /* it does not meet the metatile above */
    assert_false(is_known(again, 4, 0, 0));
    tasks[1].zoom_start = 3;
    booked->record.complete = 0; /* there may be tiles below */
    cut(3, 0, 0, NULL);
    cut(3, 0, 0, "blue");
    save();
    assert_true(is_known(run, 4, 0, 0));
    assert_false(is_known(again, 4, 0, 0));
}

static void test_prune__estimates_know_nothing_of_other_tiles(void **state)
{
    (void)state;
    layer.uniform.depth = 0;
    cut(3, 0, 0, "blue");
    save();
    recipe = 2;
    assert_false(is_known(run, 4, 0, 0));
    recipe = 1;
    assert_true(is_known(run, 4, 0, 0));
    layer.uniform.is_on = 0;
    assert_false(is_known(run, 4, 0, 0));
    layer.uniform.is_on = 1;
    layer.name = "lake";
    make_run(1, TSEED_SEED);
    assert_false(is_known(&all[1], 4, 0, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_prune__##name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_level_above_must_be_of_the_colour),
        TEST(as_many_levels_as_are_configured),
        TEST(the_first_level_of_all_prunes_without_depth),
        TEST(the_last_level_is_not_kept),
        TEST(several_colours_are_not_kept),
        TEST(requests_keep_what_is_known),
        TEST(tiles_that_stay_were_not_looked_at),
        TEST(a_part_speaks_for_nothing),
        TEST(an_island_is_a_hole),
        TEST(a_part_of_another_colour_is_a_hole),
        TEST(what_was_written_and_not_looked_at_is_a_hole),
        TEST(fewer_levels_make_no_finding_prune),
        TEST(a_reseed_makes_answers_stale),
        TEST(what_agrees_with_its_finding_is_no_hole),
        TEST(older_findings_below_are_forgotten),
        TEST(nothing_stays_known_where_it_is_off),
        TEST(another_recipe_makes_other_tiles),
        TEST(findings_are_loaded),
        TEST(without_the_database_nothing_begins),
        TEST(a_truncate_forgets_what_was_found),
        TEST(a_run_passes_and_counts),
        TEST(what_is_finished_is_not_counted_again),
        TEST(a_long_run_waits_for_what_is_before_it),
        TEST(a_run_ends_before_what_is_under_way),
        TEST(many_landings_are_for_the_next_turn),
        TEST(only_what_is_saved_is_relied_on),
        TEST(another_colour_is_saved_first),
        TEST(a_list_is_asked_for),
        TEST(a_reseed_relies_on_its_own_findings),
        TEST(a_reseed_makes_anew_what_is_there),
        TEST(a_reseed_confirms_what_is_unchanged),
        TEST(all_below_a_broad_finding_wait_for_looks),
        TEST(a_broad_finding_goes_with_its_first_wrong_look),
        TEST(a_wrong_look_below_is_an_island),
        TEST(what_was_painted_says_nothing),
        TEST(looks_are_counted),
        TEST(estimates_know_what_is_saved),
        TEST(estimates_know_nothing_of_other_tiles),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
