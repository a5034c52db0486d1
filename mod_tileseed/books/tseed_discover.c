/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The name of a directory has a hash, and parameters do not follow from a hash. So the hash is
 * compared with the hashes of known parameters: those that the layer's filters list, and those of
 * the layer's tile sets in the book, which a regex may have let through. For a hash of other
 * parameters there may be a file of GeoWebCache that has the parameters. Tile sets that are found
 * are entered and walked like every new tile set. */
#include "books/tseed_discover.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_log.h"
#include "layer/tseed_tileset.h"
#include "protocol/tseed_parameters.h"
#include "store/tseed_store.h"

#define HASHES_SAID 8

/* Hash -> parameters. */
static apr_hash_t *known_variants(const tseed_cache_t *cache, const tseed_layer_t *layer,
                                  apr_pool_t *pool)
{
    apr_hash_t *variants = tseed_variants_list(layer, pool);
    const tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_next(cache->book, &i)) != NULL; i++) {
        const tseed_tileset_record_t *record = &booked->record;
        const char *hash = strrchr(record->key, '/') + 1;

        if (strcmp(record->layer, layer->name) == 0 &&
            !apr_hash_get(variants, hash, APR_HASH_KEY_STRING)) {
            apr_hash_set(variants, hash, APR_HASH_KEY_STRING,
                         tseed_parameters_load(record->parameters, pool));
        }
    }
    return variants;
}

/* Reads the parameters in GeoWebCache's file about a hash. NULL: there is no such file, or its
 * parameters do not make the hash. */
static const apr_table_t *from_file(const tseed_tileset_t *tileset, const char *hash,
                                    apr_pool_t *pool)
{
    const char *text = tseed_store_hash_file(tileset, hash, pool);
    const apr_table_t *submitted = text ? tseed_properties_load(text, pool) : NULL;
    tseed_tileset_t found;

    if (!submitted ||
        tseed_tileset_init(&found, tileset->layer, tileset->subset, tileset->format, submitted,
                           pool) ||
        !found.hash || strcmp(found.hash, hash) != 0) {
        return NULL;
    }
    return found.parameters;
}

/* In each format: directories don't say which have tiles there. */
static apr_status_t enter(const tseed_context_t *context, tseed_cache_t *cache,
                          const tseed_layer_t *layer, const tseed_subset_t *subset,
                          const apr_table_t *parameters)
{
    tseed_tileset_t tileset;
    tseed_book_tileset_t *booked;
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < layer->formats->nelts; i++) {
        tseed_tileset_init(&tileset, layer, subset,
                           &APR_ARRAY_IDX(layer->formats, i, tseed_format_t), parameters,
                           context->scratch);
        rv = tseed_cache_tileset(&booked, cache, &tileset);
    }
    return rv;
}

static void say_unknown(const tseed_layer_t *layer, const tseed_subset_t *subset,
                        const apr_array_header_t *unknown, apr_pool_t *pool)
{
    const char *list = "", *more = "";

    for (int i = 0; i < unknown->nelts && i < HASHES_SAID; i++) {
        list =
            apr_pstrcat(pool, list, i ? ", " : "", APR_ARRAY_IDX(unknown, i, const char *), NULL);
    }
    if (unknown->nelts > HASHES_SAID) {
        more = apr_psprintf(pool, " and %d more", unknown->nelts - HASHES_SAID);
    }
    if (unknown->nelts > 0) {
        tseed_log(
            TSEED_LOG_NOTICE, APR_SUCCESS,
            "TS0030: below %s layer '%s' has directories of grid set %s with parameters that its "
            "filters do not list, by their hashes: %s%s; what is in them is not counted before a "
            "seed request with these parameters, or before they are listed as values: remove what "
            "nobody needs",
            layer->store.root, layer->name, subset->gridset->name, list, more);
    }
}

/* *variants is listed when it is needed first. */
static apr_status_t look_at(const tseed_context_t *context, tseed_cache_t *cache,
                            apr_hash_t **variants, const tseed_layer_t *layer,
                            const tseed_subset_t *subset, apr_pool_t *pool)
{
    apr_array_header_t *hashes, *unknown = apr_array_make(pool, 4, sizeof(const char *));
    tseed_tileset_t tileset;
    apr_status_t rv;

    tseed_tileset_init(&tileset, layer, subset, &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t),
                       NULL, pool);
    rv = tseed_store_hashes(&hashes, &tileset, pool);
    if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) {
        tseed_log(TSEED_LOG_WARNING, rv,
                  "TS0029: can't look below %s for tiles of layer '%s' with parameters; the next "
                  "reconcile or start tries it again",
                  layer->store.root, layer->name);
    }
    if (hashes->nelts > 0 && !*variants) {
        *variants = known_variants(cache, layer, pool);
    }
    rv = APR_SUCCESS;
    for (int i = 0; rv == APR_SUCCESS && i < hashes->nelts; i++) {
        const char *hash = APR_ARRAY_IDX(hashes, i, const char *);
        const apr_table_t *parameters = apr_hash_get(*variants, hash, APR_HASH_KEY_STRING);

        parameters = parameters ? parameters : from_file(&tileset, hash, pool);
        if (parameters) {
            rv = enter(context, cache, layer, subset, parameters);
        } else {
            APR_ARRAY_PUSH(unknown, const char *) = hash;
        }
    }
    say_unknown(layer, subset, unknown, pool);
    return rv;
}

apr_status_t tseed_discover_look(const tseed_context_t *context, tseed_cache_t *cache)
{
    const apr_array_header_t *layers = context->catalog->order;
    apr_pool_t *pool;
    apr_status_t rv = APR_SUCCESS;

    apr_pool_create(&pool, context->scratch);
    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, tseed_layer_t *);
        const int subsets = layer->filters->nelts > 0 ? layer->subsets->nelts : 0;
        apr_hash_t *variants = NULL;

        for (int s = 0; rv == APR_SUCCESS && s < subsets; s++) {
            rv = look_at(context, cache, &variants, layer,
                         &APR_ARRAY_IDX(layer->subsets, s, tseed_subset_t), pool);
        }
        apr_pool_clear(pool);
    }
    apr_pool_destroy(pool);
    return rv;
}
