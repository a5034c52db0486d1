/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* SQLite's part of a connection: its words of failures, and the file and the log under our feet.
 * Private to the state room; one thread at a time. The scratch pool holds what a call needs while
 * it runs. */
#ifndef TSEED_SQLITE_H
#define TSEED_SQLITE_H

#include "state/tseed_database.h"

/* Advice on what can't be opened or written. */
#define TSEED_SQLITE_NEEDS                                                                         \
    "; httpd's User must be able to write to the state directory and what is in it, on a file "    \
    "system that is mounted for writing"

/* Opens db->path, which must exist, for this session. Nothing is prepared yet. */
apr_status_t tseed_sqlite_connect(tseed_database_t *db);

/* Remembers a failure by SQLite's words and returns its status. */
apr_status_t tseed_sqlite_failed(tseed_database_t *db, const char *words);

/* Readers and the writer don't wait for each other in WAL mode, which the file remembers. */
apr_status_t tseed_sqlite_use_wal(tseed_database_t *db, apr_pool_t *scratch);

/* Brings everything from the log into the file, which may be renamed then. */
apr_status_t tseed_sqlite_finish(tseed_database_t *db, apr_pool_t *scratch);

/* Looks which file is the log, after the first read has made it. */
void tseed_sqlite_know_log(tseed_database_t *db);

/* TSEED_ESTALE unless the paths still lead to the file that was opened and its log. */
apr_status_t tseed_sqlite_check_file(tseed_database_t *db);

/* Bytes; 0: there is no log. */
int64_t tseed_sqlite_log_size(const tseed_database_t *db);

/* Call it when the log alone was removed or replaced: brings the part of the log that this
 * connection still sees into the database. APR_EBUSY while somebody else is reading. */
apr_status_t tseed_sqlite_rescue_log(tseed_database_t *db, apr_pool_t *scratch);

/* Commits. Checks the file before and after, because an insert into a file that was removed would
 * succeed and be lost. A commit that failed is made void in the log; when that fails as well,
 * is_uncertain is set. */
apr_status_t tseed_sqlite_commit(tseed_database_t *db);

#endif
