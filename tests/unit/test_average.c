/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Averages against means that a program of its own worked out in floating point, by the formulas of
 * IEC 61966-2-1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "image/tseed_average.h"

/* The half of a picture of 2 x 2 pixels. Returns whether it is opaque. */
static int half_of(unsigned char mean[4], const unsigned char pixels[16])
{
    const tseed_picture_t picture = {2, 2, 4, 8, pixels, 0, NULL};

    return tseed_average(mean, 4, &picture);
}

/* A pixel of four, and what the mean comes to: 187.516 is written as 188. */
static void test_average__means_are_of_light(void **state)
{
    static const struct {
        unsigned char pixels[16], mean[4];
    } cases[] = {
        {{0, 0, 0, 255, 255, 255, 255, 255, 0, 0, 0, 255, 255, 255, 255, 255},
         {188, 188, 188, 255}}, /* 187.516 */
        {{255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255},
         {188, 188, 188, 255}},
        {{10, 20, 30, 255, 12, 22, 32, 255, 14, 24, 34, 255, 16, 26, 36, 255},
         {13, 23, 33, 255}}, /* 13.130, 23.094, 33.074 */
        {{1, 1, 1, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255}, {0, 0, 0, 255}}, /* 0.25 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char mean[4];

        assert_int_equal(half_of(mean, cases[i].pixels), 1);
        assert_memory_equal(mean, cases[i].mean, 4);
    }
}

static void test_average__what_is_transparent_has_no_colour(void **state)
{
    static const struct {
        unsigned char pixels[16], mean[4];
    } cases[] = {
        {{200, 100, 50, 255, 9, 9, 9, 0, 9, 9, 9, 0, 9, 9, 9, 0}, {200, 100, 50, 64}}, /* 63.75 */
        {{255, 0, 0, 255, 0, 0, 255, 85, 0, 0, 0, 0, 0, 0, 0, 0},
         {225, 0, 137, 85}}, /* 224.610, 0, 136.960 */
        {{1, 2, 3, 128, 250, 251, 252, 64, 77, 88, 99, 200, 5, 5, 5, 1},
         {122, 126, 130, 98}}, /* 121.689, 125.531, 129.756, 98.25 */
        {{0, 0, 0, 1, 200, 200, 200, 1, 9, 9, 9, 0, 9, 9, 9, 0}, {146, 146, 146, 1}}, /* 146.313 */
        {{0, 0, 0, 1, 9, 9, 9, 0, 9, 9, 9, 0, 9, 9, 9, 0}, {0, 0, 0, 0}},             /* 0.25 */
        {{7, 8, 9, 0, 7, 8, 9, 0, 7, 8, 9, 0, 7, 8, 9, 0}, {0, 0, 0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char mean[4];

        assert_int_equal(half_of(mean, cases[i].pixels), 0);
        assert_memory_equal(mean, cases[i].mean, 4);
    }
}

/* Also where the pixels are not compared as a whole: one of them is a little different in alpha. */
static void test_average__one_colour_stays_that_colour(void **state)
{
    (void)state;
    for (int shade = 0; shade < 256; shade++) {
        unsigned char pixels[16], mean[4];

        memset(pixels, shade, sizeof(pixels));
        pixels[3] = pixels[7] = pixels[11] = 200;
        pixels[15] = 204;
        assert_int_equal(half_of(mean, pixels), 0);
        assert_int_equal(mean[0], shade);
        assert_int_equal(mean[2], shade);
        assert_int_equal(mean[3], 201);
        pixels[15] = 200;
        assert_int_equal(half_of(mean, pixels), 0);
        assert_int_equal(mean[1], shade);
        assert_int_equal(mean[3], 200);
    }
}

/* 4 x 4 pixels in rows of 5 become 2 x 2 in rows of 3; nothing beside them is written. */
static void test_average__pixels_go_to_their_places(void **state)
{
    unsigned char pixels[4 * 5 * 4], halves[2 * 3 * 4];
    const tseed_picture_t picture = {4, 4, 4, 20, pixels, 0, NULL};

    (void)state;
    memset(halves, 7, sizeof(halves));
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 5; x++) {
            memset(pixels + 20 * y + 4 * x, 10 * (x / 2) + 100 * (y / 2), 3);
            pixels[20 * y + 4 * x + 3] = 255;
        }
    }
    assert_int_equal(tseed_average(halves, 12, &picture), 1);
    for (int y = 0; y < 2; y++) {
        for (int x = 0; x < 2; x++) {
            assert_int_equal(halves[12 * y + 4 * x], 10 * x + 100 * y);
        }
        assert_int_equal(halves[12 * y + 8], 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average__means_are_of_light),
        cmocka_unit_test(test_average__what_is_transparent_has_no_colour),
        cmocka_unit_test(test_average__one_colour_stays_that_colour),
        cmocka_unit_test(test_average__pixels_go_to_their_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
