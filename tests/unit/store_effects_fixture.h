/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A store's effects against a walk of the disk. */
#ifndef STORE_EFFECTS_FIXTURE_H
#define STORE_EFFECTS_FIXTURE_H

#include <string.h>
#include <sys/stat.h>

#include "store_fixture.h"

#define BLOCK 512

static inline void assert_effect(tseed_effect_t effect, int64_t names, int64_t files, int64_t bytes,
                                 int64_t allocated)
{
    assert_int_equal(effect.names, names);
    assert_int_equal(effect.files, files);
    assert_int_equal(effect.bytes, bytes);
    assert_int_equal(effect.allocated, allocated);
}

static inline tseed_effect_t put(fixture_t *fixture, int64_t x, int64_t y, size_t length)
{
    static const char content[4096];
    tseed_effect_t effect;

    assert_int_equal(
        tseed_store_put(&effect, fixture->store, &(tseed_tile_t){4, x, y}, content, length, NULL),
        APR_SUCCESS);
    return effect;
}

/* As callers do it; adds up what it changes. */
static inline apr_status_t uniform_of(tseed_effect_t *sum, tseed_store_t *store, tseed_tile_t tile,
                                      const char *content)
{
    size_t length = strlen(content);
    tseed_effect_t effect;
    apr_status_t rv = tseed_store_link(&effect, store, &tile, content, length, NULL);

    while (rv == APR_NOTFOUND) {
        assert_int_equal(tseed_store_share(&effect, store, content, length), APR_SUCCESS);
        tseed_effect_add(sum, &effect);
        rv = tseed_store_link(&effect, store, &tile, content, length, NULL);
    }
    tseed_effect_add(sum, &effect);
    return rv;
}

static inline tseed_effect_t uniform(fixture_t *fixture, int64_t x, int64_t y, const char *content)
{
    tseed_effect_t sum = {0};

    assert_int_equal(uniform_of(&sum, fixture->store, (tseed_tile_t){4, x, y}, content), 0);
    return sum;
}

static inline tseed_effect_t sweep(fixture_t *fixture)
{
    tseed_effect_t effect;

    assert_int_equal(tseed_store_shared_sweep(&effect, fixture->store), APR_SUCCESS);
    return effect;
}

/* What is below the root, each file once whatever its names; by nftw, which passes no baton. */
static tseed_effect_t found;
static apr_array_header_t *inodes; /* of ino_t: those with several names */

static inline int is_known(ino_t inode)
{
    for (int i = 0; i < inodes->nelts; i++) {
        if (APR_ARRAY_IDX(inodes, i, ino_t) == inode) {
            return 1;
        }
    }
    APR_ARRAY_PUSH(inodes, ino_t) = inode;
    return 0;
}

static inline int survey_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
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

static inline void assert_survey(const fixture_t *fixture, const tseed_effect_t *sum)
{
    found = (tseed_effect_t){0};
    inodes = apr_array_make(fixture->pool, 16, sizeof(ino_t));
    nftw(fixture->made.layer.store.root, survey_entry, 16, FTW_PHYS);
    assert_effect(*sum, found.names, found.files, found.bytes, found.allocated);
}

static inline fixture_t *open_store_by_blocks(void **state, tseed_layout_t layout)
{
    fixture_t *fixture = open_store(state, layout);

    tseed_store_block_set(fixture->store, BLOCK);
    return fixture;
}

#endif
