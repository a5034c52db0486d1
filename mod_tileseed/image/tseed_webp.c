/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads and writes WebP. */
#include "image/tseed_webp.h"

#include <apr_strings.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/encode.h>

/* "RIFF", the length of the rest, "WEBP" (RFC 9649, section 2.4). */
#define HEAD 12

/* libwebp's scales of effort, the fastest being 0. */
#define METHOD_MOST   6
#define LOSSLESS_MOST 9
#define LEVEL_MOST    12

int tseed_webp_is(const unsigned char *data, size_t length)
{
    return length >= HEAD && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0;
}

static const char *damaged(VP8StatusCode status, apr_pool_t *pool)
{
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
        return TSEED_NO_MEMORY;
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return "webp is damaged: it is cut off";
    default:
        return apr_psprintf(pool, "webp is damaged: libwebp's status %d", (int)status);
    }
}

static const char *check_features(const WebPBitstreamFeatures *features, const tseed_webp_t *webp,
                                  apr_pool_t *pool)
{
    if (features->has_animation) {
        return "webp is an animation, expected one picture";
    }
    if (features->width != webp->width || features->height != webp->height) {
        return apr_psprintf(pool, "webp of %d x %d pixels, expected %d x %d", features->width,
                            features->height, webp->width, webp->height);
    }
    return NULL;
}

static const char *decode(tseed_picture_t *picture, tseed_webp_codec_t *codec,
                          const tseed_webp_t *webp, WebPDecoderConfig *config, apr_pool_t *pool)
{
    int channels = config->input.has_alpha ? 4 : 3;
    int stride = webp->width * channels;
    size_t size = (size_t)stride * (size_t)webp->height;
    VP8StatusCode status;

    if (tseed_buffer_reserve(&codec->pixels, size) != 0) {
        return TSEED_NO_MEMORY;
    }
    config->output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    config->output.is_external_memory = 1;
    config->output.u.RGBA = (WebPRGBABuffer){codec->pixels.data, stride, size};
    status = WebPDecode(webp->data, webp->length, config);
    if (status != VP8_STATUS_OK) {
        return damaged(status, pool);
    }
    *picture = (tseed_picture_t){.width = webp->width,
                                 .height = webp->height,
                                 .channels = channels,
                                 .stride = (size_t)stride,
                                 .pixels = codec->pixels.data};
    return NULL;
}

const char *tseed_webp_read(tseed_picture_t *picture, tseed_webp_codec_t *codec,
                            const tseed_webp_t *webp, apr_pool_t *pool)
{
    WebPDecoderConfig config;
    VP8StatusCode status;
    const char *error;

    WebPInitDecoderConfig(&config);
    status = WebPGetFeatures(webp->data, webp->length, &config.input);
    error =
        status == VP8_STATUS_OK ? check_features(&config.input, webp, pool) : damaged(status, pool);
    return error ? error : decode(picture, codec, webp, &config, pool);
}

/* A file that grows behind what is written of it. */
typedef struct {
    tseed_buffer_t *file;
    size_t length;
} output_t;

static int append(const uint8_t *data, size_t size, const WebPPicture *picture)
{
    output_t *output = picture->custom_ptr;
    tseed_buffer_t *file = output->file;
    size_t needed = output->length + size;

    if (needed > file->size) {
        unsigned char *grown = realloc(file->data, 2 * needed);

        if (!grown) {
            return 0;
        }
        *file = (tseed_buffer_t){grown, 2 * needed};
    }
    memcpy(file->data + output->length, data, size);
    output->length = needed;
    return 1;
}

static int set_config(WebPConfig *config, const tseed_format_t *format)
{
    if (!WebPConfigInit(config)) {
        return 0;
    }
    if (format->lossless) {
        config->exact = 1;
        return WebPConfigLosslessPreset(config,
                                        (format->level - 1) * LOSSLESS_MOST / (LEVEL_MOST - 1));
    }
    config->quality = (float)format->quality;
    config->method = format->level * METHOD_MOST / LEVEL_MOST;
    return 1;
}

size_t tseed_webp_write(tseed_webp_codec_t *codec, const tseed_picture_t *picture,
                        const tseed_format_t *format)
{
    output_t output = {&codec->file, 0};
    int (*import)(WebPPicture *, const uint8_t *, int) =
        picture->channels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
    WebPConfig config;
    WebPPicture webp;
    int done;

    if (!set_config(&config, format) || !WebPPictureInit(&webp)) {
        return 0;
    }
    webp.width = picture->width;
    webp.height = picture->height;
    webp.use_argb = format->lossless;
    webp.writer = append;
    webp.custom_ptr = &output;
    done = import(&webp, picture->pixels, (int)picture->stride) && WebPEncode(&config, &webp);
    WebPPictureFree(&webp);
    return done ? output.length : 0;
}

void tseed_webp_codec_free(tseed_webp_codec_t *codec)
{
    tseed_buffer_free(&codec->pixels);
    tseed_buffer_free(&codec->file);
}
