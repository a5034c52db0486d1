/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A store on a real file system for tests: a directory of its own that goes with the test. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "tileset_fixture.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/tseed_store.h"

/* A tile set made by hand, its root below a temporary directory of the test, and its store. */
typedef struct {
    apr_pool_t *pool;
    const char *top;
    tileset_fixture_t made;
    tseed_store_t *store;
} fixture_t;

static inline int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    apr_pool_t *pool;
    fixture_t *fixture;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    fixture = apr_pcalloc(pool, sizeof(*fixture));
    fixture->pool = pool;
    fixture->top = mkdtemp(apr_pstrcat(pool, tmp ? tmp : "/tmp", "/tseed-store-XXXXXX", NULL));
    tileset_fixture_init(&fixture->made, apr_pstrcat(pool, fixture->top, "/tiles", NULL),
                         TSEED_LAYOUT_GEOWEBCACHE);
    *state = fixture;
    return fixture->top ? 0 : -1;
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
    fixture_t *fixture = *state;

    nftw(fixture->top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    apr_pool_destroy(fixture->pool);
    apr_terminate();
    return 0;
}

/* The fixture, its store open. */
static inline fixture_t *open_store(void **state, tseed_layout_t layout)
{
    fixture_t *fixture = *state;

    fixture->made.layer.store.layout = layout;
    assert_int_equal(tseed_store_open(&fixture->store, &fixture->made.tileset, 7, fixture->pool),
                     0);
    return fixture;
}

static inline const char *full(const fixture_t *fixture, const char *path)
{
    return apr_pstrcat(fixture->pool, fixture->made.layer.store.root, "/", path, NULL);
}

static inline const char *tile(const fixture_t *fixture, int z, int64_t x, int64_t y)
{
    return full(fixture, tseed_store_path(&fixture->made.tileset, z, x, y, fixture->pool));
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
