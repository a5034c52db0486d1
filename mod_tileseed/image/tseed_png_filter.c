/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Removes the row filters of PNG, and applies the average filter.
 *
 * Sub, average and Paeth can be removed from a pixel only when the pixel before is known. So the
 * bytes of one pixel alone are computed together: in pictures of three or four bytes a pixel they
 * are the lanes of a vector. The compiler's vector types become SSE2, NEON or plain code.
 */
#include "image/tseed_png_filter.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned char bytes_t __attribute__((vector_size(8)));
typedef unsigned char wide_t __attribute__((vector_size(16)));
typedef short lanes_t __attribute__((vector_size(16)));

typedef void unfilter_t(unsigned char *row, const unsigned char *above, size_t length,
                        size_t pixel);

static inline lanes_t lanes_load(const unsigned char *from)
{
    bytes_t bytes = {0};

    memcpy(&bytes, from, 4);
    return __builtin_convertvector(bytes, lanes_t);
}

/* Keeps the low byte of each of the first `pixel` lanes, stores it, and returns what is left. */
static inline lanes_t lanes_store(unsigned char *to, lanes_t lanes, size_t pixel)
{
    bytes_t bytes = __builtin_convertvector(lanes, bytes_t);

    memcpy(to, &bytes, pixel);
    return lanes & 255;
}

static inline lanes_t lanes_absolute(lanes_t lanes)
{
    lanes_t sign = lanes >> 15;

    return (lanes ^ sign) - sign;
}

static inline lanes_t lanes_choose(lanes_t mask, lanes_t yes, lanes_t no)
{
    return (mask & yes) | (~mask & no);
}

/* The Paeth predictor: of the left, upper and upper left neighbours the one nearest to left + upper
 * - upper left; the first of them when two are equally near. `left` is known last, so little is
 * computed from it. */
static inline lanes_t lanes_paeth(lanes_t left, lanes_t up, lanes_t corner)
{
    lanes_t rise = up - corner;
    lanes_t run = left - corner;
    lanes_t by_left = lanes_absolute(rise);
    lanes_t by_up = lanes_absolute(run);
    lanes_t by_corner = lanes_absolute(rise + run);
    lanes_t not_left = (by_left > by_up) | (by_left > by_corner);

    return lanes_choose(not_left, lanes_choose(by_up > by_corner, corner, up), left);
}

static inline void wide_sub(unsigned char *row, size_t length, size_t pixel)
{
    lanes_t left = {0};

    for (size_t i = 0; i < length; i += pixel) {
        left = lanes_store(row + i, lanes_load(row + i) + left, pixel);
    }
}

static inline void wide_average(unsigned char *row, const unsigned char *above, size_t length,
                                size_t pixel)
{
    lanes_t left = {0};

    for (size_t i = 0; i < length; i += pixel) {
        lanes_t average = (left + lanes_load(above + i)) >> 1;

        left = lanes_store(row + i, lanes_load(row + i) + average, pixel);
    }
}

static inline void wide_paeth(unsigned char *row, const unsigned char *above, size_t length,
                              size_t pixel)
{
    lanes_t left = {0};
    lanes_t corner = {0};

    for (size_t i = 0; i < length; i += pixel) {
        lanes_t up = lanes_load(above + i);
        lanes_t guess = lanes_paeth(left, up, corner);

        left = lanes_store(row + i, lanes_load(row + i) + guess, pixel);
        corner = up;
    }
}

/* Two rows that both follow Paeth, the lower one a pixel behind: what holds up one pixel is the one
 * before it in its row, so two rows at once take little longer than one. */
static inline void wide_paeth_pair(unsigned char *row, const unsigned char *above, size_t length,
                                   size_t pixel)
{
    unsigned char *lower = row + length + 1;
    lanes_t left = {0};
    lanes_t corner = {0};
    lanes_t lower_left = {0};
    lanes_t lower_corner = {0};

    for (size_t i = 0; i < length; i += pixel) {
        lanes_t up = lanes_load(above + i);
        lanes_t before = left;

        left = lanes_store(row + i, lanes_load(row + i) + lanes_paeth(left, up, corner), pixel);
        corner = up;
        if (i > 0) {
            lower_left = lanes_store(
                lower, lanes_load(lower) + lanes_paeth(lower_left, before, lower_corner), pixel);
            lower_corner = before;
            lower += pixel;
        }
    }
    lanes_store(lower, lanes_load(lower) + lanes_paeth(lower_left, left, lower_corner), pixel);
}

static unsigned char paeth(int left, int up, int corner)
{
    int by_left = abs(up - corner);
    int by_up = abs(left - corner);
    int by_corner = abs(left + up - 2 * corner);

    if (by_left <= by_up && by_left <= by_corner) {
        return (unsigned char)left;
    }
    return (unsigned char)(by_up <= by_corner ? up : corner);
}

static void unfilter_none(unsigned char *row, const unsigned char *above, size_t length,
                          size_t pixel)
{
    (void)row, (void)above, (void)length, (void)pixel;
}

static void unfilter_sub(unsigned char *row, const unsigned char *above, size_t length,
                         size_t pixel)
{
    (void)above;
    switch (pixel) {
    case 3:
        wide_sub(row, length, 3);
        break;
    case 4:
        wide_sub(row, length, 4);
        break;
    default:
        for (size_t i = pixel; i < length; i++) {
            row[i] = (unsigned char)(row[i] + row[i - pixel]);
        }
    }
}

static void unfilter_up(unsigned char *row, const unsigned char *above, size_t length, size_t pixel)
{
    size_t i = 0;

    (void)pixel;
    for (; i + sizeof(wide_t) <= length; i += sizeof(wide_t)) {
        wide_t here, up;

        memcpy(&here, row + i, sizeof(here));
        memcpy(&up, above + i, sizeof(up));
        here += up;
        memcpy(row + i, &here, sizeof(here));
    }
    for (; i < length; i++) {
        row[i] = (unsigned char)(row[i] + above[i]);
    }
}

static void unfilter_average(unsigned char *row, const unsigned char *above, size_t length,
                             size_t pixel)
{
    switch (pixel) {
    case 3:
        wide_average(row, above, length, 3);
        break;
    case 4:
        wide_average(row, above, length, 4);
        break;
    default:
        for (size_t i = 0; i < length; i++) {
            int left = i < pixel ? 0 : row[i - pixel];

            row[i] = (unsigned char)(row[i] + (left + above[i]) / 2);
        }
    }
}

static void unfilter_paeth(unsigned char *row, const unsigned char *above, size_t length,
                           size_t pixel)
{
    switch (pixel) {
    case 3:
        wide_paeth(row, above, length, 3);
        break;
    case 4:
        wide_paeth(row, above, length, 4);
        break;
    default:
        for (size_t i = 0; i < length; i++) {
            int left = i < pixel ? 0 : row[i - pixel];
            int corner = i < pixel ? 0 : above[i - pixel];

            row[i] = (unsigned char)(row[i] + paeth(left, above[i], corner));
        }
    }
}

static int is_paeth_pair(const unsigned char *rows, size_t length, int pixel)
{
    return (pixel == 3 || pixel == 4) && rows[0] == TSEED_PNG_PAETH &&
           rows[length + 1] == TSEED_PNG_PAETH;
}

static void unfilter_paeth_pair(unsigned char *row, const unsigned char *above, size_t length,
                                int pixel)
{
    if (pixel == 3) {
        wide_paeth_pair(row, above, length, 3);
    } else {
        wide_paeth_pair(row, above, length, 4);
    }
}

int tseed_png_unfilter(unsigned char *rows, size_t length, int height, int pixel,
                       const unsigned char *zeros)
{
    static unfilter_t *const unfilters[] = {unfilter_none, unfilter_sub, unfilter_up,
                                            unfilter_average, unfilter_paeth};
    const unsigned char *above = zeros;

    for (int y = 0; y < height; y++, rows += length + 1) {
        if (rows[0] >= sizeof(unfilters) / sizeof(unfilters[0])) {
            return -1;
        }
        if (y + 1 < height && is_paeth_pair(rows, length, pixel)) {
            unfilter_paeth_pair(rows + 1, above, length, pixel);
            rows += length + 1;
            y++;
        } else {
            unfilters[rows[0]](rows + 1, above, length, (size_t)pixel);
        }
        above = rows + 1;
    }
    return 0;
}

static inline wide_t wide_load(const unsigned char *from)
{
    wide_t bytes;

    memcpy(&bytes, from, sizeof(bytes));
    return bytes;
}

/* Half a sum of bytes is what they share and half of what they don't: that needs no ninth bit. */
void tseed_png_filter_average(unsigned char *to, const unsigned char *row,
                              const unsigned char *above, size_t length, size_t pixel)
{
    size_t i = 0;

    for (; i < pixel; i++) {
        to[i] = (unsigned char)(row[i] - above[i] / 2);
    }
    for (; i + sizeof(wide_t) <= length; i += sizeof(wide_t)) {
        wide_t left = wide_load(row + i - pixel);
        wide_t up = wide_load(above + i);
        wide_t rest = wide_load(row + i) - ((left & up) + ((left ^ up) >> 1));

        memcpy(to + i, &rest, sizeof(rest));
    }
    for (; i < length; i++) {
        to[i] = (unsigned char)(row[i] - (row[i - pixel] + above[i]) / 2);
    }
}
