/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Files of packs (image/tseed_pack.h): tiles on their way from one host to another.
 *
 *      <store root>/.tileseed/packs/GIVER-NUMBER-INDEX
 *
 * The host that has cut the tiles writes the file. The host that works reads the file and removes
 * it. Both hosts know the store and the name, so no path goes from host to host.
 *
 * Somebody else may write into the store. The functions follow no symbolic link below the root, and
 * they read regular files only. The root itself may be a link: the administrator chooses the root.
 *
 * Any thread may call these functions. They need scratch memory, in `pool`.
 */
#ifndef TSEED_PACK_FILE_H
#define TSEED_PACK_FILE_H

#include "layer/tseed_layer.h"
#include "source/tseed_fetcher.h"

/* Which request the tiles of a pack answer. No number is below 0. */
typedef struct {
    int64_t giver;  /* epoch of the host that gave the request away */
    int64_t number; /* of the row in which the request stood */
    int index;      /* of the request in the row */
} tseed_pack_name_t;

/* Writes the file. An older file or link of that name goes. Directories below the root are made
 * when they are missing; the root is not. On failure nothing is left of the file, and the status is
 * that of the call that failed. EFBIG: the pack is longer than TSEED_PACK_MOST. */
apr_status_t tseed_pack_file_write(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                                   const unsigned char *bytes, size_t length, apr_pool_t *pool);

/* Reads the file into the body of a transfer, and removes the file when it was read. The checksum
 * tells whether the pack is whole. APR_ENOENT: the file is not there, or not there yet. After any
 * error the body has no bytes, and the file stays. EFBIG: the file is longer than TSEED_PACK_MOST;
 * APR_EOF: the file is empty, or shorter than the file system says; EINVAL: it is no regular file.
 */
apr_status_t tseed_pack_file_read(tseed_transfer_t *transfer, const tseed_store_config_t *store,
                                  const tseed_pack_name_t *name, apr_pool_t *pool);

/* Whether something of that name is there. */
int tseed_pack_file_is_there(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                             apr_pool_t *pool);

/* Removes the file, if it is there. */
void tseed_pack_file_remove(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                            apr_pool_t *pool);

/* Whether somebody waits for a pack or is going to. */
typedef int tseed_pack_wanted_t(void *baton, const tseed_pack_name_t *name);

/* Removes from all stores the packs that `is_wanted` refuses: regular files with such a name in
 * digits. All else stays. Once the deadline of this process has passed, the function removes
 * nothing more (base/tseed_deadline.h): another host may wait for the packs. */
void tseed_pack_files_clean(const tseed_catalog_t *catalog, tseed_pack_wanted_t *is_wanted,
                            void *baton, apr_pool_t *pool);

#endif
