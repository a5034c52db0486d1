/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WebP by libwebp: read and written, lossy or lossless. A codec is used by one thread at a time. */
#ifndef TSEED_WEBP_H
#define TSEED_WEBP_H

#include <apr_pools.h>

#include "image/tseed_buffer.h"
#include "image/tseed_picture.h"
#include "layer/tseed_layer.h"

/* One thread's; all zero to begin with. */
typedef struct {
    tseed_buffer_t pixels;
    tseed_buffer_t file;
} tseed_webp_codec_t;

typedef struct {
    const unsigned char *data; /* the file */
    size_t length;
    int width, height; /* as expected */
} tseed_webp_t;

/* Whether data begins as a WebP does. */
int tseed_webp_is(const unsigned char *data, size_t length);

/* Decodes the whole picture, which must be no animation, to RGB, or RGBA if the file has an alpha;
 * its memory is the codec's and lasts until its next use. Returns NULL or a sentence. */
const char *tseed_webp_read(tseed_picture_t *picture, tseed_webp_codec_t *codec,
                            const tseed_webp_t *webp, apr_pool_t *pool);

/* Writes an RGB or RGBA picture into codec->file, by the format's quality or lossless, with the
 * effort of its level. Lossless means every pixel, also the colour of what can't be seen. Returns
 * the length, 0 when that failed. */
size_t tseed_webp_write(tseed_webp_codec_t *codec, const tseed_picture_t *picture,
                        const tseed_format_t *format);

/* Gives its memory back. */
void tseed_webp_codec_free(tseed_webp_codec_t *codec);

#endif
