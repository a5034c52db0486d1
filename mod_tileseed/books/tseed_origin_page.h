/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* An origin page: which answers the metatiles of one page came from. In the text, each metatile
 * with a known origin has a line:
 *
 *      33 9f86d081884c7d65
 *      36 60303ae22b998861 4c7d65159f86d081 If-None-Match: "5f3-1a2b"
 *      40/4x2 2fe1b5c0d3a49786
 *
 * The line has the place of the metatile in the page, and the digest of its answer. If the answer
 * was for several metatiles, the shape of their cell stands behind the place. If the upstream
 * offered a condition, the digest of the request and the header with the condition follow.
 *
 * Plain data on the heap, for one thread at a time. Zeroed is empty.
 */
#ifndef TSEED_ORIGIN_PAGE_H
#define TSEED_ORIGIN_PAGE_H

#include <apr_pools.h>
#include <stdint.h>

/* Where a metatile came from. */
typedef struct {
    int at;                /* of its first tile: row times TSEED_PAGE_SIDE plus column */
    uint64_t digest;       /* of the answer; never 0 */
    uint64_t request;      /* digest of the request */
    const char *condition; /* "": none */
    int columns, rows;     /* metatiles of the cell that was asked for; 0: this one alone */
} tseed_origin_t;

typedef struct {
    tseed_origin_t *origins; /* in no order */
    int count, room;
} tseed_origin_page_t;

/* Finds the origin of a metatile, valid until the next change. NULL: the origin is not known. */
const tseed_origin_t *tseed_origin_page_find(const tseed_origin_page_t *page, int at);

/* Puts an origin in, in the place of the same metatile's; copies the text. */
void tseed_origin_page_put(tseed_origin_page_t *page, const tseed_origin_t *origin);

/* Forgets a metatile. Returns whether there was something to forget. */
int tseed_origin_page_forget(tseed_origin_page_t *page, int at);

/* Forgets everything and gives the memory back. */
void tseed_origin_page_clear(tseed_origin_page_t *page);

/* Save returns the lines, in `pool`. Load puts into an empty page what can be read of such a text.
 */
const char *tseed_origin_page_save(const tseed_origin_page_t *page, apr_pool_t *pool);
void tseed_origin_page_load(tseed_origin_page_t *page, const char *text);

#endif
