/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The values that a request for a tile chooses: style, and whatever else its layer has. */
#include "mod_tileseed_values.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_members.h"

#define QUOTE_MAX 200
#define SHORTEST  3 /* letters of a name that may be misspelt; v, t, _ are against caches */

static const char *style_of(const tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const tseed_piece_t style = wanted->address.style;

    return style.length ? apr_pstrmemdup(pool, style.text, style.length) : "";
}

/* WMTS has a style in its own parameter or segment. */
static const char *submitted(const tseed_wanted_t *wanted, const tseed_filter_t *filter,
                             apr_pool_t *pool)
{
    const int is_wmts = wanted->service == TSEED_SERVICE_WMTS;
    const char *text = is_wmts && strcmp(filter->name, "STYLES") == 0
                           ? style_of(wanted, pool)
                           : apr_table_get(wanted->query, filter->name);

    return text && is_wmts && tseed_filter_means_default(filter, text) ? "" : text;
}

/* The parameters that the layer knows; of a query's the first of each counts. */
static const apr_table_t *take_parameters(const tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const apr_array_header_t *filters = wanted->chart->layer->filters;
    apr_table_t *known = apr_table_make(pool, filters->nelts);

    for (int i = 0; i < filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(filters, i, tseed_filter_t);
        const char *value = submitted(wanted, filter, pool);

        if (value) {
            apr_table_setn(known, filter->name, value);
        }
    }
    return known;
}

/* Refuses a parameter whose value the layer does not take, in the words of the service. */
static void refuse_parameter(tseed_wanted_t *wanted, const char *name, const char *problem)
{
    const int is_style = strcmp(name, "STYLES") == 0;

    if (wanted->service == TSEED_SERVICE_WMS) {
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST,
                            is_style ? "StyleNotDefined" : "InvalidDimensionValue", name, problem);
    } else {
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue",
                            is_style ? "STYLE" : name, problem);
    }
}

static int refuse_unknown_value(tseed_wanted_t *wanted, const apr_table_t *values, apr_pool_t *pool)
{
    const apr_array_header_t *filters = wanted->chart->layer->filters;

    for (int i = 0; i < filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(filters, i, tseed_filter_t);
        const char *unused,
            *problem =
                tseed_filter_accept(&unused, filter, apr_table_get(values, filter->name), pool);

        if (problem) {
            refuse_parameter(wanted, filter->name, problem);
            return 1;
        }
    }
    return 0;
}

/* The style that is asked for: WMTS has it in its own parameter or segment. NULL: none is. */
static const char *style_asked(const tseed_wanted_t *wanted, apr_pool_t *pool)
{
    return wanted->service == TSEED_SERVICE_WMTS ? style_of(wanted, pool)
                                                 : apr_table_get(wanted->query, "STYLES");
}

static int is_default(const char *style)
{
    return !style || !*style || strcmp(style, TSEED_DEFAULT_NAME) == 0;
}

static int is_other(const tseed_wanted_t *wanted, const char *style, apr_pool_t *pool)
{
    const char *asked = style_asked(wanted, pool);

    return !asked || strcmp(asked, style) != 0;
}

/* Finds a style in the query, under the name of either service, that is not the style asked for.
 * *name is the name. NULL: there is none. */
static const char *style_beside(const tseed_wanted_t *wanted, const char **name, apr_pool_t *pool)
{
    static const char *const names[] = {"STYLE", "STYLES"};

    for (int i = 0; i < 2; i++) {
        const char *style = apr_table_get(wanted->query, names[i]);

        if (!is_default(style) && is_other(wanted, style, pool)) {
            *name = names[i];
            return style;
        }
    }
    return NULL;
}

int tseed_values_check_style(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const char *name, *style = style_asked(wanted, pool);

    if (is_default(style)) {
        style = style_beside(wanted, &name, pool);
    }
    if (is_default(style) || tseed_layer_find_filter(wanted->chart->layer, "STYLES")) {
        return 1;
    }
    refuse_parameter(wanted, "STYLES",
                     apr_psprintf(pool, "the layer has no style '%s', it has '%s' alone",
                                  tseed_text_quote(style, QUOTE_MAX, pool), TSEED_DEFAULT_NAME));
    return 0;
}

static void refuse_name(tseed_wanted_t *wanted, const char *name, const char *meant,
                        apr_pool_t *pool)
{
    name = tseed_text_quote(name, QUOTE_MAX, pool);
    tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", name,
                        apr_psprintf(pool, "Unknown parameter: '%s'. Is %s meant?", name, meant));
}

/* Refuses a style under the other service's name: it would be ignored, and another style served. */
static int refuse_misplaced(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const char *name, *right = wanted->service == TSEED_SERVICE_WMTS ? "STYLE" : "STYLES";

    if (!style_beside(wanted, &name, pool)) {
        return 0;
    }
    if (strcmp(name, right) == 0) {
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", name,
                            "the path names another style");
    } else {
        refuse_name(wanted, name, right, pool);
    }
    return 1;
}

/* Names that the services have themselves, which may be near those of a layer's parameters. */
static int is_services_own(const tseed_wanted_t *wanted, const char *name)
{
    static const char *const names[] = {
        "SERVICE", "REQUEST",    "VERSION", "LAYER",   "LAYERS",      "STYLE",   "STYLES",
        "FORMAT",  "TILEMATRIX", "TILEROW", "TILECOL", "TRANSPARENT", "BGCOLOR", "TILEMATRIXSET",
        "BBOX",    "WIDTH",      "HEIGHT",  "SRS",     "CRS",         "TILED",   "TILESORIGIN"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (apr_cstr_casecmp(name, names[i]) == 0) {
            return wanted->service != TSEED_SERVICE_PLAIN;
        }
    }
    return 0;
}

/* A query may hold anything (keys, times against caches), but no parameter of the layer that is
 * misspelt: its default would be served. */
static int refuse_misspelt(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const apr_array_header_t *filters = wanted->chart->layer->filters;
    const apr_array_header_t *query = apr_table_elts(wanted->query);
    const char **known = apr_pcalloc(pool, ((size_t)filters->nelts + 1) * sizeof(*known));

    for (int i = 0; i < filters->nelts; i++) {
        known[i] = APR_ARRAY_IDX(filters, i, tseed_filter_t).name;
    }
    for (int i = 0; i < query->nelts; i++) {
        const char *name = APR_ARRAY_IDX(query, i, apr_table_entry_t).key;
        const char *meant = strlen(name) < SHORTEST || is_services_own(wanted, name) ||
                                    tseed_layer_find_filter(wanted->chart->layer, name)
                                ? NULL
                                : tseed_name_meant(name, known);

        if (meant) {
            refuse_name(wanted, name, meant, pool);
            return 1;
        }
    }
    return 0;
}

int tseed_values_choose(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const apr_table_t *values;
    const char *problem;

    if (!tseed_values_check_style(wanted, pool) || refuse_misplaced(wanted, pool)) {
        return 0;
    }
    if (wanted->chart->layer->filters->nelts == 0 ||
        (wanted->address.style.length == 0 && apr_is_empty_table(wanted->query))) {
        return 1;
    }
    if (refuse_misspelt(wanted, pool)) {
        return 0;
    }
    values = take_parameters(wanted, pool);
    if (refuse_unknown_value(wanted, values, pool)) {
        return 0;
    }
    problem = tseed_served_choose(&wanted->served, wanted->served, values, pool);
    if (problem) {
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", NULL, problem);
    }
    return !problem;
}
