/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The REST interface: manual/rest.md. */
#ifndef MOD_TILESEED_REST_H
#define MOD_TILESEED_REST_H

#include <httpd.h>

/* Names our handler for requests below a location with TileSeedRest on. fixups hook. */
int tseed_rest_fixups(request_rec *r);

/* Answers a request: OK with the answer sent, DECLINED if it is not ours. handler hook, request
 * thread. */
int tseed_rest_handler(request_rec *r);

#endif
