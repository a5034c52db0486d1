/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Palettes: exact ones must show the same pixels, the best 256 be as near as Pillow's. */
#include "image_fixture.h"

#include "image/tseed_palette.h"

/* Printed by tests/data/image/make.py: the mean squared error of Pillow's median cut, which gives
 * each pixel the nearest colour; ours gives it that of its box, which is faster and a tenth worse
 * on noise. */
#define PILLOWS_ERROR_MAP   30.661
#define PILLOWS_ERROR_PHOTO 26.897

static tseed_palette_room_t room;

static tseed_picture_t picture_of(const unsigned char *pixels, int width, int height, int channels)
{
    return (tseed_picture_t){.width = width,
                             .height = height,
                             .channels = channels,
                             .stride = (size_t)width * (size_t)channels,
                             .pixels = pixels};
}

static void assert_same_pixels(const tseed_picture_t *one, const tseed_picture_t *other)
{
    size_t length = 4 * (size_t)one->width * (size_t)one->height;

    assert_int_equal(one->width, other->width);
    assert_int_equal(one->height, other->height);
    assert_memory_equal(rgba_of(one), rgba_of(other), length);
}

static void assert_translucent_first(const tseed_picture_t *picture)
{
    for (int i = 1; i < picture->colours; i++) {
        assert_false(picture->palette[i - 1].a == 255 && picture->palette[i].a != 255);
    }
}

static void test_palette__shrinking_keeps_what_is_used(void **state)
{
    static const tseed_colour_t palette[6] = {{1, 1, 1, 255}, {2, 2, 2, 255}, {3, 3, 3, 9},
                                              {4, 4, 4, 255}, {5, 5, 5, 0},   {6, 6, 6, 255}};
    static const unsigned char pixels[8] = {5, 2, 0, 2, 5, 5, 4, 4};
    tseed_picture_t picture = picture_of(pixels, 4, 2, 1);
    tseed_picture_t indexed;

    (void)state;
    picture.colours = 6;
    picture.palette = palette;
    assert_int_equal(tseed_palette_shrink(&indexed, &room, &picture), TSEED_COLOURS_DONE);
    assert_int_equal(indexed.colours, 4);
    assert_translucent_first(&indexed);
    assert_same_pixels(&indexed, &picture);
}

/* Every third colour from 0 on, `used` of them, in rows whose length is no multiple of four. */
static tseed_picture_t scattered_colours(unsigned char *pixels, int used)
{
    for (int i = 0; i < 19 * 17; i++) {
        pixels[i] = (unsigned char)(i % used * 3);
    }
    return picture_of(pixels, 19, 17, 1);
}

static void test_palette__one_with_few_to_spare_may_stay(void **state)
{
    static const struct {
        int used, before, after;
    } cases[] = {{16, 46, 16}, {17, 49, 49}, {17, 81, 81}, {17, 82, 17}, {85, 253, 85}, {1, 1, 1}};
    unsigned char pixels[19 * 17];
    tseed_colour_t palette[TSEED_PALETTE_MAX];

    (void)state;
    for (int i = 0; i < TSEED_PALETTE_MAX; i++) {
        palette[i] = (tseed_colour_t){(unsigned char)i, 7, 7, 255};
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_picture_t picture = scattered_colours(pixels, cases[i].used);
        tseed_picture_t indexed;

        picture.colours = cases[i].before;
        picture.palette = palette;
        assert_int_equal(tseed_palette_shrink(&indexed, &room, &picture), TSEED_COLOURS_DONE);
        assert_int_equal(indexed.colours, cases[i].after);
        assert_same_pixels(&indexed, &picture);
    }
}

/* `colours` different pixels in rows of 16, the last of them twice. */
static tseed_picture_t many_colours(unsigned char *pixels, int colours, int channels)
{
    for (int i = 0; i < 16 * 20; i++) {
        int colour = i < colours ? i : colours - 1;
        unsigned char *pixel = pixels + (size_t)i * (size_t)channels;

        memset(pixel, 77, (size_t)channels);
        pixel[0] = (unsigned char)colour;
        pixel[channels - 1] = (unsigned char)(channels > 1 ? 255 - (colour >> 8) : colour);
    }
    return picture_of(pixels, 16, 20, channels);
}

static void test_palette__256_colours_are_found_and_257_are_too_many(void **state)
{
    unsigned char pixels[16 * 20 * 4];

    (void)state;
    for (int channels = 2; channels <= 4; channels++) {
        tseed_picture_t picture = many_colours(pixels, 256, channels);
        tseed_picture_t indexed;

        assert_int_equal(tseed_palette_find(&indexed, &room, &picture, 256), TSEED_COLOURS_DONE);
        assert_int_equal(indexed.colours, 256);
        assert_same_pixels(&indexed, &picture);
        assert_int_equal(tseed_palette_find(&indexed, &room, &picture, 255),
                         TSEED_COLOURS_TOO_MANY);
        picture = many_colours(pixels, 257, channels);
        assert_int_equal(tseed_palette_find(&indexed, &room, &picture, 256),
                         TSEED_COLOURS_TOO_MANY);
    }
}

static void test_palette__grey_is_counted_too(void **state)
{
    static const unsigned char pixels[6] = {0, 255, 7, 7, 255, 0};
    tseed_picture_t picture = picture_of(pixels, 3, 2, 1);
    tseed_picture_t indexed;

    (void)state;
    assert_int_equal(tseed_palette_find(&indexed, &room, &picture, 3), TSEED_COLOURS_DONE);
    assert_int_equal(indexed.colours, 3);
    assert_same_pixels(&indexed, &picture);
    assert_int_equal(tseed_palette_find(&indexed, &room, &picture, 2), TSEED_COLOURS_TOO_MANY);
}

static void test_palette__a_found_one_has_translucent_colours_first(void **state)
{
    static const unsigned char pixels[] = {1, 2, 3, 255, 4, 5, 6, 9, 7, 8, 9, 255, 1, 1, 1, 0};
    tseed_picture_t picture = picture_of(pixels, 2, 2, 4);
    tseed_picture_t indexed;

    (void)state;
    assert_int_equal(tseed_palette_find(&indexed, &room, &picture, 256), TSEED_COLOURS_DONE);
    assert_translucent_first(&indexed);
    assert_same_pixels(&indexed, &picture);
}

static double distance(const tseed_picture_t *one, const tseed_picture_t *other)
{
    int pixels = one->width * one->height;
    unsigned char *a = rgba_of(one);
    unsigned char *b = rgba_of(other);
    double sum = 0;

    for (int i = 0; i < 4 * pixels; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sum / pixels;
}

static tseed_picture_t load_rgba(const char *name)
{
    int width, height;
    unsigned char *rgba = read_png(load(name), &width, &height);

    return picture_of(rgba, width, height, 4);
}

static double reduction_error(const char *name)
{
    tseed_picture_t picture = load_rgba(name);
    tseed_picture_t indexed;

    assert_int_equal(tseed_palette_reduce(&indexed, &room, &picture), TSEED_COLOURS_DONE);
    assert_int_equal(indexed.colours, 256);
    assert_true(tseed_picture_is_opaque(&indexed));
    return distance(&indexed, &picture);
}

static void test_palette__256_colours_come_as_near_as_pillows(void **state)
{
    (void)state;
    assert_true(reduction_error("map-rgb.png") < PILLOWS_ERROR_MAP);
    assert_true(reduction_error("photo.png") < 1.2 * PILLOWS_ERROR_PHOTO);
}

/* The map has opaque, half transparent and wholly transparent parts and more than 256 colours. */
static void test_palette__reducing_keeps_what_is_opaque_and_what_is_not(void **state)
{
    tseed_picture_t map = load_rgba("map-rgba.png");
    tseed_picture_t indexed;
    unsigned char *after;

    (void)state;
    assert_int_equal(tseed_palette_find(&indexed, &room, &map, 256), TSEED_COLOURS_TOO_MANY);
    assert_int_equal(tseed_palette_reduce(&indexed, &room, &map), TSEED_COLOURS_DONE);
    assert_translucent_first(&indexed);
    after = rgba_of(&indexed);
    for (int i = 3; i < 4 * 128 * 128; i += 4) {
        assert_int_equal(after[i] == 255, map.pixels[i] == 255);
        assert_int_equal(after[i] == 0, map.pixels[i] == 0);
    }
}

static void test_palette__reducing_few_colours_changes_nothing(void **state)
{
    unsigned char pixels[16 * 20 * 4];
    tseed_picture_t picture = many_colours(pixels, 200, 4);
    tseed_picture_t indexed;

    (void)state;
    assert_int_equal(tseed_palette_reduce(&indexed, &room, &picture), TSEED_COLOURS_DONE);
    assert_int_equal(indexed.colours, 200);
    assert_same_pixels(&indexed, &picture);
}

static int teardown(void **state)
{
    tseed_palette_free(&room);
    return image_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_palette__shrinking_keeps_what_is_used),
        cmocka_unit_test(test_palette__one_with_few_to_spare_may_stay),
        cmocka_unit_test(test_palette__256_colours_are_found_and_257_are_too_many),
        cmocka_unit_test(test_palette__grey_is_counted_too),
        cmocka_unit_test(test_palette__a_found_one_has_translucent_colours_first),
        cmocka_unit_test(test_palette__256_colours_come_as_near_as_pillows),
        cmocka_unit_test(test_palette__reducing_keeps_what_is_opaque_and_what_is_not),
        cmocka_unit_test(test_palette__reducing_few_colours_changes_nothing),
    };

    return cmocka_run_group_tests(tests, image_setup, teardown);
}
