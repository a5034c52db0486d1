/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The usage status: what clients are told of the cache beside its numbers. */
#include "books/tseed_usage_status.h"

static void add_parts(int64_t *found, int64_t *lost, int64_t difference)
{
    *found += difference > 0 ? difference : 0;
    *lost -= difference < 0 ? difference : 0;
}

static void compare(tseed_reconcile_t *reconcile, const tseed_effect_t *difference)
{
    tseed_effect_t *found = &reconcile->found, *lost = &reconcile->lost;

    add_parts(&found->names, &lost->names, difference->names);
    add_parts(&found->files, &lost->files, difference->files);
    add_parts(&found->bytes, &lost->bytes, difference->bytes);
    add_parts(&found->allocated, &lost->allocated, difference->allocated);
}

void tseed_usage_status_counted(tseed_cache_t *cache, int is_page, const tseed_effect_t *difference)
{
    tseed_reconcile_t *reconcile = &cache->status.reconcile;

    if (!cache->is_reconciling) {
        return;
    }
    if (is_page) {
        reconcile->counted++;
        reconcile->differing +=
            difference->names || difference->files || difference->bytes || difference->allocated;
    }
    compare(reconcile, difference);
}

const char *tseed_usage_status_text(const tseed_cache_t *cache, apr_pool_t *scratch)
{
    tseed_usage_status_t status = cache->status;

    status.in_doubt = tseed_book_in_doubt(cache->book);
    status.grace = tseed_cleaner_grace(cache->cleaner);
    if (cache->block_saved != 0 && cache->block != cache->block_saved && status.in_doubt > 0) {
        status.block = cache->block;
    }
    return tseed_usage_save(&status, scratch);
}
