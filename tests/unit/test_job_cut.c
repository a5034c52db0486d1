/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a worker believes of a pack, where tiles lie in an answer, and which of them are stored. */
#include "job_fixture.h"

#include <unistd.h>

#include "work/tseed_job_cut.h"

#define SEED    7
#define DAMAGED "the tiles that another host has made are damaged"
#define ANOTHER "the other host's tiles are of another request"

static tseed_job_t leader, joined; /* joined goes with leader */
static tseed_unstored_t nothing;   /* waits for a tile */
static unsigned char *bytes;

static int cut_setup(void **state)
{
    const int failed = job_setup(state);

    task = (tseed_task_t){.type = TSEED_RESEED, .gutter = 10};
    leader = (tseed_job_t){.run = &run,
                           .accounts.seed = SEED,
                           .savings.joined = &joined,
                           .request.unstored = &nothing};
    joined = (tseed_job_t){.run = &run,
                           .accounts.seed = SEED + 1,
                           .savings.leader = &leader,
                           .request.unstored = &nothing};
    return failed;
}

static int cut_teardown(void **state)
{
    free(bytes);
    bytes = NULL;
    return job_teardown(state);
}

/* ---- a pack of a test: one byte a seed, and 0 at its end, else it is damaged ---- */

static const char *check(const unsigned char *data, size_t length)
{
    return data[length - 1] == 0 ? NULL : DAMAGED;
}

static int find(tseed_encoded_t *tile, const unsigned char *data, size_t length, int64_t x,
                int64_t y)
{
    (void)tile;
    (void)data;
    (void)length;
    (void)x;
    (void)y;
    return 0;
}

static int digest_of(uint64_t *digest, const unsigned char *data, size_t length, uint64_t seed)
{
    *digest = 70;
    return memchr(data, (int)seed, length) != NULL;
}

static const tseed_packed_t pack = {check, find, digest_of};

/* Gives the leader a pack with the digests of `count` seeds from SEED on. */
static void take_pack(int count)
{
    tseed_transfer_t *transfer = &leader.request.transfer;

    bytes = calloc((size_t)count + 1, 1);
    for (int i = 0; i < count; i++) {
        bytes[i] = (unsigned char)(SEED + i);
    }
    transfer->packed = &pack;
    transfer->body = bytes;
    transfer->length = (size_t)count + 1;
}

/* Joined jobs are opened one after the other. */
static void test_job_cut__a_pack_is_of_each_joined_job(void **state)
{
    (void)state;
    take_pack(1);
    tseed_job_pass(cutter, &leader, files->pool);
    tseed_job_pass(cutter, &joined, files->pool);
    assert_int_not_equal(leader.result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_int_equal(joined.result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_string_equal(joined.result.cause, ANOTHER);
}

static void test_job_cut__a_pack_is_not_of_another_request(void **state)
{
    (void)state;
    take_pack(0);
    tseed_job_pass(cutter, &leader, files->pool);
    assert_int_equal(leader.result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_string_equal(leader.result.cause, ANOTHER);
}

/* The tiles that are there seem to come from this answer: no digest is believed before the pack is
 * looked at. */
static void assert_not_cut(tseed_job_t *packed, const char *cause)
{
    packed->accounts.known = 1;
    tseed_job_cut(cutter, NULL, packed, files->pool);
    assert_int_equal(packed->result.outcome, TSEED_JOB_BAD_ANSWER);
    assert_string_equal(packed->result.cause, cause);
    assert_int_equal(packed->result.digest, 0);
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
    assert_null(tseed_job_open(cutter, answer, run.tileset.format, files->pool));
    assert_null(tseed_cutter_cut(cutter, &encoded, &region, files->pool));
    assert_true(encoded.uniform);
    assert_int_equal(encoded.rgba[3], 0);
}

/* ---- what is stored ---- */

/* The answer for the tiles 4/4/4 and 4/5/4, red and green, in a gutter of 10 blue pixels. */
static void take_answer(void)
{
    const int width = 2 * SIDE + 20, height = SIDE + 20;
    const tseed_picture_t blue = plain_picture(width, height, BLUE);
    unsigned char *pixels = (unsigned char *)blue.pixels;
    tseed_encoded_t answer;

    for (int y = 10; y < 10 + SIDE; y++) {
        for (int x = 10; x < 10 + 2 * SIDE; x++) {
            memcpy(pixels + 3 * (y * width + x), colours[x < 10 + SIDE ? RED : GREEN], 3);
        }
    }
    answer = encoded(&blue);
    job_wants(4, 4, 4, 5, 4);
    job.savings.asked = job.metatile.wanted;
    job.accounts.seed = SEED;
    job.request.width = width;
    job.request.height = height;
    job.request.transfer.body = (unsigned char *)answer.data;
    job.request.transfer.length = answer.length;
}

/* Cuts the answer. A seed has looked what is there before. */
static void cut_answer(tseed_task_type_t type)
{
    task.type = type;
    job.result.outcome = TSEED_JOB_OK;
    job.result.made = job.result.skipped = 0;
    job.result.is_open = 0;
    tseed_job_cut(cutter, files->store, &job, files->pool);
}

/* The job of a later task, that knows the answer by this digest. */
static void begin_again(uint64_t known)
{
    memset(job.result.written, 0, sizeof(job.result.written));
    memset(job.result.present, 0, sizeof(job.result.present));
    job.result.digest = 0;
    job.accounts.known = known;
}

static void assert_cut(int64_t made, int64_t skipped)
{
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_int_equal(job.result.made, made);
    assert_int_equal(job.result.skipped, skipped);
}

static void test_job_cut__tiles_are_stored_without_the_gutter(void **state)
{
    (void)state;
    take_answer();
    cut_answer(TSEED_SEED);
    assert_cut(2, 0);
    assert_plain(4, 4, 4, RED);
    assert_plain(4, 5, 4, GREEN);
    assert_int_equal(job.result.written[0], 3);
    assert_int_not_equal(job.result.digest, 0);
}

static void test_job_cut__a_seed_leaves_alone_what_is_there(void **state)
{
    (void)state;
    take_answer();
    job.result.present[0] = 2;
    cut_answer(TSEED_SEED);
    assert_cut(1, 1);
    assert_plain(4, 4, 4, RED);
    assert_false(is_there(4, 5, 4));
}

/* The job has made the first tile of this answer, and had to wait for room. */
static void test_job_cut__what_was_made_is_not_made_twice(void **state)
{
    (void)state;
    take_answer();
    cut_answer(TSEED_SEED);
    assert_int_equal(remove(tile(files, 4, 4, 4)), 0);
    assert_int_equal(remove(tile(files, 4, 5, 4)), 0);
    job.result.written[0] = 1;
    cut_answer(TSEED_SEED);
    assert_cut(2, 0);
    assert_false(is_there(4, 4, 4));
    assert_true(is_there(4, 5, 4));
}

static void test_job_cut__a_reseed_leaves_what_is_of_the_same_answer(void **state)
{
    (void)state;
    take_answer();
    cut_answer(TSEED_SEED);
    begin_again(job.result.digest);
    cut_answer(TSEED_RESEED);
    assert_cut(0, 2);
    assert_int_equal(job.result.equal, 0);
    put_plain(4, 5, 4, GREY); /* nobody looks at what is there */
    assert_int_equal(remove(tile(files, 4, 4, 4)), 0);
    begin_again(job.result.digest);
    cut_answer(TSEED_RESEED);
    assert_cut(1, 1);
    assert_plain(4, 4, 4, RED);
    assert_plain(4, 5, 4, GREY);
}

/* Of another answer the tiles are made again, but those that would be the same. */
static void test_job_cut__a_reseed_leaves_equal_tiles_of_another_answer(void **state)
{
    (void)state;
    take_answer();
    put_plain(4, 4, 4, GREY);
    put_plain(4, 5, 4, GREEN);
    begin_again(1);
    cut_answer(TSEED_RESEED);
    assert_cut(1, 1);
    assert_int_equal(job.result.equal, 1);
    assert_int_equal(job.result.present[0], 2);
    assert_plain(4, 4, 4, RED);
    begin_again(0); /* of which nothing is known */
    cut_answer(TSEED_RESEED);
    assert_cut(2, 0);
    assert_int_equal(job.result.equal, 0);
}

/* ---- what is not stored is passed to those who wait ---- */

static tseed_unstored_t waiting;

/* Requests wait for both tiles, the second first. */
static void let_wait(void)
{
    waiting = (tseed_unstored_t){2, {{4, 5, 4}, {4, 4, 4}}, {-1, -1}};
    job.request.unstored = &waiting;
}

static void assert_passed(int number, colour_t colour)
{
    const tseed_encoded_t expected = plain_tile(colour);
    char found[4096];

    assert_true(waiting.files[number] >= 0);
    assert_int_equal(pread(waiting.files[number], found, sizeof(found), 0), expected.length);
    assert_memory_equal(found, expected.data, expected.length);
    close(waiting.files[number]);
}

static void test_job_cut__without_room_the_tiles_are_passed_on(void **state)
{
    (void)state;
    take_answer();
    let_wait();
    tseed_account_limit_set(account, (tseed_amount_t){0, 0});
    cut_answer(TSEED_SEED);
    assert_int_equal(job.result.outcome, TSEED_JOB_NO_ROOM);
    assert_ptr_equal(job.result.refused, account);
    assert_passed(0, GREEN);
    assert_passed(1, RED);
    assert_false(is_there(4, 4, 4));
}

static void test_job_cut__what_is_stored_is_read_from_the_store(void **state)
{
    (void)state;
    take_answer();
    let_wait();
    cut_answer(TSEED_SEED);
    assert_cut(2, 0);
    assert_int_equal(waiting.files[0], -1);
    assert_int_equal(waiting.files[1], -1);
}

/* A directory has the name of the first tile, whose row is 11 from the top. */
static void test_job_cut__a_tile_with_an_obstacle_is_passed_on_alone(void **state)
{
    tseed_effect_t effect;

    (void)state;
    take_answer();
    tseed_store_put(&effect, files->store, &(tseed_tile_t){4, 4, 4}, "x", 1, NULL);
    assert_int_equal(remove(tile(files, 4, 4, 4)), 0);
    assert_int_equal(mkdir(tile(files, 4, 4, 4), 0755), 0);
    let_wait();
    cut_answer(TSEED_SEED);
    assert_int_equal(job.result.outcome, TSEED_JOB_LACKS);
    assert_true(job.result.is_blocked);
    assert_int_equal(job.result.made, 1);
    assert_true(tseed_job_lacks(&job, &(tseed_tile_t){4, 4, 4}));
    assert_non_null(strstr(job.result.cause, "/11.png can't be replaced: "));
    assert_plain(4, 5, 4, GREEN);
    assert_int_equal(waiting.files[0], -1);
    assert_passed(1, RED);
}

static void test_job_cut__tiles_of_a_shade_are_made_or_passed_on(void **state)
{
    const tseed_encoded_t grey = plain_tile(GREY);
    tseed_shade_t *shade = apr_palloc(files->pool, sizeof(*shade) + grey.length);

    (void)state;
    shade->length = grey.length;
    memcpy(shade->data, grey.data, grey.length);
    job_wants(4, 4, 4, 5, 4);
    job.savings.shade = shade;
    job.savings.is_made_of_shade = 1;
    let_wait();
    tseed_account_limit_set(account, (tseed_amount_t){0, 0});
    cut_answer(TSEED_SEED);
    assert_int_equal(job.result.outcome, TSEED_JOB_NO_ROOM);
    assert_passed(0, GREY);
    assert_passed(1, GREY);
    let_wait();
    tseed_account_limit_set(account, (tseed_amount_t){TSEED_NO_LIMIT, TSEED_NO_LIMIT});
    job.result.present[0] = 1;
    cut_answer(TSEED_SEED);
    assert_cut(1, 1);
    assert_false(is_there(4, 4, 4));
    assert_plain(4, 5, 4, GREY);
    assert_int_equal(waiting.files[0], -1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test_job_cut__##test, cut_setup, cut_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pack_is_of_each_joined_job),
        TEST(a_pack_is_not_of_another_request),
        TEST(a_pack_is_looked_at_first),
        TEST(tiles_have_their_places),
        TEST(an_answer_without_bytes_is_blank),
        TEST(tiles_are_stored_without_the_gutter),
        TEST(a_seed_leaves_alone_what_is_there),
        TEST(what_was_made_is_not_made_twice),
        TEST(a_reseed_leaves_what_is_of_the_same_answer),
        TEST(a_reseed_leaves_equal_tiles_of_another_answer),
        TEST(without_room_the_tiles_are_passed_on),
        TEST(what_is_stored_is_read_from_the_store),
        TEST(a_tile_with_an_obstacle_is_passed_on_alone),
        TEST(tiles_of_a_shade_are_made_or_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
