/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reading a tile back: the bytes that were put there, and what is no tile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_fixture.h"

static apr_status_t read_tile(const unsigned char **data, size_t *length, fixture_t *fixture, int z,
                              int64_t x, int64_t y)
{
    return tseed_store_read(data, length, fixture->store, &(tseed_tile_t){z, x, y}, fixture->pool);
}

static void put_tile(fixture_t *fixture, int z, int64_t x, int64_t y, const void *data,
                     size_t length)
{
    tseed_effect_t effect;

    assert_int_equal(
        tseed_store_put(&effect, fixture->store, &(tseed_tile_t){z, x, y}, data, length, NULL),
        APR_SUCCESS);
}

static void test_store_read__bytes_come_back_in_every_layout(void **state)
{
    static const tseed_layout_t layouts[] = {TSEED_LAYOUT_GEOWEBCACHE, TSEED_LAYOUT_XYZ,
                                             TSEED_LAYOUT_QUADKEY};
    static char large[300000];

    memset(large, 'x', sizeof(large));
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        fixture_t *fixture = open_store(state, layouts[i]);
        const unsigned char *data;
        size_t length;

        put_tile(fixture, 3, 2, 5, "a\0b", 3);
        put_tile(fixture, 3, 3, 5, large, sizeof(large));
        assert_int_equal(read_tile(&data, &length, fixture, 3, 2, 5), APR_SUCCESS);
        assert_int_equal(length, 3);
        assert_memory_equal(data, "a\0b", 3);
        assert_int_equal(read_tile(&data, &length, fixture, 3, 3, 5), APR_SUCCESS);
        assert_int_equal(length, sizeof(large));
        assert_memory_equal(data, large, sizeof(large));
        tseed_store_close(fixture->store);
    }
}

static void test_store_read__a_tile_has_its_bytes_and_no_others(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);
    const tseed_tile_t tile = {3, 2, 5}, missing = {3, 3, 5};
    static char large[100000];

    put_tile(fixture, tile.z, tile.x, tile.y, large, sizeof(large));
    assert_true(tseed_store_has(fixture->store, &tile, large, sizeof(large)));
    assert_false(tseed_store_has(fixture->store, &tile, large, sizeof(large) - 1));
    assert_false(tseed_store_has(fixture->store, &missing, large, sizeof(large)));
    large[sizeof(large) - 1] = 'x';
    assert_false(tseed_store_has(fixture->store, &tile, large, sizeof(large)));
    tseed_store_close(fixture->store);
}

static void test_store_read__what_is_no_tile_is_not_there(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);
    const unsigned char *data;
    size_t length;

    assert_true(APR_STATUS_IS_ENOENT(read_tile(&data, &length, fixture, 3, 2, 5)));
    put_tile(fixture, 3, 2, 5, "tile", 4);
    assert_true(APR_STATUS_IS_ENOENT(read_tile(&data, &length, fixture, 3, 2, 4)));
    assert_int_equal(truncate(tile(fixture, 3, 2, 5), 0), 0);
    assert_true(APR_STATUS_IS_ENOENT(read_tile(&data, &length, fixture, 3, 2, 5)));
    assert_int_equal(unlink(tile(fixture, 3, 2, 5)), 0);
    assert_int_equal(mkdir(tile(fixture, 3, 2, 5), 0755), 0);
    assert_true(APR_STATUS_IS_ENOENT(read_tile(&data, &length, fixture, 3, 2, 5)));
}

/* The directory of the tile has become a symbolic link. */
static void test_store_read__no_link_is_followed(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    const char *path = tile(fixture, 3, 2, 5), *moved = full(fixture, "moved");
    const char *folder = apr_pstrndup(fixture->pool, path, (size_t)(strrchr(path, '/') - path));
    const unsigned char *data;
    size_t length;
    int is_tile;

    put_tile(fixture, 3, 2, 5, "tile", 4);
    assert_int_equal(read_tile(&data, &length, fixture, 3, 2, 5), APR_SUCCESS);
    assert_int_equal(rename(folder, moved), 0);
    assert_int_equal(symlink(moved, folder), 0);
    tseed_store_close(fixture->store);
    assert_int_equal(tseed_store_open(&fixture->store, &fixture->made.tileset, 7, fixture->pool),
                     0);
    assert_int_equal(read_tile(&data, &length, fixture, 3, 2, 5), ELOOP);
    assert_string_equal(tseed_store_obstacle(&is_tile, fixture->store), folder);
    assert_false(is_tile);
}

static void test_store_read__says_which_tile_it_has_failed_at(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    const unsigned char *data;
    size_t length;
    int is_tile;

    put_tile(fixture, 3, 2, 5, "tile", 4);
    assert_int_equal(truncate(tile(fixture, 3, 2, 5), 1 << 30), 0);
    assert_int_equal(read_tile(&data, &length, fixture, 3, 2, 5), EFBIG);
    assert_string_equal(tseed_store_obstacle(&is_tile, fixture->store), tile(fixture, 3, 2, 5));
    assert_true(is_tile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_store_read__bytes_come_back_in_every_layout),
        STORE_TEST(test_store_read__a_tile_has_its_bytes_and_no_others),
        STORE_TEST(test_store_read__what_is_no_tile_is_not_there),
        STORE_TEST(test_store_read__no_link_is_followed),
        STORE_TEST(test_store_read__says_which_tile_it_has_failed_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
