/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seed request, as XML and as a query. */
#include "ctl/tseed_ctl_request.h"

#include <apr_strings.h>
#include <math.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_http.h"
#include "protocol/tseed_escape.h"

/* Radius of the sphere that web mercator takes the earth for, in metres (EPSG:3857). */
#define MERCATOR_RADIUS 6378137.0
#define DEGREES         (180 / 3.14159265358979323846)

/* Where web mercator's square ends. */
#define LATITUDE_MAX 85.05112877980659

static const char *type_of(const tseed_ctl_options_t *options)
{
    if (options->verb == TSEED_VERB_ESTIMATE) {
        return options->type ? options->type : "seed";
    }
    return tseed_ctl_verbs[options->verb].name;
}

/* ---- XML ---- */

static const char *element(const char *name, const char *text, apr_pool_t *pool)
{
    return text ? apr_pstrcat(pool, "<", name, ">", tseed_escape_xml(text, pool), "</", name, ">",
                              NULL)
                : "";
}

static const char *decimal(int is_given, int number, apr_pool_t *pool)
{
    return is_given ? apr_psprintf(pool, "%d", number) : NULL;
}

static const char *bounds_xml(const tseed_bounds_t *box, apr_pool_t *pool)
{
    const double numbers[] = {box->minx, box->miny, box->maxx, box->maxy};
    const char *xml = "<bounds><coords>";

    for (int i = 0; i < 4; i++) {
        xml = apr_pstrcat(pool, xml, element("double", tseed_text_number(numbers[i], pool), pool),
                          NULL);
    }
    return apr_pstrcat(pool, xml, "</coords></bounds>", NULL);
}

static const char *parameters_xml(const apr_table_t *parameters, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(parameters);
    const char *xml = "<parameters>";

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        xml = apr_pstrcat(pool, xml, "<entry>", element("string", entry->key, pool),
                          element("string", entry->val, pool), "</entry>", NULL);
    }
    return entries->nelts ? apr_pstrcat(pool, xml, "</parameters>", NULL) : "";
}

/* GeoWebCache wants a name, a type and a number of threads. */
const char *tseed_ctl_seed_xml(const tseed_ctl_options_t *options, apr_pool_t *pool)
{
    const tseed_ctl_zoom_t *zoom = &options->zoom;

    return apr_pstrcat(pool, "<seedRequest>", element("name", tseed_ctl_argument(options, 0), pool),
                       element("gridSetId", options->gridset, pool),
                       options->bounds.is_given ? bounds_xml(&options->bounds.box, pool) : "",
                       element("zoomStart", decimal(zoom->is_given, zoom->start, pool), pool),
                       element("zoomStop", decimal(zoom->is_given, zoom->stop, pool), pool),
                       element("format", options->format, pool),
                       element("type", type_of(options), pool),
                       element("threadCount", options->threads ? options->threads : "1", pool),
                       parameters_xml(options->parameters, pool),
                       element("totalFailuresBeforeAborting", options->max_failures, pool),
                       "</seedRequest>", NULL);
}

/* ---- the query ---- */

static const char *field(const char *name, const char *value, apr_pool_t *pool)
{
    return value ? apr_pstrcat(pool, "&", name, "=", tseed_ctl_segment(value, pool), NULL) : "";
}

static const char *bounds_field(const tseed_ctl_box_t *bounds, apr_pool_t *pool)
{
    const tseed_bounds_t *box = &bounds->box;

    return bounds->is_given ? apr_pstrcat(pool, "&bbox=", tseed_text_number(box->minx, pool), ",",
                                          tseed_text_number(box->miny, pool), ",",
                                          tseed_text_number(box->maxx, pool), ",",
                                          tseed_text_number(box->maxy, pool), NULL)
                            : "";
}

const char *tseed_ctl_seed_query(const tseed_ctl_options_t *options, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(options->parameters);
    const tseed_ctl_zoom_t *zoom = &options->zoom;
    const char *query = apr_pstrcat(
        pool, "type=", type_of(options), field("gridSetId", options->gridset, pool),
        field("format", options->format, pool),
        field("zoomStart", decimal(zoom->is_given, zoom->start, pool), pool),
        field("zoomStop", decimal(zoom->is_given, zoom->stop, pool), pool),
        field("threadCount", options->threads, pool), bounds_field(&options->bounds, pool), NULL);

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);
        const char *name =
            apr_pstrcat(pool, "parameter_", tseed_ctl_segment(entry->key, pool), NULL);

        query = apr_pstrcat(pool, query, field(name, entry->val, pool), NULL);
    }
    return query;
}

/* ---- degrees ---- */

/* Northing of a latitude, and back (EPSG guidance note 7-2, 1.3.3.2: popular visualisation). */
static double north_of(double latitude)
{
    latitude = fmax(-LATITUDE_MAX, fmin(LATITUDE_MAX, latitude));
    return MERCATOR_RADIUS * atanh(sin(latitude / DEGREES));
}

static double latitude_of(double north)
{
    return asin(tanh(north / MERCATOR_RADIUS)) * DEGREES;
}

const char *tseed_ctl_project(tseed_bounds_t *box, int64_t srs, const tseed_bounds_t *degrees,
                              apr_pool_t *pool)
{
    if (srs == 4326) {
        *box = *degrees;
        return NULL;
    }
    if (!tseed_srs_same(srs, 3857)) {
        return apr_psprintf(
            pool,
            "--lonlat is for EPSG:4326 and EPSG:3857; the grid set has EPSG:%" APR_INT64_T_FMT
            ", give its own units with -b",
            srs);
    }
    *box = (tseed_bounds_t){MERCATOR_RADIUS * degrees->minx / DEGREES, north_of(degrees->miny),
                            MERCATOR_RADIUS * degrees->maxx / DEGREES, north_of(degrees->maxy)};
    return NULL;
}

int tseed_ctl_unproject(tseed_bounds_t *degrees, int64_t srs, const tseed_bounds_t *box)
{
    if (srs == 4326) {
        *degrees = *box;
        return 0;
    }
    *degrees = (tseed_bounds_t){box->minx / MERCATOR_RADIUS * DEGREES, latitude_of(box->miny),
                                box->maxx / MERCATOR_RADIUS * DEGREES, latitude_of(box->maxy)};
    return tseed_srs_same(srs, 3857) ? 0 : -1;
}
