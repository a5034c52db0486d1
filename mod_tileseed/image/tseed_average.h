/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Halves a picture: each pixel is the mean of four.
 *
 * The mean is taken in linear light (IEC 61966-2-1, sRGB) of colours that are multiplied by their
 * alpha. So a wholly transparent pixel adds no colour to the mean, and fine patterns keep their
 * brightness. Linear light has 16 bits. All rounding is to the nearest: linear values, means,
 * alpha, and the colour that the mean is turned back into. Four equal pixels stay as they are. A
 * pixel whose alpha rounds to 0 is 0,0,0,0.
 *
 * Pure; any thread.
 */
#ifndef TSEED_AVERAGE_H
#define TSEED_AVERAGE_H

#include "image/tseed_picture.h"

/* Writes the half of an RGBA picture whose width and height are even: rows of width / 2 RGBA pixels
 * to `to`, which lie `stride` bytes apart. Returns whether every pixel written is opaque. */
int tseed_average(unsigned char *to, size_t stride, const tseed_picture_t *picture);

#endif
