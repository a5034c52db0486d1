/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handler of the list of layers. */
#include <apr_strings.h>

#include "mod_tileseed_draft.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_public.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_rights.h"
#include "protocol/tseed_layers_document.h"

static int may(const tseed_rest_t *rest, tseed_client_rights_t *client, const char *method,
               const char *address)
{
    return tseed_rights_may(client, method, apr_pstrcat(rest->r->pool, rest->base, address, NULL));
}

/* Where some layers alone are seen, what is about all of them is refused. */
static tseed_layers_rights_t rights_of(const tseed_rest_t *rest, tseed_client_rights_t *client)
{
    const int sees_all = !rest->dir->layers;

    return (tseed_layers_rights_t){
        .terminate = may(rest, client, "POST", "/seed"),
        .quota = may(rest, client, "PUT", "/diskquota.json"),
        .reconcile = sees_all && may(rest, client, "POST", "/diskquota/reconcile"),
        .clean_up = sees_all && may(rest, client, "POST", "/diskquota/cleanup"),
    };
}

/* The locations that serve tiles to the client, as const tseed_dir_conf_t *. */
static apr_array_header_t *find_tiles(const tseed_rest_t *rest)
{
    const apr_array_header_t *bases = rest->conf->drafts->tile_bases;
    apr_array_header_t *found =
        apr_array_make(rest->r->pool, bases->nelts + 1, sizeof(const tseed_dir_conf_t *));

    for (int i = 0; i < bases->nelts; i++) {
        const tseed_dir_conf_t *dir =
            tseed_rights_tiles(rest->r, APR_ARRAY_IDX(bases, i, const char *));

        if (dir) {
            APR_ARRAY_PUSH(found, const tseed_dir_conf_t *) = dir;
        }
    }
    return found;
}

/* Where the first location that serves tiles of a layer has them. Rows are counted from the bottom,
 * as everywhere in this interface. */
static const char *template_of(const apr_array_header_t *dirs, const char *layer)
{
    for (int i = 0; i < dirs->nelts; i++) {
        const tseed_dir_conf_t *dir = APR_ARRAY_IDX(dirs, i, const tseed_dir_conf_t *);

        if (tseed_dir_conf_sees(dir, layer)) {
            return apr_pstrcat(dirs->pool, tseed_public_path(dir, dir->tiles_base, dirs->pool),
                               "/tms/", ap_escape_path_segment(dirs->pool, layer),
                               "/{gridSetId}/{z}/{x}/{y}.{extension}", NULL);
        }
    }
    return NULL;
}

int tseed_handle_layers(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const apr_array_header_t *all = rest->conf->catalog->order;
    const apr_array_header_t *tiles = find_tiles(rest);
    tseed_client_rights_t client = {.r = r};
    const tseed_layers_rights_t rights = rights_of(rest, &client);
    apr_array_header_t *seen = apr_array_make(r->pool, all->nelts, sizeof(tseed_layers_entry_t));

    for (int i = 0; i < all->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(all, i, const tseed_layer_t *);

        if (tseed_rest_sees(rest, layer->name)) {
            APR_ARRAY_PUSH(seen, tseed_layers_entry_t) = (tseed_layers_entry_t){
                .layer = layer,
                .tiles = template_of(tiles, layer->name),
                .may_seed = may(rest, &client, "POST",
                                apr_pstrcat(r->pool, "/seed/", layer->name, ".json", NULL)),
            };
        }
    }
    return tseed_reply_document(r, TSEED_BODY_JSON, tseed_layers_document(seen, &rights, r->pool));
}
