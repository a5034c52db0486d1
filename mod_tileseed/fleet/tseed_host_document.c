/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document hosts.json, and the body that drains a host. */
#include "fleet/tseed_host_document.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_document.h"
#include "protocol/tseed_write.h"

#define QUOTE_MAX 60 /* of what the client sent, in a message */
#define EXPECTED  "{\"state\": \"draining\"} or {\"state\": \"active\"} is expected"

/* ---- hosts.json ---- */

static const char *state_of(const tseed_host_row_t *host, const tseed_host_list_t *list)
{
    if (host->is_dead) {
        return "DEAD";
    }
    if (host->is_draining) {
        return "DRAINING";
    }
    return strcmp(host->name, list->active) == 0 ? "ACTIVE" : "STANDBY";
}

/* Seconds with a tenth. */
static void add_lease(tseed_json_t *json, const tseed_host_row_t *host, apr_time_t now)
{
    const apr_interval_time_t left = host->until > now ? host->until - now : 0;

    tseed_json_raw(json, "leaseLeft",
                   host->until ? apr_psprintf(json->pool, "%.1f", (double)left / APR_USEC_PER_SEC)
                               : NULL);
}

static void add_host(tseed_json_t *json, const tseed_host_row_t *host,
                     const tseed_host_list_t *list)
{
    tseed_json_open(json, NULL, '{');
    tseed_json_text(json, "name", host->name);
    tseed_json_text(json, "state", state_of(host, list));
    tseed_json_time(json, "since", host->started);
    tseed_json_time(json, "lastSeen", host->seen);
    add_lease(json, host, list->now);
    tseed_json_flag(json, "fetches", host->is_fetching);
    tseed_json_words(json, "machine", host->machine);
    tseed_json_words(json, "version", host->version);
    tseed_json_close(json, '}');
}

const char *tseed_host_document(const tseed_host_list_t *list, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    tseed_json_text(&json, "answeredBy", list->self);
    tseed_json_words(&json, "active", list->active);
    tseed_json_open(&json, "hosts", '[');
    for (int i = 0; i < list->hosts->nelts; i++) {
        add_host(&json, &APR_ARRAY_IDX(list->hosts, i, tseed_host_row_t), list);
    }
    tseed_json_close(&json, ']');
    return tseed_json_end(&json);
}

/* ---- the body ---- */

/* The reader wants a name before the object. */
static const char *read_body(tseed_node_t **host, const char *body, size_t length, apr_pool_t *pool)
{
    const char *named =
        apr_pstrcat(pool, "{\"host\":", apr_pstrmemdup(pool, body, length), "}", NULL);
    const char *error = tseed_document_read(host, TSEED_BODY_JSON, named, strlen(named), pool);

    return error ? apr_pstrcat(pool, error, "; " EXPECTED, NULL) : NULL;
}

const char *tseed_host_body_read(int *is_draining, const char *body, size_t length,
                                 apr_pool_t *pool)
{
    tseed_node_t *host;
    const tseed_node_t *member;
    const char *error = read_body(&host, body, length, pool), *state;

    if (error) {
        return error;
    }
    member = host->children;
    if (!member || member->next || strcmp(member->name, "state") != 0) {
        return EXPECTED;
    }
    state = tseed_node_trimmed(member, pool);
    *is_draining = strcmp(state, "draining") == 0;
    return *is_draining || strcmp(state, "active") == 0
               ? NULL
               : apr_psprintf(pool, "the state '%s' can't be set; " EXPECTED,
                              tseed_text_quote(state, QUOTE_MAX, pool));
}
