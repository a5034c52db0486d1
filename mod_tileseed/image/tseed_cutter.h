/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cutter: an upstream's answer is decoded once and cut into encoded tiles.
 *
 * One cutter a worker thread; it keeps its buffers, so that in steady state nothing is allocated per tile. What it reads comes
 * from the network: sizes are checked before anything is allocated, lengths before anything is read.
 */
#ifndef TSEED_CUTTER_H
#define TSEED_CUTTER_H

#include "layer/tseed_layer.h"

typedef struct tseed_cutter_t tseed_cutter_t;

typedef struct {
    const unsigned char *data; /* the cutter's or the answer's; valid until the next call */
    size_t length;
    int uniform;               /* every pixel has the one colour `rgba` */
    unsigned char rgba[4];
} tseed_encoded_t;

apr_status_t tseed_cutter_create(tseed_cutter_t **cutter);
void tseed_cutter_destroy(tseed_cutter_t *cutter);

/* Takes an answer in: it must be a PNG or JPEG (whatever its label) of exactly width x height pixels. NULL or a sentence for the
 * failure's record ("png of 256 x 256 pixels, expected 1024 x 1024"). `answer` stays valid and untouched until the last cut. `format` is
 * what the tiles will be. */
const char *tseed_cutter_open(tseed_cutter_t *cutter, const unsigned char *answer, size_t length,
                              int width, int height, const tseed_format_t *format,
                              apr_pool_t *pool);

/* Encodes the tile of tile_width x tile_height pixels whose upper left corner is at (x, y) of the answer. NULL or a sentence. */
const char *tseed_cutter_cut(tseed_cutter_t *cutter, tseed_encoded_t *tile, int x, int y,
                             int tile_width, int tile_height, apr_pool_t *pool);

#endif
