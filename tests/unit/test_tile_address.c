/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Addresses of tiles: every form, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "protocol/tseed_service.h"
#include <apr_tables.h>

static void assert_piece(tseed_piece_t piece, const char *expected)
{
    assert_int_equal(piece.length, strlen(expected));
    assert_memory_equal(piece.text, expected, piece.length);
}

static void assert_tile(const char *path, int from_top, const char *layer, const char *gridset,
                        const char *format)
{
    tseed_tile_address_t address = tseed_tile_address(path);

    assert_int_equal(address.kind, TSEED_ADDRESS_TILE);
    assert_int_equal(address.from_top, from_top);
    assert_piece(address.layer, layer);
    assert_piece(address.gridset, gridset);
    assert_piece(address.format, format);
    assert_int_equal(address.z, 7);
    assert_int_equal(address.x, 70406);
    assert_int_equal(address.y, 42987);
}

static void test_tile_address__xyz_and_tms(void **state)
{
    (void)state;
    assert_tile("/topp:states/EPSG:4326/7/70406/42987.png", 1, "topp:states", "EPSG:4326", "png");
    assert_tile("/tms/a.b c/g/7/70406/42987.jpeg", 0, "a.b c", "g", "jpeg");
    assert_tile("/tms/g/7/70406/42987.png", 1, "tms", "g", "png");
    assert_tile("/tms/tms/g/7/70406/42987.png", 0, "tms", "g", "png");
}

static void assert_kind(const char *path, tseed_address_kind_t kind)
{
    char service[200] = "/service";

    assert_int_equal(tseed_tile_address(path).kind, kind);
    assert_int_equal(tseed_tile_address(strcat(service, path)).kind, kind);
}

static void test_tile_address__services(void **state)
{
    tseed_tile_address_t address;

    (void)state;
    assert_kind("/wmts", TSEED_ADDRESS_WMTS);
    assert_kind("/wmts/WMTSCapabilities.xml", TSEED_ADDRESS_WMTS_CAPABILITIES);
    assert_kind("/wmts/1.0.0/WMTSCapabilities.xml", TSEED_ADDRESS_WMTS_CAPABILITIES);
    assert_kind("/wms", TSEED_ADDRESS_WMS);
    assert_kind("/tms/1.0.0", TSEED_ADDRESS_TMS_SERVICE);
    assert_kind("/tms/1.0.0/", TSEED_ADDRESS_TMS_SERVICE);
    assert_kind("/tms/1.0.0/l@g@png", TSEED_ADDRESS_TMS_MAP);
    assert_kind("/tms/1.0.0/l@g", TSEED_ADDRESS_NONE);
    assert_kind("/tms/1.0.0/@g@png", TSEED_ADDRESS_NONE);
    assert_kind("/wmts/l/s/g/g:7/2/1.png", TSEED_ADDRESS_WMTS_TILE);
    assert_kind("/wmts/l/s/g@0-9/g:7/2/1.png", TSEED_ADDRESS_WMTS_TILE);
    assert_kind("/wmts/l/s/g@0-9/g@0-9:7/2/1.png", TSEED_ADDRESS_WMTS_TILE);
    assert_kind("/wmts/l/s/g@0-9/:7/2/1.png", TSEED_ADDRESS_NONE);
    assert_kind("/wmts/l/s/@0-9/:7/2/1.png", TSEED_ADDRESS_NONE);
    assert_kind("/wmts/l/s/g/h:7/2/1.png", TSEED_ADDRESS_NONE);
    assert_kind("/wmts/l/s/g/7/2/1.", TSEED_ADDRESS_NONE);
    assert_kind("/wms/", TSEED_ADDRESS_NONE);

    assert_tile("/tms/1.0.0/me@home@EPSG:4326@png/7/70406/42987.png", 0, "me@home", "EPSG:4326",
                "png");
    assert_tile("/service/tms/1.0.0/l/7/70406/42987.png", 0, "l", "", "png");
    address = tseed_tile_address("/rest/wmts/l/night/EPSG:4326/EPSG:4326:7/42987/70406");
    assert_int_equal(address.kind, TSEED_ADDRESS_WMTS_TILE);
    assert_piece(address.style, "night");
    assert_int_equal(address.format.length, 0);
    assert_int_equal(address.x, 70406);
    assert_int_equal(address.y, 42987);
    assert_int_equal(address.z, 7);
    assert_true(address.from_top);
}

static void test_tile_address__what_is_none(void **state)
{
    static const char *const paths[] = {
        "",
        "/",
        "/a",
        "//////",
        "/a/g/7/1",
        "/a/g/7/1/2",
        "/a/g/7/1/2/3.png",
        "/a/g/7/1/.png",
        "/a/g/7//2.png",
        "/a/g//1/2.png",
        "/a//7/1/2.png",
        "//g/7/1/2.png",
        "/a/g/-7/1/2.png",
        "/a/g/+7/1/2.png",
        "/a/g/7/1/-2.png",
        "/a/g/7/1/ 2.png",
        "/a/g/7/0x1/2.png",
        "/a/g/7/1.5/2.png",
        "/a/g/7/1e3/2.png",
        "/a/g/7/1/2.png/",
        "/a/g/7/../2.png",
        "/a/g/1000000000000000000/1/2.png",
        "/a/g/7/9223372036854775808/2.png",
        "/tms/a/g/7/1/2",
        "a/g/7/1/2.png",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(tseed_tile_address(paths[i]).kind, TSEED_ADDRESS_NONE);
    }
}

/* OGC 07-057r7, 8.2.2: parameters that lack or can't be are named. */
static void test_tile_address__of_a_query(void **state)
{
    static const char *const names[] = {"LAYER", "TILEMATRIXSET", "TILEMATRIX", "TILEROW",
                                        "TILECOL"};
    static const char *const values[] = {"roads", "EPSG:3857", "EPSG:3857:7", "5", "3"};
    tseed_tile_address_t address;
    tseed_query_problem_t problem;
    apr_pool_t *pool;
    apr_table_t *query;

    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    query = apr_table_make(pool, 8);
    for (size_t i = 0; i < 5; i++) {
        problem = tseed_tile_address_query(&address, query);
        assert_string_equal(problem.code, "MissingParameterValue");
        assert_string_equal(problem.locator, names[i]);
        apr_table_setn(query, names[i], "");
        assert_string_equal(tseed_tile_address_query(&address, query).locator, names[i]);
        apr_table_setn(query, names[i], values[i]);
    }
    apr_table_setn(query, "STYLE", "dark");
    problem = tseed_tile_address_query(&address, query);
    assert_null(problem.code);
    assert_int_equal(address.kind, TSEED_ADDRESS_WMTS_TILE);
    assert_int_equal(address.from_top, 1);
    assert_int_equal(address.z, 7);
    assert_int_equal(address.x, 3);
    assert_int_equal(address.y, 5);
    assert_memory_equal(address.style.text, "dark", 4);
    assert_int_equal(address.style.length, 4);
    for (size_t i = 3; i < 5; i++) {
        apr_table_setn(query, names[i], "-1");
        problem = tseed_tile_address_query(&address, query);
        assert_string_equal(problem.code, "InvalidParameterValue");
        assert_string_equal(problem.locator, names[i]);
        apr_table_setn(query, names[i], values[i]);
    }
    apr_pool_destroy(pool);
    apr_terminate();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tile_address__xyz_and_tms),
        cmocka_unit_test(test_tile_address__services),
        cmocka_unit_test(test_tile_address__what_is_none),
        cmocka_unit_test(test_tile_address__of_a_query),
    };

    return cmocka_run_group_tests_name("tile_address", tests, NULL, NULL);
}
