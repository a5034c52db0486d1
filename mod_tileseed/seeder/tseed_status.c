/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The status: what clients are told of the books. */
#include "seeder/tseed_house.h"

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

void tseed_status_counted(tseed_seeder_t *seeder, int is_page, const tseed_effect_t *difference)
{
    tseed_reconcile_t *reconcile = &seeder->cache->status.reconcile;

    if (!seeder->audit.is_going) {
        return;
    }
    if (is_page) {
        reconcile->counted++;
        reconcile->differing +=
            difference->names || difference->files || difference->bytes || difference->allocated;
    }
    compare(reconcile, difference);
}

const char *tseed_status_text(const tseed_seeder_t *seeder)
{
    tseed_usage_status_t status = seeder->cache->status;

    status.in_doubt = tseed_book_in_doubt(seeder->cache->book);
    status.grace = tseed_cleaner_grace(seeder->cache->cleaner);
    if (seeder->cache->block_saved != 0 && seeder->cache->block != seeder->cache->block_saved &&
        status.in_doubt > 0) {
        status.block = seeder->cache->block;
    }
    return tseed_usage_save(&status, seeder->context->scratch);
}
