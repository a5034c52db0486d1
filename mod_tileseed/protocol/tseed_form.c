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
        if (apr_table_get(form, "list")) {
            return TSEED_FORM_LIST;
        }
        if (apr_table_get(form, "minX") || apr_table_get(form, "bbox")) {
            return TSEED_FORM_SEED;
        }
    }
    return TSEED_FORM_KILL_ALL;
}

/* ---- what is not known ---- */

/* The first occurrence of a field that says something, trimmed; NULL when there is none. */
static const char *filled(const apr_table_t *form, const char *name, apr_pool_t *pool)
{
    const apr_array_header_t *fields = apr_table_elts(form);

    for (int i = 0; i < fields->nelts; i++) {
        const apr_table_entry_t *field = &APR_ARRAY_IDX(fields, i, apr_table_entry_t);
        const char *text = apr_cstr_casecmp(field->key, name) == 0
                               ? tseed_text_quote(field->val, strlen(field->val), pool)
                               : "";

        if (*text) {
            return text;
        }
    }
    return NULL;
}

/* The place of a field among those that are known, in any case; -1: it is none of them. */
static int place_of(const char *const *known, const char *field)
{
    int i = 0;

    while (known[i] && apr_cstr_casecmp(known[i], field) != 0) {
        i++;
    }
    return known[i] ? i : -1;
}

/* Judges all fields of a form. A known one may come twice if it says the same. */
static const char *check_fields(tseed_unknown_t *unknown, const tseed_members_t *members,
                                const apr_table_t *form, apr_pool_t *pool)
{
    const apr_array_header_t *fields = apr_table_elts(form);
    const char *problem = NULL;

    for (int i = 0; i < fields->nelts && !problem; i++) {
        const apr_table_entry_t *field = &APR_ARRAY_IDX(fields, i, apr_table_entry_t);
        const char *text = tseed_text_quote(field->val, strlen(field->val), pool);

        if (place_of(members->known, field->key) < 0) {
            problem = tseed_member_judge(unknown, members, "", field->key,
                                         *text ? TSEED_CONTENT_PLAIN : TSEED_CONTENT_NONE, pool);
        } else if (*text && strcmp(text, filled(form, field->key, pool)) != 0) {
            problem =
                apr_psprintf(pool, "%s is there twice, with '%s' and '%s'", field->key,
                             tseed_text_quote(filled(form, field->key, pool), QUOTE_MAX, pool),
                             tseed_text_quote(text, QUOTE_MAX, pool));
        }
    }
    return problem;
}

/* Whatever would spare some tasks. */
#define SPARES                                                                                     \
    {                                                                                              \
        [TSEED_SUBJECT_FIRST_LEVEL] = "", [TSEED_SUBJECT_LAST_LEVEL] = "",                         \
        [TSEED_SUBJECT_LEVELS] = "", [TSEED_SUBJECT_BOX] = "", [TSEED_SUBJECT_GRID] = "",          \
        [TSEED_SUBJECT_SYSTEM] = "", [TSEED_SUBJECT_FORMAT] = "", [TSEED_SUBJECT_PARAMETER] = "",  \
        [TSEED_SUBJECT_KIND] = "", [TSEED_SUBJECT_PART] = "", [TSEED_SUBJECT_CHOICE] = ""          \
    }

/* ---- the page's small forms ---- */

const char *tseed_form_thread(int64_t *task, const apr_table_t *form, apr_pool_t *pool)
{
    static const char *const known[] = {"kill_thread", "thread_id", NULL};
    static const tseed_members_t members = {.known = known, .meant = SPARES};
    tseed_unknown_t unknown = {NULL, NULL};
    const char *text = filled(form, "thread_id", pool);
    const char *problem = check_fields(&unknown, &members, form, pool);

    if (problem) {
        return problem;
    }
    text = tseed_text_quote(text ? text : "", QUOTE_MAX, pool);
    return tseed_text_int64(task, text, 1, INT64_MAX) == 0
               ? NULL
               : apr_psprintf(pool, "thread_id must be the id of a task, not '%s'", text);
}

const char *tseed_form_list(int *is_all, const apr_table_t *form, apr_pool_t *pool)
{
    const char *text = filled(form, "list", pool);

    *is_all = text && apr_cstr_casecmp(text, "all") == 0;
    return *is_all || (text && apr_cstr_casecmp(text, "layer") == 0)
               ? NULL
               : apr_psprintf(pool, "Unknown list: '%s'. One of layer|all is expected",
                              tseed_text_quote(text ? text : "", QUOTE_MAX, pool));
}

/* ---- a seed request ---- */

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

/* What names speak of, in a form. */
static const tseed_members_t seed_members = {
    .known = (const char *const[]){"threadCount", "type", "gridSetId", "tileFormat", "format",
                                   "zoomStart", "zoomStop", "minX", "minY", "maxX", "maxY", "bbox",
                                   "tileFailureRetryCount", "tileFailureRetryWaitTime",
                                   "totalFailuresBeforeAborting", NULL},
    .meant = {[TSEED_SUBJECT_FIRST_LEVEL] = "zoomStart",
              [TSEED_SUBJECT_LAST_LEVEL] = "zoomStop",
              [TSEED_SUBJECT_LEVELS] = "zoomStart or zoomStop",
              [TSEED_SUBJECT_BOX] = "bbox",
              [TSEED_SUBJECT_GRID] = "gridSetId",
              [TSEED_SUBJECT_SYSTEM] = "gridSetId",
              [TSEED_SUBJECT_FORMAT] = "tileFormat",
              [TSEED_SUBJECT_PARAMETER] = PREFIX "NAME",
              [TSEED_SUBJECT_KIND] = "type",
              [TSEED_SUBJECT_PART] = "zoomStart, zoomStop or bbox"}};

/* The fields but those of parameters, which are judged with the layer. *problem: one is almost such
 * a field. */
static apr_table_t *plain_fields(const char **problem, const apr_table_t *form, apr_pool_t *pool)
{
    static const char *const prefixes[] = {PREFIX, NULL};
    const apr_array_header_t *fields = apr_table_elts(form);
    apr_table_t *plain = apr_table_make(pool, fields->nelts);

    for (int i = 0; i < fields->nelts && !*problem; i++) {
        const apr_table_entry_t *field = &APR_ARRAY_IDX(fields, i, apr_table_entry_t);
        const size_t first = strcspn(field->key, "_");

        if (is_parameter(field->key)) {
            continue;
        }
        if (field->key[first] && *field->val &&
            tseed_name_meant(apr_pstrmemdup(pool, field->key, first), prefixes)) {
            *problem = apr_psprintf(pool, "Unknown field: '%s'. Is %s%s meant?",
                                    tseed_text_quote(field->key, QUOTE_MAX, pool), PREFIX,
                                    tseed_text_quote(field->key + first + 1, QUOTE_MAX, pool));
        }
        apr_table_addn(plain, field->key, field->val);
    }
    return plain;
}

/* The format, which has two names. */
static const char *read_format(const char **format, const apr_table_t *form, apr_pool_t *pool)
{
    const char *other = filled(form, "format", pool);

    *format = filled(form, "tileFormat", pool);
    if (*format && other && strcmp(*format, other) != 0) {
        return apr_psprintf(pool, "tileFormat '%s' and format '%s' say two things",
                            tseed_text_quote(*format, QUOTE_MAX, pool),
                            tseed_text_quote(other, QUOTE_MAX, pool));
    }
    *format = *format ? *format : other;
    return NULL;
}

static const char *read_seed(tseed_seed_document_t *document, const apr_table_t *form,
                             const tseed_members_t *members, apr_pool_t *pool)
{
    const char *box = filled(form, "bbox", pool);
    const char *type = filled(form, "type", pool);
    const char *problem = NULL;
    const apr_table_t *plain;

    *document = (tseed_seed_document_t){
        .gridset = filled(form, "gridSetId", pool),
        .type = type || !apr_table_get(form, "type") ? type : "",
        .zoom_start = filled(form, "zoomStart", pool),
        .zoom_stop = filled(form, "zoomStop", pool),
        .thread_count = filled(form, "threadCount", pool),
        .retry_count = filled(form, "tileFailureRetryCount", pool),
        .retry_wait = filled(form, "tileFailureRetryWaitTime", pool),
        .failure_limit = filled(form, "totalFailuresBeforeAborting", pool),
        .coords = read_coords(form, pool),
        .parameters = read_parameters(form, pool),
    };
    plain = plain_fields(&problem, form, pool);
    if (!problem) {
        problem = check_fields(&document->unknown, members, plain, pool);
    }
    if (!problem) {
        problem = read_format(&document->format, form, pool);
    }
    return problem || !box ? problem : read_box(&document->coords, box, pool);
}

const char *tseed_form_seed(tseed_seed_document_t *document, const apr_table_t *form,
                            apr_pool_t *pool)
{
    return read_seed(document, form, &seed_members, pool);
}

const char *tseed_form_query(tseed_seed_document_t *document, const char *query, apr_pool_t *pool)
{
    /* what caches, proxies and pages add, and GeoServer's addresses have */
    static const char *const idle[] = {"_", "authkey", "f", "kill_all", "workspace", NULL};
    const char *text = query ? query : "";
    tseed_members_t members = seed_members;

    members.idle = idle;
    return read_seed(document, tseed_form_read(text, strlen(text), pool), &members, pool);
}

/* ---- a request with a query ---- */

static int is_same(const char *one, const char *other)
{
    double a, b;

    return apr_cstr_casecmp(one, other) == 0 ||
           (tseed_text_double(&a, one) == 0 && tseed_text_double(&b, other) == 0 && a == b);
}

static const char *contradiction(const char *name, const char *here, const char *there,
                                 apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s is '%s' in the query and '%s' in the body", name,
                        tseed_text_quote(there, QUOTE_MAX, pool),
                        tseed_text_quote(here, QUOTE_MAX, pool));
}

static const char *add_text(const char **field, const char *name, const char *more,
                            apr_pool_t *pool)
{
    if (*field && more && !is_same(*field, more)) {
        return contradiction(name, *field, more, pool);
    }
    *field = *field ? *field : more;
    return NULL;
}

static const char *add_coords(apr_array_header_t **coords, apr_array_header_t *more,
                              apr_pool_t *pool)
{
    const char *problem = NULL;

    for (int i = 0; *coords && more && i < 4 && (*coords)->nelts == 4 && !problem; i++) {
        problem = add_text(&APR_ARRAY_IDX(*coords, i, const char *), "a number of the box",
                           APR_ARRAY_IDX(more, i, const char *), pool);
    }
    *coords = *coords ? *coords : more;
    return problem;
}

static const char *add_parameters(apr_table_t **parameters, const apr_table_t *more,
                                  apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(more);
    const char *problem = NULL;

    if (!*parameters) {
        *parameters = apr_table_make(pool, entries->nelts);
    }
    for (int i = 0; i < entries->nelts && !problem; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);
        const char *here = apr_table_get(*parameters, entry->key);

        if (!here) {
            apr_table_addn(*parameters, entry->key, entry->val);
        } else if (strcmp(here, entry->val) != 0) {
            problem = contradiction(entry->key, here, entry->val, pool);
        }
    }
    return problem;
}

static void add_unknown(tseed_unknown_t *unknown, const tseed_unknown_t *more, apr_pool_t *pool)
{
    char *rest, *lines = more->ignored ? apr_pstrdup(pool, more->ignored) : NULL;

    unknown->dropped = unknown->dropped ? unknown->dropped : more->dropped;

    for (char *line = lines ? apr_strtok(lines, "\n", &rest) : NULL; line;
         line = apr_strtok(NULL, "\n", &rest)) {
        tseed_members_note(&unknown->ignored, line, pool);
    }
}

const char *tseed_form_add_query(tseed_seed_document_t *document, const char *query,
                                 apr_pool_t *pool)
{
    tseed_seed_document_t more;
    const char *problem = tseed_form_query(&more, query, pool);
    const struct {
        const char **field, *name, *more;
    } texts[] = {
        {&document->gridset, "gridSetId", more.gridset},
        {&document->format, "format", more.format},
        {&document->type, "type", more.type},
        {&document->zoom_start, "zoomStart", more.zoom_start},
        {&document->zoom_stop, "zoomStop", more.zoom_stop},
        {&document->thread_count, "threadCount", more.thread_count},
        {&document->retry_count, "tileFailureRetryCount", more.retry_count},
        {&document->retry_wait, "tileFailureRetryWaitTime", more.retry_wait},
        {&document->failure_limit, "totalFailuresBeforeAborting", more.failure_limit},
    };

    if (!problem && more.gridset && document->srs && !document->bounds_srs) {
        document->bounds_srs = document->srs; /* the body's system, which the query must not lift */
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !problem; i++) {
        problem = add_text(texts[i].field, texts[i].name, texts[i].more, pool);
    }
    if (!problem) {
        problem = add_coords(&document->coords, more.coords, pool);
    }
    if (!problem) {
        add_unknown(&document->unknown, &more.unknown, pool);
        problem = add_parameters(&document->parameters, more.parameters, pool);
    }
    return problem;
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
        const char *field = APR_ARRAY_IDX(fields, i, apr_table_entry_t).key;

        found = is_parameter(field) || place_of(seed_members.known, field) >= 0;
    }
    return found;
}

/* What is wrong with a body that holds no kill_all, as far as it can be told. NULL: nothing. */
static const char *say_body(const apr_table_t *form, const char *body, int has_code)
{
    if ((*body == '{' || *body == '<') && strstr(body, "seedRequest")) {
        return "A seed request names its layer in its address: POST it to seed/<layer>.json or "
               "seed/<layer>.xml";
    }
    if (strncmp(body, "--", 2) == 0) {
        return "A form as multipart/form-data is not read: send "
               "application/x-www-form-urlencoded, as curl -d does and curl -F does not";
    }
    if (has_code && (*body == '{' || *body == '<')) {
        return "Beside kill_all in the query no document is read: nothing, or a form, is expected";
    }
    return !has_code && has_seed_field(form)
               ? "A seed form to seed/<layer> needs the field minX, which may be empty, or bbox"
               : NULL;
}

/* What would spare some of the tasks, in body or query. */
static const char *check_kill(const char **ignored, const apr_table_t *form,
                              const apr_table_t *query, apr_pool_t *pool)
{
    static const char *const known[] = {"kill_all", NULL};
    static const tseed_members_t members = {.known = known, .meant = SPARES};
    tseed_unknown_t unknown = {NULL, NULL};
    const char *problem = check_fields(&unknown, &members, form, pool);
    const char *here = filled(form, "kill_all", pool), *there = filled(query, "kill_all", pool);

    if (!problem) {
        problem = check_fields(&unknown, &members, query, pool);
    }
    *ignored = unknown.ignored;
    return problem || !here || !there || is_same(here, there)
               ? problem
               : contradiction("kill_all", here, there, pool);
}

const char *tseed_kill_code_read(tseed_kill_t *kill, const char *body, size_t length,
                                 const char *query, apr_pool_t *pool)
{
    const char *text = length ? apr_pstrmemdup(pool, body, length) : "";
    const int is_form = *text != '{' && *text != '<';
    const apr_table_t *form = tseed_form_read(is_form ? text : "", is_form ? length : 0, pool);
    const apr_table_t *more = tseed_form_read(query ? query : "", query ? strlen(query) : 0, pool);
    const char *value = filled(form, "kill_all", pool);
    const char *problem;

    if (!apr_table_get(form, "kill_all")) {
        value = filled(more, "kill_all", pool);
        problem = say_body(form, text, value != NULL);
        if (problem) {
            return problem;
        }
    }
    value = tseed_text_quote(value ? value : "", QUOTE_MAX, pool);
    problem = *value ? check_kill(&kill->ignored, form, more, pool) : NULL;
    if (problem) {
        return problem;
    }
    for (size_t i = 0; i < sizeof(kill_codes) / sizeof(kill_codes[0]); i++) {
        if (apr_cstr_casecmp(value, kill_codes[i].value) == 0) {
            kill->mask = kill_codes[i].mask;
            kill->code = kill_codes[i].code;
            return NULL;
        }
    }
    return apr_psprintf(
        pool, "Unknown kill_all code: '%s'. One of all|running|pending is expected.", value);
}
