/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Views, tests and conversions of decoded pixels. */
#include "image/tseed_picture.h"

#include <string.h>

tseed_picture_t tseed_picture_view(const tseed_picture_t *picture, const tseed_region_t *region)
{
    tseed_picture_t view = *picture;

    view.pixels =
        tseed_picture_row(picture, region->y) + (size_t)region->x * (size_t)picture->channels;
    view.width = region->width;
    view.height = region->height;
    return view;
}

tseed_colour_t tseed_picture_corner(const tseed_picture_t *picture)
{
    const unsigned char *pixel = picture->pixels;

    if (picture->colours) {
        return picture->palette[*pixel];
    }
    switch (picture->channels) {
    case 1:
        return (tseed_colour_t){pixel[0], pixel[0], pixel[0], 255};
    case 2:
        return (tseed_colour_t){pixel[0], pixel[0], pixel[0], pixel[1]};
    case 3:
        return (tseed_colour_t){pixel[0], pixel[1], pixel[2], 255};
    default:
        return (tseed_colour_t){pixel[0], pixel[1], pixel[2], pixel[3]};
    }
}

/* A row that equals itself one pixel further on has one value; the others need only equal it. */
int tseed_picture_is_uniform(const tseed_picture_t *picture)
{
    size_t channels = (size_t)picture->channels;
    size_t length = (size_t)picture->width * channels;

    if (memcmp(picture->pixels, picture->pixels + channels, length - channels) != 0) {
        return 0;
    }
    for (int y = 1; y < picture->height; y++) {
        if (memcmp(picture->pixels, tseed_picture_row(picture, y), length) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Unused colours of the palette count for nothing. */
static int is_opaque_indexed(const tseed_picture_t *picture)
{
    unsigned char opaque[256];
    int all = 1;

    for (int i = 0; i < picture->colours; i++) {
        opaque[i] = picture->palette[i].a == 255;
        all &= opaque[i];
    }
    for (int y = 0; !all && y < picture->height; y++) {
        const unsigned char *row = tseed_picture_row(picture, y);

        for (int x = 0; x < picture->width; x++) {
            if (!opaque[row[x]]) {
                return 0;
            }
        }
    }
    return 1;
}

/* Ands sixteen bytes at a time, as the compiler's vectors do it: whole pixels, so each lane is
 * always of the same channel. */
static int is_opaque_row(const unsigned char *row, size_t length, size_t channels)
{
    typedef unsigned char bytes_t __attribute__((vector_size(16)));
    bytes_t lanes = ~(bytes_t){0};
    unsigned char all = 255;
    size_t i = 0;

    for (; i + sizeof(lanes) <= length; i += sizeof(lanes)) {
        bytes_t bytes;

        memcpy(&bytes, row + i, sizeof(bytes));
        lanes &= bytes;
    }
    for (; i < length; i += channels) {
        all &= row[i + channels - 1];
    }
    for (i = channels - 1; i < sizeof(lanes); i += channels) {
        all &= lanes[i];
    }
    return all == 255;
}

int tseed_picture_is_opaque(const tseed_picture_t *picture)
{
    size_t channels = (size_t)picture->channels;

    if (channels == 1 || channels == 3) {
        return is_opaque_indexed(picture);
    }
    for (int y = 0; y < picture->height; y++) {
        if (!is_opaque_row(tseed_picture_row(picture, y), channels * (size_t)picture->width,
                           channels)) {
            return 0;
        }
    }
    return 1;
}

static void row_from_palette(unsigned char *to, const unsigned char *from, int width,
                             const tseed_colour_t *palette)
{
    for (int x = 0; x < width; x++) {
        memcpy(to + 4 * x, &palette[from[x]], 4);
    }
}

/* `grey` is where red, green and blue are alike, `opaque` where there is no alpha. */
static void row_from_samples(unsigned char *to, const unsigned char *from, int width, int channels)
{
    int grey = channels < 3;
    int opaque = channels == 1 || channels == 3;

    for (int x = 0; x < width; x++, from += channels, to += 4) {
        to[0] = from[0];
        to[1] = from[grey ? 0 : 1];
        to[2] = from[grey ? 0 : 2];
        to[3] = opaque ? 255 : from[channels - 1];
    }
}

static tseed_picture_t gapless(const tseed_picture_t *picture, const unsigned char *pixels,
                               int channels)
{
    return (tseed_picture_t){.width = picture->width,
                             .height = picture->height,
                             .channels = channels,
                             .stride = (size_t)picture->width * (size_t)channels,
                             .pixels = pixels};
}

tseed_picture_t tseed_picture_to_rgba(unsigned char *room, const tseed_picture_t *picture)
{
    tseed_picture_t rgba = gapless(picture, room, 4);

    for (int y = 0; y < picture->height; y++) {
        unsigned char *to = room + (size_t)y * rgba.stride;
        const unsigned char *from = tseed_picture_row(picture, y);

        if (picture->colours) {
            row_from_palette(to, from, picture->width, picture->palette);
        } else {
            row_from_samples(to, from, picture->width, picture->channels);
        }
    }
    return rgba;
}

tseed_picture_t tseed_picture_drop_alpha(unsigned char *room, const tseed_picture_t *picture)
{
    unsigned char *to = room;

    for (int y = 0; y < picture->height; y++) {
        const unsigned char *from = tseed_picture_row(picture, y);

        /* one move of four bytes; the next pixel goes over the fourth */
        for (int x = 1; x < picture->width; x++, from += 4, to += 3) {
            memcpy(to, from, 4);
        }
        memcpy(to, from, 3);
        to += 3;
    }
    return gapless(picture, room, 3);
}

static unsigned char on_white(unsigned sample, unsigned alpha)
{
    return (unsigned char)((sample * alpha + 255 * (255 - alpha) + 127) / 255);
}

void tseed_picture_flatten(unsigned char *rgba, size_t pixels)
{
    for (unsigned char *p = rgba; p < rgba + 4 * pixels; p += 4) {
        if (p[3] != 255) {
            p[0] = on_white(p[0], p[3]);
            p[1] = on_white(p[1], p[3]);
            p[2] = on_white(p[2], p[3]);
            p[3] = 255;
        }
    }
}
