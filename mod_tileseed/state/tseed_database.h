/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* One connection to the database through apr_dbd: statements, transactions and errors in words.
 * What SQLite and PostgreSQL do each in its own way comes through the dialect. For the state room,
 * and for rooms that bring statements of their own; one thread at a time. What is read lives in
 * `pool`; a scratch pool holds what a call needs while it runs. */
#ifndef TSEED_DATABASE_H
#define TSEED_DATABASE_H

#include <apr_dbd.h>
#include <apr_pools.h>
#include <apr_tables.h>
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

#include "state/tseed_statements.h"

/* Statuses beside APR's own. ESTALE: the file was replaced or removed, or the schema has changed;
 * connect again. EDAMAGED: the content of the file is damaged. */
#define TSEED_ESTALE   ESTALE
#define TSEED_EDAMAGED EUCLEAN

#define TSEED_DATABASE_ERROR_SIZE 512

typedef struct tseed_database_t tseed_database_t;

/* The differences between SQLite and PostgreSQL. */
typedef struct {
    const char *driver;          /* apr_dbd's name */
    const char *package;         /* Debian's, that brings it */
    const char *const *session;  /* said once a connection, NULL at the end; each gives a row */
    const char *begin;           /* a transaction that may write */
    const char *tables;          /* counts the tables named meta */
    const char *const *migrates; /* said first where the schema is changed; each gives a row */
    const char *const *patience; /* what takes long is not given up for the rest of a transaction */
    /* by tseed_sql_t: what is said in the place of tseed_statements; NULL: the same */
    const char *const *statements;
    /* the database is a file of this machine, tseed_sqlite.h. Else each statement is a round
     * trip, and statements that nobody waits for go together */
    int has_file;
    int has_types; /* parameters have types: statements are prepared by name; text is UTF-8 */
    int tries;     /* how often a call is tried when its connection is lost */
    /* Gives the text by which the driver opens the database, and the name of the database in
     * messages. NULL: a sentence was remembered by tseed_database_fail. */
    const char *(*params)(tseed_database_t *db, const char *dir, const char *params);
    /* Opens the database that is closed: connects, migrates. */
    apr_status_t (*open)(tseed_database_t *db);
    /* Fails when the connection does not lead to the database any more. */
    apr_status_t (*check)(tseed_database_t *db);
    /* Ends the transaction. A failure sets is_uncertain when nobody knows what became of it. */
    apr_status_t (*commit)(tseed_database_t *db);
    /* Remembers a failure by the driver's words and returns its status. */
    apr_status_t (*failed)(tseed_database_t *db, const char *words);
} tseed_sql_dialect_t;

struct tseed_database_t {
    const char *path; /* what the driver opens */
    const char *name; /* what messages call it; no secret is in it */
    const tseed_sql_dialect_t *dialect;
    apr_pool_t *parent;
    apr_pool_t *pool;    /* of the connection, below parent; NULL: not connected */
    apr_pool_t *values;  /* below it: of the arguments of one change, or of those that wait */
    apr_pool_t *scratch; /* of a call, which clears it */
    const apr_dbd_driver_t *driver;
    apr_dbd_t *handle;
    apr_dbd_prepared_t *prepared[TSEED_SQL_MOST];
    apr_array_header_t *waiting; /* const char *, parts of what waits; NULL: nothing does */
    size_t waiting_bytes;        /* of it */
    int in_transaction;
    int is_broken;        /* a statement of the transaction has failed: it can't be committed */
    int is_uncertain;     /* a commit failed that may be found done later */
    int is_away;          /* there was no connection to be had: another try at once is of no use */
    int lost;             /* connect before the next use */
    int suspect;          /* TSEED_EDAMAGED was met: check the file before the next use */
    apr_time_t looked_at; /* monotonic: at the version of the schema, see tseed_pgsql.c */
    /* of a database that is a file */
    dev_t device; /* of the file that is open */
    ino_t inode;
    const char *log_path;                  /* SQLite's write-ahead log, */
    ino_t log_inode;                       /* 0: not known */
    int64_t mark;                          /* ids up to here may be given out */
    char error[TSEED_DATABASE_ERROR_SIZE]; /* the last failure in words */
};

/* Remembers a failure in words and returns `rv`. */
apr_status_t tseed_database_fail(tseed_database_t *db, apr_status_t rv, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A failure that a driver tells apart by words alone. */
typedef struct {
    const char *words; /* a part of the driver's; "": any, the last of its table */
    apr_status_t rv;
    const char *advice; /* for people, behind the driver's words */
} tseed_driver_failure_t;

/* The first failure of a table whose words are among those of the driver. Any thread. */
const tseed_driver_failure_t *tseed_driver_failure_of(const tseed_driver_failure_t *failures,
                                                      const char *words);

/* Opens db->path for this session. Nothing is prepared yet. */
apr_status_t tseed_database_connect(tseed_database_t *db);

/* Prepares all statements at once, which tests do. Else each is prepared at its first use. */
apr_status_t tseed_database_prepare(tseed_database_t *db);

/* Rolls back and closes; may be called at any time. */
void tseed_database_disconnect(tseed_database_t *db);

/* A transaction. Its commit is the dialect's. begin_soon: what begins it may wait for the next
 * statement, which tells then that the connection was lost. */
apr_status_t tseed_database_begin(tseed_database_t *db);
apr_status_t tseed_database_begin_soon(tseed_database_t *db);
void tseed_database_rollback(tseed_database_t *db);

/* execute: runs a fixed statement that has no rows. ask: runs one and gives the first column of its
 * first row as text in `pool` (NULL: no row). */
apr_status_t tseed_database_execute(tseed_database_t *db, const char *sql);
apr_status_t tseed_database_ask(tseed_database_t *db, const char **answer, const char *sql,
                                apr_pool_t *pool);

/* Asks each of the statements up to a NULL. */
apr_status_t tseed_database_ask_all(tseed_database_t *db, const char *const *statements,
                                    apr_pool_t *pool);

/* A prepared statement that changes; `args` point to values of the types that the statement names
 * (strings themselves). *rows: how many it has changed. Without `rows`, a change in a transaction
 * waits until something else is sent, or much waits, unless the database is a file. The call that
 * sends the change tells whether it has failed. */
apr_status_t tseed_database_change(tseed_database_t *db, int *rows, tseed_sql_t sql,
                                   const void *const *args);

/* Several changes with the same arguments, one after the other. */
apr_status_t tseed_database_change_all(tseed_database_t *db, const tseed_sql_t *sqls, int count,
                                       const void *const *args);

/* Sends what waits, if anything. Calls that send statements of their own send it as well. A
 * rollback forgets it. */
apr_status_t tseed_database_send(tseed_database_t *db);

/* The rows of a prepared statement, all read already, in `pool`. */
typedef struct {
    tseed_database_t *db;
    apr_dbd_results_t *results;
    apr_dbd_row_t *row;
    int left; /* rows that are still to come */
    int column;
    apr_pool_t *pool;
    apr_pool_t *texts; /* that texts are copied into when they are scanned; `pool` at first */
} tseed_rows_t;

/* Reads all rows; `args` as for a change. A failure is remembered by tseed_database_fail. */
apr_status_t tseed_database_select(tseed_rows_t *rows, tseed_database_t *db, tseed_sql_t sql,
                                   const void *const *args, apr_pool_t *pool);

/* Likewise, and goes to the first row. APR_NOTFOUND: there is none. */
apr_status_t tseed_database_first(tseed_rows_t *rows, tseed_database_t *db, tseed_sql_t sql,
                                  const void *const *args, apr_pool_t *pool);

/* Goes to the next row; 0 at the end. */
int tseed_rows_next(tseed_rows_t *rows);

/* The columns of the row, one after the other. NULL is "" and 0. Texts live in the rows' pool. */
const char *tseed_rows_text(tseed_rows_t *rows);
int64_t tseed_rows_int64(tseed_rows_t *rows);
int tseed_rows_int(tseed_rows_t *rows);

/* Where a column is read to; the kind comes from the pointer's type. */
typedef struct {
    char kind; /* '\0': nowhere, the columns before were the last */
    void *to;
} tseed_target_t;

#define TSEED_TARGET_KIND(to)                                                                      \
    _Generic((to),                                                                                 \
        void *: '\0',                                                                              \
        int *: 'i',                                                                                \
        int64_t *: 'l',                                                                            \
        uint64_t *: 'l',                                                                           \
        uint32_t *: 'u',                                                                           \
        double *: 'd',                                                                             \
        const char **: 's')
#define TSEED_TARGET(to) ((tseed_target_t){TSEED_TARGET_KIND(to), (to)})
#define TSEED_NOWHERE    ((void *)0)
#define TSEED_NOWHERE_4  TSEED_NOWHERE, TSEED_NOWHERE, TSEED_NOWHERE, TSEED_NOWHERE
#define TSEED_TARGETS(a, b, c, d, e, f, g, h, i, j, k, l, end, ...)                                \
    TSEED_TARGET(a), TSEED_TARGET(b), TSEED_TARGET(c), TSEED_TARGET(d), TSEED_TARGET(e),           \
        TSEED_TARGET(f), TSEED_TARGET(g), TSEED_TARGET(h), TSEED_TARGET(i), TSEED_TARGET(j),       \
        TSEED_TARGET(k), TSEED_TARGET(l),                                                          \
        ((tseed_target_t){.kind = _Generic((end), void *: '\0')})
/* The expansion of TSEED_NOWHERE_4 comes before the targets are told apart. */
#define TSEED_TARGETS_OF(...) TSEED_TARGETS(__VA_ARGS__)

/* Reads the next columns, 1 to 12 of them. A pointer to a type that no column is read to does not
 * compile, and neither do more pointers. */
#define tseed_rows_scan(rows, ...)                                                                 \
    tseed_rows_scan_into(                                                                          \
        rows, (const tseed_target_t[]){TSEED_TARGETS_OF(__VA_ARGS__, TSEED_NOWHERE_4,              \
                                                        TSEED_NOWHERE_4, TSEED_NOWHERE_4, )})

/* Reads the columns up to a target whose kind is nowhere. */
void tseed_rows_scan_into(tseed_rows_t *rows, const tseed_target_t *targets);

/* The first column of the first row as a number; APR_NOTFOUND when there is no row. */
apr_status_t tseed_database_number(tseed_database_t *db, int64_t *number, tseed_sql_t sql,
                                   const void *const *args, apr_pool_t *scratch);

#endif
