/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Authorising again.
 *
 * Before the handler runs, httpd walks down to the request's file and applies the <Directory>
 * sections on the way. If httpd follows symbolic links, it believes tseed_tiles_translate that the
 * file exists, and applies all sections. If httpd does not follow links, it looks at each directory
 * and stops at the first missing one: the sections of the directories below do not apply. When the
 * tile has been stored all directories exist. So a subrequest for the same address is looked up
 * then, to which all sections apply.
 */
#include "mod_tileseed_access.h"

#include <apr_file_info.h>
#include <apr_strings.h>
#include <http_request.h>
#include <string.h>

/* Whether httpd's walk came as far as the file. httpd keeps the path without doubled slashes. */
static int was_walked(const request_rec *r, const char *path)
{
    char *merged;

    return strcmp(r->filename, path) == 0 ||
           (apr_filepath_merge(&merged, NULL, path, APR_FILEPATH_NOTRELATIVE, r->pool) ==
                APR_SUCCESS &&
            strcmp(r->filename, merged) == 0);
}

static const char *address_of(const request_rec *r)
{
    return apr_pstrcat(r->pool, ap_os_escape_path(r->pool, r->uri, 1), r->args ? "?" : NULL,
                       r->args, NULL);
}

int tseed_access_again(request_rec *r, const char *path)
{
    request_rec *again;

    if (was_walked(r, path)) {
        return OK;
    }
    again = ap_sub_req_method_uri("GET", address_of(r), r, NULL);
    if (again->status != HTTP_OK) {
        r->err_headers_out = apr_table_overlay(r->pool, r->err_headers_out, again->err_headers_out);
        return again->status;
    }
    if (!was_walked(again, path)) {
        return HTTP_NOT_FOUND;
    }
    r->per_dir_config = again->per_dir_config; /* the subrequest lives as long as the request */
    return OK;
}
