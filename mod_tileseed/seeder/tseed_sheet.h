/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A sheet: which answers the metatiles of one page came from, a line for each that is known.
 *
 *      33 9f86d081884c7d65
 *      36 60303ae22b998861 4c7d65159f86d081 If-None-Match: "5f3-1a2b"
 *
 * The place of the metatile in its page, the digest of its answer and, if the upstream offered
 * something to ask by, a print of what was asked and the header to ask by. Plain data on the heap,
 * for one thread at a time. Zeroed is empty.
 */
#ifndef TSEED_SHEET_H
#define TSEED_SHEET_H

#include <apr_pools.h>
#include <stdint.h>

/* What is known of a metatile. */
typedef struct {
    int at;                /* of its first tile: row times TSEED_PAGE_SIDE plus column */
    uint64_t digest;       /* never 0 */
    uint64_t asked;        /* print of the request */
    const char *condition; /* "": none */
} tseed_known_t;

typedef struct {
    tseed_known_t *known; /* in no order */
    int count, room;
} tseed_sheet_t;

/* NULL: nothing is known. Valid until the next change. */
const tseed_known_t *tseed_sheet_find(const tseed_sheet_t *sheet, int at);

/* Puts it in, in the place of what was known of the same metatile; copies the text. */
void tseed_sheet_put(tseed_sheet_t *sheet, const tseed_known_t *known);

/* Forgets a metatile. Returns whether there was something to forget. */
int tseed_sheet_forget(tseed_sheet_t *sheet, int at);

/* Forgets everything and gives the memory back. */
void tseed_sheet_clear(tseed_sheet_t *sheet);

/* The lines, in `pool`; and what can be read of such a text, put into an empty sheet. */
const char *tseed_sheet_save(const tseed_sheet_t *sheet, apr_pool_t *pool);
void tseed_sheet_load(tseed_sheet_t *sheet, const char *text);

#endif
