/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Refusals: what a request wants becomes nothing, in the words of the service it speaks. */
#include "mod_tileseed_wanted.h"

#include <apr_strings.h>

#include "base/tseed_text.h"

#define QUOTE_MAX 200 /* of what the client sent, in a message */

void tseed_wanted_refuse(tseed_wanted_t *wanted, int status, const char *code, const char *locator,
                         const char *problem)
{
    wanted->kind = TSEED_WANTED_NOTHING;
    wanted->status = wanted->service == TSEED_SERVICE_PLAIN || status == HTTP_NOT_IMPLEMENTED
                         ? status
                         : HTTP_BAD_REQUEST;
    wanted->detail = (tseed_query_problem_t){code, locator};
    wanted->problem = problem;
}

void tseed_wanted_refuse_place(tseed_wanted_t *wanted, apr_pool_t *pool)
{
    const tseed_chart_t *chart = wanted->chart;
    const tseed_tile_t *tile = &wanted->tile;
    const char *locator;

    if (tile->z < chart->subset->zoom_first || tile->z > chart->subset->zoom_last) {
        tseed_wanted_refuse(wanted, HTTP_NOT_FOUND, "InvalidParameterValue",
                            wanted->service == TSEED_SERVICE_WMS ? "BBOX" : "TILEMATRIX",
                            apr_psprintf(pool, "the layer has no such level, it has %d to %d",
                                         chart->subset->zoom_first, chart->subset->zoom_last));
        return;
    }
    locator = tile->x < chart->ranges[tile->z].minx || tile->x > chart->ranges[tile->z].maxx
                  ? "TILECOL"
                  : "TILEROW";
    tseed_wanted_refuse(wanted, HTTP_NOT_FOUND, "TileOutOfRange",
                        wanted->service == TSEED_SERVICE_WMS ? "BBOX" : locator,
                        "the layer has no tile there");
}

void tseed_wanted_refuse_request(tseed_wanted_t *wanted, const char *expected, apr_pool_t *pool)
{
    const char *request = apr_table_get(wanted->query, "REQUEST");

    tseed_wanted_refuse(
        wanted, HTTP_BAD_REQUEST, request ? "InvalidParameterValue" : "MissingParameterValue",
        "REQUEST",
        apr_psprintf(pool, "REQUEST '%s' is not possible, GetCapabilities or %s is expected",
                     tseed_text_quote(request ? request : "", QUOTE_MAX, pool), expected));
}
