/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMTS: tile matrix sets, capabilities in the order of wmtsGetCapabilities_response.xsd, and
 * exceptions. */
#include "protocol/tseed_service.h"

#include <string.h>

#include <apr_hash.h>
#include <apr_strings.h>

#include "base/tseed_text.h"
#include "protocol/tseed_write.h"

/* The tile matrix sets of a WMTS document, and how layers refer to them. Private to the document.
 *
 * A set has the levels of its grid set of which some layer has tiles. A layer with fewer levels
 * refers to two sets: first to a set of its own levels (tseed_subset_name), because GDAL takes the
 * finest level of a set for the layer's, whatever limits say; then to the full set, with limits.
 *
 * Limits tell clients which tiles a layer lacks. They are rarely needed, and they are in doubt: the
 * type in the schema forbids row and column 0 in limits, but the documentation of the schema, the
 * text of OGC 07-057r7 and all programs that read or write limits begin with 0. */

/* ---- tile matrix sets, in the order of wmts.xsd ---- */

/* Metres of the standard's pixel (OGC 07-057r7 6.1). */
#define PIXEL 0.00028

/* A tile matrix set: a grid set and the levels of it that are told. */
typedef struct {
    const char *name;
    const tseed_gridset_t *gridset;
    int first, last;
} matrices_t;

/* ---- what is told ---- */

static void add_subset(apr_hash_t *all, const tseed_subset_t *subset, apr_pool_t *pool)
{
    const char *name = subset->gridset->name;
    matrices_t *told = apr_hash_get(all, name, APR_HASH_KEY_STRING);

    if (!told) {
        told = apr_palloc(pool, sizeof(*told));
        *told = (matrices_t){name, subset->gridset, subset->zoom_first, subset->zoom_last};
        apr_hash_set(all, name, APR_HASH_KEY_STRING, told);
    }
    told->first = subset->zoom_first < told->first ? subset->zoom_first : told->first;
    told->last = subset->zoom_last > told->last ? subset->zoom_last : told->last;
}

/* Collects what the document says about the grid sets of these layers (const tseed_layer_t *). In
 * `pool`. */
static apr_hash_t *wmts_matrices(const apr_array_header_t *layers, apr_pool_t *pool)
{
    apr_hash_t *all = apr_hash_make(pool);

    for (int i = 0; i < layers->nelts; i++) {
        const apr_array_header_t *subsets = APR_ARRAY_IDX(layers, i, tseed_layer_t *)->subsets;

        for (int k = 0; k < subsets->nelts; k++) {
            add_subset(all, &APR_ARRAY_IDX(subsets, k, tseed_subset_t), pool);
        }
    }
    return all;
}

static const matrices_t *full_set(apr_hash_t *all, const tseed_subset_t *subset)
{
    return apr_hash_get(all, subset->gridset->name, APR_HASH_KEY_STRING);
}

/* The set of the layer's own levels. 0: the full set has no others, or a grid set is called so. */
static int own_set(matrices_t *own, apr_hash_t *all, const tseed_subset_t *subset, apr_pool_t *pool)
{
    const matrices_t *full = full_set(all, subset);

    *own = (matrices_t){tseed_subset_name(subset, pool), subset->gridset, subset->zoom_first,
                        subset->zoom_last};
    return (own->first != full->first || own->last != full->last) &&
           !apr_hash_get(all, own->name, APR_HASH_KEY_STRING);
}

/* ---- links ---- */

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

/* Whether the layer has every tile of the set: a grid set may have tiles that only its origin is
 * the reason for. */
static int is_whole(const tseed_subset_t *subset, const matrices_t *told)
{
    const tseed_gridset_t *gridset = subset->gridset;
    int whole = subset->zoom_first == told->first && subset->zoom_last == told->last;

    for (int z = told->first; whole && z <= told->last; z++) {
        tseed_range_t range = tseed_range_of(gridset, z, &subset->extent);

        whole = range.minx == 0 && range.miny == 0 && range.maxx == gridset->columns[z] - 1 &&
                range.maxy == gridset->rows[z] - 1;
    }
    return whole;
}

static void put_link(const tseed_xml_t *xml, const tseed_subset_t *subset, const matrices_t *told)
{
    tseed_xml_put(xml, "      <TileMatrixSetLink>\n        <TileMatrixSet>%s</TileMatrixSet>\n",
                  tseed_escape_xml(told->name, xml->pool));
    if (!is_whole(subset, told)) {
        put_limits(xml, subset);
    }
    tseed_xml_put(xml, "      </TileMatrixSetLink>\n");
}

/* Writes a layer's links to the sets of a grid set: one or two. */
static void wmts_put_links(const tseed_xml_t *xml, const tseed_subset_t *subset,
                           apr_hash_t *matrices)
{
    matrices_t own;

    if (own_set(&own, matrices, subset, xml->pool)) {
        put_link(xml, subset, &own);
    }
    put_link(xml, subset, full_set(matrices, subset));
}

/* ---- sets ---- */

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

static void put_set(const tseed_xml_t *xml, const matrices_t *told)
{
    const tseed_gridset_t *gridset = told->gridset;
    const int epsg = tseed_xml_epsg(gridset);

    tseed_xml_put(xml,
                  "    <TileMatrixSet>\n      <ows:Identifier>%s</ows:Identifier>\n"
                  "      <ows:BoundingBox crs=\"urn:ogc:def:crs:EPSG::%d\">",
                  tseed_escape_xml(told->name, xml->pool), epsg);
    tseed_xml_corners(xml, &gridset->extent, gridset->north_east);
    tseed_xml_put(xml,
                  "</ows:BoundingBox>\n"
                  "      <ows:SupportedCRS>urn:ogc:def:crs:EPSG::%d</ows:SupportedCRS>\n",
                  epsg);
    for (int z = told->first; z <= told->last; z++) {
        put_matrix(xml, gridset, z);
    }
    tseed_xml_put(xml, "    </TileMatrixSet>\n");
}

static void put_once(const tseed_xml_t *xml, const matrices_t *told, apr_hash_t *done)
{
    if (!apr_hash_get(done, told->name, APR_HASH_KEY_STRING)) {
        apr_hash_set(done, told->name, APR_HASH_KEY_STRING, told);
        put_set(xml, told);
    }
}

/* Writes the sets to which the layers refer, each once. */
static void wmts_put_matrices(const tseed_xml_t *xml, const apr_array_header_t *layers,
                              apr_hash_t *matrices)
{
    apr_hash_t *done = apr_hash_make(xml->pool);

    for (int i = 0; i < layers->nelts; i++) {
        const apr_array_header_t *subsets = APR_ARRAY_IDX(layers, i, tseed_layer_t *)->subsets;

        for (int k = 0; k < subsets->nelts; k++) {
            const tseed_subset_t *subset = &APR_ARRAY_IDX(subsets, k, tseed_subset_t);
            matrices_t own;

            put_once(xml, full_set(matrices, subset), done);
            if (own_set(&own, matrices, subset, xml->pool)) {
                put_once(xml, &own, done);
            }
        }
    }
}

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
        wmts_put_links(xml, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t), matrices);
    }
    put_addresses(xml, service, layer);
    tseed_xml_put(xml, "    </Layer>\n");
}

/* ---- documents ---- */

const char *tseed_wmts_capabilities(const tseed_service_t *service, apr_pool_t *pool)
{
    tseed_service_t escaped = {tseed_escape_xml(service->base, pool), service->layers};
    apr_hash_t *matrices = wmts_matrices(service->layers, pool);
    tseed_xml_t xml = tseed_xml_begin(pool);

    put_head(&xml, escaped.base);
    for (int i = 0; i < service->layers->nelts; i++) {
        put_layer(&xml, &escaped, APR_ARRAY_IDX(service->layers, i, tseed_layer_t *), matrices);
    }
    wmts_put_matrices(&xml, service->layers, matrices);
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
