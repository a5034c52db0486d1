/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WebP against Pillow's files and libwebp's own decoding; broken files against their sentences. */
#include "image_fixture.h"

#include <webp/decode.h>

#include "image/tseed_webp.h"

static tseed_webp_codec_t codec;

static const char *read_sized(tseed_picture_t *picture, file_t file, int width, int height)
{
    return tseed_webp_read(picture, &codec, &(tseed_webp_t){file.data, file.length, width, height},
                           pool);
}

/* Mean difference of a sample between two pictures of 128 x 128. */
static double distance(const unsigned char *one, const unsigned char *other)
{
    double sum = 0;

    for (int i = 0; i < 4 * 128 * 128; i++) {
        sum += abs(one[i] - other[i]);
    }
    return sum / (4 * 128 * 128);
}

static unsigned char *pixels_of(const char *name)
{
    int width, height;

    return read_png(load(name), &width, &height);
}

static void test_webp__lossless_is_read_exactly(void **state)
{
    tseed_picture_t picture;

    (void)state;
    assert_null(read_sized(&picture, load("map-rgba.webp"), 128, 128));
    assert_int_equal(picture.channels, 4);
    assert_memory_equal(rgba_of(&picture), pixels_of("map-rgba.png"), 4 * 128 * 128);
}

static void test_webp__lossy_is_read_as_rgb(void **state)
{
    file_t file = load("photo.webp");
    tseed_picture_t picture;
    int width, height;
    uint8_t *rgba = WebPDecodeRGBA(file.data, file.length, &width, &height);

    (void)state;
    assert_null(read_sized(&picture, file, 128, 128));
    assert_int_equal(picture.channels, 3);
    assert_memory_equal(rgba_of(&picture), rgba, 4 * 128 * 128);
    WebPFree(rgba);
    assert_true(distance(rgba_of(&picture), pixels_of("photo.png")) < 5);
}

static void test_webp__what_was_not_asked_for_is_refused(void **state)
{
    file_t broken = load("map-rgba.webp");
    tseed_picture_t picture;

    (void)state;
    assert_string_equal(read_sized(&picture, load("photo.webp"), 128, 64),
                        "webp of 128 x 128 pixels, expected 128 x 64");
    assert_string_equal(read_sized(&picture, load("photo-moving.webp"), 128, 128),
                        "webp is an animation, expected one picture");
    memset(broken.data + 12, 'x', 4);
    assert_string_equal(read_sized(&picture, broken, 128, 128),
                        "webp is damaged: libwebp's status 3");
}

static void test_webp__no_shorter_file_is_a_picture(void **state)
{
    static const char *const names[] = {"photo.webp", "map-rgba.webp"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        file_t file = load(names[i]);
        size_t step = file.length / 50;

        for (size_t length = file.length - 2; length > step; length -= step) {
            unsigned char *copy = exact_copy(file.data, length);
            tseed_picture_t picture;

            assert_string_equal(read_sized(&picture, (file_t){copy, length}, 128, 128),
                                "webp is damaged: it is cut off");
            free(copy);
        }
    }
}

static tseed_picture_t decode_png(const char *name, int channels)
{
    tseed_picture_t rgba = {128, 128, 4, 4 * 128, pixels_of(name), 0, NULL};

    return channels == 4 ? rgba : tseed_picture_drop_alpha(apr_palloc(pool, 3 * 128 * 128), &rgba);
}

static unsigned char *write_and_read(const tseed_picture_t *picture, const tseed_format_t *format)
{
    size_t length = tseed_webp_write(&codec, picture, format);
    int width, height;
    unsigned char *rgba = WebPDecodeRGBA(codec.file.data, length, &width, &height);

    assert_non_null(rgba);
    assert_int_equal(width, picture->width);
    assert_int_equal(height, picture->height);
    assert_true(tseed_webp_is(codec.file.data, length));
    return rgba;
}

static void test_webp__lossless_is_written_exactly_at_every_level(void **state)
{
    tseed_format_t format;

    (void)state;
    assert_null(tseed_format_init(&format, "image/webp", pool));
    format.lossless = 1;
    for (format.level = 1; format.level <= 12; format.level++) {
        const char *name = format.level % 2 ? "map-rgba.png" : "photo.png";
        tseed_picture_t picture = decode_png(name, format.level % 2 ? 4 : 3);
        tseed_region_t region = {30, 50, 70, 60};
        tseed_picture_t view = tseed_picture_view(&picture, &region);
        unsigned char *rgba = write_and_read(&view, &format);

        assert_memory_equal(rgba, rgba_of(&view), 4 * 70 * 60);
        WebPFree(rgba);
    }
}

/* Pillow's, at the same quality, is 2.5 off in the photograph. */
static void test_webp__lossy_follows_its_quality(void **state)
{
    tseed_picture_t picture = decode_png("photo.png", 3);
    size_t last = 0;
    tseed_format_t format;

    (void)state;
    assert_null(tseed_format_init(&format, "image/webp", pool));
    for (format.quality = 5; format.quality <= 95; format.quality += 45) {
        unsigned char *rgba = write_and_read(&picture, &format);
        size_t length = tseed_webp_write(&codec, &picture, &format);

        assert_true(length > last);
        assert_true(distance(rgba, pixels_of("photo.png")) < 8);
        last = length;
        WebPFree(rgba);
    }
}

static void test_webp__alpha_survives_loss(void **state)
{
    tseed_picture_t picture = decode_png("map-rgba.png", 4);
    tseed_format_t format;
    unsigned char *rgba;

    (void)state;
    assert_null(tseed_format_init(&format, "image/webp", pool));
    rgba = write_and_read(&picture, &format);
    for (int i = 3; i < 4 * 128 * 128; i += 4) {
        assert_int_equal(rgba[i], picture.pixels[i]);
    }
    WebPFree(rgba);
}

static int teardown(void **state)
{
    tseed_webp_codec_free(&codec);
    return image_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_webp__lossless_is_read_exactly),
        cmocka_unit_test(test_webp__lossy_is_read_as_rgb),
        cmocka_unit_test(test_webp__what_was_not_asked_for_is_refused),
        cmocka_unit_test(test_webp__no_shorter_file_is_a_picture),
        cmocka_unit_test(test_webp__lossless_is_written_exactly_at_every_level),
        cmocka_unit_test(test_webp__lossy_follows_its_quality),
        cmocka_unit_test(test_webp__alpha_survives_loss),
    };

    return cmocka_run_group_tests(tests, image_setup, teardown);
}
