/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* JPEG against TurboJPEG's own decoding of Pillow's files; broken files against their sentences. */
#include "image_fixture.h"

#include <turbojpeg.h>

#include "image/tseed_jpeg.h"

static tseed_jpeg_codec_t codec;

static const char *const colour_names[] = {"photo-444.jpg", "photo-422.jpg", "photo-420.jpg",
                                           "photo-progressive.jpg", "photo-arithmetic.jpg"};

/* With TJFLAG_FASTUPSAMPLE a block's pixels depend on that block alone, so that a cut can be
 * compared with the whole. */
static unsigned char *decode(const unsigned char *data, size_t length, int width, int height,
                             int flags)
{
    tjhandle handle = tjInitDecompress();
    unsigned char *rgba = apr_palloc(pool, 4 * (size_t)width * (size_t)height);
    int real_width, real_height, sampling, space;

    assert_int_equal(
        tjDecompressHeader3(handle, data, length, &real_width, &real_height, &sampling, &space), 0);
    assert_int_equal(real_width, width);
    assert_int_equal(real_height, height);
    assert_int_equal(tjDecompress2(handle, data, length, rgba, width, 0, height, TJPF_RGBA, flags),
                     0);
    tjDestroy(handle);
    return rgba;
}

static const char *open_sized(tseed_jpeg_t *jpeg, file_t file, int width, int height)
{
    *jpeg = (tseed_jpeg_t){file.data, file.length, width, height, 0};
    return tseed_jpeg_open(jpeg, &codec, pool);
}

static double mean_error(const unsigned char *one, const unsigned char *other, int pixels)
{
    double sum = 0;

    for (int i = 0; i < 4 * pixels; i++) {
        sum += abs(one[i] - other[i]);
    }
    return sum / (4.0 * pixels);
}

/* Also when only the end marker is missing. */
static void assert_cut_off_is_noticed(file_t file)
{
    tseed_region_t half = {0, 0, 64, 64};

    for (size_t length = 3; length < file.length; length += length < 700 ? 13 : 1) {
        unsigned char *exact = exact_copy(file.data, length);
        const unsigned char *tile;
        tseed_picture_t picture;
        tseed_jpeg_t jpeg;

        if (!open_sized(&jpeg, (file_t){exact, length}, 128, 128)) {
            assert_non_null(tseed_jpeg_check(&codec, &jpeg, pool));
            assert_non_null(tseed_jpeg_read(&picture, &codec, &jpeg, pool));
            assert_int_equal(tseed_jpeg_cut(&tile, &codec, &jpeg, &half), 0);
        }
        free(exact);
    }
}

static void test_jpeg__pixels_are_turbojpegs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(colour_names) / sizeof(colour_names[0]); i++) {
        file_t file = load(colour_names[i]);
        tseed_picture_t picture;
        tseed_jpeg_t jpeg;

        assert_null(open_sized(&jpeg, file, 128, 128));
        assert_null(tseed_jpeg_check(&codec, &jpeg, pool));
        assert_null(tseed_jpeg_read(&picture, &codec, &jpeg, pool));
        assert_int_equal(picture.channels, 3);
        assert_memory_equal(rgba_of(&picture), decode(file.data, file.length, 128, 128, 0),
                            4 * 128 * 128);
    }
}

/* TurboJPEG has names for six samplings; T.81 allows many more, and browsers show them. */
static void test_jpeg__a_sampling_without_a_name_is_read(void **state)
{
    static const tseed_region_t half = {0, 0, 64, 64};
    file_t file = load("photo-rare.jpg");
    const unsigned char *tile;
    tseed_picture_t picture;
    tseed_jpeg_t jpeg;

    (void)state;
    assert_null(open_sized(&jpeg, file, 128, 128));
    assert_int_equal(tseed_jpeg_cut(&tile, &codec, &jpeg, &half), 0);
    assert_null(tseed_jpeg_check(&codec, &jpeg, pool));
    assert_null(tseed_jpeg_read(&picture, &codec, &jpeg, pool));
    assert_true(mean_error(rgba_of(&picture), read_png(load("photo.png"), &(int){0}, &(int){0}),
                           128 * 128) < 6);
    assert_string_equal(open_sized(&jpeg, file, 128, 64),
                        "jpeg of 128 x 128 pixels, expected 128 x 64");
    assert_cut_off_is_noticed(file);
}

static void test_jpeg__grey_stays_grey(void **state)
{
    file_t file = load("photo-grey.jpg");
    tseed_picture_t picture;
    tseed_jpeg_t jpeg;

    (void)state;
    assert_null(open_sized(&jpeg, file, 128, 128));
    assert_null(tseed_jpeg_read(&picture, &codec, &jpeg, pool));
    assert_int_equal(picture.channels, 1);
    assert_memory_equal(rgba_of(&picture), decode(file.data, file.length, 128, 128, 0),
                        4 * 128 * 128);
}

static void test_jpeg__what_does_not_fit_is_refused(void **state)
{
    tseed_jpeg_t jpeg;

    (void)state;
    assert_string_equal(open_sized(&jpeg, load("photo-420.jpg"), 256, 128),
                        "jpeg of 128 x 128 pixels, expected 256 x 128");
    assert_string_equal(open_sized(&jpeg, load("photo-cmyk.jpg"), 128, 128),
                        "jpeg is in the colours of print (CMYK), expected grey, YCbCr or RGB");
}

static void test_jpeg__a_file_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    assert_cut_off_is_noticed(load("photo-420.jpg"));
    assert_cut_off_is_noticed(load("photo-grey.jpg"));
    assert_cut_off_is_noticed(load("photo-progressive.jpg"));
}

static void test_jpeg__a_lost_end_is_named(void **state)
{
    file_t file = load("photo-420.jpg");
    tseed_picture_t picture;
    tseed_jpeg_t jpeg;

    (void)state;
    file.length -= 100;
    assert_null(open_sized(&jpeg, file, 128, 128));
    assert_string_equal(tseed_jpeg_read(&picture, &codec, &jpeg, pool),
                        "jpeg is damaged: Premature end of JPEG file");
}

/* The tiles of a 2 x 2 raster that begins at (offset, offset) equal that part of the whole. */
static void assert_cut_without_loss(file_t file, int offset, int size)
{
    unsigned char *whole = decode(file.data, file.length, 128, 128, TJFLAG_FASTUPSAMPLE);
    tseed_jpeg_t jpeg;

    assert_null(open_sized(&jpeg, file, 128, 128));
    for (int i = 3; i >= 0; i--) {
        tseed_region_t region = {offset + i % 2 * size, offset + i / 2 * size, size, size};
        const unsigned char *tile;
        size_t length = tseed_jpeg_cut(&tile, &codec, &jpeg, &region);

        assert_true(length > 0);
        assert_memory_equal(decode(tile, length, size, size, TJFLAG_FASTUPSAMPLE),
                            crop(whole, 128, &region), 4 * (size_t)size * (size_t)size);
    }
}

static void test_jpeg__a_cut_on_blocks_loses_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(colour_names) / sizeof(colour_names[0]); i++) {
        assert_cut_without_loss(load(colour_names[i]), 0, 64);
        assert_cut_without_loss(load(colour_names[i]), 16, 48);
        assert_cut_without_loss(load(colour_names[i]), 32, 32);
    }
    assert_cut_without_loss(load("photo-grey.jpg"), 8, 56);
    assert_cut_without_loss(load("photo-444.jpg"), 8, 56);
}

static void test_jpeg__a_cut_beside_blocks_is_left_to_decoding(void **state)
{
    static const tseed_region_t regions[] = {
        {8, 0, 64, 64}, {0, 8, 64, 64}, {10, 10, 64, 64}, {0, 0, 60, 64}, {0, 0, 64, 60}};
    tseed_jpeg_t jpeg;

    (void)state;
    assert_null(open_sized(&jpeg, load("photo-420.jpg"), 128, 128));
    for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
        const unsigned char *tile;

        assert_int_equal(tseed_jpeg_cut(&tile, &codec, &jpeg, &regions[i]), 0);
    }
}

static void test_jpeg__another_file_is_cut_anew(void **state)
{
    (void)state;
    assert_cut_without_loss(load("photo-420.jpg"), 0, 64);
    assert_cut_without_loss(load("photo-422.jpg"), 0, 64);
}

static void test_jpeg__what_was_written_looks_like_it(void **state)
{
    int width, height, sampling, space;
    unsigned char *rgba = read_png(load("photo.png"), &width, &height);
    tseed_picture_t picture = {128, 128, 4, 512, rgba, 0, NULL};
    tjhandle handle = tjInitDecompress();
    size_t small, length;

    (void)state;
    small = tseed_jpeg_write(&codec, &picture, 30);
    length = tseed_jpeg_write(&codec, &picture, 90);
    assert_true(small > 0 && small < length);
    assert_true(mean_error(decode(codec.file.data, length, 128, 128, 0), rgba, 128 * 128) < 6);
    assert_int_equal(
        tjDecompressHeader3(handle, codec.file.data, length, &width, &height, &sampling, &space),
        0);
    assert_int_equal(sampling, TJSAMP_420);
    tjDestroy(handle);
}

static int teardown(void **state)
{
    tseed_jpeg_codec_free(&codec);
    return image_teardown(state);
}

static void test_jpeg__is_known_by_its_first_bytes(void **state)
{
    static const unsigned char data[] = {0xff, 0xd8, 0xff, 0xe0}, other[] = {0xff, 0xd8, 0xfe};

    (void)state;
    assert_true(tseed_jpeg_is(data, 3));
    assert_false(tseed_jpeg_is(data, 2));
    assert_false(tseed_jpeg_is(data + 1, 3));
    assert_false(tseed_jpeg_is(other, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jpeg__pixels_are_turbojpegs),
        cmocka_unit_test(test_jpeg__a_sampling_without_a_name_is_read),
        cmocka_unit_test(test_jpeg__grey_stays_grey),
        cmocka_unit_test(test_jpeg__what_does_not_fit_is_refused),
        cmocka_unit_test(test_jpeg__a_file_cut_off_anywhere_is_refused),
        cmocka_unit_test(test_jpeg__a_lost_end_is_named),
        cmocka_unit_test(test_jpeg__a_cut_on_blocks_loses_nothing),
        cmocka_unit_test(test_jpeg__a_cut_beside_blocks_is_left_to_decoding),
        cmocka_unit_test(test_jpeg__another_file_is_cut_anew),
        cmocka_unit_test(test_jpeg__what_was_written_looks_like_it),
        cmocka_unit_test(test_jpeg__is_known_by_its_first_bytes),
    };

    return cmocka_run_group_tests(tests, image_setup, teardown);
}
