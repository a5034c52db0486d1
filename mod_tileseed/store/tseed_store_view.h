/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A view's inside, for the files of this room alone. */
#ifndef TSEED_STORE_VIEW_H
#define TSEED_STORE_VIEW_H

#include <sys/stat.h>

#include "store/tseed_folders.h"
#include "store/tseed_layout.h"
#include "store/tseed_store.h"

/* Whether files come out with the mode that the administrator gave. */
typedef enum { TSEED_MODE_UNKNOWN, TSEED_MODE_RIGHT, TSEED_MODE_WRONG } tseed_mode_t;

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
    int64_t block;
    tseed_mode_t mode;
    int replacing;     /* the last put met another tile: the next one will as well */
    int never_refuses; /* the file system can't refuse a rename because of what is there */
};

/* The effect of a file appearing, or of one name of a file disappearing. */
tseed_effect_t tseed_store_gain(const tseed_store_t *store, size_t length);
tseed_effect_t tseed_store_loss(const tseed_store_t *store, const struct stat *st);

#endif
