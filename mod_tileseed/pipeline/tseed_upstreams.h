/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The upstreams of a source: how they are doing, and which of them a job asks. Main thread only. */
#ifndef TSEED_UPSTREAMS_H
#define TSEED_UPSTREAMS_H

#include "source/tseed_fetcher.h"
#include "work/tseed_run.h"

/* Chooses the address that a job is fetched from. Addresses are asked in turn, or the first one
 * before the others. A job asks another address after each failure. An address that is away is
 * asked only when all are away. */
int tseed_upstreams_choose(tseed_fetcher_t *fetcher, const tseed_job_t *job);

/* Sets `outlook` to the outlook of the best upstream of a run's source. Returns the number of its
 * address. */
int tseed_upstreams_get(tseed_fetcher_t *fetcher, tseed_outlook_t *outlook, const tseed_run_t *run);

#endif
