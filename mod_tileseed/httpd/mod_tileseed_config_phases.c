/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The configuration's way: its defaults before the directives are read, its check afterwards. */
#include "mod_tileseed_config.h"

#include <ap_mpm.h>
#include <apr_network_io.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <unixd.h>

#include "mod_tileseed.h"
#include "mod_tileseed_draft.h"
#include "protocol/tseed_host_document.h"

APLOG_USE_MODULE(tileseed);

#ifndef TSEED_STATE_DIR
#define TSEED_STATE_DIR "/var/lib/tileseed"
#endif

#define BLOCK_SIZE_USUAL 4096

/* ---- before the directives ---- */

static int workers_by_default(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 2 ? 2 : cores > 256 ? 256 : (int)cores;
}

/* The name of the machine, as far as it can be the name of a host. */
static const char *host_by_default(apr_pool_t *pool)
{
    char name[APRMAXHOSTLEN + 1] = "";

    if (apr_gethostname(name, sizeof(name), pool) != APR_SUCCESS ||
        !tseed_host_name_is_good(name)) {
        return "localhost";
    }
    return apr_pstrdup(pool, name);
}

static void settings_init(tseed_settings_t *settings, apr_pool_t *pool)
{
    *settings = (tseed_settings_t){
        .state_dir = TSEED_STATE_DIR,
        .db_driver = "sqlite3",
        .host = host_by_default(pool),
        .lease = apr_time_from_sec(5),
        .threads = 16,
        .workers = workers_by_default(),
        .max_tasks = 16384,
        .history_most = 10000,
        .history_age = apr_time_from_sec(30 * 86400),
        .give_up = apr_time_from_sec(86400),
        .max_request_body = 64 * 1024,
        .nice = 10,
        .server_status = 1,
        .sync = 1,
        .stop_timeout = apr_time_from_msec(500),
        .hang_timeout = apr_time_from_sec(60),
        .quota_directive = "",
        .quota_files = INT64_MAX,
        .quota_grace = apr_time_from_sec(15 * 60),
    };
    tseed_quota_config_init(&settings->quota, 0, pool);
}

/* Virtual hosts have no configuration of their own, so httpd gives them the main server's. */
int tseed_config_pre(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    tseed_server_conf_t *conf = apr_pcalloc(pconf, sizeof(*conf));

    (void)plog;
    (void)ptemp;
    settings_init(&conf->settings, pconf);
    conf->catalog = tseed_catalog_create(pconf);
    conf->drafts = tseed_drafts_create(pconf);
    ap_set_module_config(ap_server_conf->module_config, &tileseed_module, conf);
    return OK;
}

/* ---- after the directives ---- */

/* Block size of the file system that has `path`, or will have it when it is made. */
static int64_t block_size_of(const char *path, apr_pool_t *pool)
{
    char *ancestor = apr_pstrdup(pool, path);
    struct statvfs found;

    while (statvfs(*ancestor ? ancestor : "/", &found) != 0) {
        char *slash = strrchr(ancestor, '/');

        if (!slash) {
            return BLOCK_SIZE_USUAL;
        }
        *slash = '\0';
    }
    return (int64_t)found.f_frsize;
}

/* The quota's default block size is that of the first store. */
static void settle_block_size(tseed_server_conf_t *conf, apr_pool_t *pool)
{
    const apr_array_header_t *layers = conf->catalog->order;

    if (conf->settings.quota.block_size == 0) {
        const char *path = layers->nelts ? APR_ARRAY_IDX(layers, 0, tseed_layer_t *)->store.root
                                         : conf->settings.state_dir;

        conf->settings.quota.block_size = block_size_of(path, pool);
    }
}

static int mpm_forks(void)
{
    int forks;

    return ap_mpm_query(AP_MPMQ_IS_FORKED, &forks) == APR_SUCCESS && forks != AP_MPMQ_NOT_SUPPORTED;
}

/* Seeder and children change their root before they open anything. */
static void warn_of_chroot(const tseed_server_conf_t *conf, const server_rec *server)
{
    if (ap_unixd_config.chroot_dir && conf->catalog->order->nelts > 0 &&
        ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, server,
                     "TS0002: ChrootDir %s: TileSeedStateDir and the stores lie below it, and so "
                     "must what is loaded and read later: APR's database driver with its library, "
                     "what finds hosts by name, certificates of authorities",
                     ap_unixd_config.chroot_dir);
    }
}

static void warn_of_password(const tseed_server_conf_t *conf, const server_rec *server)
{
    if (conf->open_password && ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, server,
                     "TS0079: %s has the password of TileSeedDatabase, and anybody on this machine "
                     "may read the file; put the password into a file of httpd's User with the "
                     "mode 0600 and name that file by passfile=",
                     conf->open_password);
    }
}

int tseed_config_check(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
    tseed_server_conf_t *conf = tseed_conf_get(server);
    int mistakes = tseed_drafts_finish(conf, pconf);

    (void)plog;
    if (conf->catalog->order->nelts > 0 && !mpm_forks()) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, server,
                     "TS0001: this MPM can't have a process beside its own, event, worker or "
                     "prefork is needed");
        mistakes++;
    }
    if (mistakes) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    warn_of_chroot(conf, server);
    warn_of_password(conf, server);
    settle_block_size(conf, ptemp);
    return OK;
}
