/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents of the tile services and their exceptions: made for each request, because they name
 * the server as the client calls it. */
#include "mod_tileseed_services.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <http_core.h>
#include <string.h>

#include "mod_tileseed_public.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_service.h"

#define XML "application/xml"

/* As the standards of WMS ask for (OGC 01-068r3 6.5, 06-042 6.6). */
#define WMS_130_XML "text/xml"
#define WMS_111_XML "application/vnd.ogc.wms_xml"
#define SE_XML      "application/vnd.ogc.se_xml"

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
    return (tseed_service_t){tseed_public_url(r, dir, dir->tiles_base), layers};
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

    return tseed_reply_service(r, HTTP_OK, dialect == TSEED_WMS_130 ? WMS_130_XML : WMS_111_XML,
                               tseed_wms_capabilities(service, dialect, r->pool));
}

static int send_problem(request_rec *r, const tseed_wanted_t *wanted)
{
    tseed_wms_dialect_t dialect = dialect_of(wanted);

    switch (wanted->service) {
    case TSEED_SERVICE_WMTS:
        return tseed_reply_service(r, wanted->status, XML,
                                   tseed_wmts_exception(&wanted->detail, wanted->problem, r->pool));
    case TSEED_SERVICE_WMS:
        return tseed_reply_service(
            r, wanted->status, dialect == TSEED_WMS_130 ? WMS_130_XML : SE_XML,
            tseed_wms_exception(dialect, &wanted->detail, wanted->problem, r->pool));
    default:
        return tseed_reply_error(r, wanted->status, "%s", wanted->problem);
    }
}

int tseed_services_answer(request_rec *r, const tseed_dir_conf_t *dir, const tseed_wanted_t *wanted)
{
    tseed_service_t service = describe(r, dir);

    switch (wanted->kind) {
    case TSEED_WANTED_WMTS_CAPABILITIES:
        return tseed_reply_service(r, HTTP_OK, XML, tseed_wmts_capabilities(&service, r->pool));
    case TSEED_WANTED_WMS_CAPABILITIES:
        return send_wms_capabilities(r, wanted, &service);
    case TSEED_WANTED_TMS_SERVICE:
        return tseed_reply_service(r, HTTP_OK, XML, tseed_tms_service(&service, r->pool));
    case TSEED_WANTED_TMS_MAP:
        return tseed_reply_service(r, HTTP_OK, XML,
                                   tseed_tms_map(&service, wanted->chart->layer,
                                                 wanted->chart->subset,
                                                 wanted->served->tileset.format, r->pool));
    default:
        return send_problem(r, wanted);
    }
}
