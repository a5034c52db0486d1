/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The connection.
 *
 * The error codes of apr_dbd's driver for SQLite can't be trusted. The driver prepares statements
 * in SQLite's old way, in which most failures of a step are the general SQLITE_ERROR. A locked
 * database, too, ends in SQLITE_ERROR when rows are read, after the driver has tried 16 times,
 * 100 ms apart. SQLite's words are exact, and SQLite never translates them. So this file tells
 * errors apart by SQLite's words, and a test holds the words that matter.
 */
#include "state/tseed_database.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "state/tseed_file.h"

/* synchronous=FULL syncs the log at each commit. The driver waits for locks by itself, 16 times,
 * but not while it prepares a statement. At that time the process that opened the file first may be
 * reading the log, for milliseconds. SQLite's busy timeout is long enough for that; it is set
 * before anything else reads the file. */
static const char *const sqlite_session[] = {"PRAGMA busy_timeout = 100",
                                             "PRAGMA synchronous = FULL", NULL};

static const tseed_sql_dialect_t dialects[] = {
    {"sqlite3", "libaprutil1-dbd-sqlite3", sqlite_session, "BEGIN IMMEDIATE",
     "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'meta'",
     "PRAGMA quick_check(1)"},
};

const tseed_sql_dialect_t *tseed_sql_dialect_find(const char *driver)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        if (strcmp(dialects[i].driver, driver) == 0) {
            return &dialects[i];
        }
    }
    return NULL;
}

/* ---- errors ---- */

apr_status_t tseed_database_fail(tseed_database_t *db, apr_status_t rv, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(db->error, sizeof(db->error), format, args);
    va_end(args);
    for (char *end = db->error; (end = strchr(end, '\n')) != NULL;) {
        *end = ' '; /* it becomes one line of a log */
    }
    return rv;
}

typedef struct {
    const char *words;
    apr_status_t rv;
    const char *advice;
} failure_t;

static const failure_t failures[] = {
    {"database or disk is full", ENOSPC, ""},                   /* SQLITE_FULL */
    {"is locked", EBUSY, ""},                                   /* SQLITE_BUSY, SQLITE_LOCKED */
    {"locking protocol", EBUSY, ""},                            /* SQLITE_PROTOCOL */
    {"malformed", TSEED_EDAMAGED, ""},                          /* SQLITE_CORRUPT */
    {"not a database", TSEED_EDAMAGED, ""},                     /* SQLITE_NOTADB */
    {"schema has changed", TSEED_ESTALE, ""},                   /* SQLITE_SCHEMA */
    {"not an error", TSEED_ESTALE, ""},                         /* the same, changed by us */
    {"readonly database", EROFS, TSEED_DATABASE_NEEDS},         /* SQLITE_READONLY */
    {"unable to open", EACCES, TSEED_DATABASE_NEEDS},           /* SQLITE_CANTOPEN */
    {"disk I/O error", EIO, "; the kernel's log may say more"}, /* SQLITE_IOERR */
    {"", APR_EGENERAL, ""},
};

static const failure_t *failure_of(const char *words)
{
    const failure_t *failure = failures;

    while (!strstr(words, failure->words)) {
        failure++;
    }
    return failure;
}

/* SQLite calls it an I/O error when a sync or its shared index finds no room, and when a quota of
 * the file system is used up. */
static int is_disk_full(const char *path)
{
    struct statvfs space;

    return (statvfs(path, &space) == 0 && space.f_bavail == 0) || !tseed_file_has_room(path);
}

/* SQLite says "readonly" of a file system, and of a file that we may not write to. */
static apr_status_t may_not_write(tseed_database_t *db, const char *words, const failure_t *failure)
{
    char why[TSEED_DATABASE_ERROR_SIZE];

    if (tseed_file_obstacle(why, sizeof(why), db->path)) {
        return tseed_database_fail(db, EACCES, "%s: %s", words, why);
    }
    return tseed_database_fail(db, tseed_file_is_on_readonly(db->path) ? EROFS : EACCES, "%s: %s%s",
                               db->path, words, failure->advice);
}

static apr_status_t statement_failed(tseed_database_t *db, int code)
{
    const char *words = apr_dbd_error(db->driver, db->handle, code);
    const failure_t *failure = failure_of(words);
    apr_status_t rv = failure->rv;

    if (rv == EIO && is_disk_full(db->path)) {
        return tseed_database_fail(db, ENOSPC, "%s: %s: no space is left, or a quota is used up",
                                   db->path, words);
    }
    if (rv == TSEED_ESTALE || rv == TSEED_EDAMAGED || rv == EROFS) {
        db->lost = 1; /* what SQLite could open for reading only stays so when modes change */
        db->suspect = db->suspect || rv == TSEED_EDAMAGED;
    }
    if (rv == EROFS || rv == EACCES) {
        return may_not_write(db, words, failure);
    }
    return tseed_database_fail(db, rv, "%s: %s%s", db->path, words, failure->advice);
}

/* ---- connection ---- */

static apr_status_t load_driver(tseed_database_t *db)
{
    apr_status_t rv = apr_dbd_init(db->parent);

    if (rv == APR_SUCCESS) {
        rv = apr_dbd_get_driver(db->parent, db->dialect->driver, &db->driver);
    }
    if (rv != APR_SUCCESS) {
        return tseed_database_fail(db, rv,
                                   "APR's database driver %s can't be loaded; install the package "
                                   "that brings it (Debian: %s) and restart httpd",
                                   db->dialect->driver, db->dialect->package);
    }
    return rv;
}

static apr_status_t open_session(tseed_database_t *db)
{
    const char *error = NULL, *answer;
    apr_status_t rv = apr_dbd_open_ex(db->driver, db->pool, db->path, &db->handle, &error);

    if (rv != APR_SUCCESS) {
        db->handle = NULL;
        const failure_t *failure = failure_of(error ? error : "");

        if (error && failure->rv == EACCES) {
            return may_not_write(db, error, failure);
        }
        return tseed_database_fail(db, error ? failure->rv : rv, "%s: %s%s", db->path,
                                   error ? error : "can't be opened", failure->advice);
    }
    for (const char *const *sql = db->dialect->session; rv == APR_SUCCESS && *sql; sql++) {
        rv = tseed_database_ask(db, &answer, *sql, db->pool);
    }
    return rv;
}

apr_status_t tseed_database_connect(tseed_database_t *db)
{
    struct stat file;
    apr_status_t rv = db->driver ? APR_SUCCESS : load_driver(db);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (stat(db->path, &file) != 0) {
        return tseed_database_fail(db, errno, "%s: can't be looked at", db->path);
    }
    db->device = file.st_dev;
    db->inode = file.st_ino;
    db->lost = db->in_transaction = 0;
    db->log_inode = 0;
    apr_pool_create(&db->pool, db->parent);
    db->log_path = apr_pstrcat(db->pool, db->path, "-wal", NULL);
    rv = open_session(db);
    if (rv == APR_SUCCESS) {
        rv = tseed_database_check_file(db); /* what was opened is what was looked at */
    }
    return rv;
}

apr_status_t tseed_database_prepare(tseed_database_t *db)
{
    for (int i = 0; i < TSEED_SQL_COUNT; i++) {
        int code;

        db->prepared[i] = NULL;
        code = apr_dbd_prepare(db->driver, db->pool, db->handle, tseed_statements[i], NULL,
                               &db->prepared[i]);
        if (code != 0) {
            return statement_failed(db, code);
        }
    }
    return APR_SUCCESS;
}

apr_status_t tseed_database_use_wal(tseed_database_t *db, apr_pool_t *scratch)
{
    const char *mode;
    apr_status_t rv = tseed_database_ask(db, &mode, "PRAGMA journal_mode = WAL", scratch);

    if (rv == APR_SUCCESS && (!mode || strcmp(mode, "wal") != 0)) {
        rv =
            tseed_database_fail(db, APR_ENOTIMPL,
                                "%s: write-ahead logging is not possible here; the state directory "
                                "must lie on a local file system",
                                db->path);
    }
    return rv;
}

apr_status_t tseed_database_finish(tseed_database_t *db, apr_pool_t *scratch)
{
    const char *blocked;
    apr_status_t rv = tseed_database_ask(db, &blocked, "PRAGMA wal_checkpoint(TRUNCATE)", scratch);

    return rv == APR_SUCCESS && (!blocked || strcmp(blocked, "0") != 0) ? EBUSY : rv;
}

void tseed_database_disconnect(tseed_database_t *db)
{
    tseed_database_rollback(db);
    if (db->handle) {
        apr_dbd_close(db->driver, db->handle);
        db->handle = NULL;
    }
    if (db->pool) {
        apr_pool_destroy(db->pool);
        db->pool = NULL;
    }
}

void tseed_database_know_log(tseed_database_t *db)
{
    struct stat log;

    db->log_inode = stat(db->log_path, &log) == 0 ? log.st_ino : 0;
}

static int is_file_ours(const tseed_database_t *db)
{
    struct stat file;

    return stat(db->path, &file) == 0 && file.st_dev == db->device && file.st_ino == db->inode;
}

static int is_log_ours(const tseed_database_t *db)
{
    struct stat log;

    return db->log_inode == 0 || (stat(db->log_path, &log) == 0 && log.st_ino == db->log_inode);
}

apr_status_t tseed_database_check_file(tseed_database_t *db)
{
    const char *path = db->path;

    if (is_file_ours(db)) {
        if (is_log_ours(db)) {
            return APR_SUCCESS;
        }
        path = db->log_path;
    }
    db->lost = 1;
    return tseed_database_fail(db, TSEED_ESTALE, "%s: was replaced or removed while it was in use",
                               path);
}

int64_t tseed_database_log_size(const tseed_database_t *db)
{
    struct stat log;

    return stat(db->log_path, &log) == 0 ? (int64_t)log.st_size : 0;
}

/* A new log that holds something was begun by a process that had brought in the old one. This
 * connection knows the old one alone and must not read with the new one's index. */
static int has_new_log(const tseed_database_t *db)
{
    return tseed_database_log_size(db) > 0;
}

apr_status_t tseed_database_rescue_log(tseed_database_t *db, apr_pool_t *scratch)
{
    apr_status_t rv;

    if (!db->handle || db->suspect || !is_file_ours(db) || is_log_ours(db) || has_new_log(db)) {
        return APR_SUCCESS;
    }
    rv = tseed_database_finish(db, scratch);
    if (rv == APR_SUCCESS) {
        tseed_log(
            TSEED_LOG_WARNING, APR_SUCCESS,
            "TS0046: %s was removed while the database was in use; what it held is in the database "
            "now, nothing is lost",
            db->log_path);
        db->log_inode = 0;
    }
    return rv;
}

/* ---- transactions ---- */

apr_status_t tseed_database_begin(tseed_database_t *db)
{
    apr_status_t rv = tseed_database_execute(db, db->dialect->begin);

    db->in_transaction = rv == APR_SUCCESS;
    return rv;
}

/* A commit whose sync failed has written its pages behind the valid end of the log. If all
 * processes died now, the process that opens the log next would take these pages for committed.
 * Another commit overwrites them and makes them void. That commit must change something, or SQLite
 * writes nothing. */
static int annul(tseed_database_t *db)
{
    char error[sizeof(db->error)];
    int done;

    memcpy(error, db->error, sizeof(error));
    done = tseed_database_execute(db, "INSERT INTO meta (name, value) VALUES ('failed_commits', 1)"
                                      " ON CONFLICT (name) DO UPDATE SET value = meta.value + 1") ==
           APR_SUCCESS;
    memcpy(db->error, error, sizeof(error));
    return done;
}

/* The log was removed after the check: the commit is safe when the database has it. Another file in
 * the place of the database: the one that was changed may come back. */
static apr_status_t check_committed(tseed_database_t *db)
{
    apr_status_t rv = tseed_database_check_file(db);

    if (rv != APR_SUCCESS && is_file_ours(db)) {
        rv = tseed_database_rescue_log(db, db->pool);
    }
    db->is_uncertain = rv != APR_SUCCESS;
    return rv;
}

apr_status_t tseed_database_commit(tseed_database_t *db)
{
    apr_status_t rv = tseed_database_check_file(db);

    if (rv != APR_SUCCESS) {
        tseed_database_rollback(db);
        return rv;
    }
    rv = tseed_database_execute(db, "COMMIT");
    if (rv != APR_SUCCESS) {
        tseed_database_rollback(db);
        db->is_uncertain = rv == EIO && !annul(db); /* a full disk takes no whole commit */
        return rv;
    }
    db->in_transaction = 0;
    return check_committed(db);
}

void tseed_database_rollback(tseed_database_t *db)
{
    int rows;

    if (db->in_transaction) {
        /* may fail when the failure before has rolled back already: both mean the same */
        apr_dbd_query(db->driver, db->handle, &rows, "ROLLBACK");
        db->in_transaction = 0;
    }
}

/* ---- statements ---- */

apr_status_t tseed_database_execute(tseed_database_t *db, const char *sql)
{
    int rows = 0;
    int code = apr_dbd_query(db->driver, db->handle, &rows, sql);

    return code == 0 ? APR_SUCCESS : statement_failed(db, code);
}

apr_status_t tseed_database_ask(tseed_database_t *db, const char **answer, const char *sql,
                                apr_pool_t *pool)
{
    apr_dbd_results_t *results = NULL;
    apr_dbd_row_t *row = NULL;
    int code = apr_dbd_select(db->driver, pool, db->handle, &results, sql, 0);

    *answer = NULL;
    if (code != 0) {
        return statement_failed(db, code);
    }
    if (apr_dbd_get_row(db->driver, pool, results, &row, -1) == 0) {
        *answer = apr_dbd_get_entry(db->driver, row, 0);
    }
    return APR_SUCCESS;
}

apr_status_t tseed_database_change(tseed_database_t *db, int *rows, tseed_sql_t sql,
                                   const void *const *args)
{
    int changed = 0;
    int code = apr_dbd_pbquery(db->driver, db->pool, db->handle, &changed, db->prepared[sql],
                               (const void **)args);

    if (rows) {
        *rows = changed;
    }
    return code == 0 ? APR_SUCCESS : statement_failed(db, code);
}

apr_status_t tseed_database_select(tseed_rows_t *rows, tseed_database_t *db, tseed_sql_t sql,
                                   const void *const *args, apr_pool_t *pool)
{
    int code;

    *rows = (tseed_rows_t){.db = db, .pool = pool};
    code = apr_dbd_pbselect(db->driver, pool, db->handle, &rows->results, db->prepared[sql], 0,
                            (const void **)args);
    return code == 0 ? APR_SUCCESS : statement_failed(db, code);
}

int tseed_rows_next(tseed_rows_t *rows)
{
    rows->column = 0;
    rows->row = NULL;
    return apr_dbd_get_row(rows->db->driver, rows->pool, rows->results, &rows->row, -1) == 0;
}

const char *tseed_rows_text(tseed_rows_t *rows)
{
    const char *text = apr_dbd_get_entry(rows->db->driver, rows->row, rows->column++);

    return text ? text : "";
}

int64_t tseed_rows_int64(tseed_rows_t *rows)
{
    return apr_atoi64(tseed_rows_text(rows));
}

int tseed_rows_int(tseed_rows_t *rows)
{
    return (int)tseed_rows_int64(rows);
}

double tseed_rows_double(tseed_rows_t *rows)
{
    double value = 0;

    tseed_text_double(&value, tseed_rows_text(rows));
    return value;
}
