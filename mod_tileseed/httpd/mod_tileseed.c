/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The module record and its hooks.
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

#include <ap_mpm.h>
#include <apr_optional_hooks.h>
#include <http_core.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_status.h>
#include <mpm_common.h>

#include "base/tseed_ascii.h"
#include "mod_tileseed_audit.h"
#include "mod_tileseed_child.h"
#include "mod_tileseed_config.h"
#include "mod_tileseed_dump.h"
#include "mod_tileseed_metrics.h"
#include "mod_tileseed_rest.h"
#include "mod_tileseed_status.h"
#include "mod_tileseed_supervise.h"
#include "mod_tileseed_tiles.h"
#include "protocol/tseed_document.h"

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
    if (conf->settings.miss_waiters == 0) {
        conf->settings.miss_waiters = waiters_by_default();
    }
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_CONFIG &&
        conf->catalog->order->nelts > 0) {
        tseed_config_warn(server, ptemp);
        tseed_config_boxes(server, pconf, ptemp);
        tseed_tiles_prepare(conf, server, pconf);
        tseed_supervise_start(&conf->settings, conf->catalog, pconf, server);
    }
    return OK;
}

/* Children ask no upstream: what may be read from their memory has no passwords. */
static void forget_credentials(const tseed_catalog_t *catalog)
{
    for (apr_hash_index_t *i = apr_hash_first(NULL, catalog->upstreams); i; i = apr_hash_next(i)) {
        const tseed_upstream_t *upstream = apr_hash_this_val(i);

        if (upstream->credentials) {
            explicit_bzero((char *)upstream->credentials, strlen(upstream->credentials));
        }
    }
}

static void child_init(apr_pool_t *pchild, server_rec *server)
{
    (void)pchild;
    forget_credentials(tseed_conf_get(server)->catalog);
    tseed_log_sink_set(tseed_httpd_log, server);
    tseed_document_init();
    tseed_child_init(&tseed_conf_get(server)->settings, server);
}

static int monitor(apr_pool_t *pool, server_rec *server)
{
    (void)pool;
    (void)server;
    tseed_supervise_watch();
    return DECLINED;
}

/* ---- in the C locale ----
 *
 * A neighbour may have set another locale. Our own code does not ask it (base/tseed_ascii.h), but
 * APR's tables do when they compare the names of parameters. */

static int run(int (*hook)(request_rec *), request_rec *r)
{
    const locale_t before = tseed_ascii_enter();
    int status = hook(r);

    tseed_ascii_leave(before);
    return status;
}

static int tiles_translate(request_rec *r)
{
    return run(tseed_tiles_translate, r);
}

static int rest_fixups(request_rec *r)
{
    return run(tseed_rest_fixups, r);
}

static int tiles_fixups(request_rec *r)
{
    return run(tseed_tiles_fixups, r);
}

static int rest_handler(request_rec *r)
{
    return run(tseed_rest_handler, r);
}

static int tiles_handler(request_rec *r)
{
    return run(tseed_tiles_handler, r);
}

static int check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
    const locale_t before = tseed_ascii_enter();
    int status = tseed_config_check(pconf, plog, ptemp, server);

    tseed_ascii_leave(before);
    return status;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_pre_config(tseed_config_pre, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_test_config(tseed_dump, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(monitor, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_translate_name(tiles_translate, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(rest_fixups, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(tiles_fixups, NULL, NULL, APR_HOOK_MIDDLE + 1);
    ap_hook_handler(rest_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(tseed_metrics_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(tiles_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(tseed_audit_log, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(tseed_tiles_log, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, tseed_status_section, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA tileseed_module = {
    STANDARD20_MODULE_STUFF, tseed_dir_conf_create, tseed_dir_conf_merge, NULL, NULL,
    tseed_directives,        register_hooks,
#if defined(AP_MODULE_FLAG_NONE)
    AP_MODULE_FLAG_NONE,
#endif
};
