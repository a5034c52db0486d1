/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layers, their formats and the catalog of them: looking things up by name. */
#include "layer/tseed_layer.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"

#define QUOTE_MAX 200

#define FORMAT(codec, mime, extension, type, from)                                                 \
    {mime, extension, type, TSEED_CODEC_##codec, from, 85, 1, 0, TSEED_PALETTE_AUTO},
static const tseed_format_t formats[TSEED_CODECS] = {TSEED_FORMATS(FORMAT)};

static const char *unknown_format(const char *mime, apr_pool_t *pool)
{
    const char *list = formats[0].mime;

    for (size_t i = 1; i < TSEED_CODECS; i++) {
        list = apr_pstrcat(pool, list, ", ", formats[i].mime, NULL);
    }
    return apr_psprintf(pool, "format '%s' is unknown, one of %s is expected",
                        tseed_text_quote(mime, QUOTE_MAX, pool), list);
}

const char *tseed_format_init(tseed_format_t *format, const char *mime, apr_pool_t *pool)
{
    for (size_t i = 0; i < TSEED_CODECS; i++) {
        if (apr_cstr_casecmp(formats[i].mime, mime) == 0) {
            *format = formats[i];
            return NULL;
        }
    }
    return unknown_format(mime, pool);
}

const tseed_subset_t *tseed_layer_find_subset(const tseed_layer_t *layer, const char *gridset)
{
    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);

        if (strcmp(subset->gridset->name, gridset) == 0) {
            return subset;
        }
    }
    return NULL;
}

const char *tseed_subset_name(const tseed_subset_t *subset, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s@%d-%d", subset->gridset->name, subset->zoom_first,
                        subset->zoom_last);
}

const tseed_format_t *tseed_layer_find_format(const tseed_layer_t *layer, const char *mime)
{
    for (int i = 0; i < layer->formats->nelts; i++) {
        const tseed_format_t *format = &APR_ARRAY_IDX(layer->formats, i, tseed_format_t);

        if (apr_cstr_casecmp(format->mime, mime) == 0) {
            return format;
        }
    }
    return NULL;
}

const tseed_filter_t *tseed_layer_find_filter(const tseed_layer_t *layer, const char *key)
{
    for (int i = 0; i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        if (apr_cstr_casecmp(filter->name, key) == 0) {
            return filter;
        }
    }
    return NULL;
}

int tseed_source_connections(const tseed_source_t *source)
{
    int most = source->addresses[0].upstream->connections;

    for (int i = 1; source->mode == TSEED_SOURCE_SHARE && i < source->count; i++) {
        most += source->addresses[i].upstream->connections;
    }
    return most;
}

const char *const tseed_layout_words[] = {
    [TSEED_LAYOUT_GEOWEBCACHE] = "geowebcache",
    [TSEED_LAYOUT_XYZ] = "xyz",
    [TSEED_LAYOUT_TMS] = "tms",
    [TSEED_LAYOUT_ARCGIS] = "arcgis",
    [TSEED_LAYOUT_QUADKEY] = "quadkey",
    [TSEED_LAYOUT_TILECACHE] = "tilecache",
    [TSEED_LAYOUT_TEMPLATE] = "a template such as {layer}/{z}/{x}/{y}.{ext}",
    NULL,
};

static const char *print_of(const tseed_store_config_t *store, const char *root, apr_pool_t *pool)
{
    int has_template = store->layout == TSEED_LAYOUT_TEMPLATE;
    const char *text = apr_psprintf(pool, "%d\n%s\n%s", (int)store->layout, root,
                                    has_template ? store->path_template : "");
    char *print = apr_palloc(pool, 41);

    tseed_text_sha1(print, text, strlen(text));
    return print;
}

const char *tseed_store_print(const tseed_store_config_t *store, apr_pool_t *pool)
{
    return print_of(store, store->root, pool);
}

const char *tseed_store_layout_print(const tseed_store_config_t *store, apr_pool_t *pool)
{
    return print_of(store, "", pool);
}

tseed_catalog_t *tseed_catalog_create(apr_pool_t *pool)
{
    tseed_catalog_t *catalog = apr_pcalloc(pool, sizeof(*catalog));

    catalog->order = apr_array_make(pool, 8, sizeof(tseed_layer_t *));
    catalog->layers = apr_hash_make(pool);
    catalog->gridsets = apr_hash_make(pool);
    catalog->upstreams = apr_hash_make(pool);
    return catalog;
}

unsigned tseed_catalog_roots(const tseed_catalog_t *catalog, const char **roots, unsigned most)
{
    unsigned count = 0;

    for (int i = 0; i < catalog->order->nelts && count < most; i++) {
        const char *root = APR_ARRAY_IDX(catalog->order, i, const tseed_layer_t *)->store.root;
        unsigned known = 0;

        while (known < count && strcmp(roots[known], root) != 0) {
            known++;
        }
        roots[known] = root;
        count += known == count;
    }
    return count;
}

const tseed_layer_t *tseed_catalog_find_layer(const tseed_catalog_t *catalog, const char *name)
{
    return apr_hash_get(catalog->layers, name, APR_HASH_KEY_STRING);
}

const tseed_gridset_t *tseed_catalog_find_gridset(const tseed_catalog_t *catalog, const char *name)
{
    const tseed_gridset_t *own = apr_hash_get(catalog->gridsets, name, APR_HASH_KEY_STRING);

    return own ? own : tseed_gridset_builtin(name);
}
