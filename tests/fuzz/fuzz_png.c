/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the PNG reader: what it takes, libpng must show the same pixels of, and our writer's file
 * of it must be read back as they are. The first two bytes are the size expected, 1 to 256. */
#include <libdeflate.h>

#include "image/tseed_png_libpng.h"
#include "image/tseed_png_read.h"
#include "image/tseed_png_write.h"
#include "target.h"

static unsigned char *rgba_of(const tseed_picture_t *picture, apr_pool_t *pool)
{
    unsigned char *rgba = apr_palloc(pool, 4 * (size_t)picture->width * (size_t)picture->height);

    tseed_picture_to_rgba(rgba, picture);
    return rgba;
}

/* libpng is more particular in a few points, so it may refuse what we read. */
static void check_with_libpng(const tseed_picture_t *picture, tseed_png_t *png, apr_pool_t *pool)
{
    tseed_picture_t theirs = *picture;
    tseed_png_t same = *png;
    tseed_buffer_t room = {0};

    if (!tseed_png_libpng(&theirs, &room, &same, pool)) {
        assert(theirs.channels == picture->channels);
        assert(memcmp(rgba_of(&theirs, pool), rgba_of(picture, pool),
                      4 * (size_t)png->width * (size_t)png->height) == 0);
    }
    tseed_buffer_free(&room);
}

static void check_round_trip(const tseed_picture_t *picture, apr_pool_t *pool)
{
    tseed_png_writer_t writer = {0};
    tseed_png_reader_t reader = {0};
    tseed_png_t png = {.width = picture->width, .height = picture->height};
    tseed_picture_t again;

    png.length = tseed_png_write(&writer, picture, 1);
    png.data = writer.file.data;
    assert(png.length > 0);
    assert(!tseed_png_read(&again, &reader, &png, pool));
    assert(memcmp(rgba_of(&again, pool), rgba_of(picture, pool),
                  4 * (size_t)png.width * (size_t)png.height) == 0);
    tseed_png_writer_free(&writer);
    tseed_png_reader_free(&reader);
}

/* Puts the checksums right, past which hardly an input would get otherwise. */
static void repair(unsigned char *file, size_t size)
{
    size_t at = TSEED_PNG_SIGNATURE;

    while (size - at >= TSEED_PNG_FRAME) {
        size_t length = tseed_png_number(file + at);
        uint32_t sum;

        if (length > size - at - TSEED_PNG_FRAME) {
            break;
        }
        sum = libdeflate_crc32(0, file + at + 4, length + 4);
        for (int i = 0; i < 4; i++) {
            file[at + 8 + length + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
        }
        at += TSEED_PNG_FRAME + length;
    }
}

static void read_and_check(tseed_png_t png, apr_pool_t *pool)
{
    tseed_png_reader_t reader = {0};
    tseed_picture_t picture;

    if (!tseed_png_read(&picture, &reader, &png, pool)) {
        check_with_libpng(&picture, &png, pool);
        check_round_trip(&picture, pool);
    }
    tseed_png_reader_free(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();

    if (size > 2 && tseed_png_is(data + 2, size - 2)) {
        tseed_png_t png = {data + 2, size - 2, data[0] + 1, data[1] + 1, 0, 0};
        unsigned char *repaired = malloc(png.length);

        read_and_check(png, pool);
        memcpy(repaired, png.data, png.length);
        repair(repaired, png.length);
        png.data = repaired;
        read_and_check(png, pool);
        free(repaired);
    }
    apr_pool_destroy(pool);
    return 0;
}
