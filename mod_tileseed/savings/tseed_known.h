/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the database knows to be spared, for estimates: they are made in other processes than the
 * seeder. */
#ifndef TSEED_KNOWN_H
#define TSEED_KNOWN_H

#include "layer/tseed_tileset.h"
#include "state/tseed_state.h"

typedef struct tseed_known_t tseed_known_t;

/* Loads the findings of a tile set that a task may rely on, in `pool`: none if the layer does not
 * rely on any, or if the tiles are made by another recipe now. The task must outlive the result. Of
 * very many findings it loads those of the upper levels. Fails when the database does. Any process;
 * the thread that has the connection. */
apr_status_t tseed_known_load(tseed_known_t **known, tseed_state_t *state, const tseed_task_t *task,
                              const tseed_tileset_t *tileset, apr_pool_t *pool);

/* Whether the task will take the metatile at a position to be of the colour above it, as far as is
 * known now. A reseed will if it meets the metatile above again, and that is as it was. */
int tseed_known_has(const tseed_known_t *known, const tseed_positions_t *positions,
                       int64_t position);

#endif
