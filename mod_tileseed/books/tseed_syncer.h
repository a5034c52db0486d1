/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Syncs: file systems of stores are made to write what they have, so that the database may say so.
 * Main thread only. */
#ifndef TSEED_SYNCER_H
#define TSEED_SYNCER_H

#include "books/tseed_holds.h"
#include "books/tseed_marks.h"
#include "work/tseed_context.h"
#include "work/tseed_session.h"

typedef struct tseed_syncer_t tseed_syncer_t;

/* What the syncer uses; all outlive it. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_runs_t *runs;
    const tseed_cache_t *cache;
    tseed_durable_t *durable;
    tseed_holds_t *holds;
    tseed_display_t *display;
} tseed_syncer_uses_t;

/* Makes the module in the context's pool. `uses` is copied. */
tseed_syncer_t *tseed_syncer_create(const tseed_syncer_uses_t *uses);

/* The client that syncs. It is the module's. */
tseed_client_t *tseed_syncer_client(tseed_syncer_t *syncer);

/* Enters the file systems of all store roots among what is durable. Once, when the roots are known.
 */
void tseed_syncer_begin(tseed_syncer_t *syncer);

/* At the end of the process: begins the last sync of each file system that is not at it. */
void tseed_syncer_begin_last(tseed_syncer_t *syncer);

/* Whether a sync is under way. */
int tseed_syncer_is_at_work(const tseed_syncer_t *syncer);

#endif
