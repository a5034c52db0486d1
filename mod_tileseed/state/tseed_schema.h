/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The schema and its migrations, forward only. Private to the state room. The process that holds
 * the opening lock. The scratch pool holds what the call needs while it runs. */
#ifndef TSEED_SCHEMA_H
#define TSEED_SCHEMA_H

#include "state/tseed_database.h"

/* Brings the schema to the newest version; *version is the one it had (0: it was empty). A version
 * newer than ours is refused with ENOTSUP before anything is written. Call under the opening
 * lock. */
apr_status_t tseed_schema_migrate(tseed_database_t *db, int *version, apr_pool_t *scratch);

#endif
