/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Halving: which four tiles of the next level cover a tile. That holds in grid sets in which the
 * next level has half the resolution. Pure arithmetic, any thread. */
#ifndef TSEED_HALVING_H
#define TSEED_HALVING_H

#include "tiling/tseed_range.h"

/* Checks that every tile of level z is covered by four tiles of level z + 1: the grid set has both,
 * the resolution halves, and tiles have an even number of pixels on each side. The edges of tiles
 * may differ by a hundredth of a pixel at most. NULL, or a sentence in `pool`. */
const char *tseed_halving_check(const tseed_gridset_t *gridset, int z, apr_pool_t *pool);

/* The tiles of the next level that cover the tiles of a range which is not empty. Of a tile on an
 * edge some may lie outside of the grid: columns and rows are not cut, and may be negative. */
tseed_range_t tseed_halving_below(const tseed_gridset_t *gridset, const tseed_range_t *range);

#endif
