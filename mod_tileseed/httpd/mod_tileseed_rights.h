/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the user of a request may do at other addresses, judged by httpd's own access control.
 * Request threads. */
#ifndef MOD_TILESEED_RIGHTS_H
#define MOD_TILESEED_RIGHTS_H

#include <httpd.h>

#include "mod_tileseed_config.h"

/* The client of a request, and who that is: httpd asks for no password where everybody may read,
 * though the client has sent one. Zeroed but for `r` at first. */
typedef struct {
    request_rec *r;
    char *user;
    int is_asked;
} tseed_client_rights_t;

/* Whether httpd would let the client send a request of that method to `path`, which is unescaped. A
 * client that httpd would ask who it is may not. */
int tseed_rights_may(tseed_client_rights_t *client, const char *method, const char *path);

/* The configuration of a location that serves tiles, as the user of `r` would meet it; NULL if it
 * serves none, or may not be read. Lives as long as the request. */
const tseed_dir_conf_t *tseed_rights_tiles(request_rec *r, const char *base);

#endif
