/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMTS: capabilities in the order of wmtsGetCapabilities_response.xsd, and exceptions. */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_escape.h"
#include "protocol/tseed_service.h"
#include "protocol/tseed_wmts_matrices.h"
#include "protocol/tseed_xml_write.h"

static void put_operation(const tseed_xml_t *xml, const char *name, const char *base)
{
    tseed_xml_put(xml,
                  "    <ows:Operation name=\"%s\"><ows:DCP><ows:HTTP>\n"
                  "      <ows:Get xlink:href=\"%s/wmts?\"><ows:Constraint name=\"GetEncoding\">"
                  "<ows:AllowedValues><ows:Value>KVP</ows:Value></ows:AllowedValues>"
                  "</ows:Constraint></ows:Get>\n"
                  "    </ows:HTTP></ows:DCP></ows:Operation>\n",
                  name, base);
}

static void put_head(const tseed_xml_t *xml, const char *base)
{
    tseed_xml_put(xml,
                  TSEED_XML_PROLOG "<Capabilities xmlns=\"http://www.opengis.net/wmts/1.0\""
                                   " xmlns:ows=\"http://www.opengis.net/ows/1.1\""
                                   " xmlns:xlink=\"http://www.w3.org/1999/xlink\""
                                   " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
                                   " xsi:schemaLocation=\"http://www.opengis.net/wmts/1.0 http://"
                                   "schemas.opengis.net/wmts/1.0/wmtsGetCapabilities_response.xsd\""
                                   " version=\"1.0.0\">\n"
                                   "  <ows:ServiceIdentification>\n"
                                   "    <ows:Title>Web Map Tile Service</ows:Title>\n"
                                   "    <ows:ServiceType>OGC WMTS</ows:ServiceType>\n"
                                   "    <ows:ServiceTypeVersion>1.0.0</ows:ServiceTypeVersion>\n"
                                   "  </ows:ServiceIdentification>\n"
                                   "  <ows:OperationsMetadata>\n");
    put_operation(xml, "GetCapabilities", base);
    put_operation(xml, "GetTile", base);
    tseed_xml_put(xml, "  </ows:OperationsMetadata>\n  <Contents>\n");
}

/* ---- layers ---- */

/* OpenLayers finds a style by its title. */
static void put_style(const tseed_xml_t *xml, const char *name, int is_default)
{
    name = *name ? tseed_escape_xml(name, xml->pool) : TSEED_DEFAULT_NAME;
    tseed_xml_put(xml,
                  "      <Style%s><ows:Title>%s</ows:Title><ows:Identifier>%s</ows:Identifier>"
                  "</Style>\n",
                  is_default ? " isDefault=\"true\"" : "", name, name);
}

static void put_styles(const tseed_xml_t *xml, const tseed_layer_t *layer)
{
    const tseed_filter_t *styles = tseed_layer_find_filter(layer, "STYLES");

    put_style(xml, styles ? styles->default_value : "", 1);
    for (int i = 0; styles && i < styles->values->nelts; i++) {
        const char *value = APR_ARRAY_IDX(styles->values, i, const char *);

        if (strcmp(value, styles->default_value) != 0) {
            put_style(xml, value, 0);
        }
    }
}

/* Boxes in degrees, if they are known, and in each of the layer's systems: a client that projects
 * the one box to another system gets a larger box than the layer's. */
static void put_name_and_boxes(const tseed_xml_t *xml, const tseed_layer_t *layer)
{
    const apr_array_header_t *boxes = tseed_xml_boxes(layer, 1, xml->pool);

    if (layer->degrees) {
        tseed_xml_put(xml, "      <ows:WGS84BoundingBox>");
        tseed_xml_corners(xml, layer->degrees, 0);
        tseed_xml_put(xml, "</ows:WGS84BoundingBox>\n");
    }
    tseed_xml_put(xml, "      <ows:Identifier>%s</ows:Identifier>\n",
                  tseed_escape_xml(layer->name, xml->pool));
    for (int i = 0; i < boxes->nelts; i++) {
        const tseed_xml_box_t *box = &APR_ARRAY_IDX(boxes, i, tseed_xml_box_t);

        tseed_xml_put(xml, "      <ows:BoundingBox crs=\"urn:ogc:def:crs:EPSG::%d\">", box->epsg);
        tseed_xml_corners(xml, &box->bounds, box->north_east);
        tseed_xml_put(xml, "</ows:BoundingBox>\n");
    }
}

static int is_dimension(const tseed_filter_t *filter)
{
    return strcmp(filter->name, "STYLES") != 0;
}

static void put_value(const tseed_xml_t *xml, const char *element, const char *value)
{
    tseed_xml_put(xml, "<%s>%s</%s>", element,
                  *value ? tseed_escape_xml(value, xml->pool) : TSEED_DEFAULT_NAME, element);
}

/* The dimensions: what a client may choose beside the style (OGC 07-057r7 table 7). Values that
 * only a regex describes can't be listed. */
static void put_dimension(const tseed_xml_t *xml, const tseed_filter_t *filter)
{
    tseed_xml_put(xml, "      <Dimension><ows:Identifier>%s</ows:Identifier>",
                  tseed_escape_xml(filter->name, xml->pool));
    put_value(xml, "Default", filter->default_value);
    put_value(xml, "Value", filter->default_value);
    for (int i = 0; i < filter->values->nelts; i++) {
        const char *value = APR_ARRAY_IDX(filter->values, i, const char *);

        if (strcmp(value, filter->default_value) != 0) {
            put_value(xml, "Value", value);
        }
    }
    tseed_xml_put(xml, "</Dimension>\n");
}

static void put_dimensions(const tseed_xml_t *xml, const tseed_layer_t *layer)
{
    for (int i = 0; i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        if (is_dimension(filter)) {
            put_dimension(xml, filter);
        }
    }
}

/* "?TIME={TIME}&ELEVATION={ELEVATION}": the dimensions follow a tile's path, as with GeoWebCache.
 */
static const char *dimensions_query(const tseed_layer_t *layer, apr_pool_t *pool)
{
    const char *query = "";

    for (int i = 0; i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        if (is_dimension(filter)) {
            query = apr_pstrcat(pool, query, *query ? "&amp;" : "?",
                                tseed_xml_segment(filter->name, pool), "={",
                                tseed_escape_xml(filter->name, pool), "}", NULL);
        }
    }
    return query;
}

static void put_addresses(const tseed_xml_t *xml, const tseed_service_t *service,
                          const tseed_layer_t *layer)
{
    const char *query = dimensions_query(layer, xml->pool);

    for (int i = 0; i < layer->formats->nelts; i++) {
        const tseed_format_t *format = &APR_ARRAY_IDX(layer->formats, i, tseed_format_t);

        tseed_xml_put(xml,
                      "      <ResourceURL format=\"%s\" resourceType=\"tile\" template=\"%s/wmts/"
                      "%s/{style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}.%s%s\"/>\n",
                      format->mime, service->base, tseed_xml_segment(layer->name, xml->pool),
                      format->extension, query);
    }
}

static void put_layer(const tseed_xml_t *xml, const tseed_service_t *service,
                      const tseed_layer_t *layer, apr_hash_t *matrices)
{
    tseed_xml_put(xml, "    <Layer>\n      <ows:Title>%s</ows:Title>\n",
                  tseed_escape_xml(layer->name, xml->pool));
    put_name_and_boxes(xml, layer);
    put_styles(xml, layer);
    for (int i = 0; i < layer->formats->nelts; i++) {
        tseed_xml_put(xml, "      <Format>%s</Format>\n",
                      APR_ARRAY_IDX(layer->formats, i, tseed_format_t).mime);
    }
    put_dimensions(xml, layer);
    for (int i = 0; i < layer->subsets->nelts; i++) {
        tseed_wmts_put_links(xml, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t), matrices);
    }
    put_addresses(xml, service, layer);
    tseed_xml_put(xml, "    </Layer>\n");
}

/* ---- documents ---- */

const char *tseed_wmts_capabilities(const tseed_service_t *service, apr_pool_t *pool)
{
    tseed_service_t escaped = {tseed_escape_xml(service->base, pool), service->layers};
    apr_hash_t *matrices = tseed_wmts_matrices(service->layers, pool);
    tseed_xml_t xml = tseed_xml_begin(pool);

    put_head(&xml, escaped.base);
    for (int i = 0; i < service->layers->nelts; i++) {
        put_layer(&xml, &escaped, APR_ARRAY_IDX(service->layers, i, tseed_layer_t *), matrices);
    }
    tseed_wmts_put_matrices(&xml, service->layers, matrices);
    tseed_xml_put(&xml,
                  "  </Contents>\n  <ServiceMetadataURL"
                  " xlink:href=\"%s/wmts/1.0.0/WMTSCapabilities.xml\"/>\n</Capabilities>\n",
                  escaped.base);
    return tseed_xml_end(&xml);
}

const char *tseed_wmts_exception(const tseed_query_problem_t *detail, const char *problem,
                                 apr_pool_t *pool)
{
    tseed_xml_t xml = tseed_xml_begin(pool);

    tseed_xml_put(&xml,
                  TSEED_XML_PROLOG
                  "<ows:ExceptionReport xmlns:ows=\"http://www.opengis.net/ows/1.1\""
                  " version=\"1.1.0\" xml:lang=\"en\">\n  <ows:Exception exceptionCode=\"%s\"",
                  detail->code ? detail->code : "NoApplicableCode");
    if (detail->locator) {
        tseed_xml_put(&xml, " locator=\"%s\"", detail->locator);
    }
    tseed_xml_put(&xml,
                  ">\n    <ows:ExceptionText>%s</ows:ExceptionText>\n"
                  "  </ows:Exception>\n</ows:ExceptionReport>\n",
                  tseed_escape_xml(problem, pool));
    return tseed_xml_end(&xml);
}
