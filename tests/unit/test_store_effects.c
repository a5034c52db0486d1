/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the store says it has changed is what a walk of the disk finds changed. */
#include "store_books.h"

#include <sys/stat.h>
#include <unistd.h>

static void test_store__put_counts_what_it_replaces(void **state)
{
    house_t *house = open_books(state, TSEED_LAYOUT_XYZ);
    const char *other = apr_pstrcat(house->pool, house->top, "/other", NULL);

    assert_effect(put(house, 1, 2, 700), 1, 1, 700, 1024);
    assert_effect(put(house, 1, 2, 512), 0, 0, -188, -512);
    assert_effect(put(house, 1, 2, 0), 0, 0, -512, -512);
    assert_effect(put(house, 1, 3, 1), 1, 1, 1, 512);
    assert_int_equal(link(tile(house, 4, 1, 3), other), 0);
    assert_effect(put(house, 1, 3, 2), 0, 1, 2, 512);
}

static void test_store__put_counts_a_symbolic_link_as_a_name(void **state)
{
    house_t *house = open_books(state, TSEED_LAYOUT_XYZ);

    put(house, 1, 2, 700);
    assert_int_equal(symlink("2.png", tile(house, 4, 1, 3)), 0);
    assert_effect(put(house, 1, 3, 3), 0, 1, 3, 512);
}

static void test_store__put_that_fails_or_stops_has_no_effect(void **state)
{
    house_t *house = open_books(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t effect;

    put(house, 1, 2, 700);
    mkdir(tile(house, 4, 1, 3), 0755);
    assert_int_not_equal(
        tseed_store_put(&effect, house->store, &(tseed_tile_t){4, 1, 3}, "x", 1, NULL), 0);
    assert_effect(effect, 0, 0, 0, 0);
}

static void test_store__allocation_is_rounded_up(void **state)
{
    house_t *house = open_house(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(tseed_store_allocation(house->store, 4097), 4097);
    tseed_store_block_set(house->store, 4096);
    assert_int_equal(tseed_store_allocation(house->store, 0), 0);
    assert_int_equal(tseed_store_allocation(house->store, 1), 4096);
    assert_int_equal(tseed_store_allocation(house->store, 4096), 4096);
    assert_int_equal(tseed_store_allocation(house->store, 4097), 8192);
}

/* The sum of all effects after a random sequence. */
static void test_store__effects_add_up(void **state)
{
    house_t *house = *state;

    srand(4);
    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout < TSEED_LAYOUT_TEMPLATE; layout++) {
        tseed_effect_t sum = {0};

        open_books(state, (tseed_layout_t)layout);
        for (int i = 0; i < 600; i++) {
            tseed_effect_t effect = put(house, rand() % 16, rand() % 8, (size_t)rand() % 2000);

            tseed_effect_add(&sum, &effect);
        }
        assert_survey(house, &sum);
        nftw(house->f.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOUSE_TEST(test_store__put_counts_what_it_replaces),
        HOUSE_TEST(test_store__put_counts_a_symbolic_link_as_a_name),
        HOUSE_TEST(test_store__put_that_fails_or_stops_has_no_effect),
        HOUSE_TEST(test_store__allocation_is_rounded_up),
        HOUSE_TEST(test_store__effects_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
