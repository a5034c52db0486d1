/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests in the place of the host that works. */
#include "seeder/tseed_helper.h"

#include <apr_strings.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/tseed_digest.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "image/tseed_blank.h"
#include "image/tseed_cutter.h"
#include "image/tseed_pack.h"
#include "seeder/tseed_pack_file.h"
#include "seeder/tseed_portion_result.h"
#include "source/tseed_fetcher.h"
#include "state/tseed_portion_rows.h"
#include "store/tseed_layout.h"
#include "tiling/tseed_margin.h"
#include "work/tseed_portion.h"

#define IDLE_MILLIS      250
#define BUSY_MILLIS      50
#define ANSWER_BYTES_MAX (64 << 20)

/* A row of portions under way; malloc'd. */
typedef struct row_t {
    int64_t giver, number;
    int left;      /* portions that are not finished */
    int is_told;   /* its results are being written */
    int is_wanted; /* 0: the host that works has taken it back */
    int count;
    struct request_t *requests;
    apr_pool_t *pool;
    struct row_t *next;
} row_t;

/* One portion of it. */
typedef struct request_t {
    tseed_transfer_t transfer;
    tseed_portion_t portion;
    row_t *row;
    int index;
    const char *result; /* NULL: not finished */
    const char *pack;   /* its path; NULL: there is none */
    struct request_t *next;
} request_t;

struct tseed_helper_t {
    const tseed_settings_t *settings;
    const tseed_catalog_t *catalog;
    int is_begun;
    int wake; /* readable: there is something for the thread of the database */
    _Atomic int is_over;
    _Atomic int is_silent; /* it has said that it can't write */
    int64_t epoch;
    tseed_fetcher_t *fetcher;

    pthread_mutex_t lock;
    pthread_cond_t has_answer;
    request_t *answers, **answers_end; /* to be cut, under lock */

    /* the thread's of the database */
    apr_pool_t *pool, *scratch;
    tseed_state_t *state;
    row_t *rows; /* under way; their `left`, results and packs are under lock */
    apr_time_t clean_at;
    char said[256]; /* the last reason for which a portion was refused */
};

static void wake(const tseed_helper_t *helper)
{
    static const uint64_t one = 1;

    if (write(helper->wake, &one, sizeof(one)) < 0) {
        /* it is readable already */
    }
}

/* ---- cutting: a thread of its own each ---- */

static tseed_region_t region_of(const tseed_portion_t *portion, int64_t x, int64_t y)
{
    const tseed_gridset_t *gridset = portion->tileset.subset->gridset;
    const tseed_margin_t margin = tseed_margin_of(gridset, &portion->asked, portion->gutter,
                                                  !portion->tileset.layer->gutter_beyond);

    return (tseed_region_t){
        .x = margin.left + (int)(x - portion->asked.minx) * gridset->tile_width,
        .y = margin.top + (int)(portion->asked.maxy - y) * gridset->tile_height,
        .width = gridset->tile_width,
        .height = gridset->tile_height,
    };
}

/* NULL or a sentence. */
static const char *cut_part(tseed_pack_t *pack, tseed_cutter_t *cutter, const request_t *request,
                            const tseed_portion_part_t *part, apr_pool_t *scratch)
{
    const tseed_transfer_t *transfer = &request->transfer;

    tseed_pack_digest(pack, part->seed, tseed_digest(transfer->body, transfer->length, part->seed));
    for (int64_t y = part->wanted.miny; y <= part->wanted.maxy; y++) {
        for (int64_t x = part->wanted.minx; x <= part->wanted.maxx; x++) {
            const tseed_region_t region = region_of(&request->portion, x, y);
            tseed_encoded_t encoded;
            const char *error = tseed_cutter_cut(cutter, &encoded, &region, scratch);

            if (error) {
                return error;
            }
            tseed_pack_add(pack, x, y, &encoded);
        }
    }
    return NULL;
}

static const char *cut(tseed_pack_t *pack, tseed_cutter_t *cutter, const request_t *request,
                       apr_pool_t *scratch)
{
    const tseed_portion_t *portion = &request->portion;
    tseed_answer_t answer = {request->transfer.body, request->transfer.length, portion->width,
                             portion->height};
    const char *error = answer.length == 0 ? tseed_blank_picture(&answer, scratch) : NULL;

    error = error ? error : tseed_cutter_open(cutter, &answer, portion->tileset.format, scratch);
    for (int i = 0; !error && i < portion->parts->nelts; i++) {
        error = cut_part(pack, cutter, request,
                         &APR_ARRAY_IDX(portion->parts, i, tseed_portion_part_t), scratch);
    }
    return error;
}

/* Returns the path of the pack; "": it can't be written, which is said. */
static const char *write_pack(tseed_helper_t *helper, const request_t *request,
                              const tseed_pack_t *pack, apr_pool_t *pool)
{
    const char *name = apr_psprintf(pool, "%" APR_INT64_T_FMT "-%" APR_INT64_T_FMT "-%d",
                                    request->row->giver, request->row->number, request->index);
    const tseed_store_config_t *store = &request->portion.tileset.layer->store;
    size_t length;
    const unsigned char *bytes = tseed_pack_bytes(pack, &length);
    const char *path = tseed_pack_file_write(store, name, bytes, length, pool);
    const int error = errno;

    if (!*path && !atomic_exchange(&helper->is_silent, 1)) {
        tseed_log(TSEED_LOG_WARNING, APR_FROM_OS_ERROR(error),
                  "TS0090: this host can't fetch for the host that works: it can't write into "
                  "%s/" TSEED_PACKS,
                  store->root);
    }
    return path;
}

/* Sets the result of a request whose tiles are in a pack. Path "": there is none. */
static void finish(tseed_helper_t *helper, request_t *request, const char *path)
{
    pthread_mutex_lock(&helper->lock); /* the pool of a row is everybody's */
    if (*path) {
        request->pack = apr_pstrdup(request->row->pool, path);
        request->result = tseed_portion_result_write(&request->transfer, path, request->row->pool);
    } else {
        request->result = tseed_portion_result_refuse();
    }
    request->row->left--;
    pthread_mutex_unlock(&helper->lock);
    wake(helper);
}

/* An answer that is no picture goes over as such; the host that works decides what follows. */
static void cut_answer(tseed_helper_t *helper, tseed_cutter_t *cutter, request_t *request,
                       apr_pool_t *scratch)
{
    tseed_pack_t *pack = tseed_pack_begin();
    const char *error = cut(pack, cutter, request, scratch);
    const char *words = error ? tseed_transfer_words(&request->transfer, scratch) : "";

    if (error) {
        tseed_pack_end(pack);
        pack = tseed_pack_begin();
        tseed_pack_fail(pack, *words ? apr_psprintf(scratch, "%s: %s", error, words) : error);
    }
    finish(helper, request, write_pack(helper, request, pack, scratch));
    tseed_pack_end(pack);
}

static request_t *next_answer(tseed_helper_t *helper)
{
    request_t *request;

    pthread_mutex_lock(&helper->lock);
    while (!helper->answers && !helper->is_over) {
        pthread_cond_wait(&helper->has_answer, &helper->lock);
    }
    request = helper->answers;
    if (request) {
        helper->answers = request->next;
        helper->answers_end = helper->answers ? helper->answers_end : &helper->answers;
    }
    pthread_mutex_unlock(&helper->lock);
    return request;
}

static void *cut_answers(void *data)
{
    tseed_helper_t *helper = data;
    apr_pool_t *scratch = tseed_memory_pool();
    tseed_cutter_t *cutter;
    request_t *request;

    if (tseed_cutter_create(&cutter) != APR_SUCCESS) {
        abort();
    }
    while ((request = next_answer(helper))) {
        cut_answer(helper, cutter, request, scratch);
        apr_pool_clear(scratch);
    }
    tseed_cutter_destroy(cutter);
    apr_pool_destroy(scratch);
    return NULL;
}

/* ---- the fetcher's thread ---- */

static int is_empty_tile(const request_t *request)
{
    const tseed_transfer_t *transfer = &request->transfer;

    return request->portion.tileset.layer->source.missing_is_empty &&
           transfer->result == TSEED_FETCH_FAILED &&
           (transfer->http_status == 404 || transfer->http_status == 204);
}

static void fetched(void *baton, tseed_transfer_t *transfer)
{
    tseed_helper_t *helper = baton;
    request_t *request = transfer->baton;

    if (is_empty_tile(request)) {
        transfer->result = TSEED_FETCH_OK;
        transfer->length = 0;
        transfer->next_condition[0] = '\0';
    }
    pthread_mutex_lock(&helper->lock);
    if (transfer->result == TSEED_FETCH_OK) {
        request->next = NULL;
        *helper->answers_end = request;
        helper->answers_end = &request->next;
        pthread_cond_signal(&helper->has_answer);
    } else {
        request->result = transfer->result == TSEED_FETCH_CANCELLED
                              ? tseed_portion_result_refuse()
                              : tseed_portion_result_write(transfer, "", request->row->pool);
        request->row->left--;
    }
    pthread_mutex_unlock(&helper->lock);
    wake(helper);
}

/* ---- rows: the thread of the database ---- */

/* An administrator can do something about it. */
static void say_why(tseed_helper_t *helper, const char *problem)
{
    if (strcmp(helper->said, problem) != 0) {
        apr_cpystrn(helper->said, problem, sizeof(helper->said));
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0088: this host can't fetch for the host that works: %s; give all hosts the "
                  "same configuration",
                  problem);
    }
}

/* Returns whether the portion can be done here. */
static int prepare_request(tseed_helper_t *helper, request_t *request, const char *text)
{
    tseed_transfer_t *transfer = &request->transfer;
    const char *problem =
        tseed_portion_read(&request->portion, text, helper->catalog, request->row->pool);

    if (problem) {
        say_why(helper, problem);
        return 0;
    }
    transfer->url = request->portion.url;
    transfer->upstream =
        request->portion.tileset.layer->source.addresses[request->portion.address].upstream;
    transfer->owner = request->row;
    transfer->condition = request->portion.condition;
    transfer->weight = request->portion.weight;
    transfer->most = ANSWER_BYTES_MAX;
    transfer->may_go_elsewhere = request->portion.tileset.layer->source.count > 1;
    transfer->baton = request;
    return 1;
}

static int lines_of(const char *text)
{
    int count = 0;

    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

/* From now on other threads use the pool of the row, under the lock. */
static void submit(tseed_helper_t *helper, row_t *row)
{
    for (int i = 0; i < row->count; i++) {
        request_t *request = &row->requests[i];

        if (request->transfer.url) {
            tseed_fetcher_submit(helper->fetcher, &request->transfer);
        }
    }
}

static void begin_row(tseed_helper_t *helper, const tseed_portion_row_t *given)
{
    row_t *row = tseed_memory_get(sizeof(*row));
    char *last = NULL, *text, *line;

    *row = (row_t){.giver = given->giver,
                   .number = given->number,
                   .is_wanted = 1,
                   .count = lines_of(given->requests),
                   .left = lines_of(given->requests),
                   .pool = tseed_memory_pool(),
                   .next = helper->rows};
    helper->rows = row;
    row->requests = apr_pcalloc(row->pool, (size_t)row->count * sizeof(request_t));
    text = apr_pstrdup(row->pool, given->requests);
    line = apr_strtok(text, "\n", &last);
    for (int i = 0; i < row->count; i++, line = apr_strtok(NULL, "\n", &last)) {
        request_t *request = &row->requests[i];

        request->row = row;
        request->index = i;
        if (!prepare_request(helper, request, line ? line : "")) {
            request->result = tseed_portion_result_refuse();
            row->left--;
        }
    }
    submit(helper, row);
}

/* The row under way that another row is, or NULL. */
static row_t *find_row(const tseed_helper_t *helper, const tseed_portion_row_t *given)
{
    row_t *row = helper->rows;

    while (row && (row->giver != given->giver || row->number != given->number)) {
        row = row->next;
    }
    return row;
}

/* Ends the requests of rows that are not in the table any more. */
static void end_unwanted(tseed_helper_t *helper)
{
    for (row_t *row = helper->rows; row; row = row->next) {
        if (!row->is_wanted) {
            tseed_fetcher_cancel(helper->fetcher, row);
        }
    }
}

static apr_status_t take_rows(tseed_helper_t *helper)
{
    apr_array_header_t *rows;
    apr_status_t rv =
        tseed_portion_rows_given(helper->state, &rows, helper->epoch, helper->scratch);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    for (row_t *row = helper->rows; row; row = row->next) {
        row->is_wanted = 0;
    }
    for (int i = 0; i < rows->nelts; i++) {
        const tseed_portion_row_t *given = &APR_ARRAY_IDX(rows, i, tseed_portion_row_t);
        row_t *row = find_row(helper, given);

        if (row) {
            row->is_wanted = 1;
        } else {
            begin_row(helper, given);
        }
    }
    end_unwanted(helper);
    return APR_SUCCESS;
}

static int is_finished(tseed_helper_t *helper, const row_t *row)
{
    int left;

    pthread_mutex_lock(&helper->lock);
    left = row->left;
    pthread_mutex_unlock(&helper->lock);
    return left == 0;
}

/* The host that works removes the packs of a row that was told. */
static void free_row(row_t *row)
{
    for (int i = 0; i < row->count; i++) {
        free(row->requests[i].transfer.body);
        if (row->requests[i].pack && !row->is_told) {
            unlink(row->requests[i].pack);
        }
    }
    apr_pool_destroy(row->pool);
    free(row);
}

static const char *results_of(const row_t *row, apr_pool_t *pool)
{
    apr_array_header_t *lines = apr_array_make(pool, row->count, sizeof(char *));

    for (int i = 0; i < row->count; i++) {
        APR_ARRAY_PUSH(lines, const char *) = row->requests[i].result;
    }
    return apr_array_pstrcat(pool, lines, '\n');
}

static void add_told(apr_array_header_t *rows, row_t *row)
{
    row->is_told = 1;
    *(tseed_portion_row_t *)apr_array_push(rows) = (tseed_portion_row_t){
        .giver = row->giver, .number = row->number, .results = results_of(row, rows->pool)};
}

/* Nobody wants the packs of a row that had gone. */
static void note_gone(const tseed_helper_t *helper, const apr_array_header_t *rows)
{
    for (int i = 0; i < rows->nelts; i++) {
        const tseed_portion_row_t *told = &APR_ARRAY_IDX(rows, i, tseed_portion_row_t);
        row_t *row = find_row(helper, told);

        row->is_told = !told->is_gone;
        row->is_wanted = !told->is_gone;
    }
}

static void forget_finished(tseed_helper_t *helper)
{
    row_t **link = &helper->rows;

    while (*link) {
        row_t *row = *link;

        if (row->is_told || (!row->is_wanted && is_finished(helper, row))) {
            *link = row->next;
            free_row(row);
        } else {
            link = &row->next;
        }
    }
}

/* Writes down what has become of rows that are finished, and forgets them. */
static apr_status_t finish_rows(tseed_helper_t *helper)
{
    apr_array_header_t *rows = apr_array_make(helper->scratch, 4, sizeof(tseed_portion_row_t));
    apr_status_t rv;

    for (row_t *row = helper->rows; row; row = row->next) {
        if (row->is_wanted && is_finished(helper, row)) {
            add_told(rows, row);
        }
    }
    rv = tseed_portion_rows_finish(helper->state, rows);
    if (rv == APR_SUCCESS) {
        note_gone(helper, rows);
        forget_finished(helper);
    }
    return rv;
}

static void turn(tseed_helper_t *helper)
{
    const tseed_settings_t *settings = helper->settings;
    apr_status_t rv = APR_SUCCESS;

    if (!helper->state) {
        rv = tseed_state_open(&helper->state, settings->state_dir, settings->db_driver,
                              settings->db_params, helper->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = finish_rows(helper);
    }
    if (rv == APR_SUCCESS) {
        take_rows(helper);
    }
}

static void wait_for_turn(const tseed_helper_t *helper)
{
    struct pollfd fd = {.fd = helper->wake, .events = POLLIN};
    uint64_t count;

    if (poll(&fd, 1, helper->rows ? BUSY_MILLIS : IDLE_MILLIS) > 0 &&
        read(helper->wake, &count, sizeof(count)) < 0) {
        /* another wake-up comes */
    }
}

static void *run(void *data)
{
    tseed_helper_t *helper = data;

    while (!helper->is_over) {
        turn(helper);
        tseed_pack_files_clean(&helper->clean_at, 0, helper->catalog, helper->scratch);
        apr_pool_clear(helper->scratch);
        wait_for_turn(helper);
    }
    for (const row_t *row = helper->rows; row; row = row->next) {
        tseed_fetcher_cancel(helper->fetcher, row);
    }
    return NULL; /* rows and threads go with the process, which works from now on or ends */
}

/* ---- the module ---- */

tseed_helper_t *tseed_helper_create(const tseed_settings_t *settings,
                                    const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    tseed_helper_t *helper = apr_pcalloc(pool, sizeof(*helper));

    helper->settings = settings;
    helper->catalog = catalog;
    return helper;
}

static int begin_thread(void *(*begin)(void *data), tseed_helper_t *helper)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, begin, helper) == 0 && pthread_detach(thread) == 0;
}

void tseed_helper_begin(tseed_helper_t *helper, int64_t epoch)
{
    if (helper->is_begun) {
        return;
    }
    helper->epoch = epoch;
    helper->answers_end = &helper->answers;
    helper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    helper->pool = tseed_memory_pool();
    apr_pool_create(&helper->scratch, helper->pool);
    pthread_mutex_init(&helper->lock, NULL);
    pthread_cond_init(&helper->has_answer, NULL);
    helper->is_begun = helper->wake >= 0 && tseed_fetcher_create(&helper->fetcher, fetched, helper,
                                                                 helper->pool) == APR_SUCCESS;
    for (int i = 0; helper->is_begun && i < helper->settings->workers; i++) {
        helper->is_begun = begin_thread(cut_answers, helper);
    }
    helper->is_begun = helper->is_begun && begin_thread(run, helper);
}

void tseed_helper_end(tseed_helper_t *helper)
{
    if (helper->is_begun) {
        helper->is_over = 1;
        wake(helper);
        pthread_mutex_lock(&helper->lock);
        pthread_cond_broadcast(&helper->has_answer);
        pthread_mutex_unlock(&helper->lock);
    }
}
