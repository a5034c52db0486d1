/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's process without httpd: a WMS of our own, the board in shared memory, the state in a
 * temporary directory, tasks inserted as a child of httpd would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_dbd.h>
#include <apr_file_io.h>
#include <apr_general.h>
#include <apr_strings.h>
#include <arpa/inet.h>
#include <ftw.h>
#include <png.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "board/tseed_board.h"
#include "protocol/tseed_answer.h"
#include "protocol/tseed_seed_request.h"
#include "seeder/tseed_miss.h"
#include "seeder/tseed_seeder.h"
#include "state/tseed_state.h"
#include "store/tseed_store.h"

#define SLOTS    64
#define WAITERS  8
#define PATIENCE (300 * APR_USEC_PER_SEC) /* far beyond what a slow machine needs */

/* ---- an upstream: a process that answers every GetMap with one colour ---- */

typedef enum { FINE, SLOW, HANGS, EXCEPTION } mood_t;

typedef struct {
    _Atomic int mood;
    _Atomic int64_t requests;
} upstream_t;

static upstream_t *upstream; /* shared with the server's process */
static pid_t upstream_pid;
static int upstream_port;

static int number_after(const char *request, const char *key)
{
    const char *at = strstr(request, key);

    return at ? atoi(at + strlen(key)) : 0;
}

static void answer(int connection, const char *type, const void *body, size_t length)
{
    char head[200];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", type,
                     length);

    if (write(connection, head, (size_t)n) < 0 || write(connection, body, length) < 0) {
        return; /* the client has gone, which some tests want */
    }
}

/* Each metatile has its own two colours, so that tiles are not uniform and not alike. */
static void answer_map(int connection, const char *request)
{
    int width = number_after(request, "WIDTH="), height = number_after(request, "HEIGHT=");
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB,
                       .flags = PNG_IMAGE_FLAG_FAST};
    unsigned seed = (unsigned)number_after(request, "BBOX=") * 2654435761u;
    unsigned char *pixels = malloc((size_t)width * (size_t)height * 3);
    png_alloc_size_t size = (size_t)width * (size_t)height * 4 + 4096;
    unsigned char *file = malloc(size);

    for (int i = 0; i < width * height * 3; i++) {
        pixels[i] = (unsigned char)((unsigned)i / 300 + seed);
    }
    png_image_write_to_memory(&image, file, &size, 0, pixels, 0, NULL);
    answer(connection, "image/png", file, size);
    free(pixels);
    free(file);
}

static void *serve(void *data)
{
    static const char exception[] = "<ServiceExceptionReport><ServiceException>no such "
                                    "layer</ServiceException></ServiceExceptionReport>";
    int connection = (int)(intptr_t)data;
    char request[4096];
    ssize_t n;

    while ((n = read(connection, request, sizeof(request) - 1)) > 0) {
        int mood = upstream->mood; /* who sees the request counted knows its answer */

        request[n] = '\0';
        if (strstr(request, "GetCapabilities")) {
            answer(connection, "text/xml", exception, strlen(exception));
            continue;
        }
        upstream->requests++;
        while (upstream->mood == HANGS) {
            usleep(5000);
        }
        if (upstream->mood == SLOW) {
            usleep(20000);
        }
        if (mood == EXCEPTION) {
            answer(connection, "text/xml", exception, strlen(exception));
        } else {
            answer_map(connection, request);
        }
    }
    close(connection);
    return NULL;
}

static void upstream_start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    upstream =
        mmap(NULL, sizeof(*upstream), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 64), 0);
    getsockname(listener, (struct sockaddr *)&address, &length);
    upstream_port = ntohs(address.sin_port);
    upstream_pid = fork();
    if (upstream_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        for (;;) {
            pthread_t thread;
            int connection = accept(listener, NULL, NULL);

            pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection);
            pthread_detach(thread);
        }
    }
    close(listener);
}

/* ---- the house around a seeder ---- */

typedef struct {
    apr_pool_t *pool;
    char dir[64];
    tseed_settings_t settings;
    tseed_catalog_t *catalog;
    tseed_layer_t *layer, *other;
    tseed_board_t *board;
    tseed_state_t *state;
    int doorbell;
    int hatch[2];
    pid_t seeder;
} house_t;

static tseed_layer_t *layer_make(house_t *house, const char *name)
{
    apr_pool_t *pool = house->pool;
    tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));
    tseed_upstream_t *server = apr_pcalloc(pool, sizeof(*server));
    tseed_subset_t *subset;
    apr_table_t *parameters = apr_table_make(pool, 2);

    layer->name = name;
    layer->subsets = apr_array_make(pool, 1, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 1, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 1, sizeof(tseed_filter_t));
    subset = apr_array_push(layer->subsets);
    subset->gridset = tseed_gridset_builtin("EPSG:900913");
    subset->zoom_last = 20;
    subset->extent = subset->gridset->extent;
    subset->srs = "EPSG:3857";
    assert_null(tseed_format_init(apr_array_push(layer->formats), "image/png", pool));
    layer->meta_width = layer->meta_height = 4;
    server->url = apr_psprintf(pool, "http://127.0.0.1:%d/wms", upstream_port);
    server->name = "upstream";
    server->connections = 8;
    server->timeout = server->connect_timeout = server->first_byte_timeout = 30 * APR_USEC_PER_SEC;
    apr_table_setn(parameters, "LAYERS", "all");
    apr_table_setn(parameters, "VERSION", "1.1.1");
    layer->source.addresses[0] = (tseed_address_t){server->url, server};
    layer->source.count = 1;
    layer->source.parameters = parameters;
    layer->store.root = apr_pstrcat(pool, house->dir, "/cache", NULL);
    layer->store.mode = 0644;
    layer->store.dirmode = 0755;
    layer->failure_limit = 1000;
    APR_ARRAY_PUSH(house->catalog->order, tseed_layer_t *) = layer;
    apr_hash_set(house->catalog->layers, name, APR_HASH_KEY_STRING, layer);
    return layer;
}

static void seeder_start(house_t *house)
{
    house->seeder = fork();
    if (house->seeder == 0) {
        apr_pool_t *pool;
        sigset_t stops;
        tseed_seeder_setup_t setup = {.settings = &house->settings,
                                      .catalog = house->catalog,
                                      .board = house->board,
                                      .doorbell = house->doorbell,
                                      .hatch = house->hatch[0]};

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigemptyset(&stops);
        sigaddset(&stops, SIGTERM);
        sigprocmask(SIG_BLOCK, &stops, NULL);
        setup.stop = signalfd(-1, &stops, SFD_NONBLOCK);
        apr_pool_create(&pool, NULL);
        _exit((int)tseed_seeder_run(&setup, pool));
    }
}

static int seeder_stop(house_t *house, int signal_number)
{
    int status = 0;

    kill(house->seeder, signal_number);
    waitpid(house->seeder, &status, 0);
    house->seeder = 0;
    return status;
}

static int house_setup(void **state)
{
    house_t *house = calloc(1, sizeof(*house));
    size_t size = tseed_board_size(SLOTS, 2);

    apr_pool_create(&house->pool, NULL);
    strcpy(house->dir, "/tmp/tileseed-seeder-XXXXXX");
    assert_non_null(mkdtemp(house->dir));
    upstream->mood = FINE;
    house->catalog = tseed_catalog_create(house->pool);
    house->layer = layer_make(house, "topp:states");
    house->other = layer_make(house, "roads");
    house->settings = (tseed_settings_t){.state_dir = house->dir,
                                         .db_driver = "sqlite3",
                                         .db_params = "",
                                         .threads = 4,
                                         .workers = 2,
                                         .max_tasks = SLOTS,
                                         .history_most = 1000,
                                         .history_age = 3600 * APR_USEC_PER_SEC,
                                         .give_up = 3600 * APR_USEC_PER_SEC,
                                         .stop_timeout = APR_USEC_PER_SEC / 2,
                                         .miss_waiters = WAITERS,
                                         .quota_directive = "off"};
    tseed_quota_config_init(&house->settings.quota, 4096, house->pool);
    house->board = tseed_board_init(
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), SLOTS, 2);
    house->doorbell = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(tseed_miss_open(house->hatch, WAITERS), APR_SUCCESS);
    seeder_start(house);
    assert_int_equal(tseed_state_open(&house->state, house->dir, "sqlite3", "", house->pool),
                     APR_SUCCESS);
    *state = house;
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)info;
    (void)flag;
    (void)at;
    return remove(path);
}

static int house_teardown(void **state)
{
    house_t *house = *state;

    if (house->seeder) {
        seeder_stop(house, SIGTERM);
    }
    assert_null(tseed_board_validate(house->board, house->pool));
    tseed_state_close(house->state);
    close(house->hatch[0]);
    close(house->hatch[1]);
    nftw(house->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    apr_pool_destroy(house->pool);
    free(house);
    return 0;
}

static void ring(house_t *house)
{
    static const uint64_t one = 1;

    tseed_board_commit(house->board);
    assert_int_equal(write(house->doorbell, &one, sizeof(one)), sizeof(one));
}

/* Posts a document as a client would and returns the task's id. */
static int64_t post_document(house_t *house, const tseed_layer_t *layer, const char *body)
{
    tseed_seed_document_t document;
    tseed_tileset_t tileset;
    tseed_task_t task = {0};

    assert_null(
        tseed_seed_document_read(&document, TSEED_BODY_JSON, body, strlen(body), house->pool));
    assert_null(tseed_seed_document_resolve(&task, &tileset, &document, layer, house->pool));
    task.requested_by = "test";
    task.created = apr_time_now();
    assert_int_equal(tseed_state_task_insert(house->state, &task, 2 * SLOTS), APR_SUCCESS);
    ring(house);
    return task.id;
}

static int64_t post(house_t *house, const char *type, int zoom_stop, int threads)
{
    return post_document(house, house->layer,
                         apr_psprintf(house->pool,
                                      "{'seedRequest':{'type':'%s','zoomStart':0,'zoomStop':%d,"
                                      "'threadCount':%d}}",
                                      type, zoom_stop, threads));
}

static tseed_progress_t progress_of(house_t *house, int64_t id)
{
    tseed_task_t *task;
    tseed_progress_t progress;

    assert_int_equal(tseed_state_task_get(house->state, &task, &progress, id, house->pool),
                     APR_SUCCESS);
    return progress;
}

/* Waits until the database says that the task has ended. */
static tseed_progress_t wait_end(house_t *house, int64_t id)
{
    apr_time_t deadline = tseed_clock_monotonic() + PATIENCE;
    tseed_progress_t progress = progress_of(house, id);

    while (progress.state == TSEED_PENDING || progress.state == TSEED_RUNNING) {
        assert_true(tseed_clock_monotonic() < deadline);
        apr_sleep(5000);
        progress = progress_of(house, id);
    }
    return progress;
}

static void wait_processed(house_t *house, int64_t id, int64_t least)
{
    apr_time_t deadline = tseed_clock_monotonic() + PATIENCE;
    tseed_row_t row = {0};

    while (!tseed_board_find(house->board, id, &row) ||
           tseed_progress_processed(&row.progress) < least) {
        assert_true(tseed_clock_monotonic() < deadline);
        apr_sleep(1000);
    }
}

/* Runs until a condition holds, which it does not for ever. */
#define AWAIT(condition)                                                                           \
    for (apr_time_t deadline = tseed_clock_monotonic() + PATIENCE; !(condition);) {                \
        assert_true(tseed_clock_monotonic() < deadline);                                           \
        apr_sleep(1000);                                                                           \
    }

static int shows_paused(house_t *house, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(house->board, id, &row) && strstr(row.progress.reason, "paused");
}

static int unconfirmed(house_t *house)
{
    apr_array_header_t *ids;

    assert_int_equal(tseed_state_terminations(house->state, &ids, house->pool), APR_SUCCESS);
    return ids->nelts;
}

/* Runs a statement as somebody else would who has the database's file; whether that worked. What it
 * began and did not commit is undone. */
static int sql(house_t *house, const char *statement)
{
    const char *path = apr_pstrcat(house->pool, house->dir, "/tileseed.db", NULL);
    const apr_dbd_driver_t *driver;
    apr_dbd_t *database;
    int rows, failed;

    assert_int_equal(apr_dbd_init(house->pool), APR_SUCCESS);
    assert_int_equal(apr_dbd_get_driver(house->pool, "sqlite3", &driver), APR_SUCCESS);
    assert_int_equal(apr_dbd_open(driver, house->pool, path, &database), APR_SUCCESS);
    failed = apr_dbd_query(driver, database, &rows, statement);
    apr_dbd_close(driver, database);
    return !failed;
}

/* Stops the seeder, yet not within a transaction: then everybody else would wait for it. */
static int halt(house_t *house)
{
    int status;

    kill(house->seeder, SIGSTOP);
    assert_int_equal(waitpid(house->seeder, &status, WUNTRACED), house->seeder);
    assert_true(WIFSTOPPED(status));
    if (sql(house, "BEGIN IMMEDIATE")) {
        return 1;
    }
    kill(house->seeder, SIGCONT);
    return 0;
}

static int files_seen;

static int count_file(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)info;
    files_seen += flag == FTW_F && path[at->base] != '.';
    return 0;
}

static int files_below(const char *path)
{
    files_seen = 0;
    nftw(path, count_file, 16, FTW_PHYS);
    return files_seen;
}

static int files(house_t *house)
{
    return files_below(house->layer->store.root);
}

/* Web mercator: 1 + 4 + 16 + … tiles, (4^(z+1) - 1) / 3. */
static int pyramid(int zoom_stop)
{
    return ((1 << (2 * (zoom_stop + 1))) - 1) / 3;
}

/* ---- tests ---- */

static void test_seeder__seeds_then_skips_then_removes(void **state)
{
    house_t *house = *state;
    tseed_progress_t seeded = wait_end(house, post(house, "seed", 4, 2));
    tseed_progress_t skipped, removed;

    assert_int_equal(seeded.state, TSEED_DONE);
    assert_int_equal(seeded.made, pyramid(4));
    assert_int_equal(seeded.skipped + seeded.failed + seeded.removed, 0);
    assert_int_equal(seeded.requests, 1 + 1 + 1 + 4 + 16);
    assert_int_equal(files(house), pyramid(4));
    skipped = wait_end(house, post(house, "seed", 4, 2));
    assert_int_equal(skipped.skipped, pyramid(4));
    assert_int_equal(skipped.made + skipped.requests, 0);
    removed = wait_end(house, post(house, "truncate", 3, 1));
    assert_int_equal(removed.state, TSEED_DONE);
    assert_int_equal(removed.removed, pyramid(3));
    assert_int_equal(files(house), pyramid(4) - pyramid(3));
    removed = wait_end(house, post(house, "truncate", 4, 1));
    assert_int_equal(removed.removed, pyramid(4) - pyramid(3));
    assert_int_equal(removed.skipped, pyramid(3));
}

static void test_seeder__reseed_makes_all_again(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;

    wait_end(house, post(house, "seed", 2, 1));
    progress = wait_end(house, post(house, "RESEED", 3, 1));
    assert_int_equal(progress.made, pyramid(3));
    assert_int_equal(progress.skipped, 0);
    assert_int_equal(files(house), pyramid(3));
}

static void test_seeder__two_seeds_of_one_set_share_the_work(void **state)
{
    house_t *house = *state;
    int64_t first = post(house, "seed", 5, 2), second = post(house, "seed", 5, 2);
    tseed_progress_t a = wait_end(house, first), b = wait_end(house, second);

    assert_int_equal(a.made + b.made, pyramid(5));
    assert_int_equal(a.made + a.skipped, pyramid(5));
    assert_int_equal(b.made + b.skipped, pyramid(5));
}

static void test_seeder__exceptions_are_failures_with_a_cause(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;

    upstream->mood = EXCEPTION;
    progress = wait_end(house, post(house, "seed", 3, 2));
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.failed, pyramid(3));
    assert_int_equal(progress.failures, 1 + 1 + 1 + 4);
    assert_int_equal(files(house), 0);
}

static void test_seeder__too_many_failures_abort(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;

    house->layer->failure_limit = 3; /* the task's snapshot takes it from there */
    upstream->mood = EXCEPTION;
    progress = wait_end(house, post(house, "seed", 6, 1));
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_non_null(strstr(progress.reason, "no such layer"));
    assert_true(progress.failures > 3);
}

/* Terminates the tasks of a layer, or all. */
static void terminate(house_t *house, const char *layer)
{
    apr_array_header_t *layers = apr_array_make(house->pool, 1, sizeof(char *));
    tseed_termination_t what = {.layers = layer ? layers : NULL,
                                .mask = 1u << TSEED_PENDING | 1u << TSEED_RUNNING,
                                .reason = "terminated",
                                .now = apr_time_now()};
    apr_array_header_t *terminated;

    APR_ARRAY_PUSH(layers, const char *) = layer;
    assert_int_equal(tseed_state_terminate(house->state, &terminated, &what, house->pool),
                     APR_SUCCESS);
    assert_true(terminated->nelts > 0);
    ring(house);
}

/* Terminates everything and returns how long it took until the board let go, in microseconds. */
static apr_time_t terminate_all(house_t *house, int64_t id)
{
    apr_time_t begun = tseed_clock_monotonic();
    tseed_row_t row;

    terminate(house, NULL);
    while (tseed_board_find(house->board, id, &row)) {
        assert_true(tseed_clock_monotonic() - begun < 30 * APR_USEC_PER_SEC);
        apr_sleep(1000);
    }
    return tseed_clock_monotonic() - begun;
}

static void test_seeder__terminates_while_the_upstream_hangs(void **state)
{
    house_t *house = *state;
    int64_t id;

    upstream->mood = HANGS;
    id = post(house, "seed", 8, 4);
    while (upstream->requests == 0) {
        apr_sleep(1000);
    }
    /* far below the sixty seconds that the upstream would take */
    assert_true(terminate_all(house, id) < 5 * APR_USEC_PER_SEC);
    assert_int_equal(progress_of(house, id).state, TSEED_ABORTED);
    assert_int_equal(files(house), 0);
}

static void test_seeder__terminated_task_writes_no_more(void **state)
{
    house_t *house = *state;
    int64_t id = post(house, "seed", 8, 4);
    int left;

    wait_processed(house, id, 100);
    terminate_all(house, id);
    left = files(house);
    apr_sleep(200000);
    assert_int_equal(files(house), left);
    assert_int_equal(progress_of(house, id).state, TSEED_ABORTED);
    assert_int_equal(progress_of(house, id).made, left);
}

static void goes_on_after(house_t *house, int signal_number)
{
    int64_t id = post(house, "seed", 5, 4);
    tseed_progress_t progress;
    int status;

    upstream->mood = SLOW;
    wait_processed(house, id, 200);
    status = seeder_stop(house, signal_number);
    assert_int_equal(WIFSIGNALED(status), signal_number == SIGKILL);
    upstream->mood = FINE;
    seeder_start(house);
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(tseed_progress_processed(&progress), pyramid(5));
    assert_int_equal(progress.failed, 0);
    assert_int_equal(files(house), pyramid(5));
    /* what was under way is fetched again, nothing else: 4 requests and 4 metatiles at work */
    assert_in_range(progress.requests, 1 + 1 + 1 + 4 + 16 + 64, 1 + 1 + 1 + 4 + 16 + 64 + 8);
}

static void test_seeder__goes_on_after_a_stop(void **state)
{
    goes_on_after(*state, SIGTERM);
}

static void test_seeder__goes_on_after_a_kill(void **state)
{
    goes_on_after(*state, SIGKILL);
}

/* Lets a crash meet a position of the task, as the crash handler of the process would note it. */
static void crash_at(house_t *house, int64_t id, int64_t position)
{
    int64_t pid = 0;

    while (tseed_board_seeder(house->board, &pid, NULL, NULL) != TSEED_SEEDER_WORKING ||
           pid != house->seeder) {
        apr_sleep(1000);
    }
    wait_processed(house, id, 1);
    seeder_stop(house, SIGKILL);
    for (unsigned i = 0; i < 2; i++) {
        tseed_board_worker_end(house->board, i);
    }
    tseed_board_worker_begin(house->board, 0, id, position);
    tseed_board_crash(house->board, 0);
    seeder_start(house);
}

static void test_seeder__a_metatile_that_crashes_twice_is_given_up(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;
    int64_t id;

    upstream->mood = SLOW;
    id = post(house, "seed", 5, 1);
    crash_at(house, id, 80);
    crash_at(house, id, 80);
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.failures, 1);
    assert_int_equal(progress.failed, 16);
    assert_int_equal(progress.made + progress.skipped, pyramid(5) - 16);
}

static void test_seeder__a_task_that_crashes_thrice_is_aborted(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;
    int64_t id, other;

    upstream->mood = SLOW;
    id = post(house, "seed", 6, 1);
    crash_at(house, id, 300);
    crash_at(house, id, 301);
    crash_at(house, id, 302);
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_non_null(strstr(progress.reason, "crashed three times"));
    other = post(house, "seed", 2, 1);
    assert_int_equal(wait_end(house, other).state, TSEED_DONE);
}

static void test_seeder__runs_as_many_tasks_as_threads(void **state)
{
    house_t *house = *state;
    int64_t ids[6];
    apr_array_header_t *rows;
    int running = 0;

    upstream->mood = SLOW;
    for (int i = 0; i < 6; i++) {
        ids[i] = post(house, "reseed", 6, 4);
    }
    wait_processed(house, ids[3], 1);
    rows = tseed_board_list(house->board, NULL, 0, house->pool);
    assert_int_equal(rows->nelts, 6);
    for (int i = 0; i < 6; i++) {
        running += APR_ARRAY_IDX(rows, i, tseed_row_t).progress.state == TSEED_RUNNING;
    }
    assert_int_equal(running, 4);
    assert_int_equal(APR_ARRAY_IDX(rows, 5, tseed_row_t).progress.state, TSEED_PENDING);
    terminate_all(house, ids[0]);
}

static void test_seeder__huge_task_starts_at_once(void **state)
{
    house_t *house = *state;
    int64_t id = post(house, "seed", 20, 1); /* 1,466,015,503,701 tiles */
    tseed_row_t row;

    wait_processed(house, id, 1);
    assert_true(tseed_board_find(house->board, id, &row));
    assert_int_equal(row.tiles_total, 1466015503701);
    terminate_all(house, id);
}

static void test_seeder__unwritable_store_pauses_the_task(void **state)
{
    house_t *house = *state;
    const char *root = house->layer->store.root;
    apr_file_t *file;
    int64_t id;

    /* a file where the directory should be fails for root as well */
    assert_int_equal(apr_file_open(&file, root, APR_FOPEN_WRITE | APR_FOPEN_CREATE,
                                   APR_FPROT_OS_DEFAULT, house->pool),
                     APR_SUCCESS);
    apr_file_close(file);
    id = post(house, "seed", 2, 1);
    AWAIT(shows_paused(house, id));
    assert_int_equal(progress_of(house, id).state, TSEED_RUNNING);
    assert_int_equal(unlink(root), 0);
    assert_int_equal(wait_end(house, id).made, pyramid(2));
}

/* A store that fails at one level while other levels are looked at, fetched and cut. */
static void pauses_once_at(house_t *house, int level)
{
    const char *layer = apr_pstrcat(house->pool, house->layer->store.root, "/topp_states", NULL);
    const char *loop = apr_psprintf(house->pool, "%s/EPSG_900913_%02d", layer, level);
    tseed_progress_t progress;
    int64_t id;

    assert_int_equal(mkdir(house->layer->store.root, 0755), 0);
    assert_int_equal(mkdir(layer, 0755), 0);
    assert_int_equal(symlink(loop, loop), 0);
    upstream->mood = SLOW;
    id = post(house, "seed", 5, 4);
    AWAIT(shows_paused(house, id));
    assert_int_equal(unlink(loop), 0);
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.made, pyramid(5));
    assert_int_equal(progress.skipped + progress.failed, 0);
    assert_int_equal(progress.requests, 1 + 1 + 1 + 4 + 16 + 64);
    assert_int_equal(files(house), pyramid(5));
}

static void test_seeder__a_pause_among_first_metatiles_repeats_none(void **state)
{
    pauses_once_at(*state, 2);
}

static void test_seeder__a_pause_in_the_middle_repeats_no_metatile(void **state)
{
    pauses_once_at(*state, 4);
}

static void test_seeder__tasks_beyond_the_board_wait_for_room(void **state)
{
    house_t *house = *state;
    const char *roads = apr_pstrcat(house->pool, house->other->store.root, "/roads", NULL);
    int64_t ids[SLOTS + 5], outside;
    tseed_row_t row;

    upstream->mood = HANGS;
    for (int i = 0; i < SLOTS + 5; i++) {
        ids[i] = post(house, "seed", 1, 1);
    }
    outside = post_document(house, house->other,
                            "{'seedRequest':{'type':'seed','zoomStart':0,'zoomStop':1}}");
    AWAIT(tseed_board_applied(house->board) == tseed_board_committed(house->board));
    assert_true(tseed_board_is_crowded(house->board));
    assert_false(tseed_board_find(house->board, outside, &row));
    terminate(house, "roads");
    upstream->mood = FINE;
    for (int i = 0; i < SLOTS + 5; i++) {
        tseed_progress_t progress = wait_end(house, ids[i]);

        assert_int_equal(progress.state, TSEED_DONE);
        assert_int_equal(progress.made + progress.skipped, pyramid(1));
    }
    AWAIT(!tseed_board_is_crowded(house->board) && unconfirmed(house) == 0);
    assert_int_equal(progress_of(house, outside).state, TSEED_ABORTED);
    assert_int_equal(files_below(roads), 0);
    assert_int_equal(files(house), pyramid(1));
}

static void test_seeder__a_vanished_task_does_not_block_later_ones(void **state)
{
    house_t *house = *state;
    int64_t running = 0, vanished, later;
    tseed_row_t row = {0};

    upstream->mood = HANGS;
    for (int i = 0; i < house->settings.threads; i++) {
        running = post(house, "reseed", 2, 1);
    }
    AWAIT(tseed_board_find(house->board, running, &row) && row.progress.state == TSEED_RUNNING);
    vanished = post(house, "reseed", 2, 1);
    AWAIT(tseed_board_find(house->board, vanished, &row));
    assert_int_equal(row.progress.state, TSEED_PENDING);
    AWAIT(sql(house, apr_psprintf(house->pool, "DELETE FROM task WHERE id = %" APR_INT64_T_FMT,
                                  vanished)));
    later = post(house, "reseed", 1, 1);
    upstream->mood = FINE;
    assert_int_equal(wait_end(house, later).state, TSEED_DONE);
    assert_int_equal(wait_end(house, running).state, TSEED_DONE);
    AWAIT(!tseed_board_find(house->board, vanished, &row));
}

static void test_seeder__a_retry_that_waits_holds_up_nobody_else(void **state)
{
    house_t *house = *state;
    int64_t before = upstream->requests, waiting, other;

    upstream->mood = EXCEPTION;
    waiting = post_document(house, house->layer, /* for longer than we wait */
                            "{'seedRequest':{'type':'seed','zoomStart':5,'zoomStop':8,"
                            "'threadCount':4,'tileFailureRetryCount':1,"
                            "'tileFailureRetryWaitTime':1000000}}");
    AWAIT(upstream->requests >= before + house->settings.threads);
    upstream->mood = FINE;
    other = post_document(house, house->other,
                          "{'seedRequest':{'type':'seed','zoomStart':0,'zoomStop':2}}");
    assert_int_equal(wait_end(house, other).made, pyramid(2));
    assert_int_equal(progress_of(house, waiting).state, TSEED_RUNNING);
    terminate_all(house, waiting);
}

static void test_seeder__confirms_what_ended_before_it_heard_of_it(void **state)
{
    house_t *house = *state;
    int64_t id;

    AWAIT(tseed_board_seeder(house->board, NULL, NULL, NULL) == TSEED_SEEDER_WORKING);
    AWAIT(halt(house));
    id = post(house, "seed", 1, 1);
    terminate(house, NULL);
    assert_int_equal(unconfirmed(house), 1);
    kill(house->seeder, SIGCONT);
    AWAIT(unconfirmed(house) == 0);
    assert_int_equal(progress_of(house, id).state, TSEED_ABORTED);
    assert_int_equal(files(house), 0);
}

/* ---- requests for tiles that are not there ---- */

typedef struct {
    house_t *house;
    tseed_tile_t tile;
    tseed_reply_t reply;
    int file;
    pthread_t thread;
} guest_t;

static void *ask(void *data)
{
    guest_t *guest = data;
    apr_pool_t *pool;
    tseed_question_t question = {.layer = "topp:states",
                                 .gridset = "EPSG:900913",
                                 .format = "image/png",
                                 .tile = guest->tile};

    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    question.parameters = apr_table_make(pool, 1);
    tseed_miss_ask(&guest->reply, &guest->file, guest->house->hatch[1], &question);
    apr_pool_destroy(pool);
    return NULL;
}

static void guest_send(guest_t *guest, house_t *house, int z, int64_t x, int64_t y)
{
    *guest = (guest_t){.house = house, .tile = {z, x, y}};
    assert_int_equal(pthread_create(&guest->thread, NULL, ask, guest), 0);
}

static int guest_hear(guest_t *guest)
{
    assert_int_equal(pthread_join(guest->thread, NULL), 0);
    return guest->reply.outcome;
}

static void test_seeder__guests_of_one_metatile_share_a_fetch(void **state)
{
    house_t *house = *state;
    int64_t before = upstream->requests;
    guest_t guests[4];

    upstream->mood = SLOW;
    for (int i = 0; i < 4; i++) {
        guest_send(&guests[i], house, 3, 4 + i, 5);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(guest_hear(&guests[i]), TSEED_MISS_STORED);
        assert_int_equal(guests[i].file, -1);
    }
    assert_int_equal(upstream->requests - before, 1);
    assert_int_equal(files(house), 16); /* the metatile, not the tile */
}

static void test_seeder__guest_of_a_present_tile_costs_no_fetch(void **state)
{
    house_t *house = *state;
    guest_t guest;
    int64_t before;

    wait_end(house, post(house, "seed", 2, 1));
    before = upstream->requests;
    guest_send(&guest, house, 2, 1, 1);
    assert_int_equal(guest_hear(&guest), TSEED_MISS_STORED);
    assert_int_equal(upstream->requests, before);
}

static void test_seeder__what_can_not_be_stored_is_passed_to_its_guest(void **state)
{
    house_t *house = *state;
    unsigned char signature[8];
    guest_t guest;
    FILE *file = fopen(apr_pstrcat(house->pool, house->dir, "/cache", NULL), "w");

    fclose(file); /* a file where the cache should be */
    guest_send(&guest, house, 5, 7, 9);
    assert_int_equal(guest_hear(&guest), TSEED_MISS_PASSED);
    assert_int_equal(pread(guest.file, signature, 8, 0), 8);
    assert_int_equal(png_sig_cmp(signature, 0, 8), 0);
    close(guest.file);
}

static void test_seeder__guest_hears_why_the_upstream_fails(void **state)
{
    house_t *house = *state;
    guest_t guest;

    upstream->mood = EXCEPTION;
    guest_send(&guest, house, 5, 7, 9);
    assert_int_equal(guest_hear(&guest), TSEED_MISS_FAILED);
    assert_non_null(strstr(guest.reply.cause, "no such layer"));
    assert_true(guest.reply.retry_after > 0);
}

static void test_seeder__guests_beyond_the_limit_are_turned_away(void **state)
{
    house_t *house = *state;
    guest_t guests[WAITERS], one_more;
    int64_t before = upstream->requests;

    upstream->mood = HANGS;
    for (int i = 0; i < WAITERS; i++) {
        guest_send(&guests[i], house, 9, 8 * i, 0);
    }
    AWAIT(upstream->requests - before == WAITERS);
    guest_send(&one_more, house, 9, 0, 0);
    assert_int_equal(guest_hear(&one_more), TSEED_MISS_BUSY);
    assert_true(one_more.reply.retry_after > 0);
    upstream->mood = FINE;
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(guest_hear(&guests[i]), TSEED_MISS_STORED);
    }
}

static void test_seeder__guests_of_a_killed_seeder_know_at_once(void **state)
{
    house_t *house = *state;
    int64_t before = upstream->requests;
    guest_t guest;

    upstream->mood = HANGS;
    guest_send(&guest, house, 5, 7, 9);
    AWAIT(upstream->requests > before);
    seeder_stop(house, SIGKILL);
    assert_int_equal(guest_hear(&guest), TSEED_MISS_BUSY);
    upstream->mood = FINE;
    seeder_start(house);
    guest_send(&guest, house, 5, 7, 9);
    assert_int_equal(guest_hear(&guest), TSEED_MISS_STORED);
}

static int setup_group(void **state)
{
    (void)state;
    apr_initialize();
    upstream_start();
    return 0;
}

static int teardown_group(void **state)
{
    (void)state;
    kill(upstream_pid, SIGKILL);
    waitpid(upstream_pid, NULL, 0);
    apr_terminate();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seeder__seeds_then_skips_then_removes, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__reseed_makes_all_again, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__two_seeds_of_one_set_share_the_work,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__exceptions_are_failures_with_a_cause,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__too_many_failures_abort, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__terminates_while_the_upstream_hangs,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__terminated_task_writes_no_more, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__goes_on_after_a_stop, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__goes_on_after_a_kill, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_metatile_that_crashes_twice_is_given_up,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_task_that_crashes_thrice_is_aborted,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__runs_as_many_tasks_as_threads, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__huge_task_starts_at_once, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__unwritable_store_pauses_the_task, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_pause_among_first_metatiles_repeats_none,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_pause_in_the_middle_repeats_no_metatile,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__tasks_beyond_the_board_wait_for_room,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_vanished_task_does_not_block_later_ones,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_retry_that_waits_holds_up_nobody_else,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__guests_of_one_metatile_share_a_fetch,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__guest_of_a_present_tile_costs_no_fetch,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__what_can_not_be_stored_is_passed_to_its_guest,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__guest_hears_why_the_upstream_fails,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__guests_beyond_the_limit_are_turned_away,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__guests_of_a_killed_seeder_know_at_once,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__confirms_what_ended_before_it_heard_of_it,
                                        house_setup, house_teardown),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
