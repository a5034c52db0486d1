/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handlers of the disk quota configuration: read and change. */
#include "mod_tileseed_handlers.h"

#include <apr_strings.h>
#include <http_log.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "board/tseed_board_host.h"
#include "mod_tileseed_audit.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_supervise.h"
#include "protocol/tseed_quota_config.h"

APLOG_USE_MODULE(tileseed);

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

int tseed_handle_quota_get(tseed_rest_t *rest)
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

int tseed_handle_quota_put(tseed_rest_t *rest)
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
