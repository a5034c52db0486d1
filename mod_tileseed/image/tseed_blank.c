/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Blank tiles: a transparent picture goes through the cutter, as if an upstream had sent it. So
 * they are in every format what a seed would have made of nothing. */
#include "image/tseed_blank.h"

#include <apr_strings.h>

#include "image/tseed_cutter.h"
#include "image/tseed_png_write.h"

static const char *cut(const char **data, size_t *length, const tseed_answer_t *answer,
                       const tseed_format_t *format, apr_pool_t *pool)
{
    tseed_region_t whole = {0, 0, answer->width, answer->height};
    tseed_encoded_t tile = {0};
    tseed_cutter_t *cutter;
    const char *problem;

    if (tseed_cutter_create(&cutter) != APR_SUCCESS) {
        return TSEED_NO_MEMORY;
    }
    problem = tseed_cutter_open(cutter, answer, format, pool);
    if (!problem) {
        problem = tseed_cutter_cut(cutter, &tile, &whole, pool);
    }
    if (!problem) {
        *data = apr_pmemdup(pool, tile.data, tile.length);
        *length = tile.length;
    }
    tseed_cutter_destroy(cutter);
    return problem;
}

const char *tseed_blank_picture(tseed_answer_t *picture, apr_pool_t *pool)
{
    static const tseed_colour_t transparent = {255, 255, 255, 0};
    const size_t pixels = (size_t)picture->width * (size_t)picture->height;
    const tseed_picture_t blank = {.width = picture->width,
                                   .height = picture->height,
                                   .channels = 1,
                                   .stride = (size_t)picture->width,
                                   .pixels = apr_pcalloc(pool, pixels),
                                   .colours = 1,
                                   .palette = &transparent};
    tseed_png_writer_t writer = {0};

    picture->length = tseed_png_write(&writer, &blank, TSEED_PNG_LEVELS);
    picture->data = picture->length ? apr_pmemdup(pool, writer.file.data, picture->length) : NULL;
    tseed_png_writer_free(&writer);
    return picture->data ? NULL : TSEED_NO_MEMORY;
}

const char *tseed_blank_make(const char **data, size_t *length, const tseed_format_t *format,
                             int width, int height, apr_pool_t *pool)
{
    tseed_answer_t answer = {.width = width, .height = height};
    const char *problem = tseed_blank_picture(&answer, pool);

    return problem ? problem : cut(data, length, &answer, format, pool);
}
