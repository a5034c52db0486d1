/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile ranges: bounds at a level to columns and rows, and back. Pure arithmetic. */
#ifndef TSEED_RANGE_H
#define TSEED_RANGE_H

#include "tiling/tseed_gridset.h"

/* One tile, its row counted from the bottom. */
typedef struct {
    int z;
    int64_t x, y;
} tseed_tile_t;

/* Tiles of one level, edges included, rows from the bottom. Empty: maxx < minx and maxy < miny. */
typedef struct {
    int z;
    int64_t minx, miny, maxx, maxy;
} tseed_range_t;

/* The tiles of level z that bounds touch, cut to the grid. A bound on a tile's edge (within a
 * millionth of a tile) does not add the tile behind the edge. A point or line takes the tile in
 * which it lies; on an edge, the tile to the right or above. Bounds that share nothing with the
 * extent, or only an edge from outside, give an empty range. */
tseed_range_t tseed_range_of(const tseed_gridset_t *gridset, int z, const tseed_bounds_t *bounds);

/* The tiles of level z that lie wholly in bounds, cut to the grid. A tile that sticks out by less
 * than a millionth of itself lies in them. Empty when there is none. */
tseed_range_t tseed_range_within(const tseed_gridset_t *gridset, int z,
                                 const tseed_bounds_t *bounds);

/* Number of tiles, 0 when empty. The grid set's check keeps it below 2^63. */
int64_t tseed_range_count(const tseed_range_t *range);

/* The ground that a block of tiles covers. */
tseed_bounds_t tseed_range_bounds(const tseed_gridset_t *gridset, const tseed_range_t *range);

/* The tiles that both ranges have; empty when the levels differ. */
tseed_range_t tseed_range_intersect(const tseed_range_t *a, const tseed_range_t *b);

/* Whether both ranges have a tile; whether a range has all tiles of a part of the same level, which
 * is not empty. */
int tseed_range_meets(const tseed_range_t *a, const tseed_range_t *b);
int tseed_range_has(const tseed_range_t *range, const tseed_range_t *part);

/* Whether two bounds share ground; then *common is the ground that they share. Neighbours whose
 * edges merely meet share nothing. A line or a point on an edge belongs to either neighbour. */
int tseed_bounds_intersect(tseed_bounds_t *common, const tseed_bounds_t *a,
                           const tseed_bounds_t *b);

/* Whether the numbers of a box look like degrees (small and near 0,0) and the numbers of `extent`,
 * a grid set's extent, do not. */
int tseed_bounds_in_degrees(const tseed_bounds_t *box, const tseed_bounds_t *extent);

/* Finds the tile whose ground the bounds are, give or take a tenth of a tile on each side, as
 * GeoWebCache does. Returns 0 when the bounds are the ground of no tile. */
int tseed_tile_of_bounds(tseed_tile_t *tile, const tseed_gridset_t *gridset,
                         const tseed_bounds_t *bounds);

/* Whether the lowest rows of the levels first..last begin at one y. Clients that know a single
 * origin need that. With a top-left origin the bottom rows may hang out of the extent by various
 * lengths, and then begin at several y. */
int tseed_range_has_one_origin(const tseed_gridset_t *gridset, int first, int last);

/* Pixels. */
typedef struct {
    int left, right, bottom, top;
} tseed_margin_t;

/* How many pixels of gutter to ask for on each side of a block of tiles: `gutter`; with `is_cut`
 * none beyond the first and last column and row of the block's level. */
tseed_margin_t tseed_margin_of(const tseed_gridset_t *gridset, const tseed_range_t *whole,
                               int gutter, int is_cut);

/* Checks that every tile of level z is covered by four tiles of level z + 1: the grid set has both,
 * the resolution halves, and tiles have an even number of pixels on each side. The edges of tiles
 * may differ by a hundredth of a pixel at most. NULL, or a sentence in `pool`. */
const char *tseed_halving_check(const tseed_gridset_t *gridset, int z, apr_pool_t *pool);

/* The tiles of the next level that cover the tiles of a range which is not empty. Of a tile on an
 * edge some may lie outside of the grid: columns and rows are not cut, and may be negative. */
tseed_range_t tseed_halving_below(const tseed_gridset_t *gridset, const tseed_range_t *range);

#endif
