/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Memory outside pools, for what travels between threads. Without it nothing can go on: the process
 * aborts, and what was committed is taken up by the next. */
#ifndef TSEED_MEMORY_H
#define TSEED_MEMORY_H

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

static inline char *tseed_memory_copy(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(tseed_memory_get(size), text, size);
}

#endif
