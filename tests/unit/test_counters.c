/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Counters: sums over stripes, threads and processes, and which number counts which name. */
#include <apr_strings.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board_fixture.h"
#include "board/tseed_counters.h"

#define THREADS 4
#define ROUNDS  20000

#define MSEC (APR_USEC_PER_SEC / 1000)

/* ---- names ---- */

static tseed_catalog_t *catalog_of(int first, int layers, int upstreams)
{
    tseed_catalog_t *catalog = tseed_catalog_create(pool);

    for (int i = first; i < first + layers; i++) {
        tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));

        layer->name = apr_psprintf(pool, "layer %d", i);
        APR_ARRAY_PUSH(catalog->order, tseed_layer_t *) = layer;
        apr_hash_set(catalog->layers, layer->name, APR_HASH_KEY_STRING, layer);
    }
    for (int i = first; i < first + upstreams; i++) {
        tseed_upstream_t *upstream = apr_pcalloc(pool, sizeof(*upstream));

        upstream->name = apr_psprintf(pool, "host%d", i);
        apr_hash_set(catalog->upstreams, upstream->name, APR_HASH_KEY_STRING, upstream);
    }
    return catalog;
}

static unsigned number_of(const tseed_catalog_t *catalog, int layer)
{
    return tseed_catalog_find_layer(catalog, apr_psprintf(pool, "layer %d", layer))->counted;
}

static void count_hits(unsigned layer, int hits)
{
    for (int i = 0; i < hits; i++) {
        tseed_counters_request(board, layer, TSEED_OUTCOME_HIT, 100, (unsigned)i);
    }
}

static uint64_t hits_of(unsigned layer)
{
    tseed_layer_counts_t counts = {.name = "kept"};

    tseed_counters_layer(board, layer, &counts);
    assert_string_equal(counts.name, "kept");
    return counts.requests[TSEED_OUTCOME_HIT];
}

/* Each name has a number of its own, and keeps it in later configurations. */
static void test_counters__numbers_stay(void **state)
{
    tseed_catalog_t *first = catalog_of(0, 3, 2), *second = catalog_of(1, 4, 2);

    (void)state;
    tseed_counters_enter(board, first);
    for (int i = 0; i < 3; i++) {
        assert_in_range(number_of(first, i), 1, TSEED_COUNTED_LAYERS - 1);
        count_hits(number_of(first, i), 10 + i);
    }
    tseed_counters_enter(board, second);
    assert_int_equal(number_of(second, 1), number_of(first, 1));
    assert_int_equal(number_of(second, 2), number_of(first, 2));
    assert_int_equal(hits_of(number_of(second, 2)), 12);
    assert_int_equal(hits_of(number_of(second, 3)), 0);
    tseed_counters_enter(board, first);
    assert_int_equal(hits_of(number_of(first, 0)), 10); /* it was away for a while */
}

/* A layer that is called as the others together is one of them: its series would be there twice. */
static void test_counters__other(void **state)
{
    tseed_catalog_t *catalog = catalog_of(0, 2, 0);

    (void)state;
    APR_ARRAY_IDX(catalog->order, 0, tseed_layer_t *)->name = TSEED_COUNTED_OTHER;
    tseed_counters_enter(board, catalog);
    assert_int_equal(APR_ARRAY_IDX(catalog->order, 0, tseed_layer_t *)->counted, 0);
    assert_int_not_equal(number_of(catalog, 1), 0);
}

/* What does not fit is counted together, and a place is used again when its layer has gone. */
static void test_counters__full_tables(void **state)
{
    const int room = TSEED_COUNTED_LAYERS - 1;
    tseed_catalog_t *many = catalog_of(0, room + 20, TSEED_COUNTED_UPSTREAMS + 3);
    tseed_catalog_t *next = catalog_of(5, room, 1);
    int others = 0, upstreams = 0;

    (void)state;
    tseed_counters_enter(board, many);
    for (int i = 0; i < room + 20; i++) {
        others += number_of(many, i) == 0;
        count_hits(number_of(many, i), 1);
    }
    assert_int_equal(others, 20);
    assert_int_equal(hits_of(0), 20);
    for (apr_hash_index_t *i = apr_hash_first(pool, many->upstreams); i; i = apr_hash_next(i)) {
        upstreams += ((tseed_upstream_t *)apr_hash_this_val(i))->counted == 0;
    }
    assert_int_equal(upstreams, 4);
    /* layers 0 to 4 are gone: five of the others get their places, which begin at 0 */
    tseed_counters_enter(board, next);
    for (int i = 5; i < room + 5; i++) {
        assert_int_not_equal(number_of(next, i), 0);
        assert_int_equal(hits_of(number_of(next, i)), i < room ? 1 : 0);
    }
    assert_int_equal(hits_of(0), 20);
}

/* Names that somebody has written over harm nobody. */
static void test_counters__nonsense(void **state)
{
    tseed_catalog_t *catalog = catalog_of(0, 5, 5);
    tseed_readings_t readings;
    tseed_server_counts_t server;

    (void)state;
    memset(&board->segment->counters, 0xA5, sizeof(board->segment->counters));
    tseed_counters_enter(board, catalog);
    for (int i = 0; i < 5; i++) {
        assert_in_range(number_of(catalog, i), 1, TSEED_COUNTED_LAYERS - 1);
        assert_int_equal(hits_of(number_of(catalog, i)), 0);
    }
    tseed_counters_server(board, &server);
    assert_int_equal(tseed_counters_readings(board, &readings), 1);
    assert_int_equal(readings.roots, TSEED_COUNTED_ROOTS);
    count_hits(4000000000U, 3); /* a number that there is not */
    assert_int_equal(hits_of(TSEED_COUNTED_LAYERS), hits_of(0));
}

/* ---- requests ---- */

static void test_counters__requests(void **state)
{
    tseed_server_counts_t server;
    tseed_layer_counts_t layer;

    (void)state;
    tseed_counters_request(board, 7, TSEED_OUTCOME_HIT, 250, 0); /* just in the first bucket */
    tseed_counters_request(board, 7, TSEED_OUTCOME_HIT, 251, 1);
    tseed_counters_request(board, 7, TSEED_OUTCOME_HIT, -5, 2); /* the clock was set */
    tseed_counters_request(board, 7, TSEED_OUTCOME_MADE, 30000 * MSEC, 3);
    tseed_counters_request(board, 7, TSEED_OUTCOME_UNSTORED, 30000 * MSEC + 1, 11);
    tseed_counters_request(board, 7, TSEED_OUTCOME_BUSY, 5000 * MSEC, 19);
    tseed_counters_request(board, 8, TSEED_OUTCOME_ERROR, 1, 1000001);
    tseed_counters_service(board, TSEED_OUTCOME_DOCUMENT);
    tseed_counters_service(board, TSEED_OUTCOME_DOCUMENT);
    tseed_counters_service(board, TSEED_OUTCOME_REFUSED);

    tseed_counters_layer(board, 7, &layer);
    assert_int_equal(layer.requests[TSEED_OUTCOME_HIT], 3);
    assert_int_equal(layer.requests[TSEED_OUTCOME_MADE], 1);
    assert_int_equal(layer.requests[TSEED_OUTCOME_UNSTORED], 1);
    assert_int_equal(layer.requests[TSEED_OUTCOME_BUSY], 1);
    assert_int_equal(layer.requests[TSEED_OUTCOME_ERROR], 0);
    tseed_counters_layer(board, 8, &layer);
    assert_int_equal(layer.requests[TSEED_OUTCOME_ERROR], 1);

    tseed_counters_server(board, &server);
    assert_int_equal(server.services[0], 1);
    assert_int_equal(server.services[1], 2);
    assert_int_equal(server.latency[TSEED_TIMED_HIT].buckets[0], 2);
    assert_int_equal(server.latency[TSEED_TIMED_HIT].buckets[1], 1);
    assert_int_equal(server.latency[TSEED_TIMED_HIT].sum, 501);
    assert_int_equal(server.latency[TSEED_TIMED_MADE].buckets[TSEED_LATENCY_BUCKETS - 2], 1);
    assert_int_equal(server.latency[TSEED_TIMED_MADE].buckets[TSEED_LATENCY_BUCKETS - 1], 1);
    assert_int_equal(server.latency[TSEED_TIMED_MADE].sum, 60000001);
}

static void *count_many(void *data)
{
    for (int i = 0; i < ROUNDS; i++) {
        tseed_counters_request(board, 1, i % 2 ? TSEED_OUTCOME_HIT : TSEED_OUTCOME_MISS, i,
                               *(unsigned *)data);
    }
    return NULL;
}

/* Two of the threads share a stripe. */
static void test_counters__threads_count_together(void **state)
{
    static unsigned stripes[THREADS] = {0, 1, 8, 3};
    pthread_t threads[THREADS];
    tseed_server_counts_t server;
    tseed_layer_counts_t layer;
    uint64_t observed = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, &stripes[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tseed_counters_layer(board, 1, &layer);
    assert_int_equal(layer.requests[TSEED_OUTCOME_HIT], THREADS * ROUNDS / 2);
    assert_int_equal(layer.requests[TSEED_OUTCOME_MISS], THREADS * ROUNDS / 2);
    tseed_counters_server(board, &server);
    for (int i = 0; i < TSEED_LATENCY_BUCKETS; i++) {
        observed += server.latency[TSEED_TIMED_HIT].buckets[i];
    }
    assert_int_equal(observed, THREADS * ROUNDS / 2);
    /* 1 + 3 + … + 19999 = 10000 squared */
    assert_int_equal(server.latency[TSEED_TIMED_HIT].sum, THREADS * UINT64_C(100000000));
}

/* ---- the seeder's ---- */

static void test_counters__tiles_of_a_task(void **state)
{
    tseed_progress_t progress = {.made = 5, .skipped = 9, .unchanged = 4, .bytes = 1000};
    tseed_counted_t counted = tseed_counted_of(&progress), now;
    tseed_server_counts_t server;
    tseed_layer_counts_t layer;

    (void)state;
    progress.made = 7;
    progress.skipped = 20;
    progress.unchanged = 10;
    progress.failed = 3;
    progress.bytes = 1600;
    for (int i = 0; i < 2; i++) { /* the second time there is nothing new */
        now = tseed_counted_of(&progress);
        tseed_counters_tiles(board, 2, TSEED_WORK_RESEED, &counted, &now);
    }
    progress.made = 6; /* less than before: nothing falls */
    now = tseed_counted_of(&progress);
    tseed_counters_tiles(board, 2, TSEED_WORK_RESEED, &counted, &now);

    tseed_counters_server(board, &server);
    assert_int_equal(server.tiles[TSEED_WORK_RESEED][TSEED_ACT_MADE], 2);
    assert_int_equal(server.tiles[TSEED_WORK_RESEED][TSEED_ACT_SKIPPED], 5);
    assert_int_equal(server.tiles[TSEED_WORK_RESEED][TSEED_ACT_UNCHANGED], 6);
    assert_int_equal(server.tiles[TSEED_WORK_RESEED][TSEED_ACT_REMOVED], 0);
    assert_int_equal(server.tiles[TSEED_WORK_RESEED][TSEED_ACT_FAILED], 3);
    assert_int_equal(server.tiles[TSEED_WORK_SEED][TSEED_ACT_MADE], 0);
    assert_int_equal(server.written[TSEED_WORK_RESEED], 600);
    tseed_counters_layer(board, 2, &layer);
    assert_int_equal(layer.made, 2);
    assert_int_equal(layer.failed, 3);
    assert_int_equal(layer.succeeded, 0);
}

static void test_counters__upstreams(void **state)
{
    tseed_upstream_counts_t upstream;

    (void)state;
    tseed_counters_reply(board, 3, TSEED_REPLY_OK, 5 * MSEC, 700);
    tseed_counters_reply(board, 3, TSEED_REPLY_OK, 60001 * MSEC, 30);
    tseed_counters_reply(board, 3, TSEED_REPLY_SERVER_ERROR, 9 * MSEC, 0);
    tseed_counters_reply(board, 3, TSEED_REPLY_CANCELLED, 9 * MSEC, 0); /* took as long as it did */
    tseed_counters_upstream(board, 3, &upstream);
    assert_int_equal(upstream.replies[TSEED_REPLY_OK], 2);
    assert_int_equal(upstream.replies[TSEED_REPLY_SERVER_ERROR], 1);
    assert_int_equal(upstream.replies[TSEED_REPLY_CANCELLED], 1);
    assert_int_equal(upstream.received, 730);
    assert_int_equal(upstream.latency.buckets[0], 1);
    assert_int_equal(upstream.latency.buckets[1], 1);
    assert_int_equal(upstream.latency.buckets[TSEED_REPLY_BUCKETS - 1], 1);
    assert_int_equal(upstream.latency.sum, 60015 * MSEC);
    tseed_counters_upstream(board, 2, &upstream);
    assert_int_equal(upstream.replies[TSEED_REPLY_OK], 0);
}

static void test_counters__the_rest(void **state)
{
    tseed_readings_t readings = {.used_bytes = 17, .roots = 2, .free = {5, -1}}, found;
    tseed_server_counts_t server;
    tseed_layer_counts_t layer;

    (void)state;
    assert_int_equal(tseed_counters_readings(board, &found), 0);
    tseed_counters_readings_set(board, &readings);
    assert_int_equal(tseed_counters_readings(board, &found), 1);
    assert_memory_equal(&found, &readings, sizeof(found));

    tseed_counters_end(board, TSEED_TRUNCATE, TSEED_END_DONE);
    tseed_counters_end(board, TSEED_SEED, TSEED_END_TERMINATED);
    tseed_counters_end(board, TSEED_SEED, TSEED_END_TERMINATED);
    tseed_counters_add(board, TSEED_COUNT_EVICTED_BYTES, INT64_C(5000000000));
    tseed_counters_add(board, TSEED_COUNT_EVICTED_BYTES, -1);
    tseed_counters_success(board, 9, 123);
    tseed_counters_server(board, &server);
    assert_int_equal(server.ended[TSEED_TRUNCATE][TSEED_END_DONE], 1);
    assert_int_equal(server.ended[TSEED_SEED][TSEED_END_TERMINATED], 2);
    assert_int_equal(server.counts[TSEED_COUNT_EVICTED_BYTES], INT64_C(5000000000));
    assert_int_equal(server.counts[TSEED_COUNT_CLEANUPS], 0);
    tseed_counters_layer(board, 9, &layer);
    assert_int_equal(layer.succeeded, 123);
}

/* Each counter has a value of its own: none is read for another one, or twice. */
static void test_counters__none_is_taken_for_another(void **state)
{
    tseed_server_counts_t server;

    (void)state;
    for (int work = 0; work < TSEED_WORKS; work++) {
        tseed_counted_t counted = {0}, now = {.bytes = 500 + work};

        for (int act = 0; act < TSEED_ACTS; act++) {
            now.acts[act] = 1 + 10 * work + act;
        }
        tseed_counters_tiles(board, 1, work, &counted, &now);
    }
    for (int type = 0; type <= TSEED_TRUNCATE; type++) {
        for (int end = 0; end < TSEED_ENDS; end++) {
            for (int i = 0; i < 1 + 10 * type + end; i++) {
                tseed_counters_end(board, type, end);
            }
        }
    }
    for (int count = 0; count < TSEED_COUNTS; count++) {
        tseed_counters_add(board, count, 1000 + count);
    }
    for (int outcome = TSEED_OUTCOMES_OF_TILES; outcome < TSEED_OUTCOMES; outcome++) {
        tseed_counters_service(board, outcome);
    }
    tseed_counters_server(board, &server);
    for (int work = 0; work < TSEED_WORKS; work++) {
        assert_int_equal(server.written[work], 500 + work);
        for (int act = 0; act < TSEED_ACTS; act++) {
            assert_int_equal(server.tiles[work][act], 1 + 10 * work + act);
        }
    }
    for (int type = 0; type <= TSEED_TRUNCATE; type++) {
        for (int end = 0; end < TSEED_ENDS; end++) {
            assert_int_equal(server.ended[type][end], 1 + 10 * type + end);
        }
    }
    for (int count = 0; count < TSEED_COUNTS; count++) {
        assert_int_equal(server.counts[count], 1000 + count);
    }
    for (int outcome = TSEED_OUTCOMES_OF_TILES; outcome < TSEED_OUTCOMES; outcome++) {
        assert_int_equal(server.services[outcome - TSEED_OUTCOMES_OF_TILES], 1);
    }
}

/* A process that is killed while it counts leaves every addition that it has made behind. */
static void test_counters__outlive_a_kill(void **state)
{
    const size_t size = (tseed_board_size(4, 2) + 63) / 64 * 64;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tseed_board_t *shared = tseed_board_init(memory, 4, 2, pool);
    tseed_server_counts_t before, after;
    uint64_t last = 0;

    (void)state;
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();

        for (int64_t i = 0; child == 0; i++) {
            tseed_counters_add(shared, TSEED_COUNT_CLEANUPS, 1);
            tseed_counters_readings_set(shared,
                                        &(tseed_readings_t){.used_bytes = i, .used_files = i});
        }
        do {
            tseed_counters_server(shared, &before);
        } while (before.counts[TSEED_COUNT_CLEANUPS] < last + 1000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        tseed_counters_server(shared, &after);
        assert_true(after.counts[TSEED_COUNT_CLEANUPS] >= before.counts[TSEED_COUNT_CLEANUPS]);
        last = after.counts[TSEED_COUNT_CLEANUPS];
        {
            tseed_readings_t readings;

            assert_int_equal(tseed_counters_readings(shared, &readings), 1);
            assert_int_equal(readings.used_bytes, readings.used_files);
        }
    }
    munmap(memory, size);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_counters__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_stay),
        TEST(full_tables),
        TEST(nonsense),
        TEST(requests),
        TEST(threads_count_together),
        TEST(tiles_of_a_task),
        TEST(upstreams),
        TEST(the_rest),
        TEST(outlive_a_kill),
        TEST(other),
        TEST(none_is_taken_for_another),
    };

    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
