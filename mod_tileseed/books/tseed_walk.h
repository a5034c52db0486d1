/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Walks: pages that the disk has and the book has not. Tile sets that are not known yet are walked
 * one after the other. Main thread only. */
#ifndef TSEED_WALK_H
#define TSEED_WALK_H

#include "books/tseed_background.h"
#include "books/tseed_count.h"

typedef struct tseed_walk_t tseed_walk_t;

/* Makes the module in the context's pool. */
tseed_walk_t *tseed_walk_create(const tseed_context_t *context, tseed_cache_t *cache,
                                tseed_background_t *background, tseed_count_t *count);

/* The client that walks. It is the module's. */
tseed_client_t *tseed_walk_client(tseed_walk_t *walk);

/* Has a tile set walked although the tile set is known. One tile set may be wanted at a time. */
void tseed_walk_want(tseed_walk_t *walk, tseed_book_tileset_t *booked);

/* Whether the walk of the tile set that was wanted last has still to be made. */
int tseed_walk_is_wanted(const tseed_walk_t *walk);

#endif
