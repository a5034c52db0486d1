/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Lending: which runs use their seeding threads, and who gets a thread that nobody uses. Main
 * thread only.
 *
 * Every run has the thread that it owns. A paused run lends its own. What no PENDING task needs is
 * lent in turn, up to the number of threads that a task has asked for.
 */
#ifndef TSEED_LENDING_H
#define TSEED_LENDING_H

#include "work/tseed_run.h"

/* Returns the run that another one waits for: the other one has nothing under way, and a stuck run
 * is at its next metatile. NULL: there is no such run. */
const tseed_run_t *tseed_lending_stuck_before(const tseed_runs_t *runs, const tseed_run_t *run);

/* Whether a run is stuck: its store failed, its upstream is away, or it waits for room. Or it waits
 * for a run that is. */
int tseed_lending_is_paused(const tseed_runs_t *runs, const tseed_run_t *run);

/* Returns how many of `threads` seeding threads no run uses. */
int tseed_lending_vacant(const tseed_runs_t *runs, int threads);

/* Sets the threads of each run of a task. */
void tseed_lending_lend(const tseed_runs_t *runs, int threads);

#endif
