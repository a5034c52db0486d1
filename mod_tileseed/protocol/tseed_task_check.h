/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* An accepted task in today's configuration: can it go on? Any thread. Results and sentences live
 * in the pool that a call takes. */
#ifndef TSEED_TASK_CHECK_H
#define TSEED_TASK_CHECK_H

#include "layer/tseed_tileset.h"
#include "protocol/tseed_task.h"

/* Whether a grid set is still as it was when the task was accepted. */
int tseed_task_has_gridset(const tseed_task_t *task, const tseed_gridset_t *gridset,
                           apr_pool_t *pool);

/* Finds the tile set of an accepted task in today's configuration. NULL, or a sentence: the task
 * can't go on, because its layer, grid set, format, parameter filter or store is gone or has
 * changed. */
const char *tseed_task_tileset(tseed_tileset_t *tileset, const tseed_task_t *task,
                               const tseed_catalog_t *catalog, apr_pool_t *pool);

#endif
