/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The module record, the parts of the module, and the hooks of them all.
 *
 *      pre_config       a fresh configuration each time httpd reads its files
 *      check_config     every mistake, with file and line; no side effect (httpd -t runs it)
 *      test_config      the dump of the configuration, if httpd -t is asked for one
 *      post_config      board, doorbell, seeder: in the real pass only, after every other module
 *      child_init       a child's own log sink and database mutex
 *      monitor          once in a while: is the seeder alive?
 *      translate_name   a tile's address to its file, below a location with TileSeedTiles on
 *      fixups/handler   REST below a location with TileSeedRest on; tiles; metrics
 *      log_transaction  counts hits of tiles that httpd itself serves, from a directory with
 *                       TileSeedTiles; logs changes that httpd itself has refused
 */
#include "mod_tileseed.h"

#include <stdlib.h>
#include <string.h>

#include <httpd.h>
#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_core.h>

#include "mod_tileseed_config.h"
#include "mod_tileseed_directive.h"
#include "protocol/tseed_document.h"

/* ---- the parts ---- */

/* In the order in which they start, and their hooks run where httpd lets them choose. */
#define PARTS(X)                                                                                   \
    X(config_server)                                                                               \
    X(hosts)                                                                                       \
    X(config_upstream)                                                                             \
    X(config_gridset)                                                                              \
    X(config_layer)                                                                                \
    X(config_seeding)                                                                              \
    X(config_location)                                                                             \
    X(config_check)                                                                                \
    X(dump)                                                                                        \
    X(config_guard)                                                                                \
    X(config_boxes)                                                                                \
    X(reply)                                                                                       \
    X(rest)                                                                                        \
    X(tasks)                                                                                       \
    X(history)                                                                                     \
    X(quota)                                                                                       \
    X(layers)                                                                                      \
    X(overview)                                                                                    \
    X(status)                                                                                      \
    X(tiles)                                                                                       \
    X(delivery)                                                                                    \
    X(dirs)                                                                                        \
    X(supervise)

#define DECLARE(name) extern const tseed_module_part_t tseed_##name##_part;
#define ADDRESS(name) &tseed_##name##_part,

PARTS(DECLARE)

static const tseed_module_part_t *const parts[] = {PARTS(ADDRESS) NULL};

/* More than all parts have. */
#define DIRECTIVES_MOST 128

static command_rec directives[DIRECTIVES_MOST + 1];

/* httpd takes one table of directives, as soon as the module is loaded. */
__attribute__((constructor)) static void chain_directives(void)
{
    size_t count = 0;

    for (size_t i = 0; parts[i]; i++) {
        for (const command_rec *row = parts[i]->directives; row && row->name; row++) {
            if (count == DIRECTIVES_MOST) {
                abort();
            }
            memcpy(&directives[count], row, sizeof(*row));
            directives[count++].func.raw_args = tseed_directive;
        }
    }
}

/* ---- hooks ---- */

/* TileSeedMissWaiters by default: a quarter of MaxRequestWorkers, so that the others go on being
 * served, the upstream among them if it lives in this server. */
static int waiters_by_default(void)
{
    int processes = 0, threads = 0;

    ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &processes);
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    return (processes * (threads > 0 ? threads : 1) + 3) / 4;
}

/* Without a layer there is nothing to do, and nothing is made. */
static int post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
    tseed_server_conf_t *conf = tseed_conf_get(server);

    (void)plog;
    conf->parts = parts;
    if (conf->settings.miss_waiters == 0) {
        conf->settings.miss_waiters = waiters_by_default();
    }
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_CONFIG &&
        conf->catalog->order->nelts > 0) {
        for (size_t i = 0; parts[i]; i++) {
            if (parts[i]->start) {
                parts[i]->start(server, pconf, ptemp);
            }
        }
    }
    return OK;
}

static void child_init(apr_pool_t *pchild, server_rec *server)
{
    (void)pchild;
    tseed_log_sink_set(tseed_httpd_log, server);
    tseed_document_init();
}

static void register_hooks(apr_pool_t *pool)
{
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    for (size_t i = 0; parts[i]; i++) {
        if (parts[i]->hook) {
            parts[i]->hook(pool);
        }
    }
}

/* ---- the record ---- */

static void *create_dir_conf(apr_pool_t *pool, char *path)
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
static void *merge_dir_confs(apr_pool_t *pool, void *outer, void *inner)
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

module AP_MODULE_DECLARE_DATA tileseed_module = {
    STANDARD20_MODULE_STUFF, create_dir_conf, merge_dir_confs, NULL, NULL, directives,
    register_hooks,
#if defined(AP_MODULE_FLAG_NONE)
    AP_MODULE_FLAG_NONE,
#endif
};
