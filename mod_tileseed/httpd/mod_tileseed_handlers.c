/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What handlers of the REST interface share: questions about their request, tasks that they accept,
 * list and terminate, and notes for the seeder. */
#include "mod_tileseed_handlers.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <httpd.h>
#include <http_log.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "board/tseed_board.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_answer.h"
#include "protocol/tseed_members.h"
#include "protocol/tseed_seed_request.h"
#include "state/tseed_books.h"
#include "fleet/tseed_fleet.h"

/* ---- questions ---- */

/* Notes the task that a request has made or changed. */
static void note_task(request_rec *r, int64_t task)
{
    apr_table_setn(r->notes, "tileseed-task", apr_psprintf(r->pool, "%" APR_INT64_T_FMT, task));
}

#define QUOTE_MAX 200 /* of what the client sent, in a message */

int tseed_rest_sees(const tseed_rest_t *rest, const char *layer)
{
    return tseed_dir_conf_sees(rest->dir, layer);
}

const tseed_layer_t *tseed_rest_find_layer(const tseed_rest_t *rest)
{
    return tseed_rest_sees(rest, rest->route.layer)
               ? tseed_catalog_find_layer(rest->conf->catalog, rest->route.layer)
               : NULL;
}

/* Where several hosts may share the database, each of them accepts tasks from the first moment on,
 * before any other one has heard of it. So the database alone knows all tasks there. */
int tseed_rest_board_is_current(const tseed_rest_t *rest)
{
    return !tseed_fleet_can_share(rest->conf->settings.db_driver) &&
           !tseed_board_is_crowded(rest->board) &&
           tseed_board_seeder(rest->board, NULL, NULL, NULL) == TSEED_SEEDER_WORKING &&
           tseed_board_applied(rest->board) >= tseed_board_committed(rest->board);
}

apr_array_header_t *tseed_rest_live(const tseed_rest_t *rest, const char *layer)
{
    apr_pool_t *pool = rest->r->pool;
    apr_array_header_t *rows = tseed_board_list(rest->board, layer, 1, pool);

    return rows ? rows : apr_array_make(pool, 1, sizeof(tseed_row_t));
}

static int compare_row(const void *id, const void *row)
{
    const int64_t left = *(const int64_t *)id, right = ((const tseed_row_t *)row)->id;

    return (left > right) - (left < right);
}

const tseed_row_t *tseed_rest_live_row(const apr_array_header_t *live, int64_t id)
{
    return bsearch(&id, live->elts, (size_t)live->nelts, (size_t)live->elt_size, compare_row);
}

void tseed_rest_replace_reason(const tseed_rest_t *rest, tseed_progress_t *progress)
{
    if (progress->state != TSEED_PENDING && progress->state != TSEED_RUNNING) {
        return;
    }
    if (tseed_board_seeder(rest->board, NULL, NULL, NULL) == TSEED_SEEDER_STOPPED) {
        tseed_progress_tell(progress, TSEED_REASON_HOST,
                            "waits for a start of httpd: its seeder has stopped");
    } else if (tseed_board_is_standby(rest->board) && !*tseed_board_host_get(rest->board).active) {
        tseed_progress_tell(progress, TSEED_REASON_HOST,
                            "waits for a host: none works on this cache just now");
    }
}

/* The layer that is meant, among those that this location sees; NULL: the name is far from all. */
static const char *layer_meant(const tseed_rest_t *rest)
{
    const apr_array_header_t *all = rest->conf->catalog->order;
    const char **known = apr_pcalloc(rest->r->pool, ((size_t)all->nelts + 1) * sizeof(*known));
    int count = 0;

    for (int i = 0; i < all->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(all, i, const tseed_layer_t *);

        if (tseed_rest_sees(rest, layer->name)) {
            known[count++] = layer->name;
        }
    }
    return tseed_name_meant(rest->route.layer, known);
}

int tseed_rest_refuse_some(const tseed_rest_t *rest, const char *what)
{
    return rest->dir->layers
               ? tseed_reply_error(rest->r, HTTP_FORBIDDEN,
                                   "%s is about all layers and can't be asked for here: "
                                   "TileSeedLayers lets this location see some alone",
                                   what)
               : DECLINED;
}

int tseed_rest_unknown_layer(tseed_rest_t *rest)
{
    apr_pool_t *pool = rest->r->pool;
    const char *layer = tseed_escape_plain(rest->route.layer, pool);
    const char *meant = layer_meant(rest);

    layer = tseed_text_quote(layer, QUOTE_MAX, pool);
    if (meant) {
        return tseed_reply_error(rest->r, HTTP_BAD_REQUEST, "Unknown layer: %s. Is %s meant?",
                                 layer, meant);
    }
    return tseed_reply_error(rest->r, HTTP_BAD_REQUEST,
                             "Unknown layer: %s; %s/layers.json lists the layers", layer,
                             tseed_public_path(rest->dir, rest->base, pool));
}

/* ---- tasks that are accepted ---- */

#define WAIT_CHANGE APR_USEC_PER_SEC
#define KEY_MOST    255
#define POLL_FIRST  500 /* microseconds, doubled up to … */
#define POLL_MOST   8000

int tseed_rest_announce(const tseed_rest_t *rest, apr_interval_time_t most)
{
    uint64_t change;
    apr_time_t deadline = tseed_clock_monotonic() + most;
    apr_interval_time_t pause = POLL_FIRST;

    if (tseed_board_is_standby(rest->board)) { /* another host reads the database each second */
        return 0;
    }
    change = tseed_board_commit(rest->board);
    tseed_supervise_ring();
    while (tseed_board_applied(rest->board) < change) {
        if (tseed_clock_monotonic() > deadline) {
            return 0;
        }
        apr_sleep(pause);
        pause = pause < POLL_MOST ? pause * 2 : pause;
    }
    return 1;
}

static void note_accepted(request_rec *r, const tseed_task_t *task)
{
    tseed_audit_note(r,
                     "task %" APR_INT64_T_FMT
                     " accepted: %s of layer '%s', %s zoom %d to %d, %s, %" APR_INT64_T_FMT
                     " tiles",
                     task->id, tseed_task_type_name(task->type), task->layer, task->gridset,
                     task->zoom_start, task->zoom_stop, task->format, task->tiles_total);
}

/* ---- what the client's headers say ---- */

/* Idempotency-Key, and a digest of all that tells the request from others. NULL or a sentence. */
static const char *read_key(tseed_acceptance_t *acceptance, const tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const char *key = apr_table_get(r->headers_in, "Idempotency-Key");
    const char *text = apr_pstrcat(r->pool, r->uri + strlen(rest->base), "\n", NULL);
    const size_t length = strlen(text), more = rest->body ? rest->length : 0;
    char *digest = apr_palloc(r->pool, 41);
    char *whole = apr_palloc(r->pool, length + more + 1);

    if (!key) {
        return NULL;
    }
    if (!*key || strlen(key) > KEY_MOST) {
        return apr_psprintf(r->pool, "Idempotency-Key must have 1 to %d characters", KEY_MOST);
    }
    memcpy(whole, text, length);
    memcpy(whole + length, more ? rest->body : "", more);
    tseed_text_sha1(digest, whole, length + more);
    acceptance->key = key;
    acceptance->digest = digest;
    return NULL;
}

/* Whether the client prefers handling=lenient (RFC 7240). */
static int is_lenient(const request_rec *r)
{
    char *rest, *preferences = apr_pstrdup(r->pool, apr_table_get(r->headers_in, "Prefer"));
    char *one = preferences ? apr_strtok(preferences, " ,;", &rest) : NULL;

    while (one && apr_cstr_casecmp(one, "handling=lenient") != 0 &&
           apr_cstr_casecmp(one, "handling=\"lenient\"") != 0) {
        one = apr_strtok(NULL, " ,;", &rest);
    }
    return one != NULL;
}

/* ---- recording ---- */

/* Why it was not recorded, sent. */
static int refuse(const tseed_rest_t *rest, const tseed_acceptance_t *acceptance,
                  const tseed_visit_t *visit)
{
    request_rec *r = rest->r;

    if (visit->state && APR_STATUS_IS_EAGAIN(visit->rv)) {
        return tseed_reply_busy(r, 30,
                                "%" APR_INT64_T_FMT " %s pending or running, the most that "
                                "TileSeedMaxTasks allows; send it again when some are done",
                                acceptance->most, acceptance->most == 1 ? "task is" : "tasks are");
    }
    if (visit->state && acceptance->retry && visit->rv == APR_NOTFOUND) {
        return tseed_reply_error(r, HTTP_CONFLICT,
                                 "task %" APR_INT64_T_FMT " has no failed metatiles: there is "
                                 "nothing to retry",
                                 acceptance->task->retry_of);
    }
    return tseed_visit_refuse(visit, "record the task");
}

/* The key was another request's; the task of that is named to those who see its layer. */
static int refuse_key(const tseed_rest_t *rest, const char *of_task)
{
    return tseed_reply_error(rest->r, HTTP_UNPROCESSABLE_ENTITY,
                             "this Idempotency-Key came with another request%s; a new request "
                             "needs a new key",
                             of_task);
}

/* ", which is task 7", or "" where this location does not see that task. */
static const char *name_task(const tseed_rest_t *rest, tseed_state_t *state, int64_t id)
{
    tseed_progress_t unused;
    tseed_task_t *task;

    return tseed_state_task_get(state, &task, &unused, id, rest->r->pool) == APR_SUCCESS &&
                   tseed_rest_sees(rest, task->layer)
               ? apr_psprintf(rest->r->pool, ", which is task %" APR_INT64_T_FMT, id)
               : "";
}

/* Commits the task. DECLINED: it is recorded, the answer is still to be given. */
static int record(const tseed_rest_t *rest, tseed_acceptance_t *acceptance)
{
    int64_t room = (int64_t)tseed_board_slots(rest->board) - TSEED_SPARE_SLOTS;
    const char *of_task = "";
    tseed_visit_t db = tseed_visit_begin(rest->r);

    acceptance->most = rest->conf->settings.max_tasks;
    if (room < acceptance->most) { /* the board keeps its size over a graceful restart */
        acceptance->most = room;
    }
    tseed_visit_do(&db, tseed_state_accept(db.state, acceptance));
    if (db.rv == APR_SUCCESS && acceptance->outcome == TSEED_DIFFERS) {
        of_task = name_task(rest, db.state, acceptance->task->id);
    }
    if (tseed_visit_end(&db) != APR_SUCCESS) {
        return refuse(rest, acceptance, &db);
    }
    return acceptance->outcome == TSEED_DIFFERS ? refuse_key(rest, of_task) : DECLINED;
}

static void set_headers(const tseed_rest_t *rest, const tseed_task_t *task)
{
    request_rec *r = rest->r;
    const char *id = apr_psprintf(r->pool, "%" APR_INT64_T_FMT, task->id);

    note_task(r, task->id);
    apr_table_setn(r->headers_out, "TileSeed-Task", id);
    apr_table_setn(r->headers_out, "Link",
                   apr_psprintf(r->pool, "<%s/tasks/%s.json>; rel=\"monitor\"",
                                tseed_public_path(rest->dir, rest->base, r->pool), id));
}

int tseed_rest_accept(const tseed_rest_t *rest, tseed_task_t *task, const tseed_positions_t *retry)
{
    tseed_acceptance_t acceptance = {.task = task, .retry = retry, .lenient = is_lenient(rest->r)};
    const char *error = read_key(&acceptance, rest);
    int status;

    if (error) {
        return tseed_reply_error(rest->r, HTTP_BAD_REQUEST, "%s", error);
    }
    task->requested_by = rest->r->user ? rest->r->user : "";
    task->created = apr_time_now();
    status = record(rest, &acceptance);
    if (status != DECLINED) {
        return status;
    }
    if (acceptance.outcome == TSEED_ACCEPTED) {
        note_accepted(rest->r, task);
    } else {
        tseed_audit_note(rest->r, "task %" APR_INT64_T_FMT " was accepted before", task->id);
    }
    if (acceptance.outcome == TSEED_COVERED) {
        apr_table_setn(rest->r->headers_out, "Preference-Applied", "handling=lenient");
    }
    tseed_rest_announce(rest, WAIT_CHANGE); /* who asks again may have heard nothing for a reason */
    set_headers(rest, task);
    return DECLINED;
}

/* ---- tasks that are listed ---- */

static int by_id(const void *a, const void *b)
{
    int64_t left = ((const tseed_status_row_t *)a)->id;
    int64_t right = ((const tseed_status_row_t *)b)->id;

    return (left > right) - (left < right);
}

apr_status_t tseed_rest_list(const tseed_rest_t *rest, tseed_state_t *state,
                             apr_array_header_t **rows)
{
    const apr_array_header_t *only = rest->dir->layers;
    apr_pool_t *pool = rest->r->pool;
    apr_status_t rv = APR_SUCCESS;

    if (rest->route.layer || !only) {
        return tseed_state_list(state, rows, rest->route.layer, pool);
    }
    *rows = apr_array_make(pool, 16, sizeof(tseed_status_row_t));
    for (int i = 0; rv == APR_SUCCESS && i < only->nelts; i++) {
        apr_array_header_t *some;

        rv = tseed_state_list(state, &some, APR_ARRAY_IDX(only, i, const char *), pool);
        if (rv == APR_SUCCESS) {
            apr_array_cat(*rows, some);
        }
    }
    qsort((*rows)->elts, (size_t)(*rows)->nelts, (size_t)(*rows)->elt_size, by_id);
    return rv;
}

/* ---- tasks that are terminated ---- */

#define WAIT_TERMINATE (5 * APR_USEC_PER_SEC)
#define POLL           500          /* microseconds */
#define POLL_STATE     (100 * 1000) /* likewise, of the database */
#define NAMED_MOST     100          /* terminated tasks, in the log */

/* Whether the seeder still has this task on the board, perhaps in termination. */
static int is_on_board(const tseed_rest_t *rest, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(rest->board, id, &row);
}

static int has(const apr_array_header_t *ids, int64_t id)
{
    int i = 0;

    while (i < ids->nelts && APR_ARRAY_IDX(ids, i, int64_t) != id) {
        i++;
    }
    return i < ids->nelts;
}

/* Asks the database which terminations the host that works has confirmed. Returns whether all are.
 */
static int look_for_confirmed(const tseed_rest_t *rest, apr_array_header_t *terminated)
{
    apr_array_header_t *waiting;
    int count = 0;
    tseed_visit_t db = tseed_visit_begin(rest->r);

    tseed_visit_do(&db, tseed_state_terminations(db.state, &waiting, rest->r->pool));
    tseed_visit_end(&db);
    for (int i = 0; db.rv == APR_SUCCESS && i < terminated->nelts; i++) {
        tseed_terminated_t *task = &APR_ARRAY_IDX(terminated, i, tseed_terminated_t);

        task->confirmed = !has(waiting, task->id);
        count += task->confirmed;
    }
    return count == terminated->nelts;
}

/* Waits until the seeder of another host lets go of terminated tasks. */
static void confirm_elsewhere(const tseed_rest_t *rest, apr_array_header_t *terminated)
{
    const apr_time_t deadline = tseed_clock_monotonic() + WAIT_TERMINATE;

    while (!look_for_confirmed(rest, terminated) && tseed_clock_monotonic() < deadline) {
        apr_sleep(POLL_STATE);
    }
}

/* Waits until the seeder lets go of terminated tasks: nothing is written for them any more. */
static void confirm(const tseed_rest_t *rest, apr_array_header_t *terminated)
{
    apr_time_t deadline = tseed_clock_monotonic() + WAIT_TERMINATE;
    int heard;

    if (tseed_board_is_standby(rest->board)) {
        confirm_elsewhere(rest, terminated);
        return;
    }
    heard = terminated->nelts > 0 && tseed_rest_announce(rest, WAIT_TERMINATE);
    for (int i = 0; i < terminated->nelts; i++) {
        tseed_terminated_t *task = &APR_ARRAY_IDX(terminated, i, tseed_terminated_t);

        while (heard && is_on_board(rest, task->id) && tseed_clock_monotonic() < deadline) {
            apr_sleep(POLL);
        }
        task->confirmed = heard && !is_on_board(rest, task->id);
    }
}

static void note_terminated(request_rec *r, const apr_array_header_t *terminated)
{
    const int named = terminated->nelts < NAMED_MOST ? terminated->nelts : NAMED_MOST;
    const char *list = "";

    for (int i = 0; i < named; i++) {
        const tseed_terminated_t *task = &APR_ARRAY_IDX(terminated, i, tseed_terminated_t);

        list = apr_psprintf(r->pool, "%s%s task %" APR_INT64_T_FMT " of layer '%s'", list,
                            i ? "," : ":", task->id, task->layer);
        if (terminated->nelts == 1) {
            note_task(r, task->id);
        }
    }
    tseed_audit_note(r, "%d task%s terminated%s%s", terminated->nelts,
                     terminated->nelts == 1 ? "" : "s", list,
                     named < terminated->nelts ? ", ..." : "");
}

int tseed_rest_terminate(const tseed_rest_t *rest, apr_array_header_t **terminated,
                         tseed_termination_t *what)
{
    request_rec *r = rest->r;
    tseed_visit_t db = tseed_visit_begin(r);
    int status;

    what->now = apr_time_now();
    what->reason = apr_psprintf(r->pool, "terminated by %s", r->user ? r->user : "anybody");
    tseed_visit_do(&db, tseed_state_terminate(db.state, terminated, what, r->pool));
    status = tseed_visit_done(&db, "terminate tasks");
    if (status == DECLINED) {
        note_terminated(r, *terminated);
        confirm(rest, *terminated);
    }
    return status;
}

/* ---- notes for the seeder ---- */

/* Answers a request that is recorded. */
static int announce(const tseed_rest_t *rest, const char *said)
{
    tseed_audit_note(rest->r, "%s", said);
    tseed_rest_announce(rest, WAIT_CHANGE);
    return tseed_reply_send(rest->r, HTTP_OK, "text/plain" TSEED_LATIN1, "");
}

int tseed_rest_note(const tseed_rest_t *rest, tseed_note_change_t *change, const char *name,
                    const char *value, const char *said)
{
    tseed_visit_t db = tseed_visit_begin(rest->r);
    int status;

    tseed_visit_do(&db, change(db.state, name, value));
    status = tseed_visit_done(&db, "record the request");
    return status == DECLINED ? announce(rest, said) : status;
}
