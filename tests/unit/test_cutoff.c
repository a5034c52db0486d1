/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutoff: what a truncate makes out of date, and for how long. Level z of web mercator has 2^z
 * tiles a side; the truncate removes levels 4 to 6 of the south west. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "books/tseed_cutoff.h"

#include "pool_fixture.h"

static tseed_context_t context;
static tseed_runs_t runs;
static tseed_subset_t subset;
static tseed_layer_t layer;
static tseed_task_t truncate_task;
static tseed_run_t run, other;
static tseed_job_t jobs[4];
static tseed_cutoff_t *cutoff;

static int begin(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");

    (void)state;
    context = (tseed_context_t){.pool = pool, .scratch = pool};
    subset = (tseed_subset_t){.gridset = gridset, .zoom_last = 20, .extent = gridset->extent};
    layer = (tseed_layer_t){.name = "sea"};
    run = (tseed_run_t){.tileset = {.layer = &layer, .subset = &subset, .key = "sea/a"}};
    other = (tseed_run_t){.tileset = {.layer = &layer, .subset = &subset, .key = "sea/b"}};
    run.next_run = &other;
    runs = (tseed_runs_t){.tasks = &run, .count = 2};
    tseed_positions_init_derived(&run.positions, gridset, &gridset->extent,
                                 &(tseed_shape_t){0, 8, 4, 4}, &(tseed_derived_t){2, 6});
    other.positions = run.positions;
    truncate_task = (tseed_task_t){.id = 90,
                                   .type = TSEED_TRUNCATE,
                                   .zoom_start = 4,
                                   .zoom_stop = 6,
                                   .meta_width = 4,
                                   .meta_height = 4,
                                   .has_area = 1,
                                   .bounds = {gridset->extent.minx, gridset->extent.miny, -1, -1}};
    cutoff = tseed_cutoff_create(&context, &runs);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tseed_cutoff_end(cutoff, 90);
    tseed_cutoff_end(cutoff, 91);
    return 0;
}

static void draw(void)
{
    tseed_cutoff_draw(cutoff, &truncate_task, &run.tileset);
}

static int has(int z, int64_t x, int64_t y)
{
    return tseed_cutoff_has(cutoff, "sea/a", &(tseed_range_t){z, x, y, x, y});
}

static int64_t bars(const tseed_run_t *of, int z, int64_t x, int64_t y)
{
    return tseed_cutoff_bars(cutoff, of, &(tseed_range_t){z, x, y, x, y});
}

/* What lies in its area, and above it: a finding there speaks of what is below. */
static void test_cutoff__has_what_lies_in_the_area_or_above(void **state)
{
    (void)state;
    assert_false(has(5, 0, 0));
    draw();
    assert_true(has(5, 0, 0));
    assert_true(has(5, 15, 15));
    assert_false(has(5, 16, 15));
    assert_false(has(5, 15, 16));
    assert_true(has(6, 31, 31));
    assert_true(has(2, 1, 1)); /* above the levels that it removes */
    assert_true(has(0, 0, 0));
    assert_false(has(7, 0, 0)); /* below them */
    assert_false(has(-1, 0, 0));
    assert_true(tseed_cutoff_has(cutoff, "sea/a", &(tseed_range_t){5, 15, 15, 18, 18}));
    assert_false(tseed_cutoff_has(cutoff, "sea/b", &(tseed_range_t){5, 0, 0, 3, 3}));
}

static void test_cutoff__a_line_is_open_until_its_truncate_ends(void **state)
{
    (void)state;
    draw();
    truncate_task.id = 91;
    truncate_task.bounds.maxx = subset.gridset->extent.maxx;
    draw();
    assert_true(has(5, 0, 0) && has(5, 20, 0));
    tseed_cutoff_end(cutoff, 91);
    assert_true(has(5, 0, 0));
    assert_false(has(5, 20, 0));
    tseed_cutoff_end(cutoff, 7); /* of none */
    assert_true(has(5, 0, 0));
    tseed_cutoff_end(cutoff, 90);
    assert_false(has(5, 0, 0));
}

static void test_cutoff__a_truncate_without_an_area_draws_none(void **state)
{
    (void)state;
    truncate_task.has_area = 0;
    draw();
    assert_false(has(5, 0, 0));
}

static tseed_job_t *begin_job(int i, tseed_run_t *of, int64_t x, tseed_stage_t stage)
{
    jobs[i] = (tseed_job_t){.run = of,
                            .request.stage = stage,
                            .metatile.whole = {5, x, 0, x + 3, 3},
                            .sibling = of->jobs};
    of->jobs = &jobs[i];
    return &jobs[i];
}

/* Answers, pictures and colours that are under way; a job that looks what is there has nothing. */
static void test_cutoff__jobs_in_the_area_become_stale(void **state)
{
    static const struct {
        tseed_stage_t stage;
        int is_stale;
    } rows[] = {{TSEED_STAGE_CHECK, 0},
                {TSEED_STAGE_FETCH, 1},
                {TSEED_STAGE_DERIVE, 1},
                {TSEED_STAGE_CUT, 1},
                {TSEED_STAGE_REMOVE, 0}};
    static const tseed_shade_t shade;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const tseed_job_t *inside, *outside, *elsewhere;

        run.jobs = other.jobs = NULL;
        inside = begin_job(0, &run, 12, rows[i].stage);
        outside = begin_job(1, &run, 16, rows[i].stage);
        elsewhere = begin_job(2, &other, 12, rows[i].stage);
        draw();
        assert_int_equal(inside->accounts.is_stale, rows[i].is_stale);
        assert_false(outside->accounts.is_stale || elsewhere->accounts.is_stale);
        tseed_cutoff_end(cutoff, 90);
    }
    run.jobs = NULL;
    begin_job(0, &run, 12, TSEED_STAGE_CHECK)->savings.shade = &shade;
    draw();
    assert_true(jobs[0].accounts.is_stale);
}

/* Requests of no task are under way too; who leads others has their answer. */
static void test_cutoff__leaders_and_requests_become_stale(void **state)
{
    tseed_job_t *leader = begin_job(0, &run, 16, TSEED_STAGE_FETCH); /* outside */

    (void)state;
    begin_job(1, &run, 12, TSEED_STAGE_FETCH)->savings.leader = leader;
    runs = (tseed_runs_t){.background = &run};
    draw();
    assert_true(jobs[0].accounts.is_stale && jobs[1].accounts.is_stale);
}

/* Levels 2 to 5 are derived, each of the one below it. */
static void test_cutoff__bars_what_is_derived_of_what_goes(void **state)
{
    (void)state;
    assert_int_equal(bars(&run, 4, 0, 0), 0);
    draw();
    assert_int_equal(bars(&run, 5, 15, 15), 90); /* of level 6 */
    assert_int_equal(bars(&run, 4, 7, 7), 90);
    assert_int_equal(bars(&run, 3, 3, 3), 90);
    assert_int_equal(bars(&run, 2, 0, 0), 0); /* level 3 stays */
    assert_int_equal(bars(&run, 3, 4, 3), 0); /* outside */
    assert_int_equal(bars(&run, 6, 0, 0), 0); /* not derived */
    assert_int_equal(bars(&other, 4, 0, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_cutoff__##name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(has_what_lies_in_the_area_or_above),    TEST(a_line_is_open_until_its_truncate_ends),
        TEST(a_truncate_without_an_area_draws_none), TEST(jobs_in_the_area_become_stale),
        TEST(leaders_and_requests_become_stale),     TEST(bars_what_is_derived_of_what_goes),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
