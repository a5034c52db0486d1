/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A tally: what a thread has changed or found on disk, page by page, until the main thread books
 * it. A tally belongs to the same thread as the job or walk that carries it. Zeroed is empty. */
#ifndef TSEED_TALLY_H
#define TSEED_TALLY_H

#include "layer/tseed_page.h"
#include "tiling/tseed_range.h"

/* Most pages in a tally. The thread that fills a tally takes a break when the tally is full. */
#define TSEED_TALLY_MOST 4096

typedef struct {
    tseed_page_t page; /* z -1: free */
    tseed_effect_t effect;
} tseed_line_t;

typedef struct {
    tseed_line_t *lines; /* malloc'd, by hash; a power of two of them, at most half in use */
    unsigned size, count;
} tseed_tally_t;

/* The page of a tile. */
static inline tseed_page_t tseed_page_of(const tseed_tile_t *tile)
{
    return (tseed_page_t){tile->z, tile->x / TSEED_PAGE_SIDE, tile->y / TSEED_PAGE_SIDE};
}

/* Whether the thread that fills the tally is to take a break. */
static inline int tseed_tally_is_full(const tseed_tally_t *tally)
{
    return tally->count >= TSEED_TALLY_MOST;
}

/* Adds an effect to the effect of a page. */
void tseed_tally_add(tseed_tally_t *tally, const tseed_page_t *page, const tseed_effect_t *effect);

/* The lines, one after the other, in no order: *cursor is 0 at first. NULL behind the last. */
const tseed_line_t *tseed_tally_next(const tseed_tally_t *tally, unsigned *cursor);

/* Empties it and, unless it is small, gives its memory back. */
void tseed_tally_clear(tseed_tally_t *tally);

#endif
