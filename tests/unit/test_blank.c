/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tiles with nothing on them, read back by libpng and libjpeg. */
#include "image_fixture.h"

#include <turbojpeg.h>

#include "image/tseed_blank.h"

#define WIDTH  256
#define HEIGHT 192

static file_t make(const char *mime)
{
    tseed_format_t format;
    const char *data;
    file_t file;

    assert_null(tseed_format_init(&format, mime, pool));
    assert_null(tseed_blank_make(&data, &file.length, &format, WIDTH, HEIGHT, pool));
    file.data = (unsigned char *)data;
    return file;
}

static void test_blank__png_is_transparent(void **state)
{
    int width, height;
    const unsigned char *rgba = read_png(make("image/png"), &width, &height);

    (void)state;
    assert_int_equal(width, WIDTH);
    assert_int_equal(height, HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        assert_int_equal(rgba[4 * i + 3], 0);
    }
}

static void test_blank__jpeg_is_white(void **state)
{
    const file_t file = make("image/jpeg");
    unsigned char *pixels = apr_palloc(pool, 3 * WIDTH * HEIGHT);
    tjhandle turbo = tjInitDecompress();
    int width, height, subsampling;

    (void)state;
    assert_int_equal(tjDecompressHeader2(turbo, file.data, (unsigned long)file.length, &width,
                                         &height, &subsampling),
                     0);
    assert_int_equal(width, WIDTH);
    assert_int_equal(height, HEIGHT);
    assert_int_equal(tjDecompress2(turbo, file.data, (unsigned long)file.length, pixels, WIDTH, 0,
                                   HEIGHT, TJPF_RGB, 0),
                     0);
    tjDestroy(turbo);
    for (int i = 0; i < 3 * WIDTH * HEIGHT; i++) {
        assert_int_equal(pixels[i], 255);
    }
}

static void test_blank__picture_has_the_size_that_was_asked_for(void **state)
{
    tseed_answer_t answer = {.width = 1, .height = 1000};
    int width, height;

    (void)state;
    assert_null(tseed_blank_picture(&answer, pool));
    read_png((file_t){(unsigned char *)answer.data, answer.length}, &width, &height);
    assert_int_equal(width, 1);
    assert_int_equal(height, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blank__png_is_transparent),
        cmocka_unit_test(test_blank__jpeg_is_white),
        cmocka_unit_test(test_blank__picture_has_the_size_that_was_asked_for),
    };

    return cmocka_run_group_tests(tests, image_setup, image_teardown);
}
