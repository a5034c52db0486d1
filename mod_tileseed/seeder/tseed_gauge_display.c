/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The display of gauges, and what is measured for them. A gauge says what state an upstream is
 * in, so that no reader has to compare a time with the clock: a document made of gauges is right
 * until a gauge changes. */
#include "seeder/tseed_gauge_display.h"

#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "board/tseed_gauges.h"
#include "pipeline/tseed_upstreams.h"

/* Meter: the seeder's modules are asked once a meter_tick. */

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
static void meter_tick(void *module, apr_time_t now)
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
    meter->client = (tseed_client_t){.module = meter, .tick = meter_tick};
    return meter;
}

tseed_client_t *tseed_meter_client(tseed_meter_t *meter)
{
    return &meter->client;
}

#define COARSE 64 /* one part of what is free */

struct tseed_gauge_display_t {
    const tseed_context_t *context;
    const tseed_runs_t *runs;
    const tseed_cache_t *cache;
    const tseed_free_space_t *space;
    int64_t shown_free; /* of the disk */
    const tseed_health_t *health;
    tseed_client_t client;
    tseed_outlook_t outlooks[TSEED_GAUGES_UPSTREAMS];
};

/* ---- upstreams ---- */

/* Whether anybody wants something of an upstream that is away, or wanted it just now. Nobody asks
 * it else, so nobody knows any more whether it is away. */
static int is_wanted(const tseed_outlook_t *outlook, int64_t tasks, apr_time_t now)
{
    return tasks > 0 || outlook->queued > 0 || outlook->under_way > 0 ||
           now - outlook->away_at < TSEED_HEALTH_AWAY_LASTS;
}

/* A pause that is over without an answer since leaves the upstream in the state: a probe will tell.
 */
static tseed_upstream_state_t state_of(const tseed_outlook_t *outlook, int64_t tasks, int fails,
                                       apr_time_t now)
{
    if (outlook->waits && outlook->quiet_until > now) {
        return TSEED_UPSTREAM_QUIET;
    }
    if (outlook->waits) {
        return !is_wanted(outlook, tasks, now) ? TSEED_UPSTREAM_UNASKED
               : outlook->opened               ? TSEED_UPSTREAM_AWAY
                                               : TSEED_UPSTREAM_QUIET;
    }
    if (outlook->silent) {
        return TSEED_UPSTREAM_SILENT;
    }
    if (fails) {
        return TSEED_UPSTREAM_FAILING;
    }
    return outlook->requests > 0 ? TSEED_UPSTREAM_WELL : TSEED_UPSTREAM_UNASKED;
}

void tseed_gauge_of_upstream(tseed_upstream_gauge_t *gauge, const tseed_outlook_t *outlook,
                             const tseed_illness_t *illness, int64_t tasks, apr_time_t now)
{
    memset(gauge, 0, sizeof(*gauge));
    apr_cpystrn(gauge->name, outlook->upstream->name, sizeof(gauge->name));
    gauge->state = state_of(outlook, tasks, illness->layer != NULL, now);
    gauge->window = outlook->window;
    gauge->under_way = outlook->under_way;
    gauge->queued = outlook->queued;
    gauge->tasks = tasks;
    gauge->requests = outlook->requests;
    gauge->errors = outlook->errors;
    gauge->failed = illness->failed;
    gauge->looked = illness->looked;
    gauge->usual = outlook->usual;
    gauge->heard = outlook->heard;
    gauge->quiet_until = outlook->quiet_until > now ? outlook->quiet_until : 0;
    if (gauge->state == TSEED_UPSTREAM_FAILING) {
        gauge->since = illness->since;
        apr_cpystrn(gauge->layer, illness->layer, sizeof(gauge->layer));
        tseed_text_fit(gauge->cause, sizeof(gauge->cause), illness->cause);
    } else if (gauge->state != TSEED_UPSTREAM_UNASKED) {
        gauge->since = outlook->waits ? outlook->waits : outlook->silent;
    }
    if (gauge->state == TSEED_UPSTREAM_AWAY || gauge->state == TSEED_UPSTREAM_QUIET) {
        gauge->next = outlook->next;
        apr_cpystrn(gauge->layer, outlook->layer ? outlook->layer->name : "", sizeof(gauge->layer));
        tseed_text_fit(gauge->cause, sizeof(gauge->cause), outlook->cause);
    }
}

/* Counts the tasks whose best upstream is this one, and is away or silent. */
static int64_t count_waiting(const tseed_gauge_display_t *display, const tseed_upstream_t *upstream)
{
    int64_t count = 0;

    for (const tseed_run_t *run = display->runs->tasks; run; run = run->next_run) {
        if (run->waits_since || run->is_silent) {
            tseed_outlook_t outlook;
            const int address = tseed_upstreams_get(display->context->fetcher, &outlook, run);

            count += run->tileset.layer->source.addresses[address].upstream == upstream;
        }
    }
    return count;
}

static void show_upstreams(tseed_gauge_display_t *display, apr_time_t now)
{
    const unsigned count = tseed_fetcher_outlooks(display->context->fetcher, display->outlooks,
                                                  TSEED_GAUGES_UPSTREAMS);

    for (unsigned i = 0; i < count; i++) {
        const tseed_outlook_t *outlook = &display->outlooks[i];
        const tseed_illness_t illness = tseed_health_of(display->health, outlook->upstream, now);
        const int is_well = !outlook->waits && !outlook->silent && !illness.layer;
        tseed_upstream_gauge_t gauge;

        tseed_gauge_of_upstream(&gauge, outlook, &illness,
                                is_well ? 0 : count_waiting(display, outlook->upstream), now);
        tseed_gauges_upstream_set(display->context->board, i, &gauge);
    }
}

/* ---- quota ---- */

static int64_t count_short(const tseed_runs_t *runs)
{
    int64_t count = 0;

    for (const tseed_run_t *run = runs->tasks; run; run = run->next_run) {
        count += run->short_of != NULL;
    }
    return count;
}

/* -1: no root has been measured. */
static int64_t least_free(const tseed_gauge_display_t *display)
{
    int64_t least = INT64_MAX;
    const char *root;

    for (unsigned i = 0; (root = tseed_cleaner_root(display->cache->cleaner, i)) != NULL; i++) {
        const int64_t bytes = tseed_free_space_get(display->space, root);

        least = bytes < least ? bytes : least;
    }
    return least == INT64_MAX ? -1 : least;
}

/* Others write on the disk as well. A small change is no news to readers. */
static int64_t coarse_free(tseed_gauge_display_t *display)
{
    const int64_t found = least_free(display), shown = display->shown_free;

    if (found < 0 || shown < 0 || llabs(found - shown) > shown / COARSE) {
        display->shown_free = found;
    }
    return display->shown_free;
}

/* A charge that is refused is given back a moment later, so that a sum may be below 0 meanwhile. */
static int64_t positive(int64_t number)
{
    return number > 0 ? number : 0;
}

static void show_quota(tseed_gauge_display_t *display)
{
    const tseed_cache_t *cache = display->cache;
    const tseed_amount_t used = tseed_cleaner_sum(cache->cleaner);
    const tseed_cleanup_t *clean = &cache->status.clean;
    const tseed_quota_gauge_t gauge = {
        .is_complete = !cache->is_loading && tseed_book_incomplete(cache->book) == 0,
        .used_bytes = positive(used.bytes),
        .used_files = positive(used.files),
        .disk_free = coarse_free(display),
        .tasks = count_short(display->runs),
        .in_doubt = tseed_book_in_doubt(cache->book),
        .grace = tseed_cleaner_grace(cache->cleaner),
        .clean_started = clean->started,
        .clean_last = clean->last,
        .clean_pages = clean->pages,
        .clean_bytes = positive(clean->gone.allocated),
        .clean_files = positive(clean->gone.files),
    };

    tseed_gauges_quota_set(display->context->board, &gauge);
}

/* ---- module ---- */

static void tick(void *module, apr_time_t now)
{
    show_upstreams(module, now);
    show_quota(module);
}

tseed_gauge_display_t *tseed_gauge_display_create(const tseed_context_t *context,
                                                  const tseed_runs_t *runs,
                                                  const tseed_cache_t *cache,
                                                  const tseed_free_space_t *space,
                                                  const tseed_health_t *health)
{
    tseed_gauge_display_t *display = apr_pcalloc(context->pool, sizeof(*display));

    display->context = context;
    display->runs = runs;
    display->cache = cache;
    display->space = space;
    display->shown_free = -1;
    display->health = health;
    display->client = (tseed_client_t){.module = display, .tick = tick};
    return display;
}

tseed_client_t *tseed_gauge_display_client(tseed_gauge_display_t *display)
{
    return &display->client;
}
