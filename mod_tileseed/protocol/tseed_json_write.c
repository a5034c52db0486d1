/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writes JSON: pieces of text in an array, joined once. */
#include "protocol/tseed_json_write.h"

#include <apr_strings.h>

#include "base/tseed_text.h"
#include "protocol/tseed_escape.h"

static void put(tseed_json_t *json, const char *piece)
{
    APR_ARRAY_PUSH(json->pieces, const char *) = piece;
}

/* The comma before an entry, and its name. */
static void put_name(tseed_json_t *json, const char *name)
{
    const char *comma = json->has_entry ? "," : "";

    if (name) {
        put(json, apr_pstrcat(json->pool, comma, tseed_escape_json(name, json->pool), ":", NULL));
    } else {
        put(json, comma);
    }
    json->has_entry = 1;
}

tseed_json_t tseed_json_begin(apr_pool_t *pool)
{
    tseed_json_t json = {.pool = pool, .pieces = apr_array_make(pool, 64, sizeof(const char *))};

    tseed_json_open(&json, NULL, '{');
    return json;
}

const char *tseed_json_end(tseed_json_t *json)
{
    tseed_json_close(json, '}');
    return apr_array_pstrcat(json->pool, json->pieces, '\0');
}

void tseed_json_open(tseed_json_t *json, const char *name, char mark)
{
    put_name(json, name);
    put(json, mark == '{' ? "{" : "[");
    json->has_entry = 0;
}

void tseed_json_close(tseed_json_t *json, char mark)
{
    put(json, mark == '}' ? "}" : "]");
    json->has_entry = 1;
}

void tseed_json_raw(tseed_json_t *json, const char *name, const char *value)
{
    put_name(json, name);
    put(json, value ? value : "null");
}

void tseed_json_text(tseed_json_t *json, const char *name, const char *text)
{
    tseed_json_raw(json, name, text ? tseed_escape_json(text, json->pool) : NULL);
}

void tseed_json_words(tseed_json_t *json, const char *name, const char *text)
{
    tseed_json_text(json, name, text && *text ? text : NULL);
}

void tseed_json_number(tseed_json_t *json, const char *name, int64_t number)
{
    tseed_json_raw(json, name, apr_psprintf(json->pool, "%" APR_INT64_T_FMT, number));
}

void tseed_json_known(tseed_json_t *json, const char *name, int is_known, int64_t number)
{
    if (is_known) {
        tseed_json_number(json, name, number);
    } else {
        tseed_json_raw(json, name, NULL);
    }
}

void tseed_json_flag(tseed_json_t *json, const char *name, int flag)
{
    tseed_json_raw(json, name, flag ? "true" : "false");
}

void tseed_json_time(tseed_json_t *json, const char *name, apr_time_t time)
{
    tseed_json_text(json, name, time ? tseed_text_rfc3339(time, json->pool) : NULL);
}

void tseed_json_bounds(tseed_json_t *json, const char *name, const tseed_bounds_t *bounds)
{
    tseed_json_open(json, name, '[');
    tseed_json_raw(json, NULL, tseed_text_number(bounds->minx, json->pool));
    tseed_json_raw(json, NULL, tseed_text_number(bounds->miny, json->pool));
    tseed_json_raw(json, NULL, tseed_text_number(bounds->maxx, json->pool));
    tseed_json_raw(json, NULL, tseed_text_number(bounds->maxy, json->pool));
    tseed_json_close(json, ']');
}

void tseed_json_levels(tseed_json_t *json, const char *name, int first, int last)
{
    if (last < first) {
        tseed_json_raw(json, name, NULL);
        return;
    }
    tseed_json_open(json, name, '{');
    tseed_json_number(json, "zoomStart", first);
    tseed_json_number(json, "zoomStop", last);
    tseed_json_close(json, '}');
}
