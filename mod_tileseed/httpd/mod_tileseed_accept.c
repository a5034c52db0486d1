/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Accepting a task: recorded first, then announced to the seeder, then answered. */
#include "mod_tileseed_handlers.h"

#include <apr_strings.h>
#include <http_log.h>

#include "base/tseed_clock.h"
#include "mod_tileseed_child.h"
#include "mod_tileseed_reply.h"

APLOG_USE_MODULE(tileseed);

#define WAIT_CHANGE APR_USEC_PER_SEC
#define POLL_FIRST  500 /* microseconds, doubled up to … */
#define POLL_MOST   8000

int tseed_rest_announce(const tseed_rest_t *rest, apr_interval_time_t most)
{
    uint64_t change = tseed_board_commit(rest->board);
    apr_time_t deadline = tseed_clock_monotonic() + most;
    apr_interval_time_t pause = POLL_FIRST;

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

static void log_accepted(const tseed_rest_t *rest, const tseed_task_t *task)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, rest->r,
                  "tileseed: task %" APR_INT64_T_FMT
                  " accepted: %s of layer '%s' by %s, %s zoom %d to %d, %s, %" APR_INT64_T_FMT
                  " tiles",
                  task->id, tseed_task_type_name(task->type), task->layer,
                  *task->requested_by ? task->requested_by : "anybody", task->gridset,
                  task->zoom_start, task->zoom_stop, task->format, task->tiles_total);
}

/* Commits the task. DECLINED: it is recorded, the answer is still to be given. */
static int record(const tseed_rest_t *rest, tseed_task_t *task, const tseed_positions_t *retry)
{
    request_rec *r = rest->r;
    int64_t most = rest->conf->settings.max_tasks;
    int64_t room = (int64_t)tseed_board_slots(rest->board) - TSEED_SPARE_SLOTS;
    const char *why;
    apr_status_t rv;
    tseed_state_t *state = tseed_child_acquire(&rv);

    most = most < room ? most : room; /* the board keeps its size over a graceful restart */
    if (state) {
        rv = retry ? tseed_state_task_retry(state, task, retry, most)
                   : tseed_state_task_insert(state, task, most);
    }
    why = tseed_child_release(state, r->pool);
    if (state && APR_STATUS_IS_EAGAIN(rv)) {
        apr_table_setn(r->headers_out, "Retry-After", "30");
        return tseed_reply_error(r, HTTP_SERVICE_UNAVAILABLE,
                                 "%" APR_INT64_T_FMT " tasks are pending or running, the most that "
                                 "TileSeedMaxTasks allows; send it again when some are done",
                                 most);
    }
    if (retry && rv == APR_NOTFOUND) {
        return tseed_reply_error(r, HTTP_CONFLICT,
                                 "task %" APR_INT64_T_FMT " has no failed metatiles: there is "
                                 "nothing to retry",
                                 task->retry_of);
    }
    return rv == APR_SUCCESS ? DECLINED : tseed_reply_no_state(r, rv, why, "record the task");
}

static void set_headers(const tseed_rest_t *rest, const tseed_task_t *task)
{
    request_rec *r = rest->r;
    const char *id = apr_psprintf(r->pool, "%" APR_INT64_T_FMT, task->id);

    apr_table_setn(r->headers_out, "TileSeed-Task", id);
    apr_table_setn(r->headers_out, "Link",
                   apr_psprintf(r->pool, "<%s/tasks/%s.json>; rel=\"monitor\"",
                                ap_escape_uri(r->pool, rest->base), id));
}

int tseed_rest_accept(const tseed_rest_t *rest, tseed_task_t *task, const tseed_positions_t *retry)
{
    int status;

    task->requested_by = rest->r->user ? rest->r->user : "";
    task->created = apr_time_now();
    status = record(rest, task, retry);
    if (status != DECLINED) {
        return status;
    }
    log_accepted(rest, task);
    tseed_rest_announce(rest, WAIT_CHANGE);
    set_headers(rest, task);
    return DECLINED;
}
