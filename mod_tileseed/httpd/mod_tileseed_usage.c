/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handlers of the disk usage: the state of the books, and the request to compare them with the
 * disk.
 *
 * They read only rows of tile sets and notes of the database. So they take the same time whatever
 * the cache holds.
 */
#include "mod_tileseed_handlers.h"

#include <apr_strings.h>
#include <http_log.h>

#include "board/tseed_gauges.h"
#include "mod_tileseed_audit.h"
#include "mod_tileseed_child.h"
#include "mod_tileseed_public.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_usage.h"
#include "state/tseed_books.h"

APLOG_USE_MODULE(tileseed);

#define WAIT_CHANGE APR_USEC_PER_SEC

/* Pages that are added up by level for one answer: about a tenth of a second, and half a second for
 * a client that asks for one tile set. */
#define LEVELS_OF_ALL 200000
#define LEVELS_OF_ONE 1000000

/* *value: "" when there is none yet. */
static apr_status_t load_note(tseed_state_t *state, const char **value, const char *name,
                              apr_pool_t *pool)
{
    apr_status_t rv = tseed_books_note_get(state, value, name, pool);

    if (rv == APR_NOTFOUND) {
        *value = "";
        rv = APR_SUCCESS;
    }
    return rv;
}

/* The tile sets that this location sees. */
static apr_status_t load_rows(const tseed_rest_t *rest, tseed_state_t *state, tseed_usage_t *usage)
{
    apr_pool_t *pool = rest->r->pool;
    apr_array_header_t *records;
    apr_status_t rv = tseed_books_tilesets(state, &records, pool);

    usage->rows = apr_array_make(pool, 16, sizeof(tseed_usage_row_t));
    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (tseed_rest_sees(rest, record->layer)) {
            tseed_tileset_t tileset = {0};
            const int is_configured =
                !tseed_usage_resolve(&tileset, record, rest->conf->catalog, pool);

            record->root = rest->dir->layers ? "" : record->root; /* it says where all layers lie */
            APR_ARRAY_PUSH(usage->rows, tseed_usage_row_t) = (tseed_usage_row_t){
                .record = *record,
                .is_configured = is_configured,
                .subset = is_configured ? tileset.subset : NULL,
            };
        }
    }
    return rv;
}

/* Gives each row its levels. Both lists are sorted by the numbers of tile sets. */
static void assign_levels(tseed_usage_t *usage, const apr_array_header_t *levels, int64_t tileset,
                          apr_pool_t *pool)
{
    int at = 0;

    for (int i = 0; i < usage->rows->nelts; i++) {
        tseed_usage_row_t *row = &APR_ARRAY_IDX(usage->rows, i, tseed_usage_row_t);
        const int64_t id = row->record.id;
        apr_array_header_t *own;

        if (tileset && id != tileset) {
            continue;
        }
        own = apr_array_make(pool, 1, sizeof(tseed_usage_level_t));
        while (at < levels->nelts && APR_ARRAY_IDX(levels, at, tseed_usage_level_t).tileset <= id) {
            const tseed_usage_level_t *level = &APR_ARRAY_IDX(levels, at++, tseed_usage_level_t);

            if (level->tileset == id) {
                APR_ARRAY_PUSH(own, tseed_usage_level_t) = *level;
            }
        }
        row->levels = own;
    }
}

/* Adds up the levels of one tile set (0: of all) unless there are too many pages. */
static apr_status_t load_levels(tseed_state_t *state, tseed_usage_t *usage, int64_t tileset,
                                apr_pool_t *pool)
{
    apr_array_header_t *levels;
    apr_status_t rv;
    int64_t pages = 0;

    for (int i = 0; i < usage->rows->nelts; i++) {
        const tseed_tileset_record_t *record =
            &APR_ARRAY_IDX(usage->rows, i, tseed_usage_row_t).record;

        pages += !tileset || record->id == tileset ? record->pages : 0;
    }
    if (pages > (tileset ? LEVELS_OF_ONE : LEVELS_OF_ALL)) {
        return APR_SUCCESS;
    }
    rv = tseed_books_levels(state, &levels, tileset, pool);
    if (rv == APR_SUCCESS) {
        assign_levels(usage, levels, tileset, pool);
    }
    return rv;
}

static apr_status_t load_usage(const tseed_rest_t *rest, tseed_state_t *state, tseed_usage_t *usage)
{
    apr_pool_t *pool = rest->r->pool;
    const char *status, *required;
    tseed_quota_gauge_t gauge;
    apr_status_t rv = load_rows(rest, state, usage);

    if (rv == APR_SUCCESS) {
        rv = load_note(state, &status, TSEED_USAGE_STATUS, pool);
    }
    if (rv == APR_SUCCESS) {
        rv = load_note(state, &required, TSEED_USAGE_REQUIRED, pool);
    }
    if (rv == APR_SUCCESS) {
        tseed_usage_load(&usage->status, status);
        usage->requested = apr_atoi64(required);
        usage->is_part = rest->dir->layers != NULL;
        usage->disk_free = tseed_gauges_quota_get(rest->board, &gauge) ? gauge.disk_free : -1;
    }
    return rv;
}

void tseed_rest_used(const tseed_rest_t *rest, int64_t *used)
{
    tseed_usage_t usage;
    apr_status_t rv;
    tseed_state_t *state = tseed_child_acquire(&rv);

    if (state) {
        rv = load_rows(rest, state, &usage);
    }
    tseed_child_release(state, rest->r->pool);
    *used = rv == APR_SUCCESS ? tseed_usage_sum(&usage).allocated : -1;
}

/* ---- pages of a tile set ---- */

typedef struct {
    tseed_usage_query_t query;
    const tseed_usage_row_t *row; /* NULL: no such tile set */
    apr_array_header_t *pages;    /* one more than a part shows, if there are so many */
} part_t;

static apr_status_t load_part(tseed_state_t *state, part_t *part, const tseed_usage_t *usage,
                              apr_pool_t *pool)
{
    const tseed_failure_query_t *from = &part->query.from;
    const tseed_page_t after = {from->z, from->x / TSEED_PAGE_SIDE, from->y / TSEED_PAGE_SIDE};

    for (int i = 0; i < usage->rows->nelts; i++) {
        const tseed_usage_row_t *row = &APR_ARRAY_IDX(usage->rows, i, tseed_usage_row_t);

        part->row = row->record.id == part->query.tileset ? row : part->row;
    }
    return part->row ? tseed_books_pages(state, &part->pages, part->query.tileset,
                                         from->z < 0 ? NULL : &after, from->limit + 1, pool)
                     : APR_SUCCESS;
}

/* The address of the next part, behind the last page shown; NULL: there is none. */
static const char *next_part(const tseed_rest_t *rest, part_t *part)
{
    apr_pool_t *pool = rest->r->pool;
    const tseed_page_t *last;

    if (part->pages->nelts <= part->query.from.limit) {
        return NULL;
    }
    part->pages->nelts--;
    last = &APR_ARRAY_IDX(part->pages, part->pages->nelts - 1, tseed_page_record_t).page;
    return apr_psprintf(
        pool,
        "%s/diskquota/usage.json?tileset=%" APR_INT64_T_FMT "&limit=%" APR_INT64_T_FMT
        "&after=%d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT,
        tseed_public_path(rest->dir, rest->base, pool), part->query.tileset, part->query.from.limit,
        last->z, last->x * TSEED_PAGE_SIDE, last->y * TSEED_PAGE_SIDE);
}

static int send_part(const tseed_rest_t *rest, part_t *part)
{
    request_rec *r = rest->r;
    const char *next;

    if (!part->row) {
        return tseed_reply_error(r, HTTP_NOT_FOUND, "there is no tile set %" APR_INT64_T_FMT,
                                 part->query.tileset);
    }
    next = next_part(rest, part);
    if (next) {
        apr_table_setn(r->headers_out, "Link", apr_psprintf(r->pool, "<%s>; rel=\"next\"", next));
    }
    return tseed_reply_document(r, TSEED_BODY_JSON,
                                tseed_usage_pages(part->row, part->pages, next, r->pool));
}

/* ---- handlers ---- */

int tseed_handle_usage(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    part_t part = {.row = NULL};
    tseed_quota_config_t config;
    tseed_usage_t usage = {.settings = &rest->conf->settings, .config = &config};
    const char *why, *error = tseed_usage_query_read(&part.query, r->args, r->pool);
    apr_status_t rv;
    tseed_state_t *state;

    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    rv = tseed_rest_quota(rest, &config, &why);
    if (rv == APR_SUCCESS) {
        state = tseed_child_acquire(&rv);
        if (state) {
            rv = load_usage(rest, state, &usage);
        }
        if (state && rv == APR_SUCCESS) {
            rv = load_levels(state, &usage, part.query.tileset, r->pool);
        }
        if (state && rv == APR_SUCCESS && part.query.tileset) {
            rv = load_part(state, &part, &usage, r->pool);
        }
        why = tseed_child_release(state, r->pool);
    }
    if (rv != APR_SUCCESS) {
        return tseed_reply_no_state(r, rv, why, "read the disk usage");
    }
    return part.query.tileset
               ? send_part(rest, &part)
               : tseed_reply_document(r, TSEED_BODY_JSON, tseed_usage_document(&usage, r->pool));
}

/* Leaves a note for the seeder, and waits until it has been read. `what` was asked for. */
static int ask_for(const tseed_rest_t *rest, const char *what, const char *note, const char *value)
{
    request_rec *r = rest->r;
    const char *why;
    apr_status_t rv;
    tseed_state_t *state = tseed_child_acquire(&rv);

    if (state) {
        rv = tseed_books_note_set(state, note, value);
    }
    why = tseed_child_release(state, r->pool);
    if (rv != APR_SUCCESS) {
        return tseed_reply_no_state(r, rv, why, "record the request");
    }
    tseed_audit_note(r, "a %s was asked for", what);
    tseed_rest_announce(rest, WAIT_CHANGE);
    return tseed_reply_send(r, HTTP_OK, "text/plain", "");
}

/* ---- a tile set that is configured no more ---- */

/* Asks the seeder to forget the tile set that the address names. *row: NULL if there is none, or
 * none that this location sees. */
static apr_status_t wish_gone(const tseed_rest_t *rest, tseed_state_t *state,
                              const tseed_usage_row_t **row)
{
    tseed_usage_t usage;
    apr_status_t rv = load_rows(rest, state, &usage);

    for (int i = 0; rv == APR_SUCCESS && i < usage.rows->nelts; i++) {
        const tseed_usage_row_t *one = &APR_ARRAY_IDX(usage.rows, i, tseed_usage_row_t);

        *row = one->record.id == rest->route.number ? one : *row;
    }
    return rv == APR_SUCCESS && *row && !(*row)->is_configured
               ? tseed_books_note_append(
                     state, TSEED_USAGE_FORGET,
                     apr_psprintf(rest->r->pool, " %" APR_INT64_T_FMT, rest->route.number))
               : rv;
}

/* A location that sees some layers is not told which numbers others have. */
static int refuse_forget(const tseed_rest_t *rest, const tseed_usage_row_t *row)
{
    if (row) {
        return tseed_reply_error(rest->r, HTTP_CONFLICT,
                                 "tile set %" APR_INT64_T_FMT
                                 " is configured: truncate it, or take "
                                 "it out of the configuration before",
                                 rest->route.number);
    }
    return rest->dir->layers
               ? tseed_reply_error(rest->r, HTTP_FORBIDDEN,
                                   "there is no tile set %" APR_INT64_T_FMT
                                   " of the layers that TileSeedLayers lets this location see",
                                   rest->route.number)
               : tseed_reply_error(rest->r, HTTP_NOT_FOUND,
                                   "there is no tile set %" APR_INT64_T_FMT, rest->route.number);
}

int tseed_handle_forget(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const tseed_usage_row_t *row = NULL;
    const char *why;
    apr_status_t rv;
    tseed_state_t *state = tseed_child_acquire(&rv);

    if (state) {
        rv = wish_gone(rest, state, &row);
    }
    why = tseed_child_release(state, r->pool);
    if (rv != APR_SUCCESS) {
        return tseed_reply_no_state(r, rv, why, "record the request");
    }
    if (!row || row->is_configured) {
        return refuse_forget(rest, row);
    }
    tseed_audit_note(r, "tile set %" APR_INT64_T_FMT " of layer '%s' is to be forgotten",
                     row->record.id, row->record.layer);
    tseed_rest_announce(rest, WAIT_CHANGE);
    return tseed_reply_send(r, HTTP_OK, "text/plain", "");
}

/* ---- tile sets that requests for tiles have made ---- */

int tseed_handle_drop(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const char *why;
    apr_status_t rv;
    tseed_state_t *state;

    if (!tseed_rest_find_layer(rest)) {
        return tseed_rest_unknown_layer(rest);
    }
    state = tseed_child_acquire(&rv);
    if (state) {
        rv = tseed_books_note_append(state, TSEED_USAGE_DROP,
                                     apr_pstrcat(r->pool, rest->route.layer, "\n", NULL));
    }
    why = tseed_child_release(state, r->pool);
    if (rv != APR_SUCCESS) {
        return tseed_reply_no_state(r, rv, why, "record the request");
    }
    tseed_audit_note(r, "the tile sets of layer '%s' that requests for tiles have made are dropped",
                     rest->route.layer);
    tseed_rest_announce(rest, WAIT_CHANGE);
    return tseed_reply_send(r, HTTP_OK, "text/plain", "");
}

/* ---- what is about all layers ---- */

int tseed_handle_reconcile(tseed_rest_t *rest)
{
    const int status = tseed_rest_refuse_some(rest, "a reconcile");

    return status == DECLINED
               ? ask_for(rest, "reconcile", TSEED_USAGE_REQUIRED,
                         apr_psprintf(rest->r->pool, "%" APR_TIME_T_FMT, apr_time_now()))
               : status;
}

int tseed_handle_cleanup(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_quota_config_t config;
    const char *why;
    const int status = tseed_rest_refuse_some(rest, "a clean-up");
    apr_status_t rv;

    if (status != DECLINED) {
        return status;
    }
    rv = tseed_rest_quota(rest, &config, &why);
    if (rv != APR_SUCCESS) {
        return tseed_reply_no_state(r, rv, why, "read the disk quota");
    }
    if (!config.enabled) {
        return tseed_reply_error(r, HTTP_CONFLICT,
                                 "the disk quota is off: there is nothing to clean up for");
    }
    return ask_for(rest, "clean-up", TSEED_USAGE_CLEANUP, r->user ? r->user : "anybody");
}
