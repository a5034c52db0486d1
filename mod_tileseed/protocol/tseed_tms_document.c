/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TMS: the list of tile maps, and one of them. */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_escape.h"
#include "protocol/tseed_service.h"
#include "protocol/tseed_xml_write.h"

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
