/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Accepting a request that may be there already: sent again by a client that heard no answer, or
 * meant by another task. */
#include <string.h>

#include "protocol/tseed_answer.h"
#include "state/tseed_record.h"
#include "state/tseed_work.h"

#define KEPT (APR_INT64_C(86400) * APR_USEC_PER_SEC) /* a request's key */

/* ---- a request that came before ---- */

static apr_status_t find_request(tseed_state_t *state, tseed_acceptance_t *call)
{
    const int64_t before = call->task->created - KEPT;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_change(&state->db, NULL, TSEED_SQL_REQUESTS_FORGET,
                                            (const void *[]){&before});

    if (rv == APR_SUCCESS) {
        rv = tseed_database_select(&rows, &state->db, TSEED_SQL_REQUEST_GET,
                                   (const void *[]){call->task->requested_by, call->key},
                                   state->scratch);
    }
    if (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        call->outcome =
            strcmp(tseed_rows_text(&rows), call->digest) == 0 ? TSEED_REPEATED : TSEED_DIFFERS;
        call->task->id = tseed_rows_int64(&rows);
    }
    return rv;
}

static apr_status_t add_request(tseed_state_t *state, const tseed_acceptance_t *call)
{
    const tseed_task_t *task = call->task;

    return tseed_database_change(
        &state->db, NULL, TSEED_SQL_REQUEST_ADD,
        (const void *[]){task->requested_by, call->key, call->digest, &task->id, &task->created});
}

/* ---- a task that covers it ---- */

static int covers(const tseed_task_t *task, const tseed_task_t *wanted)
{
    return task->type == wanted->type && !task->retry_of && task->has_area &&
           task->zoom_start <= wanted->zoom_start && task->zoom_stop >= wanted->zoom_stop &&
           task->bounds.minx <= wanted->bounds.minx && task->bounds.miny <= wanted->bounds.miny &&
           task->bounds.maxx >= wanted->bounds.maxx && task->bounds.maxy >= wanted->bounds.maxy &&
           task->derived.first == wanted->derived.first &&
           task->derived.end == wanted->derived.end &&
           strcmp(task->gridset_print, wanted->gridset_print) == 0 &&
           strcmp(task->store_print, wanted->store_print) == 0;
}

/* The first pending task that covers the request. No truncate may have come after that task: it
 * would remove what the task makes. */
static apr_status_t find_cover(tseed_state_t *state, tseed_acceptance_t *call)
{
    tseed_task_t *wanted = call->task;
    int64_t found = 0;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(
        &rows, &state->db, TSEED_SQL_TASKS_OF_SET,
        (const void *[]){wanted->layer, wanted->gridset, wanted->format,
                         tseed_parameters_save(wanted->parameters, state->scratch)},
        state->scratch);

    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        const tseed_task_t *task = tseed_record_task_load(&rows, state->scratch);
        const int is_pending = tseed_rows_int(&rows) == TSEED_PENDING;

        if (task->type == TSEED_TRUNCATE) {
            found = 0;
        } else if (!found && is_pending && covers(task, wanted)) {
            found = task->id;
        }
    }
    if (found) {
        wanted->id = found;
        call->outcome = TSEED_COVERED;
    }
    return rv;
}

/* ---- accept ---- */

/* Requests are accepted one after the other: what one looks for here, no other adds meanwhile. */
static apr_status_t accept_one(tseed_state_t *state, void *baton)
{
    tseed_acceptance_t *call = baton;
    const int may_cover =
        call->lenient && !call->retry && call->task->has_area && call->task->type != TSEED_TRUNCATE;
    int64_t last;
    apr_status_t rv = tseed_work_number(state, &last, TSEED_SQL_ID_HOLD, NULL);

    call->outcome = TSEED_ACCEPTED;
    if (rv == APR_SUCCESS && call->key) {
        rv = find_request(state, call);
    }
    if (rv != APR_SUCCESS || call->outcome != TSEED_ACCEPTED) {
        return rv;
    }
    if (may_cover) {
        rv = find_cover(state, call);
    }
    if (rv == APR_SUCCESS && call->outcome == TSEED_ACCEPTED) {
        rv = call->retry ? tseed_state_task_retry(state, call->task, call->retry, call->most)
                         : tseed_state_task_insert(state, call->task, call->most);
    }
    return rv == APR_SUCCESS && call->key ? add_request(state, call) : rv;
}

apr_status_t tseed_state_accept(tseed_state_t *state, tseed_acceptance_t *acceptance)
{
    return tseed_work_write(state, accept_one, acceptance);
}
