/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The estimate: how much a seed request would make and how long that would take. Earlier tasks of
 * its tile set have measured the figures.
 *
 * A figure without any measurement is unknown. A level without a measurement borrows that of the
 * nearest level that has one; its range is twice as wide for each level of distance. 95 of 100
 * outcomes lie in the range of a measured level, if the metatiles to come are like those that were
 * measured.
 *
 * Any thread. Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_ESTIMATE_H
#define TSEED_ESTIMATE_H

#include "protocol/tseed_document.h"
#include "protocol/tseed_gauge.h"
#include "protocol/tseed_task.h"

/* Sums of what all tasks so far have measured of one level of a tile set. The squares are sums over
 * metatiles of (value per tile)^2 * tiles. */
typedef struct {
    int64_t metatiles, tiles; /* made */
    double bytes, bytes_squares;
    double busy, busy_squares; /* seconds, times the threads that were at work */
    double looks, looking;     /* tiles that were there already, and seconds as above */
} tseed_measure_t;

/* Add a metatile: one of which tiles were made, and one whose tiles were all there. `busy` in
 * seconds times threads, as above. */
void tseed_measure_add(tseed_measure_t *measure, int64_t tiles, int64_t bytes, double busy);
void tseed_measure_look(tseed_measure_t *measure, int64_t tiles, double busy);

/* How many tiles a request wants of one level, and how many of them need not be made. */
typedef struct {
    int64_t tiles;   /* exact */
    int64_t looked;  /* tiles that were looked at, … */
    int64_t found;   /* … those of them that exist, … */
    int64_t spared;  /* … and those that are taken to be of the colour above them */
    int64_t samples; /* metatiles that were looked at */
} tseed_demand_t;

typedef struct {
    int known;
    double expected, low, high;
} tseed_interval_t;

typedef struct {
    int64_t tiles, metatiles;
    int64_t present;        /* -1: not known */
    int64_t spared;         /* likewise; a tile of a seed or reseed is not present as well */
    int counted;            /* 0: `present` and `spared` are a sample's */
    int64_t to_make;        /* -1: not known */
    int64_t measured_tiles; /* of the levels that are wanted */
    tseed_interval_t bytes, seconds;
    int64_t free;        /* bytes that files may still take */
    const char *free_in; /* what ends first: "quota" or "disk"; NULL: not known */
} tseed_estimate_t;

/* Fills everything but tiles, metatiles and what is free. `demands` and `measures` have
 * TSEED_LEVELS_MAX levels each. `threads` is the number of threads that will work on the task. */
void tseed_estimate_make(tseed_estimate_t *estimate, tseed_task_type_t type,
                         const tseed_demand_t *demands, const tseed_measure_t *measures,
                         int threads);

/* Fills in what is free: the smaller one of what the quota leaves, if it is on, and of what the
 * disk has above the bytes that shall stay free. */
void tseed_estimate_free(tseed_estimate_t *estimate, const tseed_quota_rule_t *rule,
                         const tseed_quota_gauge_t *quota, int64_t min_free);

/* The document: the request, then the figures. Unknown figures are null, or empty elements. In
 * `pool`. */
const char *tseed_estimate_write(const tseed_estimate_t *estimate, const tseed_task_t *task,
                                 tseed_format_of_body_t format, apr_pool_t *pool);

#endif
