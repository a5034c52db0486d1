/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Derived metatiles on their way: DERIVE stands for FETCH, and nothing goes to the upstream. Main
 * thread only. */
#ifndef TSEED_DERIVE_H
#define TSEED_DERIVE_H

#include "books/tseed_origins.h"

/* Whether the job is about a derived metatile. */
int tseed_derive_is(const tseed_job_t *job);

/* Whether a derived metatile must wait: other levels of its run are under way, and the level below
 * may be among them. */
int tseed_derive_waits(const tseed_run_t *run, int z);

/* Prepares a job for DERIVE: it expects no answer, and knows what the tiles were made of. */
void tseed_derive_prepare(tseed_job_t *job, tseed_origins_t *origins);

/* Takes a DERIVE off its run's counts when it has come back. If a tile below is broken, the origins
 * there are forgotten, so that a reseed makes the tiles anew. */
void tseed_derive_arrive(tseed_job_t *job, tseed_origins_t *origins);

#endif
