/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The watch over a request that waits.
 *
 * A process of httpd that is ending keeps its entry of the scoreboard until its last request is
 * through. Suppose that no entry is free for a new process, and that the tile's upstream is this
 * very httpd. Then the waiting request needs a new process, and the new process needs the entry. So
 * the request stops waiting when no other process has been serving for a moment. While another
 * process serves, the request may wait as long as any request.
 */
#include "mod_tileseed_wait.h"

#include <httpd.h>
#include <ap_mpm.h>
#include <apr_portable.h>
#include <http_core.h>
#include <http_protocol.h>
#include <scoreboard.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "mod_tileseed_supervise.h"

#define SEEDER_TIMEOUT  (10 * APR_USEC_PER_SEC) /* a restart of the seeder takes far less */
#define PROCESS_TIMEOUT (5 * APR_USEC_PER_SEC)  /* httpd starts processes once a second */

static int is_ending(void)
{
    int state;

    return ap_mpm_query(AP_MPMQ_MPM_STATE, &state) == APR_SUCCESS && state == AP_MPMQ_STOPPING;
}

/* Whether another process of httpd serves and goes on serving. About this process the scoreboard
 * may be wrong: the parent marks a child that it has just begun as not quiescing, even if the child
 * quiesces already. */
static int others_serve(void)
{
    int most = 0;

    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &most);
    for (int i = 0; i < most; i++) {
        const process_score *process = ap_get_scoreboard_process(i);

        if (process && process->pid && process->pid != getpid() && !process->quiescing &&
            process->generation == ap_scoreboard_image->global->running_generation) {
            return 1;
        }
    }
    return 0;
}

/* A seeder that stands by has the tile made by the host that works. */
static int seeder_is_there(const tseed_wait_t *wait)
{
    tseed_board_t *board = tseed_supervise_board();
    const tseed_seeder_state_t state =
        board ? tseed_board_seeder(board, NULL, NULL, NULL) : TSEED_SEEDER_NONE;

    return state == TSEED_SEEDER_WORKING || (state == TSEED_SEEDER_STANDBY && !wait->is_short);
}

/* Whether something has been so for at least `limit`. */
static int lasts(apr_time_t *since, int is_so, apr_interval_time_t limit)
{
    apr_time_t now = tseed_clock_monotonic();

    *since = !is_so ? 0 : *since ? *since : now;
    return *since && now - *since >= limit;
}

static const char *look(void *baton)
{
    tseed_wait_t *wait = baton;

    if (wait->request->connection->aborted) { /* a stream of HTTP/2 that was reset */
        return "the client has gone";
    }
    if (wait->is_short && seeder_is_there(wait) && !tseed_supervise_responds()) {
        return "the seeder gives no sign of life";
    }
    if (lasts(&wait->seeder_missed, !seeder_is_there(wait), SEEDER_TIMEOUT)) {
        return "the seeder is not at work";
    }
    if (lasts(&wait->alone, is_ending() && !others_serve(), PROCESS_TIMEOUT)) {
        return "this process of httpd is ending";
    }
    return NULL;
}

/* The socket of the connection that the request came by: of HTTP/2 that of all its streams. */
static int socket_of(const request_rec *r)
{
    conn_rec *connection = r->connection->master ? r->connection->master : r->connection;
    apr_socket_t *socket = ap_get_conn_socket(connection);
    apr_os_sock_t descriptor = -1;

    return socket && apr_os_sock_get(&descriptor, socket) == APR_SUCCESS ? descriptor : -1;
}

tseed_cancel_t tseed_wait_begin(tseed_wait_t *wait, request_rec *r)
{
    *wait = (tseed_wait_t){.request = r};
    return (tseed_cancel_t){.client = socket_of(r), .look = look, .baton = wait};
}
