/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* One pool for all tests of a program. */
#ifndef POOL_FIXTURE_H
#define POOL_FIXTURE_H

#include <apr_general.h>
#include <apr_pools.h>

static apr_pool_t *pool;

static inline int setup_group(void **state)
{
    (void)state;
    apr_initialize();
    return apr_pool_create(&pool, NULL);
}

static inline int teardown_group(void **state)
{
    (void)state;
    apr_pool_destroy(pool);
    apr_terminate();
    return 0;
}

#endif
