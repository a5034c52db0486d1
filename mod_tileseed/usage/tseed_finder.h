/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The finder: what a CUT says of the colours of its metatile becomes a finding, or ends one. Main
 * thread only. */
#ifndef TSEED_FINDER_H
#define TSEED_FINDER_H

#include "usage/tseed_cache.h"
#include "usage/tseed_pruned_set.h"
#include "work/tseed_run.h"

/* Takes in a CUT that has made tiles of an answer, or has found that they are as before. The book
 * in the cache tells what lies below. */
void tseed_finder_take(tseed_pruned_set_t *set, const tseed_cache_t *cache, const tseed_job_t *job);

#endif
