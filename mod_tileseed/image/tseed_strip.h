/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Strips an answer that is passed on as a tile: takes out what is not needed to show the picture.
 *
 * Comments, Exif, XMP, thumbnails, unknown chunks and bytes behind the picture go. Nothing is
 * decoded. The parts that colours need stay: PNG's gAMA, cHRM, sRGB, cICP and iCCP, the ICC profile
 * of JPEG and WebP up to 64 KiB, and JPEG's JFIF and Adobe segments.
 *
 * Any thread.
 */
#ifndef TSEED_STRIP_H
#define TSEED_STRIP_H

#include <stddef.h>

#include "image/tseed_buffer.h"

typedef struct {
    const unsigned char *data; /* what was given, or the room's */
    size_t length;
} tseed_stripped_t;

/* Strips a PNG, JPEG or WebP that was found to be whole. Returns 0; or -1 if it can't be followed,
 * or is longer than any picture of so many pixels needs to be, or is coded in a way that browsers
 * don't know, or there is no memory: then it is to be written anew. */
int tseed_strip(tseed_stripped_t *stripped, tseed_buffer_t *room, const unsigned char *data,
                size_t length, int width, int height);

#endif
