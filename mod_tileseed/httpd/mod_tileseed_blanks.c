/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Blank tiles, made once for each format in each grid set. */
#include "mod_tileseed_blanks.h"

#include <http_log.h>

#include "image/tseed_blank.h"
#include "mod_tileseed.h"

APLOG_USE_MODULE(tileseed);

static void make(tseed_chart_t *chart, server_rec *server, apr_pool_t *pool)
{
    const tseed_gridset_t *gridset = chart->subset->gridset;

    for (int i = 0; i < chart->count; i++) {
        tseed_served_t *served = &chart->served[i];
        const char *problem =
            tseed_blank_make(&served->blank, &served->blank_length, served->tileset.format,
                             gridset->tile_width, gridset->tile_height, pool);

        if (problem) {
            ap_log_error(APLOG_MARK, APLOG_ERR, 0, server,
                         "TS0014: layer %s: no empty tile could be made, 404 is answered: %s",
                         chart->layer->name, problem);
        }
    }
}

void tseed_blanks_make(const tseed_atlas_t *atlas, server_rec *server, apr_pool_t *pool)
{
    for (tseed_chart_t *const *chart = tseed_atlas_charts(atlas); *chart; chart++) {
        if ((*chart)->layer->on_miss == TSEED_ON_MISS_EMPTY) {
            make(*chart, server, pool);
        }
    }
}
