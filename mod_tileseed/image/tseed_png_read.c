/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads the plain kinds of PNG: inflates the stream at once into a buffer of its exact size.
 *
 * Why not libpng alone: it inflates by zlib, row by row. A metatile of 1024 x 1024 takes 5.1 ms of
 * CPU here and 15.1 ms in libpng, one with a palette 0.7 and 2.7 ms (pictures of tests/bench, best
 * of 40 on an AMD EPYC, libpng 1.6.39). Writing its 16 tiles takes 11 ms, so libpng would make
 * reading the larger part. libspng is built on zlib in Debian, and was no faster with RGBA.
 * libpng reads the rare kinds, where its years of care count for more than its time.
 */
#include "image/tseed_png_read.h"

#include <apr_strings.h>
#include <libdeflate.h>
#include <string.h>

#include "image/tseed_png_filter.h"
#include "image/tseed_png_libpng.h"
#include "image/tseed_png_scan.h"

int tseed_png_is(const unsigned char *data, size_t length)
{
    return length >= TSEED_PNG_SIGNATURE && memcmp(data, TSEED_PNG_MAGIC, TSEED_PNG_SIGNATURE) == 0;
}

static int is_plain(const tseed_png_scan_t *scan)
{
    if (scan->interlaced) {
        return 0;
    }
    return scan->colour_type == TSEED_PNG_PALETTE || (scan->depth == 8 && !scan->transparency.data);
}

static int channels_of(int colour_type)
{
    static const unsigned char channels[] = {
        [TSEED_PNG_GREY] = 1,       [TSEED_PNG_RGB] = 3,  [TSEED_PNG_PALETTE] = 1,
        [TSEED_PNG_GREY_ALPHA] = 2, [TSEED_PNG_RGBA] = 4,
    };

    return channels[colour_type];
}

/* The deflate stream in one piece: where it lies in the file, or its pieces joined. */
static const char *join(tseed_png_part_t *stream, tseed_png_reader_t *reader,
                        const tseed_png_scan_t *scan)
{
    const unsigned char *chunk = scan->first;
    size_t joined = 0;

    if (scan->idat_count == 1) {
        *stream = (tseed_png_part_t){scan->first + 8, scan->idat_length};
        return NULL;
    }
    if (tseed_buffer_reserve(&reader->stream, scan->idat_length) != 0) {
        return TSEED_NO_MEMORY;
    }
    for (size_t i = 0; i < scan->idat_count; i++) {
        size_t length = tseed_png_number(chunk);

        memcpy(reader->stream.data + joined, chunk + 8, length);
        joined += length;
        chunk += TSEED_PNG_FRAME + length;
    }
    *stream = (tseed_png_part_t){reader->stream.data, joined};
    return NULL;
}

static const char *explain(enum libdeflate_result result, size_t got, size_t size, apr_pool_t *pool)
{
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
        return "png is damaged: it has more pixels than its size says";
    }
    if (result != LIBDEFLATE_SUCCESS) {
        return "png is damaged: its pixels can't be decompressed";
    }
    return got == size ? NULL
                       : apr_psprintf(pool,
                                      "png is damaged: it has %" APR_SIZE_T_FMT
                                      " bytes of pixels, expected %" APR_SIZE_T_FMT,
                                      got, size);
}

static const char *inflate_rows(unsigned char *rows, size_t size, tseed_png_reader_t *reader,
                                const tseed_png_scan_t *scan, apr_pool_t *pool)
{
    tseed_png_part_t stream;
    size_t got = 0;
    enum libdeflate_result result;
    const char *error = join(&stream, reader, scan);

    if (error) {
        return error;
    }
    if (!reader->inflater) {
        reader->inflater = libdeflate_alloc_decompressor();
    }
    if (!reader->inflater) {
        return TSEED_NO_MEMORY;
    }
    result =
        libdeflate_zlib_decompress(reader->inflater, stream.data, stream.length, rows, size, &got);
    return explain(result, got, size, pool);
}

/* Indices of 1, 2 or 4 bits, the leftmost in the high bits, to one a byte. `depth` is a constant
 * where this is inlined. */
static inline __attribute__((always_inline)) void
unpack_row(unsigned char *to, const unsigned char *from, int width, int depth)
{
    int each = 8 / depth;
    int mask = (1 << depth) - 1;
    int x = 0;

    for (; x + each <= width; x += each, from++) {
        for (int i = 0; i < each; i++) {
            to[x + i] = (unsigned char)(*from >> (8 - depth - i * depth) & mask);
        }
    }
    for (int shift = 8 - depth; x < width; x++, shift -= depth) {
        to[x] = (unsigned char)(*from >> shift & mask);
    }
}

static void unpack_row_of(unsigned char *to, const unsigned char *from, int width, int depth)
{
    switch (depth) {
    case 1:
        unpack_row(to, from, width, 1);
        break;
    case 2:
        unpack_row(to, from, width, 2);
        break;
    default:
        unpack_row(to, from, width, 4);
    }
}

static const char *unpack(tseed_picture_t *picture, tseed_png_reader_t *reader, int depth)
{
    size_t width = (size_t)picture->width;

    if (tseed_buffer_reserve(&reader->wide, width * (size_t)picture->height) != 0) {
        return TSEED_NO_MEMORY;
    }
    for (int y = 0; y < picture->height; y++) {
        unpack_row_of(reader->wide.data + (size_t)y * width, tseed_picture_row(picture, y),
                      picture->width, depth);
    }
    picture->pixels = reader->wide.data;
    picture->stride = width;
    return NULL;
}

static void load_palette(tseed_picture_t *picture, tseed_png_reader_t *reader,
                         const tseed_png_scan_t *scan)
{
    const unsigned char *rgb = scan->palette.data;

    picture->colours = (int)(scan->palette.length / 3);
    picture->palette = reader->palette;
    for (int i = 0; i < picture->colours; i++, rgb += 3) {
        int alpha = (size_t)i < scan->transparency.length ? scan->transparency.data[i] : 255;

        reader->palette[i] = (tseed_colour_t){rgb[0], rgb[1], rgb[2], (unsigned char)alpha};
    }
}

/* Sixteen bytes at a time, as the compiler's vectors do it. */
typedef unsigned char bytes_t __attribute__((vector_size(16)));

static int highest_index(const unsigned char *row, int width)
{
    bytes_t highest = {0};
    int found = 0;
    int x = 0;

    for (; x + (int)sizeof(highest) <= width; x += (int)sizeof(highest)) {
        bytes_t here, higher;

        memcpy(&here, row + x, sizeof(here));
        higher = (bytes_t)(here > highest);
        highest = (here & higher) | (highest & ~higher);
    }
    for (size_t i = 0; i < sizeof(highest); i++) {
        found = highest[i] > found ? highest[i] : found;
    }
    for (; x < width; x++) {
        found = row[x] > found ? row[x] : found;
    }
    return found;
}

/* Other readers show black for a colour that the palette lacks; a map has no reason to use one. */
static const char *check_indices(const tseed_picture_t *picture, apr_pool_t *pool)
{
    for (int y = 0; y < picture->height && picture->colours < 256; y++) {
        int highest = highest_index(tseed_picture_row(picture, y), picture->width);

        if (highest >= picture->colours) {
            return apr_psprintf(pool, "png is damaged: it uses colour %d of a palette of %d",
                                highest + 1, picture->colours);
        }
    }
    return NULL;
}

/* The rows get a row of zeros in front, which stands above the first of them. */
static const char *decode_plain(tseed_picture_t *picture, tseed_png_reader_t *reader,
                                const tseed_png_scan_t *scan, apr_pool_t *pool)
{
    size_t channels = (size_t)channels_of(scan->colour_type);
    size_t length = ((size_t)scan->width * channels * (size_t)scan->depth + 7) / 8;
    size_t zeros = length + TSEED_PNG_SLACK;
    size_t size = (length + 1) * (size_t)scan->height;
    const char *error;
    unsigned char *rows;

    if (tseed_buffer_reserve(&reader->rows, zeros + size + TSEED_PNG_SLACK) != 0) {
        return TSEED_NO_MEMORY;
    }
    memset(reader->rows.data, 0, zeros);
    rows = reader->rows.data + zeros;
    error = inflate_rows(rows, size, reader, scan, pool);
    if (error) {
        return error;
    }
    if (tseed_png_unfilter(rows, length, scan->height, (int)channels, reader->rows.data) != 0) {
        return "png is damaged: a row has an unknown filter";
    }
    picture->channels = (int)channels;
    picture->stride = length + 1;
    picture->pixels = rows + 1;
    return scan->depth < 8 ? unpack(picture, reader, scan->depth) : NULL;
}

const char *tseed_png_read(tseed_picture_t *picture, tseed_png_reader_t *reader, tseed_png_t *png,
                           apr_pool_t *pool)
{
    tseed_png_scan_t scan;
    const char *error = tseed_png_scan(&scan, (tseed_png_part_t){png->data, png->length},
                                       png->width, png->height, pool);

    if (error) {
        return error;
    }
    png->length = scan.length;
    png->plain = is_plain(&scan);
    png->deep = 0;
    *picture = (tseed_picture_t){.width = png->width, .height = png->height};
    error = png->plain ? decode_plain(picture, reader, &scan, pool)
                       : tseed_png_libpng(picture, &reader->wide, png, pool);
    if (!error && scan.colour_type == TSEED_PNG_PALETTE) {
        load_palette(picture, reader, &scan);
        error = check_indices(picture, pool);
    }
    return error;
}

void tseed_png_reader_free(tseed_png_reader_t *reader)
{
    libdeflate_free_decompressor(reader->inflater);
    tseed_buffer_free(&reader->stream);
    tseed_buffer_free(&reader->rows);
    tseed_buffer_free(&reader->wide);
}
