/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that derive. Pictures are made of the tiles as they were stored. A lossy tile is decoded and
 * encoded once a level. If the errors of four pixels are independent, their mean has a quarter of
 * the mean squared error, so little adds up from level to level. The alternative, to keep decoded
 * pixels, would need the memory of a whole level. */
#include "work/tseed_job_derive.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "base/tseed_text.h"
#include "image/tseed_average.h"
#include "tiling/tseed_range.h"
#include "work/tseed_job_store.h"

#define PIXEL 4 /* bytes of RGBA */

typedef struct {
    tseed_cutter_t *cutter;
    tseed_store_t *store;
    tseed_job_t *job;
    const tseed_gridset_t *gridset;
    tseed_range_t below; /* the tiles that the layer may have in the level below */
    uint64_t digest;     /* of the tiles read so far */
    int only_digest;     /* nothing is decoded */
    int is_opaque;       /* all of the picture that was made so far */
    int made;            /* tiles */
    unsigned char *rgba; /* of a tile below */
    apr_pool_t *once;    /* cleared before each tile below */
} derive_t;

/* ---- the picture ---- */

static int width_of(const tseed_job_t *job)
{
    const tseed_range_t *wanted = &job->metatile.wanted;

    return (int)(wanted->maxx - wanted->minx + 1) * job->run->tileset.subset->gridset->tile_width;
}

static int height_of(const tseed_job_t *job)
{
    const tseed_range_t *wanted = &job->metatile.wanted;

    return (int)(wanted->maxy - wanted->miny + 1) * job->run->tileset.subset->gridset->tile_height;
}

tseed_picture_t tseed_job_derived(const tseed_job_t *job)
{
    const int width = width_of(job), height = height_of(job);
    const int channels = (int)(job->result.drawn.length / ((size_t)width * (size_t)height));

    return (tseed_picture_t){
        .width = width,
        .height = height,
        .channels = channels,
        .stride = (size_t)width * (size_t)channels,
        .pixels = job->result.drawn.body,
    };
}

tseed_region_t tseed_job_derived_region(const tseed_job_t *job, const tseed_tile_t *tile)
{
    const tseed_gridset_t *gridset = job->run->tileset.subset->gridset;
    const tseed_range_t *wanted = &job->metatile.wanted;

    return (tseed_region_t){
        .x = (int)(tile->x - wanted->minx) * gridset->tile_width,
        .y = (int)(wanted->maxy - tile->y) * gridset->tile_height,
        .width = gridset->tile_width,
        .height = gridset->tile_height,
    };
}

/* An opaque picture is one of three channels, as an upstream would send it. */
static void drop_alpha(tseed_job_t *job)
{
    const tseed_picture_t picture = tseed_job_derived(job);

    tseed_picture_drop_alpha(job->result.drawn.body, &picture);
    job->result.drawn.length = job->result.drawn.length / PIXEL * (PIXEL - 1);
}

/* ---- which tiles ---- */

static int has(const uint64_t *bits, size_t i)
{
    return (int)(bits[i / 64] >> (i % 64) & 1);
}

/* A seed leaves tiles alone that are there. */
static int is_needed(const tseed_job_t *job, size_t i)
{
    return job->run->task->type == TSEED_RESEED || !has(job->result.present, i);
}

/* The tile is there once its level is, and all below it down to one that is not derived. */
static void say_missing(tseed_job_t *job, const tseed_tile_t *below)
{
    const int last = job->run->tileset.layer->derived.end;
    char levels[40];

    if (below->z < last) {
        tseed_text_say(levels, sizeof(levels), "levels %d to %d", below->z, last);
    } else {
        tseed_text_say(levels, sizeof(levels), "level %d", below->z);
    }
    tseed_text_say(job->result.cause, sizeof(job->result.cause),
                   "tile %d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT
                   " is missing below it: seed %s first",
                   below->z, below->x, below->y, levels);
}

/* Only the first cause is kept: it is the one to begin with. */
static void lack(const derive_t *derive, const tseed_tile_t *tile, const tseed_tile_t *below,
                 const char *error)
{
    tseed_job_t *job = derive->job;

    job->result.has_broken |= error != NULL;
    if (!tseed_job_lacks_any(job) && error) {
        tseed_text_say(job->result.cause, sizeof(job->result.cause),
                       "tile %d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT
                       " below it is broken, reseed level %d first: %s",
                       below->z, below->x, below->y, below->z, error);
    } else if (!tseed_job_lacks_any(job)) {
        say_missing(job, below);
    }
    tseed_job_lack(job, tile);
}

/* ---- a tile below ---- */

static void note(derive_t *derive, const void *data, size_t length)
{
    const uint64_t size = length;

    derive->digest = tseed_digest(&size, sizeof(size), derive->digest);
    derive->digest = length ? tseed_digest(data, length, derive->digest) : derive->digest;
}

/* Where the half of a tile below goes: it covers a quarter of the tile above. */
static unsigned char *quarter_of(const derive_t *derive, const tseed_tile_t *tile,
                                 const tseed_range_t *four, const tseed_tile_t *below)
{
    const tseed_region_t region = tseed_job_derived_region(derive->job, tile);
    const int x = region.x + (below->x > four->minx ? region.width / 2 : 0);
    const int y = region.y + (below->y > four->miny ? 0 : region.height / 2);

    return derive->job->result.drawn.body +
           PIXEL * ((size_t)y * (size_t)width_of(derive->job) + (size_t)x);
}

/* Decodes a tile below and halves it. NULL or a sentence. */
static const char *halve(derive_t *derive, unsigned char *to, const tseed_answer_t *answer)
{
    tseed_picture_t picture;
    const char *error =
        tseed_cutter_open(derive->cutter, answer, derive->job->run->tileset.format, derive->once);

    if (!error) {
        error = tseed_cutter_decode(&picture, derive->cutter, derive->once);
    }
    if (error) {
        return error;
    }
    if (picture.channels != PIXEL) {
        picture = tseed_picture_to_rgba(derive->rgba, &picture);
    }
    derive->is_opaque &= tseed_average(to, PIXEL * (size_t)width_of(derive->job), &picture);
    return NULL;
}

/* Why a tile below can't be read, if the fault is the tile's own; else NULL, and the job can't go
 * on. */
static const char *judge(derive_t *derive, apr_status_t rv)
{
    char why[TSEED_CAUSE_SIZE];
    int is_tile;
    const char *place = tseed_store_obstacle(&is_tile, derive->store);

    if (is_tile) {
        return apr_psprintf(derive->once, "%s: %s", place, apr_strerror(rv, why, sizeof(why)));
    }
    tseed_job_no_store(derive->job, derive->store, rv);
    return NULL;
}

/* Returns 0 when the tile above can't be made, or the job can't go on. */
static int take_below(derive_t *derive, const tseed_tile_t *tile, const tseed_range_t *four,
                      const tseed_tile_t *below)
{
    tseed_answer_t answer = {.width = derive->gridset->tile_width,
                             .height = derive->gridset->tile_height};
    const char *error = NULL;
    apr_status_t rv;

    apr_pool_clear(derive->once);
    rv = tseed_store_read(&answer.data, &answer.length, derive->store, below, derive->once);
    if (rv != APR_SUCCESS && !APR_STATUS_IS_ENOENT(rv) && !(error = judge(derive, rv))) {
        return 0;
    }
    note(derive, answer.data, rv == APR_SUCCESS ? answer.length : 0);
    if (rv == APR_SUCCESS && !derive->only_digest) {
        error = halve(derive, quarter_of(derive, tile, four, below), &answer);
    }
    if (rv == APR_SUCCESS && !error) {
        return 1;
    }
    lack(derive, tile, below, error);
    return 0;
}

/* ---- a tile ---- */

static int is_in(const tseed_range_t *range, const tseed_tile_t *tile)
{
    return tile->x >= range->minx && tile->x <= range->maxx && tile->y >= range->miny &&
           tile->y <= range->maxy;
}

/* Returns 0 when the job can't go on. */
static int derive_tile(derive_t *derive, const tseed_tile_t *tile)
{
    const tseed_range_t one = {tile->z, tile->x, tile->y, tile->x, tile->y};
    const tseed_range_t four = tseed_halving_below(derive->gridset, &one);
    int is_made = 1;

    for (int i = 0; i < 4 && is_made; i++) {
        const tseed_tile_t below = {four.z, four.minx + i % 2, four.miny + i / 2};

        if (is_in(&derive->below, &below)) {
            is_made = take_below(derive, tile, &four, &below);
        } else {
            derive->is_opaque = 0;
        }
    }
    derive->made += is_made;
    if (tseed_job_is_stopped(derive->job->run)) {
        derive->job->result.outcome = TSEED_JOB_STOPPED;
    }
    return derive->job->result.outcome == TSEED_JOB_OK;
}

static void derive_tiles(derive_t *derive)
{
    const tseed_range_t *wanted = &derive->job->metatile.wanted;
    size_t i = 0;

    derive->digest = derive->job->accounts.seed;
    derive->is_opaque = 1;
    derive->made = 0;
    memset(derive->job->result.lacking, 0, sizeof(derive->job->result.lacking));
    derive->job->result.is_blocked = 0;
    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++, i++) {
            const int needed = is_needed(derive->job, i);

            note(derive, NULL, 0); /* so that parts of a metatile have another digest */
            derive->digest += (uint64_t)needed;
            if (needed && !derive_tile(derive, &(tseed_tile_t){wanted->z, x, y})) {
                return;
            }
        }
    }
    derive->digest = derive->digest ? derive->digest : 1;
}

/* ---- the job ---- */

/* Whether a reseed finds the tiles below as they were. */
static int is_unchanged(derive_t *derive)
{
    tseed_job_t *job = derive->job;

    if (!tseed_run_leaves_unchanged(job->run) || !job->accounts.known ||
        tseed_job_must_fetch(job)) {
        return 0;
    }
    derive->only_digest = 1;
    derive_tiles(derive);
    derive->only_digest = 0;
    return job->result.outcome == TSEED_JOB_OK && derive->digest == job->accounts.known;
}

static void make_picture(derive_t *derive)
{
    tseed_job_t *job = derive->job;
    const size_t size = PIXEL * (size_t)width_of(job) * (size_t)height_of(job);

    job->result.drawn.body = calloc(1, size);
    job->result.drawn.length = size;
    if (!job->result.drawn.body) {
        tseed_job_no_store(job, NULL, APR_ENOMEM);
        return;
    }
    derive_tiles(derive);
    job->result.below = derive->digest;
    if (job->result.outcome == TSEED_JOB_OK && derive->made > 0 && derive->is_opaque) {
        drop_alpha(job);
    }
    if (job->result.outcome == TSEED_JOB_OK && derive->made == 0) {
        job->result.outcome = TSEED_JOB_LACKS;
    }
}

void tseed_job_derive(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                      apr_pool_t *scratch)
{
    const tseed_subset_t *subset = job->run->tileset.subset;
    const tseed_gridset_t *gridset = subset->gridset;
    const apr_time_t begun = tseed_clock_monotonic();
    derive_t derive = {
        .cutter = cutter,
        .store = store,
        .job = job,
        .gridset = gridset,
        .below = tseed_range_of(gridset, job->metatile.wanted.z + 1, &subset->extent),
        .rgba =
            apr_palloc(scratch, PIXEL * (size_t)gridset->tile_width * (size_t)gridset->tile_height),
    };

    apr_pool_create(&derive.once, scratch);
    tseed_job_forget_drawn(job);
    if (is_unchanged(&derive)) {
        job->result.below = derive.digest;
        job->result.drawn.is_unchanged = 1;
    } else if (job->result.outcome == TSEED_JOB_OK) {
        make_picture(&derive);
    }
    job->result.drawn.took =
        tseed_clock_monotonic() - begun + 1; /* 0 would mean: nothing was done */
}
