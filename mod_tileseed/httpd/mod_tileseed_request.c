/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions that handlers of the REST interface ask about their request. */
#include "mod_tileseed_handlers.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "base/tseed_text.h"
#include "board/tseed_board_host.h"
#include "mod_tileseed_public.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_members.h"
#include "state/tseed_hosts.h"

#define QUOTE_MAX 200 /* of what the client sent, in a message */

int tseed_rest_sees(const tseed_rest_t *rest, const char *layer)
{
    return tseed_dir_conf_sees(rest->dir, layer);
}

const tseed_layer_t *tseed_rest_find_layer(const tseed_rest_t *rest)
{
    return tseed_rest_sees(rest, rest->route.layer)
               ? tseed_catalog_find_layer(rest->conf->catalog, rest->route.layer)
               : NULL;
}

/* Where several hosts may share the database, each of them accepts tasks from the first moment on,
 * before any other one has heard of it. So the database alone knows all tasks there. */
int tseed_rest_board_is_current(const tseed_rest_t *rest)
{
    return !tseed_hosts_can_share(rest->conf->settings.db_driver) &&
           !tseed_board_is_crowded(rest->board) &&
           tseed_board_seeder(rest->board, NULL, NULL, NULL) == TSEED_SEEDER_WORKING &&
           tseed_board_applied(rest->board) >= tseed_board_committed(rest->board);
}

apr_array_header_t *tseed_rest_live(const tseed_rest_t *rest, const char *layer)
{
    apr_pool_t *pool = rest->r->pool;
    apr_array_header_t *rows = tseed_board_list(rest->board, layer, 1, pool);

    return rows ? rows : apr_array_make(pool, 1, sizeof(tseed_row_t));
}

static int compare_row(const void *id, const void *row)
{
    const int64_t left = *(const int64_t *)id, right = ((const tseed_row_t *)row)->id;

    return (left > right) - (left < right);
}

const tseed_row_t *tseed_rest_live_row(const apr_array_header_t *live, int64_t id)
{
    return bsearch(&id, live->elts, (size_t)live->nelts, (size_t)live->elt_size, compare_row);
}

void tseed_rest_replace_reason(const tseed_rest_t *rest, tseed_progress_t *progress)
{
    if (progress->state != TSEED_PENDING && progress->state != TSEED_RUNNING) {
        return;
    }
    if (tseed_board_seeder(rest->board, NULL, NULL, NULL) == TSEED_SEEDER_STOPPED) {
        tseed_progress_tell(progress, TSEED_REASON_HOST,
                            "waits for a start of httpd: its seeder has stopped");
    } else if (tseed_board_is_standby(rest->board) && !*tseed_board_host_get(rest->board).active) {
        tseed_progress_tell(progress, TSEED_REASON_HOST,
                            "waits for a host: none works on this cache just now");
    }
}

/* The layer that is meant, among those that this location sees; NULL: the name is far from all. */
static const char *layer_meant(const tseed_rest_t *rest)
{
    const apr_array_header_t *all = rest->conf->catalog->order;
    const char **known = apr_pcalloc(rest->r->pool, ((size_t)all->nelts + 1) * sizeof(*known));
    int count = 0;

    for (int i = 0; i < all->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(all, i, const tseed_layer_t *);

        if (tseed_rest_sees(rest, layer->name)) {
            known[count++] = layer->name;
        }
    }
    return tseed_name_meant(rest->route.layer, known);
}

int tseed_rest_refuse_some(const tseed_rest_t *rest, const char *what)
{
    return rest->dir->layers
               ? tseed_reply_error(rest->r, HTTP_FORBIDDEN,
                                   "%s is about all layers and can't be asked for here: "
                                   "TileSeedLayers lets this location see some alone",
                                   what)
               : DECLINED;
}

int tseed_rest_unknown_layer(tseed_rest_t *rest)
{
    apr_pool_t *pool = rest->r->pool;
    const char *layer = tseed_escape_plain(rest->route.layer, pool);
    const char *meant = layer_meant(rest);

    layer = tseed_text_quote(layer, QUOTE_MAX, pool);
    if (meant) {
        return tseed_reply_error(rest->r, HTTP_BAD_REQUEST, "Unknown layer: %s. Is %s meant?",
                                 layer, meant);
    }
    return tseed_reply_error(rest->r, HTTP_BAD_REQUEST,
                             "Unknown layer: %s; %s/layers.json lists the layers", layer,
                             tseed_public_path(rest->dir, rest->base, pool));
}
