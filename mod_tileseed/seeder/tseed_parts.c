/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parts: each module is made with what it uses, from the lowest room to the highest. */
#include "seeder/tseed_parts.h"

#include <apr_strings.h>

#include "base/tseed_clock.h"

static tseed_context_t *context_create(const tseed_seeder_setup_t *setup, apr_pool_t *pool)
{
    tseed_context_t *context = apr_pcalloc(pool, sizeof(*context));

    context->settings = setup->settings;
    context->catalog = setup->catalog;
    context->generation = setup->generation;
    context->board = setup->board;
    context->pool = pool;
    apr_pool_create(&context->scratch, pool);
    context->calendar = tseed_calendar_begin(apr_time_now(), tseed_clock_monotonic());
    context->clients = apr_pcalloc(pool, sizeof(*context->clients));
    context->mailbox = apr_pcalloc(pool, sizeof(*context->mailbox));
    return context;
}

static void books_create(tseed_parts_t *parts)
{
    parts->marks = tseed_marks_create(parts->context->pool);
    parts->durable = tseed_durable_create(parts->cache, parts->context->pool);
    parts->display = tseed_display_create(parts->context, parts->session, parts->durable);
    parts->origins = tseed_origins_create(parts->context, parts->session, parts->cache);
    parts->cutoff = tseed_cutoff_create(parts->context, parts->runs);
    parts->savings = tseed_savings_create(&(tseed_savings_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .origins = parts->origins,
        .cutoff = parts->cutoff,
        .display = parts->display,
    });
    parts->holds = tseed_holds_create(&(tseed_holds_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .marks = parts->marks,
        .durable = parts->durable,
        .origins = parts->origins,
    });
    parts->page_loader = tseed_page_loader_create(parts->context, parts->session, parts->runs,
                                                  parts->cache, parts->holds);
}

static void pipeline_create(tseed_parts_t *parts)
{
    const tseed_context_t *context = parts->context;

    parts->jobs = tseed_jobs_create(context, parts->holds);
    parts->background = tseed_background_create(context, parts->runs, parts->session, parts->cache);
    parts->free_space = tseed_free_space_create(context, parts->cache);
    parts->quota_wait =
        tseed_quota_wait_create(context, parts->runs, parts->free_space, parts->display);
    parts->health = tseed_health_create(context->pool);
    parts->flow = tseed_flow_create(&(tseed_flow_uses_t){
        .context = context,
        .runs = parts->runs,
        .jobs = parts->jobs,
        .holds = parts->holds,
        .savings = parts->savings,
        .health = parts->health,
        .fleet = parts->fleet,
    });
    parts->ends = tseed_ends_create(&(tseed_ends_uses_t){
        .context = context,
        .session = parts->session,
        .runs = parts->runs,
        .jobs = parts->jobs,
        .savings = parts->savings,
        .quota_wait = parts->quota_wait,
        .display = parts->display,
    });
    parts->outage = tseed_outage_create(context, parts->runs, parts->ends, parts->display);
    parts->dispatch = tseed_dispatch_create(&(tseed_dispatch_uses_t){
        .context = context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .marks = parts->marks,
        .flow = parts->flow,
        .ends = parts->ends,
        .holds = parts->holds,
        .savings = parts->savings,
        .cutoff = parts->cutoff,
    });
}

static void counts_create(tseed_parts_t *parts)
{
    parts->page_jobs =
        tseed_page_jobs_create(parts->jobs, parts->background, parts->holds, parts->context->pool);
    parts->count = tseed_count_create(&(tseed_count_uses_t){.session = parts->session,
                                                            .runs = parts->runs,
                                                            .cache = parts->cache,
                                                            .marks = parts->marks,
                                                            .jobs = parts->jobs,
                                                            .holds = parts->holds,
                                                            .background = parts->background,
                                                            .page_jobs = parts->page_jobs,
                                                            .no_store = tseed_flow_no_store,
                                                            .flow = parts->flow},
                                      parts->context->pool);
    parts->walk = tseed_walk_create(parts->context, parts->cache, parts->background, parts->count);
    parts->purge = tseed_purge_create(parts->context, parts->session, parts->cache, parts->marks,
                                      parts->count);
    parts->lapsed = tseed_lapsed_create(parts->context, parts->session, parts->cache, parts->count);
    parts->reconciler = tseed_reconciler_create(parts->context, parts->session, parts->cache,
                                                parts->count, parts->walk);
    parts->syncer = tseed_syncer_create(&(tseed_syncer_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .durable = parts->durable,
        .holds = parts->holds,
        .display = parts->display,
    });
    parts->evict = tseed_evict_create(&(tseed_evict_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .holds = parts->holds,
        .jobs = parts->jobs,
        .background = parts->background,
        .quota_wait = parts->quota_wait,
        .page_jobs = parts->page_jobs,
        .count = parts->count,
    });
}

/* What answers children of httpd. */
static void requests_create(tseed_parts_t *parts, int miss_socket)
{
    parts->open_tilesets = tseed_open_tilesets_create(&(tseed_open_tilesets_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .marks = parts->marks,
        .savings = parts->savings,
        .background = parts->background,
    });
    parts->coverages = tseed_coverages_create(parts->context, parts->cache);
    parts->misses = tseed_misses_create(&(tseed_misses_uses_t){
        .context = parts->context,
        .runs = parts->runs,
        .cache = parts->cache,
        .holds = parts->holds,
        .jobs = parts->jobs,
        .open = parts->open_tilesets,
        .quota_wait = parts->quota_wait,
        .flow = parts->flow,
        .coverages = parts->coverages,
        .health = parts->health,
        .savings = parts->savings,
        .cutoff = parts->cutoff,
        .socket = miss_socket,
    });
}

static void tasks_create(tseed_parts_t *parts)
{
    parts->capabilities_check = tseed_capabilities_check_create(parts->context, parts->runs,
                                                                parts->display, parts->savings);
    parts->integrity_check = tseed_integrity_check_create(parts->context, parts->session);
    parts->tasks = tseed_tasks_create(&(tseed_tasks_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .ends = parts->ends,
        .savings = parts->savings,
        .cutoff = parts->cutoff,
        .fleet = parts->fleet,
    });
    parts->scheduler = tseed_scheduler_create(&(tseed_scheduler_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .display = parts->display,
        .ends = parts->ends,
        .tasks = parts->tasks,
        .capabilities_check = parts->capabilities_check,
        .page_loader = parts->page_loader,
        .savings = parts->savings,
    });
    parts->checkpoint = tseed_checkpoint_create(&(tseed_checkpoint_uses_t){
        .context = parts->context,
        .session = parts->session,
        .runs = parts->runs,
        .cache = parts->cache,
        .durable = parts->durable,
        .savings = parts->savings,
        .display = parts->display,
        .ends = parts->ends,
        .tasks = parts->tasks,
    });
    parts->quota_adoption =
        tseed_quota_adoption_create(&(tseed_quota_adoption_uses_t){.context = parts->context,
                                                                   .session = parts->session,
                                                                   .cache = parts->cache,
                                                                   .evict = parts->evict});
}

/* What shows children of httpd how the seeder is doing. */
static void displays_create(tseed_parts_t *parts)
{
    parts->gauge_display = tseed_gauge_display_create(parts->context, parts->runs, parts->cache,
                                                      parts->free_space, parts->health);
    parts->meter = tseed_meter_create(&(tseed_meter_uses_t){
        .context = parts->context,
        .runs = parts->runs,
        .tasks = parts->tasks,
        .cache = parts->cache,
        .free_space = parts->free_space,
        .misses = parts->misses,
    });
}

/* Requests that wait go first, and removals for the quota before what is done in the background.
 */
static void enter_clients(tseed_parts_t *parts)
{
    tseed_client_t *const clients[] = {
        tseed_ends_client(parts->ends),
        tseed_savings_client(parts->savings),
        tseed_misses_client(parts->misses),
        tseed_coverages_client(parts->coverages),
        tseed_background_client(parts->background),
        tseed_open_tilesets_client(parts->open_tilesets),
        tseed_outage_client(parts->outage),
        tseed_capabilities_check_client(parts->capabilities_check),
        tseed_holds_client(parts->holds),
        tseed_free_space_client(parts->free_space),
        tseed_evict_client(parts->evict),
        tseed_count_client(parts->count),
        tseed_walk_client(parts->walk),
        tseed_count_doubts_client(parts->count),
        tseed_reconciler_client(parts->reconciler),
        tseed_dispatch_background(parts->dispatch),
        tseed_purge_client(parts->purge),
        tseed_dispatch_tasks(parts->dispatch),
        tseed_count_marks_client(parts->count),
        tseed_syncer_client(parts->syncer),
        tseed_scheduler_client(parts->scheduler),
        tseed_gauge_display_client(parts->gauge_display),
        tseed_meter_client(parts->meter),
    };

    for (size_t i = 0; i < sizeof(clients) / sizeof(*clients); i++) {
        tseed_clients_enter(parts->context->clients, clients[i]);
    }
}

tseed_parts_t *tseed_parts_create(const tseed_seeder_setup_t *setup, apr_pool_t *pool)
{
    tseed_parts_t *parts = apr_pcalloc(pool, sizeof(*parts));

    parts->context = context_create(setup, pool);
    parts->session = apr_pcalloc(pool, sizeof(*parts->session));
    parts->runs = apr_pcalloc(pool, sizeof(*parts->runs));
    parts->runs->tasks_end = &parts->runs->tasks;
    parts->fleet = tseed_fleet_create(parts->context, parts->session, setup->miss_socket);
    parts->cache = tseed_cache_create(parts->context, parts->session);
    books_create(parts);
    pipeline_create(parts);
    counts_create(parts);
    requests_create(parts, setup->miss_socket);
    tasks_create(parts);
    displays_create(parts);
    enter_clients(parts);
    return parts;
}
