/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that derive: the picture, and what becomes of it. */
#include "work/tseed_job_derive.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "base/tseed_text.h"
#include "tiling/tseed_range.h"
#include "work/tseed_job_store.h"

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
    job->result.drawn.length = job->result.drawn.length / TSEED_PIXEL * (TSEED_PIXEL - 1);
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

/* ---- for those who draw ---- */

static void note(tseed_derive_t *derive, const void *data, size_t length)
{
    const uint64_t size = length;

    derive->digest = tseed_digest(&size, sizeof(size), derive->digest);
    derive->digest = length ? tseed_digest(data, length, derive->digest) : derive->digest;
}

/* Why a tile below can't be read, if the fault is the tile's own; else NULL, and the job can't go
 * on. */
static const char *judge(tseed_derive_t *derive, apr_status_t rv)
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

int tseed_derive_read(tseed_answer_t *answer, const char **error, tseed_derive_t *derive,
                      const tseed_tile_t *tile)
{
    const tseed_gridset_t *gridset = derive->job->run->tileset.subset->gridset;
    apr_status_t rv;

    *answer = (tseed_answer_t){.width = gridset->tile_width, .height = gridset->tile_height};
    *error = NULL;
    apr_pool_clear(derive->once);
    rv = tseed_store_read(&answer->data, &answer->length, derive->store, tile, derive->once);
    if (rv != APR_SUCCESS && !APR_STATUS_IS_ENOENT(rv) && !(*error = judge(derive, rv))) {
        return -1;
    }
    note(derive, answer->data, rv == APR_SUCCESS ? answer->length : 0);
    return rv == APR_SUCCESS;
}

const char *tseed_derive_decode(tseed_picture_t *picture, tseed_derive_t *derive,
                                const tseed_answer_t *answer)
{
    const char *error =
        tseed_cutter_open(derive->cutter, answer, derive->job->run->tileset.format, derive->once);

    if (!error) {
        error = tseed_cutter_decode(picture, derive->cutter, derive->once);
    }
    if (!error && picture->channels != TSEED_PIXEL) {
        *picture = tseed_picture_to_rgba(derive->rgba, picture);
    }
    return error;
}

unsigned char *tseed_derive_pixels(size_t *stride, const tseed_derive_t *derive,
                                   const tseed_tile_t *tile)
{
    const tseed_region_t region = tseed_job_derived_region(derive->job, tile);

    *stride = TSEED_PIXEL * (size_t)width_of(derive->job);
    return derive->job->result.drawn.body + (size_t)region.y * *stride +
           TSEED_PIXEL * (size_t)region.x;
}

void tseed_derive_lack(tseed_derive_t *derive, const tseed_tile_t *tile, int is_broken,
                       const char *cause)
{
    tseed_job_t *job = derive->job;

    job->result.has_broken |= is_broken;
    if (!tseed_job_lacks_any(job)) { /* the first cause is the one to begin with */
        tseed_text_fit(job->result.cause, sizeof(job->result.cause), cause);
    }
    tseed_job_lack(job, tile);
}

/* ---- a tile ---- */

/* Returns 0 when the job can't go on. */
static int derive_tile(tseed_derive_t *derive, const tseed_tile_t *tile)
{
    derive->made += derive->job->savings.draw(derive, tile);
    if (tseed_job_is_stopped(derive->job->run)) {
        derive->job->result.outcome = TSEED_JOB_STOPPED;
    }
    return derive->job->result.outcome == TSEED_JOB_OK;
}

static void derive_tiles(tseed_derive_t *derive)
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
static int is_unchanged(tseed_derive_t *derive)
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

static void make_picture(tseed_derive_t *derive)
{
    tseed_job_t *job = derive->job;
    const size_t size = TSEED_PIXEL * (size_t)width_of(job) * (size_t)height_of(job);

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
    const tseed_gridset_t *gridset = job->run->tileset.subset->gridset;
    const apr_time_t begun = tseed_clock_monotonic();
    tseed_derive_t derive = {
        .cutter = cutter,
        .store = store,
        .job = job,
        .rgba = apr_palloc(scratch, TSEED_PIXEL * (size_t)gridset->tile_width *
                                        (size_t)gridset->tile_height),
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
