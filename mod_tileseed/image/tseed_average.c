/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Halves a picture. Colours go through two tables, which the first call makes. */
#include "image/tseed_average.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define LINEAR_MOST 65535

static uint16_t linear_of[256];
static unsigned char colour_of[LINEAR_MOST + 1];

/* IEC 61966-2-1, 5.2: from the electrical signal to light. */
static double to_light(double signal)
{
    return signal <= 0.04045 ? signal / 12.92 : pow((signal + 0.055) / 1.055, 2.4);
}

/* The other way round. */
static double to_signal(double light)
{
    return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

static void make_tables(void)
{
    for (int i = 0; i < 256; i++) {
        linear_of[i] = (uint16_t)lround(LINEAR_MOST * to_light(i / 255.0));
    }
    for (int i = 0; i <= LINEAR_MOST; i++) {
        colour_of[i] = (unsigned char)lround(255 * to_signal((double)i / LINEAR_MOST));
    }
}

/* The mean of one colour of four pixels whose alphas add up to `alpha`. */
static unsigned char mix(const unsigned char *const pixels[4], int channel, unsigned alpha)
{
    uint32_t sum = alpha / 2;

    for (int i = 0; i < 4; i++) {
        sum += (uint32_t)linear_of[pixels[i][channel]] * pixels[i][3];
    }
    return colour_of[sum / alpha];
}

/* Writes the mean of four pixels. Returns whether it is opaque. */
static int mix_pixel(unsigned char *to, const unsigned char *const pixels[4])
{
    const unsigned alpha = pixels[0][3] + pixels[1][3] + pixels[2][3] + pixels[3][3];

    if (memcmp(pixels[0], pixels[1], 4) == 0 && memcmp(pixels[0], pixels[2], 4) == 0 &&
        memcmp(pixels[0], pixels[3], 4) == 0 && alpha > 0) {
        memcpy(to, pixels[0], 4);
    } else if ((alpha + 2) / 4 == 0) {
        memset(to, 0, 4);
    } else {
        for (int channel = 0; channel < 3; channel++) {
            to[channel] = mix(pixels, channel, alpha);
        }
        to[3] = (unsigned char)((alpha + 2) / 4);
    }
    return to[3] == 255;
}

int tseed_average(unsigned char *to, size_t stride, const tseed_picture_t *picture)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int is_opaque = 1;

    pthread_once(&once, make_tables);
    for (int y = 0; y < picture->height; y += 2, to += stride) {
        const unsigned char *upper = tseed_picture_row(picture, y);
        const unsigned char *lower = tseed_picture_row(picture, y + 1);

        for (int x = 0; x < picture->width; x += 2) {
            const size_t at = 4 * (size_t)x;
            const unsigned char *const pixels[4] = {upper + at, upper + at + 4, lower + at,
                                                    lower + at + 4};

            is_opaque &= mix_pixel(to + 2 * (size_t)x, pixels);
        }
    }
    return is_opaque;
}
