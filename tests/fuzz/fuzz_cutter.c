/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the answer of an upstream: the first byte chooses the tile, the rest is the answer. A tile
 * that is cut begins as its format does.
 *
 * A run must be cheap. The picture has just enough pixels for more than 256 colours, which
 * image/png8 has to reduce. One run encodes one tile, since libwebp takes a megabyte for each. The
 * cutter goes from input to input, as it goes from answer to answer in a worker.
 */
#include <string.h>

#include "image/tseed_cutter.h"
#include "target.h"

static const char *const tile_formats[] = {"image/png",          "image/png8",
                                           "image/jpeg",         "image/webp",
                                           "image/vnd.jpeg-png", "image/vnd.jpeg-png8"};

enum { WIDTH = 18, HEIGHT = 15 };
enum { PART = 0x40, LOSSLESS = 0x80 }; /* of the first byte */

#define FORMAT_COUNT (sizeof(tile_formats) / sizeof(tile_formats[0]))

static int begins(const tseed_encoded_t *tile, const char *magic)
{
    return memcmp(tile->data, magic, strlen(magic)) == 0;
}

static void check_tile(const tseed_encoded_t *tile, const tseed_format_t *format)
{
    int is_jpeg = begins(tile, "\xff\xd8\xff");

    assert(tile->length > 32);
    switch (format->codec) {
    case TSEED_CODEC_JPEG:
        assert(is_jpeg);
        break;
    case TSEED_CODEC_WEBP:
        assert(begins(tile, "RIFF"));
        break;
    case TSEED_CODEC_JPEG_PNG:
    case TSEED_CODEC_JPEG_PNG8:
        assert(is_jpeg || begins(tile, "\x89PNG"));
        break;
    default:
        assert(begins(tile, "\x89PNG"));
    }
}

static void cut(tseed_cutter_t *cutter, const tseed_format_t *format, int is_part, apr_pool_t *pool)
{
    const tseed_region_t whole = {0, 0, WIDTH, HEIGHT}, part = {5, 4, 11, 9};
    tseed_encoded_t tile;

    if (!tseed_cutter_cut(cutter, &tile, is_part ? &part : &whole, pool)) {
        check_tile(&tile, format);
    }
}

static tseed_cutter_t *the_cutter(void)
{
    static tseed_cutter_t *cutter;

    if (!cutter) {
        assert(tseed_cutter_create(&cutter) == APR_SUCCESS);
    }
    return cutter;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    tseed_cutter_t *cutter = the_cutter();
    tseed_format_t format;

    if (size > 0 && !tseed_format_init(&format, tile_formats[data[0] % FORMAT_COUNT], pool)) {
        format.lossless = data[0] & LOSSLESS;
        if (!tseed_cutter_open(cutter, &(tseed_answer_t){data + 1, size - 1, WIDTH, HEIGHT},
                               &format, pool)) {
            cut(cutter, &format, data[0] & PART, pool);
        }
    }
    apr_pool_destroy(pool);
    return 0;
}
