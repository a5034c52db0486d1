/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Walks: pages that the disk has and the book has not.
 *
 * A walk goes through the directories of one tile set in a thread of its own. What it finds comes
 * in portions; it sleeps until all pages of a portion have been counted.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "store/tseed_store.h"

#define RETRY (60 * APR_USEC_PER_SEC)

/* One at a time. Its thread owns the walk until it posts the letter, and again after the semaphore
 * was posted. malloc'd. */
struct tseed_walk_t {
    tseed_letter_t letter;
    tseed_run_t *run;
    tseed_tally_t tally; /* the portion */
    int has_more;        /* the thread waits for `go_on`; else it has come to its end, */
    apr_status_t rv;     /* like this */
    tseed_mailbox_t *mailbox;
    sem_t go_on;
    /* owned by the main thread */
    int is_back;     /* the letter has come, */
    unsigned cursor; /* and that much of the tally was counted */
};

/* Hands a portion over and sleeps until it has been counted. */
static void hand_over(tseed_walk_t *walk)
{
    walk->has_more = 1;
    tseed_mailbox_put(walk->mailbox, &walk->letter);
    while (sem_wait(&walk->go_on) != 0) {
        /* a signal */
    }
}

static void found(void *data, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    tseed_walk_t *walk = data;
    tseed_page_t page = tseed_page_of(tile);

    tseed_tally_add(&walk->tally, &page, effect);
    if (tseed_tally_is_full(&walk->tally)) {
        hand_over(walk);
    }
}

static apr_status_t go_through(tseed_walk_t *walk, apr_pool_t *pool)
{
    const tseed_run_t *run = walk->run;
    const tseed_subset_t *subset = run->tileset.subset;
    const tseed_witness_t witness = {found, walk, NULL};
    tseed_store_t *store;
    apr_status_t rv = tseed_store_open(&store, &run->tileset, TSEED_STORE_IDS - 1, pool);

    if (rv == APR_SUCCESS) {
        rv = tseed_store_walk(store, subset->zoom_first, subset->zoom_last, &witness, NULL);
    }
    return rv;
}

static void *walk_thread(void *data)
{
    tseed_walk_t *walk = data;
    apr_pool_t *pool = tseed_memory_pool();

    walk->rv = go_through(walk, pool);
    walk->has_more = 0;
    apr_pool_destroy(pool);
    tseed_mailbox_put(walk->mailbox, &walk->letter); /* from now on it is the main thread's */
    return NULL;
}

static void walk_take(void *module, void *about)
{
    tseed_walk_t *walk = about;

    (void)module;
    walk->is_back = 1;
    walk->cursor = 0;
}

static void walk_begin(tseed_seeder_t *seeder, tseed_run_t *run)
{
    tseed_walk_t *walk = tseed_memory_get(sizeof(*walk));
    pthread_t thread;

    if (!run->booked->record.complete) {
        tseed_count_shared(seeder->count, run->booked, NULL, NULL);
    }
    walk->mailbox = seeder->context->mailbox;
    walk->letter = (tseed_letter_t){.take = walk_take, .module = seeder, .about = walk};
    walk->run = run;
    run->is_walked = 1;
    sem_init(&walk->go_on, 0, 0);
    seeder->walk = walk;
    seeder->cache->status.walked = run->booked->record.id;
    seeder->cache->status.walked_level = run->tileset.subset->zoom_first;
    if (pthread_create(&thread, NULL, walk_thread, walk) == 0) {
        pthread_detach(thread);
    } else { /* as if it had failed at once */
        walk->rv = APR_ENOMEM;
        tseed_mailbox_put(seeder->context->mailbox, &walk->letter);
    }
}

static void walk_end(tseed_seeder_t *seeder)
{
    tseed_walk_t *walk = seeder->walk;
    tseed_book_tileset_t *booked = walk->run->booked;

    if (walk->rv == APR_SUCCESS && !booked->record.complete) {
        tseed_book_complete(seeder->cache->book, booked);
        tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
                  "the cache of %s is known now: %" APR_INT64_T_FMT " tiles, %" APR_INT64_T_FMT
                  " bytes",
                  booked->record.key, booked->record.paged.names,
                  booked->record.paged.allocated + booked->record.shared.allocated);
    } else if (walk->rv != APR_SUCCESS) {
        booked->unread = 1;
        tseed_log(TSEED_LOG_ERROR, walk->rv,
                  "the cache of %s below %s can't be read; it is tried again in a minute",
                  booked->record.key, booked->record.root);
    }
    if (walk->rv == APR_SUCCESS && seeder->to_walk == booked) {
        seeder->to_walk = NULL;
    }
    seeder->cache->status.walked = 0;
    seeder->walk_after = walk->rv == APR_SUCCESS ? 0 : tseed_clock_monotonic() + RETRY;
    tseed_tally_clear(&walk->tally);
    free(walk->tally.lines);
    walk->run->is_walked = 0;
    sem_destroy(&walk->go_on);
    free(walk);
    seeder->walk = NULL;
}

/* The next page of the portion that is not in the book; 0: there is none. */
static int next_found(tseed_seeder_t *seeder, tseed_page_t *page)
{
    tseed_walk_t *walk = seeder->walk;
    const tseed_line_t *line;
    tseed_book_page_t known;

    while ((line = tseed_tally_next(&walk->tally, &walk->cursor)) != NULL) {
        seeder->cache->status.walked_level = line->page.z;
        if (!tseed_book_page(&known, seeder->cache->book, walk->run->booked, &line->page)) {
            *page = line->page;
            return 1;
        }
    }
    return 0;
}

/* Tile sets that are not known yet, in turn: one that can't be read keeps no other waiting. */
static tseed_book_tileset_t *next_unknown(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked;

    if (tseed_book_incomplete(seeder->cache->book) == 0) {
        return NULL;
    }
    while ((booked = tseed_book_tileset(seeder->cache->book, seeder->walk_cursor)) != NULL &&
           booked->record.complete) {
        seeder->walk_cursor++;
    }
    seeder->walk_cursor = booked ? seeder->walk_cursor + 1 : 0;
    return booked;
}

/* A tile set that is not known yet, or is compared with the disk. */
static tseed_book_tileset_t *next_to_walk(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked = next_unknown(seeder);

    return booked ? booked : seeder->to_walk;
}

static void walk_next(tseed_seeder_t *seeder)
{
    const int may_begin = !seeder->walk && tseed_clock_monotonic() >= seeder->walk_after;
    tseed_book_tileset_t *booked = may_begin ? next_to_walk(seeder) : NULL;
    tseed_run_t *run = booked ? tseed_background_of(seeder->background, booked) : NULL;

    if (run) {
        walk_begin(seeder, run);
    }
}

/* Goes on with the walk. */
static void walk_on(tseed_seeder_t *seeder)
{
    tseed_walk_t *walk = seeder->walk;
    tseed_page_t page;

    if (next_found(seeder, &page)) {
        tseed_count_page(seeder->count, walk->run->booked, &page);
    } else if (walk->has_more) {
        tseed_tally_clear(&walk->tally);
        walk->is_back = 0;
        sem_post(&walk->go_on);
    } else {
        walk_end(seeder);
    }
}

static void feed(void *module)
{
    tseed_seeder_t *seeder = module;
    if (seeder->walk && seeder->walk->is_back && tseed_count_may_begin(seeder->count)) {
        walk_on(seeder);
    }
    if (!seeder->cache->is_loading) {
        walk_next(seeder);
    }
}

tseed_client_t tseed_walk_client = {.feed = feed};
