/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The coverage of a level: how much of it a tile set has, cell by cell.
 *
 *      cell     a square of 2^shift x 2^shift pages, aligned to its own size
 *      window   the cells that a client wants to see: rows from the bottom
 *
 * A cell is as small as the window allows, and never smaller than a page. So a window has a bounded
 * number of cells whatever the level is like, and neighbouring windows show the same cells.
 *
 * Any thread; documents and sentences live in the pool that a call takes.
 */
#ifndef TSEED_COVERAGE_H
#define TSEED_COVERAGE_H

#include <apr_pools.h>
#include <apr_time.h>
#include <stddef.h>

#include "tiling/tseed_range.h"

/* Most columns, and most rows, of a window. */
#define TSEED_COVERAGE_MOST 256

/* What a square of pages holds. Zeroed: it has no tiles. */
typedef struct {
    int64_t tiles, bytes; /* bytes: as allocated, of the files that belong to one tile */
    uint32_t heat;        /* of the hottest page */
    uint32_t oldest;      /* no tile is older: seconds since 1970; 0: unknown */
} tseed_cell_t;

/* Adds what another square holds. */
static inline void tseed_cell_add(tseed_cell_t *sum, const tseed_cell_t *cell)
{
    if (cell->tiles > 0) {
        sum->oldest = sum->tiles == 0 || cell->oldest < sum->oldest ? cell->oldest : sum->oldest;
        sum->heat = cell->heat > sum->heat ? cell->heat : sum->heat;
        sum->tiles += cell->tiles;
        sum->bytes += cell->bytes;
    }
}

typedef struct {
    int shift;           /* a cell has 2^shift pages on a side */
    int columns, rows;   /* 0: the window has no cells */
    int64_t x, y;        /* the first cell, counted in cells */
    tseed_range_t level; /* the tiles that the layer can have at that level */
} tseed_window_t;

/* The cells that touch the `wanted` tiles of a level (which are among its tiles): at most `most`
 * columns and rows, and as small as that allows. */
tseed_window_t tseed_window_of(const tseed_range_t *level, const tseed_range_t *wanted, int most);

/* ?bbox=minx,miny,maxx,maxy&cells=N */
typedef struct {
    int has_box;
    tseed_bounds_t box; /* in the units of the grid set */
    int cells;          /* most columns and rows: 64 unless told */
} tseed_coverage_query_t;

/* Reads what follows the question mark (NULL: nothing). NULL or a sentence (always 400). */
const char *tseed_coverage_query_read(tseed_coverage_query_t *query, const char *text,
                                      apr_pool_t *pool);

typedef struct {
    int64_t tileset; /* its number */
    const char *layer, *gridset, *format;
    int counted;     /* the books have all that is on the disk */
    apr_time_t time; /* to which ages count */
    tseed_window_t window;
    const tseed_cell_t *cells; /* row by row from the bottom */
} tseed_coverage_t;

/* How many uses a heat is worth at that time, seconds since 1970. */
typedef double tseed_uses_of_t(uint32_t heat, int64_t now);

/* The share of the tiles of a cell that are there, in thousandths: 0 and 1000 mean none and all. */
int tseed_coverage_share(const tseed_window_t *window, int column, int row, int64_t tiles);

/* The document. Pure ASCII. */
const char *tseed_coverage_document(const tseed_coverage_t *coverage, tseed_uses_of_t *uses_of,
                                    apr_pool_t *pool);

/* A weak entity tag, with its quotes, that changes with everything in the document but the time. */
const char *tseed_coverage_tag(const tseed_coverage_t *coverage, apr_pool_t *pool);

#endif
