/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pictures for the tests of image/: files of tests/data/image, and PNG written and read by libpng.
 */
#ifndef IMAGE_FIXTURE_H
#define IMAGE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/tseed_picture.h"

typedef struct {
    unsigned char *data;
    size_t length;
} file_t;

/* A kind of PNG to be written by libpng. */
typedef struct {
    int width, height, colour_type, depth;
    int interlace;    /* PNG_INTERLACE_... */
    int filters;      /* PNG_FILTER_... or PNG_ALL_FILTERS */
    int transparency; /* with a tRNS chunk */
    int chunk_size;   /* of an IDAT at most, 0: libpng's choice */
} png_kind_t;

static apr_pool_t *pool;

static inline int image_setup(void **state)
{
    (void)state;
    apr_initialize();
    return apr_pool_create(&pool, NULL);
}

static inline int image_teardown(void **state)
{
    (void)state;
    apr_pool_destroy(pool);
    apr_terminate();
    return 0;
}

/* A copy of exactly that size, so that a sanitizer sees a byte read too far. free() it. */
static inline unsigned char *exact_copy(const unsigned char *data, size_t length)
{
    unsigned char *copy = malloc(length ? length : 1);

    memcpy(copy, data, length);
    return copy;
}

static inline file_t load(const char *name)
{
    const char *folder = getenv("TSEED_TEST_DATA");
    const char *path = apr_pstrcat(pool, folder ? folder : "tests/data", "/image/", name, NULL);
    FILE *stream = fopen(path, "rb");
    file_t file = {apr_palloc(pool, 1 << 16), 0};

    assert_non_null(stream);
    file.length = fread(file.data, 1, 1 << 16, stream);
    fclose(stream);
    assert_in_range(file.length, 1, (1 << 16) - 1);
    return file;
}

static inline void file_append(png_structp png, png_bytep data, size_t length)
{
    file_t *file = png_get_io_ptr(png);
    unsigned char *grown = apr_palloc(pool, file->length + length);

    if (file->length) {
        memcpy(grown, file->data, file->length);
    }
    memcpy(grown + file->length, data, length);
    file->data = grown;
    file->length += length;
}

/* Repeats, ramps and leaps: something for each filter. The same for the same arguments. */
static inline unsigned char sample(int x, int y, int channel)
{
    unsigned leap = (unsigned)(x / 5 * 31 + y / 3 * 17 + channel * 7) * 2654435761u >> 24;

    return (unsigned char)((x + y) % 7 < 4 ? leap : (unsigned)(x * 3 + y * 2 + channel * 40));
}

static inline void set_colours(png_structp png, png_infop info, const png_kind_t *kind)
{
    png_color palette[256];
    png_byte alpha[256];
    png_color_16 transparent = {0, sample(3, 3, 0), sample(3, 3, 1), sample(3, 3, 2), 0};
    int colours = 1 << kind->depth;

    for (int i = 0; kind->colour_type == PNG_COLOR_TYPE_PALETTE && i < colours; i++) {
        palette[i] = (png_color){sample(i, 1, 0), sample(i, 2, 1), sample(i, 3, 2)};
        alpha[i] = (png_byte)(i * 29);
    }
    if (kind->colour_type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, colours);
    }
    transparent.gray = kind->depth == 16 ? 0x1234 : 1;
    if (kind->transparency && kind->colour_type == PNG_COLOR_TYPE_PALETTE) {
        png_set_tRNS(png, info, alpha, colours - 1, NULL);
    } else if (kind->transparency) {
        png_set_tRNS(png, info, NULL, 0, &transparent);
    }
}

static inline file_t write_png(const png_kind_t *kind)
{
    file_t file = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_byte row[4096];
    int passes;

    png_set_write_fn(png, &file, file_append, NULL);
    png_set_IHDR(png, info, (png_uint_32)kind->width, (png_uint_32)kind->height, kind->depth,
                 kind->colour_type, kind->interlace, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, kind->filters);
    if (kind->chunk_size) {
        png_set_compression_buffer_size(png, (size_t)kind->chunk_size);
    }
    set_colours(png, info, kind);
    png_write_info(png, info);
    passes = png_set_interlace_handling(png);
    for (int i = 0; i < passes * kind->height; i++) {
        for (int x = 0; x < (int)sizeof(row); x++) {
            row[x] = sample(x / 4, i % kind->height, x % 4);
        }
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return file;
}

static inline void file_take(png_structp png, png_bytep to, size_t length)
{
    file_t *file = png_get_io_ptr(png);

    assert_true(length <= file->length);
    memcpy(to, file->data, length);
    file->data += length;
    file->length -= length;
}

/* What libpng makes of the file, as RGBA of 8 bits; any error of libpng's ends the program. */
static inline unsigned char *read_png(file_t file, int *width, int *height)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    unsigned char *rgba;
    png_bytep *rows;

    png_set_read_fn(png, &file, file_take);
    png_read_info(png, info);
    *width = (int)png_get_image_width(png, info);
    *height = (int)png_get_image_height(png, info);
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    rgba = apr_palloc(pool, 4 * (size_t)*width * (size_t)*height);
    rows = apr_palloc(pool, (size_t)*height * sizeof(*rows));
    for (int y = 0; y < *height; y++) {
        rows[y] = rgba + 4 * (size_t)*width * (size_t)y;
    }
    png_read_image(png, rows);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
    return rgba;
}

static inline unsigned char *rgba_of(const tseed_picture_t *picture)
{
    unsigned char *rgba = apr_palloc(pool, 4 * (size_t)picture->width * (size_t)picture->height);

    tseed_picture_to_rgba(rgba, picture);
    return rgba;
}

/* The region of a gapless RGBA picture that is `width` pixels wide. */
static inline unsigned char *crop(const unsigned char *rgba, int width,
                                  const tseed_region_t *region)
{
    size_t row = 4 * (size_t)region->width;
    unsigned char *cropped = apr_palloc(pool, row * (size_t)region->height);

    for (int y = 0; y < region->height; y++) {
        memcpy(cropped + (size_t)y * row,
               rgba + 4 * ((size_t)(region->y + y) * (size_t)width + (size_t)region->x), row);
    }
    return cropped;
}

/* The file has exactly those pixels, says libpng. */
static inline void assert_png_pixels(file_t file, const unsigned char *rgba, int width, int height)
{
    int read_width, read_height;
    unsigned char *read = read_png(file, &read_width, &read_height);

    assert_int_equal(read_width, width);
    assert_int_equal(read_height, height);
    assert_memory_equal(read, rgba, 4 * (size_t)width * (size_t)height);
}

#endif
