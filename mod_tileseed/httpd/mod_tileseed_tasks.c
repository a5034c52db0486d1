/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handlers of the requests that GeoWebCache has, too: seed, list, terminate.
 *
 * A change is committed to the state database first, then announced to the seeder. Lists come from
 * the board as long as the board shows everything that was committed. Otherwise, and always where
 * other hosts may commit as well, lists come from the database; each task has the higher count of
 * board and database, so that no client reads less than before.
 */
#include <apr_strings.h>
#include <httpd.h>
#include <http_log.h>
#include <stdlib.h>
#include <string.h>

#include "board/tseed_board.h"
#include "mod_tileseed.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_answer.h"
#include "protocol/tseed_seed_request.h"

APLOG_USE_MODULE(tileseed);

/* ---- seed ---- */

/* Puts the warning about an accepted request into the answer and into the log. */
static void warn(const tseed_rest_t *rest, const tseed_task_t *task, const char *warning)
{
    request_rec *r = rest->r;

    if (warning) {
        tseed_reply_warn(r, warning);
        ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, "TS0058: task %" APR_INT64_T_FMT ": %s",
                      task->id, tseed_escape_plain(warning, r->pool));
    }
}

/* Judges a document for the route's layer and records its task. DECLINED: the answer's body is
 * still to be sent. */
static int accept_document(tseed_rest_t *rest, tseed_task_t *task,
                           const tseed_seed_document_t *document)
{
    request_rec *r = rest->r;
    tseed_tileset_t tileset;
    const char *error =
        tseed_seed_document_resolve(task, &tileset, document, tseed_rest_find_layer(rest), r->pool);
    int status;

    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    status = tseed_rest_accept(rest, task, NULL);
    if (status == DECLINED) {
        warn(rest, task, tseed_seed_document_warning(document, task, &tileset, r->pool));
    }
    return status;
}

static int seed(tseed_rest_t *rest, tseed_format_of_body_t format)
{
    request_rec *r = rest->r;
    tseed_seed_document_t document;
    tseed_task_t task;
    const char *error;
    int status;

    if (!tseed_rest_find_layer(rest)) {
        return tseed_rest_unknown_layer(rest);
    }
    error = tseed_seed_document_read(&document, format, rest->body, rest->length, r->pool);
    if (!error) {
        error = tseed_form_add_query(&document, r->args, r->pool);
    }
    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    status = accept_document(rest, &task, &document);
    return status == DECLINED ? tseed_reply_send(r, HTTP_OK, "text/plain" TSEED_LATIN1, "")
                              : status;
}

static int handle_seed(tseed_rest_t *rest)
{
    return seed(rest, rest->route.format);
}

/* `form` is the body; NULL: the fields stand in the query. */
static int seed_form(tseed_rest_t *rest, const apr_table_t *form)
{
    request_rec *r = rest->r;
    tseed_seed_document_t document;
    tseed_task_t task;
    const char *address, *error;
    int status;

    if (!tseed_rest_find_layer(rest)) {
        return tseed_rest_unknown_layer(rest);
    }
    error = form ? tseed_form_seed(&document, form, r->pool)
                 : tseed_form_query(&document, r->args, r->pool);
    if (!error && form) {
        error = tseed_form_add_query(&document, r->args, r->pool);
    }
    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    status = accept_document(rest, &task, &document);
    if (status != DECLINED) {
        return status;
    }
    address = apr_psprintf(r->pool, "%s/tasks/%" APR_INT64_T_FMT ".json",
                           tseed_public_path(rest->dir, rest->base, r->pool), task.id);
    return tseed_reply_send(r, HTTP_OK, "text/html" TSEED_LATIN1,
                            tseed_answer_seed(&task, address, r->pool));
}

/* ---- list ---- */

static tseed_status_row_t row_of(const tseed_row_t *row)
{
    return (tseed_status_row_t){
        .id = row->id,
        .total = row->tiles_total,
        .processed = tseed_progress_processed(&row->progress),
        .state = (tseed_task_state_t)row->progress.state,
    };
}

/* The rows as the board has them; NULL when it lags behind or can't be read: the database knows.
 * A new seeder may have begun to mend the board while it was read. */
static apr_array_header_t *list_board(const tseed_rest_t *rest)
{
    apr_pool_t *pool = rest->r->pool;
    apr_array_header_t *all, *rows;
    uint64_t before, after;

    tseed_board_seeder(rest->board, NULL, &before, NULL);
    if (!tseed_rest_board_is_current(rest)) {
        return NULL;
    }
    all = tseed_board_list(rest->board, rest->route.layer, 0, pool);
    tseed_board_seeder(rest->board, NULL, &after, NULL);
    if (after != before) {
        return NULL;
    }
    rows = all ? apr_array_make(pool, all->nelts, sizeof(tseed_status_row_t)) : NULL;
    for (int i = 0; all && i < all->nelts; i++) {
        const tseed_row_t *row = &APR_ARRAY_IDX(all, i, tseed_row_t);

        if (tseed_rest_sees(rest, row->layer)) {
            APR_ARRAY_PUSH(rows, tseed_status_row_t) = row_of(row);
        }
    }
    return rows;
}

/* The board may be ahead of the last checkpoint of a task, but shows no tile that is not there. */
static void take_higher(apr_array_header_t *rows, const apr_array_header_t *live)
{
    for (int i = 0; i < rows->nelts; i++) {
        tseed_status_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_status_row_t);
        const tseed_row_t *shown = tseed_rest_live_row(live, row->id);

        if (shown) {
            int64_t processed = tseed_progress_processed(&shown->progress);

            row->processed = processed > row->processed ? processed : row->processed;
        }
    }
}

/* A layer that was taken out of the configuration can be listed and terminated as long as it has
 * tasks. DECLINED: the route's layer is known. Or OK with the refusal sent. */
static int refuse_layer(tseed_rest_t *rest)
{
    const char *layer = rest->route.layer;
    int has = 0, status = DECLINED;

    if (!layer || tseed_rest_find_layer(rest)) {
        return DECLINED;
    }
    if (tseed_rest_sees(rest, layer)) {
        tseed_visit_t db = tseed_visit_begin(rest->r);

        tseed_visit_do(&db, tseed_state_has_tasks(db.state, &has, layer));
        status = tseed_visit_done(&db, "look for tasks of the layer");
    }
    return status != DECLINED || has ? status : tseed_rest_unknown_layer(rest);
}

/* The rows of the route's layer, or of all. DECLINED, or OK with the refusal sent. */
static int list(tseed_rest_t *rest, apr_array_header_t **rows)
{
    const apr_array_header_t *live;
    tseed_visit_t db;
    int status = refuse_layer(rest);

    if (status != DECLINED) {
        return status;
    }
    *rows = list_board(rest);
    if (*rows) {
        return DECLINED;
    }
    live = tseed_rest_live(rest, rest->route.layer);
    db = tseed_visit_begin(rest->r);
    tseed_visit_do(&db, tseed_rest_list(rest, db.state, rows));
    status = tseed_visit_done(&db, "list the tasks");
    if (status == DECLINED) {
        take_higher(*rows, live);
    }
    return status;
}

static int handle_list(tseed_rest_t *rest)
{
    apr_array_header_t *rows;
    const int status = list(rest, &rows);

    return status == DECLINED
               ? tseed_reply_document(rest->r, TSEED_BODY_JSON,
                                      tseed_answer_status((tseed_status_row_t *)rows->elts,
                                                          rows->nelts, rest->r->pool))
               : status;
}

/* The form of GeoWebCache's page that lists tasks. */
static int list_form(tseed_rest_t *rest, const apr_table_t *form)
{
    request_rec *r = rest->r;
    apr_array_header_t *rows;
    int is_all, status;
    const char *error = tseed_form_list(&is_all, form, r->pool);

    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    if (is_all) {
        rest->route.layer = NULL;
    }
    status = list(rest, &rows);
    return status == DECLINED ? tseed_reply_send(r, HTTP_OK, "text/html" TSEED_LATIN1,
                                                 tseed_answer_list((tseed_status_row_t *)rows->elts,
                                                                   rows->nelts, r->pool))
                              : status;
}

/* ---- terminate ---- */

/* The layers that a termination is about; NULL: all. */
static const apr_array_header_t *layers_of(const tseed_rest_t *rest)
{
    apr_array_header_t *one;

    if (!rest->route.layer) {
        return rest->dir->layers;
    }
    one = apr_array_make(rest->r->pool, 1, sizeof(const char *));
    APR_ARRAY_PUSH(one, const char *) = rest->route.layer;
    return one;
}

static int reply_terminated(const tseed_rest_t *rest, const char *code,
                            const apr_array_header_t *terminated)
{
    return tseed_reply_send(rest->r, HTTP_OK, "text/html" TSEED_LATIN1,
                            tseed_answer_kill(code, (tseed_terminated_t *)terminated->elts,
                                              terminated->nelts, rest->r->pool));
}

static int kill_all(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const char *error;
    tseed_kill_t kill;
    tseed_termination_t what = {.layers = layers_of(rest)};
    apr_array_header_t *terminated;
    int status = refuse_layer(rest);

    if (status != DECLINED) {
        return status;
    }
    error = tseed_kill_code_read(&kill, rest->body, rest->length, r->args, r->pool);
    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    what.mask = kill.mask;
    tseed_reply_ignored(r, "terminate", kill.ignored);
    status = tseed_rest_terminate(rest, &terminated, &what);
    return status == DECLINED ? reply_terminated(rest, kill.code, terminated) : status;
}

/* DECLINED: *is_there says whether the task is one of the route's layer. Or OK with the refusal
 * sent. */
static int look_for(const tseed_rest_t *rest, int64_t id, int *is_there)
{
    tseed_task_t *task = NULL;
    tseed_progress_t progress;
    tseed_visit_t db = tseed_visit_begin(rest->r);

    tseed_visit_do(&db, tseed_state_task_get(db.state, &task, &progress, id, rest->r->pool));
    tseed_visit_end(&db);
    *is_there = db.rv == APR_SUCCESS && strcmp(task->layer, rest->route.layer) == 0;
    return db.rv == APR_SUCCESS || db.rv == APR_NOTFOUND
               ? DECLINED
               : tseed_visit_refuse(&db, "terminate the task");
}

static int kill_thread(tseed_rest_t *rest, const apr_table_t *form)
{
    request_rec *r = rest->r;
    tseed_termination_t what = {.mask = 1U << TSEED_PENDING | 1U << TSEED_RUNNING};
    apr_array_header_t *terminated = apr_array_make(r->pool, 1, sizeof(tseed_terminated_t));
    const char *error = tseed_form_thread(&what.task, form, r->pool);
    int is_there = 0, status = refuse_layer(rest);

    if (status != DECLINED) {
        return status;
    }
    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    status = look_for(rest, what.task, &is_there);
    if (is_there) {
        status = tseed_rest_terminate(rest, &terminated, &what);
    }
    return status == DECLINED
               ? reply_terminated(rest, apr_psprintf(r->pool, "%" APR_INT64_T_FMT, what.task),
                                  terminated)
               : status;
}

/* A query has no other fields than the body of a small form. */
static int small_form(tseed_rest_t *rest, tseed_form_kind_t kind, const apr_table_t *form)
{
    if (kind == TSEED_FORM_LIST) {
        return list_form(rest, form);
    }
    return kind == TSEED_FORM_KILL_THREAD && rest->route.layer ? kill_thread(rest, form)
                                                               : kill_all(rest);
}

static int handle_kill(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const char *query = r->args ? r->args : "";
    const apr_table_t *form = tseed_form_read(rest->body, rest->length, r->pool);
    const apr_table_t *more = tseed_form_read(query, strlen(query), r->pool);
    tseed_form_kind_t kind;

    if (rest->route.layer && rest->length > 0 && (*rest->body == '{' || *rest->body == '<')) {
        return seed(rest, *rest->body == '{' ? TSEED_BODY_JSON : TSEED_BODY_XML);
    }
    kind = tseed_form_kind(form);
    if (kind == TSEED_FORM_SEED && rest->route.layer) {
        return seed_form(rest, form);
    }
    if (apr_is_empty_table(form) && rest->route.layer && tseed_form_kind(more) == TSEED_FORM_SEED) {
        return seed_form(rest, NULL);
    }
    return small_form(rest, kind, form);
}

/* ---- what it answers ---- */

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_SEED, .handle = handle_seed, .has_body = 1, .changes = 1},
    {.action = TSEED_ACTION_LIST, .handle = handle_list},
    {.action = TSEED_ACTION_KILL, .handle = handle_kill, .has_body = 1, .changes = 1},
    {.handle = NULL},
};

const tseed_module_part_t tseed_tasks_part = {.handlers = handlers};
