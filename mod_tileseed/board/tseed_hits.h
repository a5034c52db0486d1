/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Hits: how often the tiles of a page were read, counted by children without a lock and taken by
 * the seeder.
 *
 * A table of fixed size on the board; it outlives seeders and generations of children. Eight
 * counters of the table are open to a page. When all eight belong to other pages, the page takes
 * over the counter with the fewest hits, and its hits. So a page may get hits of others, but a page
 * that is read more often than its neighbours stays ahead of them, and the sum is always right.
 */
#ifndef TSEED_HITS_H
#define TSEED_HITS_H

#include "board/tseed_board.h"

/* Counts one hit. `page` is a tseed_page_print. Any process and thread. */
void tseed_hits_count(tseed_board_t *board, uint64_t page);

/* Takes `count` hits of a page; it may come several times in one drain. */
typedef void tseed_hits_take_t(void *baton, uint64_t page, uint64_t count);

/* Hands out what was counted since the last time and forgets it. Seeder, main thread. */
void tseed_hits_drain(tseed_board_t *board, tseed_hits_take_t *take, void *baton);

#endif
