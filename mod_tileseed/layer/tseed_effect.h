/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Effects: how much a call has changed on disk, or how much somebody has counted there. The book
 * adds them up.
 *
 * A tile is a name of a file. The file belongs to the tile, unless uniform tiles share it: a shared
 * file belongs to the tile set as a whole, and another name of it costs nothing. Directories cost
 * nothing.
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
