/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writing XML: pieces, joined at the end. */
#include "protocol/tseed_xml_write.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <math.h>

#include "protocol/tseed_escape.h"

/* Radius of the sphere that web mercator takes the earth for, in metres (EPSG:3857). */
#define MERCATOR_RADIUS 6378137.0
#define DEGREES         (180 / 3.14159265358979323846)

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

static double longitude(double x)
{
    return x / MERCATOR_RADIUS * DEGREES;
}

static double latitude(double y)
{
    return atan(sinh(y / MERCATOR_RADIUS)) * DEGREES;
}

int tseed_xml_degrees(tseed_bounds_t *degrees, const tseed_layer_t *layer)
{
    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);
        const tseed_bounds_t *extent = &subset->extent;

        *degrees = *extent;
        if (subset->gridset->srs == 4326) {
            return 1;
        }
        if (tseed_xml_epsg(subset->gridset) == 3857) {
            *degrees = (tseed_bounds_t){longitude(extent->minx), latitude(extent->miny),
                                        longitude(extent->maxx), latitude(extent->maxy)};
            return 1;
        }
    }
    return 0;
}
