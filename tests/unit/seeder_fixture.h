/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's process without httpd: the WMS of wms_fixture.h, the board in shared memory, the
 * state in a temporary directory, tasks inserted as a child of httpd would. */
#ifndef SEEDER_FIXTURE_H
#define SEEDER_FIXTURE_H

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
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "board/tseed_board.h"
#include "memory_folder.h"
#include "protocol/tseed_answer.h"
#include "protocol/tseed_seed_request.h"
#include "work/tseed_miss.h"
#include "seeder/tseed_seeder.h"
#include "state/tseed_books.h"
#include "state/tseed_state.h"
#include "store/tseed_store.h"
#include "wms_fixture.h"

#define SLOTS        64
#define WAITERS      8
#define BLOCK        4096
#define TEST_TIMEOUT (300 * APR_USEC_PER_SEC) /* far beyond what a slow machine needs */

/* ---- a seeder, its board, its state ---- */

typedef struct {
    apr_pool_t *pool;
    char dir[64];
    tseed_settings_t settings;
    tseed_catalog_t *catalog;
    tseed_layer_t *layer, *other;
    tseed_board_t *board;
    tseed_state_t *state;
    int doorbell;
    int miss_socket[2];
    _Atomic int watched; /* by a thread of the test */
    pthread_t watcher;
    int64_t most_seen;
    pid_t seeder;
} fixture_t;

static inline tseed_layer_t *layer_make(fixture_t *fixture, const char *name)
{
    apr_pool_t *pool = fixture->pool;
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
    server->timeout = server->connect_timeout = server->first_byte_timeout = 2 * TEST_TIMEOUT;
    apr_table_setn(parameters, "LAYERS", "all");
    apr_table_setn(parameters, "VERSION", "1.1.1");
    layer->source.addresses[0] = (tseed_address_t){server->url, server};
    layer->source.count = 1;
    layer->source.parameters = parameters;
    layer->store.root = apr_pstrcat(pool, fixture->dir, "/cache", NULL);
    layer->store.mode = 0644;
    layer->store.dirmode = 0755;
    layer->failure_limit = 1000;
    APR_ARRAY_PUSH(fixture->catalog->order, tseed_layer_t *) = layer;
    apr_hash_set(fixture->catalog->layers, name, APR_HASH_KEY_STRING, layer);
    return layer;
}

#ifdef TSEED_COVERAGE
void __gcov_dump(void);
#endif

/* Ends a seeder as httpd's child does. What ran in it is counted nevertheless. */
static inline void leave(int status)
{
#ifdef TSEED_COVERAGE
    __gcov_dump();
#endif
    _exit(status);
}

/* The process that was forked; does not return. */
static inline void run_seeder(const fixture_t *fixture)
{
    apr_pool_t *pool;
    sigset_t stops;
    tseed_seeder_setup_t setup = {.settings = &fixture->settings,
                                  .catalog = fixture->catalog,
                                  .board = fixture->board,
                                  .doorbell = fixture->doorbell,
                                  .miss_socket = fixture->miss_socket[0]};

    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, NULL);
    setup.stop = signalfd(-1, &stops, SFD_NONBLOCK);
    apr_pool_create(&pool, NULL);
    leave((int)tseed_seeder_run(&setup, pool));
}

static inline void seeder_start(fixture_t *fixture)
{
    fixture->seeder = fork();
    if (fixture->seeder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_seeder(fixture);
    }
}

/* Forks the next seeder beside the present one. It stands still until seeder_follow: a test whose
 * threads wait meanwhile need not fork, which the sanitizer of threads does not allow. */
static inline pid_t seeder_stand_by(const fixture_t *fixture)
{
    pid_t next = fork();
    int status;

    if (next == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        raise(SIGSTOP);
        run_seeder(fixture);
    }
    assert_int_equal(waitpid(next, &status, WUNTRACED), next);
    assert_true(WIFSTOPPED(status));
    return next;
}

static inline void seeder_follow(fixture_t *fixture, pid_t next)
{
    fixture->seeder = next;
    kill(next, SIGCONT);
}

static inline int seeder_stop(fixture_t *fixture, int signal_number)
{
    int status = 0;

    kill(fixture->seeder, signal_number);
    waitpid(fixture->seeder, &status, 0);
    fixture->seeder = 0;
    return status;
}

static inline int fixture_setup(void **state)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));
    size_t size = tseed_board_size(SLOTS, 2);

    apr_pool_create(&fixture->pool, NULL);
    snprintf(fixture->dir, sizeof(fixture->dir), "%s/tileseed-seeder-XXXXXX", memory_folder());
    assert_non_null(mkdtemp(fixture->dir));
    upstream->mood = FINE;
    upstream_answer_all();
    fixture->catalog = tseed_catalog_create(fixture->pool);
    fixture->layer = layer_make(fixture, "topp:states");
    fixture->other = layer_make(fixture, "roads");
    fixture->settings = (tseed_settings_t){.state_dir = fixture->dir,
                                           .db_driver = "sqlite3",
                                           .db_params = "",
                                           .threads = 4,
                                           .workers = 2,
                                           .max_tasks = SLOTS,
                                           .history_most = 1000,
                                           .history_age = 3600 * APR_USEC_PER_SEC,
                                           .give_up = 3600 * APR_USEC_PER_SEC,
                                           .stop_timeout = 20 * APR_USEC_PER_SEC,
                                           .miss_waiters = WAITERS,
                                           .miss_of_layer = WAITERS,
                                           .quota_files = INT64_MAX,
                                           .quota_directive = "off"};
    tseed_quota_config_init(&fixture->settings.quota, 4096, fixture->pool);
    fixture->board = tseed_board_init(
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), SLOTS, 2,
        fixture->pool);
    fixture->doorbell = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(tseed_miss_open(fixture->miss_socket, WAITERS), APR_SUCCESS);
    seeder_start(fixture);
    assert_int_equal(tseed_state_open(&fixture->state, fixture->dir, "sqlite3", "", fixture->pool),
                     APR_SUCCESS);
    *state = fixture;
    return 0;
}

static inline int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)info;
    (void)flag;
    (void)at;
    return remove(path);
}

static inline int fixture_teardown(void **state)
{
    fixture_t *fixture = *state;
    const char *problem;

    if (fixture->seeder) {
        seeder_stop(fixture, SIGTERM);
    }
    problem = tseed_board_validate(fixture->board, fixture->pool);
    if (problem) {
        fail_msg("%s", problem);
    }
    tseed_state_close(fixture->state);
    close(fixture->miss_socket[0]);
    close(fixture->miss_socket[1]);
    nftw(fixture->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    apr_pool_destroy(fixture->pool);
    free(fixture);
    return 0;
}

static inline void ring(fixture_t *fixture)
{
    static const uint64_t one = 1;

    tseed_board_commit(fixture->board);
    assert_int_equal(write(fixture->doorbell, &one, sizeof(one)), sizeof(one));
}

/* Posts a document as a client would and returns the task's id. */
static int64_t post_document(fixture_t *fixture, const tseed_layer_t *layer, const char *body)
{
    tseed_seed_document_t document;
    tseed_tileset_t tileset;
    tseed_task_t task = {0};

    assert_null(
        tseed_seed_document_read(&document, TSEED_BODY_JSON, body, strlen(body), fixture->pool));
    assert_null(tseed_seed_document_resolve(&task, &tileset, &document, layer, fixture->pool));
    task.requested_by = "test";
    task.ignored = "";
    task.created = apr_time_now();
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, 2 * SLOTS), APR_SUCCESS);
    ring(fixture);
    return task.id;
}

static inline int64_t post(fixture_t *fixture, const char *type, int zoom_stop, int threads)
{
    return post_document(fixture, fixture->layer,
                         apr_psprintf(fixture->pool,
                                      "{'seedRequest':{'type':'%s','zoomStart':0,'zoomStop':%d,"
                                      "'threadCount':%d}}",
                                      type, zoom_stop, threads));
}

static inline tseed_progress_t progress_of(fixture_t *fixture, int64_t id)
{
    tseed_task_t *task;
    tseed_progress_t progress;

    assert_int_equal(tseed_state_task_get(fixture->state, &task, &progress, id, fixture->pool),
                     APR_SUCCESS);
    return progress;
}

/* Waits until the database says that the task has ended. */
static inline tseed_progress_t wait_end(fixture_t *fixture, int64_t id)
{
    apr_time_t deadline = tseed_clock_monotonic() + TEST_TIMEOUT;
    tseed_progress_t progress = progress_of(fixture, id);

    while (progress.state == TSEED_PENDING || progress.state == TSEED_RUNNING) {
        assert_true(tseed_clock_monotonic() < deadline);
        apr_sleep(5000);
        progress = progress_of(fixture, id);
    }
    return progress;
}

/* A task that has ended is not on the board any more. */
static inline int has_processed(fixture_t *fixture, int64_t id, int64_t least)
{
    tseed_row_t row;
    tseed_progress_t progress =
        tseed_board_find(fixture->board, id, &row) ? row.progress : progress_of(fixture, id);

    return tseed_progress_processed(&progress) >= least;
}

static inline void wait_processed(fixture_t *fixture, int64_t id, int64_t least)
{
    apr_time_t deadline = tseed_clock_monotonic() + TEST_TIMEOUT;

    while (!has_processed(fixture, id, least)) {
        assert_true(tseed_clock_monotonic() < deadline);
        apr_sleep(1000);
    }
}

/* Runs until a condition holds, which it does not for ever. */
#define AWAIT(condition)                                                                           \
    for (apr_time_t deadline = tseed_clock_monotonic() + TEST_TIMEOUT; !(condition);) {            \
        assert_true(tseed_clock_monotonic() < deadline);                                           \
        apr_sleep(1000);                                                                           \
    }

static inline int shows_paused(fixture_t *fixture, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(fixture->board, id, &row) && strstr(row.progress.reason, "paused");
}

static inline int unconfirmed(fixture_t *fixture)
{
    apr_array_header_t *ids;

    assert_int_equal(tseed_state_terminations(fixture->state, &ids, fixture->pool), APR_SUCCESS);
    return ids->nelts;
}

/* Runs a statement as somebody else would who has the database's file; whether that worked. What it
 * began and did not commit is undone. */
static inline int sql(fixture_t *fixture, const char *statement)
{
    const char *path = apr_pstrcat(fixture->pool, fixture->dir, "/tileseed.db", NULL);
    const apr_dbd_driver_t *driver;
    apr_dbd_t *database;
    int rows, failed;

    assert_int_equal(apr_dbd_init(fixture->pool), APR_SUCCESS);
    assert_int_equal(apr_dbd_get_driver(fixture->pool, "sqlite3", &driver), APR_SUCCESS);
    assert_int_equal(apr_dbd_open(driver, fixture->pool, path, &database), APR_SUCCESS);
    failed = apr_dbd_query(driver, database, &rows, statement);
    apr_dbd_close(driver, database);
    return !failed;
}

/* Stops the seeder, yet not within a transaction: then everybody else would wait for it. */
static inline int halt(fixture_t *fixture)
{
    int status;

    kill(fixture->seeder, SIGSTOP);
    assert_int_equal(waitpid(fixture->seeder, &status, WUNTRACED), fixture->seeder);
    assert_true(WIFSTOPPED(status));
    if (sql(fixture, "BEGIN IMMEDIATE")) {
        return 1;
    }
    kill(fixture->seeder, SIGCONT);
    return 0;
}

static uint64_t sum_seen;

static inline int add_file(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    char content[65536];
    FILE *file = flag == FTW_F && !strstr(path, "/.tileseed/") ? fopen(path, "r") : NULL;

    (void)info;
    (void)at;
    if (file) {
        sum_seen += tseed_digest(content, fread(content, 1, sizeof(content), file),
                                 tseed_digest(path, strlen(path), 0));
        fclose(file);
    }
    return 0;
}

/* A number that all tiles and their names make up. */
static inline uint64_t sum_of_files(fixture_t *fixture)
{
    sum_seen = 0;
    nftw(fixture->layer->store.root, add_file, 16, FTW_PHYS);
    return sum_seen;
}

static int files_seen;

static inline int count_file(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)info;
    files_seen += flag == FTW_F && path[at->base] != '.' && !strstr(path, "/.tileseed/");
    return 0;
}

static inline int files_below(const char *path)
{
    files_seen = 0;
    nftw(path, count_file, 16, FTW_PHYS);
    return files_seen;
}

static inline int files(fixture_t *fixture)
{
    return files_below(fixture->layer->store.root);
}

/* Web mercator: 1 + 4 + 16 + … tiles, (4^(z+1) - 1) / 3. */
static inline int pyramid(int zoom_stop)
{
    return ((1 << (2 * (zoom_stop + 1))) - 1) / 3;
}

/* ---- tests ---- */

static inline int upstream_setup(void **state)
{
    (void)state;
    apr_initialize();
    upstream_start();
    return 0;
}

static inline int upstream_teardown(void **state)
{
    (void)state;
    upstream_stop();
    apr_terminate();
    return 0;
}

#endif
