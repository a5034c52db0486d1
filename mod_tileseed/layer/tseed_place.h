/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Places: what decides, beside the names and the root that its row has, which files are a tile
 * set's. The place is kept as a text with the row, so that the tiles can be removed when no
 * configuration has the tile set any more. Any thread. Results and sentences live in the pool that
 * a call takes.
 *
 *      geowebcache\n2x1 4x2 8x4            the layout or its template, and each level's tiles
 */
#ifndef TSEED_PLACE_H
#define TSEED_PLACE_H

#include "layer/tseed_page.h"

/* The place of a configured tile set. */
const char *tseed_place_text(const tseed_tileset_t *tileset, apr_pool_t *pool);

/* Makes of a row a tile set that a store can be opened with, and that is good for nothing else: it
 * has no source, no extent and no parameters. NULL, or a sentence when the row does not say which
 * files are the tile set's. The store has not judged a template. */
const char *tseed_place_restore(tseed_tileset_t *tileset, const tseed_tileset_record_t *record,
                                apr_pool_t *pool);

#endif
