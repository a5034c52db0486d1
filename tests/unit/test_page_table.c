/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The table of pages: what was added is found until it is removed, wherever its slot is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "quota/tseed_page_table.h"

#define PAGES 2000

static tseed_page_table_t table;
static uint64_t modulus; /* of prints: how many pages share one */

/* Prints count down from the last slot: entries behind it are pushed over to the first ones. */
static uint64_t print_of(const void *baton, const tseed_page_entry_t *entry)
{
    (void)baton;
    return UINT64_MAX - (uint64_t)entry->x % modulus;
}

static tseed_page_key_t key_of(int64_t x)
{
    const tseed_page_entry_t entry = {.x = x};

    return (tseed_page_key_t){print_of(NULL, &entry), (uint32_t)(x % 3), {(int)(x % 5), x, -x}};
}

static int begin(void **state)
{
    (void)state;
    modulus = PAGES;
    tseed_page_table_init(&table, print_of, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tseed_page_table_destroy(&table);
    return 0;
}

static uint32_t add(int64_t x)
{
    const tseed_page_key_t key = key_of(x);

    return tseed_page_table_add(&table, &key);
}

static uint32_t find(int64_t x)
{
    const tseed_page_key_t key = key_of(x);

    return tseed_page_table_find(&table, &key);
}

static void test_page_table__an_entry_is_what_was_added(void **state)
{
    const uint32_t number = add(7);
    const tseed_page_entry_t *entry = tseed_page_table_get(&table, number);
    tseed_page_key_t key = key_of(7);

    (void)state;
    assert_int_equal(number, 0);
    assert_true(entry->x == 7 && entry->y == -7 && entry->z == 2 && entry->tileset == 1);
    assert_int_equal(entry->flags, TSEED_ENTRY_USED);
    assert_int_equal(entry->names, 0);
    assert_int_equal(find(7), number);
    assert_int_equal(tseed_page_table_find_print(&table, key.print), number);
    assert_int_equal(tseed_page_table_find_print(&table, key.print - 1), TSEED_NO_PAGE);
    /* pages of the same print that are others */
    key.tileset = 2;
    assert_int_equal(tseed_page_table_find(&table, &key), TSEED_NO_PAGE);
    key = key_of(7);
    key.page.z = 3;
    assert_int_equal(tseed_page_table_find(&table, &key), TSEED_NO_PAGE);
    key = key_of(7);
    key.page.x = 8;
    assert_int_equal(tseed_page_table_find(&table, &key), TSEED_NO_PAGE);
    key = key_of(7);
    key.page.y = 7;
    assert_int_equal(tseed_page_table_find(&table, &key), TSEED_NO_PAGE);
}

/* Pages come and go at random; prints are shared by one, two or a hundred of them. */
static void test_page_table__has_what_is_in_it(void **state)
{
    static const uint64_t moduli[] = {PAGES, PAGES / 2, 20};

    for (size_t i = 0; i < sizeof(moduli) / sizeof(moduli[0]); i++) {
        uint32_t numbers[PAGES], count = 0;
        unsigned dice = 5;

        modulus = moduli[i];
        for (int64_t x = 0; x < PAGES; x++) {
            numbers[x] = TSEED_NO_PAGE;
        }
        for (int step = 0; step < 6000; step++) {
            const int64_t x = rand_r(&dice) % PAGES;

            if (numbers[x] == TSEED_NO_PAGE) {
                numbers[x] = add(x);
                count++;
            } else {
                tseed_page_table_remove(&table, numbers[x]);
                assert_int_equal(tseed_page_table_get(&table, numbers[x])->flags, 0);
                numbers[x] = TSEED_NO_PAGE;
                count--;
            }
            for (int64_t at = x; step % 100 == 0 && at < x + PAGES; at++) {
                assert_int_equal(find(at % PAGES), numbers[at % PAGES]);
            }
            assert_int_equal(table.count, count);
        }
        assert_true(table.end <= PAGES);
        end(state);
        begin(state);
    }
}

/* What is removed last is used first. */
static void test_page_table__numbers_are_used_again(void **state)
{
    (void)state;
    for (int64_t x = 0; x < 5; x++) {
        assert_int_equal(add(x), x);
    }
    tseed_page_table_remove(&table, 1);
    tseed_page_table_remove(&table, 3);
    assert_int_equal(add(10), 3);
    assert_int_equal(add(11), 1);
    assert_int_equal(add(12), 5);
    assert_int_equal(table.end, 6);
    assert_int_equal(table.count, 6);
}

static void test_page_table__what_is_reserved_needs_no_pause(void **state)
{
    uint32_t mask;

    (void)state;
    tseed_page_table_reserve(&table, 0);
    tseed_page_table_reserve(&table, -1);
    mask = table.mask;
    for (int64_t x = 0; x < 100; x++) {
        add(x);
    }
    assert_true(table.mask >= mask);
    tseed_page_table_reserve(&table, PAGES);
    mask = table.mask;
    assert_true(mask > PAGES);
    for (int64_t x = 100; x < 100 + PAGES; x++) {
        add(x);
    }
    assert_int_equal(table.mask, mask);
    for (int64_t x = 0; x < 100 + PAGES; x++) {
        assert_int_equal(find(x), x);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_page_table__##name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_entry_is_what_was_added),
        TEST(has_what_is_in_it),
        TEST(numbers_are_used_again),
        TEST(what_is_reserved_needs_no_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
