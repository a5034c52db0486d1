/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes what an upstream sends for an image of 64 x 64: the first byte chooses the tiles' format,
 * the rest is the answer. Whatever is cut from it begins as its format does. */
#include <string.h>

#include "image/tseed_cutter.h"
#include "target.h"

static const char *const tile_formats[] = {"image/png",          "image/png8",
                                           "image/jpeg",         "image/webp",
                                           "image/vnd.jpeg-png", "image/vnd.jpeg-png8"};

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

static void cut_all(tseed_cutter_t *cutter, const tseed_format_t *format, apr_pool_t *pool)
{
    for (int corner = 0; corner < 4; corner++) {
        tseed_encoded_t tile;

        if (!tseed_cutter_cut(cutter, &tile,
                              &(tseed_region_t){32 * (corner & 1), 32 * (corner >> 1), 32, 32},
                              pool)) {
            check_tile(&tile, format);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    tseed_cutter_t *cutter = NULL;
    tseed_format_t format;

    if (size > 0 && !tseed_format_init(&format, tile_formats[data[0] % FORMAT_COUNT], pool) &&
        tseed_cutter_create(&cutter) == APR_SUCCESS) {
        format.lossless = data[0] & 0x80;
        if (!tseed_cutter_open(cutter, &(tseed_answer_t){data + 1, size - 1, 64, 64}, &format,
                               pool)) {
            cut_all(cutter, &format, pool);
        }
        tseed_cutter_destroy(cutter);
    }
    apr_pool_destroy(pool);
    return 0;
}
