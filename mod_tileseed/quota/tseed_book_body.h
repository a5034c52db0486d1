/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book's body. Private to the quota room.
 *
 *      tseed_book.c          tile sets, changes, counts, hits; the list of changes
 *      tseed_book_tilesets.c questions about tile sets, and what changes many of them
 *      tseed_book_save.c     marks, and what the database must be told
 *      tseed_book_look.c     pages one after the other, victims, cells, the validator
 *
 * The seeder's main thread.
 */
#ifndef TSEED_BOOK_BODY_H
#define TSEED_BOOK_BODY_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "quota/tseed_book.h"
#include "quota/tseed_page_table.h"
#include "quota/tseed_ghosts.h"
#include "quota/tseed_squares.h"

struct tseed_book_t {
    apr_pool_t *pool;
    apr_array_header_t *tilesets; /* of tseed_book_tileset_t *, by number; NULL: removed */
    apr_hash_t *prints;           /* and by tseed_tileset_print */
    apr_array_header_t *spare;    /* of those that were removed */
    tseed_page_table_t table;
    tseed_squares_t squares; /* over the pages that have tiles */
    tseed_ghosts_t ghosts;
    uint32_t *changed; /* numbers of entries that are CHANGED */
    size_t changed_count, changed_room;
    size_t wanted;           /* how many of them are WANTED */
    size_t pinned;           /* entries with pins */
    int64_t pages, in_doubt; /* sums of all tile sets */
    unsigned incomplete;     /* tile sets */
    unsigned leaving;        /* tile sets */
    uint32_t next_leaver;    /* the entry at which tseed_book_leavers goes on */
    uint64_t writing[1024];  /* a bit for each value of tseed_page_entry_t.writer: that task runs */
};

/* The tile set of an entry, which is the book's. */
static inline tseed_book_tileset_t *tseed_book_tileset_of(const tseed_book_t *book,
                                                          const tseed_page_entry_t *entry)
{
    return APR_ARRAY_IDX(book->tilesets, entry->tileset, tseed_book_tileset_t *);
}

/* The usage of the page of an entry. */
static inline tseed_effect_t tseed_entry_usage(const tseed_page_entry_t *entry)
{
    return (tseed_effect_t){entry->names, entry->files, entry->bytes, entry->allocated};
}

/* The number by which an entry remembers a task. */
static inline uint16_t tseed_writer_of(int64_t task)
{
    return (uint16_t)(1 + (uint64_t)task % UINT16_MAX);
}

/* The number of a page's entry, or TSEED_NO_PAGE. */
uint32_t tseed_book_entry(const tseed_book_t *book, const tseed_book_tileset_t *booked,
                          const tseed_page_t *page);

/* The same; adds the entry if there is none. A new entry is empty, and in doubt if its tile set is
 * not complete. */
uint32_t tseed_book_entry_get(tseed_book_t *book, tseed_book_tileset_t *booked,
                              const tseed_page_t *page);

/* Puts an entry on the list of changes, unless it is there. */
void tseed_book_note(tseed_book_t *book, uint32_t number);

#endif
