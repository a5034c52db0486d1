/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dump of `apachectl -t -D DUMP_TILESEED`: the configuration in force, written as configuration
 * with every default. httpd takes the dump, and a dump of that is the same text. */
#ifndef MOD_TILESEED_DUMP_H
#define MOD_TILESEED_DUMP_H

#include <httpd.h>

/* Writes the dump to the standard output if it was asked for. `pool` is used for the text.
 * test_config hook, parent. */
void tseed_dump(apr_pool_t *pool, server_rec *server);

#endif
