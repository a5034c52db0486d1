/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Decoded pixels, and views of parts of them.
 *
 * A picture owns nothing: its maker owns the memory of pixels and palette. A view is a picture
 * whose rows lie in a larger picture, so cutting copies no pixel. All functions are pure.
 */
#ifndef TSEED_PICTURE_H
#define TSEED_PICTURE_H

#include <stddef.h>

typedef struct {
    unsigned char r, g, b, a;
} tseed_colour_t;

typedef struct {
    int width, height;
    int channels;  /* bytes a pixel: 1 grey or index, 2 grey and alpha, 3 RGB, 4 RGBA */
    size_t stride; /* bytes from one row to the next */
    const unsigned char *pixels;
    int colours;                   /* entries of the palette, 0: the pixels are no indices */
    const tseed_colour_t *palette; /* every index lies in it */
} tseed_picture_t;

/* A part of a picture; (x, y) is its upper left pixel. */
typedef struct {
    int x, y, width, height;
} tseed_region_t;

/* The region, which must lie inside. */
tseed_picture_t tseed_picture_view(const tseed_picture_t *picture, const tseed_region_t *region);

/* The pixels of a row, from the top; memory of the picture. */
static inline const unsigned char *tseed_picture_row(const tseed_picture_t *picture, int y)
{
    return picture->pixels + (size_t)y * picture->stride;
}

/* The colour of the pixel at the upper left corner. */
tseed_colour_t tseed_picture_corner(const tseed_picture_t *picture);

/* Every pixel has the same value. */
int tseed_picture_is_uniform(const tseed_picture_t *picture);

/* No pixel lets the ground shine through. */
int tseed_picture_is_opaque(const tseed_picture_t *picture);

/* The same picture as RGBA; `room` holds 4 x width x height bytes and becomes its pixels. */
tseed_picture_t tseed_picture_to_rgba(unsigned char *room, const tseed_picture_t *picture);

/* RGBA without its alpha; `room` holds 3 x width x height bytes and may be the pixels themselves
 * when their rows lie without gaps. */
tseed_picture_t tseed_picture_drop_alpha(unsigned char *room, const tseed_picture_t *picture);

/* Lays gapless RGBA pixels on white and makes them opaque. */
void tseed_picture_flatten(unsigned char *rgba, size_t pixels);

#endif
