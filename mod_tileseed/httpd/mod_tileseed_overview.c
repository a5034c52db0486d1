/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How the service is: the overview, the upstreams, and what has an upstream asked again. */
#include <apr_strings.h>
#include <httpd.h>
#include <http_log.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "base/tseed_text.h"
#include "board/tseed_board.h"
#include "board/tseed_gauges.h"
#include "board/tseed_polls.h"
#include "mod_tileseed.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_answer.h"
#include "state/tseed_books.h"
#include "fleet/tseed_fleet.h"

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

    if (rest->dir->layers) { /* who sees some layers is told nothing of the machine */
        seeder->pid = 0;
        seeder->host = seeder->active = NULL;
        return;
    }
    seeder->host = rest->conf->settings.host;
    seeder->active = tseed_fleet_can_share(rest->conf->settings.db_driver)
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
static const char *etag_of(const tseed_rest_t *rest, int64_t newest)
{
    const tseed_board_t *board = rest->board;
    const int flags = (tseed_supervise_is_newest() ? 1 : 0) | (tseed_supervise_responds() ? 2 : 0);

    return apr_psprintf(
        rest->r->pool,
        "W/\"%" APR_UINT64_T_HEX_FMT ".%" APR_UINT64_T_HEX_FMT ".%" APR_UINT64_T_HEX_FMT
        ".%" APR_UINT64_T_HEX_FMT ".%d.%" APR_UINT64_T_HEX_FMT "\"",
        tseed_board_born(board), tseed_board_generation(board), tseed_board_changes(board),
        (apr_uint64_t)newest, flags, sight_of(rest->dir));
}

/* ---- tasks ---- */

#define NO_SLOT UINT_MAX

/* An unfinished task, before the list is cut. */
typedef struct {
    int64_t id;
    unsigned slot; /* NO_SLOT: the board does not show it */
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

static void enter_task(apr_array_header_t *entries, tseed_overview_seeder_t *seeder,
                       const entry_t *entry)
{
    APR_ARRAY_PUSH(entries, entry_t) = *entry;
    seeder->pending += entry->is_pending;
    seeder->running += !entry->is_pending;
}

static int is_shown(const tseed_rest_t *rest, unsigned slot, tseed_row_t *row)
{
    return tseed_board_read(rest->board, slot, row) && !row->terminating &&
           tseed_rest_sees(rest, row->layer);
}

/* Counts the tasks of the board that the location sees. Returns them as entry_t. */
static apr_array_header_t *count_tasks(const tseed_rest_t *rest, tseed_overview_seeder_t *seeder)
{
    apr_array_header_t *entries = apr_array_make(rest->r->pool, 16, sizeof(entry_t));
    tseed_row_t row;

    for (unsigned slot = 0; slot < tseed_board_used(rest->board); slot++) {
        if (is_shown(rest, slot, &row)) {
            const int is_pending = row.progress.state != TSEED_RUNNING;

            enter_task(entries, seeder, &(entry_t){row.id, slot, is_pending});
            seeder->rate += is_pending ? 0 : (double)row.progress.rate / 1000;
        }
    }
    return entries;
}

/* The newest task on the board, whoever may see it. All unfinished ones that are older are there as
 * well from now on, because the seeder takes tasks in by their ids. */
static int64_t newest_on_board(const tseed_board_t *board)
{
    int64_t newest = 0;
    tseed_row_t row;

    for (unsigned slot = 0; slot < tseed_board_used(board); slot++) {
        if (tseed_board_read(board, slot, &row) && row.id > newest) {
            newest = row.id;
        }
    }
    return newest;
}

static int has_entry(const apr_array_header_t *entries, int64_t id)
{
    int i = 0;

    while (i < entries->nelts && APR_ARRAY_IDX(entries, i, entry_t).id != id) {
        i++;
    }
    return i < entries->nelts;
}

/* Adds the tasks that were accepted after `newest`. */
static apr_status_t add_accepted(const tseed_rest_t *rest, apr_array_header_t *entries,
                                 tseed_overview_seeder_t *seeder, int64_t newest)
{
    apr_array_header_t *rows;
    tseed_visit_t db = tseed_visit_begin(rest->r);

    tseed_visit_do(&db, tseed_rest_list(rest, db.state, &rows));
    tseed_visit_end(&db);
    for (int i = 0; db.rv == APR_SUCCESS && i < rows->nelts; i++) {
        const tseed_status_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_status_row_t);

        if (row->id > newest && !has_entry(entries, row->id)) {
            enter_task(entries, seeder, &(entry_t){row->id, NO_SLOT, row->state != TSEED_RUNNING});
        }
    }
    return db.rv;
}

/* Reads a task of the board. Returns 0 if it has ended meanwhile. */
static int read_shown(const tseed_rest_t *rest, tseed_overview_task_t *task, const entry_t *entry)
{
    tseed_row_t *row = apr_palloc(rest->r->pool, sizeof(*row));

    if (!is_shown(rest, entry->slot, row) || row->id != entry->id) {
        return 0;
    }
    tseed_rest_replace_reason(rest, &row->progress);
    *task =
        (tseed_overview_task_t){row->id, row->tiles_total, row->layer, row->type, &row->progress};
    return 1;
}

/* Likewise, of the database, as of its last checkpoint. */
static int read_recorded(const tseed_rest_t *rest, tseed_overview_task_t *task, int64_t id)
{
    apr_pool_t *pool = rest->r->pool;
    tseed_progress_t *progress = apr_palloc(pool, sizeof(*progress));
    tseed_task_t *record = NULL;
    tseed_visit_t db = tseed_visit_begin(rest->r);

    tseed_visit_do(&db, tseed_state_task_get(db.state, &record, progress, id, pool));
    if (tseed_visit_end(&db) != APR_SUCCESS ||
        (progress->state != TSEED_PENDING && progress->state != TSEED_RUNNING)) {
        return 0;
    }
    tseed_rest_replace_reason(rest, progress);
    *task = (tseed_overview_task_t){record->id, record->tiles_total, record->layer, record->type,
                                    progress};
    return 1;
}

/* The tasks of the board, and those that the board lacks from the database. When the database can't
 * be read they are not all that there are. `newest`: the newest one that was ever accepted; 0: the
 * board shows them all; -1: nobody knows. */
static void read_tasks(const tseed_rest_t *rest, tseed_overview_t *overview, int64_t newest)
{
    apr_pool_t *pool = rest->r->pool;
    const int64_t shown = newest ? newest_on_board(rest->board) : 0;
    apr_array_header_t *entries = count_tasks(rest, &overview->seeder);
    int count;

    overview->is_whole = newest >= 0;
    if (newest > shown) {
        overview->is_whole = add_accepted(rest, entries, &overview->seeder, shown) == APR_SUCCESS;
    }
    qsort(entries->elts, (size_t)entries->nelts, sizeof(entry_t), by_turn);
    count = entries->nelts < TSEED_OVERVIEW_TASKS ? entries->nelts : TSEED_OVERVIEW_TASKS;
    overview->is_whole = overview->is_whole && count == entries->nelts;
    overview->tasks = apr_array_make(pool, count + 1, sizeof(tseed_overview_task_t));
    for (int i = 0; i < count; i++) {
        const entry_t *entry = &APR_ARRAY_IDX(entries, i, entry_t);
        tseed_overview_task_t task;

        if (entry->slot == NO_SLOT ? read_recorded(rest, &task, entry->id)
                                   : read_shown(rest, &task, entry)) {
            APR_ARRAY_PUSH(overview->tasks, tseed_overview_task_t) = task;
        }
    }
}

/* The number of the newest task, as read_tasks() takes it. */
static int64_t newest_accepted(const tseed_rest_t *rest)
{
    int64_t newest = -1;
    tseed_visit_t db;

    if (tseed_rest_board_is_current(rest)) {
        return 0;
    }
    db = tseed_visit_begin(rest->r);
    tseed_visit_do(&db, tseed_state_newest(db.state, &newest));
    return tseed_visit_end(&db) == APR_SUCCESS ? newest : -1;
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
            if (!tseed_rest_sees(rest, upstream.gauge.layer)) { /* or nobody knows which */
                upstream.gauge.layer[0] = upstream.gauge.cause[0] = '\0';
            }
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

static int handle_overview(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const int pause = tseed_polls_count(rest->board, tseed_clock_monotonic());
    const int stands_by = tseed_board_is_standby(rest->board);
    const int64_t newest = newest_accepted(rest);
    const int status = stands_by ? OK : tseed_reply_etag(r, etag_of(rest, newest));
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
    read_tasks(rest, &overview, newest);
    if (!stands_by) { /* else the board knows nothing of quota and tasks, and when they change */
        read_quota(rest, &overview);
    }
    overview.upstreams = read_upstreams(rest);
    return tseed_reply_document(r, TSEED_BODY_JSON, tseed_overview_document(&overview, r->pool));
}

static int handle_ask_again(tseed_rest_t *rest)
{
    const tseed_layer_t *layer = tseed_rest_find_layer(rest);
    apr_pool_t *pool = rest->r->pool;

    return layer ? tseed_rest_note(rest, tseed_books_note_append, TSEED_USAGE_AGAIN,
                                   apr_pstrcat(pool, layer->name, "\n", NULL),
                                   apr_psprintf(pool,
                                                "the upstreams of layer '%s' are to be asked again",
                                                layer->name))
                 : tseed_rest_unknown_layer(rest);
}

static int handle_upstreams(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const int status = tseed_reply_etag(r, etag_of(rest, 0));
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

/* ---- what it answers ---- */

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_OVERVIEW, .handle = handle_overview, .keys = tseed_no_key},
    {.action = TSEED_ACTION_UPSTREAMS, .handle = handle_upstreams, .keys = tseed_no_key},
    {.action = TSEED_ACTION_ASK_AGAIN, .handle = handle_ask_again, .changes = 1},
    {.handle = NULL},
};

const tseed_module_part_t tseed_overview_part = {.handlers = handlers};
