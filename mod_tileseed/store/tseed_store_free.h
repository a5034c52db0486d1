/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The free space of the file system that a store root is on. Any thread, but none that others wait
 * for: statvfs waits as long as the server of a network file system does not answer. */
#ifndef TSEED_STORE_FREE_H
#define TSEED_STORE_FREE_H

#include <apr_pools.h>
#include <stdint.h>

/* How many bytes processes without privileges may still write below `root`, an absolute path. A
 * root that does not exist yet has the free space of its nearest parent that exists. Returns
 * INT64_MAX when that directory can't be asked, as on a file server that is away, or when it is
 * "/". `scratch` holds a copy of the path. */
int64_t tseed_store_free(const char *root, apr_pool_t *scratch);

#endif
