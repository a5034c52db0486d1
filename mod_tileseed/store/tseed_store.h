/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where tiles go: files in one of several layouts, written beside and renamed over, removed by range.
 *
 * A tseed_store_t is a worker thread's own view of one tile set: it remembers directory descriptors between calls and is used by
 * one thread. Rows are counted from the bottom in every call; layouts that count from the top turn them over here.
 */
#ifndef TSEED_STORE_H
#define TSEED_STORE_H

#include "layer/tseed_tileset.h"
#include "tiling/tseed_range.h"

typedef struct tseed_store_t tseed_store_t;

/* Checks a store's configuration: absolute root, a template with {z} {x} or {y} forms that give every tile its own file and stay below
 * the root. NULL or a sentence. Configuration phase, no file system access. */
const char *tseed_store_check(const tseed_store_config_t *config, apr_pool_t *pool);

/* The path below the root of one tile: LAYOUTS.md. In `pool`. */
const char *tseed_store_path(const tseed_tileset_t *tileset, int z, int64_t x, int64_t y,
                             apr_pool_t *pool);

/* Opens a view. `tileset` outlives it. `id` tells this thread's temporary files from another's. APR_SUCCESS also when the root does not exist
 * yet; it is made by the first put. */
apr_status_t tseed_store_open(tseed_store_t **store, const tseed_tileset_t *tileset, unsigned id,
                              apr_pool_t *pool);
void tseed_store_close(tseed_store_t *store);

/* Bit i is set if the i-th tile of the range (row by row from the bottom-left) exists with a size above 0; at most 64 * words tiles.
 */
apr_status_t tseed_store_present(tseed_store_t *store, const tseed_range_t *range,
                                 uint64_t *bits, unsigned words);

/* Asked right before a rename or an unlink; nonzero: leave it (the task was terminated). */
typedef int tseed_store_stop_t(void *baton);

/* Puts a tile there: written beside, mode set, renamed over. Missing directories are made. `stop` may be NULL. APR_EINTR: stop said so, nothing
 * changed. */
apr_status_t tseed_store_put(tseed_store_t *store, int z, int64_t x, int64_t y, const void *data,
                             size_t length, tseed_store_stop_t *stop, void *baton);

/* Makes tile (z, x, y) another name of tile (z, from_x, from_y), replacing what was there. APR_ENOTIMPL when the file system will not (EMLINK, EXDEV,
 * EPERM): put it instead. */
apr_status_t tseed_store_link(tseed_store_t *store, int z, int64_t x, int64_t y, int64_t from_x,
                              int64_t from_y, tseed_store_stop_t *stop, void *baton);

/* Removes the tiles of a range and the directories below the root that became empty. Walks what exists when that is less than what could exist.
 * *removed counts up while it runs (atomically, so that another thread may look). `examined` is told nothing: what was not there is no
 * failure. APR_EINTR: stopped in the middle. */
apr_status_t tseed_store_remove(tseed_store_t *store, const tseed_range_t *range,
                                _Atomic int64_t *removed, tseed_store_stop_t *stop, void *baton);

#endif
