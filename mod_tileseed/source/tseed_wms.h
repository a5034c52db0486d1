/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMS as a source: which GetMap request fetches a metatile. Pure text, no network. */
#ifndef TSEED_WMS_H
#define TSEED_WMS_H

#include "layer/tseed_tileset.h"
#include "tiling/tseed_positions.h"

/* Checks what the administrator wrote (URL's scheme http or https, version 1.1.0, 1.1.1 or 1.3.0, LAYERS there, no key that we set
 * ourselves). NULL or a sentence. Configuration phase. */
const char *tseed_wms_check(const tseed_source_t *source, apr_pool_t *pool);

/* The GetMap address of a block of tiles with `gutter` pixels around it: OGC 01-068r3 (1.1.1) and 06-042 (1.3.0, where CRS
 * replaces SRS and the axis order is the reference system's own). `width` and `height` get the pixels asked for.
 * Parameter filters of the tile set override the source's parameters. In `pool`. */
const char *tseed_wms_url(int *width, int *height, const tseed_tileset_t *tileset,
                          const tseed_range_t *whole, int gutter, apr_pool_t *pool);

#endif
