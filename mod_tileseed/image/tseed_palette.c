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

/* Brings the translucent colours of a picture that was made here to the front. */
static void palette_order(tseed_picture_t *indexed, tseed_palette_room_t *palette)
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
    palette_order(indexed, palette);
    return TSEED_COLOURS_DONE;
}

void tseed_palette_free(tseed_palette_room_t *palette)
{
    tseed_buffer_free(&palette->indices);
    tseed_buffer_free(&palette->histogram);
}

/* The best 256 colours of a picture that has more, by cutting its colours into boxes.
 *
 * Like Heckbert's median cut (Color image quantization for frame buffer display, 1982), but the box
 * that is cut is the one with the largest squared error along one axis, and it is cut at the mean.
 * Colours are multiplied by their alpha here, so that the colour of what can't be seen counts for
 * nothing. Opaque, translucent and transparent colours never share a box. There is no dithering: it
 * costs maps their flat areas, and bytes.
 *
 * Why not a library: libimagequant, which knows alpha, is under the GPL. 256 x 256 pixels take, in
 * ms of CPU and mean squared error a sample (pictures of tests/bench, made opaque):
 *
 *                               a map          a photograph
 *      here                     0.7   0.45     0.8   0.7
 *      Pillow's median cut      6.4   2.9      9.1   0.9
 *      Pillow's octree          0.6   3.1      0.5   7.2
 */

enum { ALPHA = 3, AXES = 4 };

typedef struct {
    unsigned char value[AXES]; /* RGB multiplied by alpha, alpha */
    unsigned char box;
    uint32_t pixels;
} entry_t;

/* The different colours of a picture; all arrays lie in the palette's histogram buffer. */
typedef struct {
    uint32_t *slots; /* hash of a colour -> its entry + 1, 0: free */
    uint32_t mask;
    entry_t *entries;
    uint32_t *order;    /* entries by box */
    uint32_t *entry_of; /* by pixel */
    uint32_t count;
} histogram_t;

typedef struct {
    uint32_t first, count; /* in `order` */
    uint64_t pixels;
    uint64_t sum[AXES];
    double error; /* squared, along `axis`, where it is largest */
    int axis;
} box_t;

typedef struct {
    histogram_t histogram;
    box_t boxes[TSEED_PALETTE_MAX];
    int count;
} cutting_t;

static int histogram_reserve(histogram_t *histogram, tseed_buffer_t *buffer, size_t pixels)
{
    size_t slots = 1;
    size_t each =
        sizeof(*histogram->entries) + sizeof(*histogram->order) + sizeof(*histogram->entry_of);

    while (slots < 2 * pixels) {
        slots *= 2;
    }
    if (tseed_buffer_reserve(buffer, slots * sizeof(*histogram->slots) + pixels * each) != 0) {
        return -1;
    }
    histogram->slots = (uint32_t *)(void *)buffer->data;
    histogram->mask = (uint32_t)(slots - 1);
    histogram->order = histogram->slots + slots;
    histogram->entry_of = histogram->order + pixels;
    histogram->entries = (entry_t *)(void *)(histogram->entry_of + pixels);
    histogram->count = 0;
    memset(histogram->slots, 0, slots * sizeof(*histogram->slots));
    return 0;
}

static uint32_t histogram_find(histogram_t *histogram, const unsigned char value[AXES])
{
    uint32_t key;
    uint32_t slot;

    memcpy(&key, value, sizeof(key));
    slot = (key * 2654435769u) >> 7 & histogram->mask;
    while (histogram->slots[slot]) {
        if (memcmp(histogram->entries[histogram->slots[slot] - 1].value, value, AXES) == 0) {
            return histogram->slots[slot] - 1;
        }
        slot = (slot + 1) & histogram->mask;
    }
    memcpy(histogram->entries[histogram->count].value, value, AXES);
    histogram->entries[histogram->count].pixels = 0;
    histogram->order[histogram->count] = histogram->count;
    histogram->slots[slot] = ++histogram->count;
    return histogram->count - 1;
}

static void histogram_take(histogram_t *histogram, const tseed_picture_t *picture)
{
    uint32_t *entry_of = histogram->entry_of;

    for (int y = 0; y < picture->height; y++) {
        const unsigned char *pixel = tseed_picture_row(picture, y);

        for (int x = 0; x < picture->width; x++, pixel += 4) {
            unsigned alpha = pixel[ALPHA];
            unsigned char value[AXES] = {(unsigned char)((pixel[0] * alpha + 127) / 255),
                                         (unsigned char)((pixel[1] * alpha + 127) / 255),
                                         (unsigned char)((pixel[2] * alpha + 127) / 255),
                                         (unsigned char)alpha};

            *entry_of = histogram_find(histogram, value);
            histogram->entries[*entry_of++].pixels++;
        }
    }
}

/* Sums over a box what its colour, its error and its cut follow from. */
static void measure(box_t *box, const histogram_t *histogram)
{
    uint64_t square[AXES] = {0};
    double largest = 0;

    memset(box->sum, 0, sizeof(box->sum));
    box->pixels = 0;
    for (uint32_t i = box->first; i < box->first + box->count; i++) {
        const entry_t *entry = &histogram->entries[histogram->order[i]];

        box->pixels += entry->pixels;
        for (int axis = 0; axis < AXES; axis++) {
            uint64_t weighted = (uint64_t)entry->value[axis] * entry->pixels;

            box->sum[axis] += weighted;
            square[axis] += weighted * entry->value[axis];
        }
    }
    box->error = 0;
    for (int axis = 0; axis < AXES && box->count > 1; axis++) {
        double sum = (double)box->sum[axis];
        double error = (double)square[axis] - sum * sum / (double)box->pixels;

        box->error += error;
        if (error > largest) {
            largest = error;
            box->axis = axis;
        }
    }
}

/* Brings the box's colours of at most `most` along the axis to its front. Returns how many. */
static uint32_t divide(const box_t *box, const histogram_t *histogram, int axis, int most)
{
    uint32_t *order = histogram->order + box->first;
    uint32_t low = 0;

    for (uint32_t i = 0; i < box->count; i++) {
        uint32_t entry = order[i];

        if (histogram->entries[entry].value[axis] <= most) {
            order[i] = order[low];
            order[low++] = entry;
        }
    }
    return low;
}

/* Cuts a box in two, the second of which becomes the last box; not when one would be empty. */
static int cut(cutting_t *cutting, box_t *box, int axis, int most)
{
    box_t *high = &cutting->boxes[cutting->count];
    uint32_t low = divide(box, &cutting->histogram, axis, most);

    if (low == 0 || low == box->count) {
        return 0;
    }
    *high = (box_t){.first = box->first + low, .count = box->count - low};
    box->count = low;
    measure(box, &cutting->histogram);
    measure(high, &cutting->histogram);
    cutting->count++;
    return 1;
}

static box_t *worst(cutting_t *cutting)
{
    box_t *found = &cutting->boxes[0];

    for (int i = 1; i < cutting->count; i++) {
        if (cutting->boxes[i].error > found->error) {
            found = &cutting->boxes[i];
        }
    }
    return found;
}

/* Transparent, translucent and opaque apart, then the worst box again and again. */
static void cut_all(cutting_t *cutting)
{
    box_t *box = &cutting->boxes[0];

    *box = (box_t){.count = cutting->histogram.count};
    measure(box, &cutting->histogram);
    cutting->count = 1;
    cut(cutting, box, ALPHA, 0);
    cut(cutting, &cutting->boxes[cutting->count - 1], ALPHA, 254);
    while (cutting->count < TSEED_PALETTE_MAX) {
        box = worst(cutting);
        if (!(box->error > 0) ||
            !cut(cutting, box, box->axis, (int)(box->sum[box->axis] / box->pixels))) {
            break;
        }
    }
}

static unsigned char undo_alpha(uint64_t sum, uint64_t alpha)
{
    uint64_t value = alpha ? (sum * 255 + alpha / 2) / alpha : 0;

    return (unsigned char)(value > 255 ? 255 : value);
}

static tseed_colour_t box_colour(const box_t *box)
{
    uint64_t alpha = box->sum[ALPHA];

    return (tseed_colour_t){undo_alpha(box->sum[0], alpha), undo_alpha(box->sum[1], alpha),
                            undo_alpha(box->sum[2], alpha),
                            (unsigned char)((alpha + box->pixels / 2) / box->pixels)};
}

/* The boxes' colours become the palette, each pixel the number of its colour's box. */
static void colour_pixels(tseed_palette_room_t *palette, cutting_t *cutting, size_t pixels)
{
    histogram_t *histogram = &cutting->histogram;

    for (int i = 0; i < cutting->count; i++) {
        const box_t *box = &cutting->boxes[i];

        palette->colours[i] = box_colour(box);
        for (uint32_t k = box->first; k < box->first + box->count; k++) {
            histogram->entries[histogram->order[k]].box = (unsigned char)i;
        }
    }
    for (size_t i = 0; i < pixels; i++) {
        palette->indices.data[i] = histogram->entries[histogram->entry_of[i]].box;
    }
}

tseed_colours_t tseed_palette_reduce(tseed_picture_t *indexed, tseed_palette_room_t *palette,
                                     const tseed_picture_t *picture)
{
    size_t pixels = (size_t)picture->width * (size_t)picture->height;
    cutting_t cutting;

    if (tseed_buffer_reserve(&palette->indices, pixels) != 0 ||
        histogram_reserve(&cutting.histogram, &palette->histogram, pixels) != 0) {
        return TSEED_COLOURS_NO_MEMORY;
    }
    histogram_take(&cutting.histogram, picture);
    cut_all(&cutting);
    colour_pixels(palette, &cutting, pixels);
    *indexed = (tseed_picture_t){.width = picture->width,
                                 .height = picture->height,
                                 .channels = 1,
                                 .stride = (size_t)picture->width,
                                 .pixels = palette->indices.data,
                                 .colours = cutting.count,
                                 .palette = palette->colours};
    palette_order(indexed, palette);
    return TSEED_COLOURS_DONE;
}
