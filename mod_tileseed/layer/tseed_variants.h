/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Variants: the parameters that a layer's filters can give, by their hash. Any thread. */
#ifndef TSEED_VARIANTS_H
#define TSEED_VARIANTS_H

#include <apr_hash.h>

#include "layer/tseed_layer.h"

/* How many combinations of one layer's values are looked at, at most. */
#define TSEED_VARIANTS_MAX 4096

/* All combinations of the filters' defaults and listed values, except that of the defaults alone,
 * which has no hash: hash -> const apr_table_t *, as tseed_tileset_init fills it, in `pool`. Values
 * that only a regex lets pass are not among them. */
apr_hash_t *tseed_variants_list(const tseed_layer_t *layer, apr_pool_t *pool);

#endif
