/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a call has changed on disk, or what was counted there, for whoever keeps books of it.
 *
 * A tile is a name. Its file belongs to it, unless it is one that uniform tiles share: that belongs
 * to the tile set as a whole, and a name of it costs nothing. Directories cost nothing.
 *
 * Pure functions.
 */
#ifndef TSEED_EFFECT_H
#define TSEED_EFFECT_H

#include <stdint.h>

/* Negative: that much less. */
typedef struct {
    int64_t names;     /* of tiles */
    int64_t files;     /* that belong to one tile, or that are shared */
    int64_t bytes;     /* their sizes */
    int64_t allocated; /* their sizes, each rounded up to the block size */
} tseed_effect_t;

/* Adds one to a sum. */
static inline void tseed_effect_add(tseed_effect_t *sum, const tseed_effect_t *effect)
{
    sum->names += effect->names;
    sum->files += effect->files;
    sum->bytes += effect->bytes;
    sum->allocated += effect->allocated;
}

#endif
