/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The scheduler: begins PENDING tasks when seeding threads are free, lends threads, and says on the
 * board why tasks wait. Main thread only. */
#ifndef TSEED_SCHEDULER_H
#define TSEED_SCHEDULER_H

#include "books/tseed_page_loader.h"
#include "seeder/tseed_capabilities_check.h"
#include "seeder/tseed_tasks.h"

typedef struct tseed_scheduler_t tseed_scheduler_t;

/* What the scheduler uses. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    tseed_runs_t *runs;
    tseed_cache_t *cache;
    const tseed_display_t *display;
    const tseed_page_loader_t *page_loader;
    tseed_savings_t *savings;
    tseed_ends_t *ends;
    tseed_tasks_t *tasks;
    const tseed_capabilities_check_t *capabilities_check;
} tseed_scheduler_uses_t;

/* Makes the scheduler, in the context's pool. */
tseed_scheduler_t *tseed_scheduler_create(const tseed_scheduler_uses_t *uses);
/* Returns the record to enter among the clients; it lives as long as the scheduler. */
tseed_client_t *tseed_scheduler_client(tseed_scheduler_t *scheduler);

/* Claims PENDING tasks for free seeding threads, then lends the threads that are left. Once a turn
 * of the loop. */
void tseed_scheduler_turn(tseed_scheduler_t *scheduler);

#endif
