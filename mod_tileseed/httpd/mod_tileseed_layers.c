/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handler of the list of layers, which says what the client may do with each.
 *
 * Rights: a subrequest that is looked up and never run. httpd finds the sections that apply to the
 * address and asks its access control, as for a request of its own. If the same sections apply to
 * the request that is being answered, httpd takes the user of that request and does not ask its
 * access control. But rules may name methods, and the two methods may differ. So this file asks
 * then.
 */
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_request.h>

#include "mod_tileseed_draft.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_public.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_layers_document.h"

/* ---- rights ---- */

/* The client of a request, and who that is: httpd asks for no password where everybody may read,
 * though the client has sent one. Zeroed but for `r` at first. */
typedef struct {
    request_rec *r;
    char *user;
    int is_asked;
} client_rights_t;

/* A refusal here is nobody's attempt, and not worth a line of the error log. A refusal of httpd's
 * own, where other sections apply, has its line. */
static const struct ap_logconf quiet = {.level = APLOG_EMERG};

/* Finds out who the client is, once: a password takes time to check. */
static int has_user(client_rights_t *client, request_rec *asked)
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
static int is_granted(client_rights_t *client, request_rec *r)
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

/* Whether httpd would let the client send a request of that method to `path`, which is unescaped. A
 * client that httpd would ask who it is may not. */
static int rights_may(client_rights_t *client, const char *method, const char *path)
{
    request_rec *asked = look_up(client->r, method, path);
    const int may =
        asked->status == HTTP_OK &&
        (asked->per_dir_config != client->r->per_dir_config || is_granted(client, asked));

    ap_destroy_sub_req(asked);
    return may;
}

/* The configuration of a location that serves tiles, as the user of `r` would meet it; NULL if it
 * serves none, or may not be read. Lives as long as the request. */
static const tseed_dir_conf_t *rights_tiles(request_rec *r, const char *base)
{
    request_rec *asked = look_up(r, "GET", apr_pstrcat(r->pool, base, "/tms/1.0.0", NULL));
    const tseed_dir_conf_t *dir = ap_get_module_config(asked->per_dir_config, &tileseed_module);

    return asked->status == HTTP_OK && dir->tiles == TSEED_TILES_ON ? dir : NULL;
}

/* ---- the list ---- */

static int may(const tseed_rest_t *rest, client_rights_t *client, const char *method,
               const char *address)
{
    return rights_may(client, method, apr_pstrcat(rest->r->pool, rest->base, address, NULL));
}

/* Where some layers alone are seen, what is about all of them is refused. */
static tseed_layers_rights_t rights_of(const tseed_rest_t *rest, client_rights_t *client)
{
    const int sees_all = !rest->dir->layers;

    return (tseed_layers_rights_t){
        .terminate = may(rest, client, "POST", "/seed"),
        .quota = may(rest, client, "PUT", "/diskquota.json"),
        .reconcile = sees_all && may(rest, client, "POST", "/diskquota/reconcile"),
        .clean_up = sees_all && may(rest, client, "POST", "/diskquota/cleanup"),
    };
}

/* The locations that serve tiles to the client, as const tseed_dir_conf_t *. */
static apr_array_header_t *find_tiles(const tseed_rest_t *rest)
{
    const apr_array_header_t *bases = rest->conf->drafts->tile_bases;
    apr_array_header_t *found =
        apr_array_make(rest->r->pool, bases->nelts + 1, sizeof(const tseed_dir_conf_t *));

    for (int i = 0; i < bases->nelts; i++) {
        const tseed_dir_conf_t *dir = rights_tiles(rest->r, APR_ARRAY_IDX(bases, i, const char *));

        if (dir) {
            APR_ARRAY_PUSH(found, const tseed_dir_conf_t *) = dir;
        }
    }
    return found;
}

/* Where the first location that serves tiles of a layer has them. Rows are counted from the bottom,
 * as everywhere in this interface. */
static const char *template_of(const apr_array_header_t *dirs, const char *layer)
{
    for (int i = 0; i < dirs->nelts; i++) {
        const tseed_dir_conf_t *dir = APR_ARRAY_IDX(dirs, i, const tseed_dir_conf_t *);

        if (tseed_dir_conf_sees(dir, layer)) {
            return apr_pstrcat(dirs->pool, tseed_public_path(dir, dir->tiles_base, dirs->pool),
                               "/tms/", ap_escape_path_segment(dirs->pool, layer),
                               "/{gridSetId}/{z}/{x}/{y}.{extension}", NULL);
        }
    }
    return NULL;
}

int tseed_handle_layers(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const apr_array_header_t *all = rest->conf->catalog->order;
    const apr_array_header_t *tiles = find_tiles(rest);
    client_rights_t client = {.r = r};
    const tseed_layers_rights_t rights = rights_of(rest, &client);
    apr_array_header_t *seen = apr_array_make(r->pool, all->nelts, sizeof(tseed_layers_entry_t));

    for (int i = 0; i < all->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(all, i, const tseed_layer_t *);

        if (tseed_rest_sees(rest, layer->name)) {
            APR_ARRAY_PUSH(seen, tseed_layers_entry_t) = (tseed_layers_entry_t){
                .layer = layer,
                .tiles = template_of(tiles, layer->name),
                .may_seed = may(rest, &client, "POST",
                                apr_pstrcat(r->pool, "/seed/", layer->name, ".json", NULL)),
            };
        }
    }
    return tseed_reply_document(r, TSEED_BODY_JSON, tseed_layers_document(seen, &rights, r->pool));
}
