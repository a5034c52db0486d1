/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The configuration as requests and processes find it. */
#include "mod_tileseed_config.h"

#include <apr_strings.h>
#include <apr_uri.h>
#include <httpd.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "mod_tileseed.h"

APLOG_USE_MODULE(tileseed);

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

/* ---- the address by which clients call a location ---- */

/* A location within the directive's section has the same address with its own path behind. */
const char *tseed_public_path(const tseed_dir_conf_t *dir, const char *base, apr_pool_t *pool)
{
    const size_t length = dir->public_url ? strlen(dir->public_base) : 0;

    if (dir->public_url && strncmp(base, dir->public_base, length) == 0) {
        return apr_pstrcat(pool, dir->public_url, ap_os_escape_path(pool, base + length, 1), NULL);
    }
    return ap_os_escape_path(pool, base, 1);
}

/* ---- what all files of this room use ---- */

int tseed_run_hook(int (*hook)(request_rec *), request_rec *r)
{
    const locale_t before = tseed_ascii_enter();
    int status = hook(r);

    tseed_ascii_leave(before);
    return status;
}

void tseed_httpd_log(void *server, tseed_log_level_t level, apr_status_t rv, const char *line)
{
    ap_log_error(APLOG_MARK, (int)level, rv, server, "%s", line);
}
