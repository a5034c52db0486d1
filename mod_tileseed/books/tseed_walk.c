/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A walk goes through the directories of one tile set in a thread of its own. The thread hands over
 * the pages that it finds in portions. It sleeps until all pages of a portion have been counted. */
#include "books/tseed_walk.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "store/tseed_store.h"

#define RETRY (60 * APR_USEC_PER_SEC)

/* One walk. Its thread owns it until the thread posts the letter, and again after the main thread
 * has posted the semaphore. malloc'd. */
typedef struct {
    tseed_letter_t letter;
    tseed_run_t *run;
    tseed_tally_t tally; /* the portion */
    int has_more;        /* the thread waits for `go_on`; else the thread has come to its end, */
    apr_status_t rv;     /* with this status */
    tseed_mailbox_t *mailbox;
    sem_t go_on;
    /* owned by the main thread */
    int is_lost;     /* a page could not be counted: the walk goes to its end, and has failed */
    int is_back;     /* the letter has come, */
    unsigned cursor; /* and that much of the tally was counted */
} walker_t;

struct tseed_walk_t {
    const tseed_context_t *context;
    tseed_cache_t *cache;
    tseed_background_t *background;
    tseed_count_t *count;
    walker_t *walker;             /* NULL: no walk is under way */
    tseed_book_tileset_t *wanted; /* NULL: no known tile set is to be walked */
    unsigned cursor;              /* number of a tile set */
    apr_time_t after;             /* monotonic: tile sets whose walk has failed wait until then */
    tseed_client_t client;
};

/* ---- the thread ---- */

/* Hands a portion over and sleeps until it has been counted. */
static void hand_over(walker_t *walker)
{
    walker->has_more = 1;
    tseed_mailbox_put(walker->mailbox, &walker->letter);
    while (sem_wait(&walker->go_on) != 0) {
        /* a signal */
    }
}

static void found(void *data, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    walker_t *walker = data;
    tseed_page_t page = tseed_page_of(tile);

    tseed_tally_add(&walker->tally, &page, effect);
    if (tseed_tally_is_full(&walker->tally)) {
        hand_over(walker);
    }
}

static apr_status_t go_through(walker_t *walker, apr_pool_t *pool)
{
    const tseed_run_t *run = walker->run;
    const tseed_subset_t *subset = run->tileset.subset;
    const tseed_visitor_t visitor = {found, walker, NULL, NULL};
    tseed_store_t *store;
    apr_status_t rv = tseed_store_open(&store, &run->tileset, TSEED_STORE_IDS - 1, pool);

    if (rv == APR_SUCCESS) {
        rv = tseed_store_walk(store, subset->zoom_first, subset->zoom_last, &visitor, NULL);
    }
    return rv;
}

static void *walk_thread(void *data)
{
    walker_t *walker = data;
    apr_pool_t *pool = tseed_memory_pool();

    walker->rv = go_through(walker, pool);
    walker->has_more = 0;
    apr_pool_destroy(pool);
    tseed_mailbox_put(walker->mailbox, &walker->letter); /* the main thread owns it from now on */
    return NULL;
}

/* ---- begin and end ---- */

static void letter_take(void *module, void *about)
{
    walker_t *walker = about;

    (void)module;
    walker->is_back = 1;
    walker->cursor = 0;
}

static void walk_begin(tseed_walk_t *walk, tseed_run_t *run)
{
    walker_t *walker = tseed_memory_get(sizeof(*walker));

    if (!run->booked->record.complete) {
        tseed_count_shared(walk->count, run->booked, NULL, NULL);
    }
    walker->mailbox = walk->context->mailbox;
    walker->letter = (tseed_letter_t){.take = letter_take, .module = walk, .about = walker};
    walker->run = run;
    walker->is_lost = 0;
    run->is_walked = 1;
    sem_init(&walker->go_on, 0, 0);
    walk->walker = walker;
    walk->cache->status.walked = run->booked->record.id;
    walk->cache->status.walked_level = run->tileset.subset->zoom_first;
    if (tseed_thread_begin(walk_thread, walker) != APR_SUCCESS) { /* as if it had failed at once */
        walker->rv = APR_ENOMEM;
        tseed_mailbox_put(walker->mailbox, &walker->letter);
    }
}

/* Notes and logs that the tile set is known now, or that it can't be read. */
static void settle(tseed_walk_t *walk, tseed_book_tileset_t *booked, apr_status_t rv)
{
    if (rv == APR_SUCCESS && !booked->record.complete) {
        tseed_book_complete(walk->cache->book, booked);
        tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
                  "TS0074: the cache of %s is known now: %" APR_INT64_T_FMT
                  " tiles, %" APR_INT64_T_FMT " bytes",
                  booked->record.key, booked->record.paged.names,
                  booked->record.paged.allocated + booked->record.shared.allocated);
    } else if (rv != APR_SUCCESS) {
        tseed_log(TSEED_LOG_ERROR, rv,
                  "TS0031: the cache of %s below %s can't be read; it is tried again in a minute",
                  booked->record.key, booked->record.root);
    }
    booked->unread = rv != APR_SUCCESS;
    if (rv == APR_SUCCESS && walk->wanted == booked) {
        walk->wanted = NULL;
    }
}

static void walk_end(tseed_walk_t *walk)
{
    walker_t *walker = walk->walker;

    walker->rv = walker->is_lost && walker->rv == APR_SUCCESS ? EIO : walker->rv;
    settle(walk, walker->run->booked, walker->rv);
    walk->cache->status.walked = 0;
    if (walker->rv != APR_SUCCESS) {
        walk->after = tseed_clock_monotonic() + RETRY;
    }
    tseed_tally_clear(&walker->tally);
    free(walker->tally.lines);
    walker->run->is_walked = 0;
    sem_destroy(&walker->go_on);
    free(walker);
    walk->walker = NULL;
}

/* ---- what is next ---- */

/* The next page of the portion that is not in the book; 0: there is none. */
static int next_found(tseed_walk_t *walk, tseed_page_t *page)
{
    walker_t *walker = walk->walker;
    const tseed_line_t *line;
    tseed_book_page_t known;

    while ((line = tseed_tally_next(&walker->tally, &walker->cursor)) != NULL) {
        walk->cache->status.walked_level = line->page.z;
        if (!tseed_book_page(&known, walk->cache->book, walker->run->booked, &line->page)) {
            *page = line->page;
            return 1;
        }
    }
    return 0;
}

static int must_wait(const tseed_walk_t *walk, const tseed_book_tileset_t *booked)
{
    return (booked->unread && tseed_clock_monotonic() < walk->after) ||
           !tseed_count_may_retry(booked);
}

/* Tile sets that are not known yet, in turn: those that can't be read keep no other waiting. */
static tseed_book_tileset_t *next_unknown(tseed_walk_t *walk)
{
    tseed_book_tileset_t *booked;

    if (tseed_book_incomplete(walk->cache->book) == 0) {
        return NULL;
    }
    do {
        booked = tseed_book_next_incomplete(walk->cache->book, &walk->cursor);
        walk->cursor = booked ? walk->cursor + 1 : 0;
    } while (booked && must_wait(walk, booked));
    return booked;
}

static void walk_next(tseed_walk_t *walk)
{
    tseed_book_tileset_t *booked;
    tseed_run_t *run;

    if (walk->walker) {
        return;
    }
    booked = next_unknown(walk);
    if (!booked && walk->wanted && !must_wait(walk, walk->wanted)) {
        booked = walk->wanted;
    }
    run = booked ? tseed_background_of(walk->background, booked) : NULL;
    if (run) {
        walk_begin(walk, run);
    }
}

/* Has the next page counted; else lets the thread go on, or ends the walk. A walk whose pages can't
 * be counted makes room for those of other tile sets. */
static void walk_on(tseed_walk_t *walk)
{
    walker_t *walker = walk->walker;
    tseed_page_t page;

    walker->is_lost = walker->is_lost || !tseed_count_may_retry(walker->run->booked);
    if (!walker->is_lost && next_found(walk, &page)) {
        tseed_count_page(walk->count, walker->run->booked, &page);
    } else if (walker->has_more) {
        tseed_tally_clear(&walker->tally);
        walker->is_back = 0;
        sem_post(&walker->go_on);
    } else {
        walk_end(walk);
    }
}

/* ---- the module ---- */

static void feed(void *module)
{
    tseed_walk_t *walk = module;

    if (walk->walker && walk->walker->is_back && tseed_count_may_begin(walk->count)) {
        walk_on(walk);
    }
    if (!walk->cache->is_loading) {
        walk_next(walk);
    }
}

tseed_walk_t *tseed_walk_create(const tseed_context_t *context, tseed_cache_t *cache,
                                tseed_background_t *background, tseed_count_t *count)
{
    tseed_walk_t *walk = apr_pcalloc(context->pool, sizeof(*walk));

    walk->context = context;
    walk->cache = cache;
    walk->background = background;
    walk->count = count;
    walk->client = (tseed_client_t){.module = walk, .feed = feed};
    return walk;
}

tseed_client_t *tseed_walk_client(tseed_walk_t *walk)
{
    return &walk->client;
}

void tseed_walk_want(tseed_walk_t *walk, tseed_book_tileset_t *booked)
{
    walk->wanted = booked;
}

int tseed_walk_is_wanted(const tseed_walk_t *walk)
{
    return walk->wanted != NULL;
}
