/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the comparison of a layer with what a WMS says of itself. What is said of it must be
 * sentences that fit into a line of the log, the same ones each time. */
#include <string.h>

#include "protocol/tseed_capabilities.h"
#include "target.h"

static tseed_layer_t *wanting_layer(apr_pool_t *pool)
{
    tseed_layer_t *layer = apr_pmemdup(pool, target_layer(pool), sizeof(*layer));
    apr_table_t *parameters = apr_table_make(pool, 1);

    apr_table_set(parameters, "LAYERS", "roads,rivers");
    layer->source.parameters = parameters;
    return layer;
}

static void check_sentence(const char *sentence)
{
    assert(*sentence);
    for (const char *at = sentence; *at; at++) {
        assert((unsigned char)*at >= ' ');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    const tseed_layer_t *layer = wanting_layer(pool);
    tseed_capabilities_t *offered = tseed_capabilities_read(data, size, pool);

    if (offered) {
        int lacks;
        apr_array_header_t *once = tseed_capabilities_lacks(&lacks, offered, layer, pool);
        apr_array_header_t *twice = tseed_capabilities_lacks(&lacks, offered, layer, pool);

        assert(once->nelts == twice->nelts);
        for (int i = 0; i < once->nelts; i++) {
            check_sentence(APR_ARRAY_IDX(once, i, const char *));
            assert(!strcmp(APR_ARRAY_IDX(once, i, const char *),
                           APR_ARRAY_IDX(twice, i, const char *)));
        }
    }
    apr_pool_destroy(pool);
    return 0;
}
