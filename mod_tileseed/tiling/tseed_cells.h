/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Cells: aligned rectangles of neighbouring metatiles that one request may fetch.
 *
 * A cell lies within one block of the sequence (tiling/tseed_positions.h), so its tiles are of one
 * page of the book. Cells are aligned to their block, not to the task. The range of the task cuts
 * them at its edges. A cell of 2 x 2 metatiles of a block, with the numbers of its positions:
 *
 *      +----+----+----+----+
 *      | 12 | 13 | 14 | 15 |
 *      +----+----+#########+
 *      |  8 |  9 # 10 | 11 #     not neighbours in the sequence
 *      +----+----+----+----+
 *      |  4 |  5 #  6 |  7 #
 *      +----+----+#########+
 *      |  0 |  1 |  2 |  3 |
 *      +----+----+----+----+
 *
 * Pure functions.
 */
#ifndef TSEED_CELLS_H
#define TSEED_CELLS_H

#include "tiling/tseed_positions.h"

/* Most metatiles of a cell: 8 x 8. */
#define TSEED_CELL_MOST 64

/* The shape of a cell: metatiles on each side. */
typedef struct {
    int columns, rows;
} tseed_cell_shape_t;

/* The largest cell of at most `most_width` x `most_height` tiles. Its sides are powers of two. */
tseed_cell_shape_t tseed_cells_largest(const tseed_shape_t *shape, int most_width, int most_height);

/* Halves a cell on its longer side, as long as it has more than one metatile. */
tseed_cell_shape_t tseed_cells_half(tseed_cell_shape_t cell);

/* Writes the positions of the metatiles of the cell that holds `position`, in ascending order, the
 * position itself included. Returns how many there are. */
int tseed_cells_at(int64_t found[TSEED_CELL_MOST], const tseed_positions_t *positions,
                   int64_t position, tseed_cell_shape_t cell);

/* Whether two metatiles of one level, aligned to the grid, are of one cell. */
int tseed_cells_share(const tseed_shape_t *shape, const tseed_range_t *a, const tseed_range_t *b,
                      tseed_cell_shape_t cell);

/* The shape of the smallest cell that may hold a range of whole metatiles. */
tseed_cell_shape_t tseed_cells_around(const tseed_shape_t *shape, const tseed_range_t *range);

/* The smallest range that holds two ranges of one level; `b` may be empty. */
tseed_range_t tseed_cells_bound(const tseed_range_t *a, const tseed_range_t *b);

#endif
