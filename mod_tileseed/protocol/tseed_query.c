/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Queries behind the addresses that GeoWebCache does not have. */
#include "protocol/tseed_query.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_members.h"

#define TASKS_USUAL    100
#define TASKS_MOST     1000
#define FAILURES_USUAL 1000
#define FAILURES_MOST  10000
#define QUOTE_MAX      100

/* ---- what is not known ---- */

static int is_known(const char *key, const char *const *known)
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

        if (!is_known(field->key, known)) {
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

/* ---- tasks and failures ---- */

/* A whole number from 1 to `most`; *value stays as it is when there is none. */
static const char *read_number(int64_t *value, const apr_table_t *form, const char *key,
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
        problem = read_number(&query->limit, form, "limit", TASKS_MOST, pool);
    }
    return problem ? problem : read_number(&query->before, form, "before", INT64_MAX, pool);
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
    problem = read_number(&query->limit, form, "limit", FAILURES_MOST, pool);
    return problem || !after ? problem : read_after(query, after, pool);
}
