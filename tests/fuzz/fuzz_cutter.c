/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the answer of an upstream: the first byte chooses the tile, whose number stays when
 * formats are added, and the rest is the answer. A tile that is cut begins as its format does.
 *
 * A run must be cheap. The picture has just enough pixels for more than 256 colours, which
 * image/png8 has to reduce. One run encodes one tile, since libwebp takes a megabyte for each. The
 * cutter goes from input to input, as it goes from answer to answer in a worker.
 */
#include "image/tseed_cutter.h"
#include "target.h"

#define MIME(codec, mime, extension, type, from) mime,
static const char *const tile_formats[] = {TSEED_FORMATS(MIME)};

enum { WIDTH = 18, HEIGHT = 15 };
enum { FORMAT = 0x3f, PART = 0x40, LOSSLESS = 0x80 }; /* of the first byte */

static void cut(tseed_cutter_t *cutter, const tseed_format_t *format, int is_part, apr_pool_t *pool)
{
    const tseed_region_t whole = {0, 0, WIDTH, HEIGHT}, part = {5, 4, 11, 9};
    tseed_encoded_t tile;

    if (!tseed_cutter_cut(cutter, &tile, is_part ? &part : &whole, pool)) {
        assert(tile.length > 32);
        assert(tseed_cutter_begins(format, (const unsigned char *)tile.data, tile.length));
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

    if (size > 0 && (data[0] & FORMAT) < TSEED_CODECS &&
        !tseed_format_init(&format, tile_formats[data[0] & FORMAT], pool)) {
        format.lossless = data[0] & LOSSLESS;
        if (!tseed_cutter_open(cutter, &(tseed_answer_t){data + 1, size - 1, WIDTH, HEIGHT},
                               &format, pool)) {
            cut(cutter, &format, data[0] & PART, pool);
        }
    }
    apr_pool_destroy(pool);
    return 0;
}
