/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutter: an upstream's answer is decoded once and cut into encoded tiles.
 *
 * Each worker thread has one cutter, which keeps its buffers, so that in the long run it allocates
 * nothing per tile. Answers come from the network: the cutter checks sizes before it allocates, and
 * lengths before it reads.
 *
 * PNG and lossless WebP tiles equal the answer pixel for pixel, at 8 bits a sample. A PNG of 16
 * bits that is passed on keeps them.
 *
 * JPEG tiles of a JPEG answer are cut from its coefficients when tile and gutter are multiples of
 * its blocks (16 pixels, 8 for 4:4:4): `quality` has no effect then, and nothing is lost. Other
 * JPEG tiles are decoded and encoded once. JPEG knows no transparency: transparent pixels become
 * white. An answer that is itself the only wanted tile is checked, stripped (tseed_strip.h) and
 * passed on.
 *
 * Sentences go into the pool that a call takes.
 */
#ifndef TSEED_CUTTER_H
#define TSEED_CUTTER_H

#include "image/tseed_picture.h"
#include "layer/tseed_layer.h"

typedef struct tseed_cutter_t tseed_cutter_t;

typedef struct {
    const unsigned char *data; /* the cutter's or the answer's; valid until the next call */
    size_t length;
    int uniform; /* every pixel has the one colour `rgba`; not found out where nothing is decoded */
    unsigned char rgba[4];
} tseed_encoded_t;

/* A cutter, which the caller destroys. APR_ENOMEM: there is no memory. */
apr_status_t tseed_cutter_create(tseed_cutter_t **cutter);
void tseed_cutter_destroy(tseed_cutter_t *cutter);

/* An upstream's answer, and the size in pixels that was asked for. */
typedef struct {
    const unsigned char *data;
    size_t length;
    int width, height;
} tseed_answer_t;

/* Takes an answer in: it must be a PNG, JPEG or WebP, whatever its Content-Type, of exactly the
 * pixels that were asked for. The caller keeps its data valid and unchanged until the last cut.
 * `format` is the tiles' format. NULL, or a sentence for the failure's record ("png of 256 x 256
 * pixels, expected 1024 x 1024"). */
const char *tseed_cutter_open(tseed_cutter_t *cutter, const tseed_answer_t *answer,
                              const tseed_format_t *format, apr_pool_t *pool);

/* Whether bytes begin as a tile of the format does. Any thread. */
int tseed_cutter_begins(const tseed_format_t *format, const unsigned char *data, size_t length);

/* Decodes the answer that was opened last. The picture is the cutter's, until the next call. NULL
 * or a sentence. */
const char *tseed_cutter_decode(tseed_picture_t *picture, tseed_cutter_t *cutter, apr_pool_t *pool);

/* Takes in a picture instead of an answer. The caller keeps its pixels valid until the last cut. */
void tseed_cutter_take(tseed_cutter_t *cutter, const tseed_picture_t *picture,
                       const tseed_format_t *format);

/* Encodes the tile at `region` of the answer that was opened last, without a failure; it must lie
 * inside. NULL or a sentence. A broken JPEG may be found out only here, by the first call. */
const char *tseed_cutter_cut(tseed_cutter_t *cutter, tseed_encoded_t *tile,
                             const tseed_region_t *region, apr_pool_t *pool);

#endif
