/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The estimate. Each level: tiles to make, times the mean of a tile. The variances of the levels
 * add up. The variances of the mean, of the tiles to come, and of a sampled share are independent.
 */
#include "protocol/tseed_estimate.h"

#include <apr_strings.h>
#include <math.h>
#include <stdlib.h>

#include "protocol/tseed_write.h"

#define I64 "%" APR_INT64_T_FMT

void tseed_measure_add(tseed_measure_t *measure, int64_t tiles, int64_t bytes, double busy)
{
    measure->metatiles++;
    measure->tiles += tiles;
    measure->bytes += (double)bytes;
    measure->bytes_squares += (double)bytes * (double)bytes / (double)tiles;
    measure->busy += busy;
    measure->busy_squares += busy * busy / (double)tiles;
}

void tseed_measure_look(tseed_measure_t *measure, int64_t tiles, double busy)
{
    measure->looks += (double)tiles;
    measure->looking += busy;
}

/* ---- figures ---- */

/* The part of the request that lies in one level. */
typedef struct {
    double tiles;    /* to make */
    double variance; /* of that */
    double there;    /* to be looked at alone */
} share_t;

/* A sum over levels; `low` and `high` are factors of levels that others stand in for. */
typedef struct {
    double expected, variance, less, more;
} sum_t;

static share_t share_of(const tseed_demand_t *demand, tseed_task_type_t type)
{
    const double tiles = (double)demand->tiles;
    const int64_t there = type == TSEED_SEED ? demand->found : 0;
    double part;

    if (type == TSEED_TRUNCATE || demand->looked == 0) {
        return (share_t){.tiles = type == TSEED_TRUNCATE ? 0 : tiles};
    }
    part = (double)(there + demand->spared) / (double)demand->looked;
    return (share_t){
        .tiles = tiles - tiles * part,
        .variance = demand->looked == demand->tiles
                        ? 0
                        : tiles * tiles * part * (1 - part) / (double)demand->samples,
        .there = tiles * (double)there / (double)demand->looked,
    };
}

/* The nearest level that was measured, below before above; -1: none was. */
static int nearest(const tseed_measure_t *measures, int z)
{
    for (int away = 0; away < TSEED_LEVELS_MAX; away++) {
        if (z - away >= 0 && measures[z - away].tiles > 0) {
            return z - away;
        }
        if (z + away < TSEED_LEVELS_MAX && measures[z + away].tiles > 0) {
            return z + away;
        }
    }
    return -1;
}

/* Adds a level's share; `sum` and `squares` are its measurements. */
static void add_level(sum_t *total, const share_t *share, const tseed_measure_t *measure,
                      double sum, double squares, int away)
{
    const double mean = sum / (double)measure->tiles;
    const double spread = squares / (double)measure->tiles - mean * mean;
    const double metatiles = share->tiles * (double)measure->metatiles / (double)measure->tiles;
    const double expected = share->tiles * mean;

    total->expected += expected;
    if (away > 0) {
        total->less += expected * (1 - exp2(-away));
        total->more += expected * (exp2(away) - 1);
    } else if (metatiles > 0) {
        total->variance += share->tiles * share->tiles * fmax(spread, 0) *
                           (1 / (double)measure->metatiles + 1 / fmax(metatiles, 1));
    }
    total->variance += share->variance * mean * mean;
}

static tseed_interval_t interval_of(const sum_t *total, double divisor)
{
    const double deviation = 2 * sqrt(fmax(total->variance, 0));

    return (tseed_interval_t){
        .known = 1,
        .expected = total->expected / divisor,
        .low = fmax(total->expected - total->less - deviation, 0) / divisor,
        .high = (total->expected + total->more + deviation) / divisor,
    };
}

/* Time for looking at what is there; nothing when it was never measured and there is work beside
 * it, which takes thousands of times as long. */
static void add_looks(sum_t *seconds, double there, const tseed_measure_t *measures, int *known)
{
    double looks = 0, looking = 0;

    for (int z = 0; z < TSEED_LEVELS_MAX; z++) {
        looks += measures[z].looks;
        looking += measures[z].looking;
    }
    if (there > 0 && looks > 0) {
        seconds->expected += there * looking / looks;
    }
    *known = there == 0 || looks > 0;
}

/* A count as far as it can be written. A double has less digits, so a sum of parts may be a little
 * more than the whole. */
static int64_t count_of(double count, const tseed_estimate_t *estimate)
{
    const int64_t most = estimate->tiles > 0 ? estimate->tiles : INT64_MAX;

    return count >= (double)most ? most : llround(count);
}

/* Whether every level with tiles was looked at; sums up what need not be made. */
static int count_present(tseed_estimate_t *estimate, const tseed_demand_t *demands)
{
    double present = 0, spared = 0;

    estimate->counted = 1;
    for (int z = 0; z < TSEED_LEVELS_MAX; z++) {
        const tseed_demand_t *demand = &demands[z];

        if (demand->tiles > 0 && demand->looked == 0) {
            return 0;
        }
        if (demand->tiles > 0) {
            const double tiles = (double)demand->tiles / (double)demand->looked;

            present += tiles * (double)demand->found;
            spared += tiles * (double)demand->spared;
            estimate->counted &= demand->looked == demand->tiles;
        }
    }
    estimate->present = count_of(present, estimate);
    estimate->spared = count_of(spared, estimate);
    return 1;
}

void tseed_estimate_make(tseed_estimate_t *estimate, tseed_task_type_t type,
                         const tseed_demand_t *demands, const tseed_measure_t *measures,
                         int threads)
{
    sum_t bytes = {0}, seconds = {0};
    double to_make = 0, there = 0;
    int is_measured = 1, looks_known;

    estimate->present = estimate->spared = estimate->to_make = -1;
    if (!count_present(estimate, demands) && type == TSEED_SEED) {
        return;
    }
    for (int z = 0; z < TSEED_LEVELS_MAX; z++) {
        const share_t share = share_of(&demands[z], type);
        const int from = share.tiles > 0 ? nearest(measures, z) : z;

        estimate->measured_tiles += demands[z].tiles > 0 ? measures[z].tiles : 0;
        to_make += share.tiles;
        there += share.there;
        is_measured &= from >= 0;
        if (share.tiles > 0 && from >= 0) {
            const tseed_measure_t *measure = &measures[from];

            add_level(&bytes, &share, measure, measure->bytes, measure->bytes_squares,
                      abs(from - z));
            add_level(&seconds, &share, measure, measure->busy, measure->busy_squares,
                      abs(from - z));
        }
    }
    add_looks(&seconds, there, measures, &looks_known);
    estimate->to_make = count_of(to_make, estimate);
    if (is_measured) {
        estimate->bytes = interval_of(&bytes, 1);
    }
    if (is_measured && type != TSEED_TRUNCATE && (to_make > 0 || looks_known)) {
        estimate->seconds = interval_of(&seconds, threads);
    }
}

/* ---- document ---- */

static void add_count(tseed_either_t *writer, const char *name, int64_t count)
{
    tseed_either_raw(writer, name, count < 0 ? NULL : apr_psprintf(writer->json.pool, I64, count));
}

static const char *write_range(const tseed_either_t *writer, const tseed_interval_t *range,
                               int digits)
{
    return apr_psprintf(writer->json.pool,
                        writer->format == TSEED_BODY_JSON
                            ? "{\"expected\":%.*f,\"low\":%.*f,\"high\":%.*f}"
                            : "<expected>%.*f</expected><low>%.*f</low><high>%.*f</high>",
                        digits, range->expected, digits, range->low, digits, range->high);
}

static void add_range(tseed_either_t *writer, const char *name, const tseed_interval_t *range,
                      int digits)
{
    tseed_either_raw(writer, name, range->known ? write_range(writer, range, digits) : NULL);
}

static void add_members(tseed_either_t *writer, const tseed_estimate_t *estimate,
                        const tseed_task_t *task)
{
    tseed_either_text(writer, "layer", task->layer);
    tseed_either_text(writer, "gridSetId", task->gridset);
    tseed_either_text(writer, "format", task->format);
    tseed_either_text(writer, "type", tseed_task_type_name(task->type));
    add_count(writer, "tiles", estimate->tiles);
    add_count(writer, "metatiles", estimate->metatiles);
    add_count(writer, "tilesPresent", estimate->present);
    add_count(writer, "tilesPruned", estimate->spared);
    tseed_either_text(writer, "presentBy",
                      estimate->present < 0 ? NULL
                      : estimate->counted   ? "count"
                                            : "sample");
    add_count(writer, "tilesToMake", estimate->to_make);
    add_range(writer, "bytes", &estimate->bytes, 0);
    add_range(writer, "seconds", &estimate->seconds, 1);
    add_count(writer, "measuredTiles", estimate->measured_tiles);
    add_count(writer, "free", estimate->free_in ? estimate->free : -1);
    tseed_either_text(writer, "freeIn", estimate->free_in);
}

void tseed_estimate_free(tseed_estimate_t *estimate, const tseed_quota_rule_t *rule,
                         const tseed_quota_gauge_t *quota, int64_t min_free)
{
    const int64_t of_disk = quota->disk_free > min_free ? quota->disk_free - min_free : 0;
    const int64_t of_quota = quota->used_bytes < rule->bytes ? rule->bytes - quota->used_bytes : 0;

    if (quota->disk_free >= 0) {
        estimate->free = of_disk;
        estimate->free_in = "disk";
    }
    if (rule->enabled && (!estimate->free_in || of_quota <= of_disk)) {
        estimate->free = of_quota;
        estimate->free_in = "quota";
    }
}

const char *tseed_estimate_write(const tseed_estimate_t *estimate, const tseed_task_t *task,
                                 tseed_format_of_body_t format, apr_pool_t *pool)
{
    tseed_either_t writer = tseed_either_begin(format, pool);

    tseed_either_open(&writer, "estimate", "estimate", '{');
    add_members(&writer, estimate, task);
    tseed_either_close(&writer, "estimate", '}');
    return tseed_either_end(&writer);
}
