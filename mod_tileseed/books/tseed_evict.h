/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Eviction: pages are removed for the disk quota. Main thread only. */
#ifndef TSEED_EVICT_H
#define TSEED_EVICT_H

#include "books/tseed_background.h"
#include "books/tseed_count.h"
#include "books/tseed_holds.h"
#include "books/tseed_quota_wait.h"

typedef struct tseed_evict_t tseed_evict_t;

/* What the eviction uses; all outlive it. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_runs_t *runs;
    tseed_cache_t *cache;
    tseed_holds_t *holds;
    tseed_jobs_t *jobs;
    tseed_background_t *background;
    tseed_quota_wait_t *quota_wait;
    tseed_page_jobs_t *page_jobs;
    tseed_count_t *count;
} tseed_evict_uses_t;

/* Makes the module in the context's pool. `uses` is copied. */
tseed_evict_t *tseed_evict_create(const tseed_evict_uses_t *uses);

/* The client that removes what must go. It is the module's. */
tseed_client_t *tseed_evict_client(tseed_evict_t *evict);

/* Puts the cache's quota into effect, and whether the book has all that is on the disk. */
void tseed_evict_configure(tseed_evict_t *evict);

/* Begins the clean-up that a client wants now, if there is one. Fails when the database does. */
apr_status_t tseed_evict_hear(tseed_evict_t *evict);

#endif
