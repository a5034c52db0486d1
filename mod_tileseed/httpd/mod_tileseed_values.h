/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The values that a request for a tile chooses. Private to mod_tileseed_wanted.c. Request threads;
 * sentences go into `pool`. */
#ifndef MOD_TILESEED_VALUES_H
#define MOD_TILESEED_VALUES_H

#include "mod_tileseed_wanted.h"

/* Whether the layer has the style that a request names in the words of its service. A layer without
 * a choice of styles has only the default style. 0: the request is refused. `wanted` has its chart.
 */
int tseed_values_check_style(tseed_wanted_t *wanted, apr_pool_t *pool);

/* The same for all values; finds the tile set that has them. `wanted` has one of its format. */
int tseed_values_choose(tseed_wanted_t *wanted, apr_pool_t *pool);

#endif
