/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads, checks and writes JPEG. */
#include "image/tseed_jpeg.h"

#include <apr_strings.h>
#include <turbojpeg.h>

/* The first warning ends the work, and so does a file of more than 500 scans, which is an attack.
 */
#define STRICT (TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS)

/* Returns the handle, NULL when there is no memory. */
static tjhandle handle_get(void **handle, tjhandle (*create)(void))
{
    if (!*handle) {
        *handle = create();
    }
    return *handle;
}

/* After a failure a handle may be stuck in the middle of a file: the next file gets a new one. */
static void handle_drop(void **handle)
{
    if (*handle) {
        tjDestroy(*handle);
        *handle = NULL;
    }
}

static const char *damaged(void **handle, apr_pool_t *pool)
{
    const char *error = apr_psprintf(pool, "jpeg is damaged: %s", tjGetErrorStr2(*handle));

    handle_drop(handle);
    return error;
}

int tseed_jpeg_is(const unsigned char *data, size_t length)
{
    return length >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff;
}

const char *tseed_jpeg_open(tseed_jpeg_t *jpeg, tseed_jpeg_codec_t *codec, apr_pool_t *pool)
{
    tjhandle reader = handle_get(&codec->reader, tjInitDecompress);
    int width = 0;
    int height = 0;
    int space = -1;

    codec->sheet.first.width = 0;
    if (!reader) {
        return TSEED_NO_MEMORY;
    }
    jpeg->sampling = -1;
    /* TurboJPEG refuses a sampling it has no name for after it has told the size. It decodes such a
     * picture nevertheless. */
    if (tjDecompressHeader3(reader, jpeg->data, jpeg->length, &width, &height, &jpeg->sampling,
                            &space) != 0 &&
        !(width > 0 && jpeg->sampling < 0)) {
        return damaged(&codec->reader, pool);
    }
    if (width != jpeg->width || height != jpeg->height) {
        return apr_psprintf(pool, "jpeg of %d x %d pixels, expected %d x %d", width, height,
                            jpeg->width, jpeg->height);
    }
    if (space == TJCS_CMYK || space == TJCS_YCCK) {
        return "jpeg is in the colours of print (CMYK), expected grey, YCbCr or RGB";
    }
    return NULL;
}

const char *tseed_jpeg_read(tseed_picture_t *picture, tseed_jpeg_codec_t *codec,
                            const tseed_jpeg_t *jpeg, apr_pool_t *pool)
{
    int channels = jpeg->sampling == TJSAMP_GRAY ? 1 : 3;
    int stride = jpeg->width * channels;
    tjhandle reader = handle_get(&codec->reader, tjInitDecompress);

    if (!reader ||
        tseed_buffer_reserve(&codec->pixels, (size_t)stride * (size_t)jpeg->height) != 0) {
        return TSEED_NO_MEMORY;
    }
    if (tjDecompress2(reader, jpeg->data, jpeg->length, codec->pixels.data, jpeg->width, stride,
                      jpeg->height, channels == 1 ? TJPF_GRAY : TJPF_RGB, STRICT) != 0) {
        return damaged(&codec->reader, pool);
    }
    *picture = (tseed_picture_t){.width = jpeg->width,
                                 .height = jpeg->height,
                                 .channels = channels,
                                 .stride = (size_t)stride,
                                 .pixels = codec->pixels.data};
    return NULL;
}

/* A transformation without a result decodes the coefficients and stops there. TurboJPEG transforms
 * only samplings it has a name for. */
const char *tseed_jpeg_check(tseed_jpeg_codec_t *codec, const tseed_jpeg_t *jpeg, apr_pool_t *pool)
{
    tjhandle cutter = handle_get(&codec->cutter, tjInitTransform);
    tjtransform nothing = {.options = TJXOPT_NOOUTPUT};
    unsigned char *none = NULL;
    unsigned long length = 0;
    tseed_picture_t picture;

    if (!cutter) {
        return TSEED_NO_MEMORY;
    }
    if (jpeg->sampling < 0) {
        return tseed_jpeg_read(&picture, codec, jpeg, pool);
    }
    return tjTransform(cutter, jpeg->data, jpeg->length, 1, &none, &length, &nothing, STRICT) == 0
               ? NULL
               : damaged(&codec->cutter, pool);
}

/* How far apart two tiles' data lie: what TurboJPEG reckons a file of that size can take. */
static size_t tile_room(const tseed_jpeg_t *jpeg, const tseed_region_t *region)
{
    return (size_t)tjBufSize(region->width, region->height, jpeg->sampling);
}

/* Lays the raster through the file that the region belongs to. Returns 0, or -1 when there is no
 * memory. */
static int sheet_lay(tseed_jpeg_sheet_t *sheet, const tseed_jpeg_t *jpeg,
                     const tseed_region_t *region)
{
    size_t count;

    sheet->first = *region;
    sheet->first.x %= region->width;
    sheet->first.y %= region->height;
    sheet->columns = (jpeg->width - sheet->first.x) / region->width;
    sheet->rows = (jpeg->height - sheet->first.y) / region->height;
    count = (size_t)sheet->columns * (size_t)sheet->rows;
    if (tseed_buffer_reserve(&sheet->transforms, count * sizeof(tjtransform)) != 0 ||
        tseed_buffer_reserve(&sheet->lengths, count * sizeof(unsigned long)) != 0 ||
        tseed_buffer_reserve(&sheet->tiles, count * sizeof(unsigned char *)) != 0 ||
        tseed_buffer_reserve(&sheet->data, count * tile_room(jpeg, region)) != 0) {
        return -1;
    }
    return 0;
}

static unsigned long *sheet_lengths(const tseed_jpeg_sheet_t *sheet)
{
    return (unsigned long *)(void *)sheet->lengths.data;
}

static unsigned char **sheet_tiles(const tseed_jpeg_sheet_t *sheet)
{
    return (unsigned char **)(void *)sheet->tiles.data;
}

/* Cuts all tiles of the sheet in one pass. Returns 0, or -1. */
static int sheet_cut(tseed_jpeg_sheet_t *sheet, tjhandle cutter, const tseed_jpeg_t *jpeg)
{
    tjtransform *transforms = (tjtransform *)(void *)sheet->transforms.data;
    size_t room = tile_room(jpeg, &sheet->first);
    int count = sheet->columns * sheet->rows;

    for (int i = 0; i < count; i++) {
        int x = sheet->first.x + i % sheet->columns * sheet->first.width;
        int y = sheet->first.y + i / sheet->columns * sheet->first.height;

        transforms[i] = (tjtransform){.r = {x, y, sheet->first.width, sheet->first.height},
                                      .op = TJXOP_NONE,
                                      .options = TJXOPT_CROP | TJXOPT_COPYNONE};
        sheet_tiles(sheet)[i] = sheet->data.data + (size_t)i * room;
        sheet_lengths(sheet)[i] = room;
    }
    return tjTransform(cutter, jpeg->data, jpeg->length, count, sheet_tiles(sheet),
                       sheet_lengths(sheet), transforms, STRICT | TJFLAG_NOREALLOC);
}

/* The tile's number on the sheet, -1 when it isn't there. */
static int sheet_find(const tseed_jpeg_sheet_t *sheet, const tseed_region_t *region)
{
    int x = region->x - sheet->first.x;
    int y = region->y - sheet->first.y;

    if (region->width != sheet->first.width || region->height != sheet->first.height ||
        x % region->width || y % region->height) {
        return -1;
    }
    return y / region->height * sheet->columns + x / region->width;
}

/* All corners of the region's raster lie on blocks. */
static int fits_blocks(const tseed_jpeg_t *jpeg, const tseed_region_t *region)
{
    int block_width, block_height;

    if (jpeg->sampling < 0) {
        return 0;
    }
    block_width = tjMCUWidth[jpeg->sampling];
    block_height = tjMCUHeight[jpeg->sampling];
    return region->x % block_width == 0 && region->y % block_height == 0 &&
           region->width % block_width == 0 && region->height % block_height == 0;
}

size_t tseed_jpeg_cut(const unsigned char **tile, tseed_jpeg_codec_t *codec,
                      const tseed_jpeg_t *jpeg, const tseed_region_t *region)
{
    tjhandle cutter = handle_get(&codec->cutter, tjInitTransform);
    tseed_jpeg_sheet_t *sheet = &codec->sheet;
    int index;

    if (!cutter || !fits_blocks(jpeg, region)) {
        return 0;
    }
    if (sheet_find(sheet, region) < 0 &&
        (sheet_lay(sheet, jpeg, region) != 0 || sheet_cut(sheet, cutter, jpeg) != 0)) {
        sheet->first.width = 0;
        handle_drop(&codec->cutter);
        return 0;
    }
    index = sheet_find(sheet, region);
    *tile = sheet_tiles(sheet)[index];
    return sheet_lengths(sheet)[index];
}

size_t tseed_jpeg_write(tseed_jpeg_codec_t *codec, const tseed_picture_t *picture, int quality)
{
    static const int formats[] = {[1] = TJPF_GRAY, [3] = TJPF_RGB, [4] = TJPF_RGBX};
    int sampling = picture->channels == 1 ? TJSAMP_GRAY : TJSAMP_420;
    unsigned long length = tjBufSize(picture->width, picture->height, sampling);
    tjhandle writer = handle_get(&codec->writer, tjInitCompress);

    if (!writer || tseed_buffer_reserve(&codec->file, length) != 0 ||
        tjCompress2(writer, picture->pixels, picture->width, (int)picture->stride, picture->height,
                    formats[picture->channels], &codec->file.data, &length, sampling, quality,
                    TJFLAG_NOREALLOC) != 0) {
        handle_drop(&codec->writer);
        return 0;
    }
    return length;
}

void tseed_jpeg_codec_free(tseed_jpeg_codec_t *codec)
{
    handle_drop(&codec->reader);
    handle_drop(&codec->writer);
    handle_drop(&codec->cutter);
    tseed_buffer_free(&codec->pixels);
    tseed_buffer_free(&codec->file);
    tseed_buffer_free(&codec->sheet.transforms);
    tseed_buffer_free(&codec->sheet.lengths);
    tseed_buffer_free(&codec->sheet.tiles);
    tseed_buffer_free(&codec->sheet.data);
}
