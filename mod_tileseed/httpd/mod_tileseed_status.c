/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Our section of mod_status' page. What it says is read first, and then written in one of three
 * ways: keys and values, a page with a table, a page without. */
#include "mod_tileseed_status.h"

#include <apr_strings.h>
#include <http_config.h>
#include <http_protocol.h>
#include <mod_status.h>

#include "base/tseed_text.h"
#include "board/tseed_board_host.h"
#include "board/tseed_gauges.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_supervise.h"
#include "protocol/tseed_document.h"

#define TASKS_MOST 100 /* in the list */

static const char *const seeder_states[] = {
    [TSEED_SEEDER_NONE] = "not running",
    [TSEED_SEEDER_STARTING] = "starting",
    [TSEED_SEEDER_WORKING] = "working",
    [TSEED_SEEDER_LOCKED_OUT] = "locked out: another seeder holds the state directory",
    [TSEED_SEEDER_NO_STATE] = "waiting: the state directory or the state database can't be used",
    [TSEED_SEEDER_STOPPED] = "stopped",
    [TSEED_SEEDER_STANDBY] = "standing by",
};

/* What the section says; in the pool of the request. */
typedef struct {
    request_rec *r;
    const char *seeder;
    const apr_array_header_t *rows; /* of tseed_row_t; NULL: the board can't be read just now, or
                                     * this host stands by */
    int running;
    double rate;                         /* tiles a second, of all tasks */
    int64_t used, limit;                 /* bytes; -1: not known, no limit */
    const apr_array_header_t *upstreams; /* of tseed_upstream_gauge_t */
} section_t;

/* ---- reading ---- */

/* "standing by: host web1 works", say. */
static const char *seeder_of(const tseed_board_t *board, apr_pool_t *pool)
{
    const tseed_seeder_state_t state = tseed_board_seeder(board, NULL, NULL, NULL);
    const tseed_board_host_t host = tseed_board_host_get(board);

    if (state != TSEED_SEEDER_STANDBY) {
        return seeder_states[state];
    }
    return *host.active ? apr_psprintf(pool, "standing by: host %s works",
                                       tseed_escape_xml(host.active, pool))
                        : "standing by: no host works";
}

static void read_tasks(section_t *section, const tseed_board_t *board)
{
    section->rows =
        tseed_board_is_standby(board) ? NULL : tseed_board_list(board, NULL, 0, section->r->pool);
    for (int i = 0; section->rows && i < section->rows->nelts; i++) {
        const tseed_progress_t *progress = &APR_ARRAY_IDX(section->rows, i, tseed_row_t).progress;

        if (progress->state == TSEED_RUNNING) {
            section->running++;
            section->rate += (double)progress->rate / 1000;
        }
    }
}

static void read_quota(section_t *section, const tseed_rest_t *rest)
{
    tseed_quota_config_t config;

    section->used = section->limit = -1;
    if (tseed_rest_quota(rest, &config).rv == APR_SUCCESS && config.enabled) {
        section->limit = config.quota.bytes;
    }
    tseed_rest_used(rest, &section->used);
}

static void read_upstreams(section_t *section, const tseed_board_t *board)
{
    apr_array_header_t *upstreams =
        apr_array_make(section->r->pool, 4, sizeof(tseed_upstream_gauge_t));

    for (unsigned i = 0; i < tseed_gauges_upstreams(board); i++) {
        tseed_upstream_gauge_t gauge;

        if (tseed_gauges_upstream_get(board, i, &gauge)) {
            APR_ARRAY_PUSH(upstreams, tseed_upstream_gauge_t) = gauge;
        }
    }
    section->upstreams = upstreams;
}

/* ---- for machines ---- */

/* A text is one line. */
static const char *plain(const char *text, apr_pool_t *pool)
{
    return tseed_escape_plain(tseed_text_quote(text, TSEED_REASON_SIZE, pool), pool);
}

static void write_task(request_rec *r, int i, const tseed_row_t *row)
{
    const tseed_progress_t *progress = &row->progress;

    ap_rprintf(r, "TileSeedTask[%d]Id: %" APR_INT64_T_FMT "\n", i, row->id);
    ap_rprintf(r, "TileSeedTask[%d]Layer: %s\n", i, plain(row->layer, r->pool));
    ap_rprintf(r, "TileSeedTask[%d]Type: %s\n", i, tseed_task_type_name(row->type));
    ap_rprintf(r, "TileSeedTask[%d]State: %s\n", i,
               tseed_task_state_name((tseed_task_state_t)progress->state));
    ap_rprintf(r, "TileSeedTask[%d]Total: %" APR_INT64_T_FMT "\n", i, row->tiles_total);
    ap_rprintf(r, "TileSeedTask[%d]Processed: %" APR_INT64_T_FMT "\n", i,
               tseed_progress_processed(progress));
    ap_rprintf(r, "TileSeedTask[%d]Failed: %" APR_INT64_T_FMT "\n", i, progress->failed);
    ap_rprintf(r, "TileSeedTask[%d]TilesPerSecond: %.1f\n", i, (double)progress->rate / 1000);
    if (*progress->reason) {
        ap_rprintf(r, "TileSeedTask[%d]Reason: %s\n", i, plain(progress->reason, r->pool));
    }
}

static void write_upstream(request_rec *r, int i, const tseed_upstream_gauge_t *gauge)
{
    ap_rprintf(r, "TileSeedUpstream[%d]Name: %s\n", i, plain(gauge->name, r->pool));
    ap_rprintf(r, "TileSeedUpstream[%d]State: %s\n", i, tseed_upstream_state_name(gauge->state));
    ap_rprintf(r, "TileSeedUpstream[%d]Window: %" APR_INT64_T_FMT "\n", i, gauge->window);
    ap_rprintf(r, "TileSeedUpstream[%d]UnderWay: %" APR_INT64_T_FMT "\n", i, gauge->under_way);
    ap_rprintf(r, "TileSeedUpstream[%d]Queued: %" APR_INT64_T_FMT "\n", i, gauge->queued);
    ap_rprintf(r, "TileSeedUpstream[%d]TasksWaiting: %" APR_INT64_T_FMT "\n", i, gauge->tasks);
    ap_rprintf(r, "TileSeedUpstream[%d]Requests: %" APR_INT64_T_FMT "\n", i, gauge->requests);
    ap_rprintf(r, "TileSeedUpstream[%d]Errors: %" APR_INT64_T_FMT "\n", i, gauge->errors);
    if (*gauge->cause) {
        ap_rprintf(r, "TileSeedUpstream[%d]Cause: %s\n", i, plain(gauge->cause, r->pool));
    }
}

static void write_values(const section_t *section)
{
    request_rec *r = section->r;

    ap_rprintf(r, "TileSeedSeeder: %s\n", section->seeder);
    if (section->rows) {
        ap_rprintf(r, "TileSeedTasksRunning: %d\nTileSeedTasksPending: %d\n", section->running,
                   section->rows->nelts - section->running);
        ap_rprintf(r, "TileSeedTilesPerSecond: %.1f\n", section->rate);
    }
    if (section->used >= 0) {
        ap_rprintf(r, "TileSeedQuotaUsed: %" APR_INT64_T_FMT "\n", section->used);
    }
    if (section->limit >= 0) {
        ap_rprintf(r, "TileSeedQuotaLimit: %" APR_INT64_T_FMT "\n", section->limit);
    }
    for (int i = 0; section->rows && i < section->rows->nelts && i < TASKS_MOST; i++) {
        write_task(r, i, &APR_ARRAY_IDX(section->rows, i, tseed_row_t));
    }
    for (int i = 0; i < section->upstreams->nelts; i++) {
        write_upstream(r, i, &APR_ARRAY_IDX(section->upstreams, i, tseed_upstream_gauge_t));
    }
}

/* ---- for people ---- */

static void show_task(request_rec *r, const tseed_row_t *row, int has_tables)
{
    const tseed_progress_t *progress = &row->progress;
    const char *layer = tseed_escape_xml(row->layer, r->pool);
    const char *type = tseed_task_type_name(row->type);
    const char *state = tseed_task_state_name((tseed_task_state_t)progress->state);
    const char *reason = tseed_escape_xml(progress->reason, r->pool);
    const char *tiles = apr_psprintf(r->pool, "%" APR_INT64_T_FMT " of %" APR_INT64_T_FMT,
                                     tseed_progress_processed(progress), row->tiles_total);
    const double rate = (double)progress->rate / 1000;

    if (has_tables) {
        ap_rprintf(r,
                   "<tr><td>%" APR_INT64_T_FMT "</td><td>%s</td><td>%s</td><td>%s</td>"
                   "<td>%s</td><td>%.1f</td><td>%s</td></tr>\n",
                   row->id, layer, type, state, tiles, rate, reason);
    } else {
        ap_rprintf(r,
                   "<li>task %" APR_INT64_T_FMT " of layer %s: %s, %s, %s tiles, %.1f a second. "
                   "%s</li>\n",
                   row->id, layer, type, state, tiles, rate, reason);
    }
}

static void show_tasks(const section_t *section, int has_tables)
{
    request_rec *r = section->r;
    const int shown = section->rows->nelts < TASKS_MOST ? section->rows->nelts : TASKS_MOST;

    ap_rputs(has_tables ? "<table border=\"0\"><tr><th>Task</th><th>Layer</th><th>Type</th>"
                          "<th>State</th><th>Tiles</th><th>Tiles/s</th><th>Reason</th></tr>\n"
                        : "<ul>\n",
             r);
    for (int i = 0; i < shown; i++) {
        show_task(r, &APR_ARRAY_IDX(section->rows, i, tseed_row_t), has_tables);
    }
    ap_rputs(has_tables ? "</table>\n" : "</ul>\n", r);
    if (shown < section->rows->nelts) {
        ap_rprintf(r, "<p>and %d more</p>\n", section->rows->nelts - shown);
    }
}

static void show_upstream(request_rec *r, const tseed_upstream_gauge_t *gauge, int has_tables)
{
    const char *name = tseed_escape_xml(gauge->name, r->pool);
    const char *state = tseed_upstream_state_name(gauge->state);
    const char *cause = tseed_escape_xml(gauge->cause, r->pool);
    const char *requests = apr_psprintf(r->pool, "%" APR_INT64_T_FMT " of %" APR_INT64_T_FMT,
                                        gauge->errors, gauge->requests);

    if (has_tables) {
        ap_rprintf(r,
                   "<tr><td>%s</td><td>%s</td><td>%" APR_INT64_T_FMT "</td><td>%" APR_INT64_T_FMT
                   "</td><td>%" APR_INT64_T_FMT "</td><td>%s</td><td>%s</td></tr>\n",
                   name, state, gauge->window, gauge->under_way, gauge->queued, requests, cause);
    } else {
        ap_rprintf(r,
                   "<li>upstream %s: %s, %" APR_INT64_T_FMT " of %" APR_INT64_T_FMT
                   " requests under way, %" APR_INT64_T_FMT " queued, %s failed. %s</li>\n",
                   name, state, gauge->under_way, gauge->window, gauge->queued, requests, cause);
    }
}

static void show_upstreams(const section_t *section, int has_tables)
{
    request_rec *r = section->r;

    if (section->upstreams->nelts == 0) {
        return;
    }
    ap_rputs(has_tables ? "<table border=\"0\"><tr><th>Upstream</th><th>State</th><th>Window</th>"
                          "<th>Under way</th><th>Queued</th><th>Failed</th><th>Cause</th></tr>\n"
                        : "<ul>\n",
             r);
    for (int i = 0; i < section->upstreams->nelts; i++) {
        show_upstream(r, &APR_ARRAY_IDX(section->upstreams, i, tseed_upstream_gauge_t), has_tables);
    }
    ap_rputs(has_tables ? "</table>\n" : "</ul>\n", r);
}

static void show_quota(const section_t *section)
{
    request_rec *r = section->r;

    if (section->used >= 0) {
        ap_rprintf(r, "<p>The cache takes %s%s%s</p>\n", tseed_text_amount(section->used, r->pool),
                   section->limit >= 0 ? ", the disk quota is " : "",
                   section->limit >= 0 ? tseed_text_amount(section->limit, r->pool) : "");
    }
}

static void show_page(const section_t *section, int has_tables)
{
    request_rec *r = section->r;

    ap_rprintf(r, "<hr />\n<h1>Tile cache seeding</h1>\n<p>Seeder: %s", section->seeder);
    if (section->rows) {
        ap_rprintf(r, "; %d task%s running, %d pending; %.1f tiles a second", section->running,
                   section->running == 1 ? "" : "s", section->rows->nelts - section->running,
                   section->rate);
    }
    ap_rputs("</p>\n", r);
    show_quota(section);
    if (section->rows && section->rows->nelts > 0) {
        show_tasks(section, has_tables);
    }
    show_upstreams(section, has_tables);
}

int tseed_status_section(request_rec *r, int flags)
{
    const tseed_rest_t rest = {
        .r = r,
        .conf = tseed_conf_get(r->server),
        .dir = ap_get_module_config(r->per_dir_config, &tileseed_module),
        .board = tseed_supervise_board(),
    };
    section_t section = {.r = r};

    if (!rest.board || !rest.conf->settings.server_status) {
        return OK;
    }
    section.seeder = seeder_of(rest.board, r->pool);
    read_tasks(&section, rest.board);
    read_quota(&section, &rest);
    read_upstreams(&section, rest.board);
    if (flags & AP_STATUS_SHORT) {
        write_values(&section);
    } else {
        show_page(&section, !(flags & AP_STATUS_NOTABLE));
    }
    return OK;
}
