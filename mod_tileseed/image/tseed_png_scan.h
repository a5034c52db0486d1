/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Judges the frame of a PNG file, chunk by chunk, and says where its parts are. Pure functions. */
#ifndef TSEED_PNG_SCAN_H
#define TSEED_PNG_SCAN_H

#include <apr_pools.h>
#include <stdint.h>

/* The signature with which a file begins, and its length in bytes. */
#define TSEED_PNG_MAGIC     "\x89PNG\r\n\x1a\n"
#define TSEED_PNG_SIGNATURE 8

/* Bytes of a chunk's length, type and checksum. */
#define TSEED_PNG_FRAME 12

/* Colour types, the PNG standard's numbers. */
enum {
    TSEED_PNG_GREY = 0,
    TSEED_PNG_RGB = 2,
    TSEED_PNG_PALETTE = 3,
    TSEED_PNG_GREY_ALPHA = 4,
    TSEED_PNG_RGBA = 6
};

/* A part of a file, or all of it. */
typedef struct {
    const unsigned char *data;
    size_t length;
} tseed_png_part_t;

typedef struct {
    int width, height;
    int depth; /* bits a sample or an index */
    int colour_type;
    int interlaced;
    tseed_png_part_t palette;      /* data of PLTE, empty without one */
    tseed_png_part_t transparency; /* data of tRNS, likewise */
    const unsigned char *first;    /* the first IDAT chunk, at its length */
    size_t idat_count, idat_length;
    size_t length; /* of the file up to the end of IEND; before that, up to the next chunk */
} tseed_png_scan_t;

/* Four bytes, the most significant first. */
static inline uint32_t tseed_png_number(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Reads nothing outside `file`, takes no memory but for sentences. The picture must be of
 * width x height pixels. Returns NULL or a sentence in `pool`. */
const char *tseed_png_scan(tseed_png_scan_t *scan, tseed_png_part_t file, int width, int height,
                           apr_pool_t *pool);

#endif
