/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tiles with nothing on them: transparent, white in formats that know no transparency. Any thread.
 */
#ifndef TSEED_BLANK_H
#define TSEED_BLANK_H

#include "image/tseed_cutter.h"
#include "layer/tseed_layer.h"

/* A picture of the width and height in it, its data in `pool`. NULL or a sentence. */
const char *tseed_blank_picture(tseed_answer_t *picture, apr_pool_t *pool);

/* An encoded tile of that format and size, in `pool`. NULL or a sentence. */
const char *tseed_blank_make(const char **data, size_t *length, const tseed_format_t *format,
                             int width, int height, apr_pool_t *pool);

#endif
