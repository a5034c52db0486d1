/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handlers of what goes on just now: overview.json and upstreams.json. They read the board alone,
 * neither the database nor a file. Only a host that stands by asks the database for the tasks.
 *
 * The ETag names the board, the configuration, the count of changes on the board, and the layers
 * that the location sees. A request whose ETag is still right costs no look at tasks or upstreams.
 */
#include "mod_tileseed_handlers.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "board/tseed_board_host.h"
#include "board/tseed_gauges.h"
#include "board/tseed_polls.h"
#include "mod_tileseed_child.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_overview.h"
#include "state/tseed_hosts.h"

static const char *const states[] = {
    [TSEED_SEEDER_NONE] = "DOWN",         [TSEED_SEEDER_STARTING] = "STARTING",
    [TSEED_SEEDER_WORKING] = "WORKING",   [TSEED_SEEDER_LOCKED_OUT] = "LOCKED_OUT",
    [TSEED_SEEDER_NO_STATE] = "NO_STATE", [TSEED_SEEDER_STOPPED] = "STOPPED",
    [TSEED_SEEDER_STANDBY] = "STANDBY",
};

/* A server that has its database for itself works itself, whatever its seeder does. */
static void read_hosts(const tseed_rest_t *rest, tseed_overview_seeder_t *seeder)
{
    const tseed_board_host_t host = tseed_board_host_get(rest->board);

    seeder->host = rest->conf->settings.host;
    seeder->active = tseed_hosts_can_share(rest->conf->settings.db_driver)
                         ? apr_pstrdup(rest->r->pool, host.active)
                         : seeder->host;
}

static tseed_overview_now_t now_get(void)
{
    return (tseed_overview_now_t){tseed_clock_monotonic(), apr_time_now()};
}

/* ---- ETag ---- */

/* What distinguishes locations that see some layers. */
static uint64_t sight_of(const tseed_dir_conf_t *dir)
{
    uint64_t sight = 0;

    for (int i = 0; dir->layers && i < dir->layers->nelts; i++) {
        const char *layer = APR_ARRAY_IDX(dir->layers, i, const char *);

        sight = tseed_digest(layer, strlen(layer) + 1, sight + 1);
    }
    return sight;
}

/* Read before anything of the document is. */
static const char *etag_of(const tseed_rest_t *rest)
{
    const tseed_board_t *board = rest->board;
    const int flags = (tseed_supervise_is_newest() ? 1 : 0) | (tseed_supervise_responds() ? 2 : 0);

    return apr_psprintf(rest->r->pool,
                        "W/\"%" APR_UINT64_T_HEX_FMT ".%" APR_UINT64_T_HEX_FMT
                        ".%" APR_UINT64_T_HEX_FMT ".%d.%" APR_UINT64_T_HEX_FMT "\"",
                        tseed_board_born(board), tseed_board_generation(board),
                        tseed_board_changes(board), flags, sight_of(rest->dir));
}

/* ---- tasks ---- */

/* A row of the board, before the list is cut. */
typedef struct {
    int64_t id;
    unsigned slot;
    int is_pending;
} entry_t;

static int by_turn(const void *a, const void *b)
{
    const entry_t *left = a, *right = b;

    if (left->is_pending != right->is_pending) {
        return left->is_pending - right->is_pending;
    }
    return (left->id > right->id) - (left->id < right->id);
}

static int is_shown(const tseed_rest_t *rest, unsigned slot, tseed_row_t *row)
{
    return tseed_board_read(rest->board, slot, row) && !row->terminating &&
           tseed_rest_sees(rest, row->layer);
}

/* Counts all tasks that the location sees. Returns them as entry_t in the order of their turn. */
static apr_array_header_t *count_tasks(const tseed_rest_t *rest, tseed_overview_seeder_t *seeder)
{
    apr_array_header_t *entries = apr_array_make(rest->r->pool, 16, sizeof(entry_t));
    tseed_row_t row;

    for (unsigned slot = 0; slot < tseed_board_used(rest->board); slot++) {
        if (is_shown(rest, slot, &row)) {
            const int is_pending = row.progress.state != TSEED_RUNNING;

            APR_ARRAY_PUSH(entries, entry_t) = (entry_t){row.id, slot, is_pending};
            seeder->pending += is_pending;
            seeder->running += !is_pending;
            seeder->rate += is_pending ? 0 : (double)row.progress.rate / 1000;
        }
    }
    qsort(entries->elts, (size_t)entries->nelts, sizeof(entry_t), by_turn);
    return entries;
}

static int by_state(const void *a, const void *b)
{
    const tseed_overview_task_t *left = a, *right = b;

    if (left->progress->state != right->progress->state) {
        return right->progress->state - left->progress->state;
    }
    return (left->id > right->id) - (left->id < right->id);
}

/* The tasks of the host that works, as of its last checkpoint. When the database can't be read they
 * are not all that there are. */
static void read_tasks_elsewhere(const tseed_rest_t *rest, tseed_overview_t *overview)
{
    const tseed_task_query_t query = {.states = TSEED_STATE_BIT(TSEED_PENDING) |
                                                TSEED_STATE_BIT(TSEED_RUNNING),
                                      .before = INT64_MAX,
                                      .limit = TSEED_OVERVIEW_TASKS + 1};
    apr_pool_t *pool = rest->r->pool;
    apr_array_header_t *records = NULL;
    int count;
    apr_status_t rv;
    tseed_state_t *state = tseed_child_acquire(&rv);

    if (state) {
        rv = tseed_state_find(state, &records, &query, rest->dir->layers, pool);
    }
    tseed_child_release(state, pool);
    count = rv == APR_SUCCESS ? records->nelts : 0;
    count = count < TSEED_OVERVIEW_TASKS ? count : TSEED_OVERVIEW_TASKS;
    overview->is_whole = rv == APR_SUCCESS && count == records->nelts;
    overview->tasks = apr_array_make(pool, count + 1, sizeof(tseed_overview_task_t));
    for (int i = 0; i < count; i++) {
        tseed_task_record_t *one = &APR_ARRAY_IDX(records, i, tseed_task_record_t);
        const int is_running = one->progress.state == TSEED_RUNNING;

        tseed_rest_add_reason(rest, &one->progress);
        overview->seeder.running += is_running;
        overview->seeder.pending += !is_running;
        APR_ARRAY_PUSH(overview->tasks, tseed_overview_task_t) =
            (tseed_overview_task_t){one->task->id, one->task->tiles_total, one->task->layer,
                                    one->task->type, &one->progress};
    }
    qsort(overview->tasks->elts, (size_t)overview->tasks->nelts, sizeof(tseed_overview_task_t),
          by_state);
}

/* A task that has ended meanwhile is left out. */
static void read_tasks(const tseed_rest_t *rest, tseed_overview_t *overview)
{
    apr_pool_t *pool = rest->r->pool;
    const apr_array_header_t *entries = count_tasks(rest, &overview->seeder);
    const int count = entries->nelts < TSEED_OVERVIEW_TASKS ? entries->nelts : TSEED_OVERVIEW_TASKS;

    overview->tasks = apr_array_make(pool, count + 1, sizeof(tseed_overview_task_t));
    overview->is_whole = count == entries->nelts && !tseed_board_is_crowded(rest->board);
    for (int i = 0; i < count; i++) {
        const entry_t *entry = &APR_ARRAY_IDX(entries, i, entry_t);
        tseed_row_t *row = apr_palloc(pool, sizeof(*row));

        if (is_shown(rest, entry->slot, row) && row->id == entry->id) {
            APR_ARRAY_PUSH(overview->tasks, tseed_overview_task_t) = (tseed_overview_task_t){
                row->id, row->tiles_total, row->layer, row->type, &row->progress};
        }
    }
}

/* ---- quota ---- */

/* What is used of the global quota says something of all layers. */
static void read_quota(const tseed_rest_t *rest, tseed_overview_t *overview)
{
    apr_pool_t *pool = rest->r->pool;
    tseed_quota_rule_t *rule = apr_palloc(pool, sizeof(*rule));
    tseed_quota_gauge_t *quota = apr_palloc(pool, sizeof(*quota));

    if (tseed_gauges_rule_get(rest->board, rule)) {
        overview->rule = rule;
    }
    if (!rest->dir->layers && tseed_gauges_quota_get(rest->board, quota)) {
        overview->quota = quota;
    }
}

/* ---- upstreams ---- */

/* The upstream of that name among those of a layer; NULL: the layer does not use it. */
static const tseed_upstream_t *upstream_of(const tseed_layer_t *layer, const char *name)
{
    for (int i = 0; i < layer->source.count; i++) {
        const tseed_upstream_t *upstream = layer->source.addresses[i].upstream;

        if (strncmp(upstream->name, name, TSEED_NAME_MAX) == 0) {
            return upstream;
        }
    }
    return NULL;
}

/* Whether an address of a layer is the first one of its upstream. */
static int is_first(const tseed_layer_t *layer, int address)
{
    const tseed_address_t *addresses = layer->source.addresses;
    int first = 0;

    while (addresses[first].upstream != addresses[address].upstream) {
        first++;
    }
    return first == address;
}

/* Whether the location sees a layer that uses the upstream. */
static int sees_upstream(const tseed_rest_t *rest, const char *name)
{
    const apr_array_header_t *only = rest->dir->layers;
    int sees = !only;

    for (int i = 0; !sees && i < only->nelts; i++) {
        const tseed_layer_t *layer =
            tseed_catalog_find_layer(rest->conf->catalog, APR_ARRAY_IDX(only, i, const char *));

        sees = layer && upstream_of(layer, name) != NULL;
    }
    return sees;
}

/* The gauges that the location may see, as tseed_overview_upstream_t. */
static apr_array_header_t *read_upstreams(const tseed_rest_t *rest)
{
    const unsigned count = tseed_gauges_upstreams(rest->board);
    apr_array_header_t *upstreams =
        apr_array_make(rest->r->pool, (int)count + 1, sizeof(tseed_overview_upstream_t));

    for (unsigned i = 0; i < count; i++) {
        tseed_overview_upstream_t upstream = {.configured = NULL};

        if (tseed_gauges_upstream_get(rest->board, i, &upstream.gauge) &&
            sees_upstream(rest, upstream.gauge.name)) {
            upstream.configured = apr_hash_get(rest->conf->catalog->upstreams, upstream.gauge.name,
                                               APR_HASH_KEY_STRING);
            APR_ARRAY_PUSH(upstreams, tseed_overview_upstream_t) = upstream;
        }
    }
    return upstreams;
}

/* Finds an upstream in the list, or enters it as one that was not asked. */
static tseed_overview_upstream_t *enter(apr_array_header_t *upstreams, apr_hash_t *by_name,
                                        const tseed_upstream_t *configured)
{
    apr_pool_t *pool = upstreams->pool;
    char *name = apr_pstrndup(pool, configured->name, TSEED_NAME_MAX);
    int *place = apr_hash_get(by_name, name, APR_HASH_KEY_STRING);
    tseed_overview_upstream_t *upstream;

    if (!place) {
        place = apr_pmemdup(pool, &upstreams->nelts, sizeof(*place));
        apr_hash_set(by_name, name, APR_HASH_KEY_STRING, place);
        upstream = apr_array_push(upstreams);
        memset(upstream, 0, sizeof(*upstream));
        apr_cpystrn(upstream->gauge.name, name, sizeof(upstream->gauge.name));
    }
    upstream = &APR_ARRAY_IDX(upstreams, *place, tseed_overview_upstream_t);
    upstream->configured = configured;
    if (!upstream->layers) {
        upstream->layers = apr_array_make(pool, 4, sizeof(const char *));
    }
    return upstream;
}

/* Adds the upstreams that were not asked, and to each the layers that use it. */
static void add_layers(const tseed_rest_t *rest, apr_array_header_t *upstreams)
{
    const apr_array_header_t *order = rest->conf->catalog->order;
    apr_hash_t *by_name = apr_hash_make(upstreams->pool);

    for (int i = 0; i < upstreams->nelts; i++) {
        tseed_overview_upstream_t *upstream =
            &APR_ARRAY_IDX(upstreams, i, tseed_overview_upstream_t);

        upstream->layers = apr_array_make(upstreams->pool, 4, sizeof(const char *));
        apr_hash_set(by_name, apr_pstrdup(upstreams->pool, upstream->gauge.name),
                     APR_HASH_KEY_STRING, apr_pmemdup(upstreams->pool, &i, sizeof(i)));
    }
    for (int i = 0; i < order->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(order, i, const tseed_layer_t *);

        for (int j = 0; tseed_rest_sees(rest, layer->name) && j < layer->source.count; j++) {
            if (is_first(layer, j)) {
                APR_ARRAY_PUSH(
                    enter(upstreams, by_name, layer->source.addresses[j].upstream)->layers,
                    const char *) = layer->name;
            }
        }
    }
}

/* ---- handlers ---- */

int tseed_handle_overview(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const int pause = tseed_polls_count(rest->board, tseed_clock_monotonic());
    const int stands_by = tseed_board_is_standby(rest->board);
    const int status = stands_by ? OK : tseed_reply_etag(r, etag_of(rest));
    tseed_overview_t overview = {.now = now_get(), .settings = &rest->conf->settings};
    uint64_t starts;

    if (status != OK) {
        return status;
    }
    apr_table_setn(r->headers_out, "TileSeed-Pause", apr_psprintf(r->pool, "%d", pause));
    overview.seeder.state =
        states[tseed_board_seeder(rest->board, &overview.seeder.pid, &starts, NULL)];
    overview.seeder.starts = (int64_t)starts;
    overview.seeder.since = tseed_board_seeder_since(rest->board);
    overview.seeder.responds = tseed_supervise_responds();
    read_hosts(rest, &overview.seeder);
    if (stands_by) { /* the board knows nothing of tasks and quota, and when they change */
        read_tasks_elsewhere(rest, &overview);
    } else {
        read_tasks(rest, &overview);
        read_quota(rest, &overview);
    }
    overview.upstreams = read_upstreams(rest);
    return tseed_reply_document(r, TSEED_BODY_JSON, tseed_overview_document(&overview, r->pool));
}

int tseed_handle_upstreams(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const int status = tseed_reply_etag(r, etag_of(rest));
    const tseed_overview_now_t now = now_get();
    apr_array_header_t *upstreams;

    if (status != OK) {
        return status;
    }
    upstreams = read_upstreams(rest);
    add_layers(rest, upstreams);
    return tseed_reply_document(r, TSEED_BODY_JSON,
                                tseed_upstreams_document(upstreams, &now, r->pool));
}
