/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Owners: whether files of a tile set that is configured no more are tiles of one that is. Two
 * layers may have had one template without {layer}, or two names of one directory. A removal asks
 * for each file, so that nothing that is configured is ever removed.
 *
 * Any thread, but each thread its own. Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_OWNERS_H
#define TSEED_OWNERS_H

#include "layer/tseed_page.h"
#include "tiling/tseed_range.h"

/* The configured tile sets that may have files of another one. */
typedef struct tseed_owners_t tseed_owners_t;

/* Makes of a row a tile set by which its files can be found, and nothing else be done (see
 * tseed_place_restore). NULL, or a sentence when the row does not say which files they are. No file
 * system access. Any thread. */
const char *tseed_owners_restore(tseed_tileset_t *tileset, const tseed_tileset_record_t *record,
                                 apr_pool_t *pool);

/* The owners of files of a restored tile set; `tileset` and `catalog` outlive them. Asks the file
 * system which roots of the configuration are, contain or lie below the root of the tile set. Fails
 * when it does not answer, and so nobody knows; *obstacle: the root that it was asked for. */
apr_status_t tseed_owners_create(tseed_owners_t **owners, const char **obstacle,
                                 const tseed_tileset_t *tileset, const tseed_catalog_t *catalog,
                                 apr_pool_t *pool);

/* The layer of which the tile's file is a tile; NULL: of none. No file system access. */
const char *tseed_owners_of(tseed_owners_t *owners, const tseed_tile_t *tile);

/* The same of any tile in a corner of its levels: two tile sets that share files share some of
 * these, unless their templates write numbers in different ways. */
const char *tseed_owners_of_any(tseed_owners_t *owners);

/* Whether the root is one of the configuration. *is_shared: a configured tile set has the same
 * directory of shared files as well. */
int tseed_owners_use(const tseed_owners_t *owners, int *is_shared);

#endif
