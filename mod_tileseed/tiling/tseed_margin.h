/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The gutter around a metatile, side by side. Servers refuse what lies beyond the world, so the
 * gutter is cut where the grid set's tiles end. Pure arithmetic, any thread. */
#ifndef TSEED_MARGIN_H
#define TSEED_MARGIN_H

#include "tiling/tseed_gridset.h"
#include "tiling/tseed_range.h"

/* Pixels. */
typedef struct {
    int left, right, bottom, top;
} tseed_margin_t;

/* How many pixels of gutter to ask for on each side of a block of tiles: `gutter`; with `is_cut`
 * none beyond the first and last column and row of the block's level. */
tseed_margin_t tseed_margin_of(const tseed_gridset_t *gridset, const tseed_range_t *whole,
                               int gutter, int is_cut);

#endif
