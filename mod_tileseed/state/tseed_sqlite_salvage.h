/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What outlives SQLite's file: the ids that were given out, and the rows of a damaged one. Private
 * to the state room; the thread that uses the connection.
 *
 *      tileseed.db                    the database
 *      tileseed.db-wal, -shm          SQLite's own
 *      tileseed.ids                   the mark: no id above it was ever given out
 *      tileseed.db.rescue             a damaged database, until a new one is in its place
 *      tileseed.db.new                the new database, until it is complete
 *      tileseed.db.damaged-<time>     a damaged database that was replaced
 */
#ifndef TSEED_SQLITE_SALVAGE_H
#define TSEED_SQLITE_SALVAGE_H

#include "state/tseed_database.h"

/* Opens db->path and migrates it. *version: of the schema it had, 0 when it was empty. */
typedef apr_status_t tseed_sqlite_open_t(tseed_database_t *db, int *version);

/* Brings everything from the log into the file, which may be renamed then. EBUSY: not now. */
apr_status_t tseed_sqlite_finish(tseed_database_t *db);

/* Whether a damaged database was moved away and nothing is in its place. */
int tseed_sqlite_is_away(const tseed_database_t *db);

/* Sets the damaged database aside and opens a fresh one with what can be read of it. Under the
 * opening lock. */
apr_status_t tseed_sqlite_salvage(tseed_database_t *db, tseed_sqlite_open_t *open, int *version);

/* Sees to it that ids go on from the mark, after the file was opened. The mark is always ahead of
 * the ids and never falls back. Under the opening lock. */
apr_status_t tseed_sqlite_settle_ids(tseed_database_t *db, int version);

/* Moves the mark on, to `id` or beyond. Inside the transaction that gives the id out, which must
 * not be committed when this fails. */
apr_status_t tseed_sqlite_raise_mark(tseed_database_t *db, int64_t id);

#endif
