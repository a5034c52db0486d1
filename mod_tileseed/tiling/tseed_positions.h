/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A task's metatiles as a numbered sequence: position <-> metatile in O(1), whatever its size.
 *
 * The sequence goes level by level from the lowest zoom on. Derived levels come behind all others,
 * from the highest zoom down: their tiles are made of the tiles of the level before them in the
 * sequence. Within a level the sequence goes block by block (about 32 x 32 tiles), and within a
 * block metatile by metatile, both row by row from the bottom-left. So neighbours in the sequence
 * are neighbours on disk and in the book of the quota, whose pages have 32 x 32 tiles too.
 * Metatiles and blocks are aligned to the grid, not to the task, so that two tasks always agree
 * where a metatile begins. The range of the task cuts the blocks at its edges:
 *
 *      +--+-----+---+
 *      | 6|  7  | 8 |     the first and last block of each axis may be narrower
 *      +--+-----+---+
 *      | 3|  4  | 5 |
 *      +--+-----+---+
 *      | 0|  1  | 2 |
 *      +--+-----+---+
 *
 * The numbers are written into checkpoints: another order is another schema version.
 *
 * Pure functions.
 */
#ifndef TSEED_POSITIONS_H
#define TSEED_POSITIONS_H

#include "tiling/tseed_range.h"

/* Tiles on each side of a block. */
#define TSEED_BLOCK_TILES 32

/* Most tiles on each side of a metatile: a page of the quota's books has no more. */
#define TSEED_METATILE_SIDE_MAX 32

/* How a task cuts its bounds up. */
typedef struct {
    int zoom_start, zoom_stop;   /* 0 <= start <= stop < the grid set's levels */
    int meta_width, meta_height; /* tiles of a metatile, 1 .. TSEED_METATILE_SIDE_MAX */
} tseed_shape_t;

/* The levels first .. end-1, whose tiles are made of the tiles below them. Zeroed: none. */
typedef struct {
    int first, end;
} tseed_derived_t;

typedef struct {
    tseed_shape_t shape;
    tseed_derived_t derived;
    int64_t tiles;                         /* exact number inside the ranges */
    int64_t count;                         /* metatiles: positions are 0 .. count-1 */
    tseed_range_t range[TSEED_LEVELS_MAX]; /* by zoom; empty outside start..stop */
    int64_t first[TSEED_LEVELS_MAX];       /* first position of a level */
    int64_t metatiles[TSEED_LEVELS_MAX];   /* how many a level has */
    const tseed_gridset_t *gridset;        /* borrowed */
} tseed_positions_t;

/* One metatile: the tiles that are asked of the upstream, and those of them that the task wants. */
typedef struct {
    tseed_range_t whole;  /* aligned to the grid, cut at its edges */
    tseed_range_t wanted; /* the part inside the task's range, never empty */
} tseed_metatile_t;

/* Whether level z is derived. */
static inline int tseed_derived_has(const tseed_derived_t *derived, int z)
{
    return z >= derived->first && z < derived->end;
}

/* The level in place `i` of the sequence of levels start .. stop, 0 <= i <= stop - start. */
int tseed_derived_level(const tseed_derived_t *derived, int start, int stop, int i);

/* Metatiles of one level by columns and rows, edges included. */
typedef tseed_range_t tseed_metatiles_t;

/* Where a position is: its metatile's column and row, and the metatiles of its block and level that
 * the task touches. */
typedef struct {
    int64_t x, y;
    tseed_metatiles_t block, level;
} tseed_place_t;

/* Prepares the sequence; `bounds` in the grid set's units. Ranges may be empty: count and tiles are
 * then 0. */
void tseed_positions_init(tseed_positions_t *positions, const tseed_gridset_t *gridset,
                          const tseed_bounds_t *bounds, const tseed_shape_t *shape);

/* The same with derived levels. */
void tseed_positions_init_derived(tseed_positions_t *positions, const tseed_gridset_t *gridset,
                                  const tseed_bounds_t *bounds, const tseed_shape_t *shape,
                                  const tseed_derived_t *derived);

/* The metatile that holds tile (z, x, y); z is a level of the shape. The task need not want the
 * tile: `wanted` may be empty. */
tseed_metatile_t tseed_positions_metatile(const tseed_positions_t *positions,
                                          const tseed_tile_t *tile);

/* The metatile at 0 <= position < count. */
tseed_metatile_t tseed_positions_at(const tseed_positions_t *positions, int64_t position);

/* How many tiles the task wants of the positions 0 .. position-1, 0 <= position <= count. */
int64_t tseed_positions_tiles_before(const tseed_positions_t *positions, int64_t position);

/* The position of the metatile that holds tile (z, x, y), or -1 if that tile is not of the task. */
int64_t tseed_positions_of(const tseed_positions_t *positions, int z, int64_t x, int64_t y);

/* The place of 0 <= position < count. */
tseed_place_t tseed_positions_place(const tseed_positions_t *positions, int64_t position);

/* The metatile that begins at a column and a row of tiles divided by the metatile's sides, or -1 if
 * the task touches no such metatile: its position. */
int64_t tseed_positions_of_metatile(const tseed_positions_t *positions, int z, int64_t x,
                                    int64_t y);

#endif
