/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests in the place of the host that works. */
#include "seeder/tseed_helper.h"

#include <apr_strings.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "seeder/tseed_helper_cut.h"
#include "source/tseed_fetcher.h"
#include "source/tseed_source.h"
#include "state/tseed_portion_rows.h"

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

static void wake(const tseed_helper_t *helper)
{
    static const uint64_t one = 1;

    if (write(helper->wake, &one, sizeof(one)) < 0) {
        /* it is readable already */
    }
}

/* ---- what is finished: the threads of the fetcher and of the cutters ---- */

static void finish(void *baton, tseed_helper_request_t *request)
{
    tseed_helper_t *helper = baton;

    pthread_mutex_lock(&helper->lock);
    request->row->left--;
    request->row->has_failed |= request->outcome == TSEED_PORTION_FAILED;
    pthread_mutex_unlock(&helper->lock);
    wake(helper);
}

static void fetched(void *baton, tseed_transfer_t *transfer)
{
    tseed_helper_t *helper = baton;
    tseed_helper_request_t *request = transfer->baton;

    tseed_source_settle(&request->portion.tileset.layer->source, transfer);
    switch (transfer->result) {
    case TSEED_FETCH_OK:
        tseed_helper_cut_put(&helper->cut, request);
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

static apr_status_t open_state(tseed_helper_t *helper)
{
    const tseed_settings_t *settings = helper->settings;

    return helper->state ? APR_SUCCESS
                         : tseed_state_open(&helper->state, settings->state_dir,
                                            settings->db_driver, settings->db_params, helper->pool);
}

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
    apr_status_t rv = open_state(helper);

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
    pthread_t thread;

    return helper->wake >= 0 &&
           tseed_fetcher_create(&helper->fetcher, fetched, helper, helper->pool) == APR_SUCCESS &&
           tseed_helper_cut_begin(&helper->cut, helper->settings->workers) > 0 &&
           pthread_create(&thread, NULL, run, helper) == 0 && pthread_detach(thread) == 0;
}

void tseed_helper_begin(tseed_helper_t *helper, int64_t epoch)
{
    if (helper->is_begun) {
        return;
    }
    helper->is_begun = 1;
    helper->epoch = epoch;
    helper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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
        wake(helper);
        tseed_helper_cut_end(&helper->cut);
    }
}
