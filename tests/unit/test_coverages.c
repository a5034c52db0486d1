/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Coverages from the book of the seeder to a child that asks, through the miss socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layers_fixture.h"
#include "pool_fixture.h"
#include "seeder/tseed_coverage_file.h"
#include "seeder/tseed_coverages.h"

#define Z    13 /* of roads in EPSG:4326: 512 x 256 pages */
#define NOW  INT64_C(1790000000)
#define HERE 7 /* the number of its tile set */

static tseed_context_t context;
static tseed_cache_t cache;
static tseed_coverages_t *coverages;
static tseed_book_tileset_t *booked;
static int ends[2]; /* of the miss socket */

static tseed_tileset_t roads_of(const tseed_catalog_t *catalog)
{
    const tseed_layer_t *layer = tseed_catalog_find_layer(catalog, "roads");
    tseed_tileset_t tileset;

    assert_null(tseed_tileset_init(&tileset, layer,
                                   &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t),
                                   &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t), NULL, pool));
    return tileset;
}

static int setup(void **state)
{
    static const tseed_chain_t chain;
    tseed_catalog_t *catalog = layers_catalog(pool);
    tseed_layer_t *layer = apr_hash_get(catalog->layers, "roads", APR_HASH_KEY_STRING);
    tseed_tileset_t tileset;
    tseed_tileset_record_t record;

    (void)state;
    apr_array_clear(layer->subsets);
    layers_add_grid(layer, "EPSG:4326", 2, Z);
    tileset = roads_of(catalog);
    record = (tseed_tileset_record_t){.id = HERE,
                                      .print = tseed_tileset_print(&tileset, pool),
                                      .key = tileset.key,
                                      .layer = "roads",
                                      .gridset = "EPSG:4326",
                                      .format = "image/png",
                                      .parameters = "{}",
                                      .root = "/cache",
                                      .place = "",
                                      .complete = 1};
    context = (tseed_context_t){.catalog = catalog, .pool = pool, .scratch = pool};
    cache = (tseed_cache_t){.book = tseed_book_create(pool)};
    booked = tseed_book_add(cache.book, &record, &chain, 0);
    booked->loaded = 1;
    coverages = tseed_coverages_create(&context, &cache);
    assert_int_equal(tseed_miss_open(ends, 64), APR_SUCCESS);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void load(int64_t x, int64_t y, int64_t tiles)
{
    const tseed_page_record_t record = {.tileset = HERE,
                                        .page = {Z, x, y},
                                        .usage = {tiles, tiles, tiles * 10, tiles * 100},
                                        .heat = 5,
                                        .written = NOW + x};

    tseed_book_load(cache.book, booked, &record);
}

/* ---- a child ---- */

typedef struct {
    int64_t tileset;
    int z;
    const char *query;
    tseed_reply_t reply;
    int descriptor;
} child_t;

static void *ask(void *data)
{
    static const tseed_cancel_t nothing = {.client = -1};
    child_t *child = data;
    apr_pool_t *own;
    apr_table_t *parameters;
    tseed_question_t question = {.layer = "", .gridset = "", .format = "", .client = ""};

    apr_pool_create_unmanaged(&own);
    parameters = apr_table_make(own, 1);
    apr_table_setn(parameters, "query", child->query);
    question.parameters = parameters;
    question.tile.z = child->z;
    question.tileset = child->tileset;
    tseed_miss_ask(&child->reply, &child->descriptor, ends[1], &question, &nothing);
    apr_pool_destroy(own);
    return NULL;
}

static void take_question(void)
{
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    tseed_question_t question;
    int end;

    poll(&fd, 1, -1);
    assert_int_equal(tseed_miss_take(&question, &end, ends[0], pool), APR_SUCCESS);
    tseed_coverages_ask(coverages, &question, end);
}

/* Turns of the loop until nothing is to be done; returns how many. */
static int work_all(void)
{
    tseed_client_t *client = tseed_coverages_client(coverages);
    int turns = 0;

    for (; client->due(client->module) == 0; turns++) {
        client->feed(client->module);
    }
    return turns;
}

/* Asks, and has the seeder answer. */
static int answer(child_t *child)
{
    pthread_t thread;
    int turns;

    assert_int_equal(pthread_create(&thread, NULL, ask, child), 0);
    take_question();
    turns = work_all();
    pthread_join(thread, NULL);
    return turns;
}

static tseed_coverage_t answered(child_t *child)
{
    tseed_coverage_t coverage;
    int first, last;

    assert_int_equal(child->reply.outcome, TSEED_MISS_PASSED);
    assert_int_equal(tseed_coverage_file_read(&coverage, &first, &last, child->descriptor, pool),
                     APR_SUCCESS);
    close(child->descriptor);
    assert_true(first == 2 && last == Z);
    assert_int_equal(coverage.tileset, HERE);
    assert_string_equal(coverage.layer, "roads");
    assert_string_equal(coverage.gridset, "EPSG:4326");
    assert_string_equal(coverage.format, "image/png");
    return coverage;
}

/* ---- tests ---- */

/* 512 x 256 pages: cells of 2 x 2 pages in 256 columns are added up in four turns. */
static void test_coverages__show_a_level_in_some_turns(void **state)
{
    child_t child = {.tileset = HERE, .z = Z, .query = "cells=256"};
    tseed_coverage_t coverage;
    const tseed_cell_t *cell;

    (void)state;
    load(0, 0, 3);
    load(1, 1, 4);
    load(511, 255, 5);
    assert_int_equal(answer(&child), 4);
    coverage = answered(&child);
    assert_true(coverage.counted && coverage.window.shift == 1);
    assert_int_equal(coverage.window.columns, 256);
    assert_int_equal(coverage.window.rows, 128);
    cell = &coverage.cells[0];
    assert_true(cell->tiles == 7 && cell->bytes == 700 && cell->oldest == NOW && cell->heat == 5);
    cell = &coverage.cells[256 * 128 - 1];
    assert_true(cell->tiles == 5 && cell->bytes == 500 && cell->oldest == NOW + 511);
    assert_int_equal(coverage.cells[1].tiles, 0);
}

static void test_coverages__show_a_box(void **state)
{
    child_t child = {.tileset = HERE, .z = Z, .query = "bbox=-180,-90,-179.5,-89.9"};
    child_t outside = {.tileset = HERE, .z = Z, .query = "bbox=500,0,600,1"};
    tseed_coverage_t coverage;

    (void)state;
    load(0, 0, 3);
    booked->in_doubt = 1;
    answer(&child);
    coverage = answered(&child); /* a page is 0.703125 degrees wide */
    assert_true(coverage.window.columns == 1 && coverage.window.rows == 1);
    assert_int_equal(coverage.cells[0].tiles, 3);
    assert_false(coverage.counted);
    answer(&outside);
    assert_int_equal(answered(&outside).window.columns, 0);
    booked->in_doubt = 0;
}

static void test_coverages__have_no_cells_where_there_is_no_level(void **state)
{
    child_t below = {.tileset = HERE, .z = 1, .query = ""};
    child_t above = {.tileset = HERE, .z = Z + 1, .query = ""};

    (void)state;
    answer(&below);
    assert_int_equal(answered(&below).window.columns, 0);
    answer(&above);
    assert_int_equal(answered(&above).window.rows, 0);
}

/* Of another number; of a store that the configuration has no more; a query that no child sends. */
static void test_coverages__refuse_what_is_not_there(void **state)
{
    child_t other = {.tileset = HERE + 1, .z = Z, .query = ""};
    child_t moved = {.tileset = HERE, .z = Z, .query = ""};
    child_t wrong = {.tileset = HERE, .z = Z, .query = "cells=0"};

    (void)state;
    answer(&other);
    assert_int_equal(other.reply.outcome, TSEED_MISS_REFUSED);
    assert_string_equal(other.reply.cause, "there is no configured tile set 8");
    booked->record.print++;
    answer(&moved);
    assert_int_equal(moved.reply.outcome, TSEED_MISS_REFUSED);
    assert_true(other.descriptor == -1 && moved.descriptor == -1);
    answer(&wrong);
    assert_int_equal(wrong.reply.outcome, TSEED_MISS_BUSY);
}

/* A child that does not wait any more costs nothing. */
static void test_coverages__drop_the_question_of_a_child_that_has_gone(void **state)
{
    apr_table_t *parameters = apr_table_make(pool, 1);
    const tseed_question_t question = {.parameters = parameters, .tile = {.z = Z}, .tileset = HERE};
    tseed_client_t *client = tseed_coverages_client(coverages);
    int gone[2][2];

    (void)state;
    apr_table_setn(parameters, "query", "cells=256");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, gone[i]), 0);
        tseed_coverages_ask(coverages, &question, gone[i][1]);
    }
    client->feed(client->module); /* the first is begun */
    close(gone[0][0]);
    close(gone[1][0]);
    client->feed(client->module);
    assert_int_equal(client->due(client->module), INT64_MAX);
}

static void test_coverages__let_a_bounded_number_wait(void **state)
{
    enum { MOST = 64 };
    const tseed_question_t question = {
        .parameters = apr_table_make(pool, 1), .tile = {.z = Z}, .tileset = HERE};
    int waiting[MOST + 1][2];
    tseed_reply_t reply;

    (void)state;
    for (int i = 0; i <= MOST; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, waiting[i]), 0);
        tseed_coverages_ask(coverages, &question, waiting[i][1]);
    }
    assert_int_equal(recv(waiting[MOST][0], &reply, sizeof(reply), 0), sizeof(reply));
    assert_int_equal(reply.outcome, TSEED_MISS_BUSY);
    assert_true(work_all() >= MOST);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(recv(waiting[i][0], &reply, sizeof(reply), 0), sizeof(reply));
        assert_int_equal(reply.outcome, TSEED_MISS_PASSED);
    }
    for (int i = 0; i <= MOST; i++) {
        close(waiting[i][0]);
    }
}

/* Files of another build, or cut short. */
static void test_coverages__know_a_file_that_is_none(void **state)
{
    const tseed_window_t window = {.columns = 3, .rows = 2};
    const tseed_coverage_t made = {.layer = "a", .gridset = "b", .format = "c", .window = window};
    tseed_coverage_file_t file;
    tseed_coverage_t coverage;
    int first, last;

    (void)state;
    for (size_t cut = 0; cut < 2; cut++) {
        assert_int_equal(tseed_coverage_file_make(&file, &made, 0, 1), APR_SUCCESS);
        assert_int_equal(tseed_coverage_file_read(&coverage, &first, &last, file.descriptor, pool),
                         APR_SUCCESS);
        if (cut) {
            assert_int_equal(ftruncate(file.descriptor, (off_t)file.size - 1), 0);
        } else {
            (*(uint32_t *)file.map)++;
        }
        assert_int_equal(tseed_coverage_file_read(&coverage, &first, &last, file.descriptor, pool),
                         APR_EGENERAL);
        tseed_coverage_file_close(&file);
    }
    first = memfd_create("empty", MFD_CLOEXEC);
    assert_int_equal(tseed_coverage_file_read(&coverage, &last, &last, first, pool), APR_EGENERAL);
    close(first);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_coverages__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(show_a_level_in_some_turns),
        TEST(show_a_box),
        TEST(have_no_cells_where_there_is_no_level),
        TEST(refuse_what_is_not_there),
        TEST(drop_the_question_of_a_child_that_has_gone),
        TEST(let_a_bounded_number_wait),
        TEST(know_a_file_that_is_none),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
