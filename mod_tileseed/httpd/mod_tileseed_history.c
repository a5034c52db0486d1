/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handlers of /tasks: the list, a task with its termination and retry, and its failures.
 *
 * Records come from the database, which has them all. The board adds the present progress of
 * unfinished tasks.
 */
#include <apr_strings.h>
#include <httpd.h>
#include <http_log.h>

#include "mod_tileseed.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_answer.h"
#include "protocol/tseed_task_check.h"
#include "protocol/tseed_task.h"

/* Takes the progress of a task from its row on the board (NULL: it has none), which is ahead of the
 * last checkpoint. A terminated task stays on the board until a seeder has let go of it. Only the
 * database says how it ended. */
static void take_live(tseed_progress_t *progress, const tseed_row_t *live)
{
    const tseed_progress_t saved = *progress;

    if (saved.state == TSEED_DONE || !live ||
        tseed_progress_processed(&live->progress) < tseed_progress_processed(&saved)) {
        return;
    }
    *progress = live->progress;
    if (saved.state == TSEED_ABORTED) {
        progress->state = saved.state;
        progress->finished = saved.finished;
        tseed_progress_tell(progress, saved.reason_code, saved.reason);
    }
}

/* ---- many tasks ---- */

/* The layers a query is about, as far as this location sees them; NULL: all. */
static const apr_array_header_t *layers_of(const tseed_rest_t *rest, const char *layer)
{
    apr_array_header_t *some;

    if (!layer) {
        return rest->dir->layers;
    }
    some = apr_array_make(rest->r->pool, 1, sizeof(const char *));
    if (tseed_rest_sees(rest, layer)) {
        APR_ARRAY_PUSH(some, const char *) = layer;
    }
    return some;
}

/* Says where a list goes on, as RFC 8288 wants it. `next` is an address. */
static void set_next(request_rec *r, const char *next)
{
    apr_table_setn(r->headers_out, "Link", apr_psprintf(r->pool, "<%s>; rel=\"next\"", next));
}

/* The address of the next page of tasks: the same query from the last one shown on. */
static const char *next_tasks(const tseed_rest_t *rest, const tseed_task_query_t *query,
                              int64_t before)
{
    apr_pool_t *pool = rest->r->pool;
    const char *layer =
        query->layer ? apr_pstrcat(pool, "&layer=", ap_escape_urlencoded(pool, query->layer), NULL)
                     : "";
    const char *states = "";

    for (int i = TSEED_ABORTED; query->states != ~0U && i <= TSEED_DONE; i++) {
        if (query->states & TSEED_STATE_BIT(i)) {
            states = apr_pstrcat(pool, states, *states ? "," : "&state=", tseed_task_state_name(i),
                                 NULL);
        }
    }
    return apr_psprintf(
        pool, "%s/tasks.json?limit=%" APR_INT64_T_FMT "&before=%" APR_INT64_T_FMT "%s%s",
        tseed_public_path(rest->dir, rest->base, pool), query->limit, before, states, layer);
}

/* Cuts a list to a page. The list has one item more if there is a next page. */
static int cut_page(apr_array_header_t *rows, int64_t limit)
{
    const int more = rows->nelts > limit;

    rows->nelts -= more;
    return more;
}

static int handle_tasks(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_task_query_t query, wanted;
    apr_array_header_t *records, *live;
    const char *error = tseed_task_query_read(&query, r->args, r->pool);
    tseed_visit_t db;
    int status;

    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    wanted = query;
    wanted.limit++;
    live = tseed_rest_live(rest, query.layer);
    db = tseed_visit_begin(r);
    tseed_visit_do(
        &db, tseed_state_find(db.state, &records, &wanted, layers_of(rest, query.layer), r->pool));
    status = tseed_visit_done(&db, "list the tasks");
    if (status != DECLINED) {
        return status;
    }
    if (cut_page(records, query.limit)) {
        const tseed_task_record_t *last =
            &APR_ARRAY_IDX(records, records->nelts - 1, tseed_task_record_t);

        set_next(r, next_tasks(rest, &query, last->task->id));
    }
    for (int i = 0; i < records->nelts; i++) {
        tseed_task_record_t *record = &APR_ARRAY_IDX(records, i, tseed_task_record_t);

        take_live(&record->progress, tseed_rest_live_row(live, record->task->id));
        tseed_rest_replace_reason(rest, &record->progress);
    }
    return tseed_reply_document(r, TSEED_BODY_JSON, tseed_answer_tasks(records, r->pool));
}

/* ---- one task ---- */

/* Reads the task of the address. DECLINED, or OK with the refusal sent. */
static int load(const tseed_rest_t *rest, tseed_task_record_t *record)
{
    request_rec *r = rest->r;
    tseed_row_t live;
    const int is_live = /* before the database, see tseed_rest_live */
        tseed_board_find(rest->board, rest->route.number, &live);
    tseed_visit_t db = tseed_visit_begin(r);

    tseed_visit_do(&db, tseed_state_task_get(db.state, &record->task, &record->progress,
                                             rest->route.number, r->pool));
    tseed_visit_end(&db);
    if (db.rv == APR_NOTFOUND ||
        (db.rv == APR_SUCCESS && !tseed_rest_sees(rest, record->task->layer))) {
        return tseed_reply_error(r, HTTP_NOT_FOUND, "there is no task %" APR_INT64_T_FMT,
                                 rest->route.number);
    }
    if (db.rv != APR_SUCCESS) {
        return tseed_visit_refuse(&db, "read the task");
    }
    take_live(&record->progress, is_live ? &live : NULL);
    tseed_rest_replace_reason(rest, &record->progress);
    return DECLINED;
}

/* How far a task is at each of its levels. NULL: its grid set is another one now, or the list of
 * what it retries can't be read. */
static const apr_array_header_t *levels_of(const tseed_rest_t *rest,
                                           const tseed_task_record_t *record)
{
    apr_pool_t *pool = rest->r->pool;
    const tseed_task_t *task = record->task;
    const tseed_gridset_t *gridset = tseed_catalog_find_gridset(rest->conf->catalog, task->gridset);
    int64_t listed[TSEED_LEVELS_MAX];
    tseed_visit_t db = {.rv = APR_SUCCESS};

    if (!gridset || !tseed_task_has_gridset(task, gridset, pool)) {
        return NULL;
    }
    if (task->retry_of) {
        db = tseed_visit_begin(rest->r);
        tseed_visit_do(&db, tseed_state_metatile_levels(db.state, listed, task->id));
        tseed_visit_end(&db);
    }
    return db.rv == APR_SUCCESS ? tseed_task_levels(task, &record->progress, gridset,
                                                    task->retry_of ? listed : NULL, pool)
                                : NULL;
}

static int handle_task_get(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_task_record_t record;
    int status = load(rest, &record);

    return status != DECLINED
               ? status
               : tseed_reply_document(r, TSEED_BODY_JSON,
                                      tseed_answer_task_levels(record.task, &record.progress,
                                                               levels_of(rest, &record), r->pool));
}

static int handle_task_delete(tseed_rest_t *rest)
{
    tseed_termination_t what = {.task = rest->route.number,
                                .mask = 1U << TSEED_PENDING | 1U << TSEED_RUNNING};
    apr_array_header_t *terminated;
    tseed_task_record_t record;
    int status = load(rest, &record);

    if (status == DECLINED) {
        status = tseed_rest_terminate(rest, &terminated, &what);
    }
    if (status != DECLINED) {
        return status;
    }
    if (terminated->nelts == 0) {
        return tseed_reply_error(rest->r, HTTP_CONFLICT,
                                 "task %" APR_INT64_T_FMT " has ended already; only a pending or "
                                 "running one can be terminated",
                                 rest->route.number);
    }
    return handle_task_get(rest);
}

/* ---- failures ---- */

/* The address of the next page of failures, behind the last one shown. */
static const char *next_failures(const tseed_rest_t *rest, int64_t limit,
                                 const apr_array_header_t *failures)
{
    apr_pool_t *pool = rest->r->pool;
    const tseed_failure_t *last = &APR_ARRAY_IDX(failures, failures->nelts - 1, tseed_failure_t);

    return apr_psprintf(pool,
                        "%s/tasks/%" APR_INT64_T_FMT "/failures.json?limit=%" APR_INT64_T_FMT
                        "&after=%d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT,
                        tseed_public_path(rest->dir, rest->base, pool), last->task, limit, last->z,
                        last->x, last->y);
}

static int handle_failures(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_failure_query_t query, wanted;
    tseed_task_record_t record;
    tseed_causes_t causes;
    apr_array_header_t *failures;
    int64_t total;
    const char *next = NULL, *error = tseed_failure_query_read(&query, r->args, r->pool);
    tseed_visit_t db;
    int status = load(rest, &record);

    if (status != DECLINED) {
        return status;
    }
    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    wanted = query;
    wanted.limit++;
    db = tseed_visit_begin(r);
    tseed_visit_do(
        &db, tseed_state_failures(db.state, &failures, &total, record.task->id, &wanted, r->pool));
    if (db.rv == APR_SUCCESS && query.z < 0) {
        db.rv = tseed_state_causes(db.state, &causes, record.task->id, r->pool);
    }
    status = tseed_visit_done(&db, "list the failures");
    if (status != DECLINED) {
        return status;
    }
    if (cut_page(failures, query.limit)) {
        next = next_failures(rest, query.limit, failures);
        set_next(r, next);
    }
    return tseed_reply_document(
        r, TSEED_BODY_JSON,
        tseed_answer_failures(failures, query.z < 0 ? &causes : NULL, total, next, r->pool));
}

/* ---- retry ---- */

/* Why a task can't be retried now, or NULL. */
static const char *why_no_retry(tseed_tileset_t *tileset, const tseed_rest_t *rest,
                                const tseed_task_record_t *record)
{
    apr_pool_t *pool = rest->r->pool;
    const char *gone;

    if (record->progress.state == TSEED_PENDING || record->progress.state == TSEED_RUNNING) {
        return apr_psprintf(pool,
                            "task %" APR_INT64_T_FMT " is %s: what fails can be retried when it "
                            "has ended",
                            record->task->id, tseed_task_state_name(record->progress.state));
    }
    gone = tseed_task_tileset(tileset, record->task, rest->conf->catalog, pool);
    return gone ? apr_psprintf(pool, "task %" APR_INT64_T_FMT " can't be retried: %s",
                               record->task->id, gone)
                : NULL;
}

static int handle_retry(tseed_rest_t *rest)
{
    tseed_task_record_t record;
    tseed_tileset_t tileset;
    tseed_positions_t positions;
    tseed_task_t task;
    const char *why;
    int status = load(rest, &record);

    if (status != DECLINED) {
        return status;
    }
    why = why_no_retry(&tileset, rest, &record);
    if (why) {
        return tseed_reply_error(rest->r, HTTP_CONFLICT, "%s", why);
    }
    task = *record.task;
    task.retry_of = task.id;
    tseed_positions_init(
        &positions, tileset.subset->gridset, &task.bounds,
        &(tseed_shape_t){task.zoom_start, task.zoom_stop, task.meta_width, task.meta_height});
    status = tseed_rest_accept(rest, &task, &positions);
    return status == DECLINED ? tseed_reply_send(rest->r, HTTP_OK, "text/plain" TSEED_LATIN1, "")
                              : status;
}

/* ---- what it answers ---- */

static const char *const keys_of_tasks[] = {"state", "layer", "limit", "before", NULL};
static const char *const keys_of_failures[] = {"limit", "after", NULL};

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_TASKS, .handle = handle_tasks, .keys = keys_of_tasks},
    {.action = TSEED_ACTION_TASK_GET, .handle = handle_task_get, .keys = tseed_no_key},
    {.action = TSEED_ACTION_TASK_DELETE, .handle = handle_task_delete, .changes = 1},
    {.action = TSEED_ACTION_FAILURES, .handle = handle_failures, .keys = keys_of_failures},
    {.action = TSEED_ACTION_RETRY, .handle = handle_retry, .changes = 1},
    {.handle = NULL},
};

const tseed_module_part_t tseed_history_part = {.handlers = handlers};
