/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The pack: the encoded tiles of an upstream's answer in one piece of memory.
 *
 * One host fetches the answer, cuts it and packs its tiles. Another host takes the pack in place of
 * the answer and stores the tiles. The pack goes from host to host in a file.
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
 */
#ifndef TSEED_PACK_H
#define TSEED_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "image/tseed_cutter.h"

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

/* Finds a tile. Returns 1, or 0 when the pack does not hold it. The tile's bytes are the pack's.
 * The function reads nothing beyond `length`, even if tseed_pack_check has not judged the pack; but
 * only that check finds out whether a tile's bytes are whole. */
int tseed_pack_find(tseed_encoded_t *tile, const unsigned char *data, size_t length, int64_t x,
                    int64_t y);

/* Finds the digest that the answer has by a seed. Returns 1, or 0 when the pack does not hold it.
 * As safe as tseed_pack_find. */
int tseed_pack_digest_of(uint64_t *digest, const unsigned char *data, size_t length, uint64_t seed);

#endif
