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

/* ---- the frame, chunk by chunk: where its parts are ---- */

/* A part of a file, or all of it. */
typedef struct {
    const unsigned char *data;
    size_t length;
} png_part_t;

typedef struct {
    int width, height;
    int depth; /* bits a sample or an index */
    int colour_type;
    int interlaced;
    png_part_t palette;         /* data of PLTE, empty without one */
    png_part_t transparency;    /* data of tRNS, likewise */
    const unsigned char *first; /* the first IDAT chunk, at its length */
    size_t idat_count, idat_length;
    size_t length; /* of the file up to the end of IEND; before that, up to the next chunk */
} png_scan_t;

typedef struct {
    const unsigned char *at; /* its length */
    char type[5];
    png_part_t data;
} chunk_t;

static int bits_are_allowed(int depth, int colour_type)
{
    switch (colour_type) {
    case TSEED_PNG_GREY:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case TSEED_PNG_PALETTE:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case TSEED_PNG_RGB:
    case TSEED_PNG_GREY_ALPHA:
    case TSEED_PNG_RGBA:
        return depth == 8 || depth == 16;
    default:
        return 0;
    }
}

/* Chunks whose type begins with a small letter may be skipped. */
static int is_ancillary(const chunk_t *chunk)
{
    return chunk->type[0] & 0x20;
}

static const char *take_header(png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
{
    const unsigned char *data = chunk->data.data;
    int width = scan->width;
    int height = scan->height;

    if (scan->depth) {
        return "png has two IHDR chunks";
    }
    if (chunk->data.length != 13) {
        return apr_psprintf(pool, "png has an IHDR chunk of %" APR_SIZE_T_FMT " bytes, expected 13",
                            chunk->data.length);
    }
    if (tseed_png_number(data) != (uint32_t)width ||
        tseed_png_number(data + 4) != (uint32_t)height) {
        return apr_psprintf(pool, "png of %u x %u pixels, expected %d x %d", tseed_png_number(data),
                            tseed_png_number(data + 4), width, height);
    }
    if (!bits_are_allowed(data[8], data[9]) || data[10] || data[11] || data[12] > 1) {
        return apr_psprintf(pool,
                            "png of an unknown kind: depth %d, colour type %d, compression %d, "
                            "filter %d, interlace %d",
                            data[8], data[9], data[10], data[11], data[12]);
    }
    scan->depth = data[8];
    scan->colour_type = data[9];
    scan->interlaced = data[12];
    return NULL;
}

static const char *take_palette(png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
{
    size_t most = scan->colour_type == TSEED_PNG_PALETTE ? (size_t)3 << scan->depth : 768;

    if (scan->palette.data || scan->transparency.data || scan->idat_count) {
        return "png has a second PLTE chunk, or one in the wrong place";
    }
    if (chunk->data.length == 0 || chunk->data.length % 3 || chunk->data.length > most) {
        return apr_psprintf(pool,
                            "png has a palette of %" APR_SIZE_T_FMT " bytes, expected 3 for "
                            "each of 1 to %" APR_SIZE_T_FMT " colours",
                            chunk->data.length, most / 3);
    }
    scan->palette = chunk->data;
    return NULL;
}

/* Bytes of a tRNS chunk: at most an alpha for each colour of a palette, else one colour. */
static int transparency_fits(const png_scan_t *scan, size_t length)
{
    switch (scan->colour_type) {
    case TSEED_PNG_PALETTE:
        return length > 0 && length <= scan->palette.length / 3;
    case TSEED_PNG_GREY:
        return length == 2;
    case TSEED_PNG_RGB:
        return length == 6;
    default:
        return 0;
    }
}

static const char *take_transparency(png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
{
    if (scan->transparency.data || scan->idat_count) {
        return "png has a second tRNS chunk, or one in the wrong place";
    }
    if (!transparency_fits(scan, chunk->data.length)) {
        return apr_psprintf(pool,
                            "png has a tRNS chunk of %" APR_SIZE_T_FMT " bytes, which does "
                            "not go with colour type %d",
                            chunk->data.length, scan->colour_type);
    }
    scan->transparency = chunk->data;
    return NULL;
}

static const char *take_pixels(png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
{
    (void)pool;
    if (scan->colour_type == TSEED_PNG_PALETTE && !scan->palette.data) {
        return "png of indices has no palette before its pixels";
    }
    if (!scan->idat_count++) {
        scan->first = chunk->at;
    } else if (chunk->at !=
               scan->first + scan->idat_length + TSEED_PNG_FRAME * (scan->idat_count - 1)) {
        return "png has other chunks between its IDAT chunks";
    }
    scan->idat_length += chunk->data.length;
    return NULL;
}

static const char *take_end(png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
{
    (void)pool;
    if (chunk->data.length != 0) {
        return "png has an IEND chunk that is not empty";
    }
    return scan->idat_count ? NULL : "png has no pixels: it has no IDAT chunk";
}

static const struct {
    const char *type;
    const char *(*take)(png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool);
} chunk_kinds[] = {
    {"IHDR", take_header}, {"PLTE", take_palette}, {"tRNS", take_transparency},
    {"IDAT", take_pixels}, {"IEND", take_end},
};

static int checksum_is_right(const chunk_t *chunk)
{
    return libdeflate_crc32(0, chunk->at + 4, chunk->data.length + 4) ==
           tseed_png_number(chunk->data.data + chunk->data.length);
}

/* All checksums are looked at: a wrong one may be that of a chunk whose type was damaged. */
static const char *take(png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
{
    if (!scan->depth && strcmp(chunk->type, "IHDR") != 0) {
        return "png does not begin with an IHDR chunk";
    }
    if (!checksum_is_right(chunk)) {
        return apr_psprintf(
            pool, "png is damaged: the checksum of the chunk at byte %" APR_SIZE_T_FMT " is wrong",
            scan->length);
    }
    for (size_t i = 0; i < sizeof(chunk_kinds) / sizeof(chunk_kinds[0]); i++) {
        if (strcmp(chunk->type, chunk_kinds[i].type) == 0) {
            return chunk_kinds[i].take(scan, chunk, pool);
        }
    }
    return is_ancillary(chunk) ? NULL : "png has a critical chunk of an unknown type";
}

/* Finds the chunk at `offset`. Returns 0, or -1 when it is not whole. */
static int chunk_find(chunk_t *chunk, png_part_t file, size_t offset)
{
    size_t left = file.length - offset;

    if (left < TSEED_PNG_FRAME) {
        return -1;
    }
    chunk->at = file.data + offset;
    chunk->data = (png_part_t){chunk->at + 8, tseed_png_number(chunk->at)};
    memcpy(chunk->type, chunk->at + 4, 4);
    chunk->type[4] = '\0';
    return chunk->data.length > left - TSEED_PNG_FRAME ? -1 : 0;
}

/* Reads nothing outside `file`, takes no memory but for sentences. The picture must be of
 * width x height pixels. Returns NULL or a sentence in `pool`. */
static const char *png_scan(png_scan_t *scan, png_part_t file, int width, int height,
                            apr_pool_t *pool)
{
    chunk_t chunk;

    *scan = (png_scan_t){.width = width, .height = height, .length = TSEED_PNG_SIGNATURE};
    do {
        const char *error;

        if (chunk_find(&chunk, file, scan->length) != 0) {
            return apr_psprintf(pool, "png is cut off after %" APR_SIZE_T_FMT " bytes",
                                file.length);
        }
        error = take(scan, &chunk, pool);
        if (error) {
            return error;
        }
        scan->length += TSEED_PNG_FRAME + chunk.data.length;
    } while (strcmp(chunk.type, "IEND") != 0);
    return NULL;
}

int tseed_png_is(const unsigned char *data, size_t length)
{
    return length >= TSEED_PNG_SIGNATURE && memcmp(data, TSEED_PNG_MAGIC, TSEED_PNG_SIGNATURE) == 0;
}

static int is_plain(const png_scan_t *scan)
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
static const char *join(png_part_t *stream, tseed_png_reader_t *reader, const png_scan_t *scan)
{
    const unsigned char *chunk = scan->first;
    size_t joined = 0;

    if (scan->idat_count == 1) {
        *stream = (png_part_t){scan->first + 8, scan->idat_length};
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
    *stream = (png_part_t){reader->stream.data, joined};
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
                                const png_scan_t *scan, apr_pool_t *pool)
{
    png_part_t stream;
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
                         const png_scan_t *scan)
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
                                const png_scan_t *scan, apr_pool_t *pool)
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
    png_scan_t scan;
    const char *error =
        png_scan(&scan, (png_part_t){png->data, png->length}, png->width, png->height, pool);

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
