/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Meter: what the metrics tell of the present, measured once a second and put on the board. Main
 * thread only. */
#ifndef TSEED_METER_H
#define TSEED_METER_H

#include "pipeline/tseed_free_space.h"
#include "seeder/tseed_misses.h"
#include "seeder/tseed_tasks.h"
#include "usage/tseed_cache.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"

typedef struct tseed_meter_t tseed_meter_t;

typedef struct {
    const tseed_context_t *context;
    const tseed_runs_t *runs;
    const tseed_tasks_t *tasks;
    const tseed_cache_t *cache;
    const tseed_free_space_t *free_space;
    const tseed_misses_t *misses;
} tseed_meter_uses_t;

/* Makes the module in the context's pool. */
tseed_meter_t *tseed_meter_create(const tseed_meter_uses_t *uses);

/* The client that measures. It is the module's. */
tseed_client_t *tseed_meter_client(tseed_meter_t *meter);

#endif
