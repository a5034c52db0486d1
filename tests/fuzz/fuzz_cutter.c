/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes what an upstream sends for an image of 64 x 64: the first byte chooses the tiles' format,
 * the rest is the answer. Whatever is cut from it begins as its format does. */
#include <string.h>

#include "image/tseed_cutter.h"
#include "target.h"

static const char *const tile_formats[] = {"image/png", "image/png8", "image/jpeg"};

static void check_tile(const tseed_encoded_t *tile, const tseed_format_t *format)
{
    const char *magic = format->codec == TSEED_CODEC_JPEG ? "\xff\xd8\xff" : "\x89PNG";

    assert(tile->length > 32);
    assert(memcmp(tile->data, magic, strlen(magic)) == 0);
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

    if (size > 0 && !tseed_format_init(&format, tile_formats[data[0] % 3], pool) &&
        tseed_cutter_create(&cutter) == APR_SUCCESS) {
        if (!tseed_cutter_open(cutter, &(tseed_answer_t){data + 1, size - 1, 64, 64}, &format,
                               pool)) {
            cut_all(cutter, &format, pool);
        }
        tseed_cutter_destroy(cutter);
    }
    apr_pool_destroy(pool);
    return 0;
}
