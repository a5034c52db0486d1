/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The helper: on a host that stands by it sends requests in the place of the host that works, cuts
 * the answers into tiles, and hands the tiles over in one file an answer (tseed_portions.h).
 *
 * The helper changes no tile and no book: it writes packs into a hidden directory of the store root
 * and nothing else. The host that works reads each pack once and removes it. The helper has threads
 * of its own: one for the database, one that fetches, and TileSeedWorkers threads that cut. The
 * main thread calls all functions.
 */
#ifndef TSEED_HELPER_H
#define TSEED_HELPER_H

#include <apr_pools.h>

#include "layer/tseed_layer.h"
#include "protocol/tseed_settings.h"

typedef struct tseed_helper_t tseed_helper_t;

/* Makes the helper, in `pool`. */
tseed_helper_t *tseed_helper_create(const tseed_settings_t *settings,
                                    const tseed_catalog_t *catalog, apr_pool_t *pool);

/* Begins to help, unless that has begun, or there is no thread to be had. `epoch` is the host's. */
void tseed_helper_begin(tseed_helper_t *helper, int64_t epoch);

/* Ends the helper soon. */
void tseed_helper_end(tseed_helper_t *helper);

#endif
