/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Files of packs (image/tseed_pack.h): tiles on their way from one host to another, in a hidden
 * directory of the layer's store root. The host that has cut the tiles writes the file, the host
 * that works reads it once and removes it. Any thread.
 */
#ifndef TSEED_PACK_FILE_H
#define TSEED_PACK_FILE_H

#include "layer/tseed_layer.h"
#include "source/tseed_fetcher.h"

/* Writes a file below a store's root. Its name begins with the epoch of the host for which it is,
 * and a "-". Returns its path, in `pool`; "": it can't be written, and
 * nothing is left of it. */
const char *tseed_pack_file_write(const tseed_store_config_t *store, const char *name,
                                  const unsigned char *bytes, size_t length, apr_pool_t *pool);

/* Reads a file into the body of a transfer, and removes it. Returns whether there was one; whether
 * it is whole is told by its checksum. A path that is not of a pack of this host's stores is left
 * alone. */
int tseed_pack_file_read(tseed_transfer_t *transfer, const char *path,
                         const tseed_catalog_t *catalog);
void tseed_pack_file_remove(const char *path, const tseed_catalog_t *catalog);

/* Removes files from all stores that nobody will read: those for a host of an epoch below `giver`,
 * and those that have lain there for ten minutes, because their reader has died or does not have
 * this store. Does so once a minute; `*at` is when next (monotonic), 0 at first.
 * Scratch memory in `pool`. */
void tseed_pack_files_clean(apr_time_t *at, int64_t giver, const tseed_catalog_t *catalog,
                            apr_pool_t *pool);

#endif
