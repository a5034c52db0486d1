/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Cells: rectangles of metatiles, aligned to the blocks of the sequence. */
#include "tiling/tseed_cells.h"

#define SIDE_MOST 8 /* metatiles */

/* The largest power of two of metatiles that fits. */
static int side_of(int meta_side, int most)
{
    int side = 1;

    while (2 * side <= SIDE_MOST && 2 * side * meta_side <= most &&
           2 * side * meta_side <= TSEED_BLOCK_TILES) {
        side *= 2;
    }
    return side;
}

tseed_cell_shape_t tseed_cells_largest(const tseed_shape_t *shape, int most_width, int most_height)
{
    return (tseed_cell_shape_t){side_of(shape->meta_width, most_width),
                                side_of(shape->meta_height, most_height)};
}

tseed_cell_shape_t tseed_cells_half(tseed_cell_shape_t cell)
{
    if (cell.columns > cell.rows) {
        cell.columns /= 2;
    } else if (cell.rows > 1) {
        cell.rows /= 2;
    }
    return cell;
}

/* First and last metatile of the cell that holds metatile `at`, along one axis. */
typedef struct {
    int64_t first, last;
} span_t;

static span_t span_of(int64_t at, int side, int meta_side)
{
    const int64_t block = meta_side < TSEED_BLOCK_TILES ? TSEED_BLOCK_TILES / meta_side : 1;
    const int64_t first = at - at % block % side;
    const int64_t block_end = at - at % block + block;

    return (span_t){first, (first + side < block_end ? first + side : block_end) - 1};
}

/* The position of the metatile in a column and row, or -1 if the task wants nothing of it. */
static int64_t position_of(const tseed_positions_t *positions, int z, int64_t mx, int64_t my)
{
    const int64_t width = positions->shape.meta_width, height = positions->shape.meta_height;
    const tseed_range_t metatile = {z, mx * width, my * height, (mx + 1) * width - 1,
                                    (my + 1) * height - 1};
    const tseed_range_t wanted = tseed_range_intersect(&metatile, &positions->range[z]);

    return tseed_range_count(&wanted) > 0
               ? tseed_positions_of(positions, z, wanted.minx, wanted.miny)
               : -1;
}

int tseed_cells_at(int64_t found[TSEED_CELL_MOST], const tseed_positions_t *positions,
                   int64_t position, tseed_cell_shape_t cell)
{
    const tseed_range_t whole = tseed_positions_at(positions, position).whole;
    const int width = positions->shape.meta_width, height = positions->shape.meta_height;
    const span_t columns = span_of(whole.minx / width, cell.columns, width);
    const span_t rows = span_of(whole.miny / height, cell.rows, height);
    int count = 0;

    for (int64_t my = rows.first; my <= rows.last; my++) {
        for (int64_t mx = columns.first; mx <= columns.last; mx++) {
            const int64_t other = position_of(positions, whole.z, mx, my);

            if (other >= 0 && count < TSEED_CELL_MOST) {
                found[count++] = other;
            }
        }
    }
    return count;
}

/* The first metatile of the cell that holds a tile, along one axis. */
static int64_t first_of(int64_t tile, int side, int meta_side)
{
    return span_of(tile / meta_side, side, meta_side).first;
}

int tseed_cells_share(const tseed_shape_t *shape, const tseed_range_t *a, const tseed_range_t *b,
                      tseed_cell_shape_t cell)
{
    const int width = shape->meta_width, height = shape->meta_height;

    return first_of(a->minx, cell.columns, width) == first_of(b->minx, cell.columns, width) &&
           first_of(a->miny, cell.rows, height) == first_of(b->miny, cell.rows, height);
}

/* The smallest power of two that is not less than the metatiles from the first tile to the last. */
static int side_around(int64_t first, int64_t last, int meta_side)
{
    const int64_t count = last / meta_side - first / meta_side + 1;
    int side = 1;

    while (side < count && side < SIDE_MOST) {
        side *= 2;
    }
    return side;
}

tseed_cell_shape_t tseed_cells_around(const tseed_shape_t *shape, const tseed_range_t *range)
{
    return (tseed_cell_shape_t){side_around(range->minx, range->maxx, shape->meta_width),
                                side_around(range->miny, range->maxy, shape->meta_height)};
}

tseed_range_t tseed_cells_bound(const tseed_range_t *a, const tseed_range_t *b)
{
    if (tseed_range_count(b) <= 0) {
        return *a;
    }
    return (tseed_range_t){
        .z = a->z,
        .minx = a->minx < b->minx ? a->minx : b->minx,
        .miny = a->miny < b->miny ? a->miny : b->miny,
        .maxx = a->maxx > b->maxx ? a->maxx : b->maxx,
        .maxy = a->maxy > b->maxy ? a->maxy : b->maxy,
    };
}
