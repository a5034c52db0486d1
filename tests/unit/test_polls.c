/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The pause that pages keep between two polls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "board/tseed_board_layout.h"
#include "board/tseed_polls.h"
#include "board_memory.h"

#define SECOND APR_USEC_PER_SEC
#define BEGIN  (1000 * SECOND)

static tseed_board_t *board;

static int setup(void **state)
{
    (void)state;
    board = make_board(1, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(board->segment);
    return 0;
}

/* So many pages ask for so many seconds, each after the pause that it was told. Returns the last
 * pause, and in *polls how many polls there were in the last ten seconds. */
static int ask(int pages, int seconds, int *polls)
{
    int pause = TSEED_POLLS_LEAST, due[1000] = {0};

    *polls = 0;
    for (int second = 0; second < seconds; second++) {
        for (int page = 0; page < pages; page++) {
            if (due[page] <= second) {
                pause = tseed_polls_count(board, BEGIN + second * SECOND);
                due[page] = second + pause;
                *polls += second >= seconds - 10;
            }
        }
    }
    return pause;
}

static void test_polls__few_pages_ask_every_two_seconds(void **state)
{
    int polls;

    (void)state;
    assert_int_equal(ask(1, 100, &polls), 2);
    assert_int_equal(ask(40, 100, &polls), 2);
    assert_int_equal(polls, 200);
}

static void test_polls__many_pages_share_20_polls_a_second(void **state)
{
    int polls;

    (void)state;
    assert_int_equal(ask(100, 200, &polls), 5);
    assert_int_equal(polls, 200);
}

static void test_polls__no_page_waits_for_more_than_ten_seconds(void **state)
{
    int polls;

    (void)state;
    assert_int_equal(ask(1000, 200, &polls), 10);
}

static void test_polls__who_is_alone_asks_often_again(void **state)
{
    int polls;

    (void)state;
    ask(1000, 100, &polls);
    assert_int_equal(tseed_polls_count(board, BEGIN + 119 * SECOND), 2);
}

static void test_polls__nonsense_on_the_board_is_bounded(void **state)
{
    (void)state;
    for (int i = 0; i < 64; i++) {
        board->segment->polls = UINT64_MAX << i;
        assert_in_range(tseed_polls_count(board, BEGIN), TSEED_POLLS_LEAST, TSEED_POLLS_MOST);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_polls__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(few_pages_ask_every_two_seconds),
        TEST(many_pages_share_20_polls_a_second),
        TEST(no_page_waits_for_more_than_ten_seconds),
        TEST(who_is_alone_asks_often_again),
        TEST(nonsense_on_the_board_is_bounded),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
