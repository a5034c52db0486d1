/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* From an address and a query to a tile and its file. Nothing here looks at the file system. */
#include "mod_tileseed_wanted.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <httpd.h>
#include <http_config.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_members.h"
#include "protocol/tseed_service.h"

/* ---- refusals ---- */

#define QUOTE_MAX 200 /* of what the client sent, in a message */

/* Sets what is wanted to nothing, and the reason. The OGC services answer 400 or 501 with code and
 * locator. The others answer `status`. */
static void refuse(tseed_wanted_t *wanted, int status, const char *code, const char *locator,
                   const char *problem)
{
    wanted->kind = TSEED_WANTED_NOTHING;
    wanted->status = wanted->service == TSEED_SERVICE_PLAIN || status == HTTP_NOT_IMPLEMENTED
                         ? status
                         : HTTP_BAD_REQUEST;
    wanted->detail = (tseed_query_problem_t){code, locator};
    wanted->problem = problem;
}

/* Refuses a tile that the layer does not have: says which of its numbers is out of range (OGC
 * 07-057r7 table 30). `wanted` has its chart and its tile. */
static void refuse_place(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const tseed_chart_t *chart = wanted->chart;
    const tseed_tile_t *tile = &wanted->tile;
    const char *locator;

    if (tile->z < chart->subset->zoom_first || tile->z > chart->subset->zoom_last) {
        refuse(wanted, HTTP_NOT_FOUND, "InvalidParameterValue",
               wanted->service == TSEED_SERVICE_WMS ? "BBOX" : "TILEMATRIX",
               apr_psprintf(pool, "the layer has no such level, it has %d to %d",
                            chart->subset->zoom_first, chart->subset->zoom_last));
        return;
    }
    locator = tile->x < chart->ranges[tile->z].minx || tile->x > chart->ranges[tile->z].maxx
                  ? "TILECOL"
                  : "TILEROW";
    refuse(wanted, HTTP_NOT_FOUND, "TileOutOfRange",
           wanted->service == TSEED_SERVICE_WMS ? "BBOX" : locator, "the layer has no tile there");
}

/* Refuses a request whose REQUEST is missing or names neither capabilities nor `expected`. */
static void refuse_request(tseed_wanted_t *wanted, const char *expected, apr_pool_t *pool)
{
    const char *request = apr_table_get(wanted->query, "REQUEST");

    refuse(wanted, HTTP_BAD_REQUEST, request ? "InvalidParameterValue" : "MissingParameterValue",
           "REQUEST",
           apr_psprintf(pool, "REQUEST '%s' is not possible, GetCapabilities or %s is expected",
                        tseed_text_quote(request ? request : "", QUOTE_MAX, pool), expected));
}

/* ---- the values that a request chooses ---- */

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
        refuse(wanted, HTTP_BAD_REQUEST, is_style ? "StyleNotDefined" : "InvalidDimensionValue",
               name, problem);
    } else {
        refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", is_style ? "STYLE" : name,
               problem);
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

/* Whether the layer has the style that a request names in the words of its service. A layer without
 * a choice of styles has only the default style. 0: the request is refused. `wanted` has its chart.
 */
static int check_style(tseed_wanted_t *wanted, apr_pool_t *pool)
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
    refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", name,
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
        refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", name,
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

/* The same for all values; finds the tile set that has them. `wanted` has one of its format. */
static int choose_values(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const apr_table_t *values;
    const char *problem;

    if (!check_style(wanted, pool) || refuse_misplaced(wanted, pool)) {
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
        refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", NULL, problem);
    }
    return !problem;
}

#define QUOTE_MAX    200
#define WMTS_VERSION "1.0.0"
#define ON_MISS      "onmiss"

static const char *copy(tseed_piece_t piece, apr_pool_t *pool)
{
    return apr_pstrmemdup(pool, piece.length ? piece.text : "", piece.length);
}

static const char *quote(tseed_piece_t piece, apr_pool_t *pool)
{
    return tseed_text_quote(copy(piece, pool), QUOTE_MAX, pool);
}

/* ---- tiles ---- */

static void find_file(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const tseed_tile_t *tile = &wanted->tile;

    if (!tseed_chart_has(wanted->chart, tile->z, tile->x, tile->y)) {
        refuse_place(wanted, pool);
    } else if (choose_values(wanted, pool)) {
        wanted->kind = TSEED_WANTED_TILE;
        wanted->path = tseed_served_path(wanted->served, tile, pool);
    }
}

/* By the extension in the address, else by FORMAT. */
static void find_served(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const tseed_piece_t extension = wanted->address.format;
    const char *mime = apr_table_get(wanted->query, "FORMAT");

    if (extension.length > 0) {
        wanted->served = tseed_chart_find(wanted->chart, extension.text, extension.length);
    } else if (mime) {
        wanted->served = tseed_chart_find_mime(wanted->chart, mime);
    } else if (wanted->address.kind == TSEED_ADDRESS_TMS_MAP) {
        wanted->served = &wanted->chart->served[0];
    }
    if (!wanted->served) {
        refuse(
            wanted, HTTP_NOT_FOUND,
            extension.length || mime ? "InvalidParameterValue" : "MissingParameterValue", "FORMAT",
            apr_psprintf(pool, "the layer has no tiles of the format '%s'",
                         extension.length ? quote(extension, pool)
                                          : tseed_text_quote(mime ? mime : "", QUOTE_MAX, pool)));
    }
}

static int is_layer(tseed_piece_t name, const tseed_dir_conf_t *dir, request_rec *r)
{
    const tseed_chart_t *chart =
        tseed_atlas_find(tseed_conf_get(r->server)->atlas, name.text, name.length, "", 0);

    return chart && tseed_dir_conf_sees(dir, chart->layer->name);
}

/* WMS names no grid set of a layer that is unknown. */
static const char *no_chart(const tseed_tile_address_t *address, int is_known, apr_pool_t *pool)
{
    const char *layer = quote(address->layer, pool);

    return is_known || address->gridset.length
               ? apr_psprintf(pool, "there is no layer '%s' with the grid set '%s'", layer,
                              quote(address->gridset, pool))
               : apr_psprintf(pool, "there is no layer '%s'", layer);
}

static void find_chart(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    const tseed_tile_address_t *address = &wanted->address;
    const tseed_chart_t *chart =
        tseed_atlas_find(tseed_conf_get(r->server)->atlas, address->layer.text,
                         address->layer.length, address->gridset.text, address->gridset.length);
    int is_known;

    if (chart && tseed_dir_conf_sees(dir, chart->layer->name)) {
        wanted->chart = chart;
        return;
    }
    is_known = is_layer(address->layer, dir, r);
    refuse(wanted, HTTP_NOT_FOUND, "InvalidParameterValue", is_known ? "TILEMATRIXSET" : "LAYER",
           no_chart(address, is_known, r->pool));
}

static void find_tile(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    const tseed_tile_address_t *address = &wanted->address;
    const tseed_gridset_t *gridset;
    int64_t y = address->y;

    find_chart(wanted, dir, r);
    if (wanted->chart) {
        find_served(wanted, r->pool);
    }
    if (!wanted->served) {
        return;
    }
    gridset = wanted->chart->subset->gridset;
    if (address->from_top && address->z < gridset->levels) {
        y = gridset->rows[address->z] - 1 - y;
    }
    /* a level that can't be is none of the chart's either way */
    wanted->tile =
        (tseed_tile_t){address->z < TSEED_LEVELS_MAX ? (int)address->z : -1, address->x, y};
    find_file(wanted, r->pool);
}

/* ---- WMS ---- */

/* BBOX of GetMap; version 1.3.0 has the axes in the reference system's own order. */
static int read_bbox(tseed_bounds_t *bounds, const tseed_wanted_t *wanted, int is_turned,
                     apr_pool_t *pool)
{
    const char *text = apr_table_get(wanted->query, "BBOX");
    double n[4];

    if (!text || tseed_text_doubles(n, 4, text, ",", pool) != 0) {
        return 0;
    }
    *bounds = is_turned ? (tseed_bounds_t){n[1], n[0], n[3], n[2]}
                        : (tseed_bounds_t){n[0], n[1], n[2], n[3]};
    return bounds->minx < bounds->maxx && bounds->miny < bounds->maxy;
}

static int is_number(const tseed_wanted_t *wanted, const char *key, int expected)
{
    const char *text = apr_table_get(wanted->query, key);
    int64_t value;

    return text && tseed_text_int64(&value, text, 1, INT32_MAX) == 0 && value == expected;
}

/* "EPSG:4326" or "CRS:84" and its other names, which is 4326 with longitude first. */
static int is_system(const char *srs, const tseed_gridset_t *gridset, int *is_crs84)
{
    int64_t code;

    *is_crs84 = tseed_srs_is_crs84(srs);
    if (*is_crs84) {
        return gridset->srs == 4326;
    }
    return apr_cstr_casecmpn(srs, "EPSG:", 5) == 0 &&
           tseed_text_int64(&code, srs + 5, 1, INT32_MAX) == 0 &&
           tseed_srs_same(code, gridset->srs);
}

/* Whether the picture that is asked for is a tile of this chart. */
static int is_tile_of(tseed_wanted_t *wanted, const tseed_chart_t *chart, const char *srs,
                      int is_130, apr_pool_t *pool)
{
    const tseed_gridset_t *gridset = chart->subset->gridset;
    tseed_bounds_t bounds;
    int is_crs84;

    return is_system(srs, gridset, &is_crs84) && is_number(wanted, "WIDTH", gridset->tile_width) &&
           is_number(wanted, "HEIGHT", gridset->tile_height) &&
           read_bbox(&bounds, wanted, is_130 && gridset->north_east && !is_crs84, pool) &&
           tseed_tile_of_bounds(&wanted->tile, gridset, &bounds);
}

/* The chart of the layer in whose grid set the picture is a tile. Sets `*is_known` when the layer
 * has the reference system. */
static const tseed_chart_t *find_map_chart(tseed_wanted_t *wanted, int *is_known, const char *srs,
                                           int is_130, request_rec *r)
{
    const tseed_layer_t *layer = wanted->chart->layer;
    int unused;

    *is_known = 0;
    for (int i = 0; srs && i < layer->subsets->nelts; i++) {
        const tseed_gridset_t *gridset = APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t).gridset;
        const tseed_chart_t *chart =
            tseed_atlas_find(tseed_conf_get(r->server)->atlas, layer->name, strlen(layer->name),
                             gridset->name, strlen(gridset->name));

        *is_known |= is_system(srs, gridset, &unused);
        if (is_tile_of(wanted, chart, srs, is_130, r->pool)) {
            return chart;
        }
    }
    return NULL;
}

/* Layer and format, which all charts of a layer have; the chart is the layer's first. */
static int find_map_layer(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    const char *layer = apr_table_get(wanted->query, "LAYERS");

    wanted->address.layer = (tseed_piece_t){layer ? layer : "", layer ? strlen(layer) : 0};
    find_chart(wanted, dir, r);
    if (!wanted->chart) {
        wanted->detail = (tseed_query_problem_t){"LayerNotDefined", "LAYERS"};
        return 0;
    }
    find_served(wanted, r->pool);
    if (!wanted->served) {
        wanted->detail = (tseed_query_problem_t){"InvalidFormat", "FORMAT"};
        return 0;
    }
    return check_style(wanted, r->pool);
}

static void find_map(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    const char *version = apr_table_get(wanted->query, "VERSION");
    const int is_130 = version && strcmp(version, "1.3.0") == 0;
    const char *key = is_130 ? "CRS" : "SRS";
    const char *srs = apr_table_get(wanted->query, key);
    const tseed_chart_t *chart;
    int is_known;

    if (!find_map_layer(wanted, dir, r)) {
        return;
    }
    chart = find_map_chart(wanted, &is_known, srs, is_130, r);
    if (chart) {
        wanted->chart = chart;
        find_served(wanted, r->pool);
        find_file(wanted, r->pool);
    } else if (srs && !is_known) {
        refuse(wanted, HTTP_BAD_REQUEST, is_130 ? "InvalidCRS" : "InvalidSRS", key,
               apr_psprintf(r->pool,
                            "the layer has no tiles in %s '%s', GetCapabilities names its systems",
                            key, tseed_text_quote(srs, QUOTE_MAX, r->pool)));
    } else {
        refuse(wanted, HTTP_BAD_REQUEST, NULL, NULL,
               "only whole tiles can be had here: SRS (CRS), BBOX, WIDTH and HEIGHT must be those "
               "of a tile of one of the layer's grid sets, which GetCapabilities names");
    }
}

/* ---- addresses ---- */

static int request_is(const tseed_wanted_t *wanted, const char *name)
{
    const char *request = apr_table_get(wanted->query, "REQUEST");

    return request && apr_cstr_casecmp(request, name) == 0;
}

static int count_one(void *count, const char *key, const char *value)
{
    (void)key;
    (void)value;
    ++*(int *)count;
    return 1;
}

/* QGIS adds "SERVICE=WMS&REQUEST=GetCapabilities" to every address of a document that does not say
 * SERVICE=WMTS, and reads what it gets. */
static int is_added_by_qgis(const tseed_wanted_t *wanted, const char *service)
{
    int count = 0;

    apr_table_do(count_one, &count, wanted->query, "REQUEST", NULL);
    return count > 1 && strcmp(service, "WMS") == 0 && request_is(wanted, "GetCapabilities");
}

/* Which service is meant the address says already, so SERVICE may be missing; wrong it may not be.
 */
static int check_service(tseed_wanted_t *wanted, const char *expected, apr_pool_t *pool)
{
    const char *service = apr_table_get(wanted->query, "SERVICE");

    if (!service || apr_cstr_casecmp(service, expected) == 0 || is_added_by_qgis(wanted, service)) {
        return 1;
    }
    refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", "SERVICE",
           apr_psprintf(pool, "SERVICE '%s' is not here, %s is expected",
                        tseed_text_quote(service, QUOTE_MAX, pool), expected));
    return 0;
}

/* Whether a list of versions has ours (OGC 06-121r3 7.3.2). Without a list any will do. */
static int accepts_version(const tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const char *accepted = apr_table_get(wanted->query, "ACCEPTVERSIONS");
    char *state, *version;

    if (!accepted || !*accepted) {
        return 1;
    }
    version = apr_strtok(apr_pstrdup(pool, accepted), ",", &state);
    while (version && strcmp(version, WMTS_VERSION) != 0) {
        version = apr_strtok(NULL, ",", &state);
    }
    return version != NULL;
}

static void find_wmts_capabilities(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    if (accepts_version(wanted, pool)) {
        wanted->kind = TSEED_WANTED_WMTS_CAPABILITIES;
    } else {
        refuse(wanted, HTTP_BAD_REQUEST, "VersionNegotiationFailed", NULL,
               "none of AcceptVersions is possible, " WMTS_VERSION " is");
    }
}

static void find_wmts_tile(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    const char *version = apr_table_get(wanted->query, "VERSION");
    const tseed_query_problem_t problem = tseed_tile_address_query(&wanted->address, wanted->query);
    const int is_missing = problem.code && strcmp(problem.code, "MissingParameterValue") == 0;

    if (version && strcmp(version, WMTS_VERSION) != 0) {
        refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", "VERSION",
               "this version is not possible, " WMTS_VERSION " is");
        return;
    }
    if (problem.code && !is_missing) {
        find_chart(wanted, dir, r); /* level, row and column are those of a grid set */
    }
    if (!problem.code) {
        find_tile(wanted, dir, r);
    } else if (is_missing || wanted->chart) {
        refuse(wanted, HTTP_BAD_REQUEST, problem.code, problem.locator,
               apr_psprintf(r->pool, "the parameter %s is missing or no value of it",
                            problem.locator));
    }
}

static void find_wmts(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    if (!check_service(wanted, "WMTS", r->pool)) {
        return;
    }
    if (request_is(wanted, "GetTile")) {
        find_wmts_tile(wanted, dir, r);
    } else if (request_is(wanted, "GetCapabilities")) {
        find_wmts_capabilities(wanted, r->pool);
    } else if (request_is(wanted, "GetFeatureInfo")) {
        refuse(wanted, HTTP_NOT_IMPLEMENTED, "OperationNotSupported", "GetFeatureInfo",
               "there are tiles alone here, GetCapabilities or GetTile is expected");
    } else {
        refuse_request(wanted, "GetTile", r->pool);
    }
}

static void find_wms(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    if (!check_service(wanted, "WMS", r->pool)) {
        return;
    }
    if (request_is(wanted, "GetCapabilities")) {
        wanted->kind = TSEED_WANTED_WMS_CAPABILITIES;
    } else if (request_is(wanted, "GetMap")) {
        find_map(wanted, dir, r);
    } else {
        refuse_request(wanted, "GetMap", r->pool);
        wanted->detail.code = "OperationNotSupported";
    }
}

static void find_tile_map(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    find_chart(wanted, dir, r);
    if (wanted->chart) {
        find_served(wanted, r->pool);
    }
    if (!wanted->served) {
        return;
    }
    if (!tseed_tms_has(wanted->chart->subset)) {
        refuse(wanted, HTTP_NOT_FOUND, NULL, NULL,
               apr_psprintf(r->pool,
                            "the grid set '%s' begins in the top-left corner, and its levels end "
                            "in different places, where a tile map has one origin: WMTS has this "
                            "layer",
                            wanted->chart->subset->gridset->name));
        return;
    }
    wanted->kind = TSEED_WANTED_TMS_MAP;
}

static void find_wanted(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    switch (wanted->address.kind) {
    case TSEED_ADDRESS_TILE:
        find_tile(wanted, dir, r);
        break;
    case TSEED_ADDRESS_WMTS_TILE:
        wanted->service = TSEED_SERVICE_WMTS;
        find_tile(wanted, dir, r);
        break;
    case TSEED_ADDRESS_WMTS:
        wanted->service = TSEED_SERVICE_WMTS;
        find_wmts(wanted, dir, r);
        break;
    case TSEED_ADDRESS_WMTS_CAPABILITIES:
        wanted->kind = TSEED_WANTED_WMTS_CAPABILITIES;
        break;
    case TSEED_ADDRESS_TMS_SERVICE:
        wanted->kind = TSEED_WANTED_TMS_SERVICE;
        break;
    case TSEED_ADDRESS_TMS_MAP:
        find_tile_map(wanted, dir, r);
        break;
    case TSEED_ADDRESS_WMS:
        wanted->service = TSEED_SERVICE_WMS;
        find_wms(wanted, dir, r);
        break;
    default:
        refuse(wanted, HTTP_NOT_FOUND, NULL, NULL,
               "there is nothing at this address; this location has the documents "
               "wmts/1.0.0/WMTSCapabilities.xml, tms/1.0.0 and "
               "wms?SERVICE=WMS&REQUEST=GetCapabilities");
    }
}

/* The path behind the location's, "" if there is no atlas. */
static const char *path_below(const char *base, request_rec *r)
{
    size_t length = strlen(base);

    return strncmp(r->uri, base, length) == 0 && tseed_conf_get(r->server)->atlas ? r->uri + length
                                                                                  : "";
}

/* The result of a look-up, and the address that it is for. */
typedef struct {
    const tseed_dir_conf_t *dir;
    const char *uri;
    tseed_wanted_t *wanted;
} found_t;

static int is_same(const found_t *found, const tseed_dir_conf_t *dir, const request_rec *r)
{
    return found->dir->layers == dir->layers &&
           strcmp(found->dir->tiles_base, dir->tiles_base) == 0 && strcmp(found->uri, r->uri) == 0;
}

/* Reads ?onmiss=404, unless that is a parameter of the layer. Another value is refused: it would
 * have tiles made for a client that may not want that. */
static void read_on_miss(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const char *value = apr_table_get(wanted->query, ON_MISS);

    if (!value || tseed_layer_find_filter(wanted->chart->layer, ON_MISS)) {
        return;
    }
    wanted->is_stored_only = strcmp(value, "404") == 0;
    if (!wanted->is_stored_only) {
        refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", ON_MISS,
               apr_psprintf(pool, "onmiss can be 404 alone, not '%s'",
                            tseed_text_quote(value, QUOTE_MAX, pool)));
    }
}

static tseed_wanted_t *find(request_rec *r, const tseed_dir_conf_t *dir)
{
    tseed_wanted_t *wanted = apr_pcalloc(r->pool, sizeof(*wanted));

    wanted->query =
        r->args ? tseed_form_read(r->args, strlen(r->args), r->pool) : apr_table_make(r->pool, 0);
    wanted->address = tseed_tile_address(path_below(dir->tiles_base, r));
    find_wanted(wanted, dir, r);
    if (wanted->kind == TSEED_WANTED_TILE) {
        read_on_miss(wanted, r->pool);
    }
    return wanted;
}

const tseed_wanted_t *tseed_wanted_get(request_rec *r, const tseed_dir_conf_t *dir)
{
    found_t *found = ap_get_module_config(r->request_config, &tileseed_module);

    if (!found) {
        found = apr_pcalloc(r->pool, sizeof(*found));
        ap_set_module_config(r->request_config, &tileseed_module, found);
    }
    if (!found->wanted || !is_same(found, dir, r)) {
        *found = (found_t){dir, apr_pstrdup(r->pool, r->uri), find(r, dir)};
    }
    return found->wanted;
}
