/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The reconciler: compares the book of all tile sets with the disk when a client wants that, and
 * corrects the book. Main thread only. */
#ifndef TSEED_RECONCILER_H
#define TSEED_RECONCILER_H

#include "books/tseed_count.h"
#include "books/tseed_walk.h"
#include "work/tseed_context.h"

typedef struct tseed_reconciler_t tseed_reconciler_t;

/* Makes the module in the context's pool. */
tseed_reconciler_t *tseed_reconciler_create(const tseed_context_t *context,
                                            const tseed_session_t *session, tseed_cache_t *cache,
                                            tseed_count_t *count, tseed_walk_t *walk);

/* The client that goes on with a reconcile, or ends it. It is the module's. */
tseed_client_t *tseed_reconciler_client(tseed_reconciler_t *reconciler);

/* Begins the reconcile that a client wants, unless that one was made or another one goes on. Fails
 * when the database does. */
apr_status_t tseed_reconciler_hear(tseed_reconciler_t *reconciler);

#endif
