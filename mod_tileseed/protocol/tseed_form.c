/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Forms: pairs of name and value, and the code of a termination. */
#include "protocol/tseed_form.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_task.h"

static int digit(char c)
{
    return apr_isdigit(c) ? c - '0' : apr_tolower(c) - 'a' + 10;
}

/* begin..end with `+` and %XX undone. */
static const char *decode(const char *begin, const char *end, apr_pool_t *pool)
{
    char *text = apr_palloc(pool, (apr_size_t)(end - begin) + 1);
    char *out = text;

    while (begin < end) {
        const int is_escape = *begin == '%' && end - begin > 2 && apr_isxdigit(begin[1]) &&
                              apr_isxdigit(begin[2]) && (begin[1] != '0' || begin[2] != '0');

        if (is_escape) {
            *out++ = (char)(digit(begin[1]) << 4 | digit(begin[2]));
            begin += 3;
        } else {
            *out++ = *begin == '+' ? ' ' : *begin;
            begin++;
        }
    }
    *out = '\0';
    return text;
}

apr_table_t *tseed_form_read(const char *body, size_t length, apr_pool_t *pool)
{
    apr_table_t *form = apr_table_make(pool, 8);
    const char *end = body + length;

    while (body < end) {
        const char *stop = memchr(body, '&', (size_t)(end - body));
        const char *equals;

        stop = stop ? stop : end;
        equals = memchr(body, '=', (size_t)(stop - body));
        if (stop > body) {
            apr_table_addn(form, decode(body, equals ? equals : stop, pool),
                           equals ? decode(equals + 1, stop, pool) : "");
        }
        body = stop + 1;
    }
    return form;
}

#define PENDING (1u << TSEED_PENDING)
#define RUNNING (1u << TSEED_RUNNING)

static const struct {
    const char *value, *code;
    unsigned mask;
} kill_codes[] = {
    {"all", "all", PENDING | RUNNING},
    {"running", "running", RUNNING},
    {"1", "running", RUNNING},
    {"pending", "pending", PENDING},
};

const char *tseed_kill_code_read(unsigned *mask, const char **code, const char *body, size_t length,
                                 const char *query, apr_pool_t *pool)
{
    const int is_form = length > 0 && *body != '{' && *body != '<';
    const char *value =
        is_form ? apr_table_get(tseed_form_read(body, length, pool), "kill_all") : NULL;

    if (!value && query) {
        value = apr_table_get(tseed_form_read(query, strlen(query), pool), "kill_all");
    }
    value = tseed_text_quote(value ? value : "", 200, pool);
    for (size_t i = 0; i < sizeof(kill_codes) / sizeof(kill_codes[0]); i++) {
        if (strcasecmp(value, kill_codes[i].value) == 0) {
            *mask = kill_codes[i].mask;
            *code = kill_codes[i].code;
            return NULL;
        }
    }
    return apr_psprintf(
        pool, "Unknown kill_all code: '%s'. One of all|running|pending is expected.", value);
}
