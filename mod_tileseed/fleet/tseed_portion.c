/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions as text. */
#include "fleet/tseed_portion.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_digest.h"
#include "base/tseed_text.h"
#include "source/tseed_source.h"
#include "tiling/tseed_cells.h"
#include "work/tseed_run.h"

/* The version of the module stands for the forms of portion, result and pack. */
#define VERSION TSEED_VERSION

#define NOTHING     "-"
#define UNREADABLE  "it writes a request that can't be read here"
#define OF_A_PART   5
#define FIELDS_MOST (PARTS + TSEED_CELL_MOST * OF_A_PART)
#define WEIGHT_MAX  1e6
#define HEX_DIGITS  16

/* The fields of a line by their places. */
enum {
    VERSION_FIELD,
    LAYER,
    GRIDSET,
    FORMAT,
    PARAMETERS,
    ADDRESS,
    PRINT,
    GUTTER,
    CONDITION,
    WEIGHT,
    LEVEL,
    ASKED,
    PARTS = ASKED + 4
};

/* ---- fields ---- */

const char *tseed_portion_field(const char *text, apr_pool_t *pool)
{
    if (strcmp(text, NOTHING) == 0) {
        return "%2d";
    }
    return *text ? apr_pescape_urlencoded(pool, text) : NOTHING;
}

const char *tseed_portion_text(const char *field, apr_pool_t *pool)
{
    const char *text;

    if (strcmp(field, NOTHING) == 0) {
        return "";
    }
    text = *field ? apr_punescape_url(pool, field, NULL, NULL, 1) : NULL;
    return text == field ? apr_pstrdup(pool, field) : text;
}

int tseed_portion_lines(const char *text)
{
    int count = 0;

    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

/* ---- conditions ---- */

/* The name of the header and the blank behind its colon; NULL: a transfer makes no such header. */
static const char *header_of(const char *condition)
{
    static const char *const headers[] = {"If-None-Match: ", "If-Modified-Since: "};

    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (strncmp(condition, headers[i], strlen(headers[i])) == 0) {
            return headers[i];
        }
    }
    return NULL;
}

static int has_control(const char *text)
{
    while (*text && !tseed_ascii_is_cntrl(*text)) {
        text++;
    }
    return *text != '\0';
}

/* Whether source/tseed_wire.c makes such conditions: there is a value without blanks around it. */
static int is_sound(const char *condition)
{
    const char *header = header_of(condition);
    const size_t length = strlen(condition);

    return header && length < TSEED_CONDITION_SIZE && condition[length - 1] != ' ' &&
           condition[strlen(header)] != ' ' && !has_control(condition);
}

const char *tseed_portion_condition(const char *field, apr_pool_t *pool)
{
    const char *condition = tseed_portion_text(field, pool);

    return condition && (!*condition || is_sound(condition)) ? condition : NULL;
}

/* ---- prints ---- */

/* All of an upstream that decides what the upstream answers. A SHA-1 stands for the credentials. A
 * proxy and certificates decide nothing: each host may have its own. */
static const char *upstream_print(const tseed_upstream_t *upstream, apr_pool_t *pool)
{
    char secret[41] = "";

    if (upstream->credentials) {
        tseed_text_sha1(secret, upstream->credentials, strlen(upstream->credentials));
    }
    return apr_pstrcat(
        pool, upstream->headers ? apr_array_pstrcat(pool, upstream->headers, '\n') : "", "\n\n",
        upstream->redirects ? apr_array_pstrcat(pool, upstream->redirects, '\n') : "", "\n\n",
        secret, NULL);
}

/* All of a configuration that decides which tiles are made of an answer, and which answer it is. */
static uint64_t print_of(const tseed_tileset_t *tileset, int address, int gutter, const char *url,
                         apr_pool_t *pool)
{
    const tseed_format_t *format = tileset->format;
    const tseed_source_t *source = &tileset->layer->source;
    const char *text = apr_psprintf(
        pool, "%s\n%s %d %d %d %d\n%d%s %s\n%s\n%s",
        tseed_gridset_print(tileset->subset->gridset, pool), format->mime, format->quality,
        format->level, format->lossless, (int)format->palette, gutter,
        tileset->layer->gutter_beyond ? "" : " cut", tseed_source_missing(source, pool), url,
        upstream_print(source->addresses[address].upstream, pool));

    return tseed_digest(text, strlen(text), 0);
}

/* ---- writing ---- */

static int add_parameter(void *data, const char *key, const char *value)
{
    apr_array_header_t *strings = data;

    APR_ARRAY_PUSH(strings, const char *) =
        apr_pstrcat(strings->pool, tseed_portion_field(key, strings->pool), "=",
                    tseed_portion_field(value, strings->pool), NULL);
    return 1;
}

static const char *parameters_of(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    apr_array_header_t *strings = apr_array_make(pool, 4, sizeof(char *));

    apr_table_do(add_parameter, strings, tileset->parameters, NULL);
    return strings->nelts > 0 ? apr_array_pstrcat(pool, strings, '&') : NOTHING;
}

static const char *range_text(const tseed_range_t *range, apr_pool_t *pool)
{
    return apr_psprintf(
        pool, "%" APR_INT64_T_FMT " %" APR_INT64_T_FMT " %" APR_INT64_T_FMT " %" APR_INT64_T_FMT,
        range->minx, range->miny, range->maxx, range->maxy);
}

static const char *parts_of(const tseed_job_t *leader, apr_pool_t *pool)
{
    apr_array_header_t *strings = apr_array_make(pool, 4, sizeof(char *));

    for (const tseed_job_t *job = leader; job; job = job->savings.joined) {
        APR_ARRAY_PUSH(strings, const char *) =
            apr_psprintf(pool, " %s %" APR_UINT64_T_HEX_FMT,
                         range_text(&job->metatile.wanted, pool), job->accounts.seed);
    }
    return apr_array_pstrcat(pool, strings, 0);
}

/* An upstream may send a validator with a tab, say, which no portion may have. */
static const char *condition_of(const tseed_job_t *leader)
{
    const char *condition = leader->request.transfer.condition;

    return condition && is_sound(condition) ? condition : "";
}

const char *tseed_portion_write(const tseed_job_t *leader, int address, apr_pool_t *pool)
{
    const tseed_run_t *run = leader->run;
    const tseed_tileset_t *tileset = &run->tileset;
    const int gutter = run->task->gutter;
    const double weight = leader->request.transfer.weight;

    return apr_psprintf(
        pool, VERSION " %s %s %s %s %d %" APR_UINT64_T_HEX_FMT " %d %s %.3f %d %s%s",
        tseed_portion_field(tileset->layer->name, pool),
        tseed_portion_field(tileset->subset->gridset->name, pool),
        tseed_portion_field(tileset->format->mime, pool), parameters_of(tileset, pool), address,
        print_of(tileset, address, gutter, leader->request.url, pool), gutter,
        tseed_portion_field(condition_of(leader), pool), weight < WEIGHT_MAX ? weight : WEIGHT_MAX,
        leader->savings.asked.z, range_text(&leader->savings.asked, pool), parts_of(leader, pool));
}

/* ---- reading ---- */

/* Readers of fields return whether the field is sound. */
static int read_int(int *value, const char *field, int64_t lowest, int64_t highest)
{
    int64_t number;

    if (tseed_text_int64(&number, field, lowest, highest) != 0) {
        return 0;
    }
    *value = (int)number;
    return 1;
}

static int read_hex(uint64_t *value, const char *field)
{
    const size_t digits = strspn(field, "0123456789abcdef");

    if (digits == 0 || digits > HEX_DIGITS || field[digits]) {
        return 0;
    }
    *value = strtoull(field, NULL, 16);
    return 1;
}

/* All weights below 0 say the same: nobody knows. */
static int read_weight(double *weight, const char *field)
{
    if (tseed_text_double(weight, field) != 0 || *weight > WEIGHT_MAX) {
        return 0;
    }
    *weight = *weight < 0 ? -1 : *weight;
    return 1;
}

static int read_condition(const char **condition, const char *field, apr_pool_t *pool)
{
    const char *text = tseed_portion_condition(field, pool);

    *condition = text && *text ? text : NULL;
    return text != NULL;
}

/* A range that is not empty and lies within another one. */
static int read_range(tseed_range_t *range, char **fields, const tseed_range_t *whole)
{
    range->z = whole->z;
    return tseed_text_int64(&range->minx, fields[0], whole->minx, whole->maxx) == 0 &&
           tseed_text_int64(&range->miny, fields[1], whole->miny, whole->maxy) == 0 &&
           tseed_text_int64(&range->maxx, fields[2], range->minx, whole->maxx) == 0 &&
           tseed_text_int64(&range->maxy, fields[3], range->miny, whole->maxy) == 0;
}

/* The grid set's levels count: an older task may have levels that the layer has lost since. */
static int read_asked(tseed_portion_t *portion, char **fields)
{
    const tseed_gridset_t *gridset = portion->tileset.subset->gridset;
    tseed_range_t grid = {0};

    if (!read_int(&grid.z, fields[LEVEL], 0, gridset->levels - 1)) {
        return 0;
    }
    grid.maxx = gridset->columns[grid.z] - 1;
    grid.maxy = gridset->rows[grid.z] - 1;
    return read_range(&portion->asked, fields + ASKED, &grid);
}

/* Whether the picture is one that may be asked for. */
static int fits(const tseed_portion_t *portion)
{
    const tseed_gridset_t *gridset = portion->tileset.subset->gridset;
    const tseed_range_t *asked = &portion->asked;
    const double gutters = 2.0 * portion->gutter;
    const double width = (double)(asked->maxx - asked->minx + 1) * gridset->tile_width + gutters;
    const double height = (double)(asked->maxy - asked->miny + 1) * gridset->tile_height + gutters;

    return width <= TSEED_PICTURE_SIDE_MAX && height <= TSEED_PICTURE_SIDE_MAX &&
           width * height <= TSEED_PICTURE_PIXELS_MAX;
}

static int read_request(tseed_portion_t *portion, uint64_t *print, char **fields, apr_pool_t *pool)
{
    return read_int(&portion->address, fields[ADDRESS], 0, INT_MAX) &&
           read_hex(print, fields[PRINT]) &&
           read_int(&portion->gutter, fields[GUTTER], 0, TSEED_GUTTER_MAX) &&
           read_condition(&portion->condition, fields[CONDITION], pool) &&
           read_weight(&portion->weight, fields[WEIGHT]) && read_asked(portion, fields) &&
           fits(portion);
}

/* Metatiles don't overlap: together they want no more tiles than the answer has. */
static int read_parts(tseed_portion_t *portion, char **fields, int count, apr_pool_t *pool)
{
    int64_t left = tseed_range_count(&portion->asked);

    portion->parts = apr_array_make(pool, count, sizeof(tseed_portion_part_t));
    for (int i = 0; i < count; i++, fields += OF_A_PART) {
        tseed_portion_part_t *part = apr_array_push(portion->parts);

        if (!read_range(&part->wanted, fields, &portion->asked) ||
            !read_hex(&part->seed, fields[4])) {
            return 0;
        }
        left -= tseed_range_count(&part->wanted);
    }
    return left >= 0;
}

static int read_parameter(apr_table_t *parameters, char *one, apr_pool_t *pool)
{
    char *sign = strchr(one, '=');
    const char *key, *value;

    if (!sign) {
        return 0;
    }
    *sign = '\0';
    key = tseed_portion_text(one, pool);
    value = tseed_portion_text(sign + 1, pool);
    if (!key || !value) {
        return 0;
    }
    apr_table_addn(parameters, key, value);
    return 1;
}

/* NULL: they can't be read. */
static apr_table_t *read_parameters(char *field, apr_pool_t *pool)
{
    apr_table_t *parameters = apr_table_make(pool, 4);
    char *one;

    if (strcmp(field, NOTHING) == 0) {
        return parameters;
    }
    while ((one = strsep(&field, "&"))) {
        if (!read_parameter(parameters, one, pool)) {
            return NULL;
        }
    }
    return parameters;
}

/* NULL or a sentence. */
static const char *find_tileset(tseed_tileset_t *tileset, char **fields,
                                const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    const tseed_names_t names = {
        .layer = tseed_portion_text(fields[LAYER], pool),
        .gridset = tseed_portion_text(fields[GRIDSET], pool),
        .format = tseed_portion_text(fields[FORMAT], pool),
        .parameters = read_parameters(fields[PARAMETERS], pool),
    };
    const char *problem;

    if (!names.layer || !names.gridset || !names.format || !names.parameters) {
        return UNREADABLE;
    }
    problem = tseed_tileset_find(tileset, catalog, &names, pool);
    return problem ? apr_psprintf(pool, "layer '%s': %s",
                                  tseed_text_quote(names.layer, TSEED_NAME_MAX, pool), problem)
                   : NULL;
}

/* Sets address and size of the request. */
static void aim(tseed_portion_t *portion, apr_pool_t *pool)
{
    tseed_ask_t ask = {
        .tileset = &portion->tileset, .whole = &portion->asked, .gutter = portion->gutter};

    portion->url = tseed_source_url(&ask, portion->address, pool);
    portion->width = ask.width;
    portion->height = ask.height;
}

/* The fields of a line, an empty one where two blanks meet. It stops where a line has too many. */
static char **split(const char *text, int *count, apr_pool_t *pool)
{
    apr_array_header_t *fields = apr_array_make(pool, 32, sizeof(char *));
    char *rest = apr_pstrdup(pool, text);

    while (rest && fields->nelts <= FIELDS_MOST) {
        APR_ARRAY_PUSH(fields, char *) = strsep(&rest, " ");
    }
    *count = fields->nelts;
    return (char **)fields->elts;
}

const tseed_layer_t *tseed_portion_layer(const char *portion, const tseed_catalog_t *catalog,
                                         apr_pool_t *pool)
{
    int count;
    char **fields = split(portion, &count, pool);
    const char *name = count > LAYER ? tseed_portion_text(fields[LAYER], pool) : NULL;

    return name ? tseed_catalog_find_layer(catalog, name) : NULL;
}

const char *tseed_portion_read(tseed_portion_t *portion, const char *text,
                               const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    int count;
    char **fields = split(text, &count, pool);
    const char *problem;
    uint64_t print;

    if (strcmp(fields[VERSION_FIELD], VERSION) != 0) {
        return "it has another version of the module";
    }
    if (count <= PARTS || count > FIELDS_MOST || (count - PARTS) % OF_A_PART != 0) {
        return UNREADABLE;
    }
    problem = find_tileset(&portion->tileset, fields, catalog, pool);
    if (problem) {
        return problem;
    }
    if (!read_request(portion, &print, fields, pool) ||
        !read_parts(portion, fields + PARTS, (count - PARTS) / OF_A_PART, pool)) {
        return UNREADABLE;
    }
    if (portion->address >= portion->tileset.layer->source.count) {
        return apr_psprintf(pool, "the source of layer '%s' has other addresses here",
                            portion->tileset.layer->name);
    }
    aim(portion, pool);
    return print_of(&portion->tileset, portion->address, portion->gutter, portion->url, pool) ==
                   print
               ? NULL
               : apr_psprintf(pool, "layer '%s' is configured otherwise here",
                              portion->tileset.layer->name);
}
