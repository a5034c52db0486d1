/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Locations with TileSeedTiles on: from address to tile or document. */
#include <apr_cstr.h>
#include <apr_date.h>
#include <apr_file_info.h>
#include <apr_portable.h>
#include <apr_strings.h>
#include <fcntl.h>
#include <httpd.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <util_filter.h>

#include "image/tseed_blank.h"
#include "mod_tileseed.h"
#include "mod_tileseed_delivery.h"
#include "mod_tileseed_outcome.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_wanted.h"
#include "protocol/tseed_service.h"
#include "store/tseed_atlas.h"
#include "store/tseed_store.h"

APLOG_USE_MODULE(tileseed);

/* ---- blank tiles ----
 *
 * Layers with TileSeedOnMiss empty serve them. They are made once for each format in each grid
 * set. */

static void make_blanks_of(tseed_chart_t *chart, server_rec *server, apr_pool_t *pool)
{
    const tseed_gridset_t *gridset = chart->subset->gridset;

    for (int i = 0; i < chart->count; i++) {
        tseed_served_t *served = &chart->served[i];
        const char *problem =
            tseed_blank_make(&served->blank, &served->blank_length, served->tileset.format,
                             gridset->tile_width, gridset->tile_height, pool);

        if (problem) {
            ap_log_error(APLOG_MARK, APLOG_ERR, 0, server,
                         "TS0014: layer %s: no empty tile could be made, 404 is answered: %s",
                         chart->layer->name, problem);
        }
    }
}

/* Makes the blank tiles of an atlas, in `pool`. Where one can't be made, the log says so.
 * post_config, parent. */
static void make_blanks(const tseed_atlas_t *atlas, server_rec *server, apr_pool_t *pool)
{
    for (tseed_chart_t *const *chart = tseed_atlas_charts(atlas); *chart; chart++) {
        if ((*chart)->layer->on_miss == TSEED_ON_MISS_EMPTY) {
            make_blanks_of(*chart, server, pool);
        }
    }
}

/* The configuration's atlas. */
static void make_atlas(server_rec *server, apr_pool_t *pool, apr_pool_t *ptemp)
{
    tseed_server_conf_t *conf = tseed_conf_get(server);
    tseed_atlas_t *atlas = tseed_atlas_create(conf->catalog, pool);

    (void)ptemp;
    make_blanks(atlas, server, pool);
    conf->atlas = atlas;
}

/* ---- documents of the tile services and their exceptions ----
 *
 * They are made for each request, because they name the server as the client calls it.
 */

#define XML "application/xml;charset=UTF-8"

/* As the standards of WMS ask for (OGC 01-068r3 6.5, 06-042 6.6). */
#define WMS_130_XML "text/xml;charset=UTF-8"
#define WMS_111_XML "application/vnd.ogc.wms_xml;charset=UTF-8"
#define SE_XML      "application/vnd.ogc.se_xml;charset=UTF-8"

/* A path of ours as a whole address with scheme and host, as clients call it. */
static const char *public_url(request_rec *r, const tseed_dir_conf_t *dir, const char *base)
{
    const char *path = tseed_public_path(dir, base, r->pool);

    return *path && *path != '/' ? path : ap_construct_url(r->pool, path, r);
}

static tseed_service_t describe(request_rec *r, const tseed_dir_conf_t *dir)
{
    const apr_array_header_t *all = tseed_conf_get(r->server)->catalog->order;
    apr_array_header_t *layers = apr_array_make(r->pool, all->nelts, sizeof(tseed_layer_t *));

    for (int i = 0; i < all->nelts; i++) {
        tseed_layer_t *layer = APR_ARRAY_IDX(all, i, tseed_layer_t *);

        if (tseed_dir_conf_sees(dir, layer->name)) {
            APR_ARRAY_PUSH(layers, tseed_layer_t *) = layer;
        }
    }
    return (tseed_service_t){public_url(r, dir, dir->tiles_base), layers};
}

static int is(const tseed_wanted_t *wanted, const char *key, const char *expected)
{
    const char *value = apr_table_get(wanted->query, key);

    return value && apr_cstr_casecmp(value, expected) == 0;
}

/* The newest version unless the client says otherwise (OGC 06-042 6.2.4). */
static tseed_wms_dialect_t dialect_of(const tseed_wanted_t *wanted)
{
    const char *version = apr_table_get(wanted->query, "VERSION");

    if (is(wanted, "TILED", "true")) {
        return TSEED_WMS_111_TILED;
    }
    return !version || strcmp(version, "1.3.0") >= 0 ? TSEED_WMS_130 : TSEED_WMS_111;
}

static int send_wms_capabilities(request_rec *r, const tseed_wanted_t *wanted,
                                 const tseed_service_t *service)
{
    tseed_wms_dialect_t dialect = dialect_of(wanted);

    return tseed_reply_send(r, HTTP_OK, dialect == TSEED_WMS_130 ? WMS_130_XML : WMS_111_XML,
                            tseed_wms_capabilities(service, dialect, r->pool));
}

static int send_problem(request_rec *r, const tseed_wanted_t *wanted)
{
    tseed_wms_dialect_t dialect = dialect_of(wanted);

    switch (wanted->service) {
    case TSEED_SERVICE_WMTS:
        return tseed_reply_send(r, wanted->status, XML,
                                tseed_wmts_exception(&wanted->detail, wanted->problem, r->pool));
    case TSEED_SERVICE_WMS:
        return tseed_reply_send(
            r, wanted->status, dialect == TSEED_WMS_130 ? WMS_130_XML : SE_XML,
            tseed_wms_exception(dialect, &wanted->detail, wanted->problem, r->pool));
    default:
        return tseed_reply_error(r, wanted->status, "%s", wanted->problem);
    }
}

/* Sends a document, or the service's exception that says what is wrong. Returns OK. */
static int answer_service(request_rec *r, const tseed_dir_conf_t *dir, const tseed_wanted_t *wanted)
{
    tseed_service_t service = describe(r, dir);

    switch (wanted->kind) {
    case TSEED_WANTED_WMTS_CAPABILITIES:
        return tseed_reply_send(r, HTTP_OK, XML, tseed_wmts_capabilities(&service, r->pool));
    case TSEED_WANTED_WMS_CAPABILITIES:
        return send_wms_capabilities(r, wanted, &service);
    case TSEED_WANTED_TMS_SERVICE:
        return tseed_reply_send(r, HTTP_OK, XML, tseed_tms_service(&service, r->pool));
    case TSEED_WANTED_TMS_MAP:
        return tseed_reply_send(r, HTTP_OK, XML,
                                tseed_tms_map(&service, wanted->chart->layer, wanted->chart->subset,
                                              wanted->served->tileset.format, r->pool));
    default:
        return send_problem(r, wanted);
    }
}

/* ---- hooks ---- */

#define HANDLER "tileseed-tiles"

static const tseed_dir_conf_t *dir_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &tileseed_module);
}

/* A rewritten address may be another location's. httpd looks for that only when it has a file name,
 * which is what we are asked for. */
static int walk_again(request_rec *r)
{
    int status;

    if (r->uri == r->parsed_uri.path) {
        return OK;
    }
    r->per_dir_config = r->server->lookup_defaults;
    status = ap_location_walk(r);
    return status == OK ? ap_if_walk(r) : status;
}

static int translate(request_rec *r)
{
    const int status = walk_again(r);
    const tseed_dir_conf_t *dir = dir_of(r);
    const tseed_wanted_t *wanted;

    if (status != OK) {
        return status;
    }
    if (dir->tiles != TSEED_TILES_ON || r->proxyreq) {
        return DECLINED;
    }
    wanted = tseed_wanted_get(r, dir);
    if (!wanted->path) {
        /* what no file can be called httpd would refuse as forbidden */
        return wanted->status == HTTP_NOT_FOUND && dir->rest != TSEED_ON &&
                       strlen(r->uri) > NAME_MAX
                   ? HTTP_NOT_FOUND
                   : DECLINED;
    }
    r->filename = apr_pstrdup(r->pool, wanted->path); /* httpd cuts it where nothing is */
    r->finfo.filetype = APR_REG; /* <Directory> applies where a directory is about to be made */
    return OK;
}

static int fix_up(request_rec *r)
{
    const tseed_dir_conf_t *dir = dir_of(r);

    if (dir->tiles == TSEED_TILES_ON &&
        (dir->rest != TSEED_ON || tseed_wanted_get(r, dir)->address.kind != TSEED_ADDRESS_NONE)) {
        r->handler = HANDLER;
    }
    return DECLINED;
}

static int handle_tile(request_rec *r)
{
    const tseed_wanted_t *wanted;

    /* a .htaccess may name the handler as well, where no location has said who may ask for what */
    if (!r->handler || strcmp(r->handler, HANDLER) != 0 || dir_of(r)->tiles != TSEED_TILES_ON) {
        return DECLINED;
    }
    wanted = tseed_wanted_get(r, dir_of(r));
    if (r->method_number != M_GET) {
        tseed_outcome_say(r, dir_of(r), wanted, TSEED_OUTCOME_REFUSED);
        apr_table_setn(r->headers_out, "Allow", "GET, HEAD");
        return tseed_reply_error(r, HTTP_METHOD_NOT_ALLOWED, "%s is not possible here, only GET",
                                 r->method);
    }
    if (wanted->kind == TSEED_WANTED_TILE) {
        return tseed_tile_serve(r, wanted);
    }
    tseed_outcome_say(r, dir_of(r), wanted,
                      wanted->kind == TSEED_WANTED_NOTHING ? TSEED_OUTCOME_REFUSED
                                                           : TSEED_OUTCOME_DOCUMENT);
    return answer_service(r, dir_of(r), wanted);
}

/* ---- the part ---- */

static int run_translate(request_rec *r)
{
    return tseed_run_hook(translate, r);
}

static int run_fixups(request_rec *r)
{
    return tseed_run_hook(fix_up, r);
}

static int run_handler(request_rec *r)
{
    return tseed_run_hook(handle_tile, r);
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_translate_name(run_translate, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(run_fixups, NULL, NULL, APR_HOOK_MIDDLE + 1);
    ap_hook_handler(run_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_tiles_part = {.hook = register_hooks, .start = make_atlas};
