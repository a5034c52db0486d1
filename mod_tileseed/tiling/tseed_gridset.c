/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Grid sets: the built-in ones, the check of an administrator's own, and their prints. */
#include "tiling/tseed_gridset.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

#define TILE_SIDE_MAX 4096

/* Up to here a double still tells every tile of an axis from its neighbour. */
#define TILES_ACROSS_MAX ((double)(INT64_C(1) << 53))

#define PIXEL_METERS 0.00028

/* GeoWebCache's definitions; their extents lie around 0 0 and their resolutions halve. */
static const struct {
    const char *name;
    int srs;
    double half_width, half_height, meters_per_unit;
    int north_east, levels;
    double coarsest;
} definitions[] = {
    {"EPSG:4326", 4326, 180, 90, TSEED_METERS_PER_DEGREE, 1, 22, 0.703125},
    {"EPSG:900913", 900913, 20037508.34, 20037508.34, 1, 0, 31, 156543.03390625},
    {"EPSG:3857", 3857, 20037508.34, 20037508.34, 1, 0, 31, 156543.03390625},
};

#define BUILTIN_COUNT (sizeof(definitions) / sizeof(definitions[0]))

static tseed_gridset_t builtin_sets[BUILTIN_COUNT];

static void halve_from(tseed_gridset_t *gridset, double coarsest)
{
    gridset->resolution[0] = coarsest;
    for (int z = 1; z < gridset->levels && z < TSEED_LEVELS_MAX; z++) {
        gridset->resolution[z] = gridset->resolution[z - 1] / 2;
    }
}

static void build_builtin_sets(void)
{
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        double x = definitions[i].half_width;
        double y = definitions[i].half_height;

        builtin_sets[i] = (tseed_gridset_t){
            .name = definitions[i].name,
            .srs = definitions[i].srs,
            .extent = {-x, -y, x, y},
            .origin_x = -x,
            .origin_y = -y,
            .tile_width = 256,
            .tile_height = 256,
            .meters_per_unit = definitions[i].meters_per_unit,
            .north_east = definitions[i].north_east,
            .levels = definitions[i].levels,
        };
        halve_from(&builtin_sets[i], definitions[i].coarsest);
        tseed_gridset_finish(&builtin_sets[i], NULL);
    }
}

const tseed_gridset_t *tseed_gridset_builtin(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, build_builtin_sets);
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        if (strcmp(builtin_sets[i].name, name) == 0) {
            return &builtin_sets[i];
        }
    }
    return NULL;
}

void tseed_gridset_levels(tseed_gridset_t *gridset, int levels)
{
    const tseed_bounds_t *extent = &gridset->extent;

    gridset->levels = levels;
    halve_from(gridset, fmin((extent->maxx - extent->minx) / gridset->tile_width,
                             (extent->maxy - extent->miny) / gridset->tile_height));
}

double tseed_gridset_resolution_of_scale(const tseed_gridset_t *gridset, double denominator)
{
    return denominator * PIXEL_METERS / gridset->meters_per_unit;
}

/* For sentences: APR's own %g loses its way with very large and very small numbers. */
static const char *shown(double number, apr_pool_t *pool)
{
    char text[32];

    tseed_ascii_print(text, sizeof(text), "%.12g", number);
    return apr_pstrdup(pool, text);
}

static const char *check_extent(const tseed_gridset_t *gridset, apr_pool_t *pool)
{
    const tseed_bounds_t *extent = &gridset->extent;
    double width = extent->maxx - extent->minx;
    double height = extent->maxy - extent->miny;

    if (isfinite(width) && isfinite(height) && width > 0 && height > 0) {
        return NULL;
    }
    return apr_psprintf(pool,
                        "the extent %s %s %s %s is empty, "
                        "minx miny maxx maxy with minx < maxx and miny < maxy is expected",
                        shown(extent->minx, pool), shown(extent->miny, pool),
                        shown(extent->maxx, pool), shown(extent->maxy, pool));
}

static const char *check_tile(const tseed_gridset_t *gridset, apr_pool_t *pool)
{
    int width = gridset->tile_width;
    int height = gridset->tile_height;

    if (width < 1 || width > TILE_SIDE_MAX || height < 1 || height > TILE_SIDE_MAX) {
        return apr_psprintf(pool, "a tile of %dx%d pixels is not possible, 1x1 to %dx%d are", width,
                            height, TILE_SIDE_MAX, TILE_SIDE_MAX);
    }
    if (!isfinite(gridset->meters_per_unit) || gridset->meters_per_unit <= 0) {
        return apr_psprintf(pool, "%s meters per unit are not possible, a number above 0 is",
                            shown(gridset->meters_per_unit, pool));
    }
    return NULL;
}

static const char *check_origin(const tseed_gridset_t *gridset, apr_pool_t *pool)
{
    const tseed_bounds_t *extent = &gridset->extent;
    double x = gridset->origin_x;
    double y = gridset->origin_y;
    int covers_y = gridset->top_left ? y >= extent->maxy : y <= extent->miny;

    if (isfinite(x) && isfinite(y) && x <= extent->minx && covers_y) {
        return NULL;
    }
    return apr_psprintf(pool,
                        "tiles from the %s origin %s %s do not cover the extent, "
                        "x %s or less and y %s or %s is expected",
                        gridset->top_left ? "top-left" : "bottom-left", shown(x, pool),
                        shown(y, pool), shown(extent->minx, pool),
                        shown(gridset->top_left ? extent->maxy : extent->miny, pool),
                        gridset->top_left ? "more" : "less");
}

static const char *check_levels(const tseed_gridset_t *gridset, apr_pool_t *pool)
{
    if (gridset->levels < 1 || gridset->levels > TSEED_LEVELS_MAX) {
        return apr_psprintf(pool,
                            "%d levels are not possible, 1 to %d are: "
                            "give resolutions, scale denominators or a number of levels",
                            gridset->levels, TSEED_LEVELS_MAX);
    }
    for (int z = 0; z < gridset->levels; z++) {
        double resolution = gridset->resolution[z];

        if (!isfinite(resolution) || resolution <= 0) {
            return apr_psprintf(pool,
                                "the resolution %s of level %d is not possible, "
                                "a number above 0 is",
                                shown(resolution, pool), z);
        }
        if (z > 0 && resolution >= gridset->resolution[z - 1]) {
            return apr_psprintf(pool,
                                "the resolution %s of level %d is not below the %s of "
                                "level %d, levels go from coarse to fine",
                                shown(resolution, pool), z, shown(gridset->resolution[z - 1], pool),
                                z - 1);
        }
    }
    return NULL;
}

double tseed_gridset_slack(double low, double high, double side)
{
    double rounding = 4 * DBL_EPSILON * (fabs(low) + fabs(high)) / side;

    return fmin(1e-6 + rounding, 0.1);
}

/* Tiles of `side` units that cover an axis from low to high, one at least. */
static double tiles_to_cover(double low, double high, double side)
{
    return fmax(1, ceil((high - low) / side - tseed_gridset_slack(low, high, side)));
}

static const char *count_level(int64_t *total, tseed_gridset_t *gridset, int z, apr_pool_t *pool)
{
    const tseed_bounds_t *extent = &gridset->extent;
    double low = gridset->top_left ? extent->miny : gridset->origin_y;
    double high = gridset->top_left ? gridset->origin_y : extent->maxy;
    double columns = tiles_to_cover(gridset->origin_x, extent->maxx,
                                    gridset->resolution[z] * gridset->tile_width);
    double rows = tiles_to_cover(low, high, gridset->resolution[z] * gridset->tile_height);
    int64_t tiles;

    if (!(columns <= TILES_ACROSS_MAX && rows <= TILES_ACROSS_MAX)) {
        return apr_psprintf(pool,
                            "level %d would be %s tiles wide and %s high, at most 2^53 "
                            "can be told apart: leave it out",
                            z, shown(columns, pool), shown(rows, pool));
    }
    gridset->columns[z] = (int64_t)columns;
    gridset->rows[z] = (int64_t)rows;
    if (__builtin_mul_overflow(gridset->columns[z], gridset->rows[z], &tiles) ||
        __builtin_add_overflow(*total, tiles, total)) {
        return apr_psprintf(pool,
                            "levels 0 to %d have more than 2^63-1 tiles: "
                            "leave level %d and finer ones out",
                            z, z);
    }
    return NULL;
}

const char *tseed_gridset_finish(tseed_gridset_t *gridset, apr_pool_t *pool)
{
    static const char *(*const checks[])(const tseed_gridset_t *, apr_pool_t *) = {
        check_extent, check_tile, check_origin, check_levels};
    const char *problem = NULL;
    int64_t total = 0;

    for (size_t i = 0; !problem && i < sizeof(checks) / sizeof(checks[0]); i++) {
        problem = checks[i](gridset, pool);
    }
    for (int z = 0; !problem && z < gridset->levels; z++) {
        problem = count_level(&total, gridset, z, pool);
    }
    return problem;
}

/* One number for all the names that web mercator was given over the years. */
static int64_t canonical_srs(int64_t srs)
{
    return srs == 900913 || srs == 102100 || srs == 102113 ? 3857 : srs;
}

int tseed_srs_same(int64_t a, int64_t b)
{
    return canonical_srs(a) == canonical_srs(b);
}

int tseed_srs_is_crs84(const char *name)
{
    const char *last = strrchr(name, ':');

    return apr_cstr_casecmp(name, "CRS:84") == 0 || (last && apr_cstr_casecmp(last, ":CRS84") == 0);
}

/* The bits of a number, so that no rounding of a decimal form hides a difference; -0 is 0. */
static uint64_t bits_of(double number)
{
    double positive_zero = number + 0.0;
    uint64_t bits;

    memcpy(&bits, &positive_zero, sizeof(bits));
    return bits;
}

const char *tseed_gridset_print(const tseed_gridset_t *gridset, apr_pool_t *pool)
{
    const tseed_bounds_t *extent = &gridset->extent;
    uint64_t words[10 + TSEED_LEVELS_MAX] = {
        (uint64_t)canonical_srs(gridset->srs),
        bits_of(extent->minx),
        bits_of(extent->miny),
        bits_of(extent->maxx),
        bits_of(extent->maxy),
        gridset->top_left != 0,
        bits_of(gridset->origin_x),
        bits_of(gridset->origin_y),
        (uint64_t)gridset->tile_width,
        (uint64_t)gridset->tile_height,
    };
    char *print = apr_palloc(pool, 41);

    for (int z = 0; z < gridset->levels; z++) {
        words[10 + z] = bits_of(gridset->resolution[z]);
    }
    tseed_text_sha1(print, words, sizeof(words));
    return print;
}
