/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A view's inside, for the files of this room alone. */
#ifndef TSEED_STORE_VIEW_H
#define TSEED_STORE_VIEW_H

#include "store/tseed_folders.h"
#include "store/tseed_layout.h"
#include "store/tseed_store.h"

/* Lives in its own pool, used by one thread. The buffers hold any path of the pattern. */
struct tseed_store_t {
    apr_pool_t *pool;
    const tseed_store_config_t *config;
    const tseed_pattern_t *pattern;
    size_t longest;
    char *path, *other_path;
    char *names; /* one for each depth of a walk */
    char leftover[sizeof(TSEED_LEFTOVER_PREFIX TSEED_LEFTOVER_SUFFIX) + 16]; /* this thread's */
    tseed_folders_t folders;
};

#endif
