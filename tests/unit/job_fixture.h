/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A job with its run, its account and a store on a real file system, for tests of what workers do.
 * Tiles are PNG of 256 x 256 pixels in EPSG:900913; the store's blocks have 512 bytes. */
#ifndef JOB_FIXTURE_H
#define JOB_FIXTURE_H

#include "store_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "image/tseed_cutter.h"
#include "work/tseed_run.h"

#define SIDE 256 /* pixels of a tile */

typedef enum { RED, GREEN, BLUE, GREY, COLOURS } colour_t;

static const unsigned char colours[COLOURS][3] = {
    {255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {128, 128, 128}};

static fixture_t *files;
static tseed_account_t *account;
static tseed_book_tileset_t booked;
static tseed_task_t task;
static tseed_run_t run;
static tseed_job_t job;
static tseed_cutter_t *cutter;

static inline int job_setup(void **state)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:900913");

    setup(state);
    files = *state;
    files->made.subset = (tseed_subset_t){gridset, 0, 30, gridset->extent, gridset->name, 0};
    tseed_format_init(&files->made.format, "image/png", files->pool);
    open_store(state, TSEED_LAYOUT_XYZ);
    tseed_store_block_set(files->store, 512);
    account = tseed_account_create();
    booked = (tseed_book_tileset_t){.chain.global = account};
    task = (tseed_task_t){.type = TSEED_SEED};
    run = (tseed_run_t){.task = &task, .tileset = files->made.tileset, .booked = &booked};
    job = (tseed_job_t){.run = &run};
    return tseed_cutter_create(&cutter);
}

static inline int job_teardown(void **state)
{
    tseed_job_forget_drawn(&job);
    free(job.result.tally.lines);
    tseed_cutter_destroy(cutter);
    free(account);
    return teardown(state);
}

/* The job is of these tiles. */
static inline void job_wants(int z, int64_t minx, int64_t miny, int64_t maxx, int64_t maxy)
{
    job.metatile.wanted = job.metatile.whole = (tseed_range_t){z, minx, miny, maxx, maxy};
}

/* A picture of one colour. */
static inline tseed_picture_t plain_picture(int width, int height, colour_t colour)
{
    unsigned char *pixels = apr_palloc(files->pool, (size_t)(3 * width * height));

    for (int i = 0; i < width * height; i++) {
        memcpy(pixels + 3 * i, colours[colour], 3);
    }
    return (tseed_picture_t){width, height, 3, (size_t)(3 * width), pixels, 0, NULL};
}

/* A picture as a file. */
static inline tseed_encoded_t encoded(const tseed_picture_t *picture)
{
    const tseed_region_t region = {0, 0, picture->width, picture->height};
    tseed_encoded_t made;

    tseed_cutter_take(cutter, picture, &files->made.format);
    assert_null(tseed_cutter_cut(cutter, &made, &region, files->pool));
    made.data = apr_pmemdup(files->pool, made.data, made.length);
    return made;
}

/* A tile of one colour. */
static inline tseed_encoded_t plain_tile(colour_t colour)
{
    const tseed_picture_t picture = plain_picture(SIDE, SIDE, colour);

    return encoded(&picture);
}

/* Puts a tile of one colour into the store, as somebody else. */
static inline void put_plain(int z, int64_t x, int64_t y, colour_t colour)
{
    const tseed_encoded_t made = plain_tile(colour);
    tseed_effect_t effect;

    assert_int_equal(tseed_store_put(&effect, files->store, &(tseed_tile_t){z, x, y}, made.data,
                                     made.length, NULL),
                     APR_SUCCESS);
}

static inline int is_there(int z, int64_t x, int64_t y)
{
    struct stat found;

    return lstat(tile(files, z, x, y), &found) == 0;
}

static inline void assert_plain(int z, int64_t x, int64_t y, colour_t colour)
{
    const tseed_encoded_t made = plain_tile(colour);

    assert_true(tseed_store_has(files->store, &(tseed_tile_t){z, x, y}, made.data, made.length));
}

#define JOB_TEST(name) cmocka_unit_test_setup_teardown(name, job_setup, job_teardown)

#endif
