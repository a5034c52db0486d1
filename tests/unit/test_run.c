/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Runs: what they are told of tiles that the disk quota removes, and how they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "work/tseed_run.h"

static tseed_book_tileset_t roads, states;
static tseed_task_t task, truncate_task;
static tseed_run_t run, other;

/* The task has columns 32 to 63 of row 0 to 31 in level 6: the page 1/0. */
static int setup(void **state)
{
    const tseed_range_t tiles = {6, 32, 0, 63, 31};

    (void)state;
    task = (tseed_task_t){.type = TSEED_SEED, .tiles_total = 1024};
    truncate_task = (tseed_task_t){.type = TSEED_TRUNCATE};
    run = other = (tseed_run_t){.task = &task, .booked = &roads};
    for (int z = 0; z < TSEED_LEVELS_MAX; z++) {
        run.positions.range[z] = (tseed_range_t){z, 0, 0, -1, -1};
    }
    run.positions.range[6] = tiles;
    other.positions = run.positions;
    run.next_run = &other;
    return 0;
}

/* What both are told of 10 tiles that were removed from this page. */
static void assert_expired(int z, int64_t x, int64_t y, int64_t of_run, int64_t of_other)
{
    const tseed_range_t page = {z, 32 * x, 32 * y, 32 * x + 31, 32 * y + 31};

    run.expired = other.expired = 0;
    tseed_run_expire(&run, &roads, &page, 10);
    assert_int_equal(run.expired, of_run);
    assert_int_equal(other.expired, of_other);
}

static void test_run__expires_in_its_own_tiles(void **state)
{
    (void)state;
    assert_expired(6, 1, 0, 10, 10);
    assert_expired(6, 0, 0, 0, 0);
    assert_expired(6, 1, 1, 0, 0);
    assert_expired(7, 1, 0, 0, 0);
    run.positions.range[6].maxx = 32; /* one column is enough */
    other.positions.range[6].minx = 64;
    other.positions.range[6].maxx = 95;
    assert_expired(6, 1, 0, 10, 0);
    assert_expired(6, 2, 0, 0, 10);
}

static void test_run__expires_in_its_own_tile_set(void **state)
{
    (void)state;
    run.booked = &states;
    assert_expired(6, 1, 0, 0, 10);
}

static void test_run__a_truncate_loses_nothing(void **state)
{
    (void)state;
    other.task = &truncate_task;
    assert_expired(6, 1, 0, 10, 0);
}

static void test_run__what_has_expired_adds_up(void **state)
{
    const tseed_range_t page = {6, 32, 0, 63, 31};

    (void)state;
    tseed_run_expire(&run, &roads, &page, 10);
    tseed_run_expire(&run, &roads, &page, 5);
    assert_int_equal(run.expired, 15);
}

static void assert_end(tseed_task_state_t end, const char *reason)
{
    tseed_run_conclude(&run);
    assert_int_equal(run.progress.state, end);
    assert_string_equal(run.progress.reason, reason);
}

static void test_run__an_end_says_what_has_expired(void **state)
{
    (void)state;
    assert_end(TSEED_DONE, "");
    run.expired = 1;
    assert_end(TSEED_DONE, "the disk quota removed at least 1 tile of its pages while it ran");
    run.progress = (tseed_progress_t){.made = 1, .failures = 1};
    run.expired = 2;
    assert_end(TSEED_DONE, "the disk quota removed at least 2 tiles of its pages while it ran; "
                           "1 metatile failed");
}

/* Nothing was made, so nothing of it is gone. */
static void test_run__without_a_tile_it_has_failed(void **state)
{
    (void)state;
    run.progress.failures = 2;
    run.expired = 1;
    run.progress.pruned = 1000;
    assert_end(TSEED_ABORTED, "nothing was made: 2 metatiles failed");
    run.progress = (tseed_progress_t){.failures = 2, .unchanged = 1};
    run.expired = 0;
    assert_end(TSEED_DONE, "2 metatiles failed");
}

/* An upstream that is blank for a while looks like a sea. */
static void test_run__an_end_says_that_most_was_pruned(void **state)
{
    tseed_layer_t layer = {.uniform = {.share = 0.01}};

    run.tileset.layer = &layer;
    (void)state;
    run.progress.pruned = 512;
    assert_end(TSEED_DONE, "");
    run.progress.pruned = 768;
    assert_end(TSEED_DONE, "75 % of its tiles are taken to be of one colour: TileSeedPrune, a "
                           "reseed asks again");
    run.progress = (tseed_progress_t){.made = 1, .pruned = 768};
    layer.uniform.share = 0;
    assert_end(TSEED_DONE, "75 % of its tiles are taken to be of one colour: TileSeedPrune, a "
                           "reseed asks again, and with check=0 no seed does");
}

static void test_run__is_new_until_eight_answers_came(void **state)
{
    (void)state;
    assert_true(tseed_run_is_new(&run));
    run.answers = 7;
    assert_true(tseed_run_is_new(&run));
    run.answers = 8;
    assert_false(tseed_run_is_new(&run));
}

/* Two threads, 3 seconds for a metatile of 16 tiles: 6 seconds of threads. */
static void test_run__measures_what_a_metatile_takes(void **state)
{
    tseed_upstream_t upstream = {.connections = 2};
    tseed_layer_t layer = {.source = {.count = 1}};
    tseed_job_t job = {.request.stage = TSEED_STAGE_CUT,
                       .metatile.whole = {6, 32, 0, 35, 3},
                       .result = {.made = 16, .bytes = 4000}};
    const apr_time_t second = APR_USEC_PER_SEC;

    (void)state;
    layer.source.addresses[0] = (tseed_address_t){"u", &upstream};
    run.tileset.layer = &layer;
    run.threads = 4;
    run.measured_at = 10 * second;
    tseed_run_measure(&run, &job, 13 * second);
    assert_int_equal(run.measures[6].metatiles, 1);
    assert_int_equal(run.measures[6].tiles, 16);
    assert_true(run.measures[6].bytes == 4000);
    assert_true(run.measures[6].busy == 6);
    assert_true(run.is_measured);
    assert_true(run.measured_at == 13 * second);
    run.pause_until = 15 * second; /* it paused meanwhile */
    tseed_run_measure(&run, &job, 16 * second);
    assert_true(run.measures[6].busy == 8);
    run.pause_until = 0;
    run.threads = 1;
    tseed_run_measure(&run, &job, 14 * second); /* not less than nothing */
    assert_true(run.measures[6].busy == 8);
    assert_int_equal(run.measures[6].metatiles, 3);
    tseed_run_measures_saved(&run); /* the database has the sums: new ones begin */
    assert_false(run.is_measured);
    job.request.stage = TSEED_STAGE_CHECK;
    job.result = (tseed_job_result_t){.skipped = 16};
    tseed_run_measure_from(&run, 20 * second);
    tseed_run_measure(&run, &job, 21 * second);
    assert_true(run.measures[6].looks == 16 && run.measures[6].looking == 1);
    assert_int_equal(run.measures[6].metatiles, 0);
    /* an answer without tiles, and a time when the upstream was away, are none */
    tseed_run_measures_saved(&run);
    job.request.stage = TSEED_STAGE_CUT;
    tseed_run_measure(&run, &job, 22 * second);
    assert_int_equal(run.measures[6].metatiles, 0);
    tseed_run_measures_saved(&run);
    run.waits_since = 1;
    job.result.made = 16;
    tseed_run_measure(&run, &job, 30 * second);
    assert_int_equal(run.measures[6].metatiles, 0);
    assert_false(run.is_measured);
    assert_true(run.measured_at == 30 * second);
}

static void test_run__begins_once(void **state)
{
    (void)state;
    run.progress.removed = 7;
    tseed_run_begin(&run, 55);
    assert_int_equal(run.progress.state, TSEED_RUNNING);
    assert_true(run.progress.started > 0);
    assert_true(run.measured_at == 55);
    assert_int_equal(run.removed_before, 7);
    run.progress.started = 3; /* by an earlier seeder */
    tseed_run_begin(&run, 56);
    assert_int_equal(run.progress.started, 3);
}

/* The end that is set already says so too. */
static void test_run__what_may_be_lost_is_told(void **state)
{
    (void)state;
    run.progress.state = TSEED_RUNNING;
    tseed_run_doubt(&run);
    assert_true(run.is_doubtful);
    assert_string_equal(run.progress.reason, "");
    run.is_doubtful = 0;
    run.progress.state = TSEED_DONE;
    tseed_run_doubt(&run);
    assert_int_equal(run.progress.reason_code, TSEED_REASON_UNSAFE);
    assert_int_not_equal(*run.progress.reason, '\0');
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(test_run__##name, setup)
    const struct CMUnitTest tests[] = {
        TEST(expires_in_its_own_tiles),         TEST(expires_in_its_own_tile_set),
        TEST(a_truncate_loses_nothing),         TEST(what_has_expired_adds_up),
        TEST(an_end_says_what_has_expired),     TEST(without_a_tile_it_has_failed),
        TEST(an_end_says_that_most_was_pruned), TEST(is_new_until_eight_answers_came),
        TEST(measures_what_a_metatile_takes),   TEST(begins_once),
        TEST(what_may_be_lost_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
