/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile matrix sets in the order of wmts.xsd. */
#include "protocol/tseed_wmts_matrices.h"

#include "base/tseed_text.h"
#include "protocol/tseed_escape.h"

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

apr_hash_t *tseed_wmts_matrices(const apr_array_header_t *layers, apr_pool_t *pool)
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

void tseed_wmts_put_links(const tseed_xml_t *xml, const tseed_subset_t *subset,
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

void tseed_wmts_put_matrices(const tseed_xml_t *xml, const apr_array_header_t *layers,
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
