/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk quota, what the cache takes on the disk, and requests that have it counted or lowered.
 */
#include <apr_strings.h>
#include <httpd.h>
#include <http_log.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "board/tseed_board.h"
#include "board/tseed_gauges.h"
#include "mod_tileseed.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_supervise.h"
#include "protocol/tseed_quota_config.h"
#include "protocol/tseed_usage.h"
#include "state/tseed_books.h"
#include "store/tseed_owners.h"

/* ---- the configuration of the quota ---- */

#define WAIT_CHANGE APR_USEC_PER_SEC
#define TRIES       16 /* of a compare-and-set against other clients */

/* The saved configuration, its version, and the directive's value that it was made from. */
typedef struct {
    tseed_quota_config_t config;
    int64_t version;
    const char *directive;
} saved_t;

/* Loads the configuration in force from the database. It is the directive's configuration if
 * nothing was saved yet, or if the directive has changed and the seeder has not replaced the saved
 * one yet. Otherwise it is the saved one. A child of an earlier generation does not know the
 * directive of today, and uses the saved one; so does a host that stands by. */
static apr_status_t load_saved(const tseed_rest_t *rest, tseed_state_t *state, saved_t *saved)
{
    const tseed_settings_t *settings = &rest->conf->settings;
    apr_pool_t *pool = rest->r->pool;
    const char *text;
    apr_status_t rv = tseed_state_quota_get(state, &text, &saved->directive, &saved->version, pool);
    int is_old = rv == APR_SUCCESS && strcmp(saved->directive, settings->quota_directive) != 0 &&
                 tseed_supervise_is_newest() && !tseed_board_is_standby(rest->board);

    saved->config = settings->quota;
    if (rv == APR_NOTFOUND || is_old) {
        saved->version = is_old ? saved->version : 0;
        saved->directive = settings->quota_directive;
        return APR_SUCCESS;
    }
    if (rv == APR_SUCCESS && tseed_quota_config_load(&saved->config, text, pool) != NULL) {
        return APR_EINVAL;
    }
    return rv;
}

static const char *root_of(const tseed_rest_t *rest)
{
    return rest->dir->dialect == TSEED_DIALECT_GEOWEBCACHE ? "gwcQuotaConfiguration"
                                                           : "cacheQuotaConfiguration";
}

tseed_visit_t tseed_rest_quota(const tseed_rest_t *rest, tseed_quota_config_t *config)
{
    apr_pool_t *pool = rest->r->pool;
    saved_t saved;
    const char *shown = tseed_board_quota_get(rest->board, &saved.version, pool);
    tseed_visit_t db = {.r = rest->r, .rv = APR_SUCCESS};

    if (!shown || !tseed_rest_board_is_current(rest) ||
        tseed_quota_config_load(&saved.config, shown, pool) != NULL) {
        db = tseed_visit_begin(rest->r);
        tseed_visit_do(&db, load_saved(rest, db.state, &saved));
        tseed_visit_end(&db);
    }
    *config = saved.config;
    return db;
}

/* ---- the address without suffix ---- */

/* Whether a list of media types has this one; `types` is in lower case. */
static int has_type(const char *types, const char *type)
{
    const size_t length = strlen(type);

    for (const char *at = strstr(types, type); at; at = strstr(at + 1, type)) {
        if (strchr(" ,;", at[length]) && (at == types || strchr(" ,", at[-1]))) {
            return 1;
        }
    }
    return 0;
}

/* JSON for a client that takes nothing else: XML is what everybody expects here. */
static tseed_format_of_body_t format_of_accept(const request_rec *r)
{
    static const char *const others[] = {"application/xml", "text/xml", "application/*", "text/*",
                                         "*/*"};
    const char *accept = apr_table_get(r->headers_in, "Accept");
    char *types = apr_pstrdup(r->pool, accept ? accept : "");
    int is_json;

    for (char *c = types; *c; c++) {
        *c = tseed_ascii_lower(*c);
    }
    is_json = has_type(types, "application/json") || has_type(types, "text/json");
    for (size_t i = 0; is_json && i < sizeof(others) / sizeof(others[0]); i++) {
        is_json = !has_type(types, others[i]);
    }
    return is_json ? TSEED_BODY_JSON : TSEED_BODY_XML;
}

/* The first character tells, which no label gets wrong; else Content-Type. */
static tseed_format_of_body_t format_of_body(const tseed_rest_t *rest)
{
    const char *body = rest->body + strspn(rest->body, " \t\r\n");
    const char *type = apr_table_get(rest->r->headers_in, "Content-Type");

    if (*body == '{' || *body == '<') {
        return *body == '{' ? TSEED_BODY_JSON : TSEED_BODY_XML;
    }
    return type && tseed_ascii_find(type, "json") ? TSEED_BODY_JSON : TSEED_BODY_XML;
}

static int handle_quota_get(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_quota_config_t config;
    const tseed_visit_t db = tseed_rest_quota(rest, &config);

    if (rest->route.is_open) {
        rest->route.format = format_of_accept(r);
    }
    if (db.rv != APR_SUCCESS) {
        return tseed_visit_refuse(&db, "read the disk quota");
    }
    tseed_quota_config_limit(&config, rest->dir->layers, r->pool);
    return tseed_reply_document(
        r, rest->route.format,
        tseed_quota_config_write(&config, root_of(rest), rest->route.format, 0, r->pool));
}

/* The outcome of a PUT. */
typedef struct {
    tseed_quota_change_t quota;
    const char *error; /* of a 400 or 403 */
} change_t;

/* Merges and replaces until no other client was faster. */
static apr_status_t change_saved(const tseed_rest_t *rest, tseed_state_t *state, change_t *change)
{
    apr_pool_t *pool = rest->r->pool;
    apr_status_t rv = APR_EAGAIN;

    for (int i = 0; i < TRIES && APR_STATUS_IS_EAGAIN(rv); i++) {
        saved_t saved;

        rv = load_saved(rest, state, &saved);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        change->quota.config = saved.config;
        change->quota.only = rest->dir->layers;
        change->error = tseed_quota_config_merge(&change->quota, rest->route.format, rest->body,
                                                 rest->length, rest->conf->catalog, pool);
        if (change->error) {
            return APR_SUCCESS;
        }
        rv = tseed_state_quota_set(state, tseed_quota_config_save(&change->quota.config, pool),
                                   saved.directive, saved.version);
    }
    return rv;
}

static int handle_quota_put(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    change_t change = {0};
    tseed_visit_t db;
    int status;

    if (rest->route.is_open) {
        rest->route.format = format_of_body(rest);
    }
    db = tseed_visit_begin(r);
    tseed_visit_do(&db, change_saved(rest, db.state, &change));
    status = tseed_visit_done(&db, "change the disk quota");
    if (status != DECLINED) {
        return status;
    }
    if (change.error) {
        return tseed_reply_error(r, change.quota.forbidden ? HTTP_FORBIDDEN : HTTP_BAD_REQUEST,
                                 "%s", change.error);
    }
    tseed_reply_ignored(r, "disk quota", change.quota.ignored);
    tseed_audit_note(r, "disk quota changed: %s",
                     tseed_quota_config_save(&change.quota.config, r->pool));
    tseed_rest_announce(rest, WAIT_CHANGE);
    tseed_quota_config_limit(&change.quota.config, rest->dir->layers, r->pool);
    return tseed_reply_document(r, rest->route.format,
                                tseed_quota_config_write(&change.quota.config, change.quota.root,
                                                         rest->route.format, 1, r->pool));
}

/* ---- usage ---- */

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
    const char *leaving = "";
    apr_status_t rv = tseed_books_tilesets(state, &records, pool);

    if (rv == APR_SUCCESS) {
        rv = load_note(state, &leaving, TSEED_USAGE_REMOVE, pool);
    }
    usage->rows = apr_array_make(pool, 16, sizeof(tseed_usage_row_t));
    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (tseed_rest_sees(rest, record->layer)) {
            tseed_tileset_t tileset = {0};
            const int is_configured =
                !tseed_usage_resolve(&tileset, record, rest->conf->catalog, pool);

            APR_ARRAY_PUSH(usage->rows, tseed_usage_row_t) = (tseed_usage_row_t){
                .record = *record,
                .is_configured = is_configured,
                .is_leaving = !is_configured && tseed_usage_lists(leaving, record->id),
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

/* Roots tell where all layers lie. */
static void hide_roots(tseed_usage_t *usage)
{
    for (int i = 0; i < usage->rows->nelts; i++) {
        APR_ARRAY_IDX(usage->rows, i, tseed_usage_row_t).record.root = "";
    }
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
        if (usage->is_part) {
            hide_roots(usage);
        }
        usage->disk_free = tseed_gauges_quota_get(rest->board, &gauge) ? gauge.disk_free : -1;
    }
    return rv;
}

void tseed_rest_used(const tseed_rest_t *rest, int64_t *used)
{
    tseed_usage_t usage;
    tseed_visit_t db = tseed_visit_begin(rest->r);

    tseed_visit_do(&db, load_rows(rest, db.state, &usage));
    *used = tseed_visit_end(&db) == APR_SUCCESS ? tseed_usage_sum(&usage).allocated : -1;
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

static int handle_usage(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    part_t part = {.row = NULL};
    tseed_quota_config_t config;
    tseed_usage_t usage = {.settings = &rest->conf->settings, .config = &config};
    const char *error = tseed_usage_query_read(&part.query, r->args, r->pool);
    tseed_visit_t db;

    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    db = tseed_rest_quota(rest, &config);
    if (db.rv == APR_SUCCESS) {
        db = tseed_visit_begin(r);
        tseed_visit_do(&db, load_usage(rest, db.state, &usage));
        tseed_visit_do(&db, load_levels(db.state, &usage, part.query.tileset, r->pool));
        if (db.rv == APR_SUCCESS && part.query.tileset) {
            db.rv = load_part(db.state, &part, &usage, r->pool);
        }
        tseed_visit_end(&db);
    }
    if (db.rv != APR_SUCCESS) {
        return tseed_visit_refuse(&db, "read the disk usage");
    }
    return part.query.tileset
               ? send_part(rest, &part)
               : tseed_reply_document(r, TSEED_BODY_JSON, tseed_usage_document(&usage, r->pool));
}

/* ---- a tile set that is configured no more ---- */

/* The tile set that the address names. *row: NULL if there is none, or none that this location
 * sees. */
static apr_status_t load_named(const tseed_rest_t *rest, tseed_state_t *state,
                               const tseed_usage_row_t **row)
{
    tseed_usage_t usage;
    apr_status_t rv = load_rows(rest, state, &usage);

    for (int i = 0; rv == APR_SUCCESS && i < usage.rows->nelts; i++) {
        const tseed_usage_row_t *one = &APR_ARRAY_IDX(usage.rows, i, tseed_usage_row_t);

        *row = one->record.id == rest->route.number ? one : *row;
    }
    return rv;
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

/* Why the tiles of the tile set can't be removed, in one sentence; NULL: they can. */
static const char *judge_removal(const tseed_rest_t *rest, const tseed_tileset_record_t *record)
{
    apr_pool_t *pool = rest->r->pool;
    tseed_tileset_t tileset;
    tseed_owners_t *owners;
    const char *owner, *root, *problem = tseed_owners_restore(&tileset, record, pool);
    char reason[120];
    apr_status_t rv;

    if (problem) {
        return apr_psprintf(pool,
                            "the tiles of tile set %" APR_INT64_T_FMT
                            " can't be told from other files: %s; configure it once more as it "
                            "was, restart httpd, and take it out of the configuration again, or "
                            "remove its files by hand and forget it without ?tiles=remove",
                            record->id, problem);
    }
    rv = tseed_owners_create(&owners, &root, &tileset, rest->conf->catalog, pool);
    if (rv != APR_SUCCESS) {
        return apr_psprintf(pool,
                            "nobody knows whether the tiles of tile set %" APR_INT64_T_FMT
                            " are tiles of a configured layer as well, because the directory %s "
                            "can't be looked at: %s; try it again",
                            record->id, rest->dir->layers ? "of a store" : root,
                            apr_strerror(rv, reason, sizeof(reason)));
    }
    owner = tseed_owners_of_any(owners);
    if (!owner) {
        return NULL;
    }
    return apr_psprintf(pool,
                        "the tiles of tile set %" APR_INT64_T_FMT
                        " are, or may be, tiles of layer '%s' as well, which is configured: "
                        "truncate that one, or forget this one without ?tiles=remove",
                        record->id,
                        !rest->dir->layers || tseed_rest_sees(rest, owner) ? owner : "(another)");
}

static int note_wish(const tseed_rest_t *rest, const tseed_usage_row_t *row, int removes)
{
    apr_pool_t *pool = rest->r->pool;

    return tseed_rest_note(
        rest, tseed_books_note_append, removes ? TSEED_USAGE_REMOVE : TSEED_USAGE_FORGET,
        apr_psprintf(pool, " %" APR_INT64_T_FMT, row->record.id),
        apr_psprintf(pool,
                     removes ? "the tiles of tile set %" APR_INT64_T_FMT
                               " of layer '%s' are to be removed"
                             : "tile set %" APR_INT64_T_FMT " of layer '%s' is to be forgotten",
                     row->record.id, row->record.layer));
}

static int handle_forget(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const tseed_usage_row_t *row = NULL;
    int removes, status;
    const char *problem = tseed_forget_query_read(&removes, r->args, r->pool);
    tseed_visit_t db;

    if (problem) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", problem);
    }
    db = tseed_visit_begin(r);
    tseed_visit_do(&db, load_named(rest, db.state, &row));
    status = tseed_visit_done(&db, "read the disk usage");
    if (status != DECLINED) {
        return status;
    }
    if (!row || row->is_configured) {
        return refuse_forget(rest, row);
    }
    if (!removes && row->is_leaving) {
        return tseed_reply_error(r, HTTP_CONFLICT,
                                 "the tiles of tile set %" APR_INT64_T_FMT
                                 " are being removed: it leaves the books with the last one",
                                 rest->route.number);
    }
    problem = removes && !row->is_leaving ? judge_removal(rest, &row->record) : NULL;
    if (problem) {
        return tseed_reply_error(r, HTTP_CONFLICT, "%s", problem);
    }
    return removes && row->is_leaving ? tseed_reply_send(r, HTTP_OK, "text/plain" TSEED_LATIN1, "")
                                      : note_wish(rest, row, removes);
}

/* ---- tile sets that requests for tiles have made ---- */

static int handle_drop(tseed_rest_t *rest)
{
    const tseed_layer_t *layer = tseed_rest_find_layer(rest);
    apr_pool_t *pool = rest->r->pool;

    return layer ? tseed_rest_note(rest, tseed_books_note_append, TSEED_USAGE_DROP,
                                   apr_pstrcat(pool, layer->name, "\n", NULL),
                                   apr_psprintf(pool,
                                                "the tile sets of layer '%s' that requests for "
                                                "tiles have made are dropped",
                                                layer->name))
                 : tseed_rest_unknown_layer(rest);
}

/* ---- what is about all layers ---- */

static int handle_reconcile(tseed_rest_t *rest)
{
    const int status = tseed_rest_refuse_some(rest, "a reconcile");

    return status == DECLINED
               ? tseed_rest_note(rest, tseed_books_note_set, TSEED_USAGE_REQUIRED,
                                 apr_psprintf(rest->r->pool, "%" APR_TIME_T_FMT, apr_time_now()),
                                 "a reconcile was asked for")
               : status;
}

static int handle_cleanup(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_quota_config_t config;
    const int status = tseed_rest_refuse_some(rest, "a clean-up");
    tseed_visit_t db;

    if (status != DECLINED) {
        return status;
    }
    db = tseed_rest_quota(rest, &config);
    if (db.rv != APR_SUCCESS) {
        return tseed_visit_refuse(&db, "read the disk quota");
    }
    if (!config.enabled) {
        return tseed_reply_error(r, HTTP_CONFLICT,
                                 "the disk quota is off: there is nothing to clean up for");
    }
    return tseed_rest_note(rest, tseed_books_note_set, TSEED_USAGE_CLEANUP,
                           r->user ? r->user : "anybody", "a clean-up was asked for");
}

/* ---- what it answers ---- */

static const char *const keys_of_usage[] = {"tileset", "limit", "after", NULL};
static const char *const keys_of_forget[] = {"tiles", NULL};

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_QUOTA_GET, .handle = handle_quota_get},
    {.action = TSEED_ACTION_QUOTA_PUT, .handle = handle_quota_put, .has_body = 1, .changes = 1},
    {.action = TSEED_ACTION_USAGE, .handle = handle_usage, .keys = keys_of_usage},
    {.action = TSEED_ACTION_FORGET, .handle = handle_forget, .changes = 1, .keys = keys_of_forget},
    {.action = TSEED_ACTION_DROP, .handle = handle_drop, .changes = 1},
    {.action = TSEED_ACTION_RECONCILE, .handle = handle_reconcile, .changes = 1},
    {.action = TSEED_ACTION_CLEANUP, .handle = handle_cleanup, .changes = 1},
    {.handle = NULL},
};

const tseed_module_part_t tseed_quota_part = {.handlers = handlers};
