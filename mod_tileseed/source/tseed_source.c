/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where a layer's pictures come from: each kind of source has its own files. */
#include "source/tseed_source.h"

#include "source/tseed_wms.h"
#include "source/tseed_wmts.h"
#include "source/tseed_xyz.h"

#define PIXEL_MOST  8 /* bytes: 16 bits for each of four channels, not compressed */
#define BESIDE_MOST (1 << 20)
#define ANSWER_MOST (64 << 20)

static const char *check_wms(const tseed_layer_t *layer, apr_pool_t *pool)
{
    return tseed_wms_check(&layer->source, pool);
}

static const struct {
    int is_tiled;
    const char *(*check)(const tseed_layer_t *layer, apr_pool_t *pool);
    const char *(*url)(const tseed_ask_t *ask, apr_pool_t *pool);
} kinds[] = {
    [TSEED_SOURCE_WMS] = {0, check_wms, tseed_wms_url},
    [TSEED_SOURCE_XYZ] = {1, tseed_xyz_check, tseed_xyz_url},
    [TSEED_SOURCE_WMTS] = {1, tseed_wmts_check, tseed_wmts_url},
};

int tseed_source_is_tiled(const tseed_source_t *source)
{
    return kinds[source->kind].is_tiled;
}

const char *tseed_source_check(const tseed_layer_t *layer, apr_pool_t *pool)
{
    return kinds[layer->source.kind].check(layer, pool);
}

const char *tseed_source_url(tseed_ask_t *ask, int address, apr_pool_t *pool)
{
    const tseed_source_t *source = &ask->tileset->layer->source;
    const tseed_gridset_t *gridset = ask->tileset->subset->gridset;
    const tseed_range_t *whole = ask->whole;
    const char *url;

    ask->width = (int)(whole->maxx - whole->minx + 1) * gridset->tile_width;
    ask->height = (int)(whole->maxy - whole->miny + 1) * gridset->tile_height;
    ask->margin = tseed_margin_of(gridset, whole, ask->gutter, !ask->tileset->layer->gutter_beyond);
    ask->width += ask->margin.left + ask->margin.right;
    ask->height += ask->margin.top + ask->margin.bottom;
    ask->url = source->addresses[address].url;
    url = kinds[source->kind].url(ask, pool);
    return tseed_address_has_dots(url) ? "" : url;
}

size_t tseed_source_most(int width, int height)
{
    const int64_t most = (int64_t)width * height * PIXEL_MOST + BESIDE_MOST;

    return (size_t)(most < ANSWER_MOST ? most : ANSWER_MOST);
}

void tseed_source_settle(const tseed_source_t *source, tseed_transfer_t *transfer)
{
    if (source->missing_is_empty && transfer->result == TSEED_FETCH_FAILED &&
        (transfer->http_status == 404 || transfer->http_status == 204)) {
        transfer->result = TSEED_FETCH_OK;
        transfer->length = 0;
        transfer->next_condition[0] = '\0';
    }
}
