/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document that lists the layers which a request may name (layers.json). Any thread. Results
 * live in the pool that a call takes. */
#ifndef TSEED_LISTS_H
#define TSEED_LISTS_H

#include <apr_pools.h>
#include <apr_tables.h>

#include "layer/tseed_layer.h"

/* A layer, and what the client may do with it. */
typedef struct {
    const tseed_layer_t *layer;
    const char *tiles; /* template of its tiles' addresses; NULL: no location is known */
    int may_seed;
} tseed_layers_entry_t;

/* What the client may do with the server as a whole. */
typedef struct {
    int terminate, quota, reconcile, clean_up;
} tseed_layers_rights_t;

/* The layers (tseed_layers_entry_t) in their order, with what a seed request may choose. Pure
 * ASCII, in `pool`. Any thread. */
const char *tseed_layers_document(const apr_array_header_t *entries,
                                  const tseed_layers_rights_t *rights, apr_pool_t *pool);

#endif
