/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pages of other sites.
 *
 * A page can make a browser send requests to any server, with the credentials that the browser has
 * for that server, and from the browser's network. So a page of another site could terminate all
 * tasks. The browser says where the page comes from, in Origin (RFC 6454) and Sec-Fetch-Site (W3C
 * Fetch Metadata). Other clients send neither header.
 *
 * A page is our own if its origin is the public address, the canonical name (when clients are to
 * use it), or the host of the request. The host is not enough where nobody logs in: the owner of a
 * page can let his own name point to our address after the page is loaded (DNS rebinding). The
 * request passes where Require ip lets the browser in, or where there is no guard at all. So
 * without a login the host must be one of our names, also for a browser that only reads. With a
 * login the host may be any name: for the name of that owner the browser has no credentials of
 * ours.
 */
#include "mod_tileseed_origin.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <string.h>

#include "mod_tileseed.h"
#include "mod_tileseed_public.h"

static const char *without_port(const char *authority, const char *port, apr_pool_t *pool)
{
    size_t length = strlen(authority), behind = strlen(port);

    return length > behind && strcmp(authority + length - behind, port) == 0
               ? apr_pstrmemdup(pool, authority, length - behind)
               : authority;
}

/* Whether a page comes from the host that the client calls us by. Its scheme does not count: a
 * proxy may have ended TLS before us. */
static int is_of_host(const request_rec *r, const char *origin)
{
    const char *host = apr_table_get(r->headers_in, "Host");
    const char *authority = strstr(origin, "://");
    const char *usual = apr_cstr_casecmpn(origin, "https:", 6) == 0 ? ":443" : ":80";

    return host && authority &&
           apr_cstr_casecmp(without_port(authority + 3, usual, r->pool),
                            without_port(host, usual, r->pool)) == 0;
}

/* No name: an address, or what every browser takes for one. */
static int is_address(const char *host)
{
    return *host == '[' || !host[strspn(host, "0123456789.")] ||
           apr_cstr_casecmp(host, "localhost") == 0;
}

static int is_among(const apr_array_header_t *names, const char *host)
{
    for (int i = 0; names && i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);

        if (name && ap_strcasecmp_match(host, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Whether the name by which the client calls us is one of this virtual host's, without its port. */
static int is_our_name(const request_rec *r)
{
    const server_rec *server = r->server;
    const char *host = r->hostname; /* of the Host header, in lower case */

    return host &&
           (is_address(host) || strchr(host, ':') || is_among(server->names, host) ||
            is_among(server->wild_names, host) ||
            (server->server_hostname && apr_cstr_casecmp(server->server_hostname, host) == 0));
}

static int is_canonical(request_rec *r, const char *origin)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);

    return core->use_canonical_name == USE_CANONICAL_NAME_ON &&
           apr_cstr_casecmp(origin, ap_construct_url(r->pool, "", r)) == 0;
}

static int is_public(const request_rec *r, const tseed_dir_conf_t *dir, const char *origin)
{
    const char *ours = tseed_public_origin(dir, r->pool);

    return ours && apr_cstr_casecmp(origin, ours) == 0;
}

static int is_let_in(const tseed_dir_conf_t *dir, const char *origin)
{
    for (int i = 0; dir->origins && i < dir->origins->nelts; i++) {
        if (apr_cstr_casecmp(origin, APR_ARRAY_IDX(dir->origins, i, const char *)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* "none" is a person, "same-origin" a page of the origin that the browser asks. */
static int is_sent_by_another_site(const request_rec *r)
{
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site");

    return site && apr_cstr_casecmp(site, "none") != 0 &&
           apr_cstr_casecmp(site, "same-origin") != 0;
}

static const char *foreign(const request_rec *r, const char *origin)
{
    return apr_psprintf(r->pool,
                        "a page of another site (%s) may not do this; TileSeedCheckOrigin can "
                        "allow it",
                        origin);
}

/* Every browser says that it is Mozilla, and a page can't change that. */
static int is_browser(const request_rec *r)
{
    const char *agent = apr_table_get(r->headers_in, "User-Agent");

    return (agent && strncmp(agent, "Mozilla/", 8) == 0) ||
           apr_table_get(r->headers_in, "Sec-Fetch-Site");
}

/* Whether the name by which a browser calls us is one of an origin that may send requests. */
static int is_name_let_in(const request_rec *r, const tseed_dir_conf_t *dir)
{
    const char *host = apr_table_get(r->headers_in, "Host");
    const char *http = apr_pstrcat(r->pool, "http://", host ? host : "", NULL);
    const char *https = apr_pstrcat(r->pool, "https://", host ? host : "", NULL);

    return is_let_in(dir, http) || is_let_in(dir, https) || is_public(r, dir, http) ||
           is_public(r, dir, https);
}

/* A page may read what comes from the name of its own server, without saying so in a header. */
static const char *refuse_reading(request_rec *r, const tseed_dir_conf_t *dir)
{
    return r->user || !is_browser(r) || is_our_name(r) || is_name_let_in(r, dir)
               ? NULL
               : apr_psprintf(r->pool,
                              "nobody has logged in, and %s is none of this server's names, so a "
                              "browser may not read this; ServerName, ServerAlias, "
                              "TileSeedPublicURL or TileSeedCheckOrigin can say that it is",
                              r->hostname ? r->hostname : "an empty name");
}

const char *tseed_origin_refusal(request_rec *r, const tseed_dir_conf_t *dir)
{
    const char *origin = apr_table_get(r->headers_in, "Origin");

    if (dir->check_origin == TSEED_OFF) {
        return NULL;
    }
    if (r->method_number == M_GET) {
        return refuse_reading(r, dir);
    }
    if (!origin) {
        return is_sent_by_another_site(r) ? foreign(r, "its browser says so") : NULL;
    }
    if (is_let_in(dir, origin) || is_public(r, dir, origin) || is_canonical(r, origin)) {
        return NULL;
    }
    if (!is_of_host(r, origin) || is_sent_by_another_site(r)) {
        return foreign(r, origin);
    }
    return r->user || is_our_name(r)
               ? NULL
               : apr_psprintf(
                     r->pool,
                     "a page of %s may not do this: nobody has logged in, and the name is "
                     "none of this server's; ServerName, ServerAlias, TileSeedPublicURL or "
                     "TileSeedCheckOrigin can say that it is",
                     origin);
}
