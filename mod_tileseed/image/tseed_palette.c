/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Exact palettes: what a tile uses of one, and what a tile without one needs. */
#include "image/tseed_palette.h"

#include <stdint.h>
#include <string.h>

/* Room for 256 colours without long searches. */
#define SLOT_BITS 10
#define SLOTS     (1 << SLOT_BITS)

/* More colours than that need a byte a pixel however few they are; a palette with so many to spare
 * stays as it is: three bytes each are less than the time of another pass over the pixels. */
#define BYTE_COLOURS  16
#define SPARE_COLOURS 64
#define GLANCE        16 /* rows, after which it may be known that the palette stays */

static size_t pixels_of(const tseed_picture_t *picture)
{
    return (size_t)picture->width * (size_t)picture->height;
}

static tseed_picture_t indexed_picture(const tseed_palette_room_t *palette,
                                       const tseed_picture_t *picture, int colours)
{
    return (tseed_picture_t){.width = picture->width,
                             .height = picture->height,
                             .channels = 1,
                             .stride = (size_t)picture->width,
                             .pixels = palette->indices.data,
                             .colours = colours,
                             .palette = palette->colours};
}

/* Marks the colours that the pixels of `rows` rows use. Each of four tables gets every fourth
 * pixel: joining four tables takes less time than stores that wait for an earlier store to the same
 * address. */
static void find_used(unsigned char used[TSEED_PALETTE_MAX], const tseed_picture_t *picture, int y,
                      int rows)
{
    unsigned char met[4][TSEED_PALETTE_MAX] = {{0}};
    int width = picture->width;

    for (int end = y + rows; y < end; y++) {
        const unsigned char *row = tseed_picture_row(picture, y);
        int x = 0;

        for (; x + 4 <= width; x += 4) {
            met[0][row[x]] = met[1][row[x + 1]] = 1;
            met[2][row[x + 2]] = met[3][row[x + 3]] = 1;
        }
        for (; x < width; x++) {
            met[0][row[x]] = 1;
        }
    }
    for (int i = 0; i < TSEED_PALETTE_MAX; i++) {
        used[i] |= met[0][i] | met[1][i] | met[2][i] | met[3][i];
    }
}

static int count_used(const unsigned char used[TSEED_PALETTE_MAX])
{
    int count = 0;

    for (int i = 0; i < TSEED_PALETTE_MAX; i++) {
        count += used[i];
    }
    return count;
}

/* Whether the palette may stay as it is; if not, all colours in use are marked. */
static int may_stay(unsigned char used[TSEED_PALETTE_MAX], const tseed_picture_t *picture)
{
    int stays = 0;

    memset(used, 0, TSEED_PALETTE_MAX);
    for (int y = 0; y < picture->height && !stays; y += GLANCE) {
        int left = picture->height - y;
        int count;

        find_used(used, picture, y, left < GLANCE ? left : GLANCE);
        count = count_used(used);
        stays = count > BYTE_COLOURS && picture->colours - count <= SPARE_COLOURS;
    }
    return stays;
}

/* Numbers the used colours, translucent ones first, and says where each goes; returns how many. */
static int number_used(unsigned char moved[TSEED_PALETTE_MAX], tseed_colour_t *colours,
                       const unsigned char used[TSEED_PALETTE_MAX], const tseed_colour_t *palette)
{
    int count = 0;

    for (int opaque = 0; opaque <= 1; opaque++) {
        for (int i = 0; i < TSEED_PALETTE_MAX; i++) {
            if (used[i] && (palette[i].a == 255) == opaque) {
                moved[i] = (unsigned char)count;
                colours[count++] = palette[i];
            }
        }
    }
    return count;
}

static void move_pixels(unsigned char *to, const tseed_picture_t *picture,
                        const unsigned char moved[TSEED_PALETTE_MAX])
{
    int width = picture->width;

    for (int y = 0; y < picture->height; y++, to += width) {
        const unsigned char *row = tseed_picture_row(picture, y);

        for (int x = 0; x < width; x++) {
            to[x] = moved[row[x]];
        }
    }
}

tseed_colours_t tseed_palette_shrink(tseed_picture_t *indexed, tseed_palette_room_t *palette,
                                     const tseed_picture_t *picture)
{
    unsigned char used[TSEED_PALETTE_MAX], moved[TSEED_PALETTE_MAX];
    int count;

    if (may_stay(used, picture)) {
        *indexed = *picture;
        return TSEED_COLOURS_DONE;
    }
    if (tseed_buffer_reserve(&palette->indices, pixels_of(picture)) != 0) {
        return TSEED_COLOURS_NO_MEMORY;
    }
    count = number_used(moved, palette->colours, used, picture->palette);
    move_pixels(palette->indices.data, picture, moved);
    *indexed = indexed_picture(palette, picture, count);
    return TSEED_COLOURS_DONE;
}

/* The colours met so far, found by a hash of their four bytes. */
typedef struct {
    int count, most;
    tseed_colour_t *colours;
    uint32_t keys[SLOTS];
    int16_t indices[SLOTS]; /* -1: a free slot */
} finder_t;

/* Returns the colour's index, a new one if need be, or -1 when that would be one too many. */
static int finder_index(finder_t *finder, uint32_t key)
{
    uint32_t slot = key * 2654435769u >> (32 - SLOT_BITS);

    while (finder->indices[slot] >= 0) {
        if (finder->keys[slot] == key) {
            return finder->indices[slot];
        }
        slot = (slot + 1) % SLOTS;
    }
    if (finder->count == finder->most) {
        return -1;
    }
    finder->keys[slot] = key;
    finder->indices[slot] = (int16_t)finder->count;
    memcpy(&finder->colours[finder->count], &key, sizeof(key));
    return finder->count++;
}

/* The pixel's RGBA as it lies in a tseed_colour_t. `channels` is a constant where this is inlined.
 */
static inline uint32_t pixel_key(const unsigned char *pixel, int channels)
{
    int grey = channels < 3;
    int opaque = channels == 1 || channels == 3;
    tseed_colour_t colour = {pixel[0], pixel[grey ? 0 : 1], pixel[grey ? 0 : 2],
                             opaque ? 255 : pixel[channels - 1]};
    uint32_t key;

    memcpy(&key, &colour, sizeof(key));
    return key;
}

/* Most pixels equal their left neighbour, which saves the search. */
static inline __attribute__((always_inline)) int
find_row(finder_t *finder, unsigned char *to, const unsigned char *row, int width, int channels)
{
    uint32_t last = 0;
    int index = -1;

    for (int x = 0; x < width; x++, row += channels) {
        uint32_t key = pixel_key(row, channels);

        if (key != last || index < 0) {
            index = finder_index(finder, key);
            last = key;
        }
        if (index < 0) {
            return -1;
        }
        to[x] = (unsigned char)index;
    }
    return 0;
}

static int find_row_of(finder_t *finder, unsigned char *to, const unsigned char *row,
                       const tseed_picture_t *picture)
{
    switch (picture->channels) {
    case 1:
        return find_row(finder, to, row, picture->width, 1);
    case 2:
        return find_row(finder, to, row, picture->width, 2);
    case 3:
        return find_row(finder, to, row, picture->width, 3);
    default:
        return find_row(finder, to, row, picture->width, 4);
    }
}

static int is_ordered(const tseed_picture_t *indexed)
{
    for (int i = 1; i < indexed->colours; i++) {
        if (indexed->palette[i].a != 255 && indexed->palette[i - 1].a == 255) {
            return 0;
        }
    }
    return 1;
}

void tseed_palette_order(tseed_picture_t *indexed, tseed_palette_room_t *palette)
{
    tseed_colour_t found[TSEED_PALETTE_MAX];
    unsigned char moved[TSEED_PALETTE_MAX];
    size_t pixels = pixels_of(indexed);
    int count = 0;

    if (is_ordered(indexed)) {
        return;
    }
    memcpy(found, palette->colours, sizeof(found));
    for (int opaque = 0; opaque <= 1; opaque++) {
        for (int i = 0; i < indexed->colours; i++) {
            if ((found[i].a == 255) == opaque) {
                moved[i] = (unsigned char)count;
                palette->colours[count++] = found[i];
            }
        }
    }
    for (size_t i = 0; i < pixels; i++) {
        palette->indices.data[i] = moved[palette->indices.data[i]];
    }
}

tseed_colours_t tseed_palette_find(tseed_picture_t *indexed, tseed_palette_room_t *palette,
                                   const tseed_picture_t *picture, int most)
{
    finder_t finder;

    if (tseed_buffer_reserve(&palette->indices, pixels_of(picture)) != 0) {
        return TSEED_COLOURS_NO_MEMORY;
    }
    finder.count = 0;
    finder.most = most;
    finder.colours = palette->colours;
    memset(finder.indices, 0xff, sizeof(finder.indices));
    for (int y = 0; y < picture->height; y++) {
        unsigned char *to = palette->indices.data + (size_t)y * (size_t)picture->width;

        if (find_row_of(&finder, to, tseed_picture_row(picture, y), picture) != 0) {
            return TSEED_COLOURS_TOO_MANY;
        }
    }
    *indexed = indexed_picture(palette, picture, finder.count);
    tseed_palette_order(indexed, palette);
    return TSEED_COLOURS_DONE;
}

void tseed_palette_free(tseed_palette_room_t *palette)
{
    tseed_buffer_free(&palette->indices);
    tseed_buffer_free(&palette->histogram);
}
