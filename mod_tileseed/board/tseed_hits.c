/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Hits: open addressing without a lock, and takeovers as in Space-Saving (Metwally, Agrawal, El
 * Abbadi 2005).
 *
 * A counter may change its page after a child has found it and before the child counts. Then the
 * hit goes to the other page. That misplaces a hit now and then; a lock would slow every request.
 */
#include "board/tseed_hits.h"

#include "board/tseed_board_layout.h"

/* Two cache lines of counters. */
#define PROBES 8

static tseed_board_hit_t *probe(tseed_board_t *board, uint64_t page, unsigned i)
{
    return &board->segment->hits[(page + i) % TSEED_BOARD_HITS];
}

/* Whether the counter is this page's, or has just become so. */
static int is_of(tseed_board_hit_t *hit, uint64_t page)
{
    uint64_t found = atomic_load_explicit(&hit->page, memory_order_relaxed);

    return found == page ||
           (found == 0 &&
            (atomic_compare_exchange_strong(&hit->page, &found, page) || found == page));
}

static tseed_board_hit_t *take_over(tseed_board_t *board, uint64_t page)
{
    tseed_board_hit_t *coldest = probe(board, page, 0);
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < PROBES; i++) {
        tseed_board_hit_t *hit = probe(board, page, i);
        uint64_t count = atomic_load_explicit(&hit->count, memory_order_relaxed);

        if (count < least) {
            least = count;
            coldest = hit;
        }
    }
    atomic_store_explicit(&coldest->page, page, memory_order_relaxed);
    return coldest;
}

void tseed_hits_count(tseed_board_t *board, uint64_t page)
{
    tseed_board_hit_t *hit = NULL;

    for (unsigned i = 0; !hit && i < PROBES; i++) {
        hit = is_of(probe(board, page, i), page) ? probe(board, page, i) : NULL;
    }
    if (!hit) {
        hit = take_over(board, page);
    }
    atomic_fetch_add_explicit(&hit->count, 1, memory_order_relaxed);
}

/* A counter that nobody has used since the last drain becomes free. If a hit comes meanwhile, it
 * stays in the counter, and the page that claims the counter next gets it. */
void tseed_hits_drain(tseed_board_t *board, tseed_hits_take_t *take, void *baton)
{
    for (unsigned i = 0; i < TSEED_BOARD_HITS; i++) {
        tseed_board_hit_t *hit = &board->segment->hits[i];
        uint64_t page = atomic_load_explicit(&hit->page, memory_order_relaxed);

        if (page == 0) {
            continue;
        }
        if (atomic_load_explicit(&hit->count, memory_order_relaxed) == 0) {
            atomic_store_explicit(&hit->page, 0, memory_order_relaxed);
        } else {
            take(baton, page, atomic_exchange_explicit(&hit->count, 0, memory_order_relaxed));
        }
    }
}
