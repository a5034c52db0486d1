/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tallies: effects add up page by page, however many pages there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "work/tseed_tally.h"

static const tseed_effect_t one_tile = {1, 1, 300, 4096}, a_link = {1, 0, 0, 0};

/* The line of a page; NULL: there is none. */
static const tseed_line_t *line_of(const tseed_tally_t *tally, const tseed_page_t *page)
{
    const tseed_line_t *line;
    unsigned cursor = 0;

    while ((line = tseed_tally_next(tally, &cursor)) != NULL) {
        if (line->page.z == page->z && line->page.x == page->x && line->page.y == page->y) {
            return line;
        }
    }
    return NULL;
}

static void assert_line(const tseed_tally_t *tally, tseed_page_t page, tseed_effect_t effect)
{
    const tseed_line_t *line = line_of(tally, &page);

    assert_non_null(line);
    assert_int_equal(line->effect.names, effect.names);
    assert_int_equal(line->effect.files, effect.files);
    assert_int_equal(line->effect.bytes, effect.bytes);
    assert_int_equal(line->effect.allocated, effect.allocated);
}

static int count_lines(const tseed_tally_t *tally)
{
    unsigned cursor = 0;
    int lines = 0;

    while (tseed_tally_next(tally, &cursor)) {
        lines++;
    }
    return lines;
}

/* Tiles 31 and 32 of a row lie on either side of the edge of two pages. */
static void test_tally__knows_the_page_of_a_tile(void **state)
{
    const tseed_page_t before = tseed_page_of(&(tseed_tile_t){7, 31, 64});
    const tseed_page_t behind = tseed_page_of(&(tseed_tile_t){7, 32, 63});

    (void)state;
    assert_int_equal(before.z, 7);
    assert_int_equal(before.x, 0);
    assert_int_equal(before.y, 2);
    assert_int_equal(behind.x, 1);
    assert_int_equal(behind.y, 1);
}

static void test_tally__adds_up_page_by_page(void **state)
{
    const tseed_page_t here = {5, 7, 9}, above = {6, 7, 9}, beside = {5, 9, 7};
    const tseed_effect_t removed = {-2, -1, -300, -4096};
    tseed_tally_t tally = {0};

    (void)state;
    tseed_tally_add(&tally, &here, &one_tile);
    tseed_tally_add(&tally, &here, &one_tile);
    tseed_tally_add(&tally, &above, &a_link);
    tseed_tally_add(&tally, &here, &a_link);
    tseed_tally_add(&tally, &beside, &removed);
    assert_int_equal(count_lines(&tally), 3);
    assert_line(&tally, here, (tseed_effect_t){3, 2, 600, 8192});
    assert_line(&tally, above, a_link);
    assert_line(&tally, beside, removed);
    tseed_tally_clear(&tally);
    tseed_tally_clear(&tally);
    assert_int_equal(count_lines(&tally), 0);
    tseed_tally_add(&tally, &here, &a_link);
    assert_line(&tally, here, a_link);
    free(tally.lines);
}

/* A free line has a level as well: it is not taken for this one. */
static void test_tally__level_0_is_a_level(void **state)
{
    const tseed_page_t world = {0, 0, 0}, below = {1, 0, 0};
    tseed_tally_t tally = {0};

    (void)state;
    tseed_tally_add(&tally, &world, &one_tile);
    tseed_tally_add(&tally, &below, &a_link);
    tseed_tally_add(&tally, &world, &one_tile);
    assert_int_equal(tally.count, 2);
    assert_int_equal(count_lines(&tally), 2);
    assert_line(&tally, world, (tseed_effect_t){2, 2, 600, 8192});
    free(tally.lines);
}

/* A level of 64 x 64 pages fills a tally; each page was met twice. */
static void test_tally__holds_as_many_pages_as_a_walk_meets(void **state)
{
    tseed_tally_t tally = {0};

    (void)state;
    for (int i = 0; i < 2 * TSEED_TALLY_MOST; i++) {
        const int number = i % TSEED_TALLY_MOST;

        assert_int_equal(tseed_tally_is_full(&tally), i >= TSEED_TALLY_MOST);
        tseed_tally_add(&tally, &(tseed_page_t){12, number % 64, number / 64}, &one_tile);
    }
    assert_int_equal(count_lines(&tally), TSEED_TALLY_MOST);
    for (int i = 0; i < TSEED_TALLY_MOST; i += 511) {
        assert_line(&tally, (tseed_page_t){12, i % 64, i / 64}, (tseed_effect_t){2, 2, 600, 8192});
    }
    tseed_tally_clear(&tally);
    assert_false(tseed_tally_is_full(&tally));
    assert_null(tally.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tally__knows_the_page_of_a_tile),
        cmocka_unit_test(test_tally__adds_up_page_by_page),
        cmocka_unit_test(test_tally__level_0_is_a_level),
        cmocka_unit_test(test_tally__holds_as_many_pages_as_a_walk_meets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
