/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The origins: what a job is to compare its answer with, what a cut says of its metatile, and what
 * of that the database has. */
#include "state_fixture.h"

#include "books/tseed_origins.h"
#include "layers_fixture.h"
#include "state/tseed_books.h"
#include "state/tseed_origin_rows.h"

#define ADDRESS "http://maps.example/wms?BBOX=0,0,1,1"
#define ETAG    "If-None-Match: \"a\""

static apr_pool_t *memory;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t *cache;
static tseed_chain_t chain;
static tseed_origins_t *origins;
static tseed_task_t task;
static tseed_run_t run;
static tseed_job_t job;

/* A job of the 4 x 4 tiles of level 4 from column 8 on, in row 4. */
static tseed_job_t make_job(void)
{
    const tseed_range_t tiles = {4, 8, 4, 11, 7};

    return (tseed_job_t){.run = &run,
                         .request.stage = TSEED_STAGE_CUT,
                         .savings.asked = tiles,
                         .metatile = {tiles, tiles}};
}

static int origins_setup(void **state)
{
    static const tseed_settings_t settings;
    const fixture_t *database;
    tseed_layer_t *layer;
    tseed_tileset_record_t record;

    setup(state);
    database = *state;
    memory = database->pool;
    context = (tseed_context_t){.settings = &settings, .pool = memory, .scratch = memory};
    session = (tseed_session_t){.state = database->state};
    cache = tseed_cache_create(&context, &session);
    apr_pool_create(&cache->pool, memory);
    cache->book = tseed_book_create(cache->pool);
    chain = (tseed_chain_t){.global = tseed_account_create()};
    origins = tseed_origins_create(&context, &session, cache);
    layer = apr_hash_get(layers_catalog(memory)->layers, "roads", APR_HASH_KEY_STRING);
    task = (tseed_task_t){.type = TSEED_RESEED, .meta_width = 4, .meta_height = 4, .gutter = 10};
    run = (tseed_run_t){.task = &task, .positions.shape = {.meta_width = 4, .meta_height = 4}};
    assert_null(
        tseed_tileset_init(&run.tileset, layer, &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t),
                           &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t), NULL, memory));
    record = (tseed_tileset_record_t){.print = 1,
                                      .key = run.tileset.key,
                                      .layer = "roads",
                                      .gridset = "EPSG:900913",
                                      .format = "image/png",
                                      .parameters = "{}",
                                      .root = "/cache",
                                      .place = "",
                                      .complete = 1};
    assert_int_equal(tseed_books_add(database->state, &record), APR_SUCCESS);
    run.booked = tseed_book_add(cache->book, &record, &chain, 0);
    job = make_job();
    return 0;
}

static int origins_teardown(void **state)
{
    tseed_origins_leave(origins, run.booked);
    apr_pool_destroy(cache->pool);
    free(chain.global);
    return teardown(state);
}

/* What the job is told before it is fetched from an address. */
static void assert_asks(const char *address, uint64_t known, const char *condition)
{
    tseed_origins_ask(origins, &job, address);
    assert_true(job.accounts.known == known);
    assert_string_equal(job.accounts.condition, condition);
}

/* The answer with that digest was cut; the upstream has offered a condition. */
static void cut(uint64_t digest)
{
    tseed_origins_ask(origins, &job, ADDRESS);
    job.result.digest = digest;
    strcpy(job.request.transfer.next_condition, ETAG);
    tseed_origins_take(origins, &job);
}

static void test_origins__an_answer_is_known_afterwards(void **state)
{
    (void)state;
    assert_asks(ADDRESS, 0, "");
    cut(77);
    job = make_job();
    assert_asks(ADDRESS, 77, ETAG);
    job.metatile.whole.minx = 12; /* a neighbour */
    assert_asks(ADDRESS, 0, "");
    job = make_job();
    job.metatile.whole.miny = 0;
    assert_asks(ADDRESS, 0, "");
}

/* The condition is of one request, for these very tiles, which may be answered without a body. */
static void test_origins__a_condition_is_of_one_request(void **state)
{
    (void)state;
    cut(77);
    job = make_job();
    assert_asks(ADDRESS "2", 77, "");
    job.metatile.wanted.maxx = 10;
    assert_asks(ADDRESS, 77, "");
    job = make_job();
    job.request.must_fetch = 1;
    assert_asks(ADDRESS, 77, "");
    job.request.must_fetch = 0;
    task.type = TSEED_SEED;
    assert_asks(ADDRESS, 77, "");
    task.type = TSEED_RESEED;
    assert_asks(ADDRESS, 77, ETAG);
}

/* Tiles of several answers, or of none, are of no origin. */
static void test_origins__tiles_of_several_answers_are_of_none(void **state)
{
    (void)state;
    cut(77);
    job = make_job();
    job.result.present[0] = 1; /* a tile of the answer before, and another one now */
    cut(78);
    job = make_job();
    assert_asks(ADDRESS, 0, "");
    cut(77);
    job = make_job();
    job.result.outcome = TSEED_JOB_LACKS;
    cut(77);
    job = make_job();
    assert_asks(ADDRESS, 0, "");
}

/* A tile that stayed is as good if it is just what would be made of the new answer. */
static void test_origins__equal_tiles_are_of_the_new_answer(void **state)
{
    (void)state;
    cut(77);
    job = make_job();
    job.result.present[0] = 5;
    job.result.equal = 2;
    cut(78);
    job = make_job();
    assert_asks(ADDRESS, 78, ETAG);
    job.result.present[0] = 1; /* of the same answer */
    cut(78);
    job = make_job();
    assert_asks(ADDRESS, 78, ETAG);
}

static void test_origins__broken_tiles_have_no_origin(void **state)
{
    const tseed_range_t beside = {4, 12, 4, 12, 4}, inside = {4, 11, 7, 12, 8};

    (void)state;
    cut(77);
    tseed_origins_forget_tiles(origins, &run, &beside);
    job = make_job();
    assert_asks(ADDRESS, 77, ETAG);
    tseed_origins_forget_tiles(origins, &run, &inside);
    assert_asks(ADDRESS, 0, "");
}

static void test_origins__another_recipe_forgets_all(void **state)
{
    const uint64_t recipe = tseed_origins_recipe(&task, &run.tileset, memory);

    (void)state;
    cut(77);
    assert_true(run.booked->record.recipe == recipe);
    task.gutter = 0;
    run.recipe = 0;
    job = make_job();
    assert_asks(ADDRESS, 0, "");
    assert_true(run.booked->record.recipe != recipe);
    assert_true(run.booked->recipe_changed);
}

/* What another process finds, after the transaction. */
static void test_origins__the_database_has_what_was_written(void **state)
{
    const tseed_page_t page = {4, 0, 0};
    const char *text;

    (void)state;
    tseed_origins_follow(origins, &run);
    run.booked->recipe_changed = 0;
    cut(77);
    assert_int_equal(tseed_origins_write(origins), APR_SUCCESS);
    tseed_origins_saved(origins);
    assert_int_equal(
        tseed_origin_rows_load(session.state, &text, run.booked->record.id, &page, memory),
        APR_SUCCESS);
    /* row 4 and column 8 of a page of 32 columns; 77 in hexadecimal digits */
    assert_memory_equal(text, "136 000000000000004d ", strlen("136 000000000000004d "));
    tseed_origins_leave(origins, run.booked);
    origins = tseed_origins_create(&context, &session, cache);
    job = make_job();
    assert_asks(ADDRESS, 77, ETAG);
    assert_int_equal(tseed_origins_cell(origins, &run, &job.metatile).columns, 1);
    job.metatile.whole.minx = 0;
    assert_int_equal(tseed_origins_cell(origins, &run, &job.metatile).columns, 0);
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_origins__##name, origins_setup, origins_teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_known_afterwards),        TEST(a_condition_is_of_one_request),
        TEST(tiles_of_several_answers_are_of_none), TEST(equal_tiles_are_of_the_new_answer),
        TEST(broken_tiles_have_no_origin),          TEST(another_recipe_forgets_all),
        TEST(the_database_has_what_was_written),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
