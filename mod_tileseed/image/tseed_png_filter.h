/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Takes the row filters of PNG away, and puts one on (W3C PNG, third edition, section 9). Pure
 * functions. */
#ifndef TSEED_PNG_FILTER_H
#define TSEED_PNG_FILTER_H

#include <stddef.h>

/* The filter byte of a row. */
enum { TSEED_PNG_NONE = 0, TSEED_PNG_AVERAGE = 3, TSEED_PNG_PAETH = 4 };

/* Four bytes are read at once: as many as a pixel at the end of a row may be short of that must be
 * readable behind the last row and behind `above`. */
#define TSEED_PNG_SLACK 4

/* `rows` are `height` rows, each a filter byte and then `length` bytes; they are changed in place.
 * `pixel` is the bytes a pixel, at least 1. `zeros` are `length` zero bytes, the row above the
 * first. Returns 0, or -1 when a filter byte is none of the five. */
int tseed_png_unfilter(unsigned char *rows, size_t length, int height, int pixel,
                       const unsigned char *zeros);

/* Applies the average filter to a row of `length` bytes: takes half the sum of the pixels before
 * and above from each pixel. */
void tseed_png_filter_average(unsigned char *to, const unsigned char *row,
                              const unsigned char *above, size_t length, size_t pixel);

#endif
