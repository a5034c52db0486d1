/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cache as the seeder knows it: the book of its pages, the quota in effect, and the status that
 * clients see. Loads the book from the database and saves it there. Main thread only. */
#ifndef TSEED_CACHE_H
#define TSEED_CACHE_H

#include <apr_tables.h>

#include "protocol/tseed_quota_config.h"
#include "protocol/tseed_usage.h"
#include "quota/tseed_book.h"
#include "quota/tseed_cleaner.h"
#include "work/tseed_context.h"
#include "work/tseed_session.h"

/* Stored instead of the block size while a recount is under way and sizes of two block sizes are
 * mixed. */
#define TSEED_BLOCK_MIXED (-1)

typedef struct tseed_cache_t {
    tseed_book_t *book; /* NULL: the database has not been read */
    tseed_cleaner_t *cleaner;
    apr_pool_t *pool;            /* where the book lives */
    int64_t expected;            /* pages of the book, by the rows of the tile sets */
    int is_loading;              /* pages of the book are still to be read from the database */
    tseed_quota_config_t quota;  /* in effect */
    int64_t block;               /* bytes: what sizes in the book are rounded up to */
    int64_t block_saved;         /* the database's word for it; 0: nothing yet */
    int is_reconciling;          /* the book is being compared with the disk */
    tseed_usage_status_t status; /* what is saved has more beside it */

    /* private to tseed_cache.c */
    const tseed_context_t *context;
    const tseed_session_t *session;
    char cleaner_saved[100]; /* what the database has of the cleaner, */
    char status_saved[1024]; /* and of the status */
} tseed_cache_t;

/* Makes the cache without a book, in the context's pool. */
tseed_cache_t *tseed_cache_create(const tseed_context_t *context, const tseed_session_t *session);

/* Makes the book: loads the tile sets, and enters the configured ones. The page loader loads their
 * pages later. Fails when the database does: then the caller undoes the load to try again. */
apr_status_t tseed_cache_load(tseed_cache_t *cache);

/* Loads everything else that the database keeps of the cache. Called when all tile sets are in the
 * book. Fails when the database does: then the caller undoes the load as well. */
apr_status_t tseed_cache_load_notes(tseed_cache_t *cache);

/* Forgets the book of a load that failed. */
void tseed_cache_undo(tseed_cache_t *cache);

/* Finds a tile set in the book, or enters it in the book and the database. Fails when the database
 * does. */
apr_status_t tseed_cache_tileset(tseed_book_tileset_t **booked, tseed_cache_t *cache,
                                 const tseed_tileset_t *tileset);

/* A seed request wants a tile set: it does not give way to others. */
void tseed_cache_keep(tseed_cache_t *cache, tseed_book_tileset_t *booked);

/* Takes bare tile sets, of tseed_book_tileset_t *, out of the database and the book. Nothing else
 * points to them. Fails when the database does: then all of them stay. */
apr_status_t tseed_cache_remove(tseed_cache_t *cache, const apr_array_header_t *bare);

/* Whether there is something to write: pages, or with all else tile sets and notes. */
int tseed_cache_has_changes(const tseed_cache_t *cache, tseed_save_t save);

/* Writes what has changed into the open transaction. Fails when the database does: then all is
 * written again the next time. */
apr_status_t tseed_cache_write(tseed_cache_t *cache, tseed_save_t save);

/* Notes that the transaction is committed. */
void tseed_cache_saved(tseed_cache_t *cache, tseed_save_t save);

/* Notes that a page, or the shared files of a tile set, were counted, and their difference to the
 * book. A reconcile that is under way adds the difference to its result. */
void tseed_cache_counted(tseed_cache_t *cache, int is_page, const tseed_effect_t *difference);

#endif
