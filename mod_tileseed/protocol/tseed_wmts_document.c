/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMTS: capabilities in the order of wmtsGetCapabilities_response.xsd, and exceptions.
 *
 * A tile matrix set has the levels of its grid set that some layer has tiles of. A layer that has
 * less says so in limits. They are needed rarely, and that is well: the schema's type forbids row
 * and column 0 in them, which its own documentation and the text of OGC 07-057r7
 * have them begin with, and so does whoever reads or writes them. Without limits clients would ask
 * for levels that the layer has not.
 */
#include <apr_hash.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_escape.h"
#include "protocol/tseed_service.h"
#include "protocol/tseed_xml_write.h"

/* Metres of the standard's pixel (OGC 07-057r7 6.1). */
#define PIXEL 0.00028

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

/* ---- levels ---- */

/* What is told of a grid set. */
typedef struct {
    int first, last;
    int is_put;
} extract_t;

static void add_subset(apr_hash_t *extracts, const tseed_subset_t *subset, apr_pool_t *pool)
{
    const char *name = subset->gridset->name;
    extract_t *extract = apr_hash_get(extracts, name, APR_HASH_KEY_STRING);

    if (!extract) {
        extract = apr_palloc(pool, sizeof(*extract));
        *extract = (extract_t){subset->zoom_first, subset->zoom_last, 0};
        apr_hash_set(extracts, name, APR_HASH_KEY_STRING, extract);
    }
    extract->first = subset->zoom_first < extract->first ? subset->zoom_first : extract->first;
    extract->last = subset->zoom_last > extract->last ? subset->zoom_last : extract->last;
}

/* name of a grid set -> extract_t * */
static apr_hash_t *make_extracts(const apr_array_header_t *layers, apr_pool_t *pool)
{
    apr_hash_t *extracts = apr_hash_make(pool);

    for (int i = 0; i < layers->nelts; i++) {
        const apr_array_header_t *subsets = APR_ARRAY_IDX(layers, i, tseed_layer_t *)->subsets;

        for (int k = 0; k < subsets->nelts; k++) {
            add_subset(extracts, &APR_ARRAY_IDX(subsets, k, tseed_subset_t), pool);
        }
    }
    return extracts;
}

/* ---- layers ---- */

/* OpenLayers finds a style by its title. */
static void put_style(const tseed_xml_t *xml, const char *name, int is_default)
{
    name = *name ? tseed_escape_xml(name, xml->pool) : TSEED_STYLE_DEFAULT;
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

/* Rows from the top. A level of which the layer has nothing is left out. */
static void put_limits(const tseed_xml_t *xml, const tseed_subset_t *subset)
{
    const tseed_gridset_t *gridset = subset->gridset;

    tseed_xml_put(xml, "        <TileMatrixSetLimits>\n");
    for (int z = subset->zoom_first; z <= subset->zoom_last; z++) {
        tseed_range_t range = tseed_range_of(gridset, z, &subset->extent);
        const int64_t top = gridset->rows[z] - 1;

        if (tseed_range_count(&range) > 0) {
            tseed_xml_put(xml,
                          "          <TileMatrixLimits><TileMatrix>%s:%d</TileMatrix>"
                          "<MinTileRow>%" APR_INT64_T_FMT
                          "</MinTileRow><MaxTileRow>%" APR_INT64_T_FMT "</MaxTileRow>"
                          "<MinTileCol>%" APR_INT64_T_FMT
                          "</MinTileCol><MaxTileCol>%" APR_INT64_T_FMT "</MaxTileCol>"
                          "</TileMatrixLimits>\n",
                          tseed_escape_xml(gridset->name, xml->pool), z, top - range.maxy,
                          top - range.miny, range.minx, range.maxx);
        }
    }
    tseed_xml_put(xml, "        </TileMatrixSetLimits>\n");
}

static int is_whole(const tseed_subset_t *subset, const extract_t *extract)
{
    return subset->zoom_first == extract->first && subset->zoom_last == extract->last &&
           memcmp(&subset->extent, &subset->gridset->extent, sizeof(subset->extent)) == 0;
}

static void put_link(const tseed_xml_t *xml, const tseed_subset_t *subset, apr_hash_t *extracts)
{
    const char *name = subset->gridset->name;

    tseed_xml_put(xml, "      <TileMatrixSetLink>\n        <TileMatrixSet>%s</TileMatrixSet>\n",
                  tseed_escape_xml(name, xml->pool));
    if (!is_whole(subset, apr_hash_get(extracts, name, APR_HASH_KEY_STRING))) {
        put_limits(xml, subset);
    }
    tseed_xml_put(xml, "      </TileMatrixSetLink>\n");
}

static void put_layer(const tseed_xml_t *xml, const tseed_service_t *service,
                      const tseed_layer_t *layer, apr_hash_t *extracts)
{
    const char *name = tseed_escape_xml(layer->name, xml->pool);
    tseed_bounds_t box;

    tseed_xml_put(xml, "    <Layer>\n      <ows:Title>%s</ows:Title>\n", name);
    if (tseed_xml_degrees(&box, layer)) {
        tseed_xml_put(
            xml,
            "      <ows:WGS84BoundingBox><ows:LowerCorner>%s %s</ows:LowerCorner>"
            "<ows:UpperCorner>%s %s</ows:UpperCorner></ows:WGS84BoundingBox>\n",
            tseed_text_number(box.minx, xml->pool), tseed_text_number(box.miny, xml->pool),
            tseed_text_number(box.maxx, xml->pool), tseed_text_number(box.maxy, xml->pool));
    }
    tseed_xml_put(xml, "      <ows:Identifier>%s</ows:Identifier>\n", name);
    put_styles(xml, layer);
    for (int i = 0; i < layer->formats->nelts; i++) {
        tseed_xml_put(xml, "      <Format>%s</Format>\n",
                      APR_ARRAY_IDX(layer->formats, i, tseed_format_t).mime);
    }
    for (int i = 0; i < layer->subsets->nelts; i++) {
        put_link(xml, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t), extracts);
    }
    for (int i = 0; i < layer->formats->nelts; i++) {
        const tseed_format_t *format = &APR_ARRAY_IDX(layer->formats, i, tseed_format_t);

        tseed_xml_put(xml,
                      "      <ResourceURL format=\"%s\" resourceType=\"tile\" template=\"%s/wmts/"
                      "%s/{style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}.%s\"/>\n",
                      format->mime, service->base, tseed_xml_segment(layer->name, xml->pool),
                      format->extension);
    }
    tseed_xml_put(xml, "    </Layer>\n");
}

/* ---- grid sets ---- */

/* The corner of the uppermost row, which may hang out of the extent; in the system's own axes. */
static void put_matrix(const tseed_xml_t *xml, const tseed_gridset_t *gridset, int z)
{
    const int64_t top = gridset->rows[z] - 1;
    tseed_range_t row = {z, 0, top, 0, top};
    tseed_bounds_t ground = tseed_range_bounds(gridset, &row);
    const char *x = tseed_text_number(ground.minx, xml->pool);
    const char *y = tseed_text_number(ground.maxy, xml->pool);

    tseed_xml_put(
        xml,
        "      <TileMatrix><ows:Identifier>%s:%d</ows:Identifier>"
        "<ScaleDenominator>%s</ScaleDenominator><TopLeftCorner>%s %s</TopLeftCorner>"
        "<TileWidth>%d</TileWidth><TileHeight>%d</TileHeight>"
        "<MatrixWidth>%" APR_INT64_T_FMT "</MatrixWidth><MatrixHeight>%" APR_INT64_T_FMT
        "</MatrixHeight></TileMatrix>\n",
        tseed_escape_xml(gridset->name, xml->pool), z,
        tseed_text_number(gridset->resolution[z] * gridset->meters_per_unit / PIXEL, xml->pool),
        gridset->north_east ? y : x, gridset->north_east ? x : y, gridset->tile_width,
        gridset->tile_height, gridset->columns[z], gridset->rows[z]);
}

static void put_gridset(const tseed_xml_t *xml, const tseed_gridset_t *gridset,
                        const extract_t *extract)
{
    tseed_xml_put(xml,
                  "    <TileMatrixSet>\n      <ows:Identifier>%s</ows:Identifier>\n"
                  "      <ows:SupportedCRS>urn:ogc:def:crs:EPSG::%d</ows:SupportedCRS>\n",
                  tseed_escape_xml(gridset->name, xml->pool), tseed_xml_epsg(gridset));
    for (int z = extract->first; z <= extract->last; z++) {
        put_matrix(xml, gridset, z);
    }
    tseed_xml_put(xml, "    </TileMatrixSet>\n");
}

/* Those of the layers, each once. */
static void put_gridsets(const tseed_xml_t *xml, const apr_array_header_t *layers,
                         apr_hash_t *extracts)
{
    for (int i = 0; i < layers->nelts; i++) {
        const apr_array_header_t *subsets = APR_ARRAY_IDX(layers, i, tseed_layer_t *)->subsets;

        for (int k = 0; k < subsets->nelts; k++) {
            const tseed_gridset_t *gridset = APR_ARRAY_IDX(subsets, k, tseed_subset_t).gridset;
            extract_t *extract = apr_hash_get(extracts, gridset->name, APR_HASH_KEY_STRING);

            if (!extract->is_put) {
                extract->is_put = 1;
                put_gridset(xml, gridset, extract);
            }
        }
    }
}

const char *tseed_wmts_capabilities(const tseed_service_t *service, apr_pool_t *pool)
{
    tseed_service_t escaped = {tseed_escape_xml(service->base, pool), service->layers};
    apr_hash_t *extracts = make_extracts(service->layers, pool);
    tseed_xml_t xml = tseed_xml_begin(pool);

    put_head(&xml, escaped.base);
    for (int i = 0; i < service->layers->nelts; i++) {
        put_layer(&xml, &escaped, APR_ARRAY_IDX(service->layers, i, tseed_layer_t *), extracts);
    }
    put_gridsets(&xml, service->layers, extracts);
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
