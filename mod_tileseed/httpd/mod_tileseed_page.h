/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The operators' page: files of a directory that httpd's own handler sends. Any process and thread
 * of httpd; the configuration is only read. */
#ifndef MOD_TILESEED_PAGE_H
#define MOD_TILESEED_PAGE_H

#include "mod_tileseed_config.h"

/* Whether a path below the base of a location with TileSeedRest is an address of the page that
 * TileSeedPage off takes away. Can't fail. */
int tseed_page_hides(const tseed_dir_conf_t *dir, const char *path);

/* If the request is for a file of the page that is there: names the file and httpd's own handler,
 * and returns 1; the headers are set. 0: the request is the REST interface's to answer. fixups
 * hook, request thread. */
int tseed_page_take(request_rec *r, const tseed_dir_conf_t *dir);

#endif
