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

#endif
