/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The display of gauges: what the board shows of the upstreams and of the disk quota. Once a tick
 * it looks how they are doing, and writes what has changed. Main thread only. */
#ifndef TSEED_GAUGE_DISPLAY_H
#define TSEED_GAUGE_DISPLAY_H

#include "books/tseed_cache.h"
#include "books/tseed_free_space.h"
#include "pipeline/tseed_health.h"
#include "protocol/tseed_gauge.h"
#include "seeder/tseed_misses.h"
#include "seeder/tseed_tasks.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"

typedef struct tseed_gauge_display_t tseed_gauge_display_t;

/* Makes the display, in context->pool. */
tseed_gauge_display_t *tseed_gauge_display_create(const tseed_context_t *context,
                                                  const tseed_runs_t *runs,
                                                  const tseed_cache_t *cache,
                                                  const tseed_free_space_t *space,
                                                  const tseed_health_t *health);

/* The record of the client that looks once a tick. It is the module's. */
tseed_client_t *tseed_gauge_display_client(tseed_gauge_display_t *display);

/* Sets the gauge of an upstream by its outlook; `tasks` wait for it. now: monotonic. */
void tseed_gauge_of_upstream(tseed_upstream_gauge_t *gauge, const tseed_outlook_t *outlook,
                             const tseed_illness_t *illness, int64_t tasks, apr_time_t now);

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
