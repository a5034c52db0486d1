/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Positions: a level is numbered in rows of blocks, blocks, rows of metatiles, metatiles.
 *
 * Two things precede a block in its level: whole rows of blocks, as wide as the level's range, and
 * the blocks of its own row, as high as itself. So both directions need only the spans below and no
 * list of blocks.
 */
#include "tiling/tseed_positions.h"

#define BLOCK_TILES 32

/* Neighbouring metatiles along one axis, numbered from the grid's left or bottom edge. */
typedef struct {
    int64_t first, count;
} span_t;

/* The metatiles that a range touches on each axis. */
typedef struct {
    span_t columns, rows;
} area_t;

static span_t span_of(int64_t first_tile, int64_t last_tile, int side)
{
    int64_t first = first_tile / side;

    return (span_t){first, last_tile / side - first + 1};
}

static area_t area_of(const tseed_positions_t *positions, int z)
{
    const tseed_range_t *range = &positions->range[z];

    return (area_t){
        .columns = span_of(range->minx, range->maxx, positions->shape.meta_width),
        .rows = span_of(range->miny, range->maxy, positions->shape.meta_height),
    };
}

/* Block that holds metatile `at` of a span: aligned to the grid, cut at the span's ends. */
static span_t block_of(span_t span, int64_t at, int meta_side)
{
    int64_t side = meta_side < BLOCK_TILES ? BLOCK_TILES / meta_side : 1;
    int64_t first = at - at % side;
    int64_t end = first + side;
    int64_t span_end = span.first + span.count;

    first = first > span.first ? first : span.first;
    end = end < span_end ? end : span_end;
    return (span_t){first, end - first};
}

/* ---- levels ---- */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

int tseed_derived_level(const tseed_derived_t *derived, int start, int stop, int i)
{
    const int first = larger(derived->first, start);
    const int end = derived->end <= stop ? derived->end : stop + 1;
    const int count = larger(end - first, 0);

    if (i > stop - start - count) { /* the last place has the first derived level */
        return first + stop - start - i;
    }
    return count > 0 && start + i >= first ? start + i + count : start + i;
}

static int level_at(const tseed_positions_t *positions, int i)
{
    return tseed_derived_level(&positions->derived, positions->shape.zoom_start,
                               positions->shape.zoom_stop, i);
}

static void level_init(tseed_positions_t *positions, int z, const tseed_bounds_t *bounds)
{
    tseed_range_t *range = &positions->range[z];

    positions->first[z] = positions->count;
    *range = tseed_range_of(positions->gridset, z, bounds);
    if (tseed_range_count(range) > 0) {
        area_t area = area_of(positions, z);

        positions->metatiles[z] = area.columns.count * area.rows.count;
        positions->tiles += tseed_range_count(range);
        positions->count += positions->metatiles[z];
    }
}

void tseed_positions_init_derived(tseed_positions_t *positions, const tseed_gridset_t *gridset,
                                  const tseed_bounds_t *bounds, const tseed_shape_t *shape,
                                  const tseed_derived_t *derived)
{
    *positions = (tseed_positions_t){.shape = *shape, .derived = *derived, .gridset = gridset};
    for (int z = 0; z < TSEED_LEVELS_MAX; z++) {
        positions->range[z] = (tseed_range_t){.z = z, .maxx = -1, .maxy = -1};
    }
    for (int i = 0; i <= shape->zoom_stop - shape->zoom_start; i++) {
        level_init(positions, level_at(positions, i), bounds);
    }
}

void tseed_positions_init(tseed_positions_t *positions, const tseed_gridset_t *gridset,
                          const tseed_bounds_t *bounds, const tseed_shape_t *shape)
{
    tseed_positions_init_derived(positions, gridset, bounds, shape, &(tseed_derived_t){0, 0});
}

/* ---- metatiles ---- */

/* The aligned metatile in column `mx` and row `my` of the metatiles of level z. */
static tseed_metatile_t metatile_of(const tseed_positions_t *positions, int z, int64_t mx,
                                    int64_t my)
{
    int64_t width = positions->shape.meta_width;
    int64_t height = positions->shape.meta_height;
    tseed_range_t aligned = {z, mx * width, my * height, (mx + 1) * width - 1,
                             (my + 1) * height - 1};
    tseed_range_t grid = {z, 0, 0, positions->gridset->columns[z] - 1,
                          positions->gridset->rows[z] - 1};
    tseed_metatile_t metatile;

    metatile.whole = tseed_range_intersect(&aligned, &grid);
    metatile.wanted = tseed_range_intersect(&aligned, &positions->range[z]);
    return metatile;
}

tseed_metatile_t tseed_positions_metatile(const tseed_positions_t *positions,
                                          const tseed_tile_t *tile)
{
    return metatile_of(positions, tile->z, tile->x / positions->shape.meta_width,
                       tile->y / positions->shape.meta_height);
}

static int level_of(const tseed_positions_t *positions, int64_t position)
{
    int i = 0, z = level_at(positions, i);

    while (position >= positions->first[z] + positions->metatiles[z]) {
        z = level_at(positions, ++i);
    }
    return z;
}

/* Where a position lies: its level, its block, and its number in the block. */
typedef struct {
    int z;
    area_t area, block;
    int64_t rest;
} place_t;

static place_t place_of(const tseed_positions_t *positions, int64_t position)
{
    const int z = level_of(positions, position);
    place_t place = {.z = z, .area = area_of(positions, z), .rest = position - positions->first[z]};
    const area_t *area = &place.area;
    area_t *block = &place.block;

    /* Counting on as if there were no blocks lands in the right row of blocks, and then, with lines
     * as long as that row is high, in the right block. */
    block->rows = block_of(area->rows, area->rows.first + place.rest / area->columns.count,
                           positions->shape.meta_height);
    place.rest -= (block->rows.first - area->rows.first) * area->columns.count;
    block->columns = block_of(area->columns, area->columns.first + place.rest / block->rows.count,
                              positions->shape.meta_width);
    place.rest -= (block->columns.first - area->columns.first) * block->rows.count;
    return place;
}

tseed_metatile_t tseed_positions_at(const tseed_positions_t *positions, int64_t position)
{
    const place_t place = place_of(positions, position);
    const int64_t width = place.block.columns.count;

    return metatile_of(positions, place.z, place.block.columns.first + place.rest % width,
                       place.block.rows.first + place.rest / width);
}

/* The wanted tiles of the metatiles of level z in some columns and rows. */
static int64_t tiles_in(const tseed_positions_t *positions, int z, span_t columns, span_t rows)
{
    const int64_t width = positions->shape.meta_width;
    const int64_t height = positions->shape.meta_height;
    const tseed_range_t span = {z, columns.first * width, rows.first * height,
                                (columns.first + columns.count) * width - 1,
                                (rows.first + rows.count) * height - 1};
    const tseed_range_t wanted = tseed_range_intersect(&span, &positions->range[z]);

    return tseed_range_count(&wanted);
}

/* Those of `span` that come before `at`. */
static span_t before(span_t span, int64_t at)
{
    return (span_t){span.first, at - span.first};
}

int64_t tseed_positions_tiles_before(const tseed_positions_t *positions, int64_t position)
{
    place_t place;
    span_t row;
    int64_t tiles = 0;

    if (position >= positions->count) {
        return positions->tiles;
    }
    place = place_of(positions, position);
    for (int i = 0, z; (z = level_at(positions, i)) != place.z; i++) {
        tiles += tseed_range_count(&positions->range[z]);
    }
    row = (span_t){place.block.rows.first + place.rest / place.block.columns.count, 1};
    return tiles +
           tiles_in(positions, place.z, place.area.columns,
                    before(place.area.rows, place.block.rows.first)) +
           tiles_in(positions, place.z, before(place.area.columns, place.block.columns.first),
                    place.block.rows) +
           tiles_in(positions, place.z, place.block.columns, before(place.block.rows, row.first)) +
           tiles_in(positions, place.z,
                    (span_t){place.block.columns.first, place.rest % place.block.columns.count},
                    row);
}

int64_t tseed_positions_of(const tseed_positions_t *positions, int z, int64_t x, int64_t y)
{
    tseed_range_t tile = {.z = z, .minx = x, .miny = y, .maxx = x, .maxy = y};
    int64_t mx = x / positions->shape.meta_width;
    int64_t my = y / positions->shape.meta_height;
    area_t area;
    span_t rows, columns;

    if (z < 0 || z >= TSEED_LEVELS_MAX) {
        return -1;
    }
    tile = tseed_range_intersect(&tile, &positions->range[z]);
    if (tseed_range_count(&tile) == 0) {
        return -1;
    }
    area = area_of(positions, z);
    rows = block_of(area.rows, my, positions->shape.meta_height);
    columns = block_of(area.columns, mx, positions->shape.meta_width);
    return positions->first[z] + (rows.first - area.rows.first) * area.columns.count +
           (columns.first - area.columns.first) * rows.count + (my - rows.first) * columns.count +
           (mx - columns.first);
}
