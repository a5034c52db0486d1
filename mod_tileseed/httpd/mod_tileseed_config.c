/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The configuration as requests and processes find it, and how sections of it are merged. */
#include "mod_tileseed_config.h"

#include <apr_strings.h>
#include <http_main.h>
#include <string.h>

#include "mod_tileseed.h"

/* ---- of the server ---- */

tseed_server_conf_t *tseed_conf_get(const server_rec *server)
{
    return ap_get_module_config(server->module_config, &tileseed_module);
}

tseed_server_conf_t *tseed_conf_main(void)
{
    return tseed_conf_get(ap_server_conf);
}

/* ---- of a location ---- */

void *tseed_dir_conf_create(apr_pool_t *pool, char *path)
{
    tseed_dir_conf_t *dir = apr_pcalloc(pool, sizeof(*dir));

    (void)path;
    dir->rest = TSEED_UNSET;
    dir->page = TSEED_UNSET;
    dir->tiles = TSEED_TILES_UNSET;
    dir->dialect = TSEED_DIALECT_UNSET;
    dir->metrics = TSEED_UNSET;
    dir->check_origin = TSEED_UNSET;
    return dir;
}

/* A section that has set one of two members takes both from itself: `rest` and its path, a switch
 * and its origins or directory. */
void *tseed_dir_conf_merge(apr_pool_t *pool, void *outer, void *inner)
{
    const tseed_dir_conf_t *below = outer;
    const tseed_dir_conf_t *above = inner;
    tseed_dir_conf_t *merged = apr_pmemdup(pool, below, sizeof(*below));

    if (above->rest != TSEED_UNSET) {
        merged->rest = above->rest;
        merged->base = above->base;
    }
    if (above->page != TSEED_UNSET) {
        merged->page = above->page;
        merged->page_dir = above->page_dir;
    }
    if (above->tiles != TSEED_TILES_UNSET) {
        merged->tiles = above->tiles;
        merged->tiles_base = above->tiles_base;
    }
    if (above->dialect != TSEED_DIALECT_UNSET) {
        merged->dialect = above->dialect;
    }
    if (above->metrics != TSEED_UNSET) {
        merged->metrics = above->metrics;
    }
    if (above->layers) {
        merged->layers = above->layers;
    }
    if (above->check_origin != TSEED_UNSET) {
        merged->check_origin = above->check_origin;
        merged->origins = above->origins;
    }
    if (above->public_url) {
        merged->public_url = above->public_url;
        merged->public_base = above->public_base;
    }
    return merged;
}

int tseed_dir_conf_sees(const tseed_dir_conf_t *dir, const char *layer)
{
    const apr_array_header_t *only = dir->layers;

    for (int i = 0; only && i < only->nelts; i++) {
        if (strcmp(layer, APR_ARRAY_IDX(only, i, const char *)) == 0) {
            return 1;
        }
    }
    return only == NULL;
}
