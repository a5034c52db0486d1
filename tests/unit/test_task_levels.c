/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Levels of a task, against metatiles that are counted one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "pool_fixture.h"
#include "protocol/tseed_task.h"
#include "tiling/tseed_positions.h"

#define ROUNDS 60

static tseed_task_t task_of(int zoom_start, int zoom_stop)
{
    return (tseed_task_t){.zoom_start = zoom_start,
                          .zoom_stop = zoom_stop,
                          .meta_width = 3,
                          .meta_height = 2,
                          .has_area = 1,
                          .bounds = {-100, -40, 77, 41}};
}

static tseed_positions_t positions_of(const tseed_task_t *task)
{
    tseed_positions_t positions;

    tseed_positions_init_derived(
        &positions, tseed_gridset_builtin("EPSG:4326"), &task->bounds,
        &(tseed_shape_t){task->zoom_start, task->zoom_stop, task->meta_width, task->meta_height},
        &task->derived);
    return positions;
}

static const tseed_task_level_t *level(const apr_array_header_t *levels, int i)
{
    return &APR_ARRAY_IDX(levels, i, tseed_task_level_t);
}

static apr_array_header_t *levels_of(const tseed_task_t *task, const tseed_progress_t *progress,
                                     const int64_t *listed)
{
    return tseed_task_levels(task, progress, tseed_gridset_builtin("EPSG:4326"), listed, pool);
}

/* Finishes the positions below `low` and some behind it. */
static void finish_some(tseed_progress_t *progress, int64_t low, int64_t count)
{
    memset(progress, 0, sizeof(*progress));
    progress->low = low;
    for (int64_t i = 1; i < TSEED_WINDOW && low + i < count; i++) {
        if (rand() % 3 == 0) {
            progress->window[i / 64] |= UINT64_C(1) << (i % 64);
        }
    }
}

static void check_levels(const tseed_task_t *task, const tseed_progress_t *progress)
{
    const tseed_positions_t positions = positions_of(task);
    const apr_array_header_t *levels = levels_of(task, progress, NULL);
    tseed_task_level_t expected[TSEED_LEVELS_MAX] = {{0}};

    for (int64_t i = 0; i < positions.count; i++) {
        const tseed_range_t wanted = tseed_positions_at(&positions, i).wanted;

        expected[wanted.z].metatiles++;
        expected[wanted.z].finished += tseed_progress_is_done(progress, i);
        expected[wanted.z].tiles += tseed_range_count(&wanted);
    }
    assert_int_equal(levels->nelts, task->zoom_stop - task->zoom_start + 1);
    for (int i = 0; i < levels->nelts; i++) {
        const int z = task->zoom_start + i;

        assert_int_equal(level(levels, i)->z, z);
        assert_int_equal(level(levels, i)->metatiles, expected[z].metatiles);
        assert_int_equal(level(levels, i)->finished, expected[z].finished);
        assert_int_equal(level(levels, i)->tiles, expected[z].tiles);
    }
}

static void check_any_progress(const tseed_task_t *task)
{
    const int64_t count = positions_of(task).count;

    srand(1);
    assert_true(count > 3 * TSEED_WINDOW);
    for (int i = 0; i < ROUNDS; i++) {
        tseed_progress_t progress;

        finish_some(&progress, i == 0 ? 0 : i == 1 ? count : rand() % count, count);
        check_levels(task, &progress);
    }
}

static void test_task_levels__equal_what_is_counted(void **state)
{
    const tseed_task_t task = task_of(0, 9);

    (void)state;
    check_any_progress(&task);
}

static void test_task_levels__of_derived_levels_equal_what_is_counted(void **state)
{
    tseed_task_t task = task_of(0, 9);

    (void)state;
    task.derived = (tseed_derived_t){2, 7};
    check_any_progress(&task);
    task.derived = (tseed_derived_t){0, 9};
    check_any_progress(&task);
}

static void test_task_levels__begin_with_the_first_of_the_task(void **state)
{
    const tseed_task_t task = task_of(5, 7);
    tseed_progress_t progress = {.low = 7};

    (void)state;
    check_levels(&task, &progress);
    assert_int_equal(level(levels_of(&task, &progress, NULL), 0)->finished, 7);
}

static void test_task_levels__of_a_truncate_are_one_by_one(void **state)
{
    const tseed_progress_t progress = {.low = 1, .window = {1 << 1}};
    tseed_task_t task = task_of(3, 6);
    const apr_array_header_t *levels;

    (void)state;
    task.type = TSEED_TRUNCATE;
    levels = levels_of(&task, &progress, NULL);
    assert_int_equal(levels->nelts, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(level(levels, i)->metatiles, 1);
        assert_int_equal(level(levels, i)->finished, i == 0 || i == 2);
        assert_true(level(levels, i)->tiles > 0);
    }
}

/* The list of a retry goes from level to level, too. */
static void test_task_levels__of_a_list(void **state)
{
    const int64_t listed[TSEED_LEVELS_MAX] = {[3] = 2, [5] = 4};
    const tseed_progress_t progress = {.low = 3, .window = {1 << 2}};
    const tseed_task_t task = task_of(3, 5);
    const apr_array_header_t *levels = levels_of(&task, &progress, listed);

    (void)state;
    assert_int_equal(level(levels, 0)->metatiles, 2);
    assert_int_equal(level(levels, 0)->finished, 2);
    assert_int_equal(level(levels, 1)->metatiles, 0);
    assert_int_equal(level(levels, 1)->finished, 0);
    assert_int_equal(level(levels, 2)->metatiles, 4);
    assert_int_equal(level(levels, 2)->finished, 2);
    assert_int_equal(level(levels, 2)->tiles, -1);
}

static void test_task_levels__of_no_area_are_none(void **state)
{
    const tseed_progress_t progress = {.low = 0};
    tseed_task_t task = task_of(0, 3);

    (void)state;
    task.has_area = 0;
    assert_int_equal(levels_of(&task, &progress, NULL)->nelts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_task_levels__equal_what_is_counted),
        cmocka_unit_test(test_task_levels__of_derived_levels_equal_what_is_counted),
        cmocka_unit_test(test_task_levels__begin_with_the_first_of_the_task),
        cmocka_unit_test(test_task_levels__of_a_truncate_are_one_by_one),
        cmocka_unit_test(test_task_levels__of_a_list),
        cmocka_unit_test(test_task_levels__of_no_area_are_none),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
