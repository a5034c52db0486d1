/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Locations with TileSeedTiles on. */
#ifndef MOD_TILESEED_TILES_H
#define MOD_TILESEED_TILES_H

#include <httpd.h>

#include "mod_tileseed_config.h"

/* Makes the configuration's atlas, in `pool`. post_config of the real pass, parent. */
void tseed_tiles_prepare(tseed_server_conf_t *conf, server_rec *server, apr_pool_t *pool);

/* Makes the file of a tile the file of the request, as an Alias would. So httpd deals with the path
 * of a file once, and with the right path. translate_name hook. */
int tseed_tiles_translate(request_rec *r);

/* Names our handler, unless the address is REST's; runs after tseed_rest_fixups. fixups hook. */
int tseed_tiles_fixups(request_rec *r);

/* Serves a tile. handler hook, request thread. */
int tseed_tiles_handler(request_rec *r);

/* Counts the hit of a tile that httpd has served from a directory with TileSeedTiles count.
 * log_transaction hook. */
int tseed_tiles_log(request_rec *r);

#endif
