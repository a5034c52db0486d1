/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's process without httpd: requests for missing tiles. */
#include "seeder_fixture.h"

#include <inttypes.h>

#include "protocol/tseed_usage.h"

/* Pages; either takes seconds. A build with a sanitizer, or that counts lines, takes several times
 * as long for each. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(TSEED_COVERAGE)
#define MARKED 50000
#define READ   250000
#else
#define MARKED 200000
#define READ   1000000
#endif

/* ---- requests for tiles that are not there ---- */

typedef struct {
    fixture_t *fixture;
    const char *layer;
    tseed_tile_t tile;
    const char *style;  /* NULL: the default one */
    const char *client; /* NULL: unknown */
    int socket;         /* of its client; -1: none */
    tseed_reply_t reply;
    int file;
    pthread_t thread;
} waiter_t;

static void *ask(void *data)
{
    waiter_t *waiter = data;
    apr_pool_t *pool;
    tseed_question_t question = {.layer = waiter->layer,
                                 .gridset = "EPSG:900913",
                                 .format = "image/png",
                                 .tile = waiter->tile,
                                 .client = waiter->client ? waiter->client : ""};
    const tseed_cancel_t cancel = {.client = waiter->socket};

    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    question.parameters = apr_table_make(pool, 1);
    if (waiter->style) {
        apr_table_setn((apr_table_t *)question.parameters, "STYLES", waiter->style);
    }
    tseed_miss_ask(&waiter->reply, &waiter->file, waiter->fixture->miss_socket[1], &question,
                   &cancel);
    apr_pool_destroy(pool);
    return NULL;
}

static void waiter_begin(waiter_t *waiter)
{
    assert_int_equal(pthread_create(&waiter->thread, NULL, ask, waiter), 0);
}

static void waiter_ask(waiter_t *waiter, fixture_t *fixture, int z, int64_t x, int64_t y)
{
    *waiter =
        (waiter_t){.fixture = fixture, .layer = "topp:states", .tile = {z, x, y}, .socket = -1};
    waiter_begin(waiter);
}

static int waiter_hear(waiter_t *waiter)
{
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
    return waiter->reply.outcome;
}

static void test_seeder_misses__waiters_of_one_metatile_share_a_request(void **state)
{
    fixture_t *fixture = *state;
    int64_t before = upstream->requests;
    waiter_t waiters[4];

    upstream->mood = SLOW;
    for (int i = 0; i < 4; i++) {
        waiter_ask(&waiters[i], fixture, 3, 4 + i, 5);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waiter_hear(&waiters[i]), TSEED_MISS_STORED);
        assert_int_equal(waiters[i].file, -1);
    }
    assert_int_equal(upstream->requests - before, 1);
    assert_int_equal(files(fixture), 16); /* the metatile, not the tile */
}

static void test_seeder_misses__a_present_tile_costs_no_request(void **state)
{
    fixture_t *fixture = *state;
    waiter_t waiter;
    int64_t before;

    wait_end(fixture, post(fixture, "seed", 2, 1));
    before = upstream->requests;
    waiter_ask(&waiter, fixture, 2, 1, 1);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    assert_int_equal(upstream->requests, before);
}

static void test_seeder_misses__what_can_not_be_stored_is_passed_to_its_waiter(void **state)
{
    fixture_t *fixture = *state;
    unsigned char signature[8];
    waiter_t waiter;
    FILE *file = fopen(apr_pstrcat(fixture->pool, fixture->dir, "/cache", NULL), "w");

    fclose(file); /* a file where the cache should be */
    waiter_ask(&waiter, fixture, 5, 7, 9);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_PASSED);
    assert_int_equal(pread(waiter.file, signature, 8, 0), 8);
    assert_int_equal(png_sig_cmp(signature, 0, 8), 0);
    close(waiter.file);
}

/* A request that comes when the work at its metatile has begun gets its tile as well. */
static void test_seeder_misses__late_waiters_are_passed_their_tiles(void **state)
{
    fixture_t *fixture = *state;
    waiter_t waiters[WAITERS];
    FILE *file = fopen(apr_pstrcat(fixture->pool, fixture->dir, "/cache", NULL), "w");

    fclose(file); /* a file where the cache should be */
    for (int round = 0; round < 16; round++) {
        for (int i = 0; i < WAITERS; i++) {
            waiter_ask(&waiters[i], fixture, 5, 4 + i % 4, 8 + i / 4 % 4);
            apr_sleep(500);
        }
        for (int i = 0; i < WAITERS; i++) {
            assert_int_equal(waiter_hear(&waiters[i]), TSEED_MISS_PASSED);
            close(waiters[i].file);
        }
    }
}

static void test_seeder_misses__waiter_hears_why_the_upstream_fails(void **state)
{
    fixture_t *fixture = *state;
    waiter_t waiter;

    upstream->mood = EXCEPTION;
    waiter_ask(&waiter, fixture, 5, 7, 9);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_FAILED);
    assert_non_null(strstr(waiter.reply.cause, "no such layer"));
    assert_true(waiter.reply.retry_after > 0);
}

static void test_seeder_misses__waiters_beyond_the_limit_are_turned_away(void **state)
{
    fixture_t *fixture = *state;
    waiter_t waiters[WAITERS], one_more;
    int64_t before = upstream->requests;

    upstream->mood = HANGS;
    for (int i = 0; i < WAITERS; i++) {
        waiter_ask(&waiters[i], fixture, 9, 8 * i, 0);
    }
    AWAIT(upstream->requests - before == WAITERS);
    waiter_ask(&one_more, fixture, 9, 0, 0);
    assert_int_equal(waiter_hear(&one_more), TSEED_MISS_BUSY);
    assert_true(one_more.reply.retry_after > 0);
    upstream->mood = FINE;
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiter_hear(&waiters[i]), TSEED_MISS_STORED);
    }
}

static void asks_again_after(fixture_t *fixture, int signal_number)
{
    int64_t before = upstream->requests;
    pid_t next = seeder_stand_by(fixture);
    waiter_t waiter;

    upstream->mood = HANGS;
    waiter_ask(&waiter, fixture, 5, 7, 9);
    AWAIT(upstream->requests > before);
    seeder_stop(fixture, signal_number);
    upstream->mood = FINE;
    seeder_follow(fixture, next);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
}

static void test_seeder_misses__waiters_of_a_killed_seeder_ask_the_next(void **state)
{
    asks_again_after(*state, SIGKILL);
}

static void test_seeder_misses__waiters_of_a_stopped_seeder_ask_the_next(void **state)
{
    asks_again_after(*state, SIGTERM);
}

/* What the upstream gave before a truncate is passed to nobody and not stored after it. */
static void test_seeder_misses__a_truncate_makes_what_is_on_its_way_stale(void **state)
{
    fixture_t *fixture = *state;
    int64_t before = upstream->requests;
    uint64_t sum;
    waiter_t waiter;

    upstream->mood = HANGS;
    waiter_ask(&waiter, fixture, 3, 4, 5);
    AWAIT(upstream->requests > before);
    upstream->tint = 1;
    assert_int_equal(wait_end(fixture, post(fixture, "truncate", 4, 1)).state, TSEED_DONE);
    upstream->mood = FINE;
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    assert_int_equal(upstream->requests, before + 2);
    sum = sum_of_files(fixture);
    wait_end(fixture, post(fixture, "truncate", 4, 1));
    waiter_ask(&waiter, fixture, 3, 4, 5);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    assert_true(sum == sum_of_files(fixture));
}

/* ---- clients that go away, and places ---- */

/* Takes all places with waiters that the upstream lets wait. `clients` gets the clients' ends of
 * their connections. */
static void fill_places(fixture_t *fixture, waiter_t *waiters, int *clients)
{
    int64_t before = upstream->requests;

    upstream->mood = HANGS;
    for (int i = 0; i < WAITERS; i++) {
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        clients[i] = ends[1];
        waiters[i] = (waiter_t){
            .fixture = fixture, .layer = "topp:states", .tile = {9, 8 * i, 0}, .socket = ends[0]};
        waiter_begin(&waiters[i]);
    }
    AWAIT(upstream->requests - before == WAITERS);
}

static void test_seeder_misses__clients_that_go_give_their_places_back(void **state)
{
    fixture_t *fixture = *state;
    waiter_t waiters[WAITERS], next;
    int clients[WAITERS];

    fill_places(fixture, waiters, clients);
    waiter_ask(&next, fixture, 9, 0, 0);
    assert_int_equal(waiter_hear(&next), TSEED_MISS_BUSY);
    assert_non_null(strstr(next.reply.cause, "TileSeedMissWaiters"));
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(write(clients[i], "GET", 3), 3); /* pipelined, and never read */
        close(clients[i]);
        assert_int_equal(waiter_hear(&waiters[i]), TSEED_MISS_BUSY);
        assert_string_equal(waiters[i].reply.cause, "the client has gone");
        close(waiters[i].socket);
    }
    do { /* the seeder hears of it a moment later */
        waiter_ask(&next, fixture, 9, 0, 0);
        apr_sleep(100000);
        upstream->mood = FINE;
        upstream->mood = waiter_hear(&next) == TSEED_MISS_BUSY ? HANGS : FINE;
    } while (next.reply.outcome == TSEED_MISS_BUSY);
    assert_int_equal(next.reply.outcome, TSEED_MISS_STORED);
}

/* Waits until the seeder has gone through its loop once more: it then knows what came before. */
static void pass_loop(fixture_t *fixture)
{
    ring(fixture);
    AWAIT(tseed_board_applied(fixture->board) == tseed_board_committed(fixture->board));
}

/* What waits for a connection to the upstream is not asked for when its client has gone. */
static void test_seeder_misses__what_has_not_begun_is_called_off(void **state)
{
    fixture_t *fixture = *state;
    int64_t before = upstream->requests;
    waiter_t first, second;
    int ends[2];

    ((tseed_upstream_t *)fixture->layer->source.addresses[0].upstream)->connections = 1;
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    upstream->mood = HANGS;
    waiter_ask(&first, fixture, 9, 0, 0);
    AWAIT(upstream->requests == before + 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    second = (waiter_t){
        .fixture = fixture, .layer = "topp:states", .tile = {9, 64, 0}, .socket = ends[0]};
    waiter_begin(&second);
    apr_sleep(200000); /* it waits for its turn now, or has not even come: either is right */
    close(ends[1]);
    assert_int_equal(waiter_hear(&second), TSEED_MISS_BUSY);
    close(ends[0]);
    pass_loop(fixture); /* the seeder has read the question, */
    pass_loop(fixture); /* and knows that nobody waits for its answer */
    upstream->mood = FINE;
    assert_int_equal(waiter_hear(&first), TSEED_MISS_STORED);
    wait_end(fixture, post(fixture, "seed", 0, 1));
    assert_int_equal(upstream->requests, before + 2); /* the first, and the seed's */
}

/* One layer has no more places than it leaves free. */
static void test_seeder_misses__a_layer_leaves_places_to_others(void **state)
{
    fixture_t *fixture = *state;
    int64_t before = upstream->requests;
    waiter_t waiters[WAITERS], other;

    fixture->settings.miss_of_layer = 0;
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    upstream->mood = HANGS;
    for (int i = 0; i < WAITERS; i++) {
        waiter_ask(&waiters[i], fixture, 9, 8 * i, 0);
    }
    AWAIT(upstream->requests - before == WAITERS / 2);
    other = (waiter_t){.fixture = fixture, .layer = "roads", .tile = {9, 0, 0}, .socket = -1};
    waiter_begin(&other);
    AWAIT(upstream->requests - before == WAITERS / 2 + 1);
    upstream->mood = FINE;
    assert_int_equal(waiter_hear(&other), TSEED_MISS_STORED);
    for (int i = 0; i < WAITERS; i++) {
        int outcome = waiter_hear(&waiters[i]);

        assert_true(outcome == TSEED_MISS_STORED ||
                    strstr(waiters[i].reply.cause, "layer 'topp:states'"));
    }
}

static int is_stored(fixture_t *fixture, int z, int64_t x, int64_t y)
{
    waiter_t waiter;
    int outcome;

    waiter_ask(&waiter, fixture, z, x, y);
    outcome = waiter_hear(&waiter);
    if (waiter.file >= 0) {
        close(waiter.file);
    }
    return outcome == TSEED_MISS_STORED;
}

/* ---- tile sets with values that are not listed ---- */

#define MOST 4 /* TileSeedMaxTileSets */

/* Starts a seeder whose layer takes any style. */
static void open_styles(fixture_t *fixture)
{
    tseed_filter_t *filter = apr_array_push(fixture->layer->filters);

    *filter = (tseed_filter_t){.name = "STYLES",
                               .default_value = "",
                               .most = 64,
                               .values = apr_array_make(fixture->pool, 1, sizeof(const char *))};
    fixture->layer->tilesets_most = MOST;
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
}

static int outcome_of_style(fixture_t *fixture, const char *style, const char *client)
{
    waiter_t waiter = {.fixture = fixture,
                       .layer = "topp:states",
                       .tile = {3, 4, 5},
                       .style = style,
                       .client = client,
                       .socket = -1};

    waiter_begin(&waiter);
    return waiter_hear(&waiter);
}

/* How many rows there are of tile sets with styles, and how many of them have tiles. */
static void count_styles(fixture_t *fixture, int *rows, int *with_tiles, const char *styles)
{
    apr_array_header_t *records;

    *rows = *with_tiles = 0;
    assert_int_equal(tseed_books_tilesets(fixture->state, &records, fixture->pool), APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);
        const char *style = strstr(record->parameters, "STYLES\":\"");

        if (style && (!styles || strchr(styles, style[strlen("STYLES\":\"")]))) {
            (*rows)++;
            *with_tiles += record->pages > 0;
        }
    }
}

static int has_styles(fixture_t *fixture, int rows, int with_tiles, const char *styles)
{
    int all, full;

    count_styles(fixture, &all, &full, styles);
    return all == rows && full == with_tiles;
}

/* One tile set too many, and one of a client that has many leaves, with its row. */
static void test_seeder_misses__open_tile_sets_give_way(void **state)
{
    fixture_t *fixture = *state;
    const char *many[] = {"b", "c", "d", "e", "f", "g"};

    open_styles(fixture);
    assert_int_equal(outcome_of_style(fixture, "a", "198.51.100.1"), TSEED_MISS_STORED);
    for (int i = 0; i < 6; i++) {
        int outcome =
            outcome_of_style(fixture, many[i], apr_psprintf(fixture->pool, "2001:db8::%d", i + 1));

        assert_true(outcome == TSEED_MISS_STORED || outcome == TSEED_MISS_BUSY);
    }
    AWAIT(has_styles(fixture, MOST, MOST, NULL));
    assert_true(has_styles(fixture, 1, 1, "a"));
}

/* Of what fails no row stays. What a seed has named stays when all that requests made goes. */
static void test_seeder_misses__open_tile_sets_are_dropped(void **state)
{
    fixture_t *fixture = *state;

    open_styles(fixture);
    upstream->mood = EXCEPTION;
    assert_int_equal(outcome_of_style(fixture, "x", "198.51.100.1"), TSEED_MISS_FAILED);
    upstream->mood = FINE;
    AWAIT(has_styles(fixture, 0, 0, NULL));
    assert_int_equal(outcome_of_style(fixture, "a", "not an address"), TSEED_MISS_STORED);
    assert_int_equal(outcome_of_style(fixture, "b", NULL), TSEED_MISS_STORED);
    wait_end(fixture, post_document(fixture, fixture->layer,
                                    "{'seedRequest':{'zoomStop':1,'parameters':{'entry':"
                                    "{'string':['STYLES','b']}}}}"));
    AWAIT(has_styles(fixture, 2, 2, NULL));
    assert_int_equal(
        tseed_books_note_append(fixture->state, TSEED_USAGE_DROP, "roads\ntopp:states\n"),
        APR_SUCCESS);
    ring(fixture);
    AWAIT(has_styles(fixture, 1, 1, NULL));
    assert_true(has_styles(fixture, 1, 1, "b"));
}

/* Tile sets that seeds have named take their places from requests, and only those. */
static void test_seeder_misses__seeded_tile_sets_stay(void **state)
{
    fixture_t *fixture = *state;
    const char *seeded[MOST] = {"a", "b", "c", "d"};

    open_styles(fixture);
    for (int i = 0; i < MOST; i++) {
        wait_end(fixture, post_document(fixture, fixture->layer,
                                        apr_psprintf(fixture->pool,
                                                     "{'seedRequest':{'zoomStop':0,'parameters':"
                                                     "{'entry':{'string':['STYLES','%s']}}}}",
                                                     seeded[i])));
    }
    AWAIT(has_styles(fixture, MOST, MOST, NULL));
    assert_int_equal(outcome_of_style(fixture, "x", "198.51.100.1"), TSEED_MISS_REFUSED);
    assert_int_equal(outcome_of_style(fixture, "a", "198.51.100.1"), TSEED_MISS_STORED);
}

/* ---- tile sets that the books or the disk alone know ---- */

static int64_t add_lapsed(fixture_t *fixture, const char *root)
{
    tseed_tileset_record_t record = {.print = 4711 + strlen(root),
                                     .key = "gone/EPSG:4326/png/default",
                                     .layer = "gone",
                                     .gridset = "EPSG:4326",
                                     .format = "image/png",
                                     .parameters = "{}",
                                     .root = root,
                                     .place = ""};

    assert_int_equal(tseed_books_add(fixture->state, &record), APR_SUCCESS);
    return record.id;
}

static int has_row(fixture_t *fixture, int64_t id)
{
    apr_array_header_t *records;
    int found = 0;

    assert_int_equal(tseed_books_tilesets(fixture->state, &records, fixture->pool), APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        found |= APR_ARRAY_IDX(records, i, tseed_tileset_record_t).id == id;
    }
    return found;
}

/* A tile set that is configured no more leaves the books when somebody says so, and when a
 * reconcile finds that its directory is gone. */
static void test_seeder_misses__lapsed_tile_sets_leave_the_books(void **state)
{
    fixture_t *fixture = *state;
    int64_t unwanted, gone, kept;

    wait_end(fixture, post(fixture, "seed", 0, 1)); /* the seeder works */
    unwanted = add_lapsed(fixture, fixture->dir);
    gone = add_lapsed(fixture, "/nowhere/at/all");
    kept = add_lapsed(fixture, "/");
    assert_int_equal(
        tseed_books_note_append(fixture->state, TSEED_USAGE_FORGET,
                                apr_psprintf(fixture->pool, " 999 %" PRId64, unwanted)),
        APR_SUCCESS);
    ring(fixture);
    AWAIT(!has_row(fixture, unwanted));
    assert_true(has_row(fixture, gone));
    assert_int_equal(
        tseed_books_note_set(fixture->state, TSEED_USAGE_REQUIRED,
                             apr_psprintf(fixture->pool, "%" APR_TIME_T_FMT, apr_time_now())),
        APR_SUCCESS);
    ring(fixture);
    AWAIT(!has_row(fixture, gone));
    assert_true(has_row(fixture, kept));
}

/* Directories of an earlier cache: those whose parameters are known are taken in, by values that
 * filters list or by the books. */
static void test_seeder_misses__tile_sets_on_the_disk_are_found(void **state)
{
    fixture_t *fixture = *state;
    tseed_names_t names = {"topp:states", "EPSG:900913", "image/png", NULL};
    apr_table_t *listed = apr_table_make(fixture->pool, 1);
    tseed_tileset_t tileset;
    const char *folder;

    open_styles(fixture);
    APR_ARRAY_PUSH(APR_ARRAY_IDX(fixture->layer->filters, 0, tseed_filter_t).values, const char *) =
        "q";
    apr_table_setn(listed, "STYLES", "q");
    names.parameters = listed;
    assert_null(tseed_tileset_find(&tileset, fixture->catalog, &names, fixture->pool));
    seeder_stop(fixture, SIGTERM);
    folder =
        apr_psprintf(fixture->pool, "%s/topp_states/EPSG_900913_00_", fixture->layer->store.root);
    for (int i = 0; i < 10; i++) { /* more than the log names */
        const char *unknown = apr_psprintf(fixture->pool, "%s%039d%d", folder, 0, i);

        assert_int_equal(apr_dir_make_recursive(unknown, APR_FPROT_OS_DEFAULT, fixture->pool),
                         APR_SUCCESS);
    }
    assert_int_equal(apr_dir_make_recursive(apr_pstrcat(fixture->pool, folder, tileset.hash, NULL),
                                            APR_FPROT_OS_DEFAULT, fixture->pool),
                     APR_SUCCESS);
    seeder_start(fixture);
    AWAIT(has_styles(fixture, 1, 0, "q"));
}

/* ---- a database that fails ---- */

/* Keeps the database from being written until it is closed. */
static apr_dbd_t *lock_database(fixture_t *fixture, const apr_dbd_driver_t **driver)
{
    const char *path = apr_pstrcat(fixture->pool, fixture->dir, "/tileseed.db", NULL);
    apr_dbd_t *database;
    int rows;

    assert_int_equal(apr_dbd_init(fixture->pool), APR_SUCCESS);
    assert_int_equal(apr_dbd_get_driver(fixture->pool, "sqlite3", driver), APR_SUCCESS);
    assert_int_equal(apr_dbd_open(*driver, fixture->pool, path, &database), APR_SUCCESS);
    AWAIT(apr_dbd_query(*driver, database, &rows, "BEGIN IMMEDIATE") == 0);
    return database;
}

/* A tile set that is not in the books can't be entered: the waiter hears why. */
static void test_seeder_misses__a_database_that_fails_is_called_so(void **state)
{
    fixture_t *fixture = *state;
    tseed_filter_t *filter = apr_array_push(fixture->layer->filters);
    const apr_dbd_driver_t *driver;
    apr_dbd_t *database;
    waiter_t waiter;

    filter->name = "STYLES";
    filter->default_value = "";
    filter->values = apr_array_make(fixture->pool, 1, sizeof(char *));
    APR_ARRAY_PUSH(filter->values, const char *) = "dark";
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    waiter_ask(&waiter, fixture, 5, 7, 9);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    database = lock_database(fixture, &driver);
    waiter = (waiter_t){.fixture = fixture,
                        .layer = "topp:states",
                        .style = "dark",
                        .tile = {5, 7, 9},
                        .socket = -1};
    waiter_begin(&waiter);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_BUSY);
    assert_non_null(strstr(waiter.reply.cause, "state database"));
    apr_dbd_close(driver, database);
}

/* A page that is new can't be marked: the picture is passed on as with a full store. */
static void test_seeder_misses__a_locked_database_passes_tiles_through(void **state)
{
    fixture_t *fixture = *state;
    const apr_dbd_driver_t *driver;
    apr_dbd_t *database;
    waiter_t waiter;

    waiter_ask(&waiter, fixture, 5, 7, 9);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    database = lock_database(fixture, &driver);
    waiter_ask(&waiter, fixture, 9, 500, 500);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_PASSED);
    close(waiter.file);
    apr_dbd_close(driver, database);
    AWAIT(is_stored(fixture, 9, 500, 500));
}

/* ---- after a crash ---- */

/* Pages of level 17; as many as a seeder could have been at work in, when they are marked. */
static void add_pages(fixture_t *fixture, int pages, int marked)
{
    assert_true(
        sql(fixture, apr_psprintf(fixture->pool,
                                  "INSERT INTO page WITH RECURSIVE n(i) AS (SELECT 0 UNION "
                                  "ALL SELECT i + 1 FROM n WHERE i < %d) SELECT (SELECT "
                                  "MIN(id) FROM tileset), 17, i / 500, i %% 500, 1, 1, 100, "
                                  "4096, 0, 0, %d, 0 FROM n",
                                  pages - 1, marked)));
}

/* However many pages are to be counted, tiles elsewhere are made meanwhile, and the seeder lives:
 * its longest silence is a part of the whole, beyond the second between two heartbeats. */
static void test_seeder_misses__many_marked_pages_hold_up_nobody(void **state)
{
    fixture_t *fixture = *state;
    apr_time_t begun, beat, now, silence = 0;
    waiter_t waiter;

    waiter_ask(&waiter, fixture, 5, 7, 9);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    seeder_stop(fixture, SIGTERM);
    add_pages(fixture, MARKED, 1);
    begun = tseed_clock_monotonic();
    seeder_start(fixture);
    waiter_ask(&waiter, fixture, 5, 3, 3);
    assert_int_not_equal(waiter_hear(&waiter), TSEED_MISS_BUSY);
    if (waiter.file >= 0) {
        close(waiter.file);
    }
    print_message("first answer after %d ms\n",
                  (int)apr_time_as_msec(tseed_clock_monotonic() - begun));
    do {
        tseed_board_seeder(fixture->board, NULL, NULL, &beat);
        now = tseed_clock_monotonic();
        silence = now - beat > silence ? now - beat : silence;
        assert_true(now - begun < TEST_TIMEOUT);
    } while (!is_stored(fixture, 5, 3, 3));
    print_message("all counted after %d ms, longest silence %d ms\n",
                  (int)apr_time_as_msec(now - begun), (int)apr_time_as_msec(silence));
    assert_true(silence < 2 * APR_USEC_PER_SEC + (now - begun) / 2);
}

/* ---- large books ---- */

/* Some of so many pages. */
static int shows_reading(fixture_t *fixture, int64_t id, int64_t pages)
{
    int64_t read = 0, expected = 0;
    tseed_row_t row;

    return tseed_board_find(fixture->board, id, &row) &&
           sscanf(row.progress.reason,
                  "waits until the books of the disk usage are read: %" SCNd64 " of %" SCNd64
                  " pages so far",
                  &read, &expected) == 2 &&
           read > 0 && read < expected && expected == pages;
}

static int64_t pages_of(fixture_t *fixture)
{
    apr_array_header_t *records;
    int64_t pages = 0;

    assert_int_equal(tseed_books_tilesets(fixture->state, &records, fixture->pool), APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        pages += APR_ARRAY_IDX(records, i, tseed_tileset_record_t).pages;
    }
    return pages;
}

static void add_known(fixture_t *fixture, int pages)
{
    add_pages(fixture, pages, 0);
    assert_true(
        sql(fixture, apr_psprintf(fixture->pool,
                                  "UPDATE tileset SET pages = pages + %d, names = names + %d"
                                  " WHERE id = (SELECT MIN(id) FROM tileset)",
                                  pages, pages)));
}

/* A tile is asked for and passed on while pages are read; a task is taken in, says what it waits
 * for, and may be terminated; a seeder that leaves in the midst of it has changed no book. */
static void test_seeder_misses__books_are_read_beside_the_work(void **state)
{
    fixture_t *fixture = *state;
    int64_t waiting, pages;
    waiter_t waiter;

    waiter_ask(&waiter, fixture, 5, 7, 9);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    seeder_stop(fixture, SIGTERM);
    pages = pages_of(fixture) + READ;
    add_known(fixture, READ);
    waiting = post(fixture, "seed", 2, 2);
    seeder_start(fixture);
    waiter_ask(&waiter, fixture, 5, 3, 3);
    AWAIT(shows_reading(fixture, waiting, pages));
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_PASSED);
    close(waiter.file);
    seeder_stop(fixture, SIGTERM);
    assert_int_equal(pages_of(fixture), pages);
    assert_int_equal(progress_of(fixture, waiting).state, TSEED_PENDING);
    seeder_start(fixture);
    assert_int_equal(wait_end(fixture, waiting).state, TSEED_DONE);
    waiter_ask(&waiter, fixture, 5, 3, 3);
    assert_int_equal(waiter_hear(&waiter), TSEED_MISS_STORED);
    seeder_stop(fixture, SIGTERM);
    assert_int_equal(pages_of(fixture), pages + 3); /* of levels 0 to 2 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seeder_misses__tile_sets_on_the_disk_are_found,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__lapsed_tile_sets_leave_the_books,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__open_tile_sets_give_way, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__open_tile_sets_are_dropped,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__seeded_tile_sets_stay, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__waiters_of_one_metatile_share_a_request,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__a_present_tile_costs_no_request,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_misses__what_can_not_be_stored_is_passed_to_its_waiter, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__late_waiters_are_passed_their_tiles,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__waiter_hears_why_the_upstream_fails,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_misses__waiters_beyond_the_limit_are_turned_away, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__waiters_of_a_killed_seeder_ask_the_next,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_misses__waiters_of_a_stopped_seeder_ask_the_next, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_misses__a_truncate_makes_what_is_on_its_way_stale, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__a_locked_database_passes_tiles_through,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__many_marked_pages_hold_up_nobody,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__books_are_read_beside_the_work,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__clients_that_go_give_their_places_back,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__what_has_not_begun_is_called_off,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__a_layer_leaves_places_to_others,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_misses__a_database_that_fails_is_called_so,
                                        fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, upstream_setup, upstream_teardown);
}
