/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk usage as clients see it: the sums of the book, and what the seeder does with the book.
 *
 * The records of tile sets have the sums. The seeder keeps all else that it knows in a status, a
 * short text in the database. So a request thread that answers needs neither the seeder nor the
 * pages.
 *
 * Any thread; documents and sentences live in the pool that a call takes.
 */
#ifndef TSEED_USAGE_H
#define TSEED_USAGE_H

#include "layer/tseed_page.h"
#include "protocol/tseed_route.h"
#include "protocol/tseed_settings.h"

/* Names of the database's notes: the status; the reconcile that was asked for last, the time of the
 * request in microseconds; who wants a clean-up now, "" once it has begun; numbers of tile sets to
 * be forgotten, each behind a blank, and of those whose tiles are to be removed; layers whose
 * upstreams are to be asked again, each before a line's end. */
#define TSEED_USAGE_STATUS   "usage"
#define TSEED_USAGE_REQUIRED "reconcile_wanted"
#define TSEED_USAGE_CLEANUP  "cleanup_wanted"
#define TSEED_USAGE_FORGET   "forget_wanted"
#define TSEED_USAGE_REMOVE   "remove_wanted"
#define TSEED_USAGE_DROP     "drop_wanted" /* names of layers, each with a line end */
#define TSEED_USAGE_AGAIN    "ask_again_wanted"

/* Removals for the quota without a longer pause between them; what has gone is positive. */
typedef struct {
    apr_time_t started, last; /* the first removal, 0: never; the last one so far */
    int64_t pages;
    tseed_effect_t gone;
} tseed_cleanup_t;

/* A comparison of all books with the disk. */
typedef struct {
    apr_time_t requested; /* which one it is; 0: never */
    apr_time_t started;   /* anew after a restart */
    apr_time_t finished;  /* 0: it is running */
    int64_t counted;      /* pages so far */
    int64_t differing;    /* those that were not as in the books */
    tseed_effect_t found; /* on the disk beside the books, */
    tseed_effect_t lost;  /* in the books and not on the disk; both positive */
} tseed_reconcile_t;

/* The status. It has 64-bit numbers alone. */
typedef struct {
    int64_t block;         /* diskBlockSize to which everything is being counted again; 0: none */
    int64_t in_doubt;      /* pages to be counted */
    apr_time_t grace;      /* the first clean-up begins; 0: none waits */
    int64_t walked;        /* number of the tile set that is being walked; 0: none */
    int64_t walked_level;  /* where it is */
    tseed_cleanup_t clean; /* the last one */
    tseed_reconcile_t reconcile;
} tseed_usage_status_t;

/* save: the status as a text in `pool`. load: reads such a text; numbers that it can't understand
 * are 0. */
const char *tseed_usage_save(const tseed_usage_status_t *status, apr_pool_t *pool);
void tseed_usage_load(tseed_usage_status_t *status, const char *saved);

/* Whether a number is in a text of numbers, each behind a blank. */
int tseed_usage_lists(const char *list, int64_t number);

/* Finds the tile set of a record in a configuration, in `pool`. NULL or a sentence. */
const char *tseed_usage_resolve(tseed_tileset_t *tileset, const tseed_tileset_record_t *record,
                                const tseed_catalog_t *catalog, apr_pool_t *pool);

/* What the pages of one level of a tile set hold. */
typedef struct {
    int64_t tileset;
    int z;
    tseed_effect_t usage;
} tseed_usage_level_t;

typedef struct {
    tseed_tileset_record_t record;
    int is_configured;                /* the quota is about these only */
    int is_leaving;                   /* its tiles are being removed */
    const tseed_subset_t *subset;     /* of a configured one */
    const apr_array_header_t *levels; /* of tseed_usage_level_t, ascending; NULL: not known */
} tseed_usage_row_t;

typedef struct {
    const tseed_settings_t *settings;
    const tseed_quota_config_t *config;
    apr_array_header_t *rows; /* of tseed_usage_row_t; are sorted by layer */
    tseed_usage_status_t status;
    apr_time_t requested; /* of the reconcile that was asked for last; 0: none */
    int64_t disk_free;    /* bytes, below the fullest store root; -1: not known */
    int is_part;          /* layers are missing: what is about all of them is not shown */
} tseed_usage_t;

/* The sum of the configured tile sets among the rows. */
tseed_effect_t tseed_usage_sum(const tseed_usage_t *usage);

/* The document of diskquota/usage.json. */
const char *tseed_usage_document(const tseed_usage_t *usage, apr_pool_t *pool);

/* The document of some pages (tseed_page_record_t) of one tile set. It names each page by its first
 * tile. `next` is the address of the next part, or NULL. In `pool`. */
const char *tseed_usage_pages(const tseed_usage_row_t *row, const apr_array_header_t *pages,
                              const char *next, apr_pool_t *pool);

/* ?tileset=…&limit=…&after=<z>/<x>/<y> */
typedef struct {
    int64_t tileset;            /* 0: none, the document of all is wanted */
    tseed_failure_query_t from; /* by the first tiles of pages */
} tseed_usage_query_t;

/* As in tseed_route.h. */
const char *tseed_usage_query_read(tseed_usage_query_t *query, const char *text, apr_pool_t *pool);

/* Of the address of one tile set: ?tiles=keep|remove, keep if there is none. As above. */
const char *tseed_forget_query_read(int *removes, const char *text, apr_pool_t *pool);

#endif
