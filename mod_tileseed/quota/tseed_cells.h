/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Cells: the book's pages in memory. Private to the quota room.
 *
 *      table   open addressing by tseed_page_print, linear probing: number of a cell + 1, 0: free
 *      slabs   1,024 cells each; a cell keeps its number until it is removed
 *
 * 56 bytes a page, and 5 to 11 of the table.
 *
 * The seeder's main thread.
 */
#ifndef TSEED_CELLS_H
#define TSEED_CELLS_H

#include <stdint.h>

#include "layer/tseed_page.h"

#define TSEED_NO_CELL UINT32_MAX

enum {
    TSEED_CELL_USED = 1,
    TSEED_CELL_CHANGED = 2,  /* in the book's list of changes */
    TSEED_CELL_WANTED = 4,   /* somebody waits for its mark */
    TSEED_CELL_MARKED = 8,   /* its row says dirty */
    TSEED_CELL_LINGERS = 16, /* its mark stays although nobody holds it */
    TSEED_CELL_RECENT = 32,  /* it was dropped since the last sweep */
    TSEED_CELL_IN_DOUBT = 64
};

typedef struct {
    int64_t x, y; /* x: the next free cell, if this one is */
    int64_t bytes, allocated;
    uint32_t tileset;
    uint32_t accessed; /* seconds since 1970, until 2106 */
    uint32_t heat;
    uint16_t names, files; /* at most TSEED_PAGE_TILES */
    uint16_t holds;
    uint16_t writer; /* the task that was the last to write; 0: none */
    uint8_t z, flags;
    uint16_t pins;
} tseed_cell_t;

/* What identifies a page in the book; `print` is tseed_page_print of the rest. */
typedef struct {
    uint64_t print;
    uint32_t tileset;
    tseed_page_t page;
} tseed_cell_key_t;

typedef struct {
    tseed_cell_t **slabs;
    uint32_t slab_count;
    uint32_t end;   /* cells from here on were never used */
    uint32_t free;  /* first of the list of free ones, or TSEED_NO_CELL */
    uint32_t count; /* used ones */
    uint32_t *table;
    uint32_t mask; /* places of the table - 1 */
    uint64_t (*print_of)(const void *baton, const tseed_cell_t *cell);
    const void *baton;
} tseed_cells_t;

/* No cells, in the caller's memory; `print_of` is asked for the print of each when the table grows.
 * The slabs are malloc'd, until destroy. */
void tseed_cells_init(tseed_cells_t *cells,
                      uint64_t (*print_of)(const void *baton, const tseed_cell_t *cell),
                      const void *baton);
void tseed_cells_destroy(tseed_cells_t *cells);

/* Makes the table fit for so many more pages at once, which else grows, and pauses, now and then.
 * What is more than a book can be expected to have is not believed. */
void tseed_cells_reserve(tseed_cells_t *cells, int64_t pages);

/* number < cells->end; it may be a free one. Valid until the book goes. */
tseed_cell_t *tseed_cells_get(const tseed_cells_t *cells, uint32_t number);

/* Numbers, or TSEED_NO_CELL. */
uint32_t tseed_cells_find(const tseed_cells_t *cells, const tseed_cell_key_t *key);
uint32_t tseed_cells_find_print(const tseed_cells_t *cells, uint64_t print);

/* A zeroed one for a page that is not there. */
uint32_t tseed_cells_add(tseed_cells_t *cells, const tseed_cell_key_t *key);
void tseed_cells_remove(tseed_cells_t *cells, uint32_t number);

#endif
