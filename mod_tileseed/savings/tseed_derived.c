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
#include "savings/tseed_savings.h"

#include "base/tseed_text.h"
#include "image/tseed_average.h"
#include "tiling/tseed_range.h"
#include "work/tseed_job_derive.h"

#define PLACE "%d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT

/* A tile below is there once its level is, and all below it down to one that is not derived. */
static void lack(tseed_derive_t *derive, const tseed_tile_t *tile, const tseed_tile_t *below,
                 const char *error)
{
    const int last = derive->job->run->tileset.layer->derived.end;
    char levels[40], cause[TSEED_CAUSE_SIZE];

    if (below->z < last) {
        tseed_text_say(levels, sizeof(levels), "levels %d to %d", below->z, last);
    } else {
        tseed_text_say(levels, sizeof(levels), "level %d", below->z);
    }
    if (error) {
        tseed_text_say(cause, sizeof(cause),
                       "tile " PLACE " below it is broken, reseed level %d first: %s", below->z,
                       below->x, below->y, below->z, error);
    } else {
        tseed_text_say(cause, sizeof(cause), "tile " PLACE " is missing below it: seed %s first",
                       below->z, below->x, below->y, levels);
    }
    tseed_derive_lack(derive, tile, error != NULL, cause);
}

/* Decodes a tile below and halves it into the quarter of the tile above that it covers. NULL or a
 * sentence. */
static const char *halve(tseed_derive_t *derive, const tseed_tile_t *tile, int right, int low,
                         const tseed_answer_t *answer)
{
    size_t stride;
    unsigned char *quarter = tseed_derive_pixels(&stride, derive, tile);
    tseed_picture_t picture;
    const char *error = tseed_derive_decode(&picture, derive, answer);

    quarter += low ? (size_t)(answer->height / 2) * stride : 0;
    quarter += right ? TSEED_PIXEL * (size_t)(answer->width / 2) : 0;
    if (!error) {
        derive->is_opaque &= tseed_average(quarter, stride, &picture);
    }
    return error;
}

/* Returns 0 when the tile above can't be made, or the job can't go on. */
static int take_below(tseed_derive_t *derive, const tseed_tile_t *tile, const tseed_range_t *four,
                      const tseed_tile_t *below)
{
    tseed_answer_t answer;
    const char *error;
    const int is = tseed_derive_read(&answer, &error, derive, below);

    if (is > 0 && !derive->only_digest) {
        error = halve(derive, tile, below->x > four->minx, below->y == four->miny, &answer);
    }
    if (is == 0 || error) {
        lack(derive, tile, below, error);
    }
    return is > 0 && !error;
}

static int draw(tseed_derive_t *derive, const tseed_tile_t *tile)
{
    const tseed_subset_t *subset = derive->job->run->tileset.subset;
    const tseed_range_t one = {tile->z, tile->x, tile->y, tile->x, tile->y};
    const tseed_range_t four = tseed_halving_below(subset->gridset, &one);
    const tseed_range_t all = tseed_range_of(subset->gridset, four.z, &subset->extent);
    int is_made = 1;

    for (int i = 0; i < 4 && is_made; i++) {
        const tseed_tile_t below = {four.z, four.minx + i % 2, four.miny + i / 2};
        const tseed_range_t its = {below.z, below.x, below.y, below.x, below.y};

        if (tseed_range_has(&all, &its)) {
            is_made = take_below(derive, tile, &four, &below);
        } else {
            derive->is_opaque = 0;
        }
    }
    return is_made;
}

tseed_draw_t *tseed_derived_draw(const tseed_job_t *job)
{
    return tseed_run_derives(job->run, job->metatile.whole.z) ? draw : NULL;
}
