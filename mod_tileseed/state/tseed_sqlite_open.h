/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Opening SQLite's file: made, migrated, or replaced when it is damaged; and the ids that were
 * given out, whatever becomes of the file. Private to the state room; the thread that uses the
 * connection. */
#ifndef TSEED_SQLITE_OPEN_H
#define TSEED_SQLITE_OPEN_H

#include <apr_pools.h>
#include <stdint.h>

#include "state/tseed_database.h"

extern const tseed_sql_dialect_t tseed_sqlite_dialect;

/* Checks the whole file: TSEED_EDAMAGED. */
apr_status_t tseed_sqlite_look_through(tseed_database_t *db);

/* Checks the whole file and replaces it if it is damaged. Fails when it can't be replaced. */
apr_status_t tseed_sqlite_replace(tseed_database_t *db);

/* Moves the mark beside the file on, to `id` or beyond. Inside the transaction that gives the id
 * out, which must not be committed when this fails. */
apr_status_t tseed_sqlite_raise_mark(tseed_database_t *db, int64_t id);

#endif
