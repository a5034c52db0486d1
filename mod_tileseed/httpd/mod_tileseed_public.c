/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The public address of a location, and whether a client may go there. */
#include "mod_tileseed_public.h"

#include <string.h>

#include <apr_strings.h>
#include <apr_uri.h>
#include <http_core.h>

/* A location within the directive's section has the same address with its own path behind. */
const char *tseed_public_path(const tseed_dir_conf_t *dir, const char *base, apr_pool_t *pool)
{
    const size_t length = dir->public_url ? strlen(dir->public_base) : 0;

    if (dir->public_url && strncmp(base, dir->public_base, length) == 0) {
        return apr_pstrcat(pool, dir->public_url, ap_os_escape_path(pool, base + length, 1), NULL);
    }
    return ap_os_escape_path(pool, base, 1);
}

const char *tseed_public_url(request_rec *r, const tseed_dir_conf_t *dir, const char *base)
{
    const char *path = tseed_public_path(dir, base, r->pool);

    return *path && *path != '/' ? path : ap_construct_url(r->pool, path, r);
}

const char *tseed_public_origin(const tseed_dir_conf_t *dir, apr_pool_t *pool)
{
    apr_uri_t uri;
    char *origin;

    if (!dir->public_url || apr_uri_parse(pool, dir->public_url, &uri) != APR_SUCCESS) {
        return NULL;
    }
    origin = uri.port && uri.port != apr_uri_port_of_scheme(uri.scheme)
                 ? apr_psprintf(pool, "%s://%s:%u", uri.scheme, uri.hostname, (unsigned)uri.port)
                 : apr_pstrcat(pool, uri.scheme, "://", uri.hostname, NULL);
    ap_str_tolower(origin);
    return origin;
}
