/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document layers.json. */
#include "protocol/tseed_lists.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_document.h"
#include "protocol/tseed_write.h"

/* ---- layers ----
 *
 * Members that a seed request has are called as there; the first entry of a list is what is meant
 * by a request that names none. */

/* Where tiles lie: a viewer needs no more to know what to ask for. */
static void add_grid(tseed_json_t *json, const tseed_gridset_t *gridset)
{
    apr_pool_t *pool = json->pool;

    tseed_json_open(json, "grid", '{');
    tseed_json_words(json, "corner", gridset->top_left ? "top-left" : "bottom-left");
    tseed_json_open(json, "origin", '[');
    tseed_json_raw(json, NULL, tseed_text_number(gridset->origin_x, pool));
    tseed_json_raw(json, NULL, tseed_text_number(gridset->origin_y, pool));
    tseed_json_close(json, ']');
    tseed_json_bounds(json, "extent", &gridset->extent);
    tseed_json_raw(json, "metersPerUnit", tseed_text_number(gridset->meters_per_unit, pool));
    tseed_json_open(json, "resolutions", '[');
    for (int z = 0; z < gridset->levels; z++) {
        tseed_json_raw(json, NULL, tseed_text_number(gridset->resolution[z], pool));
    }
    tseed_json_close(json, ']');
    tseed_json_open(json, "columns", '[');
    for (int z = 0; z < gridset->levels; z++) {
        tseed_json_number(json, NULL, gridset->columns[z]);
    }
    tseed_json_close(json, ']');
    tseed_json_open(json, "rows", '[');
    for (int z = 0; z < gridset->levels; z++) {
        tseed_json_number(json, NULL, gridset->rows[z]);
    }
    tseed_json_close(json, ']');
    tseed_json_close(json, '}');
}

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
        add_grid(json, subset->gridset);
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

static void add_metatile(tseed_json_t *json, const tseed_layer_t *layer)
{
    tseed_json_open(json, "metatile", '{');
    tseed_json_number(json, "width", layer->meta_width);
    tseed_json_number(json, "height", layer->meta_height);
    tseed_json_number(json, "gutter", layer->gutter);
    tseed_json_close(json, '}');
}

static void add_entry(tseed_json_t *json, const tseed_layers_entry_t *entry)
{
    const tseed_layer_t *layer = entry->layer;

    tseed_json_open(json, NULL, '{');
    tseed_json_text(json, "name", layer->name);
    add_gridsets(json, layer);
    add_formats(json, layer);
    add_filters(json, layer);
    add_metatile(json, layer);
    tseed_json_levels(json, "derived", layer->derived.first, layer->derived.end - 1);
    tseed_json_words(json, "tiles", entry->tiles);
    tseed_json_open(json, "may", '{');
    tseed_json_flag(json, "seed", entry->may_seed);
    tseed_json_flag(json, "truncate", entry->may_seed);
    tseed_json_close(json, '}');
    tseed_json_close(json, '}');
}

static void add_rights(tseed_json_t *json, const tseed_layers_rights_t *rights)
{
    tseed_json_open(json, "may", '{');
    tseed_json_flag(json, "terminate", rights->terminate);
    tseed_json_flag(json, "quota", rights->quota);
    tseed_json_flag(json, "reconcile", rights->reconcile);
    tseed_json_flag(json, "cleanUp", rights->clean_up);
    tseed_json_close(json, '}');
}

const char *tseed_layers_document(const apr_array_header_t *entries,
                                  const tseed_layers_rights_t *rights, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    tseed_json_open(&json, "layers", '[');
    for (int i = 0; i < entries->nelts; i++) {
        add_entry(&json, &APR_ARRAY_IDX(entries, i, tseed_layers_entry_t));
    }
    tseed_json_close(&json, ']');
    add_rights(&json, rights);
    return tseed_json_end(&json);
}
