/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents of tile services but WMTS: of TMS the list of tile maps and one of them, of WMS the
 * capabilities of both versions in the order of their schemas, and exceptions. */
#include "protocol/tseed_service.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_write.h"

/* ---- TMS ---- */

int tseed_tms_has(const tseed_subset_t *subset)
{
    return tseed_range_has_one_origin(subset->gridset, subset->zoom_first, subset->zoom_last);
}

static const char *profile_of(const tseed_gridset_t *gridset)
{
    if (strcmp(gridset->name, "EPSG:4326") == 0) {
        return "global-geodetic";
    }
    return tseed_gridset_builtin(gridset->name) ? "global-mercator" : "local";
}

/* GeoWebCache's name of a tile map, below the service. */
static const char *address_of(const tseed_service_t *service, const tseed_layer_t *layer,
                              const tseed_subset_t *subset, const tseed_format_t *format,
                              apr_pool_t *pool)
{
    return apr_pstrcat(pool, tseed_escape_xml(service->base, pool), "/tms/1.0.0/",
                       tseed_xml_segment(layer->name, pool), "@",
                       tseed_xml_segment(subset->gridset->name, pool), "@", format->extension,
                       NULL);
}

static void put_map(const tseed_xml_t *xml, const tseed_service_t *service,
                    const tseed_layer_t *layer, const tseed_subset_t *subset)
{
    for (int i = 0; i < layer->formats->nelts; i++) {
        const tseed_format_t *format = &APR_ARRAY_IDX(layer->formats, i, tseed_format_t);

        tseed_xml_put(
            xml, "    <TileMap title=\"%s\" srs=\"EPSG:%d\" profile=\"%s\" href=\"%s\"/>\n",
            tseed_escape_xml(layer->name, xml->pool), subset->gridset->srs,
            profile_of(subset->gridset), address_of(service, layer, subset, format, xml->pool));
    }
}

const char *tseed_tms_service(const tseed_service_t *service, apr_pool_t *pool)
{
    tseed_xml_t xml = tseed_xml_begin(pool);

    tseed_xml_put(&xml,
                  TSEED_XML_PROLOG "<TileMapService version=\"1.0.0\" services=\"%s\">\n"
                                   "  <Title>Tile Map Service</Title>\n  <Abstract/>\n"
                                   "  <TileMaps>\n",
                  tseed_escape_xml(service->base, pool));
    for (int i = 0; i < service->layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(service->layers, i, tseed_layer_t *);

        for (int k = 0; k < layer->subsets->nelts; k++) {
            const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, k, tseed_subset_t);

            if (tseed_tms_has(subset)) {
                put_map(&xml, service, layer, subset);
            }
        }
    }
    tseed_xml_put(&xml, "  </TileMaps>\n</TileMapService>\n");
    return tseed_xml_end(&xml);
}

/* Rows are counted from the grid's lower left corner, whatever part of it the layer has. */
static void put_place(const tseed_xml_t *xml, const tseed_subset_t *subset)
{
    const tseed_bounds_t *box = &subset->extent;
    tseed_range_t corner = {subset->zoom_last, 0, 0, 0, 0};
    tseed_bounds_t ground = tseed_range_bounds(subset->gridset, &corner);

    tseed_xml_put(xml,
                  "  <SRS>EPSG:%d</SRS>\n"
                  "  <BoundingBox minx=\"%s\" miny=\"%s\" maxx=\"%s\" maxy=\"%s\"/>\n"
                  "  <Origin x=\"%s\" y=\"%s\"/>\n",
                  subset->gridset->srs, tseed_text_number(box->minx, xml->pool),
                  tseed_text_number(box->miny, xml->pool), tseed_text_number(box->maxx, xml->pool),
                  tseed_text_number(box->maxy, xml->pool),
                  tseed_text_number(ground.minx, xml->pool),
                  tseed_text_number(ground.miny, xml->pool));
}

const char *tseed_tms_map(const tseed_service_t *service, const tseed_layer_t *layer,
                          const tseed_subset_t *subset, const tseed_format_t *format,
                          apr_pool_t *pool)
{
    const tseed_gridset_t *gridset = subset->gridset;
    const char *address = address_of(service, layer, subset, format, pool);
    tseed_xml_t xml = tseed_xml_begin(pool);

    tseed_xml_put(&xml,
                  TSEED_XML_PROLOG "<TileMap version=\"1.0.0\" tilemapservice=\"%s/tms/1.0.0\">\n"
                                   "  <Title>%s</Title>\n  <Abstract/>\n",
                  tseed_escape_xml(service->base, pool), tseed_escape_xml(layer->name, pool));
    put_place(&xml, subset);
    tseed_xml_put(&xml,
                  "  <TileFormat width=\"%d\" height=\"%d\" mime-type=\"%s\" extension=\"%s\"/>\n"
                  "  <TileSets profile=\"%s\">\n",
                  gridset->tile_width, gridset->tile_height,
                  format->content_type ? format->content_type : format->mime, format->extension,
                  profile_of(gridset));
    for (int z = subset->zoom_first; z <= subset->zoom_last; z++) {
        tseed_xml_put(&xml, "    <TileSet href=\"%s/%d\" units-per-pixel=\"%s\" order=\"%d\"/>\n",
                      address, z, tseed_text_number(gridset->resolution[z], pool), z);
    }
    tseed_xml_put(&xml, "  </TileSets>\n</TileMap>\n");
    return tseed_xml_end(&xml);
}

/* ---- WMS ---- */

static const char doctype_111[] = "<!DOCTYPE WMT_MS_Capabilities SYSTEM "
                                  "\"http://schemas.opengis.net/wms/1.1.1/capabilities_1_1_1.dtd\"";

/* The addition of WMS-C to the document type. */
static const char doctype_tiled[] =
    " [\n<!ELEMENT VendorSpecificCapabilities (TileSet*)>\n"
    "<!ELEMENT TileSet (SRS, BoundingBox?, Resolutions, Width, Height, Format, Layers*, Styles*)>\n"
    "<!ELEMENT Resolutions (#PCDATA)>\n<!ELEMENT Width (#PCDATA)>\n<!ELEMENT Height (#PCDATA)>\n"
    "<!ELEMENT Layers (#PCDATA)>\n<!ELEMENT Styles (#PCDATA)>\n]";

typedef struct {
    const tseed_service_t *service;
    const char *base; /* escaped */
    tseed_wms_dialect_t dialect;
    tseed_xml_t xml;
} document_t;

static int is_130(const document_t *document)
{
    return document->dialect == TSEED_WMS_130;
}

static void put_resource(const document_t *document)
{
    tseed_xml_put(&document->xml,
                  "<OnlineResource xmlns:xlink=\"http://www.w3.org/1999/xlink\""
                  " xlink:type=\"simple\" xlink:href=\"%s/wms?\"/>",
                  document->base);
}

static void put_head(const document_t *document)
{
    const tseed_xml_t *xml = &document->xml;

    tseed_xml_put(xml, TSEED_XML_PROLOG);
    if (is_130(document)) {
        tseed_xml_put(xml, "<WMS_Capabilities xmlns=\"http://www.opengis.net/wms\""
                           " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
                           " xsi:schemaLocation=\"http://www.opengis.net/wms http://"
                           "schemas.opengis.net/wms/1.3.0/capabilities_1_3_0.xsd\""
                           " version=\"1.3.0\">\n");
    } else {
        tseed_xml_put(xml, "%s%s>\n<WMT_MS_Capabilities version=\"1.1.1\">\n", doctype_111,
                      document->dialect == TSEED_WMS_111_TILED ? doctype_tiled : "");
    }
    tseed_xml_put(xml, "  <Service><Name>%s</Name><Title>Web Map Service</Title>",
                  is_130(document) ? "WMS" : "OGC:WMS");
    put_resource(document);
    tseed_xml_put(xml, "</Service>\n");
}

/* ---- requests ---- */

static void put_operation(const document_t *document, const char *name)
{
    tseed_xml_put(&document->xml, "<DCPType><HTTP><Get>");
    put_resource(document);
    tseed_xml_put(&document->xml, "</Get></HTTP></DCPType></%s>\n", name);
}

static int has_format(const tseed_layer_t *layer, const char *mime)
{
    return tseed_layer_find_format(layer, mime) != NULL;
}

/* The formats of all layers, each once. */
static void put_formats(const document_t *document)
{
    const apr_array_header_t *layers = document->service->layers;

    for (int i = 0; i < layers->nelts; i++) {
        const apr_array_header_t *formats = APR_ARRAY_IDX(layers, i, tseed_layer_t *)->formats;

        for (int k = 0; k < formats->nelts; k++) {
            const char *mime = APR_ARRAY_IDX(formats, k, tseed_format_t).mime;
            int before = 0;

            while (before < i &&
                   !has_format(APR_ARRAY_IDX(layers, before, tseed_layer_t *), mime)) {
                before++;
            }
            if (before == i) {
                tseed_xml_put(&document->xml, "<Format>%s</Format>", mime);
            }
        }
    }
}

static void put_requests(const document_t *document)
{
    const tseed_xml_t *xml = &document->xml;

    tseed_xml_put(xml, "    <Request>\n      <GetCapabilities><Format>%s</Format>",
                  is_130(document) ? "text/xml" : "application/vnd.ogc.wms_xml");
    put_operation(document, "GetCapabilities");
    tseed_xml_put(xml, "      <GetMap>");
    put_formats(document);
    put_operation(document, "GetMap");
    tseed_xml_put(xml, "    </Request>\n    <Exception><Format>%s</Format></Exception>\n",
                  is_130(document) ? "XML" : "application/vnd.ogc.se_xml");
}

/* ---- tile sets of WMS-C ---- */

static void put_box(const document_t *document, const tseed_xml_box_t *place, const char *key)
{
    const tseed_xml_t *xml = &document->xml;
    const tseed_bounds_t *box = &place->bounds;
    const int is_turned = is_130(document) && place->north_east;

    tseed_xml_put(xml,
                  "<BoundingBox %s=\"EPSG:%d\" minx=\"%s\" miny=\"%s\" maxx=\"%s\" maxy=\"%s\"/>",
                  key, place->epsg, tseed_text_number(is_turned ? box->miny : box->minx, xml->pool),
                  tseed_text_number(is_turned ? box->minx : box->miny, xml->pool),
                  tseed_text_number(is_turned ? box->maxy : box->maxx, xml->pool),
                  tseed_text_number(is_turned ? box->maxx : box->maxy, xml->pool));
}

/* Writes the TileSet of a format. Its box begins where the grid does, so that clients count tiles
 * from there. */
static void put_tile_set(const document_t *document, const tseed_layer_t *layer,
                         const tseed_subset_t *subset, const tseed_format_t *format)
{
    const tseed_xml_t *xml = &document->xml;
    const tseed_gridset_t *gridset = subset->gridset;
    tseed_range_t corner = {subset->zoom_first, 0, 0, 0, 0};
    tseed_bounds_t ground = tseed_range_bounds(gridset, &corner);
    tseed_xml_box_t whole = {gridset->srs, 0, gridset->extent};

    whole.bounds.minx = ground.minx;
    whole.bounds.miny = ground.miny;
    tseed_xml_put(xml, "      <TileSet><SRS>EPSG:%d</SRS>", gridset->srs);
    put_box(document, &whole, "SRS");
    tseed_xml_put(xml, "<Resolutions>");
    for (int z = subset->zoom_first; z <= subset->zoom_last; z++) {
        tseed_xml_put(xml, "%s ", tseed_text_number(gridset->resolution[z], xml->pool));
    }
    tseed_xml_put(xml,
                  "</Resolutions><Width>%d</Width><Height>%d</Height><Format>%s</Format>"
                  "<Layers>%s</Layers><Styles></Styles></TileSet>\n",
                  gridset->tile_width, gridset->tile_height, format->mime,
                  tseed_escape_xml(layer->name, xml->pool));
}

static void put_tile_sets(const document_t *document, const tseed_layer_t *layer)
{
    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);

        for (int k = 0; tseed_tms_has(subset) && k < layer->formats->nelts; k++) {
            put_tile_set(document, layer, subset,
                         &APR_ARRAY_IDX(layer->formats, k, tseed_format_t));
        }
    }
}

/* ---- layers ---- */

static void put_degrees(const document_t *document, const tseed_layer_t *layer)
{
    const tseed_xml_t *xml = &document->xml;
    const tseed_bounds_t *box = layer->degrees;

    if (box) {
        tseed_xml_put(
            xml,
            is_130(document)
                ? "<EX_GeographicBoundingBox><westBoundLongitude>%s</westBoundLongitude>"
                  "<eastBoundLongitude>%s</eastBoundLongitude><southBoundLatitude>%s"
                  "</southBoundLatitude><northBoundLatitude>%s</northBoundLatitude>"
                  "</EX_GeographicBoundingBox>"
                : "<LatLonBoundingBox minx=\"%s\" maxx=\"%s\" miny=\"%s\" maxy=\"%s\"/>",
            tseed_text_number(box->minx, xml->pool), tseed_text_number(box->maxx, xml->pool),
            tseed_text_number(box->miny, xml->pool), tseed_text_number(box->maxy, xml->pool));
    }
}

static void put_style(const tseed_xml_t *xml, const char *name)
{
    const char *escaped = tseed_escape_xml(name, xml->pool);

    tseed_xml_put(xml, "<Style><Name>%s</Name><Title>%s</Title></Style>", escaped, escaped);
}

static void put_styles(const tseed_xml_t *xml, const tseed_layer_t *layer)
{
    const tseed_filter_t *styles = tseed_layer_find_filter(layer, "STYLES");

    if (styles && *styles->default_value) {
        put_style(xml, styles->default_value);
    }
    for (int i = 0; styles && i < styles->values->nelts; i++) {
        const char *value = APR_ARRAY_IDX(styles->values, i, const char *);

        if (strcmp(value, styles->default_value) != 0) {
            put_style(xml, value);
        }
    }
}

static void put_layer(const document_t *document, const tseed_layer_t *layer)
{
    const char *name = tseed_escape_xml(layer->name, document->xml.pool);
    const char *key = is_130(document) ? "CRS" : "SRS";
    const apr_array_header_t *boxes = tseed_xml_boxes(layer, 0, document->xml.pool);

    tseed_xml_put(&document->xml, "      <Layer><Name>%s</Name><Title>%s</Title>", name, name);
    for (int i = 0; i < boxes->nelts; i++) {
        tseed_xml_put(&document->xml, "<%s>EPSG:%d</%s>", key,
                      APR_ARRAY_IDX(boxes, i, tseed_xml_box_t).epsg, key);
    }
    put_degrees(document, layer);
    for (int i = 0; i < boxes->nelts; i++) {
        put_box(document, &APR_ARRAY_IDX(boxes, i, tseed_xml_box_t), key);
    }
    put_styles(&document->xml, layer);
    tseed_xml_put(&document->xml, "</Layer>\n");
}

const char *tseed_wms_capabilities(const tseed_service_t *service, tseed_wms_dialect_t dialect,
                                   apr_pool_t *pool)
{
    document_t document = {service, tseed_escape_xml(service->base, pool), dialect,
                           tseed_xml_begin(pool)};
    const tseed_xml_t *xml = &document.xml;

    put_head(&document);
    tseed_xml_put(xml, "  <Capability>\n");
    put_requests(&document);
    if (dialect == TSEED_WMS_111_TILED) {
        tseed_xml_put(xml, "    <VendorSpecificCapabilities>\n");
        for (int i = 0; i < service->layers->nelts; i++) {
            put_tile_sets(&document, APR_ARRAY_IDX(service->layers, i, tseed_layer_t *));
        }
        tseed_xml_put(xml, "    </VendorSpecificCapabilities>\n");
    }
    tseed_xml_put(xml, "    <Layer><Title>Tiles</Title>\n");
    for (int i = 0; i < service->layers->nelts; i++) {
        put_layer(&document, APR_ARRAY_IDX(service->layers, i, tseed_layer_t *));
    }
    tseed_xml_put(xml, "    </Layer>\n  </Capability>\n</%s>\n",
                  is_130(&document) ? "WMS_Capabilities" : "WMT_MS_Capabilities");
    return tseed_xml_end(xml);
}

const char *tseed_wms_exception(tseed_wms_dialect_t dialect, const tseed_query_problem_t *detail,
                                const char *problem, apr_pool_t *pool)
{
    const char *code = detail->code ? apr_pstrcat(pool, " code=\"", detail->code, "\"", NULL) : "";
    const char *escaped = tseed_escape_xml(problem, pool);

    return dialect == TSEED_WMS_130
               ? apr_pstrcat(pool, TSEED_XML_PROLOG,
                             "<ServiceExceptionReport xmlns=\"http://www.opengis.net/ogc\""
                             " version=\"1.3.0\">\n  <ServiceException",
                             code, ">", escaped, "</ServiceException>\n</ServiceExceptionReport>\n",
                             NULL)
               : apr_pstrcat(pool, TSEED_XML_PROLOG,
                             "<!DOCTYPE ServiceExceptionReport SYSTEM "
                             "\"http://schemas.opengis.net/wms/1.1.1/exception_1_1_1.dtd\">\n"
                             "<ServiceExceptionReport version=\"1.1.1\">\n  <ServiceException",
                             code, ">", escaped, "</ServiceException>\n</ServiceExceptionReport>\n",
                             NULL);
}
