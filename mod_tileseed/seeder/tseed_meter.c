/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Meter: the seeder's modules are asked once a tick. */
#include "seeder/tseed_meter.h"

#include "base/tseed_clock.h"
#include "board/tseed_counters.h"

struct tseed_meter_t {
    tseed_meter_uses_t uses;
    apr_time_t started; /* wall clock */
    const char *roots[TSEED_COUNTED_ROOTS + 1];
    unsigned roots_count;
    tseed_client_t client;
};

/* Why a run stands still; TSEED_WAITS: it does not. */
static tseed_wait_cause_t cause_of(const tseed_run_t *run, apr_time_t now)
{
    if (run->short_of) {
        return TSEED_WAIT_QUOTA;
    }
    if (run->waits_since || run->is_silent) {
        return TSEED_WAIT_UPSTREAM;
    }
    if (now < run->pause_until) {
        return TSEED_WAIT_STORE;
    }
    return run->is_behind ? TSEED_WAIT_TASK : TSEED_WAITS;
}

static void measure_runs(tseed_readings_t *readings, const tseed_meter_t *meter, apr_time_t now)
{
    for (const tseed_run_t *run = meter->uses.runs->tasks; run; run = run->next_run) {
        const tseed_wait_cause_t cause = cause_of(run, now);

        if (cause < TSEED_WAITS) {
            readings->waiting[cause]++;
        }
    }
}

static void measure_obstacles(tseed_readings_t *readings, const tseed_meter_t *meter)
{
    for (const tseed_entry_t *entry = tseed_tasks_first(meter->uses.tasks); entry;
         entry = entry->next) {
        readings->waiting[TSEED_WAIT_CONFIGURATION] += entry->obstacle && !entry->terminated;
    }
}

static void measure_cache(tseed_readings_t *readings, const tseed_meter_t *meter)
{
    const tseed_cache_t *cache = meter->uses.cache;
    const tseed_amount_t used = tseed_cleaner_sum(cache->cleaner);

    readings->used_bytes = used.bytes;
    readings->used_files = used.files;
    readings->quota_enabled = cache->quota.enabled != 0;
    readings->limit_bytes = cache->quota.quota.bytes;
    readings->pages_in_doubt = tseed_book_in_doubt(cache->book);
    readings->is_complete = tseed_book_is_known(cache->book);
    readings->reconciled = cache->status.reconcile.finished;
}

static void measure_stores(tseed_readings_t *readings, const tseed_meter_t *meter)
{
    readings->roots = meter->roots_count;
    readings->roots_print = tseed_metrics_roots_print(meter->roots);
    for (unsigned i = 0; i < meter->roots_count; i++) {
        const int64_t bytes = tseed_free_space_get(meter->uses.free_space, meter->roots[i]);

        readings->free[i] = bytes == INT64_MAX ? -1 : bytes;
    }
}

/* Until all pages have been read the cache is not known: what the last seeder said stands. */
static void tick(void *module, apr_time_t now)
{
    const tseed_meter_t *meter = module;
    tseed_readings_t readings = {.started = meter->started};

    if (!meter->uses.cache->book || meter->uses.cache->is_loading) {
        return;
    }
    measure_runs(&readings, meter, now);
    measure_obstacles(&readings, meter);
    measure_cache(&readings, meter);
    measure_stores(&readings, meter);
    readings.requests = tseed_misses_waiting(meter->uses.misses);
    readings.requests_most = meter->uses.context->settings->miss_waiters;
    tseed_counters_readings_set(meter->uses.context->board, &readings);
}

tseed_meter_t *tseed_meter_create(const tseed_meter_uses_t *uses)
{
    tseed_meter_t *meter = apr_pcalloc(uses->context->pool, sizeof(*meter));

    meter->uses = *uses;
    meter->started = apr_time_now();
    meter->roots_count =
        tseed_catalog_roots(uses->context->catalog, meter->roots, TSEED_COUNTED_ROOTS);
    meter->client = (tseed_client_t){.module = meter, .tick = tick};
    return meter;
}

tseed_client_t *tseed_meter_client(tseed_meter_t *meter)
{
    return &meter->client;
}
