/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruning: what lies below metatiles of one colour is not fetched (TileSeedPrune). Main thread
 * only.
 *
 *      a CUT comes back     ──► a finding: one colour, and how many levels above have it too
 *      a run asks what next ──► positions below findings that prune are passed, and counted
 *      a look               ──► a pruned metatile is fetched all the same; if of another colour, it
 *                               becomes a hole
 *      a request waits      ──► the colour of its tile, if a finding prunes the tile
 *      a truncate           ──► findings in its area, or above, are forgotten
 */
#ifndef TSEED_PRUNE_H
#define TSEED_PRUNE_H

#include "books/tseed_cache.h"
#include "books/tseed_cutoff.h"
#include "books/tseed_marks.h"
#include "books/tseed_origins.h"
#include "work/tseed_clients.h"
#include "work/tseed_run.h"

typedef struct tseed_prune_t tseed_prune_t;

/* What pruning uses. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_cache_t *cache;
    tseed_origins_t *origins;
    const tseed_cutoff_t *cutoff;
    const tseed_display_t *display;
} tseed_prune_uses_t;

/* Makes the module, in the context's pool. Findings are loaded when a tile set is first used. */
tseed_prune_t *tseed_prune_create(const tseed_prune_uses_t *uses);

/* The record to enter among the clients: it has the loop go on where there is more to be passed. */
tseed_client_t *tseed_prune_client(tseed_prune_t *prune);

/* The position that the run begins next, or -1: none for now. Passes pruned positions before it,
 * whichever task has found what prunes them, and counts them. The run may be through afterwards. */
int64_t tseed_prune_next(tseed_prune_t *prune, tseed_run_t *run);

/* Whether a finding prunes a position of a run, so that the metatile is passed, or looked at for
 * itself: no request fetches it together with others. */
int tseed_prune_has(tseed_prune_t *prune, tseed_run_t *run, int64_t position);

/* Before the first stage of a job of a task: says whether the job is a look. */
void tseed_prune_begin(tseed_prune_t *prune, tseed_job_t *job);

/* The colour of all tiles of the metatile at a position, if a finding prunes it; NULL: none does.
 */
const tseed_shade_t *tseed_prune_shade(tseed_prune_t *prune, tseed_run_t *run, int64_t position);

/* Takes in what a CUT that has come back says of the colours of its metatile. */
void tseed_prune_take(tseed_prune_t *prune, const tseed_job_t *job);

/* Forgets the findings of a tile set that a truncate makes out of date, when its line is drawn.
 * Returns how many of them have pruned what lies below them. */
int64_t tseed_prune_truncate(tseed_prune_t *prune, const tseed_tileset_t *tileset);

/* Forgets what is known of a tile set that leaves the book; the database is the caller's matter. */
void tseed_prune_forget(tseed_prune_t *prune, const tseed_book_tileset_t *booked);

/* has_changes: whether there is something to save. write: writes the changes into the open
 * transaction, behind those of the book; fails when the database does, and then the next call
 * writes them all again. saved: notes that the transaction is committed. */
int tseed_prune_has_changes(const tseed_prune_t *prune);
apr_status_t tseed_prune_write(const tseed_prune_t *prune);
void tseed_prune_saved(const tseed_prune_t *prune);

#endif
