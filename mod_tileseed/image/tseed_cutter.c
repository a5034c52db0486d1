/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Joins the readers, the palette and the writers: judge, decode, cut, convert, encode. */
#include "image/tseed_cutter.h"

#include <apr_strings.h>
#include <string.h>

#include "image/tseed_jpeg.h"
#include "image/tseed_palette.h"
#include "image/tseed_png_read.h"
#include "image/tseed_png_write.h"
#include "image/tseed_strip.h"
#include "image/tseed_webp.h"

/* Grey of up to 16 levels gets a palette, whose indices are half a byte; of more it stays grey. */
#define GREY_PALETTE_MAX 16

#define BEGIN_BYTES 4 /* named of what is no picture */

/* In the place of the codec of an answer: there is none, pixels were handed in. */
#define PIXELS TSEED_CODECS

/* Longest answer of one colour that is remembered: 1024 x 1024 pixels take about 6 KB. */
#define SOLID_MOST 16384

/* All pixels of a picture of one colour. */
typedef struct {
    int channels, has_palette;
    tseed_colour_t colour;
} paint_t;

/* All that a uniform tile's bytes depend on. Compared as memory, so it is zeroed first. */
typedef struct {
    paint_t paint;
    int width, height;
    int codec, quality, level, lossless, palette;
} uniform_key_t;

struct tseed_cutter_t {
    /* of the answer that is open */
    tseed_format_t format;
    tseed_answer_t answer;
    tseed_codec_t kind;
    tseed_png_t png;
    tseed_jpeg_t jpeg;
    tseed_picture_t picture; /* width 0: not decoded yet, as it is a JPEG or solid */
    int is_solid;            /* it is the one that is remembered as such */

    /* kept from answer to answer */
    tseed_png_reader_t reader;
    tseed_png_writer_t writer;
    tseed_palette_room_t palette;
    tseed_jpeg_codec_t jpeg_codec;
    tseed_webp_codec_t webp_codec;
    tseed_buffer_t pixels;   /* of a tile whose pixels had to be converted */
    tseed_buffer_t stripped; /* an answer that is passed on */

    /* the uniform tile made last; most answers that have one have many */
    uniform_key_t uniform_key;
    tseed_encoded_t uniform;
    tseed_buffer_t uniform_data;

    /* the PNG of one colour that was decoded last: a sea is sent again and again */
    tseed_png_t solid; /* length 0: none */
    tseed_buffer_t solid_data;
    paint_t solid_paint;
};

apr_status_t tseed_cutter_create(tseed_cutter_t **cutter)
{
    *cutter = calloc(1, sizeof(**cutter));
    return *cutter ? APR_SUCCESS : APR_ENOMEM;
}

void tseed_cutter_destroy(tseed_cutter_t *cutter)
{
    tseed_png_reader_free(&cutter->reader);
    tseed_png_writer_free(&cutter->writer);
    tseed_palette_free(&cutter->palette);
    tseed_jpeg_codec_free(&cutter->jpeg_codec);
    tseed_webp_codec_free(&cutter->webp_codec);
    tseed_buffer_free(&cutter->pixels);
    tseed_buffer_free(&cutter->stripped);
    tseed_buffer_free(&cutter->uniform_data);
    tseed_buffer_free(&cutter->solid_data);
    free(cutter);
}

static paint_t paint_of(const tseed_picture_t *picture)
{
    return (paint_t){picture->channels, picture->colours > 0, tseed_picture_corner(picture)};
}

static int is_solid(const tseed_cutter_t *cutter, const tseed_png_t *png)
{
    const tseed_png_t *solid = &cutter->solid;

    return solid->length > 0 && solid->length == png->length && solid->width == png->width &&
           solid->height == png->height && memcmp(solid->data, png->data, png->length) == 0;
}

/* Without memory it is just not kept. */
static void solid_remember(tseed_cutter_t *cutter)
{
    const tseed_png_t *png = &cutter->png;

    if (png->length > SOLID_MOST || png->deep || !tseed_picture_is_uniform(&cutter->picture)) {
        return;
    }
    cutter->solid.length = 0;
    if (tseed_buffer_reserve(&cutter->solid_data, png->length) == 0) {
        memcpy(cutter->solid_data.data, png->data, png->length);
        cutter->solid = *png;
        cutter->solid.data = cutter->solid_data.data;
        cutter->solid_paint = paint_of(&cutter->picture);
    }
}

static const char *open_png(tseed_cutter_t *cutter, apr_pool_t *pool)
{
    const tseed_answer_t *answer = &cutter->answer;
    const char *error;

    cutter->png = (tseed_png_t){answer->data, answer->length, answer->width, answer->height, 0, 0};
    cutter->is_solid = is_solid(cutter, &cutter->png);
    if (cutter->is_solid) {
        cutter->png.plain = cutter->solid.plain;
        return NULL;
    }
    error = tseed_png_read(&cutter->picture, &cutter->reader, &cutter->png, pool);
    if (!error) {
        solid_remember(cutter);
    }
    return error;
}

static const char *open_jpeg(tseed_cutter_t *cutter, apr_pool_t *pool)
{
    const tseed_answer_t *answer = &cutter->answer;

    cutter->jpeg = (tseed_jpeg_t){answer->data, answer->length, answer->width, answer->height, 0};
    return tseed_jpeg_open(&cutter->jpeg, &cutter->jpeg_codec, pool);
}

static const char *open_webp(tseed_cutter_t *cutter, apr_pool_t *pool)
{
    const tseed_answer_t *answer = &cutter->answer;
    const tseed_webp_t webp = {answer->data, answer->length, answer->width, answer->height};

    return tseed_webp_read(&cutter->picture, &cutter->webp_codec, &webp, pool);
}

/* A tile of that size is the whole answer. */
static int is_whole(const tseed_cutter_t *cutter, int width, int height)
{
    return width == cutter->answer.width && height == cutter->answer.height;
}

/* The tile as RGB, or RGBA when its kind of pixels has an alpha. */
static void to_true_colour(tseed_picture_t *tile, tseed_cutter_t *cutter)
{
    int has_alpha = tile->channels == 2 || !tseed_picture_is_opaque(tile);

    *tile = tseed_picture_to_rgba(cutter->pixels.data, tile);
    if (!has_alpha) {
        *tile = tseed_picture_drop_alpha(cutter->pixels.data, tile);
    }
}

/* png8: the source's palette, the tile's own colours, or the best 256. */
static tseed_colours_t to_palette(tseed_picture_t *tile, tseed_cutter_t *cutter)
{
    tseed_picture_t rgba;
    tseed_colours_t result;

    if (tile->colours) {
        return tseed_palette_shrink(tile, &cutter->palette, tile);
    }
    result = tseed_palette_find(tile, &cutter->palette, tile, TSEED_PALETTE_MAX);
    if (result != TSEED_COLOURS_TOO_MANY) {
        return result;
    }
    rgba = tile->channels == 4 ? *tile : tseed_picture_to_rgba(cutter->pixels.data, tile);
    return tseed_palette_reduce(tile, &cutter->palette, &rgba);
}

/* A palette where that is smaller without loss, no alpha where it says nothing. */
static tseed_colours_t to_smallest(tseed_picture_t *tile, tseed_cutter_t *cutter)
{
    int most = tile->channels == 1 ? GREY_PALETTE_MAX : TSEED_PALETTE_MAX;
    tseed_colours_t result = tseed_palette_find(tile, &cutter->palette, tile, most);

    if (result == TSEED_COLOURS_TOO_MANY && tile->channels == 4 && tseed_picture_is_opaque(tile)) {
        *tile = tseed_picture_drop_alpha(cutter->pixels.data, tile);
    }
    return result;
}

/* The kind of pixels that a PNG gets. */
static tseed_colours_t convert_for_png(tseed_picture_t *tile, tseed_cutter_t *cutter)
{
    if (cutter->format.palette == TSEED_PALETTE_NONE) {
        if (tile->channels < 3) {
            to_true_colour(tile, cutter);
        }
    } else if (tile->colours) {
        return tseed_palette_shrink(tile, &cutter->palette, tile);
    } else if (cutter->format.palette == TSEED_PALETTE_AUTO) {
        return to_smallest(tile, cutter);
    }
    return TSEED_COLOURS_DONE;
}

/* JPEG knows neither palettes nor transparency. */
static void convert_for_jpeg(tseed_picture_t *tile, tseed_cutter_t *cutter)
{
    if (tile->colours || tile->channels == 2 || !tseed_picture_is_opaque(tile)) {
        *tile = tseed_picture_to_rgba(cutter->pixels.data, tile);
        tseed_picture_flatten(cutter->pixels.data, (size_t)tile->width * (size_t)tile->height);
    }
}

/* The answer is one tile and its pixels are of the kind that the tile gets: its bytes will do. */
static int answer_will_do(const tseed_cutter_t *cutter, const tseed_picture_t *converted)
{
    const tseed_picture_t *picture = &cutter->picture;

    return cutter->kind == TSEED_CODEC_PNG && cutter->png.plain &&
           is_whole(cutter, converted->width, converted->height) &&
           converted->channels == picture->channels && !converted->colours == !picture->colours;
}

/* Returns 0 when the answer was passed on as the tile. */
static int pass_on(tseed_encoded_t *tile, tseed_cutter_t *cutter)
{
    const tseed_answer_t *answer = &cutter->answer;
    tseed_stripped_t stripped;

    if (tseed_strip(&stripped, &cutter->stripped, answer->data, answer->length, answer->width,
                    answer->height) != 0) {
        return -1;
    }
    tile->data = stripped.data;
    tile->length = stripped.length;
    return 0;
}

static const char *write_png(tseed_encoded_t *tile, tseed_cutter_t *cutter,
                             const tseed_picture_t *pixels, tseed_colours_t converted)
{
    if (converted == TSEED_COLOURS_NO_MEMORY) {
        return TSEED_NO_MEMORY;
    }
    if (answer_will_do(cutter, pixels) && pass_on(tile, cutter) == 0) {
        return NULL;
    }
    tile->length = tseed_png_write(&cutter->writer, pixels, cutter->format.level);
    tile->data = cutter->writer.file.data;
    return tile->length ? NULL : TSEED_NO_MEMORY;
}

static const char *encode_png(tseed_encoded_t *tile, tseed_cutter_t *cutter,
                              tseed_picture_t *pixels)
{
    return write_png(tile, cutter, pixels, convert_for_png(pixels, cutter));
}

static const char *encode_png8(tseed_encoded_t *tile, tseed_cutter_t *cutter,
                               tseed_picture_t *pixels)
{
    return write_png(tile, cutter, pixels, to_palette(pixels, cutter));
}

static const char *encode_jpeg(tseed_encoded_t *tile, tseed_cutter_t *cutter,
                               tseed_picture_t *pixels)
{
    convert_for_jpeg(pixels, cutter);
    tile->length = tseed_jpeg_write(&cutter->jpeg_codec, pixels, cutter->format.quality);
    tile->data = cutter->jpeg_codec.file.data;
    return tile->length ? NULL : "the tile can't be written as jpeg";
}

static const char *encode_webp(tseed_encoded_t *tile, tseed_cutter_t *cutter,
                               tseed_picture_t *pixels)
{
    if (cutter->kind == TSEED_CODEC_WEBP && is_whole(cutter, pixels->width, pixels->height) &&
        pass_on(tile, cutter) == 0) {
        return NULL;
    }
    if (pixels->channels < 3) {
        to_true_colour(pixels, cutter);
    }
    tile->length = tseed_webp_write(&cutter->webp_codec, pixels, &cutter->format);
    tile->data = cutter->webp_codec.file.data;
    return tile->length ? NULL : "the tile can't be written as webp";
}

/* ---- the codecs ---- */

static int is_jpeg_or_png(const unsigned char *data, size_t length)
{
    return tseed_jpeg_is(data, length) || tseed_png_is(data, length);
}

/* What becomes of a format, one row each (TSEED_FORMATS). Nothing else here asks for the codec but
 * what spares a tile its way through the pixels. */
static const struct {
    const char *name; /* of an answer, in sentences; NULL: another row reads such answers */
    int (*is)(const unsigned char *data, size_t length);           /* how a file begins */
    const char *(*open)(tseed_cutter_t *cutter, apr_pool_t *pool); /* reads the answer, or looks
                                                                    * whether it can be read */
    /* `pixels` becomes what was encoded. NULL: the tile is encoded as one of two others */
    const char *(*encode)(tseed_encoded_t *tile, tseed_cutter_t *cutter, tseed_picture_t *pixels);
    tseed_codec_t opaque, other;
} codecs[] = {
    [TSEED_CODEC_PNG] = {"png", tseed_png_is, open_png, encode_png, 0, 0},
    [TSEED_CODEC_PNG8] = {NULL, tseed_png_is, NULL, encode_png8, 0, 0},
    [TSEED_CODEC_JPEG] = {"jpeg", tseed_jpeg_is, open_jpeg, encode_jpeg, 0, 0},
    [TSEED_CODEC_WEBP] = {"webp", tseed_webp_is, open_webp, encode_webp, 0, 0},
    [TSEED_CODEC_JPEG_PNG] = {NULL, is_jpeg_or_png, NULL, NULL, TSEED_CODEC_JPEG, TSEED_CODEC_PNG},
    [TSEED_CODEC_JPEG_PNG8] = {NULL, is_jpeg_or_png, NULL, NULL, TSEED_CODEC_JPEG,
                               TSEED_CODEC_PNG8},
};

_Static_assert(sizeof(codecs) / sizeof(codecs[0]) == TSEED_CODECS, "each format has a codec");

/* ---- answers ---- */

/* "png, jpeg or webp": the answers that can be read, each with the same words in front. */
static const char *list_names(const char *prefix, const char *last, apr_pool_t *pool)
{
    const char *list = NULL, *before = NULL;

    for (size_t i = 0; i < TSEED_CODECS; i++) {
        if (codecs[i].open && before) {
            list = list ? apr_pstrcat(pool, list, ", ", prefix, before, NULL)
                        : apr_pstrcat(pool, prefix, before, NULL);
        }
        before = codecs[i].open ? codecs[i].name : before;
    }
    return apr_pstrcat(pool, list, " ", last, " ", prefix, before, NULL);
}

/* Says what an answer seems to be that is none of our pictures. */
static const char *name_answer(const unsigned char *answer, size_t length, apr_pool_t *pool)
{
    static const struct {
        const char *begin, *name;
    } others[] = {{"GIF8", "gif"}, {"II*", "tiff"}, {"MM", "tiff"}, {"BM", "bmp"}};
    char begin[3 * BEGIN_BYTES + 1];
    size_t i;

    if (length == 0) {
        return apr_pstrcat(pool, "the answer is empty, expected a ", list_names("", "or", pool),
                           NULL);
    }
    for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t size = strlen(others[i].begin);

        if (length >= size && memcmp(answer, others[i].begin, size) == 0) {
            return apr_psprintf(pool, "%s is not read: ask for %s", others[i].name,
                                list_names("image/", "or", pool));
        }
    }
    for (i = 0; i < BEGIN_BYTES && i < length; i++) {
        apr_snprintf(begin + 3 * i, 4, " %02x", answer[i]);
    }
    return apr_psprintf(pool, "neither %s: it begins with the byte%s%s",
                        list_names("", "nor", pool), i > 1 ? "s" : "", begin);
}

const char *tseed_cutter_open(tseed_cutter_t *cutter, const tseed_answer_t *answer,
                              const tseed_format_t *format, apr_pool_t *pool)
{
    const unsigned char *data = answer->data;
    size_t length = answer->length;

    cutter->format = *format;
    cutter->answer = *answer;
    cutter->picture = (tseed_picture_t){0};
    cutter->is_solid = 0;
    for (size_t i = 0; i < TSEED_CODECS; i++) {
        if (codecs[i].open && codecs[i].is(data, length)) {
            cutter->kind = (tseed_codec_t)i;
            return codecs[i].open(cutter, pool);
        }
    }
    return name_answer(data, length, pool);
}

int tseed_cutter_begins(const tseed_format_t *format, const unsigned char *data, size_t length)
{
    return codecs[format->codec].is(data, length);
}

void tseed_cutter_take(tseed_cutter_t *cutter, const tseed_picture_t *picture,
                       const tseed_format_t *format)
{
    cutter->format = *format;
    cutter->answer = (tseed_answer_t){.width = picture->width, .height = picture->height};
    cutter->kind = PIXELS;
    cutter->picture = *picture;
    cutter->is_solid = 0;
}

/* ---- tiles ---- */

/* The codec of a tile: the mixed formats choose by its pixels. */
static tseed_codec_t codec_for(const tseed_format_t *format, const tseed_picture_t *pixels)
{
    const tseed_codec_t codec = format->codec;

    if (codecs[codec].encode) {
        return codec;
    }
    return tseed_picture_is_opaque(pixels) ? codecs[codec].opaque : codecs[codec].other;
}

/* A PNG of 16 bits, of heights for example, keeps them where it is the tile. All else that becomes
 * of pixels has 8 bits. Returns whether the tile was made. */
static int keep_depth(tseed_encoded_t *tile, tseed_cutter_t *cutter, const tseed_picture_t *pixels)
{
    const tseed_format_t *format = &cutter->format;

    if (cutter->kind != TSEED_CODEC_PNG || !cutter->png.deep ||
        !is_whole(cutter, pixels->width, pixels->height) ||
        codec_for(format, pixels) != TSEED_CODEC_PNG ||
        (format->palette == TSEED_PALETTE_NONE && pixels->channels < 3)) {
        return 0;
    }
    return pass_on(tile, cutter) == 0;
}

/* `pixels` becomes what was encoded. */
static const char *encode(tseed_encoded_t *tile, tseed_cutter_t *cutter, tseed_picture_t *pixels)
{
    if (tseed_buffer_reserve(&cutter->pixels, 4 * (size_t)pixels->width * (size_t)pixels->height) !=
        0) {
        return TSEED_NO_MEMORY;
    }
    return codecs[codec_for(&cutter->format, pixels)].encode(tile, cutter, pixels);
}

static void uniform_key_set(uniform_key_t *key, const tseed_cutter_t *cutter, const paint_t *paint,
                            int width, int height)
{
    memset(key, 0, sizeof(*key));
    key->paint = *paint;
    key->width = width;
    key->height = height;
    key->codec = (int)cutter->format.codec;
    key->quality = cutter->format.quality;
    key->level = cutter->format.level;
    key->lossless = cutter->format.lossless;
    key->palette = (int)cutter->format.palette;
}

static int uniform_find(tseed_encoded_t *tile, const tseed_cutter_t *cutter,
                        const uniform_key_t *key)
{
    if (!cutter->uniform.length || memcmp(key, &cutter->uniform_key, sizeof(*key)) != 0) {
        return 0;
    }
    *tile = cutter->uniform;
    return 1;
}

/* Keeps a copy, for the encoders' buffers are used again. Without memory it is just not kept. */
static void uniform_remember(tseed_cutter_t *cutter, const uniform_key_t *key,
                             const tseed_encoded_t *tile)
{
    cutter->uniform.length = 0;
    if (tseed_buffer_reserve(&cutter->uniform_data, tile->length) == 0) {
        memcpy(cutter->uniform_data.data, tile->data, tile->length);
        cutter->uniform_key = *key;
        cutter->uniform = *tile;
        cutter->uniform.data = cutter->uniform_data.data;
    }
}

static const char *encode_uniform(tseed_encoded_t *tile, tseed_cutter_t *cutter,
                                  tseed_picture_t *pixels)
{
    const paint_t paint = paint_of(pixels);
    uniform_key_t key;
    const char *error;

    uniform_key_set(&key, cutter, &paint, pixels->width, pixels->height);
    if (uniform_find(tile, cutter, &key)) {
        return NULL;
    }
    error = encode(tile, cutter, pixels);
    if (error) {
        return error;
    }
    tile->uniform = 1;
    memcpy(tile->rgba, &paint.colour, sizeof(tile->rgba));
    uniform_remember(cutter, &key, tile);
    return NULL;
}

/* A tile of an answer of one colour that was made before: nothing need be decoded. */
static int cut_solid(tseed_encoded_t *tile, const tseed_cutter_t *cutter,
                     const tseed_region_t *region)
{
    uniform_key_t key;

    if (!cutter->is_solid) {
        return 0;
    }
    uniform_key_set(&key, cutter, &cutter->solid_paint, region->width, region->height);
    return uniform_find(tile, cutter, &key);
}

static const char *decode(tseed_cutter_t *cutter, apr_pool_t *pool)
{
    if (cutter->picture.width) {
        return NULL;
    }
    return cutter->kind == TSEED_CODEC_PNG
               ? tseed_png_read(&cutter->picture, &cutter->reader, &cutter->png, pool)
               : tseed_jpeg_read(&cutter->picture, &cutter->jpeg_codec, &cutter->jpeg, pool);
}

const char *tseed_cutter_decode(tseed_picture_t *picture, tseed_cutter_t *cutter, apr_pool_t *pool)
{
    const char *error = decode(cutter, pool);

    *picture = cutter->picture;
    return error;
}

static int may_be_jpeg(tseed_codec_t codec)
{
    return codec == TSEED_CODEC_JPEG ||
           (!codecs[codec].encode && codecs[codec].opaque == TSEED_CODEC_JPEG);
}

/* JPEG to JPEG without decoding. Returns 1 when the tile was made, or `error` was set. */
static int cut_jpeg(tseed_encoded_t *tile, const char **error, tseed_cutter_t *cutter,
                    const tseed_region_t *region, apr_pool_t *pool)
{
    const tseed_jpeg_t *jpeg = &cutter->jpeg;

    if (cutter->kind != TSEED_CODEC_JPEG || !may_be_jpeg(cutter->format.codec)) {
        return 0;
    }
    if (is_whole(cutter, region->width, region->height)) {
        *error = tseed_jpeg_check(&cutter->jpeg_codec, jpeg, pool);
        if (*error || pass_on(tile, cutter) == 0) {
            return 1;
        }
    }
    tile->length = tseed_jpeg_cut(&tile->data, &cutter->jpeg_codec, jpeg, region);
    return tile->length > 0;
}

static int is_inside(const tseed_cutter_t *cutter, const tseed_region_t *region)
{
    return region->x >= 0 && region->y >= 0 && region->width > 0 && region->height > 0 &&
           region->width <= cutter->answer.width - region->x &&
           region->height <= cutter->answer.height - region->y;
}

const char *tseed_cutter_cut(tseed_cutter_t *cutter, tseed_encoded_t *tile,
                             const tseed_region_t *region, apr_pool_t *pool)
{
    tseed_picture_t pixels;
    const char *error = NULL;

    *tile = (tseed_encoded_t){0};
    if (!is_inside(cutter, region)) {
        return "the tile lies outside the answer";
    }
    if (cut_solid(tile, cutter, region) || cut_jpeg(tile, &error, cutter, region, pool)) {
        return error;
    }
    error = decode(cutter, pool);
    if (error) {
        return error;
    }
    pixels = tseed_picture_view(&cutter->picture, region);
    if (keep_depth(tile, cutter, &pixels)) {
        return NULL;
    }
    return tseed_picture_is_uniform(&pixels) ? encode_uniform(tile, cutter, &pixels)
                                             : encode(tile, cutter, &pixels);
}
