/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Hits: exact when there is room, right in sum and order when there is none. */
#include <pthread.h>

#include "board_fixture.h"
#include "board/tseed_hits.h"
#include "layer/tseed_page.h"

#define PAGES   200000
#define HOT     16
#define ROUNDS  1000
#define THREADS 4

static uint64_t page(int i)
{
    return tseed_page_print(UINT64_C(0x123456789abcdef), 12, i % 512, i / 512);
}

typedef struct {
    int counters;
    uint64_t sum;
    uint64_t hot[HOT];
    uint64_t hottest_cold;
} seen_t;

static void take(void *baton, uint64_t print, uint64_t count)
{
    seen_t *seen = baton;

    seen->counters++;
    seen->sum += count;
    for (int i = 0; i < HOT; i++) {
        if (print == page(i)) {
            seen->hot[i] += count;
            return;
        }
    }
    seen->hottest_cold = count > seen->hottest_cold ? count : seen->hottest_cold;
}

static void test_hits__exact_while_there_is_room(void **state)
{
    seen_t seen = {0};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= round % HOT; i++) {
            tseed_hits_count(board, page(i));
        }
    }
    tseed_hits_drain(board, take, &seen);
    for (int i = 0; i < HOT; i++) {
        uint64_t expected = 0;

        for (int round = 0; round < ROUNDS; round++) {
            expected += i <= round % HOT;
        }
        assert_int_equal(seen.hot[i], expected);
    }
    assert_int_equal(seen.counters, HOT); /* one for each page, however often it was read */
    seen = (seen_t){0};
    tseed_hits_drain(board, take, &seen);
    assert_int_equal(seen.sum, 0);
}

/* Far more pages than counters: nothing is lost, and what is hot stays ahead of what is cold. */
static void test_hits__a_storm_keeps_sum_and_order(void **state)
{
    seen_t seen = {0};

    (void)state;
    for (int i = 0; i < PAGES; i++) {
        tseed_hits_count(board, page(HOT + i));
        tseed_hits_count(board, page(i % HOT));
    }
    tseed_hits_drain(board, take, &seen);
    assert_int_equal(seen.sum, 2 * PAGES);
    for (int i = 0; i < HOT; i++) {
        assert_true(seen.hot[i] >= PAGES / HOT);
        assert_true(seen.hot[i] > 10 * seen.hottest_cold);
    }
    assert_null(tseed_board_validate(board, pool));
}

/* Nine pages that look for the same eight counters: the ninth gets the counter that has counted
 * least, and its hits. */
static void test_hits__the_coldest_counter_is_taken_over(void **state)
{
    const uint64_t first = 1000003;

    (void)state;
    for (uint64_t coldest = 0; coldest < 8; coldest++) {
        for (uint64_t i = 0; i < 8; i++) {
            for (uint64_t hits = 0; hits < (i == coldest ? 3 : 10 + i); hits++) {
                tseed_hits_count(board, first + i * TSEED_BOARD_HITS);
            }
        }
        tseed_hits_count(board, first + 8 * TSEED_BOARD_HITS);
        for (uint64_t i = 0; i < 8; i++) {
            const tseed_board_hit_t *hit = &board->segment->hits[(first + i) % TSEED_BOARD_HITS];
            const uint64_t page = i == coldest ? 8 : i;

            assert_int_equal(hit->page, first + page * TSEED_BOARD_HITS);
            assert_int_equal(hit->count, i == coldest ? 4 : 10 + i);
        }
        memset(board->segment->hits, 0, sizeof(board->segment->hits));
    }
}

static void test_hits__counters_become_free(void **state)
{
    seen_t seen = {0};

    (void)state;
    for (int i = 0; i < PAGES; i++) {
        tseed_hits_count(board, page(HOT + i));
    }
    tseed_hits_drain(board, take, &seen);
    tseed_hits_drain(board, take, &seen);
    for (int i = 0; i < TSEED_BOARD_HITS; i++) {
        assert_int_equal(board->segment->hits[i].page, 0);
    }
}

static void *count_many(void *unused)
{
    for (int i = 0; i < PAGES; i++) {
        tseed_hits_count(board, page(i % HOT));
    }
    return unused;
}

static void test_hits__threads_count_together(void **state)
{
    pthread_t threads[THREADS];
    seen_t seen = {0};

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, NULL), 0);
    }
    tseed_hits_drain(board, take, &seen);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tseed_hits_drain(board, take, &seen);
    assert_int_equal(seen.sum, THREADS * PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hits__exact_while_there_is_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hits__a_storm_keeps_sum_and_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hits__the_coldest_counter_is_taken_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_hits__counters_become_free, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hits__threads_count_together, setup, teardown),
    };

    return cmocka_run_group_tests_name("hits", tests, NULL, NULL);
}
