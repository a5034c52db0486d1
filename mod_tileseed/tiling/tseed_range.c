/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile ranges, their gutters and halves. Everything is done axis by axis, since columns and rows
 * follow the same rules. */
#include "tiling/tseed_range.h"

#include <math.h>

#include <apr_strings.h>

/* ---- gutters, cut at the grid set's edges ---- */

/* No more than the pixels of so many tiles; tiles are at least a pixel wide. */
static int within(int gutter, int64_t tiles, int tile_pixels)
{
    return tiles >= gutter || tiles * tile_pixels >= gutter ? gutter : (int)(tiles * tile_pixels);
}

tseed_margin_t tseed_margin_of(const tseed_gridset_t *gridset, const tseed_range_t *whole,
                               int gutter, int is_cut)
{
    const int width = gridset->tile_width, height = gridset->tile_height;

    if (!is_cut || gutter == 0) {
        return (tseed_margin_t){gutter, gutter, gutter, gutter};
    }
    return (tseed_margin_t){
        .left = within(gutter, whole->minx, width),
        .right = within(gutter, gridset->columns[whole->z] - 1 - whole->maxx, width),
        .bottom = within(gutter, whole->miny, height),
        .top = within(gutter, gridset->rows[whole->z] - 1 - whole->maxy, height),
    };
}

/* ---- halving: tiles and the four tiles that cover each of them ---- */

#define SLACK 0.01 /* of a pixel, over the whole level */

const char *tseed_halving_check(const tseed_gridset_t *gridset, int z, apr_pool_t *pool)
{
    double columns, rows, pixels, off;

    if (z < 0 || z + 1 >= gridset->levels) {
        return apr_psprintf(pool, "grid set '%s' has no level %d below level %d", gridset->name,
                            z + 1, z);
    }
    if (gridset->tile_width % 2 || gridset->tile_height % 2) {
        return apr_psprintf(pool,
                            "tiles of grid set '%s' have %dx%d pixels, even numbers are expected",
                            gridset->name, gridset->tile_width, gridset->tile_height);
    }
    columns = (double)gridset->columns[z] * gridset->tile_width;
    rows = (double)gridset->rows[z] * gridset->tile_height;
    pixels = columns > rows ? columns : rows;
    off = fabs(2 * gridset->resolution[z + 1] / gridset->resolution[z] - 1) * pixels;
    return off <= SLACK ? NULL
                        : apr_psprintf(pool,
                                       "the resolution of grid set '%s' does not halve from level "
                                       "%d to level %d",
                                       gridset->name, z, z + 1);
}

tseed_range_t tseed_halving_below(const tseed_gridset_t *gridset, const tseed_range_t *range)
{
    /* Rows are counted from the bottom. Where tiles are aligned to the top, the lowest row of the
     * next level may be missing, because it would lie below the extent. */
    const int64_t shift =
        gridset->top_left ? gridset->rows[range->z + 1] - 2 * gridset->rows[range->z] : 0;

    return (tseed_range_t){
        .z = range->z + 1,
        .minx = 2 * range->minx,
        .miny = 2 * range->miny + shift,
        .maxx = 2 * range->maxx + 1,
        .maxy = 2 * range->maxy + 1 + shift,
    };
}

/* A closed interval of an axis, in units or in tiles counted from the left or the bottom. */
typedef struct {
    double low, high;
} stretch_t;

#define DEGREES 180 /* no degree is greater */
#define WIDE    100 /* times 360: an extent so wide is not in degrees */

static const tseed_range_t empty_range = {.minx = 0, .miny = 0, .maxx = -1, .maxy = -1};

static int is_stretch(stretch_t stretch)
{
    return stretch.low <= stretch.high;
}

static int share(stretch_t *common, stretch_t a, stretch_t b)
{
    if (!is_stretch(a) || !is_stretch(b)) {
        return 0;
    }
    common->low = fmax(a.low, b.low);
    common->high = fmin(a.high, b.high);
    if (common->low == common->high) {
        return a.low == a.high || b.low == b.high;
    }
    return common->low < common->high;
}

int tseed_bounds_intersect(tseed_bounds_t *common, const tseed_bounds_t *a, const tseed_bounds_t *b)
{
    stretch_t x, y;

    if (!share(&x, (stretch_t){a->minx, a->maxx}, (stretch_t){b->minx, b->maxx}) ||
        !share(&y, (stretch_t){a->miny, a->maxy}, (stretch_t){b->miny, b->maxy})) {
        return 0;
    }
    *common = (tseed_bounds_t){x.low, y.low, x.high, y.high};
    return 1;
}

/* `number` lies near enough to the axis for int64: bounds are cut to the extent before. */
static int64_t tile_at(double number, int64_t tiles)
{
    return (int64_t)fmin(fmax(number, 0), (double)(tiles - 1));
}

/* The tiles that a stretch touches. `slack` is what an edge may be off a tile's edge and still
 * count as on it. */
static void touched(int64_t *first, int64_t *last, stretch_t stretch, double slack, int64_t tiles)
{
    *first = tile_at(floor(stretch.low + slack), tiles);
    *last = tile_at(ceil(stretch.high - slack) - 1, tiles);
    if (*last < *first) {
        *last = *first;
    }
}

static stretch_t columns_of(const tseed_gridset_t *gridset, double side, const tseed_bounds_t *b)
{
    return (stretch_t){(b->minx - gridset->origin_x) / side, (b->maxx - gridset->origin_x) / side};
}

static stretch_t rows_of(const tseed_gridset_t *gridset, int z, double side,
                         const tseed_bounds_t *b)
{
    double rows = (double)gridset->rows[z];

    if (gridset->top_left) {
        return (stretch_t){rows - (gridset->origin_y - b->miny) / side,
                           rows - (gridset->origin_y - b->maxy) / side};
    }
    return (stretch_t){(b->miny - gridset->origin_y) / side, (b->maxy - gridset->origin_y) / side};
}

tseed_range_t tseed_range_of(const tseed_gridset_t *gridset, int z, const tseed_bounds_t *bounds)
{
    double width = gridset->resolution[z] * gridset->tile_width;
    double height = gridset->resolution[z] * gridset->tile_height;
    tseed_range_t range = empty_range;
    tseed_bounds_t inside;

    range.z = z;
    if (!tseed_bounds_intersect(&inside, bounds, &gridset->extent)) {
        return range;
    }
    touched(&range.minx, &range.maxx, columns_of(gridset, width, &inside),
            tseed_gridset_slack(gridset->origin_x, inside.maxx, width), gridset->columns[z]);
    touched(&range.miny, &range.maxy, rows_of(gridset, z, height, &inside),
            tseed_gridset_slack(gridset->origin_y, inside.maxy, height), gridset->rows[z]);
    return range;
}

/* The tiles that lie wholly in a stretch; there may be none. */
static void enclosed(int64_t *first, int64_t *last, stretch_t stretch, double slack, int64_t tiles)
{
    *first = (int64_t)fmax(ceil(stretch.low - slack), 0);
    *last = (int64_t)fmin(floor(stretch.high + slack), (double)tiles) - 1;
}

tseed_range_t tseed_range_within(const tseed_gridset_t *gridset, int z,
                                 const tseed_bounds_t *bounds)
{
    const double width = gridset->resolution[z] * gridset->tile_width;
    const double height = gridset->resolution[z] * gridset->tile_height;
    tseed_range_t range = {.z = z};

    enclosed(&range.minx, &range.maxx, columns_of(gridset, width, bounds),
             tseed_gridset_slack(gridset->origin_x, bounds->maxx, width), gridset->columns[z]);
    enclosed(&range.miny, &range.maxy, rows_of(gridset, z, height, bounds),
             tseed_gridset_slack(gridset->origin_y, bounds->maxy, height), gridset->rows[z]);
    if (tseed_range_count(&range) == 0) {
        range = empty_range;
        range.z = z;
    }
    return range;
}

int64_t tseed_range_count(const tseed_range_t *range)
{
    if (range->maxx < range->minx || range->maxy < range->miny) {
        return 0;
    }
    return (range->maxx - range->minx + 1) * (range->maxy - range->miny + 1);
}

/* The lower edge of a row, always a whole number of tiles from the origin. */
static double bottom_of(const tseed_gridset_t *gridset, int z, int64_t row)
{
    int64_t steps = gridset->top_left ? row - gridset->rows[z] : row;

    return gridset->origin_y + (double)steps * (gridset->resolution[z] * gridset->tile_height);
}

static double left_of(const tseed_gridset_t *gridset, int z, int64_t column)
{
    return gridset->origin_x + (double)column * (gridset->resolution[z] * gridset->tile_width);
}

tseed_bounds_t tseed_range_bounds(const tseed_gridset_t *gridset, const tseed_range_t *range)
{
    return (tseed_bounds_t){
        .minx = left_of(gridset, range->z, range->minx),
        .miny = bottom_of(gridset, range->z, range->miny),
        .maxx = left_of(gridset, range->z, range->maxx + 1),
        .maxy = bottom_of(gridset, range->z, range->maxy + 1),
    };
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

tseed_range_t tseed_range_intersect(const tseed_range_t *a, const tseed_range_t *b)
{
    tseed_range_t common = {
        .z = a->z,
        .minx = larger(a->minx, b->minx),
        .miny = larger(a->miny, b->miny),
        .maxx = smaller(a->maxx, b->maxx),
        .maxy = smaller(a->maxy, b->maxy),
    };

    if (a->z != b->z || tseed_range_count(&common) == 0) {
        common = empty_range;
        common.z = a->z;
    }
    return common;
}

int tseed_range_meets(const tseed_range_t *a, const tseed_range_t *b)
{
    const tseed_range_t common = tseed_range_intersect(a, b);

    return tseed_range_count(&common) > 0;
}

int tseed_range_has(const tseed_range_t *range, const tseed_range_t *part)
{
    return range->z == part->z && range->minx <= part->minx && range->miny <= part->miny &&
           range->maxx >= part->maxx && range->maxy >= part->maxy;
}

/* The part of a tile by which bounds may differ on each side; GeoWebCache allows as much. */
#define ALIGNMENT 0.1

static int is_ground_of(const tseed_range_t *tile, const tseed_gridset_t *gridset,
                        const tseed_bounds_t *bounds)
{
    tseed_bounds_t ground = tseed_range_bounds(gridset, tile);
    double x = (ground.maxx - ground.minx) * ALIGNMENT, y = (ground.maxy - ground.miny) * ALIGNMENT;

    return fabs(ground.minx - bounds->minx) <= x && fabs(ground.maxx - bounds->maxx) <= x &&
           fabs(ground.miny - bounds->miny) <= y && fabs(ground.maxy - bounds->maxy) <= y;
}

/* The tile whose lower left corner is nearest. The centre would not do: that of a tile at the
 * border may lie outside of the extent. */
static int find_by_corner(tseed_range_t *tile, const tseed_gridset_t *gridset, int z,
                          const tseed_bounds_t *bounds)
{
    const double x = round((bounds->minx - left_of(gridset, z, 0)) /
                           (gridset->resolution[z] * gridset->tile_width));
    const double y = round((bounds->miny - bottom_of(gridset, z, 0)) /
                           (gridset->resolution[z] * gridset->tile_height));

    if (!(x >= 0 && x < (double)gridset->columns[z] && y >= 0 && y < (double)gridset->rows[z])) {
        return 0;
    }
    *tile = (tseed_range_t){z, (int64_t)x, (int64_t)y, (int64_t)x, (int64_t)y};
    return 1;
}

int tseed_tile_of_bounds(tseed_tile_t *tile, const tseed_gridset_t *gridset,
                         const tseed_bounds_t *bounds)
{
    for (int z = 0; z < gridset->levels; z++) {
        tseed_range_t range;

        if (find_by_corner(&range, gridset, z, bounds) && is_ground_of(&range, gridset, bounds)) {
            *tile = (tseed_tile_t){z, range.minx, range.miny};
            return 1;
        }
    }
    return 0;
}

int tseed_range_has_one_origin(const tseed_gridset_t *gridset, int first, int last)
{
    const double side = gridset->resolution[last] * gridset->tile_height;
    const double most = tseed_gridset_slack(gridset->extent.miny, gridset->origin_y, side) * side;
    int is_one = 1;

    for (int z = first; is_one && z < last; z++) {
        is_one = fabs(bottom_of(gridset, z, 0) - bottom_of(gridset, last, 0)) <= most;
    }
    return is_one;
}

int tseed_bounds_in_degrees(const tseed_bounds_t *box, const tseed_bounds_t *extent)
{
    return fabs(box->minx) <= DEGREES && fabs(box->miny) <= DEGREES && fabs(box->maxx) <= DEGREES &&
           fabs(box->maxy) <= DEGREES && extent->maxx - extent->minx > WIDE * 2.0 * DEGREES;
}
