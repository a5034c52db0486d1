/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writes PNG by libdeflate.
 *
 * Why not libpng: it compresses by zlib. 16 tiles of 256 x 256 of a map take, in ms of CPU and
 * bytes a tile (pictures of tests/bench, best of 10 on an AMD EPYC, libpng 1.6.39):
 *
 *                                   RGBA             palette
 *     here, level 1 (palette: 2)    11.0   35,553    5.1   14,604
 *     here, level 6                 24.0   32,495    8.4   14,184
 *     libpng, zlib 1, no filter     20.8   38,185    8.7   16,317
 *     libpng, zlib 6, no filter     47.8   32,263   16.7   14,484
 *     libpng, zlib 6, its filters   94.9   43,523   17.0   14,484
 *
 * libdeflate takes 84 % of the seeder's CPU (tests/bench/README.md, row palette), so libdeflate
 * decides how fast the seeder is. The frame around the stream is the small part of this file.
 */
#include "image/tseed_png_write.h"

#include <libdeflate.h>
#include <stdint.h>
#include <string.h>

#include "image/tseed_png_filter.h"
#include "image/tseed_png_read.h"

#define PALETTE_MAX 256

/* Level 1 finds no match of three bytes, which are many in indices: 2 % smaller for 7 % more time.
 */
#define PALETTE_LEVEL_MIN 2

/* Everything but the pixels: the signature and the frames of five chunks, IHDR, a whole PLTE, tRNS.
 */
#define OVERHEAD (TSEED_PNG_SIGNATURE + 5 * TSEED_PNG_FRAME + 13 + 4 * PALETTE_MAX)

static int depth_of(const tseed_picture_t *picture)
{
    if (!picture->colours || picture->colours > 16) {
        return 8;
    }
    return picture->colours <= 2 ? 1 : picture->colours <= 4 ? 2 : 4;
}

static int colour_type_of(const tseed_picture_t *picture)
{
    static const unsigned char types[] = {
        [1] = TSEED_PNG_GREY,
        [2] = TSEED_PNG_GREY_ALPHA,
        [3] = TSEED_PNG_RGB,
        [4] = TSEED_PNG_RGBA,
    };

    return picture->colours ? TSEED_PNG_PALETTE : types[picture->channels];
}

/* Indices, one a byte, to `depth` bits each; the bits behind the last one are zero. */
static void pack_row(unsigned char *to, const unsigned char *from, int width, int depth)
{
    int each = 8 / depth;

    for (int x = 0; x < width; x += each) {
        unsigned bits = 0;

        for (int i = x; i < x + each; i++) {
            bits = bits << depth | (i < width ? from[i] : 0);
        }
        *to++ = (unsigned char)bits;
    }
}

static size_t row_length(const tseed_picture_t *picture)
{
    size_t samples = (size_t)picture->width * (size_t)picture->channels;

    return (samples * (size_t)depth_of(picture) + 7) / 8;
}

/* Less than a third of the samples equal the one before; every eighth row tells. */
static int is_photograph(const tseed_picture_t *picture)
{
    size_t channels = (size_t)picture->channels;
    size_t length = row_length(picture);
    size_t seen = 0;
    size_t equal = 0;

    for (int y = 0; !picture->colours && y < picture->height; y += 8) {
        const unsigned char *row = tseed_picture_row(picture, y);

        for (size_t i = channels; i < length; i++) {
            equal += row[i] == row[i - channels];
        }
        seen += length - channels;
    }
    return 3 * equal < seen;
}

/* Each row behind its filter's byte. The first row of a photograph has none above it to filter by.
 */
static void lay_rows(unsigned char *to, const tseed_picture_t *picture)
{
    int depth = depth_of(picture);
    size_t length = row_length(picture);
    int is_filtered = is_photograph(picture);

    for (int y = 0; y < picture->height; y++) {
        const unsigned char *row = tseed_picture_row(picture, y);

        *to++ = is_filtered && y > 0 ? TSEED_PNG_AVERAGE : TSEED_PNG_NONE;
        if (is_filtered && y > 0) {
            tseed_png_filter_average(to, row, row - picture->stride, length,
                                     (size_t)picture->channels);
        } else if (depth < 8) {
            pack_row(to, row, picture->width, depth);
        } else {
            memcpy(to, row, length);
        }
        to += length;
    }
}

static unsigned char *put_number(unsigned char *to, size_t number)
{
    to[0] = (unsigned char)(number >> 24);
    to[1] = (unsigned char)(number >> 16);
    to[2] = (unsigned char)(number >> 8);
    to[3] = (unsigned char)number;
    return to + 4;
}

/* Frames the `length` bytes that stand at `chunk` + 8 already. Returns where the next chunk goes.
 */
static unsigned char *finish_chunk(unsigned char *chunk, const char *type, size_t length)
{
    put_number(chunk, length);
    memcpy(chunk + 4, type, 4);
    return put_number(chunk + 8 + length, libdeflate_crc32(0, chunk + 4, length + 4));
}

static unsigned char *put_header(unsigned char *chunk, const tseed_picture_t *picture)
{
    unsigned char *to = put_number(chunk + 8, (size_t)picture->width);

    to = put_number(to, (size_t)picture->height);
    *to++ = (unsigned char)depth_of(picture);
    *to++ = (unsigned char)colour_type_of(picture);
    memset(to, 0, 3); /* deflate, the standard's filters, not interlaced */
    return finish_chunk(chunk, "IHDR", 13);
}

static unsigned char *put_palette(unsigned char *chunk, const tseed_picture_t *picture)
{
    unsigned char *to = chunk + 8;

    for (int i = 0; i < picture->colours; i++) {
        *to++ = picture->palette[i].r;
        *to++ = picture->palette[i].g;
        *to++ = picture->palette[i].b;
    }
    return finish_chunk(chunk, "PLTE", 3 * (size_t)picture->colours);
}

/* No chunk when every colour is opaque. */
static unsigned char *put_transparency(unsigned char *chunk, const tseed_picture_t *picture)
{
    size_t length = 0;

    for (int i = 0; i < picture->colours; i++) {
        chunk[8 + i] = picture->palette[i].a;
        if (picture->palette[i].a != 255) {
            length = (size_t)i + 1;
        }
    }
    return length ? finish_chunk(chunk, "tRNS", length) : chunk;
}

/* Returns the compressor of that level, NULL when there is no memory. */
static struct libdeflate_compressor *deflater_get(tseed_png_writer_t *writer, int level)
{
    if (!writer->deflaters[level]) {
        writer->deflaters[level] = libdeflate_alloc_compressor(level);
    }
    return writer->deflaters[level];
}

size_t tseed_png_write(tseed_png_writer_t *writer, const tseed_picture_t *picture, int level)
{
    int least = picture->colours ? PALETTE_LEVEL_MIN : 1;
    struct libdeflate_compressor *deflater = deflater_get(writer, level > least ? level : least);
    size_t raw = (row_length(picture) + 1) * (size_t)picture->height;
    size_t bound = libdeflate_zlib_compress_bound(deflater, raw);
    unsigned char *to;

    if (!deflater || tseed_buffer_reserve(&writer->rows, raw) != 0 ||
        tseed_buffer_reserve(&writer->file, OVERHEAD + bound) != 0) {
        return 0;
    }
    lay_rows(writer->rows.data, picture);
    to = writer->file.data;
    memcpy(to, TSEED_PNG_MAGIC, TSEED_PNG_SIGNATURE);
    to = put_header(to + TSEED_PNG_SIGNATURE, picture);
    if (picture->colours) {
        to = put_palette(to, picture);
        to = put_transparency(to, picture);
    }
    to = finish_chunk(to, "IDAT",
                      libdeflate_zlib_compress(deflater, writer->rows.data, raw, to + 8, bound));
    to = finish_chunk(to, "IEND", 0);
    return (size_t)(to - writer->file.data);
}

void tseed_png_writer_free(tseed_png_writer_t *writer)
{
    for (int level = 0; level <= TSEED_PNG_LEVELS; level++) {
        libdeflate_free_compressor(writer->deflaters[level]);
    }
    tseed_buffer_free(&writer->rows);
    tseed_buffer_free(&writer->file);
}
