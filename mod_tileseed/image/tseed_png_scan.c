/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Judges the frame of a PNG file: a table of chunks, each with the function that takes it in. */
#include "image/tseed_png_scan.h"

#include <apr_strings.h>
#include <libdeflate.h>
#include <string.h>

typedef struct {
    const unsigned char *at; /* its length */
    char type[5];
    tseed_png_part_t data;
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

static const char *take_header(tseed_png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
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

static const char *take_palette(tseed_png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
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
static int transparency_fits(const tseed_png_scan_t *scan, size_t length)
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

static const char *take_transparency(tseed_png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
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

static const char *take_pixels(tseed_png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
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

static const char *take_end(tseed_png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
{
    (void)pool;
    if (chunk->data.length != 0) {
        return "png has an IEND chunk that is not empty";
    }
    return scan->idat_count ? NULL : "png has no pixels: it has no IDAT chunk";
}

static const struct {
    const char *type;
    const char *(*take)(tseed_png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool);
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
static const char *take(tseed_png_scan_t *scan, const chunk_t *chunk, apr_pool_t *pool)
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
static int chunk_find(chunk_t *chunk, tseed_png_part_t file, size_t offset)
{
    size_t left = file.length - offset;

    if (left < TSEED_PNG_FRAME) {
        return -1;
    }
    chunk->at = file.data + offset;
    chunk->data = (tseed_png_part_t){chunk->at + 8, tseed_png_number(chunk->at)};
    memcpy(chunk->type, chunk->at + 4, 4);
    chunk->type[4] = '\0';
    return chunk->data.length > left - TSEED_PNG_FRAME ? -1 : 0;
}

const char *tseed_png_scan(tseed_png_scan_t *scan, tseed_png_part_t file, int width, int height,
                           apr_pool_t *pool)
{
    chunk_t chunk;

    *scan = (tseed_png_scan_t){.width = width, .height = height, .length = TSEED_PNG_SIGNATURE};
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
