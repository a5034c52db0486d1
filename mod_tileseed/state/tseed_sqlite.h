/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* SQLite's ways: the file and the log under our feet, SQLite's words of failures, commits. Private
 * to the state room; one thread at a time. */
#ifndef TSEED_SQLITE_H
#define TSEED_SQLITE_H

#include "state/tseed_database.h"

extern const tseed_sql_dialect_t tseed_sqlite_dialect;

/* TSEED_ESTALE unless the paths still lead to the file that was opened and its log. */
apr_status_t tseed_sqlite_check_file(tseed_database_t *db);

/* Bytes; 0: there is no log. */
int64_t tseed_sqlite_log_size(const tseed_database_t *db);

/* Checks the whole file: TSEED_EDAMAGED. */
apr_status_t tseed_sqlite_look_through(tseed_database_t *db);

/* Checks the whole file and replaces it if it is damaged. Fails when it can't be replaced. */
apr_status_t tseed_sqlite_replace(tseed_database_t *db);

#endif
