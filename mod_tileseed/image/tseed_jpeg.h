/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* JPEG by TurboJPEG: read, write, and cut without decoding.
 *
 * A warning of the library is a failure here: it means that a part of the picture is damaged; most
 * often its end is missing.
 *
 * Each codec is used by one thread at a time. Sentences go into `pool`.
 */
#ifndef TSEED_JPEG_H
#define TSEED_JPEG_H

#include <apr_pools.h>

#include "image/tseed_buffer.h"
#include "image/tseed_picture.h"

/* A file cut into tiles of one size, row by row. */
typedef struct {
    tseed_region_t first; /* the upper left tile; width 0: nothing is cut */
    int columns, rows;
    tseed_buffer_t transforms; /* tjtransform, unsigned long and unsigned char *, one a tile */
    tseed_buffer_t lengths;
    tseed_buffer_t tiles;
    tseed_buffer_t data;
} tseed_jpeg_sheet_t;

/* One thread's; all zero to begin with. The handles are TurboJPEG's, made when needed. */
typedef struct {
    void *reader, *writer, *cutter;
    tseed_buffer_t pixels;
    tseed_buffer_t file;
    tseed_jpeg_sheet_t sheet;
} tseed_jpeg_codec_t;

typedef struct {
    const unsigned char *data; /* the file */
    size_t length;
    int width, height;
    int sampling; /* TJSAMP_..., or -1: one that TurboJPEG has no name for */
} tseed_jpeg_t;

/* Whether data begins as a JPEG does. */
int tseed_jpeg_is(const unsigned char *data, size_t length);

/* Reads the head of jpeg->data: it must be of jpeg->width x jpeg->height pixels, grey or colour.
 * Forgets tiles that were cut from another file. Returns NULL or a sentence, as the next two do. */
const char *tseed_jpeg_open(tseed_jpeg_t *jpeg, tseed_jpeg_codec_t *codec, apr_pool_t *pool);

/* Decodes the whole picture to grey or RGB; its memory is the codec's and lasts until its next use.
 */
const char *tseed_jpeg_read(tseed_picture_t *picture, tseed_jpeg_codec_t *codec,
                            const tseed_jpeg_t *jpeg, apr_pool_t *pool);

/* Goes through the whole file, and makes pixels of it only if its sampling has no name. */
const char *tseed_jpeg_check(tseed_jpeg_codec_t *codec, const tseed_jpeg_t *jpeg, apr_pool_t *pool);

/* Cuts a region out without loss, by copying its coefficients. A JPEG can only be read from its
 * beginning, so the first call cuts all tiles of the raster to which the region belongs, and later
 * calls return them. The tile is valid until the next tseed_jpeg_open. Returns its length. 0:
 * decode the file instead, because the region's corner lies inside a block, the sampling has no
 * name, or the file is broken. */
size_t tseed_jpeg_cut(const unsigned char **tile, tseed_jpeg_codec_t *codec,
                      const tseed_jpeg_t *jpeg, const tseed_region_t *region);

/* Writes a grey, RGB or opaque RGBA picture (its alpha is not looked at) into codec->file, colour
 * sampled 4:2:0. Returns the length, 0 when that failed. */
size_t tseed_jpeg_write(tseed_jpeg_codec_t *codec, const tseed_picture_t *picture, int quality);

/* Gives its memory back. */
void tseed_jpeg_codec_free(tseed_jpeg_codec_t *codec);

#endif
