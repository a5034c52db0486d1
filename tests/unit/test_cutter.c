/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Answers cut into tiles: every format from every source, against libpng and TurboJPEG. */
#include "image_fixture.h"

#include <turbojpeg.h>
#include <webp/decode.h>

#include "image/tseed_cutter.h"

static tseed_cutter_t *cutter;

static tseed_format_t format_of(const char *mime, tseed_palette_t palette)
{
    tseed_format_t format;

    assert_null(tseed_format_init(&format, mime, pool));
    format.palette = palette;
    return format;
}

static const char *open_file(file_t file, int width, int height, const char *mime,
                             tseed_palette_t palette)
{
    tseed_format_t format = format_of(mime, palette);

    return tseed_cutter_open(cutter, &(tseed_answer_t){file.data, file.length, width, height},
                             &format, pool);
}

/* The tile of 32 x 32 pixels at (x, y). */
static tseed_encoded_t cut(int x, int y)
{
    tseed_encoded_t tile;

    assert_null(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){x, y, 32, 32}, pool));
    assert_true(tile.length > 0);
    return tile;
}

static file_t file_of(const tseed_encoded_t *tile)
{
    return (file_t){(unsigned char *)(uintptr_t)tile->data, tile->length};
}

static int colour_type(const tseed_encoded_t *tile)
{
    return tile->data[25];
}

static void assert_tile_is(const tseed_encoded_t *tile, file_t source, int x, int y)
{
    int width, height;
    unsigned char *whole = read_png(source, &width, &height);
    tseed_region_t region = {x, y, 32, 32};

    assert_png_pixels(file_of(tile), crop(whole, width, &region), 32, 32);
}

static unsigned char *decode_jpeg(const tseed_encoded_t *tile, int size)
{
    tjhandle handle = tjInitDecompress();
    unsigned char *rgba = apr_palloc(pool, 4 * (size_t)size * (size_t)size);

    assert_int_equal(
        tjDecompress2(handle, tile->data, tile->length, rgba, size, 0, size, TJPF_RGBA, 0), 0);
    tjDestroy(handle);
    return rgba;
}

/* All palette rules, with a gutter of 5 pixels. */
static void test_cutter__png_tiles_equal_the_source(void **state)
{
    static const char *const names[] = {"map-rgba.png", "map-rgb.png", "map-palette.png",
                                        "photo.png"};
    static const tseed_palette_t palettes[] = {TSEED_PALETTE_KEEP, TSEED_PALETTE_AUTO,
                                               TSEED_PALETTE_NONE};

    (void)state;
    for (int i = 0; i < 4 * 3; i++) {
        file_t source = load(names[i / 3]);

        assert_null(open_file(source, 128, 128, "image/png", palettes[i % 3]));
        for (int y = 5; y < 96; y += 32) {
            for (int x = 5; x < 96; x += 32) {
                tseed_encoded_t tile = cut(x, y);

                assert_tile_is(&tile, source, x, y);
            }
        }
    }
}

static void test_cutter__rare_kinds_are_cut_as_libpng_shows_them(void **state)
{
    static const png_kind_t kinds[] = {
        {64, 64, PNG_COLOR_TYPE_GRAY, 16, 0, PNG_ALL_FILTERS, 1, 0},
        {64, 64, PNG_COLOR_TYPE_GRAY, 2, 1, PNG_ALL_FILTERS, 0, 0},
        {64, 64, PNG_COLOR_TYPE_RGB, 8, 0, PNG_ALL_FILTERS, 1, 0},
        {64, 64, PNG_COLOR_TYPE_PALETTE, 4, 1, PNG_ALL_FILTERS, 1, 0},
        {64, 64, PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, PNG_ALL_FILTERS, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        file_t source = write_png(&kinds[i]);
        tseed_encoded_t tile;

        assert_null(open_file(source, 64, 64, "image/png", TSEED_PALETTE_AUTO));
        tile = cut(32, 32);
        assert_tile_is(&tile, source, 32, 32);
    }
}

static void test_cutter__the_palette_rule_decides_the_kind_of_pixels(void **state)
{
    static const struct {
        const char *name, *mime;
        tseed_palette_t palette;
        int colour_type;
    } cases[] = {
        {"photo.png", "image/png", TSEED_PALETTE_AUTO, PNG_COLOR_TYPE_RGB},
        {"photo.png", "image/png8", TSEED_PALETTE_AUTO, PNG_COLOR_TYPE_PALETTE},
        {"map-rgb.png", "image/png", TSEED_PALETTE_KEEP, PNG_COLOR_TYPE_RGB},
        {"map-rgb.png", "image/png", TSEED_PALETTE_NONE, PNG_COLOR_TYPE_RGB},
        {"map-rgba.png", "image/png", TSEED_PALETTE_KEEP, PNG_COLOR_TYPE_RGB_ALPHA},
        {"map-rgba.png", "image/png", TSEED_PALETTE_NONE, PNG_COLOR_TYPE_RGB_ALPHA},
        {"map-rgba.png", "image/png8", TSEED_PALETTE_NONE, PNG_COLOR_TYPE_PALETTE},
        {"map-palette.png", "image/png", TSEED_PALETTE_KEEP, PNG_COLOR_TYPE_PALETTE},
        {"map-palette.png", "image/png", TSEED_PALETTE_AUTO, PNG_COLOR_TYPE_PALETTE},
        {"map-palette.png", "image/png", TSEED_PALETTE_NONE, PNG_COLOR_TYPE_RGB_ALPHA},
        {"map-palette.png", "image/png8", TSEED_PALETTE_NONE, PNG_COLOR_TYPE_PALETTE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_encoded_t tile;

        assert_null(open_file(load(cases[i].name), 128, 128, cases[i].mime, cases[i].palette));
        tile = cut(60, 60);
        assert_int_equal(colour_type(&tile), cases[i].colour_type);
    }
}

/* RGBA of 64 x 64 pixels, each quarter of which has that many colours. */
static file_t rgba_file(int colours, int alpha)
{
    file_t file = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);

    png_set_write_fn(png, &file, file_append, NULL);
    png_set_IHDR(png, info, 64, 64, 8, PNG_COLOR_TYPE_RGB_ALPHA, 0, 0, 0);
    png_write_info(png, info);
    for (int y = 0; y < 64; y++) {
        png_byte row[4 * 64];

        for (int x = 0; x < 64; x++) {
            int colour = (y % 32 * 32 + x % 32) % colours;
            png_byte pixel[4] = {(png_byte)colour, (png_byte)(colour >> 8), 200, (png_byte)alpha};

            memcpy(row + (size_t)x * 4, pixel, 4);
        }
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return file;
}

static void test_cutter__auto_finds_palettes_and_drops_opaque_alpha(void **state)
{
    static const struct {
        int colours, alpha, colour_type;
    } cases[] = {
        {256, 255, PNG_COLOR_TYPE_PALETTE},
        {257, 255, PNG_COLOR_TYPE_RGB},
        {256, 100, PNG_COLOR_TYPE_PALETTE},
        {257, 100, PNG_COLOR_TYPE_RGB_ALPHA},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        file_t file = rgba_file(cases[i].colours, cases[i].alpha);
        tseed_encoded_t tile;

        assert_null(open_file(file, 64, 64, "image/png", TSEED_PALETTE_AUTO));
        tile = cut(0, 32);
        assert_int_equal(colour_type(&tile), cases[i].colour_type);
        assert_tile_is(&tile, file, 0, 32);
    }
}

static void test_cutter__uniform_tiles_are_found(void **state)
{
    static const unsigned char rgba[4] = {0, 0, 200, 77};
    file_t file = rgba_file(1, 77);

    (void)state;
    for (int i = 0; i < 4; i++) {
        tseed_encoded_t tile;

        assert_null(
            open_file(file, 64, 64, i % 2 ? "image/png" : "image/png8", TSEED_PALETTE_AUTO));
        tile = cut(32 * (i % 2), 32);
        assert_int_equal(tile.uniform, 1);
        assert_memory_equal(tile.rgba, rgba, 4);
        assert_tile_is(&tile, file, 0, 0);
    }
    assert_null(open_file(rgba_file(2, 77), 64, 64, "image/png", TSEED_PALETTE_AUTO));
    assert_int_equal(cut(0, 0).uniform, 0);
}

/* It is decoded once, and again where another tile is wanted of it than before. */
static void test_cutter__an_answer_of_one_colour_may_come_again(void **state)
{
    file_t file = rgba_file(1, 77);
    tseed_encoded_t tile;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_null(open_file(file, 64, 64, "image/png", TSEED_PALETTE_AUTO));
        for (int x = 0; x < 64; x += 32) {
            tile = cut(x, 0);
            assert_int_equal(tile.uniform, 1);
            assert_tile_is(&tile, file, x, 0);
        }
        assert_null(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 16, 16}, pool));
        assert_int_equal(tile.data[19], 16);
        assert_int_equal(tile.uniform, 1);
    }
    assert_string_equal(open_file(file, 64, 32, "image/png", TSEED_PALETTE_AUTO),
                        "png of 64 x 64 pixels, expected 64 x 32");
    assert_null(open_file(rgba_file(1, 78), 64, 64, "image/png", TSEED_PALETTE_AUTO));
    assert_int_equal(cut(0, 0).rgba[3], 78);
}

/* What was remembered of one format, colour or size is not given for another. */
static void test_cutter__uniform_tiles_of_all_kinds_keep_apart(void **state)
{
    file_t file = rgba_file(1, 77);
    tseed_encoded_t tile;

    (void)state;
    assert_null(open_file(file, 64, 64, "image/png", TSEED_PALETTE_AUTO));
    tile = cut(0, 0);
    assert_int_equal(colour_type(&tile), PNG_COLOR_TYPE_PALETTE);
    assert_null(open_file(file, 64, 64, "image/png", TSEED_PALETTE_KEEP));
    tile = cut(0, 0);
    assert_int_equal(colour_type(&tile), PNG_COLOR_TYPE_RGB_ALPHA);
    assert_null(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 16, 8}, pool));
    assert_int_equal(tile.data[19], 16);
    assert_null(open_file(file, 64, 64, "image/jpeg", TSEED_PALETTE_KEEP));
    tile = cut(0, 0);
    assert_int_equal(tile.data[0], 0xff);
    assert_null(open_file(rgba_file(1, 78), 64, 64, "image/png", TSEED_PALETTE_AUTO));
    assert_int_equal(cut(0, 0).rgba[3], 78);
}

/* 200 x 77/255 + 255 x 178/255 = 238.4, the others 178: transparency lies on white. */
static void test_cutter__jpeg_lays_transparency_on_white(void **state)
{
    tseed_encoded_t tile;
    unsigned char *rgba;

    (void)state;
    assert_null(open_file(rgba_file(1, 77), 64, 64, "image/jpeg", TSEED_PALETTE_AUTO));
    tile = cut(32, 0);
    rgba = decode_jpeg(&tile, 32);
    for (int i = 0; i < 32 * 32; i++) {
        assert_in_range(rgba[4 * i], 178 - 2, 178 + 2);
        assert_in_range(rgba[4 * i + 1], 178 - 2, 178 + 2);
        assert_in_range(rgba[4 * i + 2], 238 - 2, 238 + 2);
    }
}

/* Pillow's JPEG of that part of map-rgb.png, quality 85 and 4:2:0, is 9.9 off on the average: 4:2:0
 * is hard on thin lines. */
static void test_cutter__a_png_becomes_a_jpeg_like_it(void **state)
{
    static const char *const names[] = {"photo.png", "map-rgb.png", "map-palette.png"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int width, height;
        file_t source = load(names[i]);
        tseed_region_t region = {8, 24, 32, 32}; /* opaque in all of them */
        unsigned char *expected = crop(read_png(source, &width, &height), 128, &region);
        tseed_encoded_t tile;
        unsigned char *rgba;
        int error = 0;

        assert_null(open_file(source, 128, 128, "image/jpeg", TSEED_PALETTE_AUTO));
        tile = cut(8, 24);
        rgba = decode_jpeg(&tile, 32);
        for (int k = 0; k < 4 * 32 * 32; k++) {
            error += abs(rgba[k] - expected[k]);
        }
        assert_true(error / (4 * 32 * 32) < 12);
    }
}

static void test_cutter__a_jpeg_becomes_a_png_exactly(void **state)
{
    file_t source = load("photo-420.jpg");
    tseed_encoded_t whole = {source.data, source.length, 0, {0}};
    tseed_region_t region = {7, 9, 32, 32};
    tseed_encoded_t tile;

    (void)state;
    assert_null(open_file(source, 128, 128, "image/png", TSEED_PALETTE_AUTO));
    tile = cut(7, 9);
    assert_png_pixels(file_of(&tile), crop(decode_jpeg(&whole, 128), 128, &region), 32, 32);
}

static void test_cutter__a_jpeg_is_cut_at_any_corner(void **state)
{
    tseed_encoded_t tile;

    (void)state;
    assert_null(open_file(load("photo-420.jpg"), 128, 128, "image/jpeg", TSEED_PALETTE_AUTO));
    for (int x = 0; x <= 96; x += 12) {
        tile = cut(x, 96 - x);
        decode_jpeg(&tile, 32);
    }
    assert_null(open_file(load("photo-grey.jpg"), 128, 128, "image/jpeg", TSEED_PALETTE_AUTO));
    tile = cut(5, 5);
    decode_jpeg(&tile, 32);
}

static void test_cutter__an_answer_that_is_the_tile_is_passed_on(void **state)
{
    static const char *const cases[][2] = {{"map-palette.png", "image/png"},
                                           {"map-palette.png", "image/png8"},
                                           {"photo.png", "image/png"},
                                           {"photo-420.jpg", "image/jpeg"},
                                           {"photo-progressive.jpg", "image/jpeg"},
                                           {"photo-rare.jpg", "image/jpeg"},
                                           {"photo-420.jpg", "image/vnd.jpeg-png"},
                                           {"photo.webp", "image/webp"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        file_t source = load(cases[i][0]);
        tseed_encoded_t tile;

        assert_null(open_file(source, 128, 128, cases[i][1], TSEED_PALETTE_AUTO));
        assert_null(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 128, 128}, pool));
        assert_ptr_equal(tile.data, source.data);
        assert_int_equal(tile.length, source.length);
    }
}

static void test_cutter__an_answer_of_another_kind_is_not_passed_on(void **state)
{
    static const struct {
        const char *name, *mime;
        tseed_palette_t palette;
    } cases[] = {{"photo.png", "image/png8", TSEED_PALETTE_AUTO},
                 {"map-palette.png", "image/png", TSEED_PALETTE_NONE},
                 {"photo.png", "image/jpeg", TSEED_PALETTE_AUTO},
                 {"photo-420.jpg", "image/png", TSEED_PALETTE_AUTO},
                 {"photo.png", "image/vnd.jpeg-png", TSEED_PALETTE_AUTO},
                 {"photo.png", "image/webp", TSEED_PALETTE_AUTO},
                 {"photo.webp", "image/png", TSEED_PALETTE_AUTO}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        file_t source = load(cases[i].name);
        tseed_encoded_t tile;

        assert_null(open_file(source, 128, 128, cases[i].mime, cases[i].palette));
        assert_null(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 128, 128}, pool));
        assert_ptr_not_equal(tile.data, source.data);
    }
}

/* No browser shows arithmetic coding. The tile has Huffman's, and the same pixels. */
static void test_cutter__an_answer_that_browsers_do_not_show_is_coded_anew(void **state)
{
    file_t source = load("photo-arithmetic.jpg");
    tseed_encoded_t whole = {.data = source.data, .length = source.length};
    unsigned char *expected = decode_jpeg(&whole, 128);
    tseed_encoded_t tile;

    (void)state;
    assert_non_null(memmem(source.data, source.length, "\xFF\xC9", 2));
    assert_null(open_file(source, 128, 128, "image/jpeg", TSEED_PALETTE_AUTO));
    assert_null(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 128, 128}, pool));
    assert_memory_equal(decode_jpeg(&tile, 128), expected, 4 * 128 * 128);
    assert_non_null(memmem(tile.data, tile.length, "\xFF\xC0", 2));
}

/* A grey PNG of 32 x 32 pixels of one sample of 16 bits. */
static file_t write_deep(const unsigned char *sample)
{
    file_t file = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_byte row[64];

    for (int x = 0; x < 64; x++) {
        row[x] = sample[x % 2];
    }
    png_set_write_fn(png, &file, file_append, NULL);
    png_set_IHDR(png, info, 32, 32, 16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < 32; y++) {
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return file;
}

static void test_cutter__a_tile_of_16_bits_keeps_them(void **state)
{
    static const png_kind_t kinds[] = {
        {64, 64, PNG_COLOR_TYPE_GRAY, 16, 0, PNG_ALL_FILTERS, 0, 0},
        {64, 64, PNG_COLOR_TYPE_GRAY, 16, 1, PNG_ALL_FILTERS, 1, 0},
        {64, 64, PNG_COLOR_TYPE_RGB, 16, 0, PNG_ALL_FILTERS, 0, 0},
        {64, 64, PNG_COLOR_TYPE_RGBA, 16, 0, PNG_ALL_FILTERS, 0, 0},
    };
    static const tseed_region_t whole = {0, 0, 64, 64};
    tseed_encoded_t tile;

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        file_t source = write_png(&kinds[i]);

        assert_null(open_file(source, 64, 64, "image/png", TSEED_PALETTE_AUTO));
        assert_null(tseed_cutter_cut(cutter, &tile, &whole, pool));
        assert_int_equal(tile.length, source.length);
        assert_memory_equal(tile.data, source.data, source.length);
        assert_null(open_file(source, 64, 64, "image/png8", TSEED_PALETTE_AUTO));
        assert_null(tseed_cutter_cut(cutter, &tile, &whole, pool));
        assert_int_equal(tile.data[24], 8);
    }
}

/* Two pictures whose colours differ in the lower 8 bits alone, and one that has none. */
static void test_cutter__colours_of_16_bits_keep_apart(void **state)
{
    static const unsigned char samples[][2] = {{7, 1}, {7, 9}, {7, 7}};
    static const tseed_region_t whole = {0, 0, 32, 32};

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        file_t source = write_deep(samples[i]);
        tseed_encoded_t tile;

        assert_null(open_file(source, 32, 32, "image/png", TSEED_PALETTE_AUTO));
        assert_null(tseed_cutter_cut(cutter, &tile, &whole, pool));
        assert_int_equal(tile.uniform, i == 2);
        assert_int_equal(tile.data[24] == 16, i < 2);
        if (i < 2) {
            assert_memory_equal(tile.data, source.data, source.length);
        }
    }
}

static void test_cutter__lossless_webp_tiles_equal_the_source(void **state)
{
    static const char *const names[] = {"map-rgba.png", "map-rgb.png", "map-palette.png",
                                        "photo.png"};
    tseed_format_t format = format_of("image/webp", TSEED_PALETTE_AUTO);

    (void)state;
    format.lossless = 1;
    for (int i = 0; i < 4 * 3; i++) {
        file_t source = load(names[i / 3]);
        tseed_region_t region = {5 + 32 * (i % 3), 60, 32, 32};
        int width, height;
        tseed_encoded_t tile;
        uint8_t *rgba;

        assert_null(tseed_cutter_open(
            cutter, &(tseed_answer_t){source.data, source.length, 128, 128}, &format, pool));
        tile = cut(region.x, region.y);
        rgba = WebPDecodeRGBA(tile.data, tile.length, &width, &height);
        assert_memory_equal(rgba, crop(read_png(source, &width, &height), 128, &region),
                            4 * 32 * 32);
        WebPFree(rgba);
    }
}

/* A uniform tile that was remembered of one kind is not given for the other. */
static void test_cutter__webp_is_lossy_unless_told(void **state)
{
    file_t source = load("photo.png");
    tseed_format_t format = format_of("image/webp", TSEED_PALETTE_AUTO);
    size_t lengths[2];
    tseed_encoded_t tile;

    (void)state;
    for (int i = 0; i < 2; i++) {
        format.lossless = i;
        assert_null(tseed_cutter_open(
            cutter, &(tseed_answer_t){source.data, source.length, 128, 128}, &format, pool));
        lengths[i] = cut(64, 64).length;
    }
    assert_true(2 * lengths[0] < lengths[1]);
    source = rgba_file(1, 77);
    for (int i = 0; i < 2; i++) {
        format.lossless = i;
        assert_null(tseed_cutter_open(cutter, &(tseed_answer_t){source.data, source.length, 64, 64},
                                      &format, pool));
        tile = cut(32 * i, 0);
        assert_int_equal(tile.uniform, 1);
        assert_memory_equal(tile.data + 12, i ? "VP8L" : "VP8X", 4); /* RFC 9649, section 2 */
    }
}

static void test_cutter__a_webp_becomes_a_png_exactly(void **state)
{
    file_t source = load("map-rgba.webp");
    tseed_encoded_t tile;

    (void)state;
    assert_null(open_file(source, 128, 128, "image/png", TSEED_PALETTE_AUTO));
    tile = cut(40, 50);
    assert_tile_is(&tile, load("map-rgba.png"), 40, 50);
    assert_string_equal(open_file(source, 256, 128, "image/png", TSEED_PALETTE_AUTO),
                        "webp of 128 x 128 pixels, expected 256 x 128");
}

/* The whole of map-rgba.png with 256 colours, some of them translucent. */
static file_t map_png8(void)
{
    tseed_encoded_t tile;

    assert_null(open_file(load("map-rgba.png"), 128, 128, "image/png8", TSEED_PALETTE_AUTO));
    assert_null(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 128, 128}, pool));
    return (file_t){apr_pmemdup(pool, tile.data, tile.length), tile.length};
}

/* The map is opaque in its upper left and transparent in its lower right corner. */
static void test_cutter__mixed_formats_look_at_each_tile(void **state)
{
    const struct {
        file_t source;
        const char *mime;
        int colour_type; /* of the tile that is a PNG */
    } cases[] = {
        {load("map-rgba.png"), "image/vnd.jpeg-png", PNG_COLOR_TYPE_RGB_ALPHA},
        {load("map-rgba.png"), "image/vnd.jpeg-png8", PNG_COLOR_TYPE_PALETTE},
        {load("map-rgba.webp"), "image/vnd.jpeg-png", PNG_COLOR_TYPE_RGB_ALPHA},
        {map_png8(), "image/vnd.jpeg-png", PNG_COLOR_TYPE_PALETTE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_encoded_t tile;

        assert_null(open_file(cases[i].source, 128, 128, cases[i].mime, TSEED_PALETTE_KEEP));
        tile = cut(8, 24);
        decode_jpeg(&tile, 32);
        tile = cut(80, 80);
        assert_memory_equal(tile.data, "\x89PNG", 4);
        assert_int_equal(colour_type(&tile), cases[i].colour_type);
    }
}

/* A JPEG has no transparency, so all its tiles are what image/jpeg would make of it. */
static void test_cutter__a_jpeg_is_cut_without_loss_for_a_mixed_format(void **state)
{
    file_t source = load("photo-420.jpg");
    file_t expected;
    tseed_encoded_t tile;

    (void)state;
    assert_null(open_file(source, 128, 128, "image/jpeg", TSEED_PALETTE_AUTO));
    tile = cut(32, 64);
    expected = (file_t){apr_pmemdup(pool, tile.data, tile.length), tile.length};
    assert_null(open_file(source, 128, 128, "image/vnd.jpeg-png", TSEED_PALETTE_AUTO));
    tile = cut(32, 64);
    assert_int_equal(tile.length, expected.length);
    assert_memory_equal(tile.data, expected.data, expected.length);
}

/* An answer whose only tile is the whole of it is checked before it is passed on. */
static void test_cutter__a_broken_answer_is_never_passed_on(void **state)
{
    file_t png = load("photo.png");
    file_t jpeg = load("photo-420.jpg");
    tseed_encoded_t tile;

    (void)state;
    png.length -= 20;
    jpeg.length -= 200;
    assert_string_equal(open_file(png, 128, 128, "image/png", TSEED_PALETTE_AUTO),
                        apr_psprintf(pool, "png is cut off after %d bytes", (int)png.length));
    assert_null(open_file(jpeg, 128, 128, "image/jpeg", TSEED_PALETTE_AUTO));
    assert_string_equal(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 128, 128}, pool),
                        "jpeg is damaged: Premature end of JPEG file");
    assert_string_equal(tseed_cutter_cut(cutter, &tile, &(tseed_region_t){0, 0, 64, 64}, pool),
                        "jpeg is damaged: Premature end of JPEG file");
    assert_null(open_file(load("photo-420.jpg"), 128, 128, "image/jpeg", TSEED_PALETTE_AUTO));
    cut(0, 0);
}

static void test_cutter__what_is_no_picture_is_named(void **state)
{
    static const struct {
        const char *answer, *before, *behind; /* behind the list of what is read, in the sentence */
        size_t length;
    } cases[] = {
        {"", "the answer is empty, expected a png, jpeg", "", 0},
        {"GIF89a..", "gif is not read: ask for image/png, image/jpeg", "", 8},
        {"RIFF\1\2\3\4WEBP", "webp is damaged", ": it is cut off", 12},
        {"RIFF\1\2\3\4WAVE", "neither png, jpeg", ": it begins with the bytes 52 49 46 46", 12},
        {"<?xml version='1.0'?>\n<ServiceExceptionReport version='1.1.1'/>", "neither png, jpeg",
         ": it begins with the bytes 3c 3f 78 6d", 62},
        {"\x89PNG", "neither png, jpeg", ": it begins with the bytes 89 50 4e 47", 4},
        {"\xfe\0ab", "neither png, jpeg", ": it begins with the bytes fe 00 61 62", 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        file_t file = {exact_copy((const unsigned char *)cases[i].answer, cases[i].length),
                       cases[i].length};

        const char *error = open_file(file, 256, 256, "image/png", TSEED_PALETTE_AUTO);

        assert_memory_equal(error, cases[i].before, strlen(cases[i].before));
        assert_non_null(strstr(error, "webp"));
        assert_string_equal(error + strlen(error) - strlen(cases[i].behind), cases[i].behind);
        free(file.data);
    }
}

static void test_cutter__a_tile_outside_is_refused(void **state)
{
    static const tseed_region_t regions[] = {
        {-1, 0, 32, 32}, {0, -1, 32, 32}, {97, 0, 32, 32}, {0, 97, 32, 32}, {0, 0, 0, 32}};
    static const char *const names[] = {"photo.png", "photo-420.jpg"};

    (void)state;
    for (int i = 0; i < 5 * 2; i++) {
        const tseed_region_t *r = &regions[i % 5];
        tseed_encoded_t tile;

        assert_null(open_file(load(names[i / 5]), 128, 128, "image/png", TSEED_PALETTE_AUTO));
        assert_string_equal(tseed_cutter_cut(cutter, &tile, r, pool),
                            "the tile lies outside the answer");
    }
}

static int setup(void **state)
{
    return image_setup(state) || tseed_cutter_create(&cutter) != APR_SUCCESS;
}

static int teardown(void **state)
{
    tseed_cutter_destroy(cutter);
    return image_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cutter__png_tiles_equal_the_source),
        cmocka_unit_test(test_cutter__rare_kinds_are_cut_as_libpng_shows_them),
        cmocka_unit_test(test_cutter__the_palette_rule_decides_the_kind_of_pixels),
        cmocka_unit_test(test_cutter__auto_finds_palettes_and_drops_opaque_alpha),
        cmocka_unit_test(test_cutter__uniform_tiles_are_found),
        cmocka_unit_test(test_cutter__an_answer_of_one_colour_may_come_again),
        cmocka_unit_test(test_cutter__uniform_tiles_of_all_kinds_keep_apart),
        cmocka_unit_test(test_cutter__jpeg_lays_transparency_on_white),
        cmocka_unit_test(test_cutter__a_png_becomes_a_jpeg_like_it),
        cmocka_unit_test(test_cutter__a_jpeg_becomes_a_png_exactly),
        cmocka_unit_test(test_cutter__a_jpeg_is_cut_at_any_corner),
        cmocka_unit_test(test_cutter__an_answer_that_is_the_tile_is_passed_on),
        cmocka_unit_test(test_cutter__an_answer_of_another_kind_is_not_passed_on),
        cmocka_unit_test(test_cutter__an_answer_that_browsers_do_not_show_is_coded_anew),
        cmocka_unit_test(test_cutter__a_tile_of_16_bits_keeps_them),
        cmocka_unit_test(test_cutter__colours_of_16_bits_keep_apart),
        cmocka_unit_test(test_cutter__lossless_webp_tiles_equal_the_source),
        cmocka_unit_test(test_cutter__webp_is_lossy_unless_told),
        cmocka_unit_test(test_cutter__a_webp_becomes_a_png_exactly),
        cmocka_unit_test(test_cutter__mixed_formats_look_at_each_tile),
        cmocka_unit_test(test_cutter__a_jpeg_is_cut_without_loss_for_a_mixed_format),
        cmocka_unit_test(test_cutter__a_broken_answer_is_never_passed_on),
        cmocka_unit_test(test_cutter__what_is_no_picture_is_named),
        cmocka_unit_test(test_cutter__a_tile_outside_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
