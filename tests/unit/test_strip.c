/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What of a picture is passed on, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "image/tseed_strip.h"

static tseed_buffer_t room;

/* A picture put together from parts; those whose text begins with '-' shall go. */
typedef struct {
    unsigned char data[400000], left[400000];
    size_t length, left_length;
} picture_t;

static void add(picture_t *picture, int stays, const void *data, size_t length)
{
    memcpy(picture->data + picture->length, data, length);
    picture->length += length;
    if (stays) {
        memcpy(picture->left + picture->left_length, data, length);
        picture->left_length += length;
    }
}

static int strip(tseed_stripped_t *stripped, const picture_t *picture)
{
    return tseed_strip(stripped, &room, picture->data, picture->length, 16, 16);
}

static void assert_left(const picture_t *picture)
{
    tseed_stripped_t stripped;

    assert_int_equal(strip(&stripped, picture), 0);
    assert_int_equal(stripped.length, picture->left_length);
    assert_memory_equal(stripped.data, picture->left, picture->left_length);
}

/* ---- PNG ---- */

static void png_begin(picture_t *picture)
{
    picture->length = picture->left_length = 0;
    add(picture, 1, "\x89PNG\r\n\x1a\n", 8);
}

static void png_chunk(picture_t *picture, int stays, const char *type, size_t length)
{
    static unsigned char chunk[300000];

    memset(chunk, 'x', length + 12);
    for (int i = 0; i < 4; i++) {
        chunk[i] = (unsigned char)(length >> 8 * (3 - i));
    }
    memcpy(chunk + 4, type, 4);
    add(picture, stays, chunk, length + 12);
}

static void test_strip__leaves_pixels_and_colours_of_png(void **state)
{
    static picture_t picture;

    (void)state;
    png_begin(&picture);
    png_chunk(&picture, 1, "IHDR", 13);
    png_chunk(&picture, 1, "gAMA", 4);
    png_chunk(&picture, 0, "tEXt", 200000);
    png_chunk(&picture, 1, "iCCP", 3000);
    png_chunk(&picture, 0, "pHYs", 9);
    png_chunk(&picture, 1, "PLTE", 30);
    png_chunk(&picture, 1, "tRNS", 1);
    png_chunk(&picture, 0, "abCd", 0);
    png_chunk(&picture, 1, "IDAT", 100);
    png_chunk(&picture, 1, "IDAT", 100);
    png_chunk(&picture, 0, "eXIf", 99);
    png_chunk(&picture, 1, "IEND", 0);
    add(&picture, 0, "what stands behind", 18);
    assert_left(&picture);
}

static void test_strip__copies_nothing_when_all_stays(void **state)
{
    static picture_t picture;
    tseed_stripped_t stripped;

    (void)state;
    png_begin(&picture);
    png_chunk(&picture, 1, "IHDR", 13);
    png_chunk(&picture, 1, "IDAT", 100);
    png_chunk(&picture, 1, "IEND", 0);
    assert_int_equal(strip(&stripped, &picture), 0);
    assert_ptr_equal(stripped.data, picture.data);
    assert_int_equal(stripped.length, picture.length);
}

static void test_strip__takes_no_more_than_pixels_need(void **state)
{
    static picture_t picture;
    tseed_stripped_t stripped;

    (void)state;
    png_begin(&picture);
    png_chunk(&picture, 1, "IHDR", 13);
    png_chunk(&picture, 0, "iCCP", 65537);
    png_chunk(&picture, 1, "IDAT", 100);
    png_chunk(&picture, 1, "IEND", 0);
    assert_left(&picture);
    png_begin(&picture);
    png_chunk(&picture, 1, "IDAT", 200000); /* of 16 x 16 pixels */
    png_chunk(&picture, 1, "IEND", 0);
    assert_int_equal(strip(&stripped, &picture), -1);
}

/* Cut off anywhere, it is read no further than it goes. */
static void test_strip__follows_no_broken_picture(void **state)
{
    static picture_t picture;
    tseed_stripped_t stripped;
    size_t whole;

    (void)state;
    png_begin(&picture);
    png_chunk(&picture, 1, "IHDR", 13);
    png_chunk(&picture, 1, "IDAT", 100);
    png_chunk(&picture, 1, "IEND", 0);
    whole = picture.length;
    for (picture.length = 8; picture.length < whole; picture.length++) {
        unsigned char *exact = malloc(picture.length);

        memcpy(exact, picture.data, picture.length);
        assert_int_equal(tseed_strip(&stripped, &room, exact, picture.length, 16, 16), -1);
        free(exact);
    }
}

/* ---- JPEG ---- */

static void jpeg_segment(picture_t *picture, int stays, int marker, const char *text, size_t length)
{
    static unsigned char segment[70000];

    memset(segment, 'x', length + 4);
    segment[0] = 0xFF;
    segment[1] = (unsigned char)marker;
    segment[2] = (unsigned char)((length + 2) >> 8);
    segment[3] = (unsigned char)(length + 2);
    memcpy(segment + 4, text, strlen(text) + 1);
    add(picture, stays, segment, length + 4);
}

static void test_strip__leaves_pixels_and_colours_of_jpeg(void **state)
{
    static picture_t picture;

    (void)state;
    picture.length = picture.left_length = 0;
    add(&picture, 1, "\xFF\xD8", 2);
    jpeg_segment(&picture, 1, 0xE0, "JFIF", 14);
    jpeg_segment(&picture, 0, 0xE0, "JFXX", 500);
    jpeg_segment(&picture, 0, 0xE1, "Exif", 60000);
    jpeg_segment(&picture, 1, 0xE2, "ICC_PROFILE", 3000);
    jpeg_segment(&picture, 0, 0xE2, "MPF", 300);
    jpeg_segment(&picture, 1, 0xEE, "Adobe", 12);
    jpeg_segment(&picture, 0, 0xFE, "a comment", 9);
    jpeg_segment(&picture, 1, 0xDB, "", 65);
    add(&picture, 0, "\xFF", 1); /* fill */
    jpeg_segment(&picture, 1, 0xC2, "", 15);
    jpeg_segment(&picture, 1, 0xDA, "", 10);
    add(&picture, 1, "pixels\xFF\x00 and\xFF\xD3 more\xFF\x00", 21);
    jpeg_segment(&picture, 0, 0xFE, "between scans", 13);
    jpeg_segment(&picture, 1, 0xC4, "", 30);
    jpeg_segment(&picture, 1, 0xDA, "", 10);
    add(&picture, 1, "\xFF\x00pixels", 8);
    add(&picture, 1, "\xFF\xD9", 2);
    add(&picture, 0, "what stands behind", 18);
    assert_left(&picture);
}

/* Lossless, hierarchical and arithmetic frames (T.81, table B.1). */
static void test_strip__leaves_jpeg_that_browsers_do_not_show_to_a_writer(void **state)
{
    static picture_t picture;
    tseed_stripped_t stripped;

    (void)state;
    for (int marker = 0xC0; marker <= 0xCF; marker++) {
        int shown = marker <= 0xC2 || marker == 0xC4;

        picture.length = picture.left_length = 0;
        add(&picture, 1, "\xFF\xD8", 2);
        jpeg_segment(&picture, 1, marker, "", 15);
        jpeg_segment(&picture, 1, 0xDA, "", 10);
        add(&picture, 1, "pixels\xFF\xD9", 8);
        assert_int_equal(strip(&stripped, &picture), shown ? 0 : -1);
    }
}

/* ---- WebP ---- */

static void webp_chunk(picture_t *picture, int stays, const char *type, const char *data,
                       size_t length)
{
    unsigned char chunk[300] = {0};

    memcpy(chunk, type, 4);
    chunk[4] = (unsigned char)length;
    memcpy(chunk + 8, data, strlen(data));
    add(picture, stays, chunk, 8 + length + length % 2);
}

static void test_strip__leaves_pixels_and_colours_of_webp(void **state)
{
    static picture_t picture;

    (void)state;
    picture.length = picture.left_length = 0;
    add(&picture, 1, "RIFF????WEBP", 12);
    webp_chunk(&picture, 1, "VP8X", "\x3C", 10); /* profile, alpha, Exif, XMP */
    webp_chunk(&picture, 1, "ICCP", "profile", 7);
    webp_chunk(&picture, 1, "ALPH", "alpha", 5);
    webp_chunk(&picture, 0, "JUNK", "junk", 4);
    webp_chunk(&picture, 1, "VP8 ", "pixels", 6);
    webp_chunk(&picture, 0, "EXIF", "exif", 4);
    webp_chunk(&picture, 0, "XMP ", "xmp", 3);
    picture.data[4] = (unsigned char)(picture.length - 8);
    picture.left[4] = (unsigned char)(picture.left_length - 8);
    memset(picture.data + 5, 0, 3);
    memset(picture.left + 5, 0, 3);
    picture.left[20] = 0x30;
    add(&picture, 0, "what stands behind", 18);
    assert_left(&picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strip__leaves_pixels_and_colours_of_png),
        cmocka_unit_test(test_strip__copies_nothing_when_all_stays),
        cmocka_unit_test(test_strip__takes_no_more_than_pixels_need),
        cmocka_unit_test(test_strip__follows_no_broken_picture),
        cmocka_unit_test(test_strip__leaves_pixels_and_colours_of_jpeg),
        cmocka_unit_test(test_strip__leaves_jpeg_that_browsers_do_not_show_to_a_writer),
        cmocka_unit_test(test_strip__leaves_pixels_and_colours_of_webp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
