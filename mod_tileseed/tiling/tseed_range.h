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

/* The tiles of level z that bounds touch, cut to the grid. A bound exactly on a tile edge (within a
 * millionth of a tile) does not add the neighbour; a point or line still takes the tile it lies in,
 * on an edge the one to the right or above. Bounds that share nothing with the extent, or only an
 * edge from outside, give an empty range. */
tseed_range_t tseed_range_of(const tseed_gridset_t *gridset, int z, const tseed_bounds_t *bounds);

/* Number of tiles, 0 when empty. The grid set's check keeps it below 2^63. */
int64_t tseed_range_count(const tseed_range_t *range);

/* The ground that a block of tiles covers. */
tseed_bounds_t tseed_range_bounds(const tseed_gridset_t *gridset, const tseed_range_t *range);

/* What both hold; empty when the levels differ. */
tseed_range_t tseed_range_intersect(const tseed_range_t *a, const tseed_range_t *b);

/* Whether the bounds share ground, and which. Neighbours whose edges merely meet share nothing; a
 * line or a point on an edge belongs to either neighbour. */
int tseed_bounds_intersect(tseed_bounds_t *common, const tseed_bounds_t *a,
                           const tseed_bounds_t *b);

/* Whether a box is so small and so near 0,0 that its numbers are degrees, and the extent's, a grid
 * set's, are not. */
int tseed_bounds_in_degrees(const tseed_bounds_t *box, const tseed_bounds_t *extent);

/* The tile whose ground the bounds are, give or take a tenth of a tile on each side, as GeoWebCache
 * takes them; 0 when they are none's. */
int tseed_tile_of_bounds(tseed_tile_t *tile, const tseed_gridset_t *gridset,
                         const tseed_bounds_t *bounds);

/* Whether the lowest rows of all these levels begin at one place, from which clients that know a
 * single origin may count. Not so where a top-left origin lets them hang out by various lengths. */
int tseed_range_has_one_origin(const tseed_gridset_t *gridset, int first, int last);

#endif
