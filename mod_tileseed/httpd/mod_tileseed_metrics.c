/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The metrics: read from the board and the configuration alone, never from the database. */
#include "mod_tileseed_metrics.h"

#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_protocol.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "board/tseed_board_host.h"
#include "board/tseed_counters.h"
#include "board/tseed_gauges.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"

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
static void read_tasks(tseed_metrics_t *metrics, const tseed_rest_t *rest)
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
    read_tasks(&metrics, rest);
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

int tseed_handle_metrics(tseed_rest_t *rest)
{
    if (rest->dir->metrics != TSEED_ON) {
        return tseed_reply_error(rest->r, HTTP_NOT_FOUND,
                                 "there is nothing at this address; TileSeedMetrics on would show "
                                 "the metrics here");
    }
    return answer(rest);
}

int tseed_metrics_handler(request_rec *r)
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
