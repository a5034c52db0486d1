/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writing XML: pieces, joined at the end. */
#include "protocol/tseed_xml_write.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <math.h>

#include "base/tseed_text.h"
#include "protocol/tseed_escape.h"

tseed_xml_t tseed_xml_begin(apr_pool_t *pool)
{
    return (tseed_xml_t){pool, apr_array_make(pool, 256, sizeof(const char *))};
}

void tseed_xml_put(const tseed_xml_t *xml, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    APR_ARRAY_PUSH(xml->pieces, const char *) = apr_pvsprintf(xml->pool, format, args);
    va_end(args);
}

const char *tseed_xml_end(const tseed_xml_t *xml)
{
    return apr_array_pstrcat(xml->pool, xml->pieces, '\0');
}

const char *tseed_xml_segment(const char *name, apr_pool_t *pool)
{
    return tseed_escape_xml(apr_pescape_path_segment(pool, name), pool);
}

int tseed_xml_epsg(const tseed_gridset_t *gridset)
{
    return tseed_srs_same(gridset->srs, 3857) ? 3857 : gridset->srs;
}

/* The entry of a code, a new one if there is none. */
static tseed_xml_box_t *find_box(apr_array_header_t *boxes, int epsg)
{
    tseed_xml_box_t *box;

    for (int i = 0; i < boxes->nelts; i++) {
        box = &APR_ARRAY_IDX(boxes, i, tseed_xml_box_t);
        if (box->epsg == epsg) {
            return box;
        }
    }
    box = apr_array_push(boxes);
    *box = (tseed_xml_box_t){epsg, 0, {INFINITY, INFINITY, -INFINITY, -INFINITY}};
    return box;
}

apr_array_header_t *tseed_xml_boxes(const tseed_layer_t *layer, int are_merged, apr_pool_t *pool)
{
    apr_array_header_t *boxes = apr_array_make(pool, 2, sizeof(tseed_xml_box_t));

    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);
        const tseed_gridset_t *gridset = subset->gridset;
        tseed_xml_box_t *box = find_box(boxes, are_merged ? tseed_xml_epsg(gridset) : gridset->srs);

        box->north_east = gridset->north_east;
        box->bounds.minx = fmin(box->bounds.minx, subset->extent.minx);
        box->bounds.miny = fmin(box->bounds.miny, subset->extent.miny);
        box->bounds.maxx = fmax(box->bounds.maxx, subset->extent.maxx);
        box->bounds.maxy = fmax(box->bounds.maxy, subset->extent.maxy);
    }
    return boxes;
}

void tseed_xml_corners(const tseed_xml_t *xml, const tseed_bounds_t *box, int is_turned)
{
    const char *west = tseed_text_number(box->minx, xml->pool);
    const char *south = tseed_text_number(box->miny, xml->pool);
    const char *east = tseed_text_number(box->maxx, xml->pool);
    const char *north = tseed_text_number(box->maxy, xml->pool);

    tseed_xml_put(xml,
                  "<ows:LowerCorner>%s %s</ows:LowerCorner><ows:UpperCorner>%s %s"
                  "</ows:UpperCorner>",
                  is_turned ? south : west, is_turned ? west : south, is_turned ? north : east,
                  is_turned ? east : north);
}
