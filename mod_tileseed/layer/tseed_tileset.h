/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A tile set: layer x grid set x format x parameters, the unit that tasks and files agree on. Any
 * thread. Results and sentences live in the pool that a call takes. */
#ifndef TSEED_TILESET_H
#define TSEED_TILESET_H

#include <apr_hash.h>

#include "layer/tseed_layer.h"

typedef struct {
    const tseed_layer_t *layer;
    const tseed_subset_t *subset;
    const tseed_format_t *format;
    const apr_table_t *parameters; /* every filter of the layer, upper-case key -> value */
    const char *hash;              /* NULL when every parameter has its default */
    const char *key;               /* names the tile set uniquely: equal keys, equal files */
} tseed_tileset_t;

/* Fills parameters, hash and key. `submitted` maps keys in any case to values and may be NULL. The
 * tile set's key is "layer/grid set/extension/hash", with "default" when there is no hash; a '%' or
 * '/' in a name becomes %25 or %2F. Everything is in `pool`. NULL, or a sentence when `submitted`
 * has a key that names no filter of the layer, a key twice, or a value that its filter refuses. */
const char *tseed_tileset_init(tseed_tileset_t *tileset, const tseed_layer_t *layer,
                               const tseed_subset_t *subset, const tseed_format_t *format,
                               const apr_table_t *submitted, apr_pool_t *pool);

/* The names of a tile set in a request or a record; format is its MIME type, parameters are as
 * submitted. Borrowed. */
typedef struct {
    const char *layer, *gridset, *format;
    const apr_table_t *parameters;
} tseed_names_t;

/* Finds a tile set in a configuration; it keeps nothing of the names. NULL or a sentence. */
const char *tseed_tileset_find(tseed_tileset_t *tileset, const tseed_catalog_t *catalog,
                               const tseed_names_t *names, apr_pool_t *pool);

/* Whether one of the tile set's parameters has a value that its filter does not list. Clients can
 * make any number of such tile sets. */
int tseed_tileset_is_open(const tseed_tileset_t *tileset, apr_pool_t *pool);

/* GeoWebCache's parameter hash: the lower-case SHA-1 of "?" and all KEY=VALUE, sorted by key and
 * joined by "&". Values are not encoded. In `pool`. */
const char *tseed_parameters_hash(const apr_table_t *parameters, apr_pool_t *pool);

/* How many combinations of one layer's values are looked at, at most. */
#define TSEED_VARIANTS_MAX 4096

/* All combinations of the filters' defaults and listed values, except that of the defaults alone,
 * which has no hash: hash -> const apr_table_t *, as tseed_tileset_init fills it, in `pool`. Values
 * that only a regex lets pass are not among them. */
apr_hash_t *tseed_variants_list(const tseed_layer_t *layer, apr_pool_t *pool);

#endif
