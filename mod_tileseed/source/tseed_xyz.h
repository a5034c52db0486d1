/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* XYZ as a source: the address of each tile by a template. Pure text, no network, any thread.
 *
 *      {z} {x}         level and column
 *      {y} {-y}        row from the top, as map services on the web count, and from the bottom, as
 *                      TMS (OSGeo Tile Map Service 1.0.0) does
 *      {quadkey}       level, column and row as Bing Maps writes them
 *      {bbox}          minx,miny,maxx,maxy in the grid set's units
 *      {layer}         the layer's name
 *      {param:NAME}    the value of a parameter filter of the layer
 *
 * Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_XYZ_H
#define TSEED_XYZ_H

#include "source/tseed_address.h"

/* Checks the templates of a layer, whose filters are there already. NULL or a sentence.
 * Configuration phase. */
const char *tseed_xyz_check(const tseed_layer_t *layer, apr_pool_t *pool);

/* The address of a single tile. In `pool`. */
const char *tseed_xyz_url(const tseed_ask_t *ask, apr_pool_t *pool);

#endif
