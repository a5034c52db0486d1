/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cache as the seeder knows it: the book of its pages, the quota in effect, and what clients
 * are told of both. Main thread only. */
#ifndef TSEED_CACHE_H
#define TSEED_CACHE_H

#include "protocol/tseed_usage.h"
#include "quota/tseed_book.h"
#include "quota/tseed_cleaner.h"
#include "protocol/tseed_quota_config.h"

/* Stored instead of the block size while a recount is under way and sizes of two block sizes are
 * mixed. */
#define TSEED_BLOCK_MIXED (-1)

typedef struct tseed_cache_t {
    tseed_book_t *book; /* NULL: the database has not been read */
    tseed_cleaner_t *cleaner;
    int is_loading;              /* pages of the book are still to be read from the database */
    tseed_quota_config_t quota;  /* in effect */
    int64_t block;               /* bytes: what sizes in the book are rounded up to */
    int64_t block_saved;         /* the database's word for it; 0: nothing yet */
    int is_reconciling;          /* the book is being compared with the disk */
    tseed_usage_status_t status; /* tseed_usage_status_text adds what is not kept here */
} tseed_cache_t;

#endif
