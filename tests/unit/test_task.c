/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tasks: names, and the window of finished positions against a plain set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "protocol/tseed_task.h"

#define POSITIONS 20000

static void test_task__names_are_the_wires(void **state)
{
    (void)state;
    assert_string_equal(tseed_task_type_name(TSEED_SEED), "seed");
    assert_string_equal(tseed_task_type_name(TSEED_RESEED), "reseed");
    assert_string_equal(tseed_task_type_name(TSEED_TRUNCATE), "truncate");
    assert_string_equal(tseed_task_state_name(-1), "ABORTED");
    assert_string_equal(tseed_task_state_name(0), "PENDING");
    assert_string_equal(tseed_task_state_name(1), "RUNNING");
    assert_string_equal(tseed_task_state_name(2), "DONE");
}

static void test_task__every_outcome_is_processed(void **state)
{
    tseed_progress_t progress = {.made = 1, .skipped = 20, .removed = 300, .failed = 4000};

    (void)state;
    assert_int_equal(tseed_progress_processed(&progress), 4321);
}

static void test_task__low_moves_over_what_is_finished(void **state)
{
    tseed_progress_t progress = {.low = INT64_C(1) << 40};
    const int64_t low = progress.low;

    (void)state;
    tseed_progress_finish(&progress, low + 1);
    tseed_progress_finish(&progress, low + 3);
    assert_int_equal(progress.low, low);
    tseed_progress_finish(&progress, low);
    assert_int_equal(progress.low, low + 2);
    assert_true(tseed_progress_is_done(&progress, low + 3));
    assert_false(tseed_progress_is_done(&progress, low + 2));
}

static void test_task__a_full_window_empties_at_once(void **state)
{
    tseed_progress_t progress = {0};

    (void)state;
    for (int i = TSEED_WINDOW - 1; i >= 0; i--) {
        assert_int_equal(progress.low, 0);
        tseed_progress_finish(&progress, i);
    }
    assert_int_equal(progress.low, TSEED_WINDOW);
    for (int i = 0; i < TSEED_WINDOW / 64; i++) {
        assert_true(progress.window[i] == 0);
    }
}

static void test_task__positions_outside_the_window_change_nothing(void **state)
{
    tseed_progress_t progress = {.low = 100}, before;

    (void)state;
    memcpy(&before, &progress, sizeof(before));
    tseed_progress_finish(&progress, 99);
    tseed_progress_finish(&progress, 100 + TSEED_WINDOW);
    assert_memory_equal(&before, &progress, sizeof(before));
    assert_true(tseed_progress_is_done(&progress, 99));
    assert_false(tseed_progress_is_done(&progress, 100 + TSEED_WINDOW));
}

/* A generator of its own: the same numbers on every machine. */
static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Around `low` the window must say what the set says, and low be the first that is not in it. */
static void check_window(const tseed_progress_t *progress, const char *finished)
{
    for (int64_t i = 0; i < progress->low; i++) {
        assert_true(finished[i]);
    }
    assert_false(finished[progress->low]);
    for (int64_t i = progress->low; i < progress->low + 2 * TSEED_WINDOW; i++) {
        assert_int_equal(tseed_progress_is_done(progress, i), finished[i]);
    }
}

static void test_task__the_window_equals_a_set(void **state)
{
    static char finished[POSITIONS + 3 * TSEED_WINDOW];
    tseed_progress_t progress = {0};
    unsigned seed = 1;

    (void)state;
    for (int step = 0; progress.low < POSITIONS; step++) {
        /* near the bottom, so that low moves, now and then anywhere, the last place too */
        int reach = step % 7 ? 40 : TSEED_WINDOW;
        int64_t position = progress.low + next_random(&seed) % (unsigned)reach;

        tseed_progress_finish(&progress, position);
        finished[position] = 1;
        if (step % 97 == 0) {
            check_window(&progress, finished);
        }
    }
    check_window(&progress, finished);
}

/* Programs of operators and the database know the names. */
static void test_task__reason_codes_have_names(void **state)
{
    tseed_progress_t progress = {.state = TSEED_RUNNING};

    (void)state;
    for (int code = TSEED_REASON_THREAD; code < TSEED_REASONS; code++) {
        assert_true(*tseed_reason_name(code));
        assert_int_equal(tseed_reason_of(tseed_reason_name(code)), code);
    }
    assert_string_equal(tseed_reason_name(TSEED_REASONS), "");
    assert_int_equal(tseed_reason_of("of a later version"), TSEED_REASON_NONE);
    tseed_progress_say(&progress, TSEED_REASON_QUOTA, "%0300d", 7);
    assert_int_equal(progress.reason_code, TSEED_REASON_QUOTA);
    assert_int_equal(strlen(progress.reason), TSEED_REASON_SIZE - 1);
    tseed_progress_tell(&progress, TSEED_REASON_QUOTA, "");
    assert_int_equal(progress.reason_code, TSEED_REASON_NONE);
}

/* EPSG:3857 at levels 2 and 3: 1 and 4 metatiles of 4 x 4 tiles. */
static void test_task__counts_must_add_up(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");
    tseed_task_t task = {.type = TSEED_SEED,
                         .has_area = 1,
                         .bounds = gridset->extent,
                         .zoom_start = 2,
                         .zoom_stop = 3,
                         .meta_width = 4,
                         .meta_height = 4};
    tseed_progress_t progress = {.low = 1, .window = {1 << 2}, .made = 30, .skipped = 2};

    (void)state;
    assert_true(tseed_task_adds_up(&task, &progress, gridset)); /* metatiles 0 and 3 */
    progress.skipped = 1;
    assert_false(tseed_task_adds_up(&task, &progress, gridset));
    task.retry_of = 7; /* nobody knows how many tiles those are */
    assert_true(tseed_task_adds_up(&task, &progress, gridset));
    task.retry_of = 0;
    task.type = TSEED_TRUNCATE;
    assert_true(tseed_task_adds_up(&task, &progress, gridset));
    task.type = TSEED_SEED;
    task.has_area = 0;
    assert_true(tseed_task_adds_up(&task, &progress, gridset));
    task.has_area = 1;
    progress = (tseed_progress_t){.low = 5, .made = 80};
    assert_true(tseed_task_adds_up(&task, &progress, gridset));
    progress.low = 6;
    assert_false(tseed_task_adds_up(&task, &progress, gridset));
}

static void test_task__some_reasons_are_waits(void **state)
{
    (void)state;
    assert_false(tseed_reason_is_wait(TSEED_REASON_NONE));
    assert_true(tseed_reason_is_wait(TSEED_REASON_NONE + 1));
    assert_true(tseed_reason_is_wait(TSEED_REASON_TASK));
    assert_true(tseed_reason_is_wait(TSEED_REASON_LACKS - 1));
    assert_false(tseed_reason_is_wait(TSEED_REASON_LACKS));
    assert_true(tseed_reason_is_upstream(TSEED_REASON_AWAY));
    assert_true(tseed_reason_is_upstream(TSEED_REASON_REFUSED));
    assert_false(tseed_reason_is_upstream(TSEED_REASON_AWAY - 1));
    assert_false(tseed_reason_is_upstream(TSEED_REASON_REFUSED + 1));
    assert_false(tseed_reason_is_upstream(TSEED_REASON_TASK));
}

static void test_task__sizes_have_sentences(void **state)
{
    (void)state;
    assert_string_equal(tseed_size_reason(TSEED_SIZE_FIXED), "");
    assert_string_equal(tseed_size_reason(TSEED_SIZE_FAILED), "larger requests failed");
    for (int reason = TSEED_SIZE_FIXED + 1; reason <= TSEED_SIZE_CRASHED; reason++) {
        assert_int_not_equal(*tseed_size_reason(reason), '\0');
    }
    assert_string_equal(tseed_size_reason(-1), "");
    assert_string_equal(tseed_size_reason(255), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_task__names_are_the_wires),
        cmocka_unit_test(test_task__every_outcome_is_processed),
        cmocka_unit_test(test_task__low_moves_over_what_is_finished),
        cmocka_unit_test(test_task__a_full_window_empties_at_once),
        cmocka_unit_test(test_task__positions_outside_the_window_change_nothing),
        cmocka_unit_test(test_task__the_window_equals_a_set),
        cmocka_unit_test(test_task__reason_codes_have_names),
        cmocka_unit_test(test_task__counts_must_add_up),
        cmocka_unit_test(test_task__some_reasons_are_waits),
        cmocka_unit_test(test_task__sizes_have_sentences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
