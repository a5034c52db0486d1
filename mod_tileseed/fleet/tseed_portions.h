/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions: the host that works hands requests for metatiles to the hosts that stand by, through
 * the state database, and gets the tiles that those hosts have cut (tseed_helper.h).
 *
 *      fetcher ──► portions ──► table portion ──► helper: fetch, cut
 *      fetcher ◄── portions ◄── table portion,  ◄── pack, below the layer's store root
 *                               file of the pack
 *
 * To the fetcher the other hosts are more connections of the upstream. This host alone decides what
 * is made, stores the tiles, and keeps books and quota. So a host that dies or stands still takes
 * nothing with it: its requests are sent again. The module has a thread and a connection of its
 * own. Main thread, except where a comment says otherwise.
 */
#ifndef TSEED_PORTIONS_H
#define TSEED_PORTIONS_H

#include "layer/tseed_layer.h"
#include "protocol/tseed_settings.h"
#include "source/tseed_fetcher.h"

typedef struct tseed_portions_t tseed_portions_t;

/* Begins, in `pool`, and gives the fetcher its remote. `epoch` is
 * that of this host, which works. Without a thread to be had no host helps. */
void tseed_portions_begin(const tseed_settings_t *settings, const tseed_catalog_t *catalog,
                          tseed_fetcher_t *fetcher, int64_t epoch, apr_pool_t *pool);

#endif
