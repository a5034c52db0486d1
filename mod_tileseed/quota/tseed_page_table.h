/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The page table: the book's pages in memory. Private to the quota room.
 *
 *      slots   open addressing by tseed_page_print, linear probing: an entry's number + 1; 0: free
 *      slabs   1,024 entries each; an entry keeps its number until it is removed
 *
 * An entry takes 64 bytes, and 5 to 11 bytes of slots.
 *
 * The seeder's main thread.
 */
#ifndef TSEED_PAGE_TABLE_H
#define TSEED_PAGE_TABLE_H

#include <stdint.h>

#include "layer/tseed_page.h"

#define TSEED_NO_PAGE UINT32_MAX

enum {
    TSEED_ENTRY_USED = 1,
    TSEED_ENTRY_CHANGED = 2,  /* in the book's list of changes */
    TSEED_ENTRY_WANTED = 4,   /* somebody waits for its mark */
    TSEED_ENTRY_MARKED = 8,   /* its row says dirty */
    TSEED_ENTRY_LINGERS = 16, /* its mark stays although nobody holds it */
    TSEED_ENTRY_RECENT = 32,  /* it was dropped since the last sweep */
    TSEED_ENTRY_IN_DOUBT = 64,
    TSEED_ENTRY_TOUCHED = 128 /* tiles came or went since it was put in */
};

/* A page. */
typedef struct {
    int64_t x, y; /* x of a free entry: the number of the next free entry */
    int64_t bytes, allocated;
    uint32_t tileset;
    uint32_t accessed; /* seconds since 1970, until 2106 */
    uint32_t heat;
    uint32_t written;      /* no tile of it is older: seconds since 1970; 0: unknown */
    uint16_t names, files; /* at most TSEED_PAGE_TILES */
    uint16_t holds;
    uint16_t writer; /* the task that was the last to write; 0: none */
    uint8_t z, flags;
    uint16_t pins;
    uint16_t renewed; /* tiles that the task `renewer` (as writer) has made again so far */
    uint16_t renewer;
} tseed_page_entry_t;

/* Identifies a page in the book; `print` is the page's tseed_page_print. */
typedef struct {
    uint64_t print;
    uint32_t tileset;
    tseed_page_t page;
} tseed_page_key_t;

typedef struct {
    tseed_page_entry_t **slabs;
    uint32_t slab_count;
    uint32_t end;   /* entries from here on were never used */
    uint32_t free;  /* the first free entry of their list, or TSEED_NO_PAGE */
    uint32_t count; /* used entries */
    uint32_t *slots;
    uint32_t mask; /* number of slots - 1 */
    uint64_t (*print_of)(const void *baton, const tseed_page_entry_t *entry);
    const void *baton;
} tseed_page_table_t;

/* An empty table in the caller's memory. When the table grows it asks `print_of` for the print of
 * each entry. Slabs and slots are malloc'd until destroy. */
void tseed_page_table_init(tseed_page_table_t *table,
                           uint64_t (*print_of)(const void *baton, const tseed_page_entry_t *entry),
                           const void *baton);
void tseed_page_table_destroy(tseed_page_table_t *table);

/* Makes room for so many more pages at once. Without it the table grows now and then while pages
 * are added, and the thread pauses each time. A number that no book can have is cut. */
void tseed_page_table_reserve(tseed_page_table_t *table, int64_t pages);

/* An entry; number < table->end. It may be free. Valid until destroy. */
tseed_page_entry_t *tseed_page_table_get(const tseed_page_table_t *table, uint32_t number);

/* The number of a page's entry, or TSEED_NO_PAGE. */
uint32_t tseed_page_table_find(const tseed_page_table_t *table, const tseed_page_key_t *key);
uint32_t tseed_page_table_find_print(const tseed_page_table_t *table, uint64_t print);

/* Adds a zeroed entry for a page that the table does not have, and returns its number. */
uint32_t tseed_page_table_add(tseed_page_table_t *table, const tseed_page_key_t *key);
void tseed_page_table_remove(tseed_page_table_t *table, uint32_t number);

#endif
