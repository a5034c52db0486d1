/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writes PNG by libdeflate: one IDAT, a palette in 1, 2, 4 or 8 bits.
 *
 * Row filters cost maps time and bytes, so maps get none. Photographs get row filters, which make
 * them a fifth smaller. The writer takes a picture for a photograph when hardly a pixel equals its
 * neighbour.
 *
 * One thread at a time uses a writer.
 */
#ifndef TSEED_PNG_WRITE_H
#define TSEED_PNG_WRITE_H

#include "image/tseed_buffer.h"
#include "image/tseed_picture.h"

struct libdeflate_compressor;

#define TSEED_PNG_LEVELS 12

/* One thread's; all zero to begin with. */
typedef struct {
    struct libdeflate_compressor *deflaters[TSEED_PNG_LEVELS + 1]; /* by level, made when needed */
    tseed_buffer_t rows;
    tseed_buffer_t file;
} tseed_png_writer_t;

/* Writes the picture into the writer's buffer `file` at a libdeflate level of 1..12; a picture with
 * a palette takes level 2 at least. Returns the length, or 0 when there is no memory. Translucent
 * colours should come first in a palette, because tRNS ends with the last of them. */
size_t tseed_png_write(tseed_png_writer_t *writer, const tseed_picture_t *picture, int level);

/* Gives its memory back. */
void tseed_png_writer_free(tseed_png_writer_t *writer);

#endif
