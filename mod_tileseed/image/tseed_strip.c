/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Strips pictures: each kind has a function that takes the next part off and says whether it stays;
 * one loop goes over a picture, first to measure what stays, then to copy it. */
#include "image/tseed_strip.h"

#include <stdint.h>
#include <string.h>

#define PROFILE_MOST 65536 /* bytes of an ICC profile */
#define BYTES_PIXEL  8     /* what a pixel may take at most: 16 bits a channel, not compressed */
#define BYTES_MORE   (PROFILE_MOST + 65536)

/* A part of a picture: a chunk, a segment, a stretch of coded pixels. */
typedef struct {
    size_t length; /* 0: the picture can't be followed, or browsers can't */
    int stays;
    int is_last;
} part_t;

typedef struct {
    const unsigned char *data;
    size_t length, offset;
    size_t profile; /* bytes of the profile so far */
    int is_coded;   /* JPEG: behind a scan's header */
} walk_t;

typedef part_t next_t(walk_t *walk);

static const unsigned char *here(const walk_t *walk)
{
    return walk->data + walk->offset;
}

static size_t left(const walk_t *walk)
{
    return walk->length - walk->offset;
}

static int begins(const walk_t *walk, size_t at, const char *word, size_t length)
{
    return left(walk) >= at + length && memcmp(here(walk) + at, word, length) == 0;
}

static int is_one_of(const unsigned char *type, const char *types)
{
    for (; *types; types += 4) {
        if (memcmp(type, types, 4) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Whether so many bytes more of a profile stay. */
static int takes_profile(walk_t *walk, size_t length)
{
    walk->profile += length;
    return walk->profile <= PROFILE_MOST;
}

/* ---- PNG (ISO/IEC 15948, 5) ---- */

static part_t next_png(walk_t *walk)
{
    const unsigned char *at = here(walk);
    part_t part = {0};
    size_t length;

    if (walk->offset == 0) {
        return (part_t){8, 1, 0};
    }
    if (left(walk) < 12) {
        return part;
    }
    length = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    part.length = length + 12;
    part.is_last = begins(walk, 4, "IEND", 4);
    part.stays = !(at[4] & 0x20) || is_one_of(at + 4, "tRNSgAMAcHRMsRGBcICP") ||
                 (begins(walk, 4, "iCCP", 4) && takes_profile(walk, length));
    return part;
}

/* ---- JPEG (ITU T.81, annex B) ---- */

enum { FILL = 0xFF, SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, COM = 0xFE, APP0 = 0xE0, APP15 = 0xEF };
enum { SOF0 = 0xC0, SOF2 = 0xC2, DHT = 0xC4, SOF15 = 0xCF };

/* Browsers show Huffman coding, baseline, extended and progressive. They show nothing of arithmetic
 * coding, lossless or hierarchical frames, whose markers are the other ones of this row. */
static int browsers_know(int marker)
{
    return marker < SOF0 || marker > SOF15 || marker <= SOF2 || marker == DHT;
}

static int stays_jpeg(walk_t *walk, int marker, size_t length)
{
    if (marker == APP0) {
        return begins(walk, 4, "JFIF", 5) && length <= 18; /* without a thumbnail */
    }
    if (marker == APP0 + 2) {
        return begins(walk, 4, "ICC_PROFILE", 12) && takes_profile(walk, length);
    }
    if (marker == APP0 + 14) {
        return begins(walk, 4, "Adobe", 5);
    }
    return marker != COM && !(marker >= APP0 && marker <= APP15);
}

/* Coded pixels: up to a marker that is neither a byte 0xFF of theirs nor a restart. */
static part_t next_pixels(walk_t *walk)
{
    const unsigned char *at = here(walk);
    size_t i = 0;

    walk->is_coded = 0;
    while (i + 1 < left(walk) && (at[i] != 0xFF || at[i + 1] == 0 || at[i + 1] == FILL ||
                                  (at[i + 1] >= 0xD0 && at[i + 1] <= 0xD7))) {
        i++;
    }
    return (part_t){i, 1, 0};
}

static part_t next_jpeg(walk_t *walk)
{
    const unsigned char *at = here(walk);
    part_t part = {0};

    if (walk->is_coded && left(walk) > 1 &&
        !(at[0] == 0xFF && at[1] >= 0xC0 && at[1] != FILL && !(at[1] >= 0xD0 && at[1] <= 0xD7))) {
        return next_pixels(walk);
    }
    walk->is_coded = 0;
    if (left(walk) < 2 || at[0] != 0xFF) {
        return part;
    }
    if (at[1] == FILL) {
        return (part_t){1, 0, 0};
    }
    if (at[1] == SOI || at[1] == EOI) {
        return (part_t){2, 1, at[1] == EOI};
    }
    if (left(walk) >= 4 && browsers_know(at[1])) {
        part.length = 2 + ((size_t)at[2] << 8 | at[3]);
        part.stays = stays_jpeg(walk, at[1], part.length);
        walk->is_coded = at[1] == SOS;
    }
    return part;
}

/* ---- WebP (RFC 9649, 2.7) ---- */

#define WEBP_HEAD     12
#define WEBP_PROFILE  0x20
#define WEBP_METADATA 0x0C /* Exif and XMP */

static size_t little(const unsigned char *at)
{
    return (size_t)at[3] << 24 | (size_t)at[2] << 16 | (size_t)at[1] << 8 | at[0];
}

static part_t next_webp(walk_t *walk)
{
    const unsigned char *at = here(walk);
    part_t part = {0};
    size_t length;

    if (walk->offset == 0) {
        return (part_t){WEBP_HEAD, 1, 0};
    }
    if (left(walk) < 8) {
        return part;
    }
    length = little(at + 4);
    part.length = 8 + length + (length & 1);
    part.is_last = walk->offset + part.length >= 8 + little(walk->data + 4);
    part.stays = is_one_of(at, "VP8 VP8LVP8XALPH") ||
                 (begins(walk, 0, "ICCP", 4) && takes_profile(walk, length));
    return part;
}

/* The head's length and the flags of what is gone. */
static void mend_webp(unsigned char *data, size_t length, int has_profile)
{
    const size_t rest = length - 8;

    for (int i = 0; i < 4; i++) {
        data[4 + i] = (unsigned char)(rest >> 8 * i);
    }
    if (length > WEBP_HEAD + 8 && memcmp(data + WEBP_HEAD, "VP8X", 4) == 0) {
        data[WEBP_HEAD + 8] &= (unsigned char)~(WEBP_METADATA | (has_profile ? 0 : WEBP_PROFILE));
    }
}

/* ---- any of them ---- */

/* Copies what stays to `to`, which may be NULL, and returns its length; 0: it can't be followed. */
static size_t gather(walk_t *walk, unsigned char *to, next_t *next)
{
    size_t length = 0;
    part_t part;

    do {
        part = next(walk);
        if (part.length == 0 || part.length > left(walk)) {
            return 0;
        }
        if (part.stays && to) {
            memcpy(to + length, here(walk), part.length);
        }
        length += part.stays ? part.length : 0;
        walk->offset += part.length;
    } while (!part.is_last);
    return length;
}

static next_t *next_of(const unsigned char *data)
{
    return data[0] == 0x89 ? next_png : data[0] == 0xFF ? next_jpeg : next_webp;
}

int tseed_strip(tseed_stripped_t *stripped, tseed_buffer_t *room, const unsigned char *data,
                size_t length, int width, int height)
{
    next_t *next = next_of(data);
    walk_t walk = {.data = data, .length = length};
    size_t stays = gather(&walk, NULL, next);

    if (stays == 0 || stays > (size_t)width * (size_t)height * BYTES_PIXEL + BYTES_MORE) {
        return -1;
    }
    *stripped = (tseed_stripped_t){data, length};
    if (stays == length) {
        return 0;
    }
    if (tseed_buffer_reserve(room, stays) != 0) {
        return -1;
    }
    walk = (walk_t){.data = data, .length = length};
    gather(&walk, room->data, next);
    if (next == next_webp) {
        mend_webp(room->data, stays, walk.profile > 0 && walk.profile <= PROFILE_MOST);
    }
    *stripped = (tseed_stripped_t){room->data, stays};
    return 0;
}
