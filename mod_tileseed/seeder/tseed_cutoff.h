/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutoff: a truncate is a line in time.
 *
 *      answer fetched ──┐
 *                       ├─ truncate taken in ──► its tiles are removed ──► done
 *      answer fetched ──┘         │
 *                                 └─ what was fetched before is not stored after it
 *
 * A truncate says that its tiles are out of date, and so is each answer that the upstream gave
 * before. When the seeder takes a truncate in, all answers for its area that are at hand or on
 * their way become stale: the seeder throws them away and asks for them again. A worker that is
 * storing an answer just then may go on. The truncate removes those tiles, because a truncate does
 * not begin in a page where a worker writes. The cutoff is not saved: answers die with the seeder
 * that has asked for them.
 */
#ifndef TSEED_CUTOFF_H
#define TSEED_CUTOFF_H

#include "seeder/tseed_misses.h"

/* Makes the answers of before a truncate stale. Main thread, when the truncate is taken in. */
void tseed_cutoff_draw(const tseed_runs_t *runs, tseed_misses_t *misses,
                       const tseed_task_t *truncate, const tseed_tileset_t *tileset);

#endif
