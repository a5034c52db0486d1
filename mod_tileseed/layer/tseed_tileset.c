/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile sets, and all of a layer's: submitted parameters become the whole set of values, their
 * hash and the key. */
#include "layer/tseed_tileset.h"

#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "base/tseed_text.h"

/* ---- variants: the filters' values are counted through like the digits of a number ---- */

/* A filter's choices: its default, and then its values. */
static const char *choice(const tseed_filter_t *filter, int number)
{
    return number == 0 ? filter->default_value
                       : APR_ARRAY_IDX(filter->values, number - 1, const char *);
}

static void add(apr_hash_t *variants, const tseed_layer_t *layer, const int *choices)
{
    apr_pool_t *pool = apr_hash_pool_get(variants);
    apr_table_t *submitted = apr_table_make(pool, layer->filters->nelts);
    tseed_tileset_t tileset;

    for (int i = 0; i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        apr_table_setn(submitted, filter->name, choice(filter, choices[i]));
    }
    if (!tseed_tileset_init(&tileset, layer, &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t),
                            &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t), submitted, pool) &&
        tileset.hash) {
        apr_hash_set(variants, tileset.hash, APR_HASH_KEY_STRING, tileset.parameters);
    }
}

/* Returns 0 behind the last combination. */
static int advance(int *choices, const tseed_layer_t *layer)
{
    for (int i = 0; i < layer->filters->nelts; i++) {
        if (choices[i]++ < APR_ARRAY_IDX(layer->filters, i, tseed_filter_t).values->nelts) {
            return 1;
        }
        choices[i] = 0;
    }
    return 0;
}

apr_hash_t *tseed_variants_list(const tseed_layer_t *layer, apr_pool_t *pool)
{
    apr_hash_t *variants = apr_hash_make(pool);
    int *choices = apr_pcalloc(pool, (size_t)layer->filters->nelts * sizeof(*choices));
    int seen = 0;

    do {
        add(variants, layer, choices);
    } while (++seen < TSEED_VARIANTS_MAX && advance(choices, layer));
    return variants;
}

#define QUOTE_MAX 200

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const apr_table_entry_t *)a)->key, ((const apr_table_entry_t *)b)->key);
}

const char *tseed_parameters_hash(const apr_table_t *parameters, apr_pool_t *pool)
{
    apr_array_header_t *entries = apr_array_copy(pool, apr_table_elts(parameters));
    const char *text = "";
    char *hash = apr_palloc(pool, 41);

    qsort(entries->elts, (size_t)entries->nelts, sizeof(apr_table_entry_t), compare_keys);
    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        text = apr_pstrcat(pool, text, i ? "&" : "?", entry->key, "=", entry->val, NULL);
    }
    tseed_text_sha1(hash, text, strlen(text));
    return hash;
}

static const char *unknown_key(const tseed_layer_t *layer, const char *key, apr_pool_t *pool)
{
    const char *list = "";

    for (int i = 0; i < layer->filters->nelts; i++) {
        list = apr_pstrcat(pool, list, i ? ", " : "it has ",
                           APR_ARRAY_IDX(layer->filters, i, tseed_filter_t).name, NULL);
    }
    return apr_psprintf(pool, "layer %s has no parameter '%s', %s", layer->name,
                        tseed_text_quote(key, QUOTE_MAX, pool), *list ? list : "it has none");
}

static const char *check_keys(const tseed_layer_t *layer, const apr_table_t *submitted,
                              apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(submitted);
    apr_table_t *seen = apr_table_make(pool, entries->nelts);

    for (int i = 0; i < entries->nelts; i++) {
        const char *key = APR_ARRAY_IDX(entries, i, apr_table_entry_t).key;

        if (!tseed_layer_find_filter(layer, key)) {
            return unknown_key(layer, key, pool);
        }
        if (apr_table_get(seen, key)) {
            return apr_psprintf(pool, "parameter '%s' is there twice, once is expected", key);
        }
        apr_table_setn(seen, key, "");
    }
    return NULL;
}

/* Puts the value of every filter into `values`; `*differs` when one is not its default. */
static const char *take_values(apr_table_t *values, int *differs, const tseed_layer_t *layer,
                               const apr_table_t *submitted, apr_pool_t *pool)
{
    *differs = 0;
    for (int i = 0; i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);
        const char *value;
        const char *problem =
            tseed_filter_accept(&value, filter, apr_table_get(submitted, filter->name), pool);

        if (problem) {
            return problem;
        }
        apr_table_setn(values, filter->name, value);
        *differs |= strcmp(value, filter->default_value) != 0;
    }
    return NULL;
}

/* A name as one segment of a key: no '/' stays in it, and no two names become one. */
static const char *segment(const char *name, apr_pool_t *pool)
{
    char *escaped = apr_palloc(pool, 3 * strlen(name) + 1);
    char *end = escaped;

    for (; *name; name++) {
        if (*name == '%' || *name == '/') {
            memcpy(end, *name == '%' ? "%25" : "%2F", 3);
            end += 3;
        } else {
            *end++ = *name;
        }
    }
    *end = '\0';
    return escaped;
}

const char *tseed_tileset_init(tseed_tileset_t *tileset, const tseed_layer_t *layer,
                               const tseed_subset_t *subset, const tseed_format_t *format,
                               const apr_table_t *submitted, apr_pool_t *pool)
{
    apr_table_t *values = apr_table_make(pool, layer->filters->nelts);
    const apr_table_t *given = submitted ? submitted : apr_table_make(pool, 1);
    const char *problem = check_keys(layer, given, pool);
    int differs;

    if (!problem) {
        problem = take_values(values, &differs, layer, given, pool);
    }
    if (problem) {
        return problem;
    }
    tileset->layer = layer;
    tileset->subset = subset;
    tileset->format = format;
    tileset->parameters = values;
    tileset->hash = differs ? tseed_parameters_hash(values, pool) : NULL;
    tileset->key =
        apr_pstrcat(pool, segment(layer->name, pool), "/", segment(subset->gridset->name, pool),
                    "/", format->extension, "/", differs ? tileset->hash : "default", NULL);
    return NULL;
}

const char *tseed_tileset_find(tseed_tileset_t *tileset, const tseed_catalog_t *catalog,
                               const tseed_names_t *names, apr_pool_t *pool)
{
    const tseed_layer_t *layer = tseed_catalog_find_layer(catalog, names->layer);
    const tseed_subset_t *subset = layer ? tseed_layer_find_subset(layer, names->gridset) : NULL;
    const tseed_format_t *format = layer ? tseed_layer_find_format(layer, names->format) : NULL;

    if (!subset || !format) {
        return "it is not configured";
    }
    return tseed_tileset_init(tileset, layer, subset, format,
                              apr_table_clone(pool, names->parameters), pool);
}

int tseed_tileset_is_open(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const apr_array_header_t *filters = tileset->layer->filters;
    int open = 0;

    for (int i = 0; tileset->hash && !open && i < filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(filters, i, tseed_filter_t);
        const char *value = apr_table_get(tileset->parameters, filter->name);

        open = tseed_filter_is_open(filter) && value && !tseed_filter_lists(filter, value, pool);
    }
    return open;
}
