/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Derived levels (TileSeedDerive): a tile is made of the four tiles below it, by halving
 * (image/tseed_average.h). Where the layer can have no tile below, the picture is transparent. If a
 * tile below is missing or broken, the tile above it can't be made.
 *
 * Pictures are made of the tiles as they were stored. A lossy tile is decoded and encoded once a
 * level. If the errors of four pixels are independent, their mean has a quarter of the mean squared
 * error, so little adds up from level to level. The alternative, to keep decoded pixels, would need
 * the memory of a whole level. */
#ifndef TSEED_DERIVED_H
#define TSEED_DERIVED_H

#include "work/tseed_run.h"

/* What draws the tiles of a job of a derived level; NULL: the level is not derived. Any thread. */
tseed_draw_t *tseed_derived_draw(const tseed_job_t *job);

#endif
