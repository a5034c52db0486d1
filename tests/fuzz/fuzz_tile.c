/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the reader of tile addresses with a path: its parts are pieces of the path, its numbers
 * are no smaller than 0, and whatever is found in the atlas has a file below the store's root. */
#include <apr_hash.h>
#include <string.h>

#include "protocol/tseed_service.h"
#include "store/tseed_atlas.h"
#include "target.h"

static void check_piece(tseed_piece_t piece, const char *path)
{
    assert(piece.length == 0 ||
           (piece.text >= path && piece.text + piece.length <= path + strlen(path)));
    assert(!memchr(piece.text ? piece.text : "", '/', piece.length));
}

static void check_file(const tseed_tile_address_t *address, apr_pool_t *pool)
{
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    const tseed_layer_t *layer = target_layer(pool);
    const tseed_chart_t *chart;
    const tseed_served_t *served;

    APR_ARRAY_PUSH(catalog->order, const tseed_layer_t *) = layer;
    chart = tseed_atlas_find(tseed_atlas_create(catalog, pool), address->layer.text,
                             address->layer.length, address->gridset.text, address->gridset.length);
    served = chart ? tseed_chart_find(chart, address->format.text, address->format.length) : NULL;
    if (served && tseed_chart_has(chart, address->z, address->x, address->y)) {
        tseed_tile_t tile = {(int)address->z, address->x, address->y};
        const char *path = tseed_served_path(served, &tile, pool);

        assert(strncmp(path, "/cache/l/", strlen("/cache/l/")) == 0);
        assert(!strstr(path, "..") && strlen(path) < served->longest);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    const char *path = apr_pstrmemdup(pool, (const char *)data, size);
    tseed_tile_address_t address = tseed_tile_address(path);

    check_piece(address.layer, path);
    check_piece(address.gridset, path);
    check_piece(address.format, path);
    check_piece(address.style, path);
    assert(address.z >= 0 && address.x >= 0 && address.y >= 0);
    if (address.kind == TSEED_ADDRESS_TILE || address.kind == TSEED_ADDRESS_WMTS_TILE) {
        check_file(&address, pool);
    }
    apr_pool_destroy(pool);
    return 0;
}
