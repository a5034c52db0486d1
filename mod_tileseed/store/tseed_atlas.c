/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The atlas: layers by name, each with a chart for every grid set. */
#include "store/tseed_atlas.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#define HASH_LENGTH 40
#define NO_HASH     "########################################"

/* Lives in the pool of its creation, immutable. */
struct tseed_atlas_t {
    apr_hash_t *layers;         /* name -> apr_array_header_t * of tseed_chart_t * */
    apr_array_header_t *charts; /* of tseed_chart_t *, NULL at the end */
};

/* The configuration has made sure that every layer has tile sets with default parameters. */
static void served_init(tseed_served_t *served, const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    *served = (tseed_served_t){.tileset = *tileset};
    served->pattern = tseed_layout_compile(&served->tileset, pool);
    served->prefix = tseed_layout_prefix(served->pattern, pool);
    served->print = tseed_tileset_print(&served->tileset, pool);
    served->longest =
        strlen(tileset->layer->store.root) + 1 + tseed_layout_longest(served->pattern);
}

/* The tile set beside this one whose parameters have that hash. */
static void other_init(tseed_served_t *other, const tseed_served_t *served, const char *hash,
                       apr_pool_t *pool)
{
    tseed_tileset_t tileset = served->tileset;
    const char *last = strrchr(tileset.key, '/');

    tileset.hash = hash;
    tileset.key = apr_pstrcat(
        pool, apr_pstrmemdup(pool, tileset.key, (apr_size_t)(last + 1 - tileset.key)), hash, NULL);
    served_init(other, &tileset, pool);
}

/* Length of the text with which all paths of a tile set begin, whatever their hash: all that two
 * hashes have in common. */
static size_t common_length(const tseed_served_t *served, apr_pool_t *pool)
{
    tseed_served_t other;
    size_t length = 0;

    other_init(&other, served, NO_HASH, pool);
    while (served->prefix[length] && served->prefix[length] == other.prefix[length]) {
        length++;
    }
    return length;
}

static const tseed_range_t *make_ranges(const tseed_subset_t *subset, apr_pool_t *pool)
{
    tseed_range_t *ranges = apr_palloc(pool, (apr_size_t)subset->gridset->levels * sizeof(*ranges));

    for (int z = 0; z < subset->gridset->levels; z++) {
        ranges[z] = z < subset->zoom_first || z > subset->zoom_last
                        ? (tseed_range_t){z, 0, 0, -1, -1}
                        : tseed_range_of(subset->gridset, z, &subset->extent);
    }
    return ranges;
}

static tseed_chart_t *chart_create(const tseed_layer_t *layer, const tseed_subset_t *subset,
                                   apr_pool_t *pool)
{
    tseed_chart_t *chart = apr_pcalloc(pool, sizeof(*chart));

    chart->layer = layer;
    chart->subset = subset;
    chart->name = tseed_subset_name(subset, pool);
    if (layer->expires >= 0) {
        chart->cache_control =
            apr_psprintf(pool, "max-age=%" APR_TIME_T_FMT, apr_time_sec(layer->expires));
    }
    chart->ranges = make_ranges(subset, pool);
    chart->count = layer->formats->nelts;
    chart->served = apr_pcalloc(pool, (apr_size_t)chart->count * sizeof(*chart->served));
    for (int i = 0; i < chart->count; i++) {
        tseed_tileset_t tileset;

        tseed_tileset_init(&tileset, layer, subset,
                           &APR_ARRAY_IDX(layer->formats, i, tseed_format_t), NULL, pool);
        served_init(&chart->served[i], &tileset, pool);
        chart->served[i].common = common_length(&chart->served[i], pool);
    }
    return chart;
}

static void add_layer(tseed_atlas_t *atlas, const tseed_layer_t *layer, apr_pool_t *pool)
{
    apr_array_header_t *charts =
        apr_array_make(pool, layer->subsets->nelts, sizeof(tseed_chart_t *));

    for (int i = 0; i < layer->subsets->nelts; i++) {
        APR_ARRAY_PUSH(charts, tseed_chart_t *) =
            chart_create(layer, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t), pool);
    }
    apr_hash_set(atlas->layers, layer->name, APR_HASH_KEY_STRING, charts);
    apr_array_cat(atlas->charts, charts);
}

tseed_atlas_t *tseed_atlas_create(const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    tseed_atlas_t *atlas = apr_palloc(pool, sizeof(*atlas));

    atlas->layers = apr_hash_make(pool);
    atlas->charts = apr_array_make(pool, catalog->order->nelts + 1, sizeof(tseed_chart_t *));
    for (int i = 0; i < catalog->order->nelts; i++) {
        add_layer(atlas, APR_ARRAY_IDX(catalog->order, i, tseed_layer_t *), pool);
    }
    APR_ARRAY_PUSH(atlas->charts, tseed_chart_t *) = NULL;
    return atlas;
}

static int is_called(const char *name, const char *text, size_t length)
{
    return length > 0 && strncmp(name, text, length) == 0 && !name[length];
}

const tseed_chart_t *tseed_atlas_find(const tseed_atlas_t *atlas, const char *layer,
                                      size_t layer_length, const char *gridset,
                                      size_t gridset_length)
{
    const apr_array_header_t *charts =
        apr_hash_get(atlas->layers, layer, (apr_ssize_t)layer_length);
    const tseed_chart_t *found = NULL;

    for (int i = 0; charts && i < charts->nelts; i++) {
        const tseed_chart_t *chart = APR_ARRAY_IDX(charts, i, tseed_chart_t *);

        if (gridset_length == 0 ||
            is_called(chart->subset->gridset->name, gridset, gridset_length)) {
            return chart;
        }
        if (!found && is_called(chart->name, gridset, gridset_length)) {
            found = chart;
        }
    }
    return found;
}

tseed_chart_t *const *tseed_atlas_charts(const tseed_atlas_t *atlas)
{
    return (tseed_chart_t *const *)atlas->charts->elts;
}

const tseed_served_t *tseed_chart_find(const tseed_chart_t *chart, const char *extension,
                                       size_t length)
{
    if (is_called("jpg", extension, length)) {
        extension = "jpeg";
        length = strlen(extension);
    }
    for (int i = 0; i < chart->count; i++) {
        if (is_called(chart->served[i].tileset.format->extension, extension, length)) {
            return &chart->served[i];
        }
    }
    return NULL;
}

const tseed_served_t *tseed_chart_find_mime(const tseed_chart_t *chart, const char *mime)
{
    const tseed_format_t *format = tseed_layer_find_format(chart->layer, mime);

    return format ? &chart->served[format - (const tseed_format_t *)chart->layer->formats->elts]
                  : NULL;
}

int tseed_chart_has(const tseed_chart_t *chart, int64_t z, int64_t x, int64_t y)
{
    const tseed_range_t *range;

    if (z < 0 || z >= chart->subset->gridset->levels) {
        return 0;
    }
    range = &chart->ranges[z];
    return x >= range->minx && x <= range->maxx && y >= range->miny && y <= range->maxy;
}

const char *tseed_served_choose(const tseed_served_t **chosen, const tseed_served_t *served,
                                const apr_table_t *submitted, apr_pool_t *pool)
{
    const tseed_tileset_t *plain = &served->tileset;
    tseed_tileset_t tileset;
    tseed_served_t *made;
    const char *problem =
        tseed_tileset_init(&tileset, plain->layer, plain->subset, plain->format, submitted, pool);

    *chosen = served;
    if (problem || !tileset.hash) {
        return problem;
    }
    made = apr_palloc(pool, sizeof(*made));
    served_init(made, &tileset, pool);
    made->blank = served->blank;
    made->blank_length = served->blank_length;
    *chosen = made;
    return NULL;
}

char *tseed_served_path(const tseed_served_t *served, const tseed_tile_t *tile, apr_pool_t *pool)
{
    const char *root = served->tileset.layer->store.root;
    size_t length = strlen(root);
    char *path = apr_palloc(pool, served->longest);

    memcpy(path, root, length);
    path[length] = '/';
    tseed_layout_path(path + length + 1, served->pattern, tile->z, tile->x, tile->y);
    return path;
}

/* ---- from file to page ---- */

uint64_t tseed_served_page(const tseed_served_t *served, const tseed_tile_t *tile)
{
    return tseed_page_print(served->print, tile->z, tile->x / TSEED_PAGE_SIDE,
                            tile->y / TSEED_PAGE_SIDE);
}

/* The part of the path behind the root; NULL: the path is not below the root. */
static const char *path_below(const tseed_store_config_t *store, const char *path)
{
    size_t length = strlen(store->root);

    return strncmp(path, store->root, length) == 0 && path[length] == '/' ? path + length + 1
                                                                          : NULL;
}

/* 0 when the path is none of the tile set's. */
static uint64_t page_in(const tseed_served_t *served, const char *path)
{
    tseed_tile_t tile;

    return strncmp(path, served->prefix, strlen(served->prefix)) == 0 &&
                   tseed_layout_tile(&tile.z, &tile.x, &tile.y, served->pattern, path)
               ? tseed_served_page(served, &tile)
               : 0;
}

/* The parameter hash in a path: the first forty hexadecimal digits in a row; or NULL. */
static const char *find_hash(const char *path, apr_pool_t *pool)
{
    for (const char *at = path; *at; at++) {
        size_t length = strspn(at, "0123456789abcdef");

        if (length == HASH_LENGTH) {
            return apr_pstrmemdup(pool, at, length);
        }
        at += length > 0 ? length - 1 : 0;
    }
    return NULL;
}

/* The same in the tile set beside this one whose parameters have that hash, whatever they are. */
static uint64_t page_in_other(const tseed_served_t *served, const char *hash, const char *path,
                              apr_pool_t *pool)
{
    tseed_served_t other;

    if (strncmp(path, served->prefix, served->common) != 0) {
        return 0;
    }
    other_init(&other, served, hash, pool);
    return page_in(&other, path);
}

uint64_t tseed_atlas_page_of(const tseed_atlas_t *atlas, const char *path, apr_pool_t *scratch)
{
    const char *hash = find_hash(path, scratch);
    uint64_t page = 0;

    for (tseed_chart_t *const *at = tseed_atlas_charts(atlas); *at && page == 0; at++) {
        const tseed_layer_t *layer = (*at)->layer;
        const char *below = path_below(&layer->store, path);

        for (int i = 0; below && page == 0 && i < (*at)->count; i++) {
            page = page_in(&(*at)->served[i], below);
            if (page == 0 && hash && layer->filters->nelts > 0) {
                page = page_in_other(&(*at)->served[i], hash, below, scratch);
            }
        }
    }
    return page;
}
