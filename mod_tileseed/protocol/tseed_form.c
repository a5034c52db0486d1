/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Forms: pairs of name and value, and what they mean. */
#include "protocol/tseed_form.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "protocol/tseed_members.h"
#include "protocol/tseed_task.h"

#define QUOTE_MAX    200
#define FIELDS_USUAL 16 /* GetTile of WMTS has ten */

static int digit(char c)
{
    return tseed_ascii_is_digit(c) ? c - '0' : tseed_ascii_lower(c) - 'a' + 10;
}

/* Undoes `+` and %XX where they stand: the text becomes no longer. */
static const char *decode(char *text)
{
    char *in = text + strcspn(text, "%+");
    char *out = in;

    while (*in) {
        const int is_escape = *in == '%' && tseed_ascii_is_xdigit(in[1]) &&
                              tseed_ascii_is_xdigit(in[2]) && (in[1] != '0' || in[2] != '0');

        if (is_escape) {
            *out++ = (char)(digit(in[1]) << 4 | digit(in[2]));
            in += 3;
        } else {
            *out++ = *in == '+' ? ' ' : *in;
            in++;
        }
    }
    *out = '\0';
    return text;
}

apr_table_t *tseed_form_read(const char *body, size_t length, apr_pool_t *pool)
{
    apr_table_t *form = apr_table_make(pool, FIELDS_USUAL);
    char *field = apr_pstrmemdup(pool, body, length);
    char *end = field + length;

    while (field < end) {
        char *stop = memchr(field, '&', (size_t)(end - field));
        char *equals;

        stop = stop ? stop : end;
        equals = memchr(field, '=', (size_t)(stop - field));
        *stop = '\0';
        if (equals) {
            *equals = '\0';
        }
        if (stop > field) {
            apr_table_addn(form, decode(field), equals ? decode(equals + 1) : "");
        }
        field = stop + 1;
    }
    return form;
}

tseed_form_kind_t tseed_form_kind(const apr_table_t *form)
{
    if (!apr_table_get(form, "kill_all")) {
        if (apr_table_get(form, "kill_thread")) {
            return TSEED_FORM_KILL_THREAD;
        }
        if (apr_table_get(form, "minX") || apr_table_get(form, "bbox")) {
            return TSEED_FORM_SEED;
        }
    }
    return TSEED_FORM_KILL_ALL;
}

const char *tseed_form_thread(int64_t *task, const apr_table_t *form, apr_pool_t *pool)
{
    const char *text = apr_table_get(form, "thread_id");

    text = tseed_text_quote(text ? text : "", QUOTE_MAX, pool);
    return tseed_text_int64(task, text, 1, INT64_MAX) == 0
               ? NULL
               : apr_psprintf(pool, "thread_id must be the id of a task, not '%s'", text);
}

/* ---- a seed request ---- */

/* A field's value, trimmed; NULL when it is absent. */
static const char *trimmed(const apr_table_t *form, const char *name, apr_pool_t *pool)
{
    const char *text = apr_table_get(form, name);

    return text ? tseed_text_quote(text, strlen(text), pool) : NULL;
}

static const char *filled(const apr_table_t *form, const char *name, apr_pool_t *pool)
{
    const char *text = trimmed(form, name, pool);

    return text && *text ? text : NULL;
}

/* All four, as soon as one is filled in. */
static apr_array_header_t *read_coords(const apr_table_t *form, apr_pool_t *pool)
{
    static const char *const names[] = {"minX", "minY", "maxX", "maxY"};
    apr_array_header_t *coords = apr_array_make(pool, 4, sizeof(const char *));
    int is_filled = 0;

    for (int i = 0; i < 4; i++) {
        const char *text = filled(form, names[i], pool);

        is_filled |= text != NULL;
        APR_ARRAY_PUSH(coords, const char *) = text ? text : "";
    }
    return is_filled ? coords : NULL;
}

/* bbox=minx,miny,maxx,maxy: the four in one field. */
static const char *read_box(apr_array_header_t **coords, const char *box, apr_pool_t *pool)
{
    if (*coords) {
        return "bbox and minX, minY, maxX, maxY say the same: only one of them may be filled in";
    }
    *coords = apr_array_make(pool, 4, sizeof(const char *));
    for (const char *number = box; number;) {
        const char *comma = strchr(number, ',');

        APR_ARRAY_PUSH(*coords, const char *) =
            comma ? apr_pstrmemdup(pool, number, (apr_size_t)(comma - number)) : number;
        number = comma ? comma + 1 : NULL;
    }
    return (*coords)->nelts == 4
               ? NULL
               : apr_psprintf(pool, "bbox must be four numbers, minx,miny,maxx,maxy, not '%s'",
                              tseed_text_quote(box, QUOTE_MAX, pool));
}

#define PREFIX "parameter_"

static int is_parameter(const char *field)
{
    return apr_cstr_casecmpn(field, PREFIX, sizeof(PREFIX) - 1) == 0;
}

static apr_table_t *read_parameters(const apr_table_t *form, apr_pool_t *pool)
{
    const apr_array_header_t *fields = apr_table_elts(form);
    apr_table_t *parameters = apr_table_make(pool, 4);

    for (int i = 0; i < fields->nelts; i++) {
        const apr_table_entry_t *field = &APR_ARRAY_IDX(fields, i, apr_table_entry_t);

        if (is_parameter(field->key) && *field->val) {
            apr_table_addn(parameters, field->key + sizeof(PREFIX) - 1, field->val);
        }
    }
    return parameters;
}

static const char *const seed_fields[] = {"threadCount",
                                          "type",
                                          "gridSetId",
                                          "tileFormat",
                                          "format",
                                          "zoomStart",
                                          "zoomStop",
                                          "minX",
                                          "minY",
                                          "maxX",
                                          "maxY",
                                          "bbox",
                                          "tileFailureRetryCount",
                                          "tileFailureRetryWaitTime",
                                          "totalFailuresBeforeAborting",
                                          NULL};

/* Fields are looked up in any case. */
static int is_seed_field(const char *field)
{
    int i = 0;

    while (seed_fields[i] && apr_cstr_casecmp(field, seed_fields[i]) != 0) {
        i++;
    }
    return seed_fields[i] != NULL || is_parameter(field);
}

/* A field that is none of a seed request. NULL, and it is noted, or a sentence. */
static const char *read_unknown(const char **ignored, const char *field, apr_pool_t *pool)
{
    static const tseed_alias_t aliases[] = {{"bounds", "bbox"},
                                            {"extent", "bbox"},
                                            {"minZoom", "zoomStart"},
                                            {"maxZoom", "zoomStop"},
                                            {NULL, NULL}};
    static const char *const prefixes[] = {PREFIX, NULL};
    const size_t first = strcspn(field, "_");
    const char *problem;

    if (is_seed_field(field)) {
        return NULL;
    }
    if (field[first] && tseed_name_meant(apr_pstrmemdup(pool, field, first), prefixes)) {
        return apr_psprintf(pool, "Unknown field: '%s'. Is %s%s meant?",
                            tseed_text_quote(field, QUOTE_MAX, pool), PREFIX,
                            tseed_text_quote(field + first + 1, QUOTE_MAX, pool));
    }
    problem = tseed_member_alias(field, aliases, pool);
    return problem ? problem : tseed_member_unknown(ignored, "", field, seed_fields, pool);
}

static const char *check_fields(const char **ignored, const apr_table_t *form, apr_pool_t *pool)
{
    const apr_array_header_t *fields = apr_table_elts(form);
    const char *problem = NULL;

    for (int i = 0; i < fields->nelts && !problem; i++) {
        const char *field = APR_ARRAY_IDX(fields, i, apr_table_entry_t).key;

        if (!is_parameter(field)) {
            problem = read_unknown(ignored, field, pool);
        }
    }
    return problem;
}

const char *tseed_form_seed(tseed_seed_document_t *document, const apr_table_t *form,
                            apr_pool_t *pool)
{
    const char *format = filled(form, "tileFormat", pool);
    const char *box = filled(form, "bbox", pool);
    const char *problem;

    *document = (tseed_seed_document_t){
        .gridset = filled(form, "gridSetId", pool),
        .format = format ? format : filled(form, "format", pool),
        .type = trimmed(form, "type", pool),
        .zoom_start = filled(form, "zoomStart", pool),
        .zoom_stop = filled(form, "zoomStop", pool),
        .thread_count = filled(form, "threadCount", pool),
        .retry_count = filled(form, "tileFailureRetryCount", pool),
        .retry_wait = filled(form, "tileFailureRetryWaitTime", pool),
        .failure_limit = filled(form, "totalFailuresBeforeAborting", pool),
        .coords = read_coords(form, pool),
        .parameters = read_parameters(form, pool),
    };
    problem = box ? read_box(&document->coords, box, pool) : NULL;
    return problem ? problem : check_fields(&document->ignored, form, pool);
}

const char *tseed_form_query(tseed_seed_document_t *document, const char *query, apr_pool_t *pool)
{
    return tseed_form_seed(document, tseed_form_read(query, strlen(query), pool), pool);
}

/* ---- a code ---- */

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

/* Whether a form that is no seed form was meant to be one. */
static int has_seed_field(const apr_table_t *form)
{
    const apr_array_header_t *fields = apr_table_elts(form);
    int found = 0;

    for (int i = 0; i < fields->nelts && !found; i++) {
        found = is_seed_field(APR_ARRAY_IDX(fields, i, apr_table_entry_t).key);
    }
    return found;
}

const char *tseed_kill_code_read(unsigned *mask, const char **code, const char *body, size_t length,
                                 const char *query, apr_pool_t *pool)
{
    const int is_form = length > 0 && *body != '{' && *body != '<';
    const apr_table_t *form = tseed_form_read(is_form ? body : "", is_form ? length : 0, pool);
    const char *value = apr_table_get(form, "kill_all");

    if (!value && query) {
        value = apr_table_get(tseed_form_read(query, strlen(query), pool), "kill_all");
    }
    if (!value && has_seed_field(form)) {
        return "A seed form to seed/<layer> needs the field minX, which may be empty, or bbox";
    }
    value = tseed_text_quote(value ? value : "", QUOTE_MAX, pool);
    for (size_t i = 0; i < sizeof(kill_codes) / sizeof(kill_codes[0]); i++) {
        if (apr_cstr_casecmp(value, kill_codes[i].value) == 0) {
            *mask = kill_codes[i].mask;
            *code = kill_codes[i].code;
            return NULL;
        }
    }
    return apr_psprintf(
        pool, "Unknown kill_all code: '%s'. One of all|running|pending is expected.", value);
}
