/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dispatch: which job begins next. Main thread only.
 *
 * A run has at most `threads` requests and at most `threads` worker jobs under way, so the fetch of
 * the next metatile overlaps the work on the last. Memory is bounded. Answers that wait for a
 * worker count with the requests, all but one. A worker has at most two answers. A run fetches
 * nothing more while its answers fill the run's budget of bytes.
 */
#ifndef TSEED_DISPATCH_H
#define TSEED_DISPATCH_H

#include "pipeline/tseed_stages.h"
#include "usage/tseed_cache.h"
#include "usage/tseed_marks.h"

typedef struct tseed_dispatch_t tseed_dispatch_t;

/* What the dispatch uses. */
typedef struct {
    const tseed_context_t *context;
    const tseed_session_t *session;
    const tseed_runs_t *runs;
    const tseed_cache_t *cache;
    const tseed_marks_t *marks;
    tseed_jobs_t *jobs;
    tseed_failures_t *failures;
    tseed_stages_t *stages;
    tseed_holds_t *holds;
} tseed_dispatch_uses_t;

/* Makes the dispatch, in context->pool. */
tseed_dispatch_t *tseed_dispatch_create(const tseed_dispatch_uses_t *uses);

/* The records of two clients, which are the module's: one begins what may begin of tasks, one job
 * of each run in turn; one begins what waits in background runs. */
tseed_client_t *tseed_dispatch_tasks(tseed_dispatch_t *dispatch);
tseed_client_t *tseed_dispatch_background(tseed_dispatch_t *dispatch);

#endif
