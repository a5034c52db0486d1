/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The directories that httpd makes for User: the state directory and the roots of stores. The pool
 * holds what they need while they run. */
#ifndef MOD_TILESEED_DIRS_H
#define MOD_TILESEED_DIRS_H

#include <httpd.h>

#include "protocol/tseed_settings.h"

/* Warns of stores in which the process that asks can't make files. Seeder, as User. */
void tseed_dirs_check(const tseed_catalog_t *catalog, server_rec *server, apr_pool_t *pool);

/* Closes the MPM's pipes, sockets that listen, and files that httpd writes to, access logs among
 * them. /dev/null gets their numbers, so that no number comes to mean something else. Error logs
 * stay open, and so do other sockets, because a logging module may use one. Seeder, before it opens
 * anything and before it drops privileges. Does nothing without /proc. */
void tseed_descriptors_leave(const server_rec *servers);

#endif
