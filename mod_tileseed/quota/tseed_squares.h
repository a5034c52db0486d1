/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The squares: what each aligned square of pages holds, so that the sum of any number of pages is
 * found without looking at each of them. Private to the quota room.
 *
 * A level of a tile set is a tree. Its leaves are the level's pages in the page table. A node is
 * the smallest aligned square that holds two pages or more, and has two to four children:
 *
 *          node 8 x 8            x, y    its first page
 *          ┌────┴─────┐          side    it is 2^side pages wide and high
 *      node 2 x 2    page        sum     what its pages hold
 *       ┌──┼──┐
 *      page page page
 *
 * So a lone page takes no node, n pages take at most n - 1 nodes (a full level: a third of n), of
 * 64 bytes each, and a change of a page goes through at most as many nodes as a coordinate has
 * bits.
 *
 * The seeder's main thread.
 */
#ifndef TSEED_SQUARES_H
#define TSEED_SQUARES_H

#include "protocol/tseed_coverage.h"
#include "quota/tseed_page_table.h"

/* A reference: 0: nothing; TSEED_SQUARE_PAGE and the number of a page; else a node's number + 1. */
#define TSEED_SQUARE_PAGE (UINT32_C(1) << 31)

typedef struct {
    int64_t x, y; /* x of a free node: the number of the next free node */
    tseed_cell_t sum;
    uint32_t child[4]; /* references: left below, right below, left above, right above */
    uint8_t side;
} tseed_square_t;

typedef struct {
    const tseed_page_table_t *pages;
    tseed_square_t **slabs;
    uint32_t slab_count;
    uint32_t end;   /* nodes from here on were never used */
    uint32_t free;  /* the first free node of their list + 1; 0: none */
    uint32_t count; /* used nodes */
} tseed_squares_t;

/* No trees, over the pages of a table; slabs are malloc'd until destroy. */
void tseed_squares_init(tseed_squares_t *squares, const tseed_page_table_t *pages);
void tseed_squares_destroy(tseed_squares_t *squares);

/* What a page holds by its entry. No tiles: it is in no tree. */
tseed_cell_t tseed_squares_cell(const tseed_page_entry_t *page);

/* Notes that a page, which held `before`, now holds what its entry says. *root: reference of the
 * level's tree, 0 at first. */
void tseed_squares_change(tseed_squares_t *squares, uint32_t *root, uint32_t page,
                          const tseed_cell_t *before);

/* Adds what the tree holds in the rows row..row+rows-1 of the window to `cells`, row by row; the
 * caller has zeroed them. The time is as the number of these cells, whatever the tree holds. */
void tseed_squares_look(tseed_cell_t *cells, const tseed_squares_t *squares, uint32_t root,
                        const tseed_window_t *window, int row, int rows);

/* Adds the tree up anew from its pages: *pages of them, of *tiles. Returns 0 if a node is not as it
 * must be. */
int tseed_squares_validate(int64_t *pages, int64_t *tiles, const tseed_squares_t *squares,
                           uint32_t root);

#endif
