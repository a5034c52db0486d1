/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Memory for things that travel between threads, and pools for one thread each. Without memory
 * nothing can go on: the process aborts, and the next process goes on from the last commit. Any
 * thread. */
#ifndef TSEED_MEMORY_H
#define TSEED_MEMORY_H

#include <apr_pools.h>
#include <stdlib.h>
#include <string.h>

/* Zeroed; to be freed with free. */
static inline void *tseed_memory_get(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory) {
        abort();
    }
    return memory;
}

/* A text of its own, malloc'd: the caller frees it. */
static inline char *tseed_memory_copy(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(tseed_memory_get(size), text, size);
}

/* A pool that shares nothing with other threads' pools. */
static inline apr_pool_t *tseed_memory_pool(void)
{
    apr_allocator_t *allocator;
    apr_pool_t *pool;

    if (apr_allocator_create(&allocator) != APR_SUCCESS ||
        apr_pool_create_ex(&pool, NULL, NULL, allocator) != APR_SUCCESS) {
        abort();
    }
    apr_allocator_owner_set(allocator, pool);
    return pool;
}

#endif
