/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document of layers.json. Members that a seed request has are called as there; the first entry
 * of a list is what is meant by a request that names none. */
#include "protocol/tseed_layers_document.h"

#include "protocol/tseed_json_write.h"

static void add_gridsets(tseed_json_t *json, const tseed_layer_t *layer)
{
    tseed_json_open(json, "gridSets", '[');
    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);

        tseed_json_open(json, NULL, '{');
        tseed_json_text(json, "gridSetId", subset->gridset->name);
        tseed_json_number(json, "srs", subset->gridset->srs);
        tseed_json_number(json, "zoomStart", subset->zoom_first);
        tseed_json_number(json, "zoomStop", subset->zoom_last);
        tseed_json_bounds(json, "bounds", &subset->extent);
        tseed_json_number(json, "tileWidth", subset->gridset->tile_width);
        tseed_json_number(json, "tileHeight", subset->gridset->tile_height);
        tseed_json_close(json, '}');
    }
    tseed_json_close(json, ']');
}

static void add_formats(tseed_json_t *json, const tseed_layer_t *layer)
{
    tseed_json_open(json, "formats", '[');
    for (int i = 0; i < layer->formats->nelts; i++) {
        const tseed_format_t *format = &APR_ARRAY_IDX(layer->formats, i, tseed_format_t);

        tseed_json_open(json, NULL, '{');
        tseed_json_text(json, "format", format->mime);
        tseed_json_words(json, "extension", format->extension);
        tseed_json_close(json, '}');
    }
    tseed_json_close(json, ']');
}

/* Without values and expression every value passes. The default may be "", which is not null. */
static void add_filter(tseed_json_t *json, const tseed_filter_t *filter)
{
    tseed_json_text(json, "default", filter->default_value);
    tseed_json_open(json, "values", '[');
    for (int i = 0; i < filter->values->nelts; i++) {
        tseed_json_text(json, NULL, APR_ARRAY_IDX(filter->values, i, const char *));
    }
    tseed_json_close(json, ']');
    tseed_json_words(json, "regex", filter->regex);
}

static void add_filters(tseed_json_t *json, const tseed_layer_t *layer)
{
    tseed_json_open(json, "parameters", '[');
    for (int i = 0; i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        tseed_json_open(json, NULL, '{');
        tseed_json_text(json, "name", filter->name);
        add_filter(json, filter);
        tseed_json_close(json, '}');
    }
    tseed_json_close(json, ']');
}

const char *tseed_layers_document(const apr_array_header_t *layers, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    tseed_json_open(&json, NULL, '{');
    tseed_json_open(&json, "layers", '[');
    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, const tseed_layer_t *);

        tseed_json_open(&json, NULL, '{');
        tseed_json_text(&json, "name", layer->name);
        add_gridsets(&json, layer);
        add_formats(&json, layer);
        add_filters(&json, layer);
        tseed_json_close(&json, '}');
    }
    tseed_json_close(&json, ']');
    tseed_json_close(&json, '}');
    return tseed_json_end(&json);
}
