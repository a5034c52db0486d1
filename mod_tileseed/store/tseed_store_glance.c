/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The store: a glance at the directories of a tile set that is new. */
#include "store/tseed_store.h"

#define NAMES_OF_GLANCE 1024

/* What a look has found: names that it has examined, at most NAMES_OF_GLANCE, and tiles. */
typedef struct {
    int names, tiles;
} glance_t;

static int has_seen_enough(void *data)
{
    glance_t *glance = data;

    return glance->tiles > 0 || ++glance->names > NAMES_OF_GLANCE;
}

static void seen(void *data, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    (void)tile;
    (void)effect;
    ((glance_t *)data)->tiles++;
}

int tseed_store_is_absent(const tseed_tileset_t *tileset, apr_pool_t *scratch)
{
    const tseed_subset_t *subset = tileset->subset;
    glance_t glance = {0, 0};
    const tseed_visitor_t visitor = {seen, &glance, NULL};
    const tseed_stop_t stop = {has_seen_enough, &glance};
    tseed_effect_t shared = {0};
    tseed_store_t *store;
    apr_status_t rv = tseed_store_open(&store, tileset, TSEED_STORE_IDS - 1, scratch);

    if (rv != APR_SUCCESS) {
        return 0;
    }
    rv = tseed_store_walk(store, subset->zoom_first, subset->zoom_last, &visitor, &stop);
    if (rv == APR_SUCCESS) {
        rv = tseed_store_shared_count(&shared, store, 0);
    }
    tseed_store_close(store);
    return rv == APR_SUCCESS && glance.tiles == 0 && shared.files == 0;
}
