/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Parameter filters: a value is folded, looked for among the values there are, then matched. */
#include "layer/tseed_filter.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <regex.h>
#include <string.h>

#include "base/tseed_text.h"

/* What a refusal shows of a submitted value, and how many of the filter's own values it lists. */
#define QUOTE_MAX  200
#define LISTED_MAX 20

static apr_status_t free_regex(void *compiled)
{
    regfree(compiled);
    return APR_SUCCESS;
}

/* Behind the bracket expression that begins at `at`: no backslash in it means anything. */
static const char *skip_brackets(const char *at)
{
    at += 1 + (at[1] == '^');
    at += *at == ']'; /* as the first one it is a character */
    while (*at && *at != ']') {
        const char kind = *at == '[' && at[1] && strchr(".:=", at[1]) ? at[1] : 0;

        at += kind ? 2 : 1;
        while (kind && *at && !(*at == kind && at[1] == ']')) {
            at++;
        }
        at += kind && *at ? 2 : 0;
    }
    return *at ? at + 1 : at;
}

/* Where a regex refers back to one of its parts, an extension of the C library whose time grows
 * beyond all bounds with the length of a value; else the time is proportional to the length, which
 * is bounded. NULL: nowhere. */
static const char *find_reference(const char *regex)
{
    while (*regex) {
        if (*regex == '[') {
            regex = skip_brackets(regex);
        } else if (*regex == '\\' && regex[1]) {
            if (regex[1] >= '1' && regex[1] <= '9') {
                return regex;
            }
            regex += 2;
        } else {
            regex++;
        }
    }
    return NULL;
}

const char *tseed_filter_compile(tseed_filter_t *filter, apr_pool_t *pool)
{
    const char *reference = filter->regex ? find_reference(filter->regex) : NULL;
    regex_t *compiled;
    char reason[200];
    int error;

    if (!filter->regex) {
        return NULL;
    }
    if (reference) {
        return apr_psprintf(
            pool,
            "the regex '%s' of parameter %s refers back by %.2s, which can take for "
            "ever: write it without",
            filter->regex, filter->name, reference);
    }
    compiled = apr_palloc(pool, sizeof(*compiled));
    error = regcomp(compiled, apr_pstrcat(pool, "^(", filter->regex, ")$", NULL),
                    REG_EXTENDED | REG_NOSUB);
    if (error) {
        regerror(error, compiled, reason, sizeof(reason));
        return apr_psprintf(pool, "the regex '%s' of parameter %s is not a POSIX extended one: %s",
                            filter->regex, filter->name, reason);
    }
    apr_pool_cleanup_register(pool, compiled, free_regex, apr_pool_cleanup_null);
    filter->compiled = compiled;
    return NULL;
}

/* Folds ASCII letters only: a locale must not decide what a tile set is called. */
static const char *fold(const char *value, tseed_case_t letter_case, apr_pool_t *pool)
{
    char *folded = apr_pstrdup(pool, value);

    for (char *c = folded; *c; c++) {
        if (letter_case == TSEED_CASE_UPPER && *c >= 'a' && *c <= 'z') {
            *c += 'A' - 'a';
        } else if (letter_case == TSEED_CASE_LOWER && *c >= 'A' && *c <= 'Z') {
            *c += 'a' - 'A';
        }
    }
    return folded;
}

static int same_folded(const tseed_filter_t *filter, const char *folded, const char *configured,
                       apr_pool_t *pool)
{
    return strcmp(folded, fold(configured, filter->letter_case, pool)) == 0;
}

int tseed_filter_is_open(const tseed_filter_t *filter)
{
    return filter->compiled || filter->values->nelts == 0;
}

int tseed_filter_lists(const tseed_filter_t *filter, const char *value, apr_pool_t *pool)
{
    const char *folded = fold(value, filter->letter_case, pool);
    int listed = same_folded(filter, folded, filter->default_value, pool);

    for (int i = 0; !listed && i < filter->values->nelts; i++) {
        listed = same_folded(filter, folded, APR_ARRAY_IDX(filter->values, i, const char *), pool);
    }
    return listed;
}

static int most_of(const tseed_filter_t *filter)
{
    return filter->most > 0 ? filter->most : TSEED_FILTER_USUAL;
}

static int passes(const tseed_filter_t *filter, const char *folded, apr_pool_t *pool)
{
    if (filter->values->nelts == 0 && !filter->compiled) {
        return 1;
    }
    for (int i = 0; i < filter->values->nelts; i++) {
        if (same_folded(filter, folded, APR_ARRAY_IDX(filter->values, i, const char *), pool)) {
            return 1;
        }
    }
    return filter->compiled && regexec(filter->compiled, folded, 0, NULL, 0) == 0;
}

/* "'polygon', 'line'": the default and then the values, as far as a person reads on. */
static const char *list_values(const tseed_filter_t *filter, apr_pool_t *pool)
{
    const apr_array_header_t *values = filter->values;
    const char *list = apr_psprintf(pool, "'%s'", filter->default_value);

    for (int i = 0; i < values->nelts; i++) {
        const char *value = APR_ARRAY_IDX(values, i, const char *);

        if (i == LISTED_MAX) {
            return apr_psprintf(pool, "%s and %d more", list, values->nelts - i);
        }
        if (strcmp(value, filter->default_value) != 0) {
            list = apr_psprintf(pool, "%s, '%s'", list, value);
        }
    }
    return list;
}

static const char *refusal(const tseed_filter_t *filter, const char *submitted, apr_pool_t *pool)
{
    return apr_psprintf(pool, "parameter %s: '%s' is not allowed, one of %s%s%s is expected",
                        filter->name, tseed_text_quote(submitted, QUOTE_MAX, pool),
                        list_values(filter, pool), filter->regex ? " or what matches " : "",
                        filter->regex ? filter->regex : "");
}

const char *tseed_filter_accept(const char **value, const tseed_filter_t *filter,
                                const char *submitted, apr_pool_t *pool)
{
    const char *folded;

    *value = filter->default_value;
    if (!submitted || !*submitted) {
        return NULL;
    }
    folded = fold(submitted, filter->letter_case, pool);
    if (same_folded(filter, folded, filter->default_value, pool)) {
        return NULL;
    }
    *value = folded;
    if (tseed_filter_is_open(filter) && strlen(submitted) > (size_t)most_of(filter) &&
        !tseed_filter_lists(filter, submitted, pool)) {
        return apr_psprintf(pool,
                            "a value of %s has at most %d bytes: max= of TileSeedParameter allows "
                            "more",
                            filter->name, most_of(filter));
    }
    return passes(filter, folded, pool) ? NULL : refusal(filter, submitted, pool);
}

int tseed_filter_means_default(const tseed_filter_t *filter, const char *value)
{
    int is_own = apr_cstr_casecmp(filter->default_value, TSEED_DEFAULT_NAME) == 0;

    for (int i = 0; !is_own && i < filter->values->nelts; i++) {
        is_own = apr_cstr_casecmp(APR_ARRAY_IDX(filter->values, i, const char *),
                                  TSEED_DEFAULT_NAME) == 0;
    }
    return !is_own && strcmp(value, TSEED_DEFAULT_NAME) == 0;
}
