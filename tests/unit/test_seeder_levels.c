/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's process without httpd: levels made of the level below them, and levels that are
 * pruned. Metatiles have 4 x 4 tiles: level 4 has 16 of them, level 5 has 64, levels 0 to 3 have
 * 1, 1, 1 and 4. */
#include "seeder_fixture.h"
#include "state/tseed_finding_rows.h"
#include "tiling/tseed_findings.h"

#define ASKED (16 + 64) /* metatiles of levels 4 and 5 */

/* Metatiles of the levels 0 to zoom_stop, 2 at least: 1 + 1 + 1 + 4 + 16 + … */
static int metatiles(int zoom_stop)
{
    return 2 + pyramid(zoom_stop - 2);
}

/* Levels 0 to 3 are derived. */
static fixture_t *derived(void **state)
{
    fixture_t *fixture = *state;

    fixture->layer->derived = (tseed_derived_t){0, 4};
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    return fixture;
}

static void test_levels__derived_ones_are_not_asked_for(void **state)
{
    fixture_t *fixture = derived(state);
    tseed_progress_t progress = wait_end(fixture, post(fixture, "seed", 5, 2));
    uint64_t sum;

    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.made, pyramid(5));
    assert_int_equal(progress.requests, ASKED);
    assert_int_equal(files(fixture), pyramid(5));
    progress = wait_end(fixture, post(fixture, "seed", 5, 2));
    assert_int_equal(progress.skipped, pyramid(5));
    assert_int_equal(progress.requests, 0);

    sum = sum_of_files(fixture);
    wait_end(fixture, post(fixture, "truncate", 3, 1));
    progress = wait_end(fixture, post(fixture, "seed", 3, 2)); /* of what is there */
    assert_int_equal(progress.made, pyramid(3));
    assert_int_equal(progress.requests, 0);
    assert_int_equal(sum_of_files(fixture), sum);
}

/* A reseed makes derived tiles again only if what they are made of has changed. */
static void test_levels__derived_ones_follow_a_reseed(void **state)
{
    fixture_t *fixture = derived(state);
    tseed_progress_t progress;
    uint64_t sum;

    wait_end(fixture, post(fixture, "seed", 5, 2));
    sum = sum_of_files(fixture);
    progress = wait_end(fixture, post(fixture, "reseed", 5, 2));
    assert_int_equal(progress.unchanged, pyramid(5));
    assert_int_equal(progress.requests, ASKED);
    assert_int_equal(sum_of_files(fixture), sum);
    upstream->tint++;
    progress = wait_end(fixture, post(fixture, "reseed", 5, 2));
    assert_int_equal(progress.made, pyramid(5));
    assert_int_not_equal(sum_of_files(fixture), sum);
}

static void test_levels__derived_ones_are_made_once_over_a_kill(void **state)
{
    fixture_t *fixture = derived(state);
    tseed_progress_t progress;
    int64_t id;

    upstream_answer_only(50);
    id = post(fixture, "seed", 5, 4);
    wait_processed(fixture, id, 16 * 40);
    seeder_stop(fixture, SIGKILL);
    upstream_answer_all();
    seeder_start(fixture);
    progress = wait_end(fixture, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.made, pyramid(5));
    assert_int_equal(files(fixture), pyramid(5));
}

/* Tiles without all that they are made of are not made, up to the top. */
static void test_levels__derived_ones_fail_with_what_is_below(void **state)
{
    fixture_t *fixture = derived(state);
    tseed_progress_t progress;

    upstream->mood = EXCEPTION;
    progress = wait_end(fixture, post(fixture, "seed", 4, 2));
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_int_equal(progress.failed, pyramid(4));
    assert_int_equal(progress.failures, 16 + 4 + 1 + 1 + 1);
    assert_int_equal(files(fixture), 0);
}

/* Below a metatile of the same colour as the one above it all is taken to be of that colour. */
static fixture_t *pruned(void **state, double share)
{
    fixture_t *fixture = *state;

    fixture->layer->uniform = (tseed_uniform_config_t){.is_on = 1, .depth = 1, .share = share};
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    return fixture;
}

/* The next metatile may be under way before the second is known to be of that colour. */
static void assert_asked_twice(const tseed_progress_t *progress, int zoom_stop)
{
    assert_in_range(progress->requests, 2, 3);
    assert_int_equal(progress->made, pyramid((int)progress->requests - 1));
    assert_int_equal(progress->pruned, pyramid(zoom_stop) - progress->made);
    assert_int_equal(progress->spared, metatiles(zoom_stop) - progress->requests);
}

static void test_levels__one_colour_is_asked_for_twice(void **state)
{
    fixture_t *fixture = pruned(state, 0);
    tseed_progress_t progress, again;

    upstream->mood = UNIFORM;
    progress = wait_end(fixture, post(fixture, "seed", 8, 1));
    assert_int_equal(progress.state, TSEED_DONE);
    assert_asked_twice(&progress, 8);
    assert_int_equal(files(fixture), progress.made);
    again = wait_end(fixture, post(fixture, "seed", 8, 2));
    assert_int_equal(again.skipped, pyramid(1));
    assert_int_equal(again.pruned, pyramid(8) - pyramid(1));
    assert_int_equal(again.spared, metatiles(8) - 2);
    assert_int_equal(again.requests, 0);
}

/* Each pruned metatile is looked at, of 64 of a level a quarter. */
static void test_levels__looks_find_what_is_not_so(void **state)
{
    fixture_t *fixture = pruned(state, 100);
    tseed_progress_t progress;

    upstream->mood = UNIFORM;
    progress = wait_end(fixture, post(fixture, "seed", 5, 1));
    assert_int_equal(progress.requests, 1 + 1 + 1 + 4 + 16 + TSEED_LOOKS_MOST);
    assert_in_range(progress.looked, 4 + 16 + TSEED_LOOKS_MOST, 1 + 4 + 16 + TSEED_LOOKS_MOST);
    assert_int_equal(progress.wrong, 0);
    assert_int_equal(progress.pruned, pyramid(5) - progress.made);
    assert_int_equal(progress.spared, metatiles(5) - progress.requests);

    upstream->mood = FINE; /* the sea has become land */
    progress = wait_end(fixture, post(fixture, "reseed", 5, 1));
    assert_int_equal(progress.made, pyramid(5));
    assert_int_equal(progress.pruned, 0);
    assert_int_equal(files(fixture), pyramid(5));
}

static void test_levels__land_is_not_pruned(void **state)
{
    fixture_t *fixture = pruned(state, 0);
    tseed_progress_t progress = wait_end(fixture, post(fixture, "seed", 5, 2));

    assert_int_equal(progress.made, pyramid(5));
    assert_int_equal(progress.pruned, 0);
}

/* What was found is in the database: the next seeder goes on with it. */
static void test_levels__findings_outlive_the_seeder(void **state)
{
    fixture_t *fixture = pruned(state, 0);
    tseed_progress_t progress;

    upstream->mood = UNIFORM;
    wait_end(fixture, post(fixture, "seed", 4, 1));
    seeder_stop(fixture, SIGKILL);
    seeder_start(fixture);
    progress = wait_end(fixture, post(fixture, "seed", 8, 1));
    assert_int_equal(progress.requests, 0);
    assert_int_equal(progress.skipped, pyramid(1));
    assert_int_equal(progress.pruned, pyramid(8) - pyramid(1));
    wait_end(fixture, post(fixture, "truncate", 8, 1));
    progress = wait_end(fixture, post(fixture, "seed", 4, 1));
    assert_asked_twice(&progress, 4);
}

/* How many findings the database has. */
static int findings_saved(fixture_t *fixture)
{
    apr_array_header_t *records, *rows;
    int count = 0;

    assert_int_equal(tseed_books_tilesets(fixture->state, &records, fixture->pool), APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        const int64_t id = APR_ARRAY_IDX(records, i, tseed_tileset_record_t).id;

        assert_int_equal(
            tseed_finding_rows_load(fixture->state, &rows, id, NULL, 100, fixture->pool),
            APR_SUCCESS);
        count += rows->nelts;
    }
    return count;
}

static int64_t forgotten_of(const fixture_t *fixture, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(fixture->board, id, &row) ? row.progress.forgotten : -1;
}

/* A truncate forgets when it is taken in, before it has a thread: the next seeder knows how much.
 * The highest finding has none above it and prunes nothing. */
static void test_levels__a_truncate_says_what_it_forgets(void **state)
{
    fixture_t *fixture = *state;
    tseed_progress_t progress;
    int64_t busy, truncate, forgotten;

    fixture->settings.threads = 1;
    pruned(state, 0);
    upstream->mood = UNIFORM;
    progress = wait_end(fixture, post(fixture, "seed", 4, 1));
    forgotten = progress.requests - 1;
    AWAIT(findings_saved(fixture) == progress.requests);
    upstream->mood = HANGS;
    busy = post_document(fixture, fixture->other, "{'seedRequest':{'zoomStop':0}}");
    AWAIT(progress_of(fixture, busy).state == TSEED_RUNNING);
    truncate = post(fixture, "truncate", 4, 1);
    AWAIT(forgotten_of(fixture, truncate) == forgotten && findings_saved(fixture) == 0);
    seeder_stop(fixture, SIGKILL);
    upstream->mood = UNIFORM;
    seeder_start(fixture);
    progress = wait_end(fixture, truncate);
    assert_int_equal(progress.removed + progress.skipped, pyramid(4));
    assert_int_equal(progress.forgotten, forgotten);
    assert_int_equal(wait_end(fixture, busy).made, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_levels__##name, fixture_setup, fixture_teardown)
        TEST(derived_ones_are_not_asked_for),
        TEST(derived_ones_follow_a_reseed),
        TEST(derived_ones_are_made_once_over_a_kill),
        TEST(derived_ones_fail_with_what_is_below),
        TEST(one_colour_is_asked_for_twice),
        TEST(looks_find_what_is_not_so),
        TEST(land_is_not_pruned),
        TEST(findings_outlive_the_seeder),
        TEST(a_truncate_says_what_it_forgets),
    };

    return cmocka_run_group_tests(tests, upstream_setup, upstream_teardown);
}
