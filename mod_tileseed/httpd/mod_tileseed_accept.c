/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Accepts a task: records it, announces it to the seeder, then answers. A client that asks for that
 * (Idempotency-Key, Prefer) gets an existing task. */
#include "mod_tileseed_handlers.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "board/tseed_board_host.h"
#include "mod_tileseed_audit.h"
#include "mod_tileseed_public.h"
#include "mod_tileseed_reply.h"

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

    tseed_audit_task(r, task->id);
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
