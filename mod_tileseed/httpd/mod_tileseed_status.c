/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Our section of mod_status' page. */
#include "mod_tileseed_status.h"

#include <http_protocol.h>
#include <mod_status.h>

#include "mod_tileseed_supervise.h"
#include "protocol/tseed_document.h"

static const char *const seeder_states[] = {
    [TSEED_SEEDER_NONE] = "not running",
    [TSEED_SEEDER_STARTING] = "starting",
    [TSEED_SEEDER_WORKING] = "working",
    [TSEED_SEEDER_LOCKED_OUT] = "locked out: another seeder holds the state directory",
    [TSEED_SEEDER_NO_STATE] = "waiting: the state directory can't be used",
    [TSEED_SEEDER_STOPPED] = "stopped",
};

static void show_task(request_rec *r, const tseed_row_t *row)
{
    int64_t processed = tseed_progress_processed(&row->progress);

    ap_rprintf(r,
               "<tr><td>%" APR_INT64_T_FMT "</td><td>%s</td><td>%s</td><td>%s</td>"
               "<td>%" APR_INT64_T_FMT " of %" APR_INT64_T_FMT "</td><td>%s</td></tr>\n",
               row->id, tseed_escape_xml(row->layer, r->pool), tseed_task_type_name(row->type),
               tseed_task_state_name((tseed_task_state_t)row->progress.state), processed,
               row->tiles_total, tseed_escape_xml(row->progress.reason, r->pool));
}

int tseed_status_section(request_rec *r, int flags)
{
    tseed_board_t *board = tseed_supervise_board();
    apr_array_header_t *rows = board ? tseed_board_list(board, NULL, 0, r->pool) : NULL;
    const char *seeder = board ? seeder_states[tseed_board_seeder(board, NULL, NULL, NULL)] : NULL;
    int running = 0;

    if (!rows) {
        return OK;
    }
    for (int i = 0; i < rows->nelts; i++) {
        running += APR_ARRAY_IDX(rows, i, tseed_row_t).progress.state == TSEED_RUNNING;
    }
    if (flags & AP_STATUS_SHORT) {
        ap_rprintf(r, "TileSeedSeeder: %s\nTileSeedTasksRunning: %d\nTileSeedTasksPending: %d\n",
                   seeder, running, rows->nelts - running);
        return OK;
    }
    ap_rprintf(
        r,
        "<hr />\n<h1>Tile cache seeding</h1>\n<p>Seeder: %s; %d task%s running, %d pending</p>\n"
        "<table border=\"0\"><tr><th>Task</th><th>Layer</th><th>Type</th><th>State</th>"
        "<th>Tiles</th><th>Reason</th></tr>\n",
        seeder, running, running == 1 ? "" : "s", rows->nelts - running);
    for (int i = 0; i < rows->nelts && i < 100; i++) {
        show_task(r, &APR_ARRAY_IDX(rows, i, tseed_row_t));
    }
    ap_rputs("</table>\n", r);
    return OK;
}
