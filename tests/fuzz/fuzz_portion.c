/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the reader of portions: whatever it takes lies within the grid set, within the picture and
 * within what a transfer may have. An input has no version, so that it outlives the version. */
#include <string.h>

#include "source/tseed_fetcher.h"
#include "target.h"
#include "fleet/tseed_portion.h"

static const tseed_upstream_t server;

static tseed_catalog_t *catalog_of(apr_pool_t *pool)
{
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    tseed_layer_t *layer = (tseed_layer_t *)target_layer(pool);
    apr_table_t *parameters = apr_table_make(pool, 1);

    apr_table_setn(parameters, "LAYERS", "all");
    layer->source.parameters = parameters;
    layer->source.count = 1;
    layer->source.addresses[0] = (tseed_address_t){"http://127.0.0.1/wms", &server};
    APR_ARRAY_PUSH(catalog->order, tseed_layer_t *) = layer;
    apr_hash_set(catalog->layers, layer->name, APR_HASH_KEY_STRING, layer);
    return catalog;
}

static void check_range(const tseed_range_t *range, const tseed_range_t *whole)
{
    assert(range->z == whole->z);
    assert(range->minx >= whole->minx && range->minx <= range->maxx && range->maxx <= whole->maxx);
    assert(range->miny >= whole->miny && range->miny <= range->maxy && range->maxy <= whole->maxy);
}

static void check_condition(const char *condition)
{
    assert(*condition && strlen(condition) < TSEED_CONDITION_SIZE);
    assert(!strpbrk(condition, "\r\n") && strncmp(condition, "If-", 3) == 0);
}

static void check_portion(const tseed_portion_t *portion)
{
    const tseed_gridset_t *gridset = portion->tileset.subset->gridset;
    const int z = portion->asked.z;
    tseed_range_t grid = {.z = z};

    assert(z >= 0 && z < gridset->levels);
    grid.maxx = gridset->columns[z] - 1;
    grid.maxy = gridset->rows[z] - 1;
    check_range(&portion->asked, &grid);
    for (int i = 0; i < portion->parts->nelts; i++) {
        check_range(&APR_ARRAY_IDX(portion->parts, i, tseed_portion_part_t).wanted,
                    &portion->asked);
    }
    assert(portion->parts->nelts > 0 && portion->address == 0 && portion->url);
    assert(portion->width > 0 && portion->width <= TSEED_PICTURE_SIDE_MAX);
    assert(portion->height > 0 && portion->height <= TSEED_PICTURE_SIDE_MAX);
    assert(portion->weight >= -1 && portion->weight <= 1e6);
    if (portion->condition) {
        check_condition(portion->condition);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    const char *bare = apr_pstrmemdup(pool, (const char *)data, size);
    const char *text = apr_pstrcat(pool, TSEED_VERSION " ", bare, NULL);
    const tseed_catalog_t *catalog = catalog_of(pool);
    const char *condition = tseed_portion_condition(bare, pool);
    tseed_portion_t portion;

    assert(tseed_portion_read(&portion, bare, catalog, pool) ||
           strncmp(bare, TSEED_VERSION " ", strlen(TSEED_VERSION " ")) == 0);
    if (!tseed_portion_read(&portion, text, catalog, pool)) {
        check_portion(&portion);
        assert(tseed_portion_layer(text, catalog, pool) == portion.tileset.layer);
    }
    if (condition && *condition) {
        check_condition(condition);
    }
    assert(strcmp(tseed_portion_text(tseed_portion_field(bare, pool), pool), bare) == 0);
    apr_pool_destroy(pool);
    return 0;
}
