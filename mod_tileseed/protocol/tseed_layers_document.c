/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document of layers.json. Members that a seed request has are called as there; the first entry
 * of a list is what is meant by a request that names none. */
#include "protocol/tseed_layers_document.h"

#include "protocol/tseed_pieces.h"

static void add_bounds(apr_array_header_t *pieces, const tseed_bounds_t *bounds)
{
    apr_pool_t *pool = pieces->pool;

    add(pieces,
        apr_psprintf(pool, ",\"bounds\":[%s,%s,%s,%s]", tseed_text_number(bounds->minx, pool),
                     tseed_text_number(bounds->miny, pool), tseed_text_number(bounds->maxx, pool),
                     tseed_text_number(bounds->maxy, pool)));
}

/* Begins an object with its name. */
static void begin(apr_array_header_t *pieces, int is_first, const char *member, const char *name)
{
    add(pieces, apr_pstrcat(pieces->pool, is_first ? "" : ",", "{\"", member,
                            "\":", tseed_escape_json(name, pieces->pool), NULL));
}

static void add_gridsets(apr_array_header_t *pieces, const tseed_layer_t *layer)
{
    add(pieces, ",\"gridSets\":[");
    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);

        begin(pieces, i == 0, "gridSetId", subset->gridset->name);
        add_number(pieces, "srs", subset->gridset->srs);
        add_number(pieces, "zoomStart", subset->zoom_first);
        add_number(pieces, "zoomStop", subset->zoom_last);
        add_bounds(pieces, &subset->extent);
        add_number(pieces, "tileWidth", subset->gridset->tile_width);
        add_number(pieces, "tileHeight", subset->gridset->tile_height);
        add(pieces, "}");
    }
    add(pieces, "]");
}

static void add_formats(apr_array_header_t *pieces, const tseed_layer_t *layer)
{
    add(pieces, ",\"formats\":[");
    for (int i = 0; i < layer->formats->nelts; i++) {
        const tseed_format_t *format = &APR_ARRAY_IDX(layer->formats, i, tseed_format_t);

        begin(pieces, i == 0, "format", format->mime);
        add_string(pieces, "extension", format->extension);
        add(pieces, "}");
    }
    add(pieces, "]");
}

/* Without values and expression every value passes. The default may be "", which is not null. */
static void add_filter(apr_array_header_t *pieces, const tseed_filter_t *filter)
{
    apr_pool_t *pool = pieces->pool;

    add(pieces, apr_pstrcat(pool, ",\"default\":", tseed_escape_json(filter->default_value, pool),
                            ",\"values\":[", NULL));
    for (int i = 0; i < filter->values->nelts; i++) {
        add(pieces, i ? "," : "");
        add(pieces, tseed_escape_json(APR_ARRAY_IDX(filter->values, i, const char *), pool));
    }
    add(pieces, "]");
    add_string(pieces, "regex", filter->regex);
}

static void add_filters(apr_array_header_t *pieces, const tseed_layer_t *layer)
{
    add(pieces, ",\"parameters\":[");
    for (int i = 0; i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        begin(pieces, i == 0, "name", filter->name);
        add_filter(pieces, filter);
        add(pieces, "}");
    }
    add(pieces, "]");
}

const char *tseed_layers_document(const apr_array_header_t *layers, apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, 32, sizeof(const char *));

    add(pieces, "{\"layers\":[");
    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, const tseed_layer_t *);

        begin(pieces, i == 0, "name", layer->name);
        add_gridsets(pieces, layer);
        add_formats(pieces, layer);
        add_filters(pieces, layer);
        add(pieces, "}");
    }
    add(pieces, "]}");
    return apr_array_pstrcat(pool, pieces, '\0');
}
