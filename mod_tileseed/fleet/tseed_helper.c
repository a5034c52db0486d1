/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests in the place of the host that works: sent, cut, and given back. */
#include "fleet/tseed_helper.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "base/tseed_thread.h"
#include "image/tseed_cutter.h"
#include "fleet/tseed_pack.h"
#include "fleet/tseed_errands.h"
#include "source/tseed_fetcher.h"
#include "source/tseed_source.h"
#include "fleet/tseed_fleet_rows.h"
#include "store/tseed_layout.h"
#include "work/tseed_job_cut.h"
#include "fleet/tseed_portion.h"

/* The threads of the helper that cut: each takes an answer of an upstream, cuts the tiles that the
 * host that works wants, and writes them into a pack.
 */

/* Cutting in the place of the host that works. */

/* A portion that the helper carries out. One thread at a time has it. */
typedef struct tseed_helper_request_t {
    tseed_transfer_t transfer;
    tseed_portion_t portion;
    tseed_pack_name_t name;
    tseed_portion_outcome_t outcome; /* when it is finished */
    int has_pack;
    struct tseed_helper_row_t *row;
    struct tseed_helper_request_t *next;
} tseed_helper_request_t;

typedef struct {
    /* Takes a request whose outcome is set. A thread that cuts calls it without any lock. */
    void (*finish)(void *baton, tseed_helper_request_t *request);
    void *baton;

    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    tseed_helper_request_t *first, **end; /* answers that wait, under lock */
    int64_t decoding;                     /* pixels of the answers that are being cut, likewise */
    int is_over;                          /* likewise */
    int has_said_why;                     /* that it can't write, likewise */
} tseed_helper_cut_t;

/* The host that works chooses the sizes of requests by its own number of workers. Here as many
 * answers are decoded at once as have so many pixels, or one. */
#define PIXELS_MOST (128 << 20)

/* ---- a request ---- */

/* NULL or a sentence. */
static const char *cut_part(tseed_pack_t *pack, tseed_cutter_t *cutter,
                            const tseed_helper_request_t *request, const tseed_portion_part_t *part,
                            apr_pool_t *scratch)
{
    const tseed_transfer_t *transfer = &request->transfer;
    const tseed_portion_t *portion = &request->portion;

    tseed_pack_digest(pack, part->seed, tseed_digest(transfer->body, transfer->length, part->seed));
    for (int64_t y = part->wanted.miny; y <= part->wanted.maxy; y++) {
        for (int64_t x = part->wanted.minx; x <= part->wanted.maxx; x++) {
            const tseed_region_t region =
                tseed_job_region(&portion->tileset, &portion->asked, portion->gutter, x, y);
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

static const char *cut_all(tseed_pack_t *pack, tseed_cutter_t *cutter,
                           const tseed_helper_request_t *request, apr_pool_t *scratch)
{
    const tseed_portion_t *portion = &request->portion;
    const tseed_transfer_t *transfer = &request->transfer;
    const tseed_answer_t answer = {transfer->body, transfer->length, portion->width,
                                   portion->height};
    const char *error = tseed_job_open(cutter, answer, portion->tileset.format, scratch);

    for (int i = 0; !error && i < portion->parts->nelts; i++) {
        error = cut_part(pack, cutter, request,
                         &APR_ARRAY_IDX(portion->parts, i, tseed_portion_part_t), scratch);
    }
    return error;
}

/* An administrator can do something about it. */
static void helper_cut_say_why(tseed_helper_cut_t *cut, const char *root, apr_status_t rv)
{
    int is_said;

    pthread_mutex_lock(&cut->lock);
    is_said = cut->has_said_why;
    cut->has_said_why = rv != APR_SUCCESS;
    pthread_mutex_unlock(&cut->lock);
    if (rv != APR_SUCCESS && !is_said) {
        tseed_log(TSEED_LOG_WARNING, rv,
                  "TS0090: this host can't fetch for the host that works: it can't write into "
                  "%s/" TSEED_PACKS,
                  root);
    }
}

/* Writes the pack of a request. */
static void write_pack(tseed_helper_cut_t *cut, tseed_helper_request_t *request,
                       const tseed_pack_t *pack, apr_pool_t *scratch)
{
    const tseed_store_config_t *store = &request->portion.tileset.layer->store;
    size_t length;
    const unsigned char *bytes = tseed_pack_bytes(pack, &length);
    const apr_status_t rv = tseed_pack_file_write(store, &request->name, bytes, length, scratch);

    helper_cut_say_why(cut, store->root, rv);
    if (rv != APR_SUCCESS) {
        tseed_text_fit(
            request->transfer.cause, sizeof(request->transfer.cause),
            apr_psprintf(scratch, "can't write into %s/" TSEED_PACKS " (%pm)", store->root, &rv));
    }
    request->has_pack = rv == APR_SUCCESS;
    request->outcome = request->has_pack ? TSEED_PORTION_OK : TSEED_PORTION_REFUSED;
}

static void carry_out(tseed_helper_cut_t *cut, tseed_cutter_t *cutter,
                      tseed_helper_request_t *request, apr_pool_t *scratch)
{
    tseed_transfer_t *transfer = &request->transfer;
    tseed_pack_t *pack = tseed_pack_begin();
    const char *error = cut_all(pack, cutter, request, scratch);
    const char *words = error ? tseed_transfer_words(transfer, scratch) : "";

    if (error) {
        tseed_text_fit(transfer->cause, sizeof(transfer->cause),
                       *words ? apr_psprintf(scratch, "%s: %s", error, words) : error);
        request->outcome = TSEED_PORTION_FAILED;
    } else {
        write_pack(cut, request, pack, scratch);
    }
    tseed_pack_end(pack);
    free(transfer->body); /* the row may wait long for its others */
    transfer->body = NULL;
    transfer->length = transfer->capacity = 0;
}

/* ---- the threads ---- */

static int64_t pixels_of(const tseed_helper_request_t *request)
{
    return (int64_t)request->portion.width * request->portion.height;
}

/* Under lock. */
static int may_begin(const tseed_helper_cut_t *cut)
{
    return cut->first &&
           (cut->decoding == 0 || cut->decoding + pixels_of(cut->first) <= PIXELS_MOST);
}

/* NULL: it is over. */
static tseed_helper_request_t *next_request(tseed_helper_cut_t *cut)
{
    tseed_helper_request_t *request = NULL;

    pthread_mutex_lock(&cut->lock);
    while (!cut->is_over && !may_begin(cut)) {
        pthread_cond_wait(&cut->has_changed, &cut->lock);
    }
    if (!cut->is_over) {
        request = cut->first;
        cut->first = request->next;
        cut->end = cut->first ? cut->end : &cut->first;
        cut->decoding += pixels_of(request);
    }
    pthread_mutex_unlock(&cut->lock);
    return request;
}

static void note_end(tseed_helper_cut_t *cut, int64_t pixels)
{
    pthread_mutex_lock(&cut->lock);
    cut->decoding -= pixels;
    pthread_cond_broadcast(&cut->has_changed);
    pthread_mutex_unlock(&cut->lock);
}

static void *helper_cut_run(void *data)
{
    tseed_helper_cut_t *cut = data;
    apr_pool_t *scratch = tseed_memory_pool();
    tseed_cutter_t *cutter;
    tseed_helper_request_t *request;

    if (tseed_cutter_create(&cutter) != APR_SUCCESS) {
        abort();
    }
    while ((request = next_request(cut))) {
        const int64_t pixels = pixels_of(request);

        carry_out(cut, cutter, request, scratch);
        cut->finish(cut->baton, request);
        note_end(cut, pixels);
        apr_pool_clear(scratch);
    }
    tseed_cutter_destroy(cutter);
    apr_pool_destroy(scratch);
    return NULL;
}

/* Begins so many threads. Returns how many there are. */
static int helper_cut_begin(tseed_helper_cut_t *cut, int threads)
{
    int count = 0;

    cut->end = &cut->first;
    pthread_mutex_init(&cut->lock, NULL);
    pthread_cond_init(&cut->has_changed, NULL);
    for (int i = 0; i < threads; i++) {
        count += tseed_thread_begin(helper_cut_run, cut) == APR_SUCCESS;
    }
    return count;
}

/* Hands in a request whose transfer is OK. Any thread. */
static void helper_cut_put(tseed_helper_cut_t *cut, tseed_helper_request_t *request)
{
    request->next = NULL;
    pthread_mutex_lock(&cut->lock);
    *cut->end = request;
    cut->end = &request->next;
    pthread_cond_broadcast(&cut->has_changed);
    pthread_mutex_unlock(&cut->lock);
}

/* Ends the threads soon. What waits stays where it is. */
static void helper_cut_end(tseed_helper_cut_t *cut)
{
    pthread_mutex_lock(&cut->lock);
    cut->is_over = 1;
    pthread_cond_broadcast(&cut->has_changed);
    pthread_mutex_unlock(&cut->lock);
}

#define IDLE (250 * 1000) /* microseconds between two looks for rows */
#define BUSY (50 * 1000)  /* likewise, when half of what the last look found is finished */

#define FAILED    (500 * 1000) /* microseconds to wait when the database has failed */
#define SAY_EVERY (60 * APR_USEC_PER_SEC)

/* A row of portions under way; malloc'd. */
typedef struct tseed_helper_row_t {
    int64_t giver, number;
    int left;       /* portions that are not finished; under lock */
    int has_failed; /* one of them: the others are not waited for; under lock */
    int is_ended;   /* those that are left have been taken back */
    int is_told;    /* its results are written, so the host that works removes its packs */
    int is_wanted;  /* 0: it has left the table */
    int count;
    tseed_helper_request_t *requests;
    apr_pool_t *pool;
    struct tseed_helper_row_t *next;
} row_t;

struct tseed_helper_t {
    const tseed_settings_t *settings;
    const tseed_catalog_t *catalog;
    int is_begun, is_helping;
    int wake; /* readable: there is something for the thread of the database */
    _Atomic int is_over;
    int64_t epoch;
    tseed_fetcher_t *fetcher;
    tseed_helper_cut_t cut;
    pthread_mutex_t lock;

    /* used by the thread of the database alone */
    apr_pool_t *pool, *scratch;
    tseed_state_t *state;
    row_t *rows;        /* under way */
    apr_time_t looked;  /* for rows, monotonic */
    int had;            /* portions that were not finished then */
    char said[256];     /* the last reason for which a portion was refused */
    apr_time_t said_at; /* monotonic */
};

/* ---- what is finished: the threads of the fetcher and of the cutters ---- */

static void finish(void *baton, tseed_helper_request_t *request)
{
    tseed_helper_t *helper = baton;

    pthread_mutex_lock(&helper->lock);
    request->row->left--;
    request->row->has_failed |= request->outcome == TSEED_PORTION_FAILED;
    pthread_mutex_unlock(&helper->lock);
    tseed_thread_ring(helper->wake);
}

static void fetched(void *baton, tseed_transfer_t *transfer)
{
    tseed_helper_t *helper = baton;
    tseed_helper_request_t *request = transfer->baton;

    tseed_source_settle(&request->portion.tileset.layer->source, transfer);
    switch (transfer->result) {
    case TSEED_FETCH_OK:
        helper_cut_put(&helper->cut, request);
        return;
    case TSEED_FETCH_UNCHANGED:
        request->outcome = TSEED_PORTION_UNCHANGED;
        break;
    case TSEED_FETCH_CANCELLED:
        request->outcome = TSEED_PORTION_UNDONE;
        break;
    case TSEED_FETCH_FAILED:
    case TSEED_FETCH_AWAY:
        request->outcome = TSEED_PORTION_FAILED;
        break;
    }
    finish(helper, request);
}

/* ---- rows ---- */

/* An administrator can do something about it. The same reason is told once a minute at most. */
static void say_why(tseed_helper_t *helper, tseed_transfer_t *transfer, const char *problem)
{
    const apr_time_t now = tseed_clock_monotonic();

    tseed_text_fit(transfer->cause, sizeof(transfer->cause), problem);
    if (strcmp(helper->said, problem) != 0 || now > helper->said_at + SAY_EVERY) {
        helper->said_at = now;
        apr_cpystrn(helper->said, problem, sizeof(helper->said));
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0088: this host can't fetch for the host that works: %s; give all hosts the "
                  "same module and configuration",
                  problem);
    }
}

/* Returns whether the portion can be done here. */
static int prepare_request(tseed_helper_t *helper, tseed_helper_request_t *request,
                           const char *text)
{
    tseed_transfer_t *transfer = &request->transfer;
    const tseed_portion_t *portion = &request->portion;
    const char *problem =
        tseed_portion_read(&request->portion, text, helper->catalog, request->row->pool);

    if (problem) {
        say_why(helper, transfer, problem);
        return 0;
    }
    transfer->url = portion->url;
    transfer->upstream = portion->tileset.layer->source.addresses[portion->address].upstream;
    transfer->owner = request->row;
    transfer->turn_of = helper; /* rows are finished in the order in which they came */
    transfer->condition = portion->condition;
    transfer->weight = portion->weight;
    transfer->most = tseed_source_most(portion->width, portion->height);
    transfer->may_go_elsewhere = 1; /* the host that works can ask for it itself */
    transfer->baton = request;
    return 1;
}

/* From now on other threads have requests of the row. */
static void submit(tseed_helper_t *helper, row_t *row)
{
    for (int i = 0; i < row->count; i++) {
        if (row->requests[i].transfer.url) {
            tseed_fetcher_submit(helper->fetcher, &row->requests[i].transfer);
        }
    }
}

static void begin_row(tseed_helper_t *helper, const tseed_portion_row_t *given)
{
    row_t *row = tseed_memory_get(sizeof(*row));
    const int count = tseed_portion_lines(given->requests);
    char *line = NULL;

    *row = (row_t){.giver = given->giver,
                   .number = given->number,
                   .is_wanted = 1,
                   .count = count < TSEED_PORTIONS_IN_ROW ? count : TSEED_PORTIONS_IN_ROW,
                   .pool = tseed_memory_pool(),
                   .next = helper->rows};
    helper->rows = row;
    row->requests = apr_pcalloc(row->pool, TSEED_PORTIONS_IN_ROW * sizeof(row->requests[0]));
    line = apr_pstrdup(row->pool, given->requests);
    for (int i = 0; i < row->count; i++) {
        tseed_helper_request_t *request = &row->requests[i];
        char *end = strchr(line, '\n');

        *end = '\0';
        request->row = row;
        request->name = (tseed_pack_name_t){given->giver, given->number, i};
        request->outcome = TSEED_PORTION_REFUSED;
        row->left += prepare_request(helper, request, line);
        line = end + 1;
    }
    submit(helper, row);
}

/* Finds the row under way with the giver and number of `given`. NULL: there is none. */
static row_t *find_row(const tseed_helper_t *helper, const tseed_portion_row_t *given)
{
    row_t *row = helper->rows;

    while (row && (row->giver != given->giver || row->number != given->number)) {
        row = row->next;
    }
    return row;
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
    return APR_SUCCESS;
}

static void read_progress(tseed_helper_t *helper, const row_t *row, int *is_finished,
                          int *has_failed)
{
    pthread_mutex_lock(&helper->lock);
    *is_finished = row->left == 0;
    *has_failed = row->has_failed;
    pthread_mutex_unlock(&helper->lock);
}

/* Takes back the requests of rows that have left the table, and of those in which one has failed:
 * the host that works has to know at once. */
static void end_rows(tseed_helper_t *helper)
{
    for (row_t *row = helper->rows; row; row = row->next) {
        int is_finished, has_failed;

        read_progress(helper, row, &is_finished, &has_failed);
        if ((has_failed || !row->is_wanted) && !row->is_ended && !is_finished) {
            row->is_ended = 1;
            tseed_fetcher_cancel(helper->fetcher, row);
        }
    }
}

static void free_row(row_t *row, apr_pool_t *scratch)
{
    for (int i = 0; i < row->count; i++) {
        tseed_helper_request_t *request = &row->requests[i];

        free(request->transfer.body);
        if (request->has_pack && !row->is_told) {
            tseed_pack_file_remove(&request->portion.tileset.layer->store, &request->name, scratch);
        }
    }
    apr_pool_destroy(row->pool);
    free(row);
}

/* A row without a line is refused as a whole. */
static const char *results_of(const row_t *row, apr_pool_t *pool)
{
    static const tseed_transfer_t nothing = {.cause = "a row without requests"};
    const apr_time_t now = tseed_clock_monotonic();
    apr_array_header_t *lines = apr_array_make(pool, TSEED_PORTIONS_IN_ROW, sizeof(char *));

    for (int i = 0; i < row->count; i++) {
        const tseed_helper_request_t *request = &row->requests[i];

        APR_ARRAY_PUSH(lines, const char *) =
            tseed_portion_result_write(request->outcome, &request->transfer, now, pool);
    }
    return row->count > 0 ? apr_array_pstrcat(pool, lines, '\n')
                          : tseed_portion_result_write(TSEED_PORTION_REFUSED, &nothing, now, pool);
}

static void note_told(const tseed_helper_t *helper, const apr_array_header_t *rows)
{
    for (int i = 0; i < rows->nelts; i++) {
        const tseed_portion_row_t *told = &APR_ARRAY_IDX(rows, i, tseed_portion_row_t);
        row_t *row = find_row(helper, told);

        row->is_told = !told->is_gone;
        row->is_wanted = 0;
    }
}

/* Removes the finished rows that nobody wants to hear of any more. */
static void forget_rows(tseed_helper_t *helper)
{
    row_t **link = &helper->rows;

    while (*link) {
        row_t *row = *link;
        int is_finished, has_failed;

        read_progress(helper, row, &is_finished, &has_failed);
        if (is_finished && !row->is_wanted) {
            *link = row->next;
            free_row(row, helper->scratch);
        } else {
            link = &row->next;
        }
    }
}

/* Writes down what has become of rows that are finished, and forgets them. */
static apr_status_t tell_rows(tseed_helper_t *helper)
{
    apr_array_header_t *rows = apr_array_make(helper->scratch, 4, sizeof(tseed_portion_row_t));
    apr_status_t rv;

    for (row_t *row = helper->rows; row; row = row->next) {
        int is_finished, has_failed;

        read_progress(helper, row, &is_finished, &has_failed);
        if (row->is_wanted && is_finished) {
            *(tseed_portion_row_t *)apr_array_push(rows) =
                (tseed_portion_row_t){.giver = row->giver,
                                      .epoch = helper->epoch,
                                      .number = row->number,
                                      .results = results_of(row, helper->scratch)};
        }
    }
    rv = tseed_portion_rows_finish(helper->state, rows);
    if (rv == APR_SUCCESS) {
        note_told(helper, rows);
        forget_rows(helper);
    }
    return rv;
}

/* ---- the thread of the database ---- */

static int count_left(tseed_helper_t *helper)
{
    int count = 0;

    pthread_mutex_lock(&helper->lock);
    for (const row_t *row = helper->rows; row; row = row->next) {
        count += row->left;
    }
    pthread_mutex_unlock(&helper->lock);
    return count;
}

/* A host with enough to do is in no hurry: looks of a hundred hosts would keep half a core of
 * PostgreSQL busy. */
static apr_interval_time_t look_every(tseed_helper_t *helper)
{
    return helper->had > 0 && 2 * count_left(helper) <= helper->had ? BUSY : IDLE;
}

static apr_status_t look(tseed_helper_t *helper, apr_time_t now)
{
    const apr_status_t rv = take_rows(helper);

    helper->looked = now;
    helper->had = count_left(helper);
    return rv;
}

static apr_status_t turn(tseed_helper_t *helper)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_status_t rv = tseed_state_ready(&helper->state, helper->settings, helper->pool);

    end_rows(helper);
    if (rv == APR_SUCCESS) {
        rv = tell_rows(helper);
    }
    if (rv == APR_SUCCESS && now >= helper->looked + look_every(helper)) {
        rv = look(helper, now);
    }
    return rv;
}

static void wait_for_turn(const tseed_helper_t *helper, apr_interval_time_t most)
{
    struct pollfd fd = {.fd = helper->wake, .events = POLLIN};
    uint64_t count;

    if (poll(&fd, 1, (int)(most / 1000)) > 0 && read(helper->wake, &count, sizeof(count)) < 0) {
        /* another wake-up comes */
    }
}

static void *run(void *data)
{
    tseed_helper_t *helper = data;

    while (!helper->is_over) {
        if (turn(helper) != APR_SUCCESS) {
            usleep(FAILED);
        }
        apr_pool_clear(helper->scratch);
        wait_for_turn(helper, helper->rows ? BUSY : IDLE);
    }
    tseed_fetcher_destroy(helper->fetcher);
    if (helper->state) {
        tseed_state_close(helper->state);
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

/* Returns whether all threads that are needed are there. */
static int begin_threads(tseed_helper_t *helper)
{
    return helper->wake >= 0 &&
           tseed_fetcher_create(&helper->fetcher, fetched, helper, helper->pool) == APR_SUCCESS &&
           helper_cut_begin(&helper->cut, helper->settings->workers) > 0 &&
           tseed_thread_begin(run, helper) == APR_SUCCESS;
}

void tseed_helper_begin(tseed_helper_t *helper, int64_t epoch)
{
    if (helper->is_begun) {
        return;
    }
    helper->is_begun = 1;
    helper->epoch = epoch;
    helper->wake = tseed_thread_bell();
    helper->pool = tseed_memory_pool();
    apr_pool_create(&helper->scratch, helper->pool);
    pthread_mutex_init(&helper->lock, NULL);
    helper->cut.finish = finish;
    helper->cut.baton = helper;
    helper->is_helping = begin_threads(helper);
    if (!helper->is_helping) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0091: this host can't fetch for the host that works: the system has no "
                  "threads for it");
    }
}

void tseed_helper_end(tseed_helper_t *helper)
{
    if (helper->is_helping) {
        helper->is_over = 1;
        tseed_thread_ring(helper->wake);
        helper_cut_end(&helper->cut);
    }
}
