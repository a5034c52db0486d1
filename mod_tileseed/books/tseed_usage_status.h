/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The usage status: what clients are told of the cache beside its numbers. Main thread only. */
#ifndef TSEED_USAGE_STATUS_H
#define TSEED_USAGE_STATUS_H

#include "books/tseed_cache.h"

/* Notes that a page, or the shared files of a tile set, were counted, and their difference to the
 * book. A reconcile that is under way adds the difference to its result. */
void tseed_usage_status_counted(tseed_cache_t *cache, int is_page,
                                const tseed_effect_t *difference);

/* Returns the status as the database keeps it, in `scratch`. */
const char *tseed_usage_status_text(const tseed_cache_t *cache, apr_pool_t *scratch);

#endif
