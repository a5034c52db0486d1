/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What others ask regularly: our section of mod_status' page, and the metrics. */
#include <httpd.h>
#include <apr_optional_hooks.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_protocol.h>
#include <mod_status.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "board/tseed_board.h"
#include "board/tseed_counters.h"
#include "board/tseed_gauges.h"
#include "mod_tileseed.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_supervise.h"

/* ---- mod_status ---- */

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

static void read_tasks(section_t *section, const tseed_rest_t *rest)
{
    section->rows = tseed_board_is_standby(rest->board)
                        ? NULL
                        : tseed_board_list(rest->board, NULL, 0, section->r->pool);
    for (int i = 0; section->rows && i < section->rows->nelts; i++) {
        tseed_progress_t *progress = &APR_ARRAY_IDX(section->rows, i, tseed_row_t).progress;

        tseed_rest_replace_reason(rest, progress);
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

static int show_section(request_rec *r, int flags)
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
    read_tasks(&section, &rest);
    read_quota(&section, &rest);
    read_upstreams(&section, rest.board);
    if (flags & AP_STATUS_SHORT) {
        write_values(&section);
    } else {
        show_page(&section, !(flags & AP_STATUS_NOTABLE));
    }
    return OK;
}

/* ---- metrics ---- */

#define HANDLER "tileseed-metrics"

/* ---- the seeder and its tasks ---- */

/* The numbers of tseed_seeder_state_t are places in tseed_seeder_states. */
static void read_seeder(tseed_metrics_t *metrics, const tseed_rest_t *rest)
{
    apr_time_t heartbeat;
    const tseed_seeder_state_t state =
        tseed_board_seeder(rest->board, NULL, &metrics->starts, &heartbeat);

    metrics->seeder = tseed_seeder_states[state];
    metrics->is_up = (state == TSEED_SEEDER_WORKING || state == TSEED_SEEDER_STANDBY) &&
                     tseed_clock_monotonic() - heartbeat < rest->conf->settings.hang_timeout;
    metrics->is_active = metrics->is_up && state == TSEED_SEEDER_WORKING;
}

static void add_task(tseed_metrics_t *metrics, const tseed_row_t *row)
{
    const int is_running = row->progress.state == TSEED_RUNNING;

    const int code = row->progress.reason_code;

    metrics->tasks[row->type][is_running]++;
    metrics->reasons[code < TSEED_REASONS ? code : TSEED_REASON_NONE]++;
    metrics->remaining += row->tiles_total - tseed_progress_processed(&row->progress);
    metrics->rate += is_running ? (double)row->progress.rate / 1000 : 0;
}

/* Tasks that the board has no slot for are known to the database alone: then nothing is said. A
 * host that stands by leaves the tasks to the host that works. */
static void gather_tasks(tseed_metrics_t *metrics, const tseed_rest_t *rest)
{
    metrics->has_tasks =
        !tseed_board_is_crowded(rest->board) && !tseed_board_is_standby(rest->board);
    for (unsigned i = 0; metrics->has_tasks && i < tseed_board_used(rest->board); i++) {
        tseed_row_t row;

        if (tseed_board_read(rest->board, i, &row) && !row.terminating &&
            tseed_rest_sees(rest, row.layer)) {
            add_task(metrics, &row);
        }
    }
}

/* ---- layers and upstreams ---- */

/* A location that sees some layers only is not told of the others together: other layers may use
 * them. */
static void add_upstream(apr_hash_t *found, const tseed_rest_t *rest,
                         const tseed_upstream_t *upstream)
{
    const char *name = upstream->counted > 0 ? upstream->name : TSEED_COUNTED_OTHER;

    if (upstream->counted == 0 && rest->dir->layers) {
        return;
    }
    if (!apr_hash_get(found, name, APR_HASH_KEY_STRING)) {
        tseed_upstream_counts_t *counts = apr_palloc(rest->r->pool, sizeof(*counts));

        counts->name = name;
        counts->state = TSEED_UPSTREAM_UNASKED;
        tseed_counters_upstream(rest->board, upstream->counted, counts);
        apr_hash_set(found, name, APR_HASH_KEY_STRING, counts);
    }
}

/* The seeder alone knows those that it has asked. */
static void read_states(apr_hash_t *found, const tseed_board_t *board)
{
    tseed_upstream_gauge_t gauge;

    for (unsigned i = 0; i < tseed_gauges_upstreams(board); i++) {
        if (tseed_gauges_upstream_get(board, i, &gauge)) {
            tseed_upstream_counts_t *counts = apr_hash_get(found, gauge.name, APR_HASH_KEY_STRING);

            if (counts) {
                counts->state = gauge.state;
            }
        }
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tseed_upstream_counts_t *)a)->name,
                  ((const tseed_upstream_counts_t *)b)->name);
}

static void sort_upstreams(tseed_metrics_t *metrics, apr_hash_t *found, apr_pool_t *pool)
{
    metrics->upstreams =
        apr_array_make(pool, (int)apr_hash_count(found), sizeof(tseed_upstream_counts_t));
    for (apr_hash_index_t *i = apr_hash_first(pool, found); i; i = apr_hash_next(i)) {
        APR_ARRAY_PUSH(metrics->upstreams, tseed_upstream_counts_t) =
            *(tseed_upstream_counts_t *)apr_hash_this_val(i);
    }
    qsort(metrics->upstreams->elts, (size_t)metrics->upstreams->nelts,
          sizeof(tseed_upstream_counts_t), by_name);
}

static void add_layer(tseed_metrics_t *metrics, const tseed_rest_t *rest, unsigned number,
                      const char *name)
{
    tseed_layer_counts_t *counts = apr_array_push(metrics->layers);

    counts->name = name;
    tseed_counters_layer(rest->board, number, counts);
}

/* What this location sees. Layers that it does not see may be among the others. */
static void read_layers(tseed_metrics_t *metrics, const tseed_rest_t *rest)
{
    const apr_array_header_t *all = rest->conf->catalog->order;
    apr_pool_t *pool = rest->r->pool;
    apr_hash_t *upstreams = apr_hash_make(pool);

    metrics->layers = apr_array_make(pool, all->nelts + 1, sizeof(tseed_layer_counts_t));
    for (int i = 0; i < all->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(all, i, const tseed_layer_t *);

        if (!tseed_rest_sees(rest, layer->name)) {
            continue;
        }
        for (int k = 0; k < layer->source.count; k++) {
            add_upstream(upstreams, rest, layer->source.addresses[k].upstream);
        }
        if (layer->counted > 0) {
            add_layer(metrics, rest, layer->counted, layer->name);
        } else {
            metrics->others++;
        }
    }
    if (metrics->others > 0 && !rest->dir->layers) {
        add_layer(metrics, rest, 0, TSEED_COUNTED_OTHER);
    }
    read_states(upstreams, rest->board);
    sort_upstreams(metrics, upstreams, pool);
}

/* ---- the answer ---- */

static const char *httpd_version(apr_pool_t *pool)
{
    ap_version_t version;

    ap_get_server_revision(&version);
    return apr_psprintf(pool, "%d.%d.%d%s", version.major, version.minor, version.patch,
                        version.add_string ? version.add_string : "");
}

/* A location that sees some layers only is told nothing of the stores. */
static void read_readings(tseed_metrics_t *metrics, const tseed_rest_t *rest)
{
    const char **roots =
        apr_pcalloc(rest->r->pool, (TSEED_COUNTED_ROOTS + 1) * sizeof(const char *));

    metrics->has_readings = !tseed_board_is_standby(rest->board) &&
                            tseed_counters_readings(rest->board, &metrics->readings);
    if (!rest->dir->layers) {
        tseed_catalog_roots(rest->conf->catalog, roots, TSEED_COUNTED_ROOTS);
    }
    metrics->roots = roots;
}

static int answer(const tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const tseed_exposition_format_t format =
        tseed_exposition_choose(apr_table_get(r->headers_in, "Accept"), r->pool);
    tseed_metrics_t metrics = {.version = TSEED_VERSION, .httpd = httpd_version(r->pool)};
    const char *document;
    apr_size_t length;

    read_seeder(&metrics, rest);
    gather_tasks(&metrics, rest);
    read_layers(&metrics, rest);
    read_readings(&metrics, rest);
    tseed_counters_server(rest->board, &metrics.counts);
    document = tseed_metrics_document(&metrics, format, &length, r->pool);
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    apr_table_mergen(r->headers_out, "Vary", "Accept");
    ap_set_content_type(r, tseed_exposition_type(format));
    ap_set_content_length(r, (apr_off_t)length);
    ap_rwrite(document, (int)length, r);
    return OK;
}

static int handle_metrics(tseed_rest_t *rest)
{
    if (rest->dir->metrics != TSEED_ON) {
        return tseed_reply_error(rest->r, HTTP_NOT_FOUND,
                                 "there is nothing at this address; TileSeedMetrics on would show "
                                 "the metrics here");
    }
    return answer(rest);
}

static int serve_metrics(request_rec *r)
{
    tseed_rest_t rest = {.r = r};

    rest.dir = ap_get_module_config(r->per_dir_config, &tileseed_module);
    /* a .htaccess may name the handler as well, where no location has said who may ask for it */
    if (!r->handler || strcmp(r->handler, HANDLER) != 0 || rest.dir->metrics != TSEED_ON) {
        return DECLINED;
    }
    rest.conf = tseed_conf_get(r->server);
    rest.board = tseed_supervise_board();
    if (r->method_number != M_GET) {
        apr_table_setn(r->headers_out, "Allow", "GET, HEAD");
        return tseed_reply_error(r, HTTP_METHOD_NOT_ALLOWED, "%s is not possible here, only GET",
                                 r->method);
    }
    if (!rest.board) {
        return tseed_reply_busy(r, 30,
                                "no layer is configured, or there is no memory for the task "
                                "table; the error log says which");
    }
    return answer(&rest);
}

/* ---- what it answers ---- */

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_METRICS, .handle = handle_metrics},
    {.handle = NULL},
};

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_handler(serve_metrics, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, show_section, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_status_part = {.handlers = handlers, .hook = register_hooks};
