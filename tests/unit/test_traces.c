/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Traces: at any instant what they say tells what was done. */
#include "board_fixture.h"
#include "board/tseed_traces.h"

static unsigned begin(int64_t task, int64_t position)
{
    const uint64_t nothing[TSEED_TRACE_WORDS] = {0};

    return tseed_trace_begin(board, task, position, nothing);
}

static void test_trace__tells_what_lay_there_before(void **state)
{
    const uint64_t found[TSEED_TRACE_WORDS] = {0x0f, [15] = 1};
    uint64_t present[TSEED_TRACE_WORDS] = {0x3e, [1] = 7, [15] = 3};
    uint64_t later[TSEED_TRACE_WORDS] = {0xff};
    unsigned trace = tseed_trace_begin(board, 7, 3, found);

    (void)state;
    assert_int_equal(tseed_trace_find(board, 7, 3), trace);
    assert_int_equal(tseed_trace_find(board, 7, 4), 0);
    assert_int_equal(tseed_trace_find(board, 8, 3), 0);
    tseed_trace_recall(board, trace, present);
    assert_int_equal(present[0], 0x0e);
    assert_int_equal(present[1], 0);
    assert_int_equal(present[15], 1);
    tseed_trace_recall(board, trace, later); /* the one that was gone is made meanwhile */
    assert_int_equal(later[0], 0x0e);
    tseed_trace_end(board, trace);
    assert_int_equal(tseed_trace_find(board, 7, 3), 0);
}

static void test_trace__tells_what_was_about_to_be_removed(void **state)
{
    unsigned trace = tseed_trace_begin_level(board, 7, 0, 100);
    int64_t x = 0, y = 0;

    (void)state;
    assert_int_equal(tseed_trace_removed(board, trace), 100);
    assert_false(tseed_trace_doubt(board, trace, &x, &y));
    for (int64_t i = 0; i < 3; i++) {
        tseed_trace_remove(board, trace, i, -i);
        assert_int_equal(tseed_trace_removed(board, trace), 100 + i);
        assert_true(tseed_trace_doubt(board, trace, &x, &y));
        assert_int_equal(x, i);
        assert_int_equal(y, -i);
        tseed_trace_count(board, trace);
        assert_int_equal(tseed_trace_removed(board, trace), 101 + i);
        assert_false(tseed_trace_doubt(board, trace, &x, &y));
    }
    tseed_trace_remove(board, trace, 5, 5); /* it had gone already */
    tseed_trace_remove(board, trace, 6, 6);
    tseed_trace_count(board, trace);
    assert_int_equal(tseed_trace_removed(board, trace), 104);
    tseed_trace_end(board, trace);
}

static void test_trace__of_a_full_table_is_none(void **state)
{
    uint64_t present[TSEED_TRACE_WORDS] = {5};
    int64_t x, y;

    (void)state;
    for (int i = 0; i < TSEED_TRACES_MOST; i++) {
        assert_int_equal(begin(1, i), i + 1);
    }
    assert_int_equal(begin(2, 0), 0);
    assert_int_equal(tseed_trace_begin_level(board, 2, 0, 9), 0);
    tseed_trace_recall(board, 0, present);
    assert_int_equal(present[0], 5);
    tseed_trace_remove(board, 0, 1, 1);
    tseed_trace_count(board, 0);
    tseed_trace_end(board, 0);
    assert_int_equal(tseed_trace_removed(board, 0), 0);
    assert_false(tseed_trace_doubt(board, 0, &x, &y));
    tseed_trace_end(board, 17);
    assert_int_equal(tseed_traces_used(board), TSEED_TRACES_MOST);
    assert_int_equal(begin(2, 0), 17);
    tseed_traces_forget(board, 1, NULL);
    assert_int_equal(tseed_traces_used(board), 17);
    assert_int_equal(tseed_trace_task(board, 17), 2);
    tseed_traces_forget(board, 2, NULL);
    assert_int_equal(tseed_traces_used(board), 0);
}

static void test_traces__of_finished_positions_are_forgotten(void **state)
{
    tseed_progress_t progress = {.low = 2, .window = {1 << 2}};

    (void)state;
    for (int64_t position = -1; position < 6; position++) {
        assert_int_not_equal(begin(1, position), 0);
        assert_int_not_equal(begin(2, position), 0);
    }
    begin(1, INT64_MAX);
    begin(1, INT64_MIN);
    tseed_traces_forget(board, 1, &progress);
    for (int64_t position = -1; position < 6; position++) {
        const int is_left = position == 2 || position == 3 || position == 5;

        assert_int_equal(tseed_trace_find(board, 1, position) != 0, is_left);
        assert_int_not_equal(tseed_trace_find(board, 2, position), 0);
    }
    assert_int_equal(tseed_trace_find(board, 1, INT64_MIN), 0);
    tseed_traces_forget(board, 1, NULL);
    tseed_traces_forget(board, 2, NULL);
    assert_int_equal(tseed_traces_used(board), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace__tells_what_lay_there_before),
        cmocka_unit_test(test_trace__tells_what_was_about_to_be_removed),
        cmocka_unit_test(test_trace__of_a_full_table_is_none),
        cmocka_unit_test(test_traces__of_finished_positions_are_forgotten),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
