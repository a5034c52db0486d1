/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parts of the seeder: which modules there are, which of them use which, and the order of the
 * clients. Main thread only.
 *
 * The loop alone sees all parts. A module has pointers to the modules that it uses, and no other.
 */
#ifndef TSEED_PARTS_H
#define TSEED_PARTS_H

#include "books/tseed_evict.h"
#include "books/tseed_free_space.h"
#include "books/tseed_lapsed.h"
#include "books/tseed_purge.h"
#include "books/tseed_reconciler.h"
#include "books/tseed_syncer.h"
#include "books/tseed_walk.h"
#include "pipeline/tseed_dispatch.h"
#include "pipeline/tseed_outage.h"
#include "seeder/tseed_checkpoint.h"
#include "seeder/tseed_coverages.h"
#include "seeder/tseed_gauge_display.h"
#include "seeder/tseed_integrity_check.h"
#include "fleet/tseed_fleet.h"
#include "seeder/tseed_quota_adoption.h"
#include "seeder/tseed_scheduler.h"
#include "seeder/tseed_seeder.h"

typedef struct {
    /* work */
    tseed_context_t *context;
    tseed_session_t *session;
    tseed_runs_t *runs;
    tseed_fleet_t *fleet;
    /* books */
    tseed_cache_t *cache;
    tseed_marks_t *marks;
    tseed_durable_t *durable;
    tseed_display_t *display;
    tseed_origins_t *origins;
    tseed_cutoff_t *cutoff;
    tseed_savings_t *savings;
    tseed_holds_t *holds;
    tseed_page_loader_t *page_loader;
    /* pipeline */
    tseed_jobs_t *jobs;
    tseed_background_t *background;
    tseed_open_tilesets_t *open_tilesets;
    tseed_free_space_t *free_space;
    tseed_quota_wait_t *quota_wait;
    tseed_health_t *health;
    tseed_flow_t *flow;
    tseed_ends_t *ends;
    tseed_outage_t *outage;
    tseed_dispatch_t *dispatch;
    /* books: counts, removals, syncs */
    tseed_page_jobs_t *page_jobs;
    tseed_count_t *count;
    tseed_walk_t *walk;
    tseed_purge_t *purge;
    tseed_lapsed_t *lapsed;
    tseed_reconciler_t *reconciler;
    tseed_syncer_t *syncer;
    tseed_evict_t *evict;
    /* seeder */
    tseed_coverages_t *coverages;
    tseed_misses_t *misses;
    tseed_capabilities_check_t *capabilities_check;
    tseed_integrity_check_t *integrity_check;
    tseed_tasks_t *tasks;
    tseed_scheduler_t *scheduler;
    tseed_checkpoint_t *checkpoint;
    tseed_quota_adoption_t *quota_adoption;
    tseed_gauge_display_t *gauge_display;
    tseed_meter_t *meter;
} tseed_parts_t;

/* Makes all modules, in `pool`, and enters their clients. They live as long as the process. */
tseed_parts_t *tseed_parts_create(const tseed_seeder_setup_t *setup, apr_pool_t *pool);

#endif
