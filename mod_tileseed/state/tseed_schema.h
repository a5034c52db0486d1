/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The schema and its migrations, forward only. Private to the state room. The thread that uses
 * the connection. The scratch pool holds what the call needs while it runs. */
#ifndef TSEED_SCHEMA_H
#define TSEED_SCHEMA_H

#include "state/tseed_database.h"

/* Reads which version the schema has; 0: the database is empty. ENOTSUP: the version is newer than
 * ours, or the database is another program's. */
apr_status_t tseed_schema_version(tseed_database_t *db, int *version, apr_pool_t *scratch);

/* Brings the schema from that version to the newest. Processes that do so at the same time take
 * turns: by SQLite's opening lock, or by a lock of the dialect's. Fails as the statements do. */
apr_status_t tseed_schema_migrate(tseed_database_t *db, int version, apr_pool_t *scratch);

#endif
