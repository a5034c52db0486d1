/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* One connection to the database through apr_dbd: statements, transactions, errors in words, and
 * the file under our feet. Private to the state room; one thread at a time. What is read lives in
 * `pool`; a scratch pool holds what a call needs while it runs. */
#ifndef TSEED_DATABASE_H
#define TSEED_DATABASE_H

#include <apr_dbd.h>
#include <apr_pools.h>
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

#include "state/tseed_statements.h"

/* Statuses beside APR's own. ESTALE: the file was replaced or removed, or the schema has changed;
 * connect again. EDAMAGED: the content of the file is damaged. */
#define TSEED_ESTALE   ESTALE
#define TSEED_EDAMAGED EUCLEAN

#define TSEED_DATABASE_ERROR_SIZE 512

/* Advice on what can't be opened or written. */
#define TSEED_DATABASE_NEEDS                                                                       \
    "; httpd's User must be able to write to the state directory and what is in it, on a file "    \
    "system that is mounted for writing"

/* The differences between SQLite and PostgreSQL, beside the functions for SQLite alone below. */
typedef struct {
    const char *driver;         /* apr_dbd's name */
    const char *package;        /* Debian's, that brings it */
    const char *const *session; /* said once a connection, NULL at the end; each gives a row */
    const char *begin;          /* a transaction that may write */
    const char *tables;         /* counts the tables named meta */
    const char *check;          /* says "ok" of a file that is not damaged */
} tseed_sql_dialect_t;

typedef struct {
    const char *path;
    const tseed_sql_dialect_t *dialect;
    apr_pool_t *parent;
    apr_pool_t *pool; /* of the connection, below parent; NULL: not connected */
    const apr_dbd_driver_t *driver;
    apr_dbd_t *handle;
    apr_dbd_prepared_t *prepared[TSEED_SQL_COUNT];
    dev_t device; /* of the file that is open */
    ino_t inode;
    const char *log_path; /* SQLite's write-ahead log, */
    ino_t log_inode;      /* 0: not known */
    int in_transaction;
    int is_uncertain; /* a commit failed that may be found done later */
    int lost;    /* TSEED_ESTALE, TSEED_EDAMAGED or EROFS was met: connect before the next use */
    int suspect; /* TSEED_EDAMAGED was met: check the file before the next use */
    char error[TSEED_DATABASE_ERROR_SIZE]; /* the last failure in words */
} tseed_database_t;

/* The dialect of a driver of apr_dbd, or NULL: not one that is supported. */
const tseed_sql_dialect_t *tseed_sql_dialect_find(const char *driver);

/* Remembers a failure in words and returns `rv`. */
apr_status_t tseed_database_fail(tseed_database_t *db, apr_status_t rv, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens db->path, which must exist, for this session. Nothing is prepared yet. */
apr_status_t tseed_database_connect(tseed_database_t *db);
apr_status_t tseed_database_prepare(tseed_database_t *db);

/* SQLite: readers and the writer don't wait for each other in WAL mode, which the file remembers.
 */
apr_status_t tseed_database_use_wal(tseed_database_t *db, apr_pool_t *scratch);

/* SQLite: brings everything from the log into the file, which may be renamed then. */
apr_status_t tseed_database_finish(tseed_database_t *db, apr_pool_t *scratch);

/* Rolls back and closes; may be called at any time. */
void tseed_database_disconnect(tseed_database_t *db);

/* Looks which file is SQLite's log, after the first read has made it. */
void tseed_database_know_log(tseed_database_t *db);

/* TSEED_ESTALE unless the paths still lead to the file that was opened and its log. */
apr_status_t tseed_database_check_file(tseed_database_t *db);

/* Bytes; 0: there is no log. */
int64_t tseed_database_log_size(const tseed_database_t *db);

/* Call it when the log alone was removed or replaced: brings the part of the log that this
 * connection still sees into the database. APR_EBUSY while somebody else is reading. */
apr_status_t tseed_database_rescue_log(tseed_database_t *db, apr_pool_t *scratch);

/* A transaction. Commit checks the file before and after, because an insert into a file that was
 * removed would succeed and be lost. A commit that failed is made void in the log; when that fails
 * as well, is_uncertain is set. */
apr_status_t tseed_database_begin(tseed_database_t *db);
apr_status_t tseed_database_commit(tseed_database_t *db);
void tseed_database_rollback(tseed_database_t *db);

/* execute: runs a fixed statement that has no rows. ask: runs one and gives the first column of its
 * first row as text in `pool` (NULL: no row). */
apr_status_t tseed_database_execute(tseed_database_t *db, const char *sql);
apr_status_t tseed_database_ask(tseed_database_t *db, const char **answer, const char *sql,
                                apr_pool_t *pool);

/* A prepared statement that changes; `args` point to values of the types that the statement names
 * (strings themselves). *rows may be NULL. */
apr_status_t tseed_database_change(tseed_database_t *db, int *rows, tseed_sql_t sql,
                                   const void *const *args);

/* The rows of a prepared statement, all read already, in `pool`. */
typedef struct {
    tseed_database_t *db;
    apr_dbd_results_t *results;
    apr_dbd_row_t *row;
    int column;
    apr_pool_t *pool;
} tseed_rows_t;

/* Reads all rows; `args` as for a change. A failure is remembered by tseed_database_fail. */
apr_status_t tseed_database_select(tseed_rows_t *rows, tseed_database_t *db, tseed_sql_t sql,
                                   const void *const *args, apr_pool_t *pool);

/* Goes to the next row; 0 at the end. */
int tseed_rows_next(tseed_rows_t *rows);

/* The columns of the row, one after the other. NULL is "" and 0. Texts live in the rows' pool. */
const char *tseed_rows_text(tseed_rows_t *rows);
int64_t tseed_rows_int64(tseed_rows_t *rows);
int tseed_rows_int(tseed_rows_t *rows);
double tseed_rows_double(tseed_rows_t *rows);

#endif
