/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the parts of the main thread share. Private to the seeder room; only the main thread comes
 * here.
 *
 *      tseed_seeder.c   the loop: wait, hear, tick
 *      tseed_roster.c   which tasks there are
 *      tseed_schedule.c which of them run, who lends a thread to whom
 *      tseed_cutoff.c   answers that a truncate makes stale
 *      tseed_inquiry.c  what the upstreams say that they offer
 *      tseed_checkup.c  the database looked through after a bad end
 *      tseed_ledger.c   what goes into the database, and when
 */
#ifndef TSEED_HOUSE_H
#define TSEED_HOUSE_H

#include <apr_file_io.h>

#include "base/tseed_memory.h"
#include "pipeline/tseed_background.h"
#include "pipeline/tseed_dispatch.h"
#include "pipeline/tseed_failures.h"
#include "pipeline/tseed_jobs.h"
#include "pipeline/tseed_outage.h"
#include "pipeline/tseed_quota_wait.h"
#include "pipeline/tseed_retry.h"
#include "pipeline/tseed_stages.h"
#include "upkeep/tseed_count.h"
#include "upkeep/tseed_evict.h"
#include "upkeep/tseed_page_jobs.h"
#include "seeder/tseed_misses.h"
#include "upkeep/tseed_purge.h"
#include "upkeep/tseed_reconciler.h"
#include "seeder/tseed_seeder.h"
#include "upkeep/tseed_walk.h"
#include "upkeep/tseed_syncer.h"
#include "usage/tseed_cache.h"
#include "usage/tseed_display.h"
#include "usage/tseed_durable.h"
#include "usage/tseed_holds.h"
#include "usage/tseed_marks.h"
#include "usage/tseed_origins.h"
#include "usage/tseed_page_loader.h"
#include "usage/tseed_page_loader.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

/* An unfinished task, running or not. PENDING ones cost no more than this. malloc'd. */
typedef struct tseed_entry_t {
    int64_t id;
    tseed_task_type_t type;
    int slot;         /* on the board */
    int terminated;   /* by a client, not yet confirmed */
    char *tileset;    /* its key; "" when the configuration has it no more */
    char *layer;      /* malloc'd, as is the key */
    tseed_run_t *run; /* NULL: PENDING */
    struct tseed_entry_t *next;
} tseed_entry_t;

typedef struct tseed_inquiry_t tseed_inquiry_t;

typedef struct tseed_seeder_t {
    const tseed_seeder_setup_t *setup;
    tseed_context_t *context;
    tseed_session_t *session;
    tseed_runs_t *runs;
    tseed_cache_t *cache;
    apr_file_t *lock;

    tseed_entry_t *entries, **entries_end; /* ascending by id */
    int64_t last_id;                       /* newest task that was taken in */
    int pending;                           /* entries without a run, not terminated */

    apr_pool_t *quota_pool; /* where its texts live */
    tseed_marks_t *marks;
    tseed_durable_t *durable;
    tseed_display_t *display;
    tseed_origins_t *origins;
    tseed_holds_t *holds;
    tseed_page_loader_t *page_loader;
    tseed_page_jobs_t *page_jobs;
    tseed_count_t *count;
    tseed_walk_t *walk;
    tseed_purge_t *purge;
    tseed_reconciler_t *reconciler;
    tseed_syncer_t *syncer;
    tseed_evict_t *evict;
    tseed_misses_t *misses;

    tseed_inquiry_t *inquiries;
    apr_hash_t *warnings; /* layer -> what its upstream lacks, a sentence */

    tseed_jobs_t *jobs;
    tseed_failures_t *failures;
    tseed_retry_t *retry;
    tseed_background_t *background;
    tseed_quota_wait_t *quota_wait;
    tseed_stages_t *stages;
    tseed_outage_t *outage;
    tseed_dispatch_t *dispatch;
    apr_time_t next_tick; /* monotonic */
    int64_t quota_version;
    const char *shown_trouble; /* what waiting tasks say of the database; NULL: nothing */
    int board_is_wrong;        /* which has been logged */
    int is_looked_after;       /* the checkup was begun, or is not needed */
    pid_t checkup;             /* its process; 0: there is none */
} tseed_seeder_t;

/* ---- roster ---- */

/* Takes in all unfinished tasks at the start, with the progress that an earlier seeder left on the
 * board. */
apr_status_t tseed_roster_recover(tseed_seeder_t *seeder);
/* Takes in what children have committed since: new tasks and terminations. */
apr_status_t tseed_roster_sync(tseed_seeder_t *seeder);
/* Stops a task that the database does not know. */
void tseed_roster_forget(tseed_seeder_t *seeder, int64_t id);
/* Forgets an entry that never ran, and its slot on the board. */
void tseed_roster_drop(tseed_seeder_t *seeder, tseed_entry_t *entry);
/* Forgets a run that has been recorded, and its entry. */
void tseed_roster_dismiss(tseed_seeder_t *seeder, tseed_run_t *run);

/* ---- schedule ---- */

/* Claims PENDING tasks for free seeding threads, then lends what is left. */
void tseed_schedule_turn(tseed_seeder_t *seeder);
extern tseed_client_t tseed_schedule_client; /* PENDING tasks say what they wait for */

/* ---- checkup ---- */

/* Begins to look through the state database, once, unless the last seeder has said that it ended
 * well. Under the lock of the state directory, before the database is opened. */
void tseed_checkup_begin(tseed_seeder_t *seeder);
/* Once a tick: replaces the database if it has been found damaged. */
void tseed_checkup_tick(tseed_seeder_t *seeder);
/* Says that this seeder ends well: the last thing that is written. */
void tseed_checkup_end(tseed_seeder_t *seeder);

/* ---- inquiries ---- */

/* Asks each WMS what it offers. */
void tseed_inquiry_begin(tseed_seeder_t *seeder);
/* What a layer lacks is logged and noted at its runs; services that were away are asked again. */
extern tseed_client_t tseed_inquiry_client;

/* ---- cutoff ---- */

/* A truncate is taken in: answers of before it are not stored any more. */
void tseed_cutoff_draw(tseed_seeder_t *seeder, const tseed_task_t *truncate,
                       const tseed_tileset_t *tileset);


/* ---- ledger ---- */

/* Records what has ended and what was lost, and with `checkpoint` the progress of all running
 * tasks, in one transaction. On failure all stays as it is and is tried again at the next tick. */
void tseed_ledger_record(tseed_seeder_t *seeder, int checkpoint);
/* PENDING -> RUNNING for `count` entries in one commit; those that a termination met first become
 * NULL. */
apr_status_t tseed_ledger_claim(tseed_seeder_t *seeder, tseed_entry_t **entries, int count);
/* Brings quota configuration, directive and board together. */
apr_status_t tseed_ledger_quota(tseed_seeder_t *seeder);

#endif
