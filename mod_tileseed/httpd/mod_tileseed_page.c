/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The operators' page.
 *
 * The page is a few files: mod_tileseed/page/ in the sources. The fixups hook gives a request one
 * of them as its file, and httpd's own handler sends it, with ETag, ranges and 304. Access control
 * has judged the request by then, as it judges every address of the REST interface.
 */
#include "mod_tileseed_page.h"

#include <apr_strings.h>
#include <http_core.h>
#include <http_protocol.h>
#include <string.h>

#include "mod_tileseed_handlers.h"
#include "mod_tileseed_public.h"
#include "mod_tileseed_reply.h"

#ifndef TSEED_PAGE_DIR
#define TSEED_PAGE_DIR "/usr/share/mod_tileseed/page"
#endif

#define INDEX "index.html"

/* What a browser may load: files of this server, and what the page itself draws. */
#define POLICY                                                                                     \
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "         \
    "form-action 'self'; frame-ancestors 'none'"

int tseed_page_hides(const tseed_dir_conf_t *dir, const char *path)
{
    return dir->page == TSEED_OFF &&
           (!*path || strcmp(path, "/") == 0 || strncmp(path, "/page/", strlen("/page/")) == 0);
}

/* The type of a file, or NULL if the page has no such files. With nosniff browsers believe nothing
 * but an exact type. */
static const char *type_of(const char *name)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {
        {".html", "text/html;charset=utf-8"},
        {".css", "text/css;charset=utf-8"},
        {".js", "text/javascript;charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    const char *suffix = strrchr(name, '.');

    for (size_t i = 0; suffix && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(suffix, types[i].suffix) == 0) {
            return types[i].type;
        }
    }
    return NULL;
}

/* The name of the file that the request is for; NULL: it is for none. */
static const char *file_of(request_rec *r, const tseed_dir_conf_t *dir)
{
    const size_t length = strlen(dir->base);
    tseed_route_t route;

    if (r->method_number != M_GET || dir->page == TSEED_OFF ||
        strncmp(r->uri, dir->base, length) != 0) {
        return NULL;
    }
    route = tseed_route(r->uri + length, TSEED_METHOD_GET, r->pool);
    if (route.action != TSEED_ACTION_PAGE) {
        return NULL;
    }
    return route.file ? route.file : r->uri[length] ? INDEX : NULL;
}

static void set_headers(request_rec *r, const char *type)
{
    r->content_encoding = NULL; /* mod_mime may have seen one in a layer's name */
    r->content_languages = NULL;
    ap_set_content_type(r, type);
    apr_table_setn(r->headers_out, "Cache-Control", "no-cache");
    apr_table_setn(r->headers_out, "Content-Security-Policy", POLICY);
    apr_table_setn(r->headers_out, "Cross-Origin-Opener-Policy", "same-origin");
    apr_table_setn(r->headers_out, "Referrer-Policy", "no-referrer");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
}

int tseed_page_take(request_rec *r, const tseed_dir_conf_t *dir)
{
    const char *name = file_of(r, dir);
    const char *type = name ? type_of(name) : NULL;
    const char *path;
    apr_finfo_t found;

    if (!type) {
        return 0;
    }
    path = apr_pstrcat(r->pool, dir->page_dir ? dir->page_dir : TSEED_PAGE_DIR, "/", name, NULL);
    if (apr_stat(&found, path, APR_FINFO_MIN, r->pool) != APR_SUCCESS ||
        found.filetype != APR_REG) {
        return 0;
    }
    r->filename = (char *)path;
    r->finfo = found;
    r->path_info = apr_pstrdup(r->pool, "");
    r->handler = "default-handler";
    set_headers(r, type);
    return 1;
}

/* The address without slash at its end leads to the one with it: addresses in the page are
 * relative. Other requests that come here are for files that are not there. */
int tseed_handle_page(tseed_rest_t *rest)
{
    request_rec *r = rest->r;

    if (strcmp(r->uri, rest->base) == 0) {
        apr_table_setn(
            r->headers_out, "Location",
            apr_pstrcat(r->pool, tseed_public_path(rest->dir, rest->base, r->pool), "/", NULL));
        return tseed_reply_error(r, HTTP_MOVED_PERMANENTLY,
                                 "the page is at this address with a "
                                 "slash at its end");
    }
    return tseed_reply_error(r, HTTP_NOT_FOUND,
                             "the page has no such file; if it has none at all, TileSeedPage says "
                             "where they are");
}
