/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Rights: a subrequest that is looked up and never run. httpd finds the sections that apply to the
 * address and asks its access control, as for a request of its own. If the same sections apply to
 * the request that is being answered, httpd takes the user of that request and does not ask its
 * access control. But rules may name methods, and the two methods may differ. So this file asks
 * then. */
#include "mod_tileseed_rights.h"

#include <apr_strings.h>

#include <http_core.h>
#include <http_log.h>
#include <http_request.h>

#include "mod_tileseed.h"

/* A refusal here is nobody's attempt, and not worth a line of the error log. A refusal of httpd's
 * own, where other sections apply, has its line. */
static const struct ap_logconf quiet = {.level = APLOG_EMERG};

/* Finds out who the client is, once: a password takes time to check. */
static int has_user(tseed_client_rights_t *client, request_rec *asked)
{
    if (!client->is_asked && !asked->user) {
        client->is_asked = 1;
        if (ap_run_check_user_id(asked) == OK && asked->user) {
            client->user = apr_pstrdup(client->r->pool, asked->user);
        }
    }
    asked->user = asked->user ? asked->user : client->user;
    return asked->user != NULL;
}

/* As ap_process_request_internal does. */
static int is_granted(tseed_client_rights_t *client, request_rec *r)
{
    const int any = ap_satisfies(r) == SATISFY_ANY;
    int status = ap_run_access_checker(r);

    if ((status == OK) == any) {
        return any;
    }
    status = ap_run_access_checker_ex(r);
    if (status == OK && ap_satisfies(r) != SATISFY_ALL) {
        return 1;
    }
    return (status == OK || status == DECLINED) && has_user(client, r) &&
           ap_run_auth_checker(r) == OK;
}

static request_rec *look_up(request_rec *r, const char *method, const char *path)
{
    request_rec *asked =
        ap_sub_req_method_uri(method, ap_os_escape_path(r->pool, path, 1), r, NULL);

    asked->log = &quiet;
    return asked;
}

int tseed_rights_may(tseed_client_rights_t *client, const char *method, const char *path)
{
    request_rec *asked = look_up(client->r, method, path);
    const int may =
        asked->status == HTTP_OK &&
        (asked->per_dir_config != client->r->per_dir_config || is_granted(client, asked));

    ap_destroy_sub_req(asked);
    return may;
}

const tseed_dir_conf_t *tseed_rights_tiles(request_rec *r, const char *base)
{
    request_rec *asked = look_up(r, "GET", apr_pstrcat(r->pool, base, "/tms/1.0.0", NULL));
    const tseed_dir_conf_t *dir = ap_get_module_config(asked->per_dir_config, &tileseed_module);

    return asked->status == HTTP_OK && dir->tiles == TSEED_TILES_ON ? dir : NULL;
}
