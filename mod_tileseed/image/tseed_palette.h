/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Palettes of tiles: the used colours of a palette, the colours of a picture, the best 256.
 *
 * Each function makes a gapless picture of indices. Translucent colours come first, as a PNG wants
 * them; colours that no pixel has are left out.
 *
 * One thread at a time uses a palette and its buffers.
 */
#ifndef TSEED_PALETTE_H
#define TSEED_PALETTE_H

#include "image/tseed_buffer.h"
#include "image/tseed_picture.h"

#define TSEED_PALETTE_MAX 256

/* One thread's; all zero to begin with. */
typedef struct {
    tseed_colour_t colours[TSEED_PALETTE_MAX];
    tseed_buffer_t indices;
    tseed_buffer_t histogram; /* of tseed_palette_reduce */
} tseed_palette_room_t;

typedef enum {
    TSEED_COLOURS_DONE,
    TSEED_COLOURS_TOO_MANY, /* of tseed_palette_find alone */
    TSEED_COLOURS_NO_MEMORY
} tseed_colours_t;

/* In all three `indexed` gets its pixels and palette from `palette`, until that is used again. */

/* Makes of a picture with a palette the same picture with only the colours that it uses; leaves the
 * palette as it is when that would gain little. */
tseed_colours_t tseed_palette_shrink(tseed_picture_t *indexed, tseed_palette_room_t *palette,
                                     const tseed_picture_t *picture);

/* Makes of a picture without a palette the same picture with a palette of at most `most` colours,
 * up to 256. TSEED_COLOURS_TOO_MANY: the picture has more. */
tseed_colours_t tseed_palette_find(tseed_picture_t *indexed, tseed_palette_room_t *palette,
                                   const tseed_picture_t *picture, int most);

/* Makes of an RGBA picture a picture of at most 256 colours that is near to it. Opaque pixels stay
 * opaque, and wholly transparent pixels stay transparent. */
tseed_colours_t tseed_palette_reduce(tseed_picture_t *indexed, tseed_palette_room_t *palette,
                                     const tseed_picture_t *picture);

/* Gives the room's memory back. */
void tseed_palette_free(tseed_palette_room_t *palette);

#endif
