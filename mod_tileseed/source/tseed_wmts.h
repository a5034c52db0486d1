/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMTS as a source: the GetTile request of each tile. Pure text, no network, any thread.
 *
 * Standard: OGC 07-057r7 (WMTS 1.0.0), key-value pairs (8.2) and resource templates (10.2.1). Rows
 * are counted from the top. An address with braces is a resource template; {TileMatrixSet}
 * {TileMatrix} {TileRow} {TileCol} {Style} {Layer}, and any other key of the source or filter of
 * the layer, are its placeholders, in any case. An address without braces is a service.
 *
 * Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_WMTS_H
#define TSEED_WMTS_H

#include "source/tseed_address.h"

/* Checks addresses and keys of a layer's source; the filters are there already. NULL or a sentence.
 * Configuration phase. */
const char *tseed_wmts_check(const tseed_layer_t *layer, apr_pool_t *pool);

/* The address of a single tile. The key TILEMATRIXSET defaults to the grid set's name, TILEMATRIX
 * to the level; {gridset} and {z} in their values stand for these. In `pool`. */
const char *tseed_wmts_url(const tseed_ask_t *ask, apr_pool_t *pool);

#endif
