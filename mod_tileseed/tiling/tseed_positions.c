/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Positions: a level is numbered in rows of blocks, blocks, rows of metatiles, metatiles.
 *
 * Two things precede a block in its level: whole rows of blocks, as wide as the level's range, and
 * the blocks before it in its row, which are as high as the block. So both directions of the
 * arithmetic need only spans of metatiles, and no list of blocks.
 */
#include "tiling/tseed_positions.h"

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
    int64_t side = meta_side < TSEED_BLOCK_TILES ? TSEED_BLOCK_TILES / meta_side : 1;
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

static tseed_metatiles_t metatiles_of(int z, span_t columns, span_t rows)
{
    return (tseed_metatiles_t){z, columns.first, rows.first, columns.first + columns.count - 1,
                               rows.first + rows.count - 1};
}

tseed_place_t tseed_positions_place(const tseed_positions_t *positions, int64_t position)
{
    const int z = level_of(positions, position);
    const area_t area = area_of(positions, z);
    int64_t rest = position - positions->first[z];
    span_t rows, columns;

    /* Counting on as if there were no blocks lands in the right row of blocks, and then, with lines
     * as long as that row is high, in the right block. */
    rows = block_of(area.rows, area.rows.first + rest / area.columns.count,
                    positions->shape.meta_height);
    rest -= (rows.first - area.rows.first) * area.columns.count;
    columns =
        block_of(area.columns, area.columns.first + rest / rows.count, positions->shape.meta_width);
    rest -= (columns.first - area.columns.first) * rows.count;
    return (tseed_place_t){
        .x = columns.first + rest % columns.count,
        .y = rows.first + rest / columns.count,
        .block = metatiles_of(z, columns, rows),
        .level = metatiles_of(z, area.columns, area.rows),
    };
}

tseed_metatile_t tseed_positions_at(const tseed_positions_t *positions, int64_t position)
{
    const tseed_place_t place = tseed_positions_place(positions, position);

    return metatile_of(positions, place.block.z, place.x, place.y);
}

/* The wanted tiles of a rectangle of metatiles, minx up to before endx, miny up to before endy. */
static int64_t tiles_in(const tseed_positions_t *positions, int z, int64_t minx, int64_t miny,
                        int64_t endx, int64_t endy)
{
    const int64_t width = positions->shape.meta_width;
    const int64_t height = positions->shape.meta_height;
    const tseed_range_t span = {z, minx * width, miny * height, endx * width - 1,
                                endy * height - 1};
    const tseed_range_t wanted = tseed_range_intersect(&span, &positions->range[z]);

    return tseed_range_count(&wanted);
}

int64_t tseed_positions_tiles_before(const tseed_positions_t *positions, int64_t position)
{
    tseed_place_t place;
    const tseed_metatiles_t *level = &place.level, *block = &place.block;
    int64_t tiles = 0;

    if (position >= positions->count) {
        return positions->tiles;
    }
    place = tseed_positions_place(positions, position);
    for (int i = 0, z; (z = level_at(positions, i)) != level->z; i++) {
        tiles += tseed_range_count(&positions->range[z]);
    }
    /* rows of blocks; blocks of its row; rows of metatiles in its block; metatiles of its row */
    return tiles +
           tiles_in(positions, level->z, level->minx, level->miny, level->maxx + 1, block->miny) +
           tiles_in(positions, level->z, level->minx, block->miny, block->minx, block->maxy + 1) +
           tiles_in(positions, level->z, block->minx, block->miny, block->maxx + 1, place.y) +
           tiles_in(positions, level->z, block->minx, place.y, place.x, place.y + 1);
}

static int is_in(span_t span, int64_t at)
{
    return at >= span.first && at < span.first + span.count;
}

int64_t tseed_positions_of_metatile(const tseed_positions_t *positions, int z, int64_t x, int64_t y)
{
    area_t area;
    span_t rows, columns;

    if (z < 0 || z >= TSEED_LEVELS_MAX || tseed_range_count(&positions->range[z]) == 0) {
        return -1;
    }
    area = area_of(positions, z);
    if (!is_in(area.columns, x) || !is_in(area.rows, y)) {
        return -1;
    }
    rows = block_of(area.rows, y, positions->shape.meta_height);
    columns = block_of(area.columns, x, positions->shape.meta_width);
    return positions->first[z] + (rows.first - area.rows.first) * area.columns.count +
           (columns.first - area.columns.first) * rows.count + (y - rows.first) * columns.count +
           (x - columns.first);
}

int64_t tseed_positions_of(const tseed_positions_t *positions, int z, int64_t x, int64_t y)
{
    tseed_range_t tile = {.z = z, .minx = x, .miny = y, .maxx = x, .maxy = y};

    if (z < 0 || z >= TSEED_LEVELS_MAX) {
        return -1;
    }
    tile = tseed_range_intersect(&tile, &positions->range[z]);
    if (tseed_range_count(&tile) == 0) {
        return -1;
    }
    return tseed_positions_of_metatile(positions, z, x / positions->shape.meta_width,
                                       y / positions->shape.meta_height);
}
