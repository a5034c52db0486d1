/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads the rarer kinds of PNG by libpng.
 *
 * libpng reports a failure by longjmp; what must survive that lives in `session_t`, and the one
 * function that calls setjmp has no variables of its own.
 */
#include "image/tseed_png_libpng.h"

#include <apr_strings.h>
#include <png.h>
#include <string.h>

typedef struct {
    png_structp reader;
    png_infop info;
    const unsigned char *at; /* the next byte of the file */
    size_t left;
    tseed_png_t *png;
    tseed_picture_t *picture;
    tseed_buffer_t *room;
    apr_pool_t *pool;
    const char *error;
} session_t;

static void fail(png_structp reader, png_const_charp message)
{
    session_t *session = png_get_error_ptr(reader);

    session->error = apr_psprintf(session->pool, "png is damaged: %s", message);
    png_longjmp(reader, 1);
}

static void ignore(png_structp reader, png_const_charp message)
{
    (void)reader, (void)message;
}

static void give(png_structp reader, png_bytep to, size_t length)
{
    session_t *session = png_get_io_ptr(reader);

    if (length > session->left) {
        png_error(reader, "it is cut off");
    }
    memcpy(to, session->at, length);
    session->at += length;
    session->left -= length;
}

/* Skips chunks that could be bombs of their own (profiles, texts). A warning of libpng, about a
 * wrong checksum of the pixels for example, is an error here. */
static void set_rules(session_t *session)
{
    png_set_keep_unknown_chunks(session->reader, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_benign_errors(session->reader, 0);
    png_set_user_limits(session->reader, (png_uint_32)session->picture->width,
                        (png_uint_32)session->picture->height);
    png_set_read_fn(session->reader, session, give);
}

/* To 8 bits a sample, or 16. A palette stays one, its tRNS is read elsewhere. */
static void set_transformations(session_t *session)
{
    png_structp reader = session->reader;

    png_set_packing(reader);
    if (png_get_color_type(reader, session->info) != PNG_COLOR_TYPE_PALETTE) {
        png_set_expand(reader);
    }
    png_read_update_info(reader, session->info);
}

/* Rounds samples of 16 bits to 8, in place. Notes whether something is lost: a sample of 8 bits
 * that was widened has the same byte twice. */
static void narrow(session_t *session)
{
    tseed_picture_t *picture = session->picture;
    unsigned char *samples = session->room->data;

    picture->stride /= 2;
    for (size_t i = 0; i < picture->stride * (size_t)picture->height; i++) {
        unsigned high = samples[2 * i];
        unsigned low = samples[2 * i + 1];

        session->png->deep |= high != low;
        samples[i] = (unsigned char)(((high << 8 | low) + 128) / 257);
    }
}

static void read_rows(session_t *session)
{
    tseed_picture_t *picture = session->picture;
    int passes = png_set_interlace_handling(session->reader);

    set_transformations(session);
    picture->channels = png_get_channels(session->reader, session->info);
    picture->stride = png_get_rowbytes(session->reader, session->info);
    if (tseed_buffer_reserve(session->room, picture->stride * (size_t)picture->height) != 0) {
        png_error(session->reader, TSEED_NO_MEMORY);
    }
    picture->pixels = session->room->data;
    for (int i = 0; i < passes * picture->height; i++) {
        size_t y = (size_t)(i % picture->height);

        png_read_row(session->reader, session->room->data + y * picture->stride, NULL);
    }
    png_read_end(session->reader, NULL);
    if (png_get_bit_depth(session->reader, session->info) == 16) {
        narrow(session);
    }
}

static void run(session_t *session)
{
    if (setjmp(png_jmpbuf(session->reader)) == 0) {
        set_rules(session);
        png_read_info(session->reader, session->info);
        read_rows(session);
    }
}

const char *tseed_png_libpng(tseed_picture_t *picture, tseed_buffer_t *room, tseed_png_t *png,
                             apr_pool_t *pool)
{
    session_t session = {.at = png->data,
                         .left = png->length,
                         .png = png,
                         .picture = picture,
                         .room = room,
                         .pool = pool};

    session.reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, fail, ignore);
    session.info = session.reader ? png_create_info_struct(session.reader) : NULL;
    if (session.info) {
        run(&session);
    } else {
        session.error = TSEED_NO_MEMORY;
    }
    png_destroy_read_struct(&session.reader, &session.info, NULL);
    return session.error;
}
