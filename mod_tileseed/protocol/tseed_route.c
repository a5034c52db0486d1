/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Routing: one row an address, the first that fits decides. And queries.
 *
 * An address is a prefix, at most one variable (a level of a tile set has two numbers), and a
 * suffix. The order of the rows is what makes seed/a.xml a document of layer a, not the forms'
 * address of a layer "a.xml".
 */
#include "protocol/tseed_route.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <limits.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_members.h"

/* Of lists. */
#define TASKS_USUAL    100
#define TASKS_MOST     1000
#define FAILURES_USUAL 1000
#define FAILURES_MOST  10000
#define QUOTE_MAX      100

/* What stands between prefix and suffix. */
typedef enum { NOTHING, LAYER, NUMBER, NUMBER_AND_LEVEL, FILENAME, HOST } variable_t;

/* A suffix that tells the format of the body: .xml or .json. */
static const char either_format[] = ".*";

/* An address without suffix: headers or the body tell the format. */
static const char open_format[] = "";

typedef struct {
    const char *prefix;
    variable_t variable;
    const char *suffix;
    tseed_action_t get, post, put, delete;
} row_t;

static const row_t rows[] = {
    {"", NOTHING, "", .get = TSEED_ACTION_PAGE},
    {"/", NOTHING, "", .get = TSEED_ACTION_PAGE},
    {"/page/", FILENAME, "", .get = TSEED_ACTION_PAGE},
    {"/seed", NOTHING, "", .post = TSEED_ACTION_KILL},
    {"/seed/", NOTHING, "", .post = TSEED_ACTION_KILL},
    {"/seed", NOTHING, ".json", .get = TSEED_ACTION_LIST},
    {"/seed/", LAYER, either_format, .get = TSEED_ACTION_LIST, .post = TSEED_ACTION_SEED},
    {"/seed/", LAYER, "", .post = TSEED_ACTION_KILL},
    {"/diskquota", NOTHING, either_format, .get = TSEED_ACTION_QUOTA_GET,
     .put = TSEED_ACTION_QUOTA_PUT},
    {"/diskquota", NOTHING, open_format, .get = TSEED_ACTION_QUOTA_GET,
     .put = TSEED_ACTION_QUOTA_PUT},
    {"/diskquota/usage", NOTHING, ".json", .get = TSEED_ACTION_USAGE},
    {"/diskquota/usage/", NUMBER, ".json", .delete = TSEED_ACTION_FORGET},
    {"/diskquota/reconcile", NOTHING, "", .post = TSEED_ACTION_RECONCILE},
    {"/diskquota/cleanup", NOTHING, "", .post = TSEED_ACTION_CLEANUP},
    {"/estimate/", LAYER, either_format, .get = TSEED_ACTION_ESTIMATE,
     .post = TSEED_ACTION_ESTIMATE},
    {"/layers", NOTHING, ".json", .get = TSEED_ACTION_LAYERS},
    {"/layers/", LAYER, "/tilesets", .delete = TSEED_ACTION_DROP},
    {"/overview", NOTHING, ".json", .get = TSEED_ACTION_OVERVIEW},
    {"/upstreams", NOTHING, ".json", .get = TSEED_ACTION_UPSTREAMS},
    {"/upstreams/again/", LAYER, "", .post = TSEED_ACTION_ASK_AGAIN},
    {"/metrics", NOTHING, "", .get = TSEED_ACTION_METRICS},
    {"/coverage/", NUMBER_AND_LEVEL, ".json", .get = TSEED_ACTION_COVERAGE},
    {"/tasks", NOTHING, ".json", .get = TSEED_ACTION_TASKS},
    {"/tasks/", NUMBER, ".json", .get = TSEED_ACTION_TASK_GET, .delete = TSEED_ACTION_TASK_DELETE},
    {"/tasks/", NUMBER, "/failures.json", .get = TSEED_ACTION_FAILURES},
    {"/tasks/", NUMBER, "/retry", .post = TSEED_ACTION_RETRY},
    {"/hosts", NOTHING, ".json", .get = TSEED_ACTION_HOSTS},
    {"/hosts/", HOST, "", .put = TSEED_ACTION_DRAIN},
};

/* Length of `text` before `suffix`, or -1 if it does not end so. */
static long length_before(const char *text, const char *suffix)
{
    size_t length = strlen(text), behind = strlen(suffix);

    return length >= behind && strcmp(text + length - behind, suffix) == 0 ? (long)(length - behind)
                                                                           : -1;
}

/* The same for a row's suffix; tells the format. */
static long cut_suffix(tseed_route_t *route, const char *text, const char *suffix)
{
    route->is_open = suffix == open_format;
    if (suffix != either_format) {
        return length_before(text, suffix);
    }
    route->format = length_before(text, ".xml") >= 0 ? TSEED_BODY_XML : TSEED_BODY_JSON;
    return length_before(text, route->format == TSEED_BODY_XML ? ".xml" : ".json");
}

/* A slash that httpd left encoded, because it belongs to the name. */
static void decode_slashes(char *name)
{
    char *out = name;

    for (; *name; name++) {
        if (apr_cstr_casecmpn(name, "%2F", 3) == 0) {
            *out++ = '/';
            name += 2;
        } else {
            *out++ = *name;
        }
    }
    *out = '\0';
}

static int read_number(int64_t *number, const char *text, int64_t lowest, int64_t highest)
{
    return tseed_ascii_is_digit(*text) && tseed_text_int64(number, text, lowest, highest) == 0;
}

static int read_level(tseed_route_t *route, char *text)
{
    char *slash = strchr(text, '/');
    int64_t level;

    if (!slash) {
        return 0;
    }
    *slash = '\0';
    if (!read_number(&route->number, text, 1, INT64_MAX) ||
        !read_number(&level, slash + 1, 0, INT_MAX)) {
        return 0;
    }
    route->level = (int)level;
    return 1;
}

static int read_variable(tseed_route_t *route, variable_t variable, char *text)
{
    if (variable == NUMBER_AND_LEVEL) {
        return read_level(route, text);
    }
    if (variable == NOTHING || !*text || strchr(text, '/')) {
        return variable == NOTHING && !*text;
    }
    if (variable == NUMBER) {
        return read_number(&route->number, text, 1, INT64_MAX);
    }
    if (variable == FILENAME) {
        route->file = text;
        return *text != '.';
    }
    if (variable == HOST) {
        route->host = text;
        return 1;
    }
    decode_slashes(text);
    route->layer = text;
    return 1;
}

static int fits(tseed_route_t *route, const row_t *row, const char *path, apr_pool_t *pool)
{
    const size_t prefix = strlen(row->prefix);
    long length;

    if (strncmp(path, row->prefix, prefix) != 0) {
        return 0;
    }
    length = cut_suffix(route, path + prefix, row->suffix);
    return length >= 0 && read_variable(route, row->variable,
                                        apr_pstrmemdup(pool, path + prefix, (apr_size_t)length));
}

static void take_action(tseed_route_t *route, const row_t *row, tseed_method_t method)
{
    const struct {
        tseed_method_t method;
        tseed_action_t action;
    } actions[] = {
        {TSEED_METHOD_GET, row->get},
        {TSEED_METHOD_POST, row->post},
        {TSEED_METHOD_PUT, row->put},
        {TSEED_METHOD_DELETE, row->delete},
    };

    for (int i = 0; i < 4; i++) {
        if (actions[i].action != TSEED_ACTION_NONE) {
            route->allowed |= actions[i].method;
        }
        if (actions[i].method == method) {
            route->action = actions[i].action;
        }
    }
}

tseed_route_t tseed_route(const char *path, tseed_method_t method, apr_pool_t *pool)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tseed_route_t route = {.action = TSEED_ACTION_NONE};

        if (fits(&route, &rows[i], path, pool)) {
            take_action(&route, &rows[i], method);
            return route;
        }
    }
    return (tseed_route_t){.action = TSEED_ACTION_NONE};
}

/* ---- queries: what is not known ---- */

static int is_known_key(const char *key, const char *const *known)
{
    while (*known && apr_cstr_casecmp(key, *known) != 0) {
        known++;
    }
    return *known || strcmp(key, "_") == 0;
}

const char *tseed_query_refusal(const char *text, const char *const *known, apr_pool_t *pool)
{
    const tseed_members_t members = {.known = known, .is_closed = 1};
    const apr_table_t *form = tseed_form_read(text ? text : "", text ? strlen(text) : 0, pool);
    const apr_array_header_t *fields = apr_table_elts(form);
    tseed_unknown_t unknown = {NULL, NULL};
    const char *problem = NULL;

    for (int i = 0; !problem && i < fields->nelts; i++) {
        const apr_table_entry_t *field = &APR_ARRAY_IDX(fields, i, apr_table_entry_t);

        if (!is_known_key(field->key, known)) {
            problem =
                tseed_member_judge(&unknown, &members, "", field->key,
                                   *field->val ? TSEED_CONTENT_PLAIN : TSEED_CONTENT_NONE, pool);
        }
    }
    return problem;
}

int tseed_body_is_empty(const char *body, apr_size_t length)
{
    char kept[3];
    size_t count = 0;

    for (apr_size_t i = 0; i < length && count < sizeof(kept); i++) {
        if (!tseed_ascii_is_space(body[i])) {
            kept[count++] = body[i];
        }
    }
    return count == 0 || (count == 2 && memcmp(kept, "{}", 2) == 0);
}

/* ---- queries: tasks and failures ---- */

/* A whole number from 1 to `most`; *value stays as it is when there is none. */
static const char *read_count(int64_t *value, const apr_table_t *form, const char *key,
                              int64_t most, apr_pool_t *pool)
{
    const char *text = apr_table_get(form, key);

    if (!text || tseed_text_int64(value, text, 1, most) == 0) {
        return NULL;
    }
    return apr_psprintf(pool, "%s must be a whole number from 1 to %" APR_INT64_T_FMT ", not '%s'",
                        key, most, tseed_text_quote(text, QUOTE_MAX, pool));
}

static const char *read_state(unsigned *states, const char *name, apr_pool_t *pool)
{
    for (int state = TSEED_ABORTED; state <= TSEED_DONE; state++) {
        if (apr_cstr_casecmp(name, tseed_task_state_name(state)) == 0) {
            *states |= TSEED_STATE_BIT(state);
            return NULL;
        }
    }
    return apr_psprintf(pool,
                        "Unknown state: '%s'. Some of pending,running,done,aborted are "
                        "expected",
                        tseed_text_quote(name, QUOTE_MAX, pool));
}

static const char *read_states(unsigned *states, const apr_table_t *form, apr_pool_t *pool)
{
    const char *problem = NULL;
    char *names = (char *)apr_table_getm(pool, form, "state"), *rest;

    for (char *name = names ? apr_strtok(names, ", ", &rest) : NULL; name && !problem;
         name = apr_strtok(NULL, ", ", &rest)) {
        problem = read_state(states, name, pool);
    }
    if (!*states) {
        *states = ~0U;
    }
    return problem;
}

const char *tseed_task_query_read(tseed_task_query_t *query, const char *text, apr_pool_t *pool)
{
    const apr_table_t *form = tseed_form_read(text ? text : "", text ? strlen(text) : 0, pool);
    const char *problem;

    *query = (tseed_task_query_t){.before = INT64_MAX, .limit = TASKS_USUAL};
    query->layer = apr_table_get(form, "layer");
    problem = read_states(&query->states, form, pool);
    if (!problem) {
        problem = read_count(&query->limit, form, "limit", TASKS_MOST, pool);
    }
    return problem ? problem : read_count(&query->before, form, "before", INT64_MAX, pool);
}

static const char *read_after(tseed_failure_query_t *query, const char *text, apr_pool_t *pool)
{
    int64_t numbers[3];
    int count = 0;
    char *rest, *word = apr_strtok(apr_pstrdup(pool, text), "/", &rest);

    while (word && count < 3 && tseed_text_int64(&numbers[count], word, 0, INT64_MAX) == 0) {
        count++;
        word = apr_strtok(NULL, "/", &rest);
    }
    if (word || count < 3 || numbers[0] >= TSEED_LEVELS_MAX) {
        return apr_psprintf(pool, "after must be a metatile as z/x/y, not '%s'",
                            tseed_text_quote(text, QUOTE_MAX, pool));
    }
    query->z = (int)numbers[0];
    query->x = numbers[1];
    query->y = numbers[2];
    return NULL;
}

const char *tseed_failure_query_read(tseed_failure_query_t *query, const char *text,
                                     apr_pool_t *pool)
{
    const apr_table_t *form = tseed_form_read(text ? text : "", text ? strlen(text) : 0, pool);
    const char *after = apr_table_get(form, "after");
    const char *problem;

    *query = (tseed_failure_query_t){.limit = FAILURES_USUAL, .z = -1};
    problem = read_count(&query->limit, form, "limit", FAILURES_MOST, pool);
    return problem || !after ? problem : read_after(query, after, pool);
}
