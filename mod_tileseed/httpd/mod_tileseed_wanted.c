/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* From an address and a query to a tile and its file. Nothing here looks at the file system. */
#include "mod_tileseed_wanted.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <http_config.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_options.h"
#include "mod_tileseed_values.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_service.h"

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
        tseed_wanted_refuse_place(wanted, pool);
    } else if (tseed_values_choose(wanted, pool)) {
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
        tseed_wanted_refuse(
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
    tseed_wanted_refuse(wanted, HTTP_NOT_FOUND, "InvalidParameterValue",
                        is_known ? "TILEMATRIXSET" : "LAYER", no_chart(address, is_known, r->pool));
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

    if (!text || tseed_read_doubles(n, 4, text, ",", pool) != 0) {
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
    return tseed_values_check_style(wanted, r->pool);
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
        tseed_wanted_refuse(
            wanted, HTTP_BAD_REQUEST, is_130 ? "InvalidCRS" : "InvalidSRS", key,
            apr_psprintf(r->pool,
                         "the layer has no tiles in %s '%s', GetCapabilities names its systems",
                         key, tseed_text_quote(srs, QUOTE_MAX, r->pool)));
    } else {
        tseed_wanted_refuse(
            wanted, HTTP_BAD_REQUEST, NULL, NULL,
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
    tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", "SERVICE",
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
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "VersionNegotiationFailed", NULL,
                            "none of AcceptVersions is possible, " WMTS_VERSION " is");
    }
}

static void find_wmts_tile(tseed_wanted_t *wanted, const tseed_dir_conf_t *dir, request_rec *r)
{
    const char *version = apr_table_get(wanted->query, "VERSION");
    const tseed_query_problem_t problem = tseed_tile_address_query(&wanted->address, wanted->query);
    const int is_missing = problem.code && strcmp(problem.code, "MissingParameterValue") == 0;

    if (version && strcmp(version, WMTS_VERSION) != 0) {
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", "VERSION",
                            "this version is not possible, " WMTS_VERSION " is");
        return;
    }
    if (problem.code && !is_missing) {
        find_chart(wanted, dir, r); /* level, row and column are those of a grid set */
    }
    if (!problem.code) {
        find_tile(wanted, dir, r);
    } else if (is_missing || wanted->chart) {
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, problem.code, problem.locator,
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
        tseed_wanted_refuse(wanted, HTTP_NOT_IMPLEMENTED, "OperationNotSupported", "GetFeatureInfo",
                            "there are tiles alone here, GetCapabilities or GetTile is expected");
    } else {
        tseed_wanted_refuse_request(wanted, "GetTile", r->pool);
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
        tseed_wanted_refuse_request(wanted, "GetMap", r->pool);
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
        tseed_wanted_refuse(
            wanted, HTTP_NOT_FOUND, NULL, NULL,
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
        tseed_wanted_refuse(wanted, HTTP_NOT_FOUND, NULL, NULL,
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
        tseed_wanted_refuse(wanted, HTTP_BAD_REQUEST, "InvalidParameterValue", ON_MISS,
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
