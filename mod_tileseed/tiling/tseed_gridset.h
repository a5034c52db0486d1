/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Grid sets: how a coordinate reference system is divided into tiles. Pure arithmetic.
 *
 * The model is GeoWebCache's: levels of square pixels, tiles of a fixed size, columns counted from
 * the left and rows counted from the BOTTOM everywhere inside this project, whatever the origin.
 * The origin only says which edge the tiles are aligned to: with a top-left origin the top row is
 * whole and the bottom row may hang out of the extent. Layouts that count from the top turn rows
 * over at the file system's edge (store/).
 *
 *      bottom-left origin            top-left origin
 *
 *      + - - + - - +  hangs out      O-----+-----+
 *      |     |     |                 |     |     |
 *      +=====+=====+ extent          |  row 1    |
 *      |  row 1    |                 +-----+-----+
 *      +-----+-----+                 |     |     |
 *      |  row 0    |                 |  row 0    |
 *      |     |     |                 +=====+=====+ extent
 *      O-----+-----+                 + - - + - - +  hangs out
 *
 * Immutable after tseed_gridset_finish; lives in the pool of the configuration.
 */
#ifndef TSEED_GRIDSET_H
#define TSEED_GRIDSET_H

#include <apr_pools.h>
#include <stdint.h>

#define TSEED_LEVELS_MAX 64

/* Metres in a degree on the equator of WGS 84, as OGC 07-057r7 and GeoWebCache have it. */
#define TSEED_METERS_PER_DEGREE 111319.49079327358

/* In units of the grid set's reference system, x east (or the first axis as GIS tools order it). */
typedef struct {
    double minx, miny, maxx, maxy;
} tseed_bounds_t;

typedef struct tseed_gridset_t {
    const char *name; /* "EPSG:4326" */
    int srs;          /* EPSG code; 900913 stands as it was configured */
    tseed_bounds_t extent;
    int top_left; /* tiles are aligned to the top-left corner, else to the bottom-left one */
    double origin_x, origin_y;   /* of column 0; the extent's corner or a point beyond it */
    int tile_width, tile_height; /* pixels */
    double meters_per_unit;
    int is_unit_stated; /* TileSeedMetersPerUnit says so, else PROJ or nobody does */
    int north_east;     /* the reference system's own axis order is north, east (WMS 1.3.0) */
    const tseed_bounds_t *degrees; /* of the extent, if stated: longitude first; else NULL */
    int levels;
    double resolution[TSEED_LEVELS_MAX]; /* units a pixel, strictly decreasing */
    int64_t columns[TSEED_LEVELS_MAX];   /* tiles across and up, set by finish */
    int64_t rows[TSEED_LEVELS_MAX];
} tseed_gridset_t;

/* Built-in EPSG:4326 (22 levels), EPSG:900913 and EPSG:3857 (31 levels each), with GeoWebCache's
 * extents and resolutions; NULL for any other name. Static storage, any thread. */
const tseed_gridset_t *tseed_gridset_builtin(const char *name);

/* For `TileSeedLevels N`: fills levels and resolution[]. At level 0 the extent's shorter side
 * (counted in tiles) is exactly one tile; each further level halves the resolution. Needs extent
 * and tile size. tseed_gridset_finish says what is wrong with extent, tile size or N. */
void tseed_gridset_levels(tseed_gridset_t *gridset, int levels);

/* Resolution of a scale denominator: OGC's 0.28 mm pixel, WMTS 1.0.0 (OGC 07-057r7) 6.1. */
double tseed_gridset_resolution_of_scale(const tseed_gridset_t *gridset, double denominator);

/* Checks a grid set that the caller has filled in, and computes columns[] and rows[]. NULL, or a
 * sentence when it has no levels, an empty extent, resolutions that do not decrease, an origin that
 * leaves a part of the extent without tiles, or more than 2^63-1 tiles in all. */
const char *tseed_gridset_finish(tseed_gridset_t *gridset, apr_pool_t *pool);

/* The slack, as a part of a tile: an edge that is off a tile's edge by no more counts as lying on
 * the tile's edge. tseed_gridset_finish and tseed_range_of use it when they count tiles. It is a
 * millionth plus the rounding of coordinates between `low` and `high`, which is much where tiles of
 * `side` units are small; a tenth at most. */
double tseed_gridset_slack(double low, double high, double side);

/* Whether two EPSG codes name one system: equal, or both among 900913, 3857, 102100, 102113. */
int tseed_srs_same(int64_t a, int64_t b);

/* Whether a name means EPSG:4326 with longitude first: "CRS:84" (OGC 06-042, annex B), "OGC:CRS84",
 * "urn:ogc:def:crs:OGC:1.3:CRS84". */
int tseed_srs_is_crs84(const char *name);

/* Lower-case SHA-1 of everything that decides which tiles there are and which ground each covers.
 * Two grid sets with one print have the same tiles, whatever their names. In `pool`. */
const char *tseed_gridset_print(const tseed_gridset_t *gridset, apr_pool_t *pool);

#endif
