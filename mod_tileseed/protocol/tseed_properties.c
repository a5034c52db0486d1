/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Properties: lines "key=value" behind comments, in ASCII.
 *
 * Escapes are those of JSON, and a backslash before a character that would mean something. So a
 * line becomes a member of an object, which the reader of JSON takes from there.
 */
#include "protocol/tseed_properties.h"

#include <apr_strings.h>
#include <string.h>

#include "protocol/tseed_answer.h"

/* Writes the text up to one of the stops, or the end, as a string; returns where that is. */
static const char *put_string(char **out, const char *at, const char *stops)
{
    *(*out)++ = '"';
    for (; *at && !strchr(stops, *at); at++) {
        if (*at == '"') {
            *(*out)++ = '\\';
        } else if (*at == '\\' && at[1]) {
            at++;
            if (!strchr(" :=#!", *at)) {
                *(*out)++ = '\\';
            }
        }
        *(*out)++ = *at;
    }
    *(*out)++ = '"';
    return at;
}

static const char *put_member(char **out, const char *line)
{
    const char *at = put_string(out, line, "=\r\n");

    *(*out)++ = ':';
    at = put_string(out, at + (*at == '='), "\r\n");
    *(*out)++ = ',';
    return at;
}

apr_table_t *tseed_properties_load(const char *text, apr_pool_t *pool)
{
    /* a character becomes two at most, a line six more */
    char *json = apr_palloc(pool, 8 * strlen(text) + 3), *out = json;

    *out++ = '{';
    while (*(text += strspn(text, "\r\n"))) {
        text = *text == '#' ? text + strcspn(text, "\r\n") : put_member(&out, text);
    }
    memcpy(out, "}", 2);
    return tseed_parameters_load(json, pool);
}
