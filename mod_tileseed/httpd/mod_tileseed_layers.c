/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handler of the list of layers. */
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_layers_document.h"

int tseed_handle_layers(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const apr_array_header_t *all = rest->conf->catalog->order;
    apr_array_header_t *seen = apr_array_make(r->pool, all->nelts, sizeof(const tseed_layer_t *));

    for (int i = 0; i < all->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(all, i, const tseed_layer_t *);

        if (tseed_rest_sees(rest, layer->name)) {
            APR_ARRAY_PUSH(seen, const tseed_layer_t *) = layer;
        }
    }
    return tseed_reply_document(r, TSEED_BODY_JSON, tseed_layers_document(seen, r->pool));
}
