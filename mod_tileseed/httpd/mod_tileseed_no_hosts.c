/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The same in a build without the fleet: it knows no other host, and says so. */
#include <httpd.h>

#include "mod_tileseed_directive.h"
#include "mod_tileseed_dump.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"

static const char *refuse(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    (void)cmd;
    (void)dir;
    (void)words;
    return TSEED_NO_FLEET;
}

static void show_nothing(const tseed_dump_t *dump, const void *conf)
{
    (void)dump;
    (void)conf;
}

static const command_rec directives[] = {
    TSEED_DIRECTIVE("TileSeedHost", TSEED_SHOWN(TSEED_IN_SERVER, 0, -1, refuse, show_nothing),
                    "nothing: this module is for one host"),
    TSEED_DIRECTIVE("TileSeedLease", TSEED_SHOWN(TSEED_IN_SERVER, 0, -1, refuse, show_nothing),
                    "nothing: this module is for one host"),
    {.name = NULL},
};

static int handle_hosts(tseed_rest_t *rest)
{
    const int status = tseed_rest_refuse_some(rest, "the list of hosts");

    return status == DECLINED
               ? tseed_reply_error(rest->r, HTTP_NOT_IMPLEMENTED, "%s", TSEED_NO_FLEET)
               : status;
}

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_HOSTS, .handle = handle_hosts, .keys = tseed_no_key},
    {.action = TSEED_ACTION_DRAIN,
     .handle = handle_hosts,
     .has_body = 1,
     .changes = 1,
     .keys = tseed_no_key},
    {.handle = NULL},
};

const tseed_module_part_t tseed_hosts_part = {.directives = directives, .handlers = handlers};
