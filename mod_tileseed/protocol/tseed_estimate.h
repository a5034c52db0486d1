/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The estimate: what a seed request would mean, from what its tile set's earlier tasks have
 * measured.
 *
 * Every figure comes from a measurement. What was never measured is unknown, on a level that was
 * not measured the nearest one that was stands in, and the range is twice as wide a level of
 * distance. The range of measured levels is where 95 of 100 outcomes lie if the metatiles to come
 * are like those that were measured.
 *
 * Any thread. Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_ESTIMATE_H
#define TSEED_ESTIMATE_H

#include "protocol/tseed_document.h"
#include "protocol/tseed_task.h"

/* What all tasks so far have measured of one level of a tile set. The squares are sums over
 * metatiles of (value a tile)^2 * tiles. */
typedef struct {
    int64_t metatiles, tiles; /* made */
    double bytes, bytes_squares;
    double busy, busy_squares; /* seconds, times the threads that were at work */
    double looks, looking;     /* tiles that were there already, and seconds as above */
} tseed_measure_t;

/* Adds a metatile of which tiles were made, or which was only looked at. `busy` as above. */
void tseed_measure_add(tseed_measure_t *measure, int64_t tiles, int64_t bytes, double busy);
void tseed_measure_look(tseed_measure_t *measure, int64_t tiles, double busy);

/* What a request wants of one level, and what of that was found. */
typedef struct {
    int64_t tiles;   /* exact */
    int64_t looked;  /* tiles that were looked at, … */
    int64_t found;   /* … and those of them that exist */
    int64_t samples; /* metatiles that were looked at */
} tseed_demand_t;

typedef struct {
    int known;
    double expected, low, high;
} tseed_interval_t;

typedef struct {
    int64_t tiles, metatiles;
    int64_t present;        /* -1: not known */
    int counted;            /* 0: `present` is a sample's */
    int64_t to_make;        /* -1: not known */
    int64_t measured_tiles; /* of the levels that are wanted */
    tseed_interval_t bytes, seconds;
} tseed_estimate_t;

/* Fills everything but tiles and metatiles. `demands` and `measures` by level,
 * TSEED_LEVELS_MAX of each; `threads` is what will be at work at once. */
void tseed_estimate_make(tseed_estimate_t *estimate, tseed_task_type_t type,
                         const tseed_demand_t *demands, const tseed_measure_t *measures,
                         int threads);

/* The document: what was asked for, then the figures; unknown ones are null, or empty elements. */
const char *tseed_estimate_write(const tseed_estimate_t *estimate, const tseed_task_t *task,
                                 tseed_format_of_body_t format, apr_pool_t *pool);

#endif
