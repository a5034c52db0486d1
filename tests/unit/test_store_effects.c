/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the store says it has changed is what a walk of the disk finds changed. */
#include "store_house.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512

static void assert_effect(tseed_effect_t effect, int64_t names, int64_t files, int64_t bytes,
                          int64_t allocated)
{
    assert_int_equal(effect.names, names);
    assert_int_equal(effect.files, files);
    assert_int_equal(effect.bytes, bytes);
    assert_int_equal(effect.allocated, allocated);
}

static tseed_effect_t put(house_t *house, int64_t x, int64_t y, size_t length)
{
    static const char content[4096];
    tseed_effect_t effect;

    assert_int_equal(
        tseed_store_put(&effect, house->store, &(tseed_tile_t){4, x, y}, content, length, NULL),
        APR_SUCCESS);
    return effect;
}

/* What is below the root, each file once whatever its names; by nftw, which passes no baton. */
static tseed_effect_t found;
static apr_array_header_t *inodes; /* of ino_t: those with several names */

static int is_known(ino_t inode)
{
    for (int i = 0; i < inodes->nelts; i++) {
        if (APR_ARRAY_IDX(inodes, i, ino_t) == inode) {
            return 1;
        }
    }
    APR_ARRAY_PUSH(inodes, ino_t) = inode;
    return 0;
}

static int survey_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)ftw;
    if (kind != FTW_F) {
        return 0;
    }
    found.names += strstr(path, "/.") == NULL;
    if (st->st_nlink == 1 || !is_known(st->st_ino)) {
        found.files++;
        found.bytes += st->st_size;
        found.allocated += (st->st_size + BLOCK - 1) / BLOCK * BLOCK;
    }
    return 0;
}

static void assert_survey(const house_t *house, const tseed_effect_t *sum)
{
    found = (tseed_effect_t){0};
    inodes = apr_array_make(house->pool, 16, sizeof(ino_t));
    nftw(house->f.layer.store.root, survey_entry, 16, FTW_PHYS);
    assert_effect(*sum, found.names, found.files, found.bytes, found.allocated);
}

static house_t *open_books(void **state, tseed_layout_t layout)
{
    house_t *house = open_house(state, layout);

    tseed_store_block_set(house->store, BLOCK);
    return house;
}

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
