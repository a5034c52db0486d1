/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pages: blocks of 32 x 32 tiles of one level of a tile set, whatever the layout. The book has the
 * usage of each page, the board counts the hits of each page, and the database keeps both.
 *
 * Pure functions; a pool holds what they need while they run.
 */
#ifndef TSEED_PAGE_H
#define TSEED_PAGE_H

#include "layer/tseed_effect.h"
#include "layer/tseed_tileset.h"

/* Tiles on a side. Page (0, 0) begins with tile (0, 0), rows from the bottom. */
#define TSEED_PAGE_SIDE  32
#define TSEED_PAGE_TILES (TSEED_PAGE_SIDE * TSEED_PAGE_SIDE)

/* Which page: its level, and the column and row of its first tile divided by TSEED_PAGE_SIDE. */
typedef struct {
    int z;
    int64_t x, y;
} tseed_page_t;

/* A page as the database keeps it: a row of the table `page`. */
typedef struct {
    int64_t tileset; /* number of its tile set */
    tseed_page_t page;
    tseed_effect_t usage; /* what is there */
    int64_t accessed;     /* last read or written, seconds since 1970; 0: never */
    int64_t heat;         /* quota/tseed_heat.h */
    int64_t written;      /* no tile of it is older, seconds since 1970; 0: unknown */
    int dirty;            /* the usage may be wrong: count again before use */
} tseed_page_record_t;

/* A tile set as the database keeps it: a row of the table `tileset`. Its names are enough to find
 * the tile set again in a configuration. When it is configured no more, the names still say what it
 * was. */
typedef struct {
    int64_t id;                           /* at least 1; may come again when its row is gone */
    uint64_t print;                       /* tseed_tileset_print */
    const char *key;                      /* tseed_tileset_t.key */
    const char *layer, *gridset, *format; /* format: its MIME type */
    const char *parameters;               /* tseed_parameters_save */
    const char *root;                     /* of its store */
    const char *place; /* tseed_place_text; "": an earlier version made the row */
    int64_t pages;
    tseed_effect_t paged;    /* the sum of its pages */
    tseed_effect_t shared;   /* the files of uniform tiles; no names */
    tseed_effect_t detached; /* renamed away, not yet removed */
    int complete;            /* all that is there is booked: no walk is needed */
    uint64_t doubtful;       /* bit z: the pages of that level count as dirty */
    int by_reading;          /* requests for tiles have made it, and no seed request */
    uint64_t recipe;         /* what answers were made into tiles by; 0: nothing is known of them */
} tseed_tileset_record_t;

/* 64 bits of SHA-1 that name a tile set in its store: another root, layout or template is another
 * print. */
uint64_t tseed_tileset_print(const tseed_tileset_t *tileset, apr_pool_t *scratch);

/* Names a page of a tile set among all pages; well mixed in all its bits, never 0. No I/O, no
 * allocation, any thread. */
uint64_t tseed_page_print(uint64_t tileset_print, int z, int64_t page_x, int64_t page_y);

#endif
