/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The file tileseed.host in the state directory: what this httpd remembers of itself and of the
 * database that it shares with other hosts. Seeder, main thread, under the lock of the state
 * directory. */
#ifndef TSEED_HOST_FILE_H
#define TSEED_HOST_FILE_H

#include <apr_pools.h>

#include "fleet/tseed_hosts.h"

typedef struct {
    char instance[17]; /* sixteen hexadecimal digits, drawn when the file was made */
    tseed_host_memory_t memory;
} tseed_host_file_t;

/* Reads the file, or makes it with an instance of its own. Fails when that is not possible. `pool`
 * gets nothing that stays. */
apr_status_t tseed_host_file_load(tseed_host_file_t *file, const char *state_dir, apr_pool_t *pool);

/* Replaces the file. Fails as writing does. `pool` gets nothing that stays. */
apr_status_t tseed_host_file_save(const tseed_host_file_t *file, const char *state_dir,
                                  apr_pool_t *pool);

#endif
