/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads PNG (W3C PNG, third edition) as it comes from the network.
 *
 * The reader judges the frame of every kind of PNG before it takes memory: lengths, order and
 * checksums of the chunks that matter, and whether the picture has the size that was asked for.
 * Then libdeflate inflates the kinds that maps have (8 bits a sample or a palette, not interlaced)
 * at once; libpng reads all other kinds. Ancillary chunks other than tRNS are skipped.
 *
 * One thread at a time uses a reader.
 */
#ifndef TSEED_PNG_READ_H
#define TSEED_PNG_READ_H

#include <apr_pools.h>
#include <stdint.h>

#include "image/tseed_buffer.h"
#include "image/tseed_picture.h"

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

/* Four bytes, the most significant first. */
static inline uint32_t tseed_png_number(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

struct libdeflate_decompressor;

/* One thread's; all zero to begin with. */
typedef struct {
    struct libdeflate_decompressor *inflater;
    tseed_buffer_t stream; /* the IDAT chunks joined, when there are several */
    tseed_buffer_t rows;   /* filtered rows, behind a row of zeros */
    tseed_buffer_t wide;   /* indices of less than a byte, one a byte; libpng's pixels */
    tseed_colour_t palette[256];
} tseed_png_reader_t;

typedef struct {
    const unsigned char *data; /* the file */
    size_t length;             /* up to the end of its last chunk, once it has been read */
    int width, height;         /* as expected */
    int plain;                 /* 8 bits or a palette, not interlaced; once it has been read */
    int deep;                  /* 16 bits that 8 bits don't hold; once it has been read */
} tseed_png_t;

/* Whether data begins as a PNG does. */
int tseed_png_is(const unsigned char *data, size_t length);

/* Reads the whole picture. Samples of 16 bits are rounded to 8. Grey samples of fewer bits are
 * widened to 8. A single transparent colour becomes alpha. The picture's memory is the reader's and
 * lasts until the reader is used again. Returns NULL or a sentence in `pool`. */
const char *tseed_png_read(tseed_picture_t *picture, tseed_png_reader_t *reader, tseed_png_t *png,
                           apr_pool_t *pool);

/* Gives its memory back. */
void tseed_png_reader_free(tseed_png_reader_t *reader);

#endif
