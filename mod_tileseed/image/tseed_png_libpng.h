/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads the rarer kinds of PNG by libpng, and any other as well: 16 bits, interlaced, grey of less
 * than 8 bits, a transparent colour without a palette. Any thread. */
#ifndef TSEED_PNG_LIBPNG_H
#define TSEED_PNG_LIBPNG_H

#include "image/tseed_png_read.h"

/* Fills in png->deep and the picture's channels, stride and pixels (in `room`); the
 * indices of a palette stay indices, one a byte. tseed_png_scan must have found nothing wrong with
 * the file. Returns NULL or a sentence in `pool`. */
const char *tseed_png_libpng(tseed_picture_t *picture, tseed_buffer_t *room, tseed_png_t *png,
                             apr_pool_t *pool);

#endif
