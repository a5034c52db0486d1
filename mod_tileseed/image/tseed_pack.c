/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Packs: records are written one behind the other. A pack has as many tiles as a request asks for,
 * some hundreds. The reader goes through them from the beginning. */
#include "image/tseed_pack.h"

#include <string.h>

#include "base/tseed_digest.h"
#include "base/tseed_memory.h"

#define MAGIC      "TSPACK01"
#define NUMBER     8 /* bytes of a number; the magic is as long */
#define HEAD       (2 * NUMBER)
#define LEAST      (2 * NUMBER) /* magic and checksum */
#define DIGEST     (2 * NUMBER)
#define TILE       (3 * NUMBER) /* what stands before the file */
#define FIRST_ROOM 65536

enum { KIND_DIGEST = 1, KIND_TILE };

struct tseed_pack_t {
    unsigned char *data;
    size_t length, room; /* the room is enough for the checksum, which `length` does not count */
};

static void write_number(unsigned char *to, uint64_t number)
{
    for (int i = 0; i < NUMBER; i++) {
        to[i] = (unsigned char)(number >> 8 * i);
    }
}

static uint64_t read_number(const unsigned char *from)
{
    uint64_t number = 0;

    for (int i = 0; i < NUMBER; i++) {
        number |= (uint64_t)from[i] << 8 * i;
    }
    return number;
}

/* ---- the writer ---- */

/* Adds `size` bytes to the pack, and returns where they are to be written. */
static unsigned char *extend(tseed_pack_t *pack, size_t size)
{
    const size_t needed = pack->length + size + NUMBER;

    if (needed > pack->room) {
        pack->room = 2 * needed > FIRST_ROOM ? 2 * needed : FIRST_ROOM;
        pack->data = realloc(pack->data, pack->room);
        if (!pack->data) {
            abort();
        }
    }
    pack->length += size;
    return pack->data + pack->length - size;
}

/* Begins a record, and returns where its content is to be written. */
static unsigned char *add_record(tseed_pack_t *pack, uint64_t kind, size_t length)
{
    unsigned char *record = extend(pack, HEAD + length);

    write_number(record, kind);
    write_number(record + NUMBER, length);
    return record + HEAD;
}

tseed_pack_t *tseed_pack_begin(void)
{
    tseed_pack_t *pack = tseed_memory_get(sizeof(*pack));

    memcpy(extend(pack, NUMBER), MAGIC, NUMBER);
    return pack;
}

void tseed_pack_end(tseed_pack_t *pack)
{
    if (pack) {
        free(pack->data);
        free(pack);
    }
}

void tseed_pack_digest(tseed_pack_t *pack, uint64_t seed, uint64_t digest)
{
    unsigned char *content = add_record(pack, KIND_DIGEST, DIGEST);

    write_number(content, seed);
    write_number(content + NUMBER, digest);
}

/* The cutter sets the colour of uniform tiles only. */
void tseed_pack_add(tseed_pack_t *pack, int64_t x, int64_t y, const tseed_encoded_t *tile)
{
    unsigned char *content;

    if (tile->length == 0) {
        return;
    }
    content = add_record(pack, KIND_TILE, TILE + tile->length);
    write_number(content, (uint64_t)x);
    write_number(content + NUMBER, (uint64_t)y);
    write_number(content + 2 * NUMBER, tile->uniform != 0);
    if (tile->uniform) {
        memcpy(content + 2 * NUMBER + 4, tile->rgba, 4);
    }
    memcpy(content + TILE, tile->data, tile->length);
}

const unsigned char *tseed_pack_bytes(const tseed_pack_t *pack, size_t *length)
{
    write_number(pack->data + pack->length, tseed_digest(pack->data, pack->length, 0));
    *length = pack->length + NUMBER;
    return pack->data;
}

/* ---- the reader ---- */

typedef struct {
    uint64_t kind;
    const unsigned char *content;
    size_t length;
} record_t;

/* Where a reader stands, and the bytes from there to the checksum. */
typedef struct {
    const unsigned char *at;
    size_t left;
} place_t;

/* Before the first record. There is none in what is no pack. */
static place_t first(const unsigned char *data, size_t length)
{
    if (length < LEAST || memcmp(data, MAGIC, NUMBER) != 0) {
        return (place_t){0};
    }
    return (place_t){data + NUMBER, length - LEAST};
}

static int is_sound(const record_t *record)
{
    return record->kind == KIND_DIGEST ? record->length == DIGEST
                                       : record->kind == KIND_TILE && record->length > TILE;
}

/* Takes the next record and goes on behind it. Returns 0 at the end, and where no sound record
 * stands: then there are bytes left. */
static int next(record_t *record, place_t *place)
{
    uint64_t length;

    if (place->left < HEAD) {
        return 0;
    }
    length = read_number(place->at + NUMBER);
    if (length > place->left - HEAD) {
        return 0;
    }
    *record = (record_t){read_number(place->at), place->at + HEAD, (size_t)length};
    if (!is_sound(record)) {
        return 0;
    }
    place->at += HEAD + record->length;
    place->left -= HEAD + record->length;
    return 1;
}

/* Finds a record by the numbers that its content begins with, of which it has at least `count`. */
static int find(record_t *record, place_t place, uint64_t kind, const uint64_t *numbers, int count)
{
    while (next(record, &place)) {
        int same = record->kind == kind;

        for (int i = 0; i < count && same; i++) {
            same = read_number(record->content + i * NUMBER) == numbers[i];
        }
        if (same) {
            return 1;
        }
    }
    return 0;
}

static int has_its_checksum(const unsigned char *data, size_t length)
{
    return length >= LEAST && memcmp(data, MAGIC, NUMBER) == 0 &&
           read_number(data + length - NUMBER) == tseed_digest(data, length - NUMBER, 0);
}

/* Whether sound records reach up to the checksum. */
static int has_sound_records(const unsigned char *data, size_t length)
{
    place_t place = first(data, length);
    record_t record;

    while (next(&record, &place)) {
        /* the next one tells */
    }
    return place.left == 0;
}

const char *tseed_pack_check(const unsigned char *data, size_t length)
{
    return has_its_checksum(data, length) && has_sound_records(data, length)
               ? NULL
               : "the tiles that another host has made are damaged";
}

int tseed_pack_find(tseed_encoded_t *tile, const unsigned char *data, size_t length, int64_t x,
                    int64_t y)
{
    const uint64_t numbers[] = {(uint64_t)x, (uint64_t)y};
    const unsigned char *colour;
    record_t record;

    if (!find(&record, first(data, length), KIND_TILE, numbers, 2)) {
        return 0;
    }
    colour = record.content + 2 * NUMBER;
    *tile = (tseed_encoded_t){record.content + TILE, record.length - TILE, colour[0] == 1, {0}};
    memcpy(tile->rgba, colour + 4, 4);
    return 1;
}

int tseed_pack_digest_of(uint64_t *digest, const unsigned char *data, size_t length, uint64_t seed)
{
    record_t record;

    if (!find(&record, first(data, length), KIND_DIGEST, &seed, 1)) {
        return 0;
    }
    *digest = read_number(record.content + NUMBER);
    return 1;
}
