/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reference systems: where on the earth something lies, as PROJ and its EPSG database know it.
 *
 * For the configuration phase. Opening the database of PROJ costs a few milliseconds and the first
 * use of a system some more; PROJ never asks the network here. An object belongs to one thread.
 */
#ifndef TSEED_SYSTEMS_H
#define TSEED_SYSTEMS_H

#include "tiling/tseed_gridset.h"

typedef struct tseed_systems_t tseed_systems_t;

/* Asks PROJ for nothing yet. Whatever it opens later is closed with `pool`. */
tseed_systems_t *tseed_systems_create(apr_pool_t *pool);

/* The smallest box in degrees of WGS 84 around `bounds` of the EPSG system `srs`, longitude first.
 * A box that crosses the antimeridian becomes a box around the whole earth. The systems of the
 * built-in grid sets need no PROJ. NULL, or a sentence why the box is not known, in the pool of the
 * object. */
const char *tseed_systems_degrees(tseed_bounds_t *degrees, tseed_systems_t *systems, int srs,
                                  const tseed_bounds_t *bounds);

/* Whether the first axis of the system goes north: 1, 0, or -1 when PROJ does not know. */
int tseed_systems_north_east(tseed_systems_t *systems, int srs);

#endif
