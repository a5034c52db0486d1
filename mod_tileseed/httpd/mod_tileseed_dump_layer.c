/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dump of the configuration: grid sets and layers. */
#include "mod_tileseed_dump_layer.h"

#include <apr_strings.h>

#include "base/tseed_text.h"
#include "mod_tileseed_draft.h"
#include "source/tseed_source.h"

#define INDENT "    "

static const char *numbers(const double *values, int count, const char *glue, apr_pool_t *pool)
{
    const char *text = "";

    for (int i = 0; i < count; i++) {
        text = apr_pstrcat(pool, text, i ? glue : "", tseed_text_number(values[i], pool), NULL);
    }
    return text;
}

static const char *box(const tseed_bounds_t *bounds, const char *glue, apr_pool_t *pool)
{
    const double values[] = {bounds->minx, bounds->miny, bounds->maxx, bounds->maxy};

    return numbers(values, 4, glue, pool);
}

static void dump_degrees(const tseed_dump_t *dump, const tseed_bounds_t *degrees)
{
    if (degrees) {
        tseed_dump_line(dump, INDENT "TileSeedWGS84Box %s", box(degrees, " ", dump->pool));
    }
}

void tseed_dump_gridset(const tseed_dump_t *dump, const tseed_gridset_t *gridset)
{
    apr_pool_t *pool = dump->pool;
    const double origin[] = {gridset->origin_x, gridset->origin_y};

    tseed_dump_line(dump, "<TileSeedGridSet %s>", tseed_show_word(gridset->name, pool));
    tseed_dump_line(dump, INDENT "TileSeedSRS %d", gridset->srs);
    tseed_dump_line(dump, INDENT "TileSeedExtent %s", box(&gridset->extent, " ", pool));
    tseed_dump_line(dump, INDENT "TileSeedOrigin %s %s",
                    gridset->top_left ? "top-left" : "bottom-left", numbers(origin, 2, " ", pool));
    tseed_dump_line(dump, INDENT "TileSeedResolutions %s",
                    numbers(gridset->resolution, gridset->levels, " ", pool));
    tseed_dump_line(dump, INDENT "TileSeedTileSize %dx%d", gridset->tile_width,
                    gridset->tile_height);
    tseed_dump_line(dump, INDENT "TileSeedMetersPerUnit %s",
                    tseed_text_number(gridset->meters_per_unit, pool));
    tseed_dump_line(dump, INDENT "TileSeedAxisOrder %s", gridset->north_east ? "ne" : "en");
    dump_degrees(dump, gridset->degrees);
    tseed_dump_line(dump, "</TileSeedGridSet>");
}

/* ---- source ---- */

static const char *show_address(const tseed_address_t *address, const tseed_catalog_t *catalog,
                                apr_pool_t *pool)
{
    const char *name = address->upstream->name;

    return apr_hash_get(catalog->upstreams, name, APR_HASH_KEY_STRING) == address->upstream
               ? apr_pstrcat(pool, UPSTREAM_PREFIX, name, NULL)
               : address->url;
}

static void dump_source(const tseed_dump_t *dump, const tseed_source_t *source,
                        const tseed_catalog_t *catalog)
{
    const apr_array_header_t *parameters = apr_table_elts(source->parameters);
    const char *line = tseed_words_source[source->kind];
    apr_pool_t *pool = dump->pool;

    for (int i = 0; i < source->count; i++) {
        line = apr_pstrcat(
            pool, line, " ",
            tseed_show_word(show_address(&source->addresses[i], catalog, pool), pool), NULL);
    }
    if (source->count > 1) {
        line = apr_pstrcat(pool, line, " mode=", tseed_words_source_mode[source->mode], NULL);
    }
    if (tseed_source_is_tiled(source)) {
        line = apr_pstrcat(pool, line, " missing=", source->missing_is_empty ? "empty" : "error",
                           NULL);
    }
    for (int i = 0; i < parameters->nelts; i++) {
        const apr_table_entry_t *one = &APR_ARRAY_IDX(parameters, i, apr_table_entry_t);

        line = apr_pstrcat(pool, line, tseed_dump_option(dump, one->key, one->val), NULL);
    }
    tseed_dump_line(dump, INDENT "TileSeedSource %s", line);
}

/* ---- what a layer has ---- */

static void dump_subset(const tseed_dump_t *dump, const tseed_subset_t *subset)
{
    tseed_dump_line(dump, INDENT "TileSeedGrid %s zoom=%d-%d extent=%s%s",
                    tseed_show_word(subset->gridset->name, dump->pool), subset->zoom_first,
                    subset->zoom_last, box(&subset->extent, ",", dump->pool),
                    tseed_dump_option(dump, "srs", subset->srs));
}

static const char *show_number(const tseed_dump_t *dump, const tseed_format_t *format,
                               const char *name, int value)
{
    return tseed_format_takes(format, name) ? apr_psprintf(dump->pool, " %s=%d", name, value) : "";
}

static void dump_format(const tseed_dump_t *dump, const tseed_format_t *format)
{
    const char *palette = tseed_words_palette[format->palette];

    tseed_dump_line(
        dump, INDENT "TileSeedFormat %s%s%s%s%s%s", tseed_show_word(format->mime, dump->pool),
        tseed_dump_option(dump, "from", format->from),
        format->lossless ? "" : show_number(dump, format, "quality", format->quality),
        show_number(dump, format, "level", format->level),
        tseed_format_takes(format, "palette") ? tseed_dump_option(dump, "palette", palette) : "",
        format->lossless ? " lossless=on" : "");
}

static void dump_filter(const tseed_dump_t *dump, const tseed_filter_t *filter)
{
    const char *values = "";

    for (int i = 0; i < filter->values->nelts; i++) {
        values = apr_pstrcat(
            dump->pool, values,
            tseed_dump_option(dump, "value", APR_ARRAY_IDX(filter->values, i, const char *)), NULL);
    }
    tseed_dump_line(dump, INDENT "TileSeedParameter %s%s%s%s max=%d case=%s", filter->name,
                    tseed_dump_option(dump, "default", filter->default_value), values,
                    tseed_dump_option(dump, "regex", filter->regex),
                    filter->most > 0 ? filter->most : TSEED_FILTER_USUAL,
                    tseed_words_case[filter->letter_case]);
}

static void dump_store(const tseed_dump_t *dump, const tseed_store_config_t *store)
{
    const char *layout = store->layout == TSEED_LAYOUT_TEMPLATE ? store->path_template
                                                                : tseed_words_layout[store->layout];

    tseed_dump_line(dump, INDENT "TileSeedStore file %s%s link-uniform=%s mode=%04o dirmode=%04o",
                    tseed_show_word(store->root, dump->pool),
                    tseed_dump_option(dump, "layout", layout), store->link_uniform ? "on" : "off",
                    (unsigned)store->mode, (unsigned)store->dirmode);
}

/* The levels are one run: TileSeedKeep says them as FIRST-LAST. */
static void dump_kept(const tseed_dump_t *dump, uint64_t kept)
{
    int first = 0, last = TSEED_LEVELS_MAX - 1;

    if (kept == 0) {
        return;
    }
    while (!(kept >> first & 1)) {
        first++;
    }
    while (!(kept >> last & 1)) {
        last--;
    }
    tseed_dump_line(dump, INDENT "TileSeedKeep zoom=%d-%d", first, last);
}

static void dump_derived(const tseed_dump_t *dump, const tseed_derived_t *derived)
{
    if (derived->end > 0) {
        tseed_dump_line(dump, INDENT "TileSeedDerive zoom=%d-%d", derived->first, derived->end - 1);
    } else {
        tseed_dump_line(dump, INDENT "TileSeedDerive off");
    }
}

static void dump_prune(const tseed_dump_t *dump, const tseed_prune_config_t *prune)
{
    if (prune->is_on) {
        tseed_dump_line(dump, INDENT "TileSeedPrune uniform=%d sparse=%s check=%g", prune->depth,
                        prune->sparse ? "on" : "off", prune->share);
    } else {
        tseed_dump_line(dump, INDENT "TileSeedPrune off");
    }
}

static void dump_limits(const tseed_dump_t *dump, const tseed_layer_t *layer)
{
    dump_kept(dump, layer->kept);
    tseed_dump_line(dump, INDENT "TileSeedReseed %s", layer->reseed_all ? "all" : "changed");
    dump_prune(dump, &layer->prune);
    tseed_dump_line(dump, INDENT "TileSeedRetries %d", layer->retries);
    tseed_dump_line(dump, INDENT "TileSeedFailureLimit %" APR_INT64_T_FMT "%s",
                    layer->failure_limit, layer->failure_is_share ? "%" : "");
    if (layer->expires >= 0) {
        tseed_dump_line(dump, INDENT "TileSeedExpires %s",
                        tseed_show_duration(layer->expires, dump->pool));
    }
    tseed_dump_line(dump, INDENT "TileSeedMaxTileSets %d", layer->tilesets_most);
    tseed_dump_line(dump, INDENT "TileSeedOnMiss %s", tseed_words_on_miss[layer->on_miss]);
}

static void dump_metatile(const tseed_dump_t *dump, const tseed_layer_t *layer)
{
    const char *size = apr_psprintf(dump->pool, "%dx%d", layer->meta_width, layer->meta_height);

    if (layer->most_width > 0) {
        size = apr_psprintf(dump->pool, "auto max=%dx%d", layer->most_width, layer->most_height);
    }
    tseed_dump_line(dump, INDENT "TileSeedMetatile %s gutter=%d edge=%s", size, layer->gutter,
                    layer->gutter_beyond ? "ask" : "cut");
}

void tseed_dump_layer(const tseed_dump_t *dump, const tseed_layer_t *layer,
                      const tseed_catalog_t *catalog)
{
    tseed_dump_line(dump, "<TileSeedLayer %s>", tseed_show_word(layer->name, dump->pool));
    dump_source(dump, &layer->source, catalog);
    for (int i = 0; i < layer->subsets->nelts; i++) {
        dump_subset(dump, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t));
    }
    for (int i = 0; i < layer->formats->nelts; i++) {
        dump_format(dump, &APR_ARRAY_IDX(layer->formats, i, tseed_format_t));
    }
    dump_metatile(dump, layer);
    for (int i = 0; i < layer->filters->nelts; i++) {
        dump_filter(dump, &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t));
    }
    dump_store(dump, &layer->store);
    dump_derived(dump, &layer->derived);
    dump_limits(dump, layer);
    dump_degrees(dump, layer->degrees);
    tseed_dump_line(dump, "</TileSeedLayer>");
}
