/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that derive. The tiles below are of one colour each, so each quarter of a tile is of the
 * colour of one of them. Rows are counted from the bottom, those of a picture from the top. */
#include "job_fixture.h"

#include <unistd.h>

#include "work/tseed_job_cut.h"
#include "savings/tseed_savings.h"
#include "work/tseed_job_derive.h"

static int derive_setup(void **state)
{
    const int failed = job_setup(state);

    files->made.layer.derived = run.positions.derived = (tseed_derived_t){0, 4};
    return failed;
}

/* Tiles 0 and 1 of the lower row are red and green, of the upper row blue and grey. */
static void put_four(int z, int64_t x, int64_t y)
{
    put_plain(z, x, y, RED);
    put_plain(z, x + 1, y, GREEN);
    put_plain(z, x, y + 1, BLUE);
    put_plain(z, x + 1, y + 1, GREY);
}

static void derive(void)
{
    job.result.outcome = TSEED_JOB_OK;
    job.savings.draw = tseed_derived_draw(&job);
    tseed_job_derive(cutter, files->store, &job, files->pool);
    assert_true(job.result.drawn.took > 0);
}

static void assert_pixel(int x, int y, colour_t colour)
{
    const tseed_picture_t picture = tseed_job_derived(&job);

    assert_memory_equal(picture.pixels + (size_t)y * picture.stride + (size_t)(3 * x),
                        colours[colour], 3);
}

/* A tile of the picture, its uppermost left pixel at x, y. */
static void assert_four(int x, int y)
{
    for (int far = 0; far < SIDE / 2; far += SIDE / 2 - 1) {
        assert_pixel(x + far, y + far, BLUE);
        assert_pixel(x + SIDE / 2 + far, y + far, GREY);
        assert_pixel(x + far, y + SIDE / 2 + far, RED);
        assert_pixel(x + SIDE / 2 + far, y + SIDE / 2 + far, GREEN);
    }
}

static void assert_size(int width, int height, int channels)
{
    const tseed_picture_t picture = tseed_job_derived(&job);

    assert_int_equal(picture.width, width);
    assert_int_equal(picture.height, height);
    assert_int_equal(picture.channels, channels);
    assert_int_equal(job.result.drawn.length, width * height * channels);
}

static void test_job_derive__a_tile_is_made_of_four(void **state)
{
    (void)state;
    put_four(1, 0, 0);
    job_wants(0, 0, 0, 0, 0);
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_false(tseed_job_lacks_any(&job));
    assert_false(job.result.drawn.is_unchanged);
    assert_int_not_equal(job.result.below, 0);
    assert_size(SIDE, SIDE, 3);
    assert_four(0, 0);
}

/* Metatiles beginning at column 2 of row 4: their tiles have 4 and 6, 8 and 10 below them. */
static void test_job_derive__tiles_lie_side_by_side(void **state)
{
    (void)state;
    for (int x = 4; x <= 6; x += 2) {
        put_four(4, x, 8);
        put_four(4, x, 10);
    }
    job_wants(3, 2, 4, 3, 5);
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_size(2 * SIDE, 2 * SIDE, 3);
    assert_four(0, 0);
    assert_four(SIDE, 0);
    assert_four(0, SIDE);
    assert_four(SIDE, SIDE);
}

/* Cut as what it is, whatever the task's gutter. */
static void test_job_derive__the_picture_is_cut_into_its_tiles(void **state)
{
    (void)state;
    task.gutter = 10;
    for (int x = 4; x <= 6; x += 2) {
        for (int y = 8; y <= 10; y += 2) {
            const colour_t colour = (colour_t)((x - 4) / 2 + (y - 8));

            put_plain(4, x, y, colour);
            put_plain(4, x + 1, y, colour);
            put_plain(4, x, y + 1, colour);
            put_plain(4, x + 1, y + 1, colour);
        }
    }
    job_wants(3, 2, 4, 3, 5);
    derive();
    tseed_job_cut(cutter, files->store, &job, files->pool);
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_int_equal(job.result.made, 4);
    assert_plain(3, 2, 4, RED);
    assert_plain(3, 3, 4, GREEN);
    assert_plain(3, 2, 5, BLUE);
    assert_plain(3, 3, 5, GREY);
}

static void test_job_derive__without_a_tile_below_there_is_none(void **state)
{
    (void)state;
    put_plain(1, 0, 0, RED);
    put_plain(1, 0, 1, RED);
    put_plain(1, 1, 1, RED);
    job_wants(0, 0, 0, 0, 0);
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_LACKS);
    assert_true(tseed_job_lacks(&job, &(tseed_tile_t){0, 0, 0}));
    assert_false(job.result.has_broken);
    assert_string_equal(job.result.cause,
                        "tile 1/1/0 is missing below it: seed levels 1 to 4 first");
    files->made.layer.derived.end = 1;
    derive();
    assert_string_equal(job.result.cause, "tile 1/1/0 is missing below it: seed level 1 first");
}

static void test_job_derive__a_broken_tile_below_is_named(void **state)
{
    tseed_effect_t effect;

    (void)state;
    put_four(1, 0, 0);
    tseed_store_put(&effect, files->store, &(tseed_tile_t){1, 0, 1}, "no picture", 10, NULL);
    job_wants(0, 0, 0, 0, 0);
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_LACKS);
    assert_true(job.result.has_broken);
    assert_non_null(
        strstr(job.result.cause, "tile 1/0/1 below it is broken, reseed level 1 first: "));
}

/* One tile of two is enough to go on. */
static void test_job_derive__the_others_are_made(void **state)
{
    (void)state;
    put_four(2, 2, 0);
    job_wants(1, 0, 0, 1, 0);
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_true(tseed_job_lacks(&job, &(tseed_tile_t){1, 0, 0}));
    assert_false(tseed_job_lacks(&job, &(tseed_tile_t){1, 1, 0}));
    assert_size(2 * SIDE, SIDE, 3);
    assert_four(SIDE, 0);
    tseed_job_cut(cutter, files->store, &job, files->pool);
    assert_int_equal(job.result.outcome, TSEED_JOB_LACKS);
    assert_int_equal(job.result.made, 1);
    assert_false(is_there(1, 0, 0));
    assert_true(is_there(1, 1, 0));
}

/* A tile that can't be made is not passed to those who wait for it. */
static void test_job_derive__without_room_the_others_are_passed_on(void **state)
{
    tseed_unstored_t waiting = {2, {{1, 0, 0}, {1, 1, 0}}, {-1, -1}};

    (void)state;
    put_four(2, 2, 0);
    job_wants(1, 0, 0, 1, 0);
    job.request.unstored = &waiting;
    tseed_account_limit_set(account, (tseed_amount_t){0, 0});
    derive();
    tseed_job_cut(cutter, files->store, &job, files->pool);
    assert_int_equal(job.result.outcome, TSEED_JOB_NO_ROOM);
    assert_int_equal(waiting.files[0], -1);
    assert_true(waiting.files[1] >= 0);
    close(waiting.files[1]);
}

/* The layer has the western half of the world alone. */
static void test_job_derive__beyond_the_layer_it_is_transparent(void **state)
{
    (void)state;
    files->made.subset.extent.maxx = -1;
    put_plain(1, 0, 0, RED);
    put_plain(1, 0, 1, RED);
    job_wants(0, 0, 0, 0, 0);
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_size(SIDE, SIDE, 4);
    assert_memory_equal(job.result.drawn.body, "\xff\0\0\xff", 4);
    assert_memory_equal(job.result.drawn.body + 4 * (SIDE - 1), "\0\0\0\0", 4);
}

/* A seed takes what is there: of two tiles without anything below it needs the second alone. */
static void test_job_derive__a_seed_leaves_alone_what_is_there(void **state)
{
    (void)state;
    put_four(2, 2, 0);
    job_wants(1, 0, 0, 1, 0);
    job.result.present[0] = 1;
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_false(tseed_job_lacks_any(&job));
    tseed_job_cut(cutter, files->store, &job, files->pool);
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_int_equal(job.result.made, 1);
    assert_int_equal(job.result.skipped, 1);
    assert_false(is_there(1, 0, 0));
    assert_true(is_there(1, 1, 0));
}

/* ---- a reseed ---- */

static void assert_unchanged(int is_unchanged)
{
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_OK);
    assert_int_equal(job.result.drawn.is_unchanged, is_unchanged);
    assert_int_equal(job.result.drawn.body == NULL, is_unchanged);
}

/* A reseed that knows the tiles below, as another seed has found them. */
static void begin_reseed(void)
{
    put_four(1, 0, 0);
    job_wants(0, 0, 0, 0, 0);
    task.type = TSEED_RESEED;
    assert_unchanged(0);
    job.accounts.known = job.result.below;
}

static void test_job_derive__a_reseed_finds_the_same_tiles_below(void **state)
{
    (void)state;
    begin_reseed();
    assert_unchanged(1);
    assert_true(job.result.below == job.accounts.known);
}

static void test_job_derive__a_reseed_finds_another_tile_below(void **state)
{
    (void)state;
    begin_reseed();
    put_plain(1, 1, 0, BLUE);
    assert_unchanged(0);
    assert_true(job.result.below != job.accounts.known);
    assert_pixel(SIDE - 1, SIDE - 1, BLUE);
}

/* The seed of its digest has changed with what the layer is made of. */
static void test_job_derive__a_reseed_of_another_seed_is_made_again(void **state)
{
    (void)state;
    begin_reseed();
    job.accounts.seed++;
    assert_unchanged(0);
}

static void test_job_derive__what_must_be_made_again_is(void **state)
{
    (void)state;
    begin_reseed();
    job.request.must_fetch = 1;
    assert_unchanged(0);
    job.request.must_fetch = 0;
    files->made.layer.reseed_all = 1;
    assert_unchanged(0);
    files->made.layer.reseed_all = 0;
    task.type = TSEED_SEED;
    assert_unchanged(0);
    task.type = TSEED_RESEED;
    assert_unchanged(1);
}

static void test_job_derive__a_stopped_job_goes_no_further(void **state)
{
    (void)state;
    put_four(1, 0, 0);
    job_wants(0, 0, 0, 0, 0);
    atomic_store(&run.stopped, 1);
    derive();
    assert_int_equal(job.result.outcome, TSEED_JOB_STOPPED);
}

/* A saving of its own: each tile is the one above it. */
static int draw_above(tseed_derive_t *derive, const tseed_tile_t *tile)
{
    const tseed_tile_t above = {tile->z - 1, tile->x / 2, tile->y / 2};
    tseed_answer_t answer;
    tseed_picture_t picture;
    const char *error;
    unsigned char *pixels;
    size_t stride;

    if (tseed_derive_read(&answer, &error, derive, &above) <= 0) {
        tseed_derive_lack(derive, tile, error != NULL, "nothing is above it");
        return 0;
    }
    assert_null(tseed_derive_decode(&picture, derive, &answer));
    pixels = tseed_derive_pixels(&stride, derive, tile);
    for (int y = 0; y < picture.height; y++) {
        memcpy(pixels + (size_t)y * stride, tseed_picture_row(&picture, y),
               TSEED_PIXEL * (size_t)picture.width);
    }
    return 1;
}

static void test_job_derive__a_saving_may_draw_for_itself(void **state)
{
    (void)state;
    run.positions.derived = (tseed_derived_t){0, 0};
    put_plain(2, 1, 2, BLUE);
    job_wants(3, 2, 4, 4, 5);
    job.result.outcome = TSEED_JOB_OK;
    job.savings.draw = draw_above;
    tseed_job_derive(cutter, files->store, &job, files->pool);
    tseed_job_cut(cutter, files->store, &job, files->pool);
    assert_int_equal(job.result.outcome, TSEED_JOB_LACKS);
    assert_int_equal(job.result.made, 4);
    assert_plain(3, 2, 4, BLUE);
    assert_plain(3, 3, 5, BLUE);
    assert_true(tseed_job_lacks(&job, &(tseed_tile_t){3, 4, 4}));
    assert_string_equal(job.result.cause, "nothing is above it");
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_job_derive__##name, derive_setup, job_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tile_is_made_of_four),
        TEST(tiles_lie_side_by_side),
        TEST(the_picture_is_cut_into_its_tiles),
        TEST(without_a_tile_below_there_is_none),
        TEST(a_broken_tile_below_is_named),
        TEST(the_others_are_made),
        TEST(without_room_the_others_are_passed_on),
        TEST(beyond_the_layer_it_is_transparent),
        TEST(a_seed_leaves_alone_what_is_there),
        TEST(a_reseed_finds_the_same_tiles_below),
        TEST(a_reseed_finds_another_tile_below),
        TEST(a_reseed_of_another_seed_is_made_again),
        TEST(what_must_be_made_again_is),
        TEST(a_stopped_job_goes_no_further),
        TEST(a_saving_may_draw_for_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
