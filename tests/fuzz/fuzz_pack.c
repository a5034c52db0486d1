/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the reader of packs: what the reader finds lies inside the pack, whether the pack is sound
 * or not, and can be packed again. In a sound pack the reader finds the first record. */
#include <stdlib.h>
#include <string.h>

#include "base/tseed_digest.h"
#include "fleet/tseed_pack.h"
#include "target.h"

#define NUMBER 8
#define LOOKS  64 /* each look takes the longer the more records there are */

static uint64_t number_at(const unsigned char *data)
{
    uint64_t number = 0;

    for (int i = 0; i < NUMBER; i++) {
        number |= (uint64_t)data[i] << 8 * i;
    }
    return number;
}

static void check_tile(const tseed_encoded_t *tile, const unsigned char *data, size_t length)
{
    assert(tile->data > data && tile->length > 0);
    assert(tile->length <= length - (size_t)(tile->data - data));
    assert(tile->uniform == 0 || tile->uniform == 1);
}

/* Copies what the reader finds by these numbers into another pack. Returns whether the reader finds
 * anything. */
static int copy_record(tseed_pack_t *copy, const unsigned char *data, size_t length,
                       const unsigned char *numbers)
{
    const uint64_t x = number_at(numbers), y = number_at(numbers + NUMBER);
    tseed_encoded_t tile;
    uint64_t digest;
    int found = 0;

    if (tseed_pack_reader.find(&tile, data, length, (int64_t)x, (int64_t)y)) {
        check_tile(&tile, data, length);
        tseed_pack_add(copy, (int64_t)x, (int64_t)y, &tile);
        found = 1;
    }
    if (tseed_pack_reader.digest_of(&digest, data, length, x)) {
        tseed_pack_digest(copy, x, digest);
        found = 1;
    }
    return found;
}

/* Looks for records by the first numbers of the pack. */
static void look(const unsigned char *data, size_t length)
{
    const int is_sound = !tseed_pack_check(data, length);
    tseed_pack_t *copy = tseed_pack_begin();
    const unsigned char *again;
    int found = 0;

    for (size_t at = 0; at + 2 * NUMBER <= length && at < LOOKS * NUMBER; at += NUMBER) {
        found += copy_record(copy, data, length, data + at);
    }
    assert(!is_sound || found > 0 || length == 2 * NUMBER);
    again = tseed_pack_bytes(copy, &length);
    assert(!tseed_pack_check(again, length));
    tseed_pack_end(copy);
}

/* Puts the checksum right, past which hardly an input would get otherwise. */
static void repair(unsigned char *data, size_t length)
{
    const uint64_t sum = tseed_digest(data, length - NUMBER, 0);

    for (int i = 0; i < NUMBER; i++) {
        data[length - NUMBER + (size_t)i] = (unsigned char)(sum >> 8 * i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *repaired = malloc(size ? size : 1);

    look(data, size);
    if (size >= NUMBER) {
        memcpy(repaired, data, size);
        repair(repaired, size);
        look(repaired, size);
    }
    free(repaired);
    return 0;
}
