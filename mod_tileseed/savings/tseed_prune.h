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

#include "savings/tseed_savings.h"

/* Findings are loaded when a tile set is first used. */
extern const tseed_saving_t tseed_prune_saving;
typedef struct tseed_prune_t tseed_prune_t;

/* The position that the run begins next, or -1: none for now. Passes pruned positions before it,
 * whichever task has found what prunes them, and counts them. The run may be through afterwards. */
int64_t tseed_prune_next(tseed_prune_t *prune, tseed_run_t *run);

/* Whether a finding prunes a position of a run, so that the metatile is passed, or looked at for
 * itself: no request fetches it together with others. */
int tseed_prune_has(tseed_prune_t *prune, tseed_run_t *run, int64_t position);

/* The colour of all tiles of the metatile at a position, if a finding prunes it; NULL: none does.
 */
const tseed_shade_t *tseed_prune_shade(tseed_prune_t *prune, tseed_run_t *run, int64_t position);

#endif
