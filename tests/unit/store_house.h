/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A store on a real file system for tests: a directory of its own that goes with the test. */
#ifndef STORE_HOUSE_H
#define STORE_HOUSE_H

#include "store_fixture.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/tseed_store.h"

/* Each test has a fixture, a root below a temporary directory of its own, and a view of it. */
typedef struct {
    apr_pool_t *pool;
    const char *top;
    fixture_t f;
    tseed_store_t *store;
} house_t;

static inline int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    apr_pool_t *pool;
    house_t *house;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    house = apr_pcalloc(pool, sizeof(*house));
    house->pool = pool;
    house->top = mkdtemp(apr_pstrcat(pool, tmp ? tmp : "/tmp", "/tseed-store-XXXXXX", NULL));
    fixture_init(&house->f, apr_pstrcat(pool, house->top, "/tiles", NULL),
                 TSEED_LAYOUT_GEOWEBCACHE);
    *state = house;
    return house->top ? 0 : -1;
}

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline int teardown(void **state)
{
    house_t *house = *state;

    nftw(house->top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    apr_pool_destroy(house->pool);
    apr_terminate();
    return 0;
}

/* A house whose view is open. */
static inline house_t *open_house(void **state, tseed_layout_t layout)
{
    house_t *house = *state;

    house->f.layer.store.layout = layout;
    assert_int_equal(tseed_store_open(&house->store, &house->f.tileset, 7, house->pool), 0);
    return house;
}

static inline const char *full(const house_t *house, const char *path)
{
    return apr_pstrcat(house->pool, house->f.layer.store.root, "/", path, NULL);
}

static inline const char *tile(const house_t *house, int z, int64_t x, int64_t y)
{
    return full(house, tseed_store_path(&house->f.tileset, z, x, y, house->pool));
}

#define HOUSE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
