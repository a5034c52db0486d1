/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions as text. */
#include "work/tseed_portion.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_digest.h"
#include "source/tseed_source.h"
#include "work/tseed_run.h"

#define VERSION   "1"
#define NOTHING   "-"
#define FIELDS    15 /* before the parts */
#define OF_A_PART 5

const char *tseed_portion_field(const char *text, apr_pool_t *pool)
{
    return *text ? apr_pescape_urlencoded(pool, text) : NOTHING;
}

const char *tseed_portion_text(const char *field, apr_pool_t *pool)
{
    const char *text =
        strcmp(field, NOTHING) == 0 ? "" : apr_punescape_url(pool, field, NULL, NULL, 1);

    return text ? text : "";
}

/* ---- prints ---- */

/* All of a configuration that decides which tiles are made of an answer, and which answer it is. */
static uint64_t print_of(const tseed_tileset_t *tileset, int gutter, const char *url,
                         apr_pool_t *pool)
{
    const tseed_format_t *format = tileset->format;
    const char *text = apr_psprintf(
        pool, "%s\n%s %d %d %d %d\n%d%s%s\n%s", tseed_gridset_print(tileset->subset->gridset, pool),
        format->mime, format->quality, format->level, format->lossless, (int)format->palette,
        gutter, tileset->layer->gutter_beyond ? "" : " cut",
        tileset->layer->source.missing_is_empty ? " empty" : "", url);

    return tseed_digest(text, strlen(text), 0);
}

/* ---- writing ---- */

static int add_parameter(void *data, const char *key, const char *value)
{
    apr_array_header_t *strings = data;

    APR_ARRAY_PUSH(strings, const char *) =
        apr_pstrcat(strings->pool, apr_pescape_urlencoded(strings->pool, key), "=",
                    apr_pescape_urlencoded(strings->pool, value), NULL);
    return 1;
}

static const char *parameters_of(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    apr_array_header_t *strings = apr_array_make(pool, 4, sizeof(char *));

    apr_table_do(add_parameter, strings, tileset->parameters, NULL);
    return apr_array_pstrcat(pool, strings, '&');
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

    for (const tseed_job_t *job = leader; job; job = job->joined) {
        APR_ARRAY_PUSH(strings, const char *) = apr_psprintf(
            pool, " %s %" APR_UINT64_T_HEX_FMT, range_text(&job->metatile.wanted, pool), job->seed);
    }
    return apr_array_pstrcat(pool, strings, 0);
}

const char *tseed_portion_write(const tseed_job_t *leader, int address, apr_pool_t *pool)
{
    const tseed_run_t *run = leader->run;
    const tseed_tileset_t *tileset = &run->tileset;
    const int gutter = run->task->gutter;
    const char *condition = leader->transfer.condition;
    const char *parameters = parameters_of(tileset, pool);

    return apr_psprintf(
        pool, VERSION " %s %s %s %s %d %" APR_UINT64_T_HEX_FMT " %d %s %.3f %d %s%s",
        tseed_portion_field(tileset->layer->name, pool),
        tseed_portion_field(tileset->subset->gridset->name, pool),
        tseed_portion_field(tileset->format->mime, pool), *parameters ? parameters : NOTHING,
        address, print_of(tileset, gutter, leader->url, pool), gutter,
        tseed_portion_field(condition ? condition : "", pool), leader->transfer.weight,
        leader->asked.z, range_text(&leader->asked, pool), parts_of(leader, pool));
}

/* ---- reading ---- */

static apr_table_t *read_parameters(char *text, apr_pool_t *pool)
{
    apr_table_t *parameters = apr_table_make(pool, 4);
    char *last = NULL;

    if (strcmp(text, NOTHING) == 0) {
        return parameters;
    }
    for (char *one = apr_strtok(text, "&", &last); one; one = apr_strtok(NULL, "&", &last)) {
        char *value = strchr(one, '=');

        if (value) {
            *value++ = '\0';
            apr_table_setn(parameters, tseed_portion_text(one, pool),
                           tseed_portion_text(value, pool));
        }
    }
    return parameters;
}

static tseed_range_t range_of(int z, char **fields)
{
    return (tseed_range_t){.z = z,
                           .minx = apr_atoi64(fields[0]),
                           .miny = apr_atoi64(fields[1]),
                           .maxx = apr_atoi64(fields[2]),
                           .maxy = apr_atoi64(fields[3])};
}

static const char *find_tileset(tseed_tileset_t *tileset, char **fields,
                                const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    const tseed_names_t names = {
        .layer = tseed_portion_text(fields[1], pool),
        .gridset = tseed_portion_text(fields[2], pool),
        .format = tseed_portion_text(fields[3], pool),
        .parameters = read_parameters(fields[4], pool),
    };

    return tseed_tileset_find(tileset, catalog, &names, pool);
}

static void read_parts(tseed_portion_t *portion, char **fields, int count, apr_pool_t *pool)
{
    portion->parts = apr_array_make(pool, count, sizeof(tseed_portion_part_t));
    for (int i = 0; i < count; i++, fields += OF_A_PART) {
        *(tseed_portion_part_t *)apr_array_push(portion->parts) = (tseed_portion_part_t){
            range_of(portion->asked.z, fields), strtoull(fields[4], NULL, 16)};
    }
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

static char **split(const char *text, int *count, apr_pool_t *pool)
{
    apr_array_header_t *fields = apr_array_make(pool, 32, sizeof(char *));
    char *last = NULL;

    for (char *field = apr_strtok(apr_pstrdup(pool, text), " ", &last); field;
         field = apr_strtok(NULL, " ", &last)) {
        APR_ARRAY_PUSH(fields, char *) = field;
    }
    *count = fields->nelts;
    return (char **)fields->elts;
}

const char *tseed_portion_read(tseed_portion_t *portion, const char *text,
                               const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    int count;
    char **fields = split(text, &count, pool);
    const char *problem, *condition;

    if (count <= FIELDS || (count - FIELDS) % OF_A_PART != 0 || strcmp(fields[0], VERSION) != 0) {
        return "it has another version of the module";
    }
    problem = find_tileset(&portion->tileset, fields, catalog, pool);
    if (problem) {
        return apr_psprintf(pool, "layer '%s': %s", tseed_portion_text(fields[1], pool), problem);
    }
    portion->address = atoi(fields[5]);
    if (portion->address < 0 || portion->address >= portion->tileset.layer->source.count) {
        return apr_psprintf(pool, "the source of layer '%s' has other addresses here",
                            portion->tileset.layer->name);
    }
    portion->gutter = atoi(fields[7]);
    condition = tseed_portion_text(fields[8], pool);
    portion->condition = *condition ? condition : NULL;
    portion->weight = strtod(fields[9], NULL);
    portion->asked = range_of(atoi(fields[10]), fields + 11);
    read_parts(portion, fields + FIELDS, (count - FIELDS) / OF_A_PART, pool);
    aim(portion, pool);
    return print_of(&portion->tileset, portion->gutter, portion->url, pool) ==
                   strtoull(fields[6], NULL, 16)
               ? NULL
               : apr_psprintf(pool, "layer '%s' is configured otherwise here",
                              portion->tileset.layer->name);
}
