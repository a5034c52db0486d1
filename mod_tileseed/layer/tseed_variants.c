/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Variants: the filters' values are counted through like the digits of a number. */
#include "layer/tseed_variants.h"

#include "layer/tseed_tileset.h"

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
