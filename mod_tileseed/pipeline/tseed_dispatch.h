/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dispatch: which job begins next. Main thread only.
 *
 * Per run: at most `threads` requests and at most `threads` worker jobs are under way, so the fetch
 * of the next metatile overlaps the work on the last. Memory is bounded in three ways. At most
 * `threads` + 1 answers are being fetched or wait for a worker. At most two answers per worker of
 * the seeder are with the workers. A run fetches nothing more while its answers fill the run's
 * budget of bytes.
 */
#ifndef TSEED_DISPATCH_H
#define TSEED_DISPATCH_H

#include "books/tseed_cache.h"
#include "books/tseed_marks.h"
#include "pipeline/tseed_ends.h"

typedef struct tseed_dispatch_t tseed_dispatch_t;

/* What the dispatch uses. */
typedef struct {
    const tseed_context_t *context;
    const tseed_session_t *session;
    const tseed_runs_t *runs;
    const tseed_cache_t *cache;
    const tseed_marks_t *marks;
    tseed_flow_t *flow;
    tseed_ends_t *ends;
    tseed_savings_t *savings;
    tseed_holds_t *holds;
    const tseed_cutoff_t *cutoff;
} tseed_dispatch_uses_t;

/* Makes the dispatch, in context->pool. */
tseed_dispatch_t *tseed_dispatch_create(const tseed_dispatch_uses_t *uses);

/* The records of two clients, which are the module's. The first begins jobs of tasks, one job of
 * each run in turn. The second begins jobs that wait in background runs. */
tseed_client_t *tseed_dispatch_tasks(tseed_dispatch_t *dispatch);
tseed_client_t *tseed_dispatch_background(tseed_dispatch_t *dispatch);

#endif
