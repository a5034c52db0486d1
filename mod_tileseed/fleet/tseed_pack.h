/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The pack: the encoded tiles of an upstream's answer in one piece of memory.
 *
 * One host fetches the answer, cuts it and packs its tiles. Another host takes the pack in place of
 * the answer and stores the tiles.
 *
 * Each number has 8 bytes, the lowest byte first, so the two hosts may differ in byte order.
 *
 *      pack      magic "TSPACK01"   records ...   checksum
 *                                                 XXH64, seed 0, of all bytes before it
 *      record    kind   length      content of `length` bytes
 *
 *      kind 1    seed   digest                    the answer's digest by a metatile's seed
 *           2    x      y   colour   file ...     a tile
 *
 *      colour    byte 0: 1 when the tile is uniform; bytes 4 to 7: its red, green, blue, alpha
 *
 * A pack of another layout must have another magic. The file may be torn, and another program may
 * have written it: the reader checks all lengths and the checksum. The reader does not check what
 * the bytes of a tile mean. The pack does not name the tiles' level and format: both hosts know
 * them.
 *
 * One thread at a time writes a pack. Any thread may read its bytes while nobody changes them.
 *
 * The file of a pack:
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
#ifndef TSEED_PACK_H
#define TSEED_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "layer/tseed_layer.h"
#include "source/tseed_fetcher.h"
#include "work/tseed_job_cut.h"

/* Bytes of the longest pack that is written to a file or read from one. */
#define TSEED_PACK_MOST ((size_t)256 << 20)

/* ---- the writer ---- */

typedef struct tseed_pack_t tseed_pack_t;

/* An empty pack, malloc'd; the caller ends it. Without memory this function and those that add to
 * the pack abort the process. */
tseed_pack_t *tseed_pack_begin(void);
/* Frees the pack and its bytes. NULL does nothing. */
void tseed_pack_end(tseed_pack_t *pack);

/* Notes the digest that the answer has by a seed. Each metatile of the answer has its own seed. */
void tseed_pack_digest(tseed_pack_t *pack, uint64_t seed, uint64_t digest);

/* Copies a tile into the pack. A tile without bytes is none and is left out: the reader does not
 * find it. */
void tseed_pack_add(tseed_pack_t *pack, int64_t x, int64_t y, const tseed_encoded_t *tile);

/* The whole pack, as a file has to hold it. The bytes are the pack's. They are valid until it
 * changes or ends. */
const unsigned char *tseed_pack_bytes(const tseed_pack_t *pack, size_t *length);

/* ---- the reader ---- */

/* Judges the bytes of a pack. NULL: all is well. Else the sentence that the pack is damaged. */
const char *tseed_pack_check(const unsigned char *data, size_t length);

/* The reader, for a transfer whose body is a pack. It reads nothing beyond `length`, even if
 * tseed_pack_check has not judged the pack; but only that check finds out whether a tile's bytes
 * are whole. */
extern const tseed_packed_t tseed_pack_reader;

/* ---- the file ---- */

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
 * nothing more (fleet/tseed_deadline.h): another host may wait for the packs. */
void tseed_pack_files_clean(const tseed_catalog_t *catalog, tseed_pack_wanted_t *is_wanted,
                            void *baton, apr_pool_t *pool);

#endif
