/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* PNG read and written, against libpng; broken files against their sentences. */
#include "image_fixture.h"

#include <libdeflate.h>

#include "image/tseed_png_read.h"
#include "image/tseed_png_write.h"

static tseed_png_reader_t reader;

static const char *read_sized(tseed_picture_t *picture, file_t file, int width, int height)
{
    unsigned char *exact = exact_copy(file.data, file.length);
    tseed_png_t png = {exact, file.length, width, height, 0, 0};
    const char *error = tseed_png_read(picture, &reader, &png, pool);

    free(exact);
    return error;
}

static void assert_reads_as_libpng(const png_kind_t *kind)
{
    file_t file = write_png(kind);
    tseed_picture_t picture;
    int width, height;
    unsigned char *expected = read_png(file, &width, &height);

    assert_null(read_sized(&picture, file, kind->width, kind->height));
    assert_memory_equal(rgba_of(&picture), expected, 4 * (size_t)width * (size_t)height);
}

/* All pairs of colour type and depth that PNG has, each once with and once without the rest. */
static void test_png__every_kind_is_read_as_libpng_reads_it(void **state)
{
    static const struct {
        int colour_type, depth;
    } kinds[] = {
        {PNG_COLOR_TYPE_GRAY, 1},        {PNG_COLOR_TYPE_GRAY, 2},
        {PNG_COLOR_TYPE_GRAY, 4},        {PNG_COLOR_TYPE_GRAY, 8},
        {PNG_COLOR_TYPE_GRAY, 16},       {PNG_COLOR_TYPE_RGB, 8},
        {PNG_COLOR_TYPE_RGB, 16},        {PNG_COLOR_TYPE_PALETTE, 1},
        {PNG_COLOR_TYPE_PALETTE, 2},     {PNG_COLOR_TYPE_PALETTE, 4},
        {PNG_COLOR_TYPE_PALETTE, 8},     {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_RGB_ALPHA, 8},
        {PNG_COLOR_TYPE_RGB_ALPHA, 16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (int rest = 0; rest < 4; rest++) {
            png_kind_t kind = {37, 29, kinds[i].colour_type, kinds[i].depth, 0, PNG_ALL_FILTERS,
                               0,  0};

            kind.interlace = rest & 1 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE;
            kind.transparency = rest & 2 && !(kind.colour_type & PNG_COLOR_MASK_ALPHA);
            assert_reads_as_libpng(&kind);
        }
    }
}

static void test_png__every_filter_is_taken_away(void **state)
{
    static const int filters[] = {PNG_FILTER_NONE, PNG_FILTER_SUB, PNG_FILTER_UP, PNG_FILTER_AVG,
                                  PNG_FILTER_PAETH};
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};

    (void)state;
    for (int i = 0; i < 5 * 4; i++) {
        png_kind_t kind = {67, 41, types[i % 4], 8, 0, filters[i / 4], 0, 0};

        assert_reads_as_libpng(&kind);
        kind.width = kind.height = 1;
        assert_reads_as_libpng(&kind);
    }
}

static void test_png__a_stream_in_many_chunks_is_joined(void **state)
{
    png_kind_t kind = {200, 100, PNG_COLOR_TYPE_RGB, 8, 0, PNG_ALL_FILTERS, 0, 64};
    file_t whole;

    (void)state;
    assert_reads_as_libpng(&kind);
    whole = write_png(&kind);
    assert_true(whole.length > 10 * 64);
}

static void test_png__pictures_of_pillow_are_read(void **state)
{
    static const char *const names[] = {"map-rgba.png", "map-rgb.png", "map-palette.png",
                                        "photo.png"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        file_t file = load(names[i]);
        tseed_picture_t picture;

        assert_null(read_sized(&picture, file, 128, 128));
        assert_png_pixels(file, rgba_of(&picture), 128, 128);
    }
}

static file_t small_file(void)
{
    png_kind_t kind = {9, 7, PNG_COLOR_TYPE_PALETTE, 8, 0, PNG_ALL_FILTERS, 1, 0};

    return write_png(&kind);
}

static void test_png__a_file_cut_off_anywhere_says_so(void **state)
{
    file_t file = small_file();
    tseed_picture_t picture;

    (void)state;
    for (size_t length = 8; length < file.length; length++) {
        file_t cut = {file.data, length};

        assert_string_equal(read_sized(&picture, cut, 9, 7),
                            apr_psprintf(pool, "png is cut off after %d bytes", (int)length));
    }
    assert_null(read_sized(&picture, file, 9, 7));
}

static void test_png__no_bit_may_be_wrong(void **state)
{
    file_t file = small_file();
    tseed_picture_t picture;

    (void)state;
    for (size_t bit = 8 * 8; bit < 8 * file.length; bit++) {
        file.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (!read_sized(&picture, file, 9, 7)) {
            fail_msg("bit %d of byte %d may be wrong", (int)(bit % 8), (int)(bit / 8));
        }
        file.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void test_png__another_size_is_refused(void **state)
{
    tseed_picture_t picture;

    (void)state;
    assert_string_equal(read_sized(&picture, small_file(), 7, 9),
                        "png of 9 x 7 pixels, expected 7 x 9");
}

/* Files made chunk by chunk: "IHDR", "PLTE" and so on, each with its data. */
static void put_chunk(file_t *file, const char *type, const char *data, size_t length)
{
    unsigned char *grown = apr_pcalloc(pool, file->length + length + 12);
    unsigned char *chunk = grown + file->length;
    uint32_t sum;

    if (file->length) {
        memcpy(grown, file->data, file->length);
    }
    png_save_uint_32(chunk, (png_uint_32)length);
    memcpy(chunk + 4, type, 4);
    memcpy(chunk + 8, data, length);
    sum = libdeflate_crc32(0, chunk + 4, length + 4);
    png_save_uint_32(chunk + 8 + length, sum);
    file->data = grown;
    file->length += length + 12;
}

static void put_idat(file_t *file, const char *rows, size_t length)
{
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(1);
    char stream[256];
    size_t got = libdeflate_zlib_compress(deflater, rows, length, stream, sizeof(stream));

    put_chunk(file, "IDAT", stream, got);
    libdeflate_free_compressor(deflater);
}

/* Chunks in the words below, of a picture of 2 x 2 pixels. */
typedef struct {
    const char *word, *type, *data;
    size_t length;
    int is_rows;
} word_t;

#define HEADER(depth, type) "\0\0\0\2\0\0\0\2" depth type "\0\0\0"

static const word_t words[] = {
    {"grey", "IHDR", HEADER("\x08", "\0"), 13, 0},
    {"indices", "IHDR", HEADER("\x08", "\3"), 13, 0},
    {"bits", "IHDR", HEADER("\1", "\3"), 13, 0},
    {"rgba", "IHDR", HEADER("\x08", "\6"), 13, 0},
    {"depth3", "IHDR", HEADER("\3", "\0"), 13, 0},
    {"short", "IHDR", HEADER("\x08", "\0"), 12, 0},
    {"palette", "PLTE", "rgbRGB", 6, 0},
    {"palette3", "PLTE", "rgbRGB...", 9, 0},
    {"palette7", "PLTE", "rgbRGB.", 7, 0},
    {"palette0", "PLTE", "", 0, 0},
    {"alpha", "tRNS", "\x80", 1, 0},
    {"alpha3", "tRNS", "\x80\x80\x80", 3, 0},
    {"rows", "IDAT", "\0\0\1\0\1\0", 6, 1},
    {"bitrows", "IDAT", "\0\x40\0\x80", 4, 1},
    {"colour2", "IDAT", "\0\0\1\0\1\2", 6, 1},
    {"filter5", "IDAT", "\0\0\1\5\1\0", 6, 1},
    {"less", "IDAT", "\0\0\1\0\1", 5, 1},
    {"more", "IDAT", "\0\0\1\0\1\0\0", 7, 1},
    {"garbage", "IDAT", "no zlib", 7, 0},
    {"text", "tEXt", "Title\0x", 7, 0},
    {"critical", "ABCD", "", 0, 0},
    {"end", "IEND", "", 0, 0},
    {"end1", "IEND", "x", 1, 0},
};

static file_t spell(const char *sentence)
{
    file_t file = {(unsigned char *)apr_pmemdup(pool, "\x89PNG\r\n\x1a\n", 8), 8};
    char *last;
    char *copy = apr_pstrdup(pool, sentence);

    for (char *word = apr_strtok(copy, " ", &last); word; word = apr_strtok(NULL, " ", &last)) {
        size_t i = 0;

        while (strcmp(words[i].word, word) != 0) {
            i++;
        }
        if (words[i].is_rows) {
            put_idat(&file, words[i].data, words[i].length);
        } else {
            put_chunk(&file, words[i].type, words[i].data, words[i].length);
        }
    }
    return file;
}

static void test_png__chunks_must_make_sense(void **state)
{
    static const char *const cases[][2] = {
        {"grey rows end", NULL},
        {"indices palette rows end", NULL},
        {"indices palette alpha rows end", NULL},
        {"indices text palette text alpha text rows text end", NULL},
        {"bits palette bitrows end", NULL},
        {"grey palette rows end", NULL},
        {"grey rows end text", NULL},
        {"", "png is cut off after 8 bytes"},
        {"end", "png does not begin with an IHDR chunk"},
        {"text grey rows end", "png does not begin with an IHDR chunk"},
        {"grey grey rows end", "png has two IHDR chunks"},
        {"short rows end", "png has an IHDR chunk of 12 bytes, expected 13"},
        {"depth3 rows end", "png of an unknown kind: depth 3, colour type 0, compression 0, "
                            "filter 0, interlace 0"},
        {"indices rows end", "png of indices has no palette before its pixels"},
        {"indices rows palette end", "png of indices has no palette before its pixels"},
        {"indices palette palette rows end",
         "png has a second PLTE chunk, or one in the wrong place"},
        {"grey rows palette end", "png has a second PLTE chunk, or one in the wrong place"},
        {"bits palette3 bitrows end",
         "png has a palette of 9 bytes, expected 3 for each of 1 to 2 colours"},
        {"indices palette7 rows end",
         "png has a palette of 7 bytes, expected 3 for each of 1 to 256 colours"},
        {"indices palette0 rows end",
         "png has a palette of 0 bytes, expected 3 for each of 1 to 256 colours"},
        {"indices palette alpha3 rows end",
         "png has a tRNS chunk of 3 bytes, which does not go with colour type 3"},
        {"indices alpha palette rows end",
         "png has a tRNS chunk of 1 bytes, which does not go with colour type 3"},
        {"rgba alpha rows end",
         "png has a tRNS chunk of 1 bytes, which does not go with colour type 6"},
        {"indices palette alpha alpha rows end",
         "png has a second tRNS chunk, or one in the wrong place"},
        {"indices palette rows alpha end",
         "png has a second tRNS chunk, or one in the wrong place"},
        {"grey rows text rows end", "png has other chunks between its IDAT chunks"},
        {"grey critical rows end", "png has a critical chunk of an unknown type"},
        {"grey end", "png has no pixels: it has no IDAT chunk"},
        {"grey rows end1", "png has an IEND chunk that is not empty"},
        {"grey", "png is cut off after 33 bytes"},
        {"grey garbage end", "png is damaged: its pixels can't be decompressed"},
        {"grey less end", "png is damaged: it has 5 bytes of pixels, expected 6"},
        {"grey more end", "png is damaged: it has more pixels than its size says"},
        {"grey filter5 end", "png is damaged: a row has an unknown filter"},
        {"indices palette colour2 end", "png is damaged: it uses colour 3 of a palette of 2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_picture_t picture;
        const char *error = read_sized(&picture, spell(cases[i][0]), 2, 2);

        if (!cases[i][1]) {
            if (error) {
                fail_msg("'%s': %s", cases[i][0], error);
            }
        } else {
            assert_non_null(error);
            assert_string_equal(error, cases[i][1]);
        }
    }
}

/* What libpng reads is judged as strictly as what we read. */
static void test_png__a_damaged_rare_kind_is_refused(void **state)
{
    png_kind_t kind = {33, 31, PNG_COLOR_TYPE_RGB, 16, PNG_INTERLACE_ADAM7, PNG_ALL_FILTERS, 0, 0};
    file_t file = write_png(&kind);
    unsigned char *idat = file.data + 33; /* behind signature and IHDR */
    size_t length = png_get_uint_32(idat);
    tseed_picture_t picture;

    (void)state;
    assert_memory_equal(idat + 4, "IDAT", 4);
    for (size_t i = 0; i < length; i++) {
        idat[8 + i] ^= 0x55;
        png_save_uint_32(idat + 8 + length, libdeflate_crc32(0, idat + 4, length + 4));
        assert_non_null(read_sized(&picture, file, 33, 31));
        idat[8 + i] ^= 0x55;
    }
}

static tseed_png_writer_t writer;

/* Returns the file; libpng must find the picture's pixels in it. */
static file_t assert_written(const tseed_picture_t *picture, int level)
{
    file_t file;

    file.length = tseed_png_write(&writer, picture, level);
    file.data = writer.file.data;
    assert_true(file.length > 0);
    assert_png_pixels(file, rgba_of(picture), picture->width, picture->height);
    return file;
}

static void test_png__libpng_reads_what_was_written(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 4; channels++) {
        unsigned char *pixels = apr_palloc(pool, 4096);
        tseed_picture_t picture = {.width = 31, .height = 23, .channels = channels, .stride = 130};

        for (int i = 0; i < 4096; i++) {
            pixels[i] = sample(i % 130, i / 130, 0);
        }
        picture.pixels = pixels;
        for (int level = 1; level <= 12; level++) {
            assert_written(&picture, level);
        }
    }
}

/* The bytes of a picture of 128 x 128 in RGB as Pillow's file of that name has it. */
static size_t written_length(const char *name)
{
    int width, height;
    unsigned char *rgba = read_png(load(name), &width, &height);
    tseed_picture_t whole = {128, 128, 4, 4 * 128, rgba, 0, NULL};
    tseed_picture_t rgb = tseed_picture_drop_alpha(apr_palloc(pool, 3 * 128 * 128), &whole);
    size_t length = tseed_png_write(&writer, &rgb, 1);

    assert_png_pixels((file_t){writer.file.data, length}, rgba, 128, 128);
    return length;
}

/* Pillow, which tries all filters at zlib's level 6, makes 24461 bytes of the photograph and 17758
 * of the map. Without a filter hardly any of the photograph's 49152 bytes go; the map gets smaller.
 */
static void test_png__photographs_alone_are_filtered(void **state)
{
    (void)state;
    assert_true(written_length("photo.png") < 24461 * 1.1);
    assert_true(written_length("map-rgb.png") < 17758);
}

static void test_png__palettes_are_packed(void **state)
{
    static const struct {
        int colours, depth;
    } cases[] = {{1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 4}, {16, 4}, {17, 8}, {256, 8}};
    unsigned char pixels[33 * 17];
    tseed_colour_t palette[256];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_picture_t picture = {33, 17, 1, 33, pixels, cases[i].colours, palette};
        file_t file;

        for (int k = 0; k < 33 * 17; k++) {
            pixels[k] = (unsigned char)(k * 7 % cases[i].colours);
        }
        for (int k = 0; k < 256; k++) {
            palette[k] = (tseed_colour_t){sample(k, 0, 0), sample(k, 0, 1), 7, 255};
        }
        palette[0].a = 3;
        file = assert_written(&picture, 1);
        assert_int_equal(file.data[24], cases[i].depth);
        assert_int_equal(file.data[25], PNG_COLOR_TYPE_PALETTE);
    }
}

static size_t chunk_length(file_t file, const char *type)
{
    for (size_t at = 8; at < file.length; at += 12 + png_get_uint_32(file.data + at)) {
        if (memcmp(file.data + at + 4, type, 4) == 0) {
            return png_get_uint_32(file.data + at);
        }
    }
    return 0;
}

static void test_png__trns_ends_with_the_last_translucent_colour(void **state)
{
    unsigned char pixels[4] = {0, 1, 2, 3};
    tseed_colour_t palette[4] = {{1, 2, 3, 0}, {4, 5, 6, 9}, {7, 8, 9, 255}, {0, 0, 0, 255}};
    tseed_picture_t picture = {2, 2, 1, 2, pixels, 4, palette};

    (void)state;
    assert_int_equal(chunk_length(assert_written(&picture, 1), "tRNS"), 2);
    palette[0].a = palette[1].a = 255;
    assert_int_equal(chunk_length(assert_written(&picture, 1), "tRNS"), 0);
}

static int teardown(void **state)
{
    tseed_png_reader_free(&reader);
    tseed_png_writer_free(&writer);
    return image_teardown(state);
}

static void test_png__is_known_by_its_signature(void **state)
{
    static const unsigned char data[9] = "\x89PNG\r\n\x1a\n";

    (void)state;
    assert_true(tseed_png_is(data, 8));
    assert_false(tseed_png_is(data, 7));
    assert_false(tseed_png_is(data + 1, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png__every_kind_is_read_as_libpng_reads_it),
        cmocka_unit_test(test_png__every_filter_is_taken_away),
        cmocka_unit_test(test_png__a_stream_in_many_chunks_is_joined),
        cmocka_unit_test(test_png__pictures_of_pillow_are_read),
        cmocka_unit_test(test_png__a_file_cut_off_anywhere_says_so),
        cmocka_unit_test(test_png__no_bit_may_be_wrong),
        cmocka_unit_test(test_png__another_size_is_refused),
        cmocka_unit_test(test_png__chunks_must_make_sense),
        cmocka_unit_test(test_png__a_damaged_rare_kind_is_refused),
        cmocka_unit_test(test_png__libpng_reads_what_was_written),
        cmocka_unit_test(test_png__photographs_alone_are_filtered),
        cmocka_unit_test(test_png__palettes_are_packed),
        cmocka_unit_test(test_png__trns_ends_with_the_last_translucent_colour),
        cmocka_unit_test(test_png__is_known_by_its_signature),
    };

    return cmocka_run_group_tests(tests, image_setup, teardown);
}
