/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes a PUT of the disk quota: 'X' or 'J', then a document. What is accepted must be possible,
 * and what is written of it must be read again as the same. */
#include <string.h>

#include "protocol/tseed_quota_config.h"
#include "target.h"

static void check_config(const tseed_quota_config_t *config)
{
    assert(config->block_size > 0);
    assert(config->frequency >= 0);
    assert(config->concurrent_cleanups > 0 && config->concurrent_cleanups <= INT32_MAX);
    assert(config->quota.bytes >= 0);
}

static void check_round_trip(const tseed_quota_config_t *config, const tseed_catalog_t *catalog,
                             tseed_format_of_body_t format, apr_pool_t *pool)
{
    const char *once = tseed_quota_config_write(config, "cacheQuotaConfiguration", format, 1, pool);
    const char *twice;
    tseed_quota_change_t again = {.only = NULL};

    tseed_quota_config_init(&again.config, 4096, pool);
    assert(!tseed_quota_config_merge(&again, format, once, strlen(once), catalog, pool));
    twice = tseed_quota_config_write(&again.config, again.root, format, 1, pool);
    assert(strcmp(once, twice) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    tseed_quota_change_t change = {.only = NULL};

    apr_hash_set(catalog->layers, "l", APR_HASH_KEY_STRING, target_layer(pool));
    tseed_quota_config_init(&change.config, 4096, pool);
    if (size > 0 && !tseed_quota_config_merge(&change, target_format(data[0]),
                                              (const char *)data + 1, size - 1, catalog, pool)) {
        check_config(&change.config);
        check_round_trip(&change.config, catalog, TSEED_BODY_XML, pool);
        check_round_trip(&change.config, catalog, TSEED_BODY_JSON, pool);
    }
    apr_pool_destroy(pool);
    return 0;
}
