/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Lending: which runs use their seeding threads, and who gets a thread that nobody uses. Main
 * thread only.
 *
 * Every run has one thread of its own, and that of a truncate is none of the seeding threads. A
 * paused run lends its thread. PENDING tasks get unused threads first. The threads that are left
 * are lent to the runs in turn, up to the number of threads that their tasks have asked for.
 */
#ifndef TSEED_LENDING_H
#define TSEED_LENDING_H

#include "work/tseed_run.h"

/* Returns the run that `run` waits for: a stuck run is at work on its next metatile, or a truncate
 * that is removing tiles there keeps what it has fetched from being stored. NULL: there is no such
 * run, or something of `run` is under way. */
const tseed_run_t *tseed_lending_stuck_before(const tseed_runs_t *runs, const tseed_run_t *run);

/* Whether a run is stuck, or waits for a stuck run. A run is stuck when its store failed, its
 * upstream is away, or it waits for room. */
int tseed_lending_is_paused(const tseed_runs_t *runs, const tseed_run_t *run);

/* Returns how many of `threads` seeding threads no run uses. Truncates use none. */
int tseed_lending_vacant(const tseed_runs_t *runs, int threads);

/* Sets the threads of each run of a task. */
void tseed_lending_lend(const tseed_runs_t *runs, int threads);

#endif
