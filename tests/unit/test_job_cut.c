/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a worker believes of a pack, and where tiles lie in an answer. No job here comes as far as
 * the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "image/tseed_pack.h"
#include "layers_fixture.h"
#include "pool_fixture.h"
#include "work/tseed_job_cut.h"

#define SEED    7
#define DAMAGED "the tiles that another host has made are damaged"
#define ANOTHER "the other host's tiles are of another request"

static tseed_task_t task;
static tseed_run_t run;
static tseed_cutter_t *cutter;
static tseed_job_t leader, joined; /* joined goes with leader */
static tseed_unstored_t nothing;   /* waits for a tile */
static unsigned char *bytes;

static int setup(void **state)
{
    tseed_catalog_t *catalog = layers_catalog(pool);
    const tseed_layer_t *layer = tseed_catalog_find_layer(catalog, "roads");

    (void)state;
    task = (tseed_task_t){.type = TSEED_RESEED, .gutter = 10};
    run = (tseed_run_t){.task = &task};
    run.tileset.layer = layer;
    run.tileset.subset = &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t);
    run.tileset.format = &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t);
    leader = (tseed_job_t){.run = &run,
                           .accounts.seed = SEED,
                           .savings.joined = &joined,
                           .request.unstored = &nothing};
    joined = (tseed_job_t){.run = &run,
                           .accounts.seed = SEED + 1,
                           .savings.leader = &leader,
                           .request.unstored = &nothing};
    leader.request.transfer.is_pack = 1;
    return tseed_cutter_create(&cutter);
}

static int teardown(void **state)
{
    (void)state;
    tseed_cutter_destroy(cutter);
    free(bytes);
    bytes = NULL;
    return 0;
}

/* Gives the leader a pack with the digests of `count` seeds from SEED on. */
static void take_pack(int count)
{
    tseed_pack_t *pack = tseed_pack_begin();
    tseed_transfer_t *transfer = &leader.request.transfer;
    const unsigned char *data;

    for (int i = 0; i < count; i++) {
        tseed_pack_digest(pack, (uint64_t)(SEED + i), 70);
    }
    data = tseed_pack_bytes(pack, &transfer->length);
    bytes = memcpy(malloc(transfer->length), data, transfer->length);
    transfer->body = bytes;
    tseed_pack_end(pack);
}

/* Joined jobs are opened one after the other. */
static void test_job_cut__a_pack_is_of_each_joined_job(void **state)
{
    (void)state;
    take_pack(1);
    tseed_job_pass(cutter, &leader, pool);
    tseed_job_pass(cutter, &joined, pool);
    assert_int_not_equal(leader.result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_int_equal(joined.result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_string_equal(joined.result.cause, ANOTHER);
}

static void test_job_cut__a_pack_is_not_of_another_request(void **state)
{
    (void)state;
    take_pack(0);
    tseed_job_pass(cutter, &leader, pool);
    assert_int_equal(leader.result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_string_equal(leader.result.cause, ANOTHER);
}

/* The tiles that are there seem to come from this answer: no digest is believed before the pack is
 * looked at. */
static void assert_not_cut(tseed_job_t *job, const char *cause)
{
    job->accounts.known = 1;
    tseed_job_cut(cutter, NULL, job, pool);
    assert_int_equal(job->result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_string_equal(job->result.cause, cause);
    assert_int_equal(job->result.digest, 0);
}

static void test_job_cut__a_pack_is_looked_at_first(void **state)
{
    (void)state;
    take_pack(1);
    assert_not_cut(&joined, ANOTHER);
    bytes[leader.request.transfer.length - 1] ^= 1;
    leader.result.is_open = 0;
    assert_not_cut(&leader, DAMAGED);
    assert_false(leader.result.is_open);
}

static void assert_region(tseed_region_t region, int x, int y)
{
    assert_int_equal(region.x, x);
    assert_int_equal(region.y, y);
    assert_int_equal(region.width, 256);
    assert_int_equal(region.height, 256);
}

/* Columns go to the right and rows go up. The gutter is cut where the world ends. */
static void test_job_cut__tiles_have_their_places(void **state)
{
    const tseed_range_t inside = {4, 4, 4, 7, 7}, corner = {4, 0, 12, 3, 15};

    (void)state;
    assert_region(tseed_job_region(&run.tileset, &inside, 10, 4, 7), 10, 10);
    assert_region(tseed_job_region(&run.tileset, &inside, 10, 6, 4), 10 + 2 * 256, 10 + 3 * 256);
    assert_region(tseed_job_region(&run.tileset, &corner, 10, 0, 15), 0, 0);
    assert_region(tseed_job_region(&run.tileset, &corner, 10, 3, 14), 3 * 256, 256);
    assert_region(tseed_job_region(&run.tileset, &inside, 0, 4, 7), 0, 0);
}

/* The blank picture has the size that was asked for: it is cut like any other. */
static void test_job_cut__an_answer_without_bytes_is_blank(void **state)
{
    const tseed_answer_t answer = {NULL, 0, 512, 256};
    const tseed_region_t region = {256, 0, 256, 256};
    tseed_encoded_t encoded;

    (void)state;
    assert_null(tseed_job_open(cutter, answer, run.tileset.format, pool));
    assert_null(tseed_cutter_cut(cutter, &encoded, &region, pool));
    assert_true(encoded.uniform);
    assert_int_equal(encoded.rgba[3], 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test_job_cut__##test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pack_is_of_each_joined_job),     TEST(a_pack_is_not_of_another_request),
        TEST(a_pack_is_looked_at_first),        TEST(tiles_have_their_places),
        TEST(an_answer_without_bytes_is_blank),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
