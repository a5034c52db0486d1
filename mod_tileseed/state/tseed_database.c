/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The connection.
 *
 * Rows are always asked for as a whole. apr_dbd's driver for PostgreSQL can give them one by one as
 * well, but sleeps for 0.1 s then where there is no row.
 *
 * The driver for PostgreSQL has one type for each format: %lld is BIGINT, %d INTEGER, %s VARCHAR.
 * No statement has %f, which is REAL there, nor %lf, which loses digits.
 *
 * A change whose count of rows nobody asks for waits in its transaction. What waits goes to the
 * server as one text, with the next statement or before the commit.
 */
#include "state/tseed_database.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

#define WHOLE        1            /* the rows of a statement, at once */
#define ARGS_MOST    32           /* of a statement */
#define WAITING_MOST (256 * 1024) /* bytes that wait; a server may log them */
#define LONG_TEXT    (64 * 1024)  /* bytes of a text that goes alone, without being copied */

apr_status_t tseed_database_fail(tseed_database_t *db, apr_status_t rv, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    tseed_ascii_vprint(db->error, sizeof(db->error), format, args);
    va_end(args);
    for (char *end = db->error; (end = strchr(end, '\n')) != NULL;) {
        *end = ' '; /* it becomes one line of a log */
    }
    return rv;
}

const tseed_driver_failure_t *tseed_driver_failure_of(const tseed_driver_failure_t *failures,
                                                      const char *words)
{
    while (!strstr(words, failures->words)) {
        failures++;
    }
    return failures;
}

static apr_status_t statement_failed(tseed_database_t *db, int code)
{
    db->is_broken = db->in_transaction;
    return db->dialect->failed(db, apr_dbd_error(db->driver, db->handle, code));
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

apr_status_t tseed_database_connect(tseed_database_t *db)
{
    const char *error = NULL;
    apr_status_t rv = db->driver ? APR_SUCCESS : load_driver(db);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    db->lost = db->in_transaction = db->is_broken = db->is_away = 0;
    db->waiting = NULL;
    memset(db->prepared, 0, sizeof(db->prepared));
    apr_pool_create(&db->pool, db->parent);
    apr_pool_create(&db->values, db->pool);
    rv = apr_dbd_open_ex(db->driver, db->pool, db->path, &db->handle, &error);
    if (rv != APR_SUCCESS) {
        db->handle = NULL;
        db->is_away = 1;
        return db->dialect->failed(db, error ? error : "can't be opened");
    }
    return tseed_database_ask_all(db, db->dialect->session, db->pool);
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

/* ---- what waits ---- */

/* A part of what waits. */
static void put_text(tseed_database_t *db, const char *text)
{
    if (!db->waiting) {
        apr_pool_clear(db->values);
        db->waiting = apr_array_make(db->values, 64, sizeof(const char *));
        db->waiting_bytes = 0;
    }
    APR_ARRAY_PUSH(db->waiting, const char *) = text;
    db->waiting_bytes += strlen(text);
}

/* All that waits, as one text; nothing waits any more. */
static const char *take_waiting(tseed_database_t *db)
{
    const char *sql = apr_array_pstrcat(db->values, db->waiting, 0);

    db->waiting = NULL;
    return sql;
}

static apr_status_t execute(tseed_database_t *db, const char *sql)
{
    int rows = 0;
    int code = apr_dbd_query(db->driver, db->handle, &rows, sql);

    return code == 0 ? APR_SUCCESS : statement_failed(db, code);
}

apr_status_t tseed_database_send(tseed_database_t *db)
{
    return db->waiting ? execute(db, take_waiting(db)) : APR_SUCCESS;
}

/* ---- transactions ---- */

apr_status_t tseed_database_begin(tseed_database_t *db)
{
    apr_status_t rv = tseed_database_execute(db, db->dialect->begin);

    db->in_transaction = rv == APR_SUCCESS;
    db->is_broken = 0;
    return rv;
}

apr_status_t tseed_database_begin_soon(tseed_database_t *db)
{
    if (db->dialect->has_file) {
        return tseed_database_begin(db);
    }
    put_text(db, db->dialect->begin);
    put_text(db, ";");
    db->in_transaction = 1;
    db->is_broken = 0;
    return APR_SUCCESS;
}

void tseed_database_rollback(tseed_database_t *db)
{
    int rows;

    if (db->in_transaction) {
        /* may fail when the failure before has rolled back already: both mean the same */
        apr_dbd_query(db->driver, db->handle, &rows, "ROLLBACK");
        db->in_transaction = db->is_broken = 0;
        db->waiting = NULL;
    }
}

/* ---- fixed statements ---- */

apr_status_t tseed_database_execute(tseed_database_t *db, const char *sql)
{
    apr_status_t rv = tseed_database_send(db);

    return rv == APR_SUCCESS ? execute(db, sql) : rv;
}

apr_status_t tseed_database_ask(tseed_database_t *db, const char **answer, const char *sql,
                                apr_pool_t *pool)
{
    apr_dbd_results_t *results = NULL;
    apr_dbd_row_t *row = NULL;
    apr_status_t rv = tseed_database_send(db);
    int code;

    *answer = NULL;
    if (rv != APR_SUCCESS) {
        return rv;
    }
    code = apr_dbd_select(db->driver, pool, db->handle, &results, sql, WHOLE);
    if (code != 0) {
        return statement_failed(db, code);
    }
    if (apr_dbd_get_row(db->driver, pool, results, &row, -1) == 0) {
        *answer = apr_dbd_get_entry(db->driver, row, 0);
    }
    return APR_SUCCESS;
}

apr_status_t tseed_database_ask_all(tseed_database_t *db, const char *const *statements,
                                    apr_pool_t *pool)
{
    const char *answer;
    apr_status_t rv = APR_SUCCESS;

    for (const char *const *sql = statements; rv == APR_SUCCESS && *sql; sql++) {
        rv = tseed_database_ask(db, &answer, *sql, pool);
    }
    return rv;
}

/* ---- prepared statements ---- */

static const char *guest_text(const tseed_database_t *db, int guest)
{
    const tseed_guest_statements_t *guests = tseed_statements_guests();
    const char *own = db->dialect->has_file ? NULL : guests->of_pgsql[guest];

    return own ? own : guests->texts[guest];
}

static const char *text_of(const tseed_database_t *db, tseed_sql_t sql)
{
    const char *const *own = db->dialect->statements;

    if (sql >= TSEED_SQL_COUNT) {
        return guest_text(db, sql - TSEED_SQL_COUNT);
    }
    return own && own[sql] ? own[sql] : tseed_statements[sql];
}

static const char *label_of(tseed_sql_t sql, apr_pool_t *pool)
{
    return apr_psprintf(pool, "t%d", (int)sql);
}

static apr_status_t prepare(tseed_database_t *db, tseed_sql_t sql)
{
    const char *label = db->dialect->has_types ? label_of(sql, db->pool) : NULL;
    apr_dbd_prepared_t *prepared = NULL;
    int code =
        apr_dbd_prepare(db->driver, db->pool, db->handle, text_of(db, sql), label, &prepared);

    if (code != 0) {
        return statement_failed(db, code);
    }
    db->prepared[sql] = prepared;
    return APR_SUCCESS;
}

apr_status_t tseed_database_prepare(tseed_database_t *db)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < TSEED_SQL_COUNT + tseed_statements_guests()->count;
         i++) {
        rv = db->prepared[i] ? APR_SUCCESS : prepare(db, i);
    }
    return rv;
}

/* A text that is not UTF-8, such as the name of a user, is taken for Latin-1. */
static const char *as_utf8(const char *text, apr_pool_t *pool)
{
    char *copy, *end;

    if (tseed_text_is_utf8(text)) {
        return text;
    }
    copy = end = apr_palloc(pool, 2 * strlen(text) + 1);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        end += tseed_text_utf8_write(end, *at);
    }
    *end = '\0';
    return copy;
}

/* The arguments as the database takes them. */
static const void **arguments(const tseed_database_t *db, tseed_sql_t sql, const void *const *args,
                              apr_pool_t *pool)
{
    const void **values;
    int i = 0;

    if (!db->dialect->has_types || !args) {
        return (const void **)args;
    }
    values = apr_palloc(pool, ARGS_MOST * sizeof(*values));
    for (const char *at = text_of(db, sql); i < ARGS_MOST && (at = strchr(at, '%')) != NULL; i++) {
        values[i] = *++at == 's' ? as_utf8(args[i], pool) : args[i];
    }
    return values;
}

/* A value as it stands in a statement. `type`: the letter behind the % of its format. */
static const char *literal(const tseed_database_t *db, char type, const void *value)
{
    if (type == 's') {
        return apr_pstrcat(db->values, "'",
                           apr_dbd_escape(db->driver, db->values, value, db->handle), "'", NULL);
    }
    return type == 'd' ? apr_psprintf(db->values, "%d", *(const int *)value)
                       : apr_psprintf(db->values, "%" APR_INT64_T_FMT, *(const int64_t *)value);
}

/* Puts a prepared statement behind those that wait. */
static void put(tseed_database_t *db, tseed_sql_t sql, const void *const *args)
{
    const char *separator = "(";
    const void **values;

    put_text(db, "EXECUTE ");
    put_text(db, label_of(sql, db->values));
    values = arguments(db, sql, args, db->values);
    for (const char *at = text_of(db, sql); (at = strchr(at, '%')) != NULL; separator = ", ") {
        put_text(db, separator);
        put_text(db, literal(db, *++at, *values++));
    }
    put_text(db, *separator == ',' ? ");" : ";");
}

/* ---- changes ---- */

static apr_status_t change_now(tseed_database_t *db, int *rows, tseed_sql_t sql,
                               const void *const *args)
{
    int changed = 0, code;

    if (db->waiting) {
        put(db, sql, args);
        code = apr_dbd_query(db->driver, db->handle, &changed, take_waiting(db));
    } else {
        apr_pool_clear(db->values);
        code = apr_dbd_pbquery(db->driver, db->values, db->handle, &changed, db->prepared[sql],
                               arguments(db, sql, args, db->values));
    }
    if (rows) {
        *rows = changed;
    }
    return code == 0 ? APR_SUCCESS : statement_failed(db, code);
}

static int has_long_text(const tseed_database_t *db, tseed_sql_t sql, const void *const *args)
{
    for (const char *at = text_of(db, sql); (at = strchr(at, '%')) != NULL; args++) {
        if (*++at == 's' && strlen(*args) > LONG_TEXT) {
            return 1;
        }
    }
    return 0;
}

apr_status_t tseed_database_change(tseed_database_t *db, int *rows, tseed_sql_t sql,
                                   const void *const *args)
{
    const int goes_alone =
        !db->in_transaction || db->dialect->has_file || has_long_text(db, sql, args);
    apr_status_t rv = db->prepared[sql] ? APR_SUCCESS : prepare(db, sql);

    if (rows) {
        *rows = 0;
    }
    if (rv == APR_SUCCESS && goes_alone) {
        rv = tseed_database_send(db);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (rows || goes_alone) {
        return change_now(db, rows, sql, args);
    }
    put(db, sql, args);
    return db->waiting_bytes < WAITING_MOST ? APR_SUCCESS : tseed_database_send(db);
}

apr_status_t tseed_database_change_all(tseed_database_t *db, const tseed_sql_t *sqls, int count,
                                       const void *const *args)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < count; i++) {
        rv = tseed_database_change(db, NULL, sqls[i], args);
    }
    return rv;
}

/* ---- rows ---- */

apr_status_t tseed_database_select(tseed_rows_t *rows, tseed_database_t *db, tseed_sql_t sql,
                                   const void *const *args, apr_pool_t *pool)
{
    apr_status_t rv = db->prepared[sql] ? APR_SUCCESS : prepare(db, sql);
    int code;

    *rows = (tseed_rows_t){.db = db, .pool = pool, .texts = pool};
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (db->waiting) {
        put(db, sql, args);
        code =
            apr_dbd_select(db->driver, pool, db->handle, &rows->results, take_waiting(db), WHOLE);
    } else {
        code = apr_dbd_pbselect(db->driver, pool, db->handle, &rows->results, db->prepared[sql],
                                WHOLE, arguments(db, sql, args, pool));
    }
    if (code != 0) {
        return statement_failed(db, code);
    }
    rows->left = apr_dbd_num_tuples(db->driver, rows->results);
    return APR_SUCCESS;
}

/* The driver for PostgreSQL frees the rows when it is asked for one behind the last. */
int tseed_rows_next(tseed_rows_t *rows)
{
    rows->column = 0;
    return rows->left-- > 0 &&
           apr_dbd_get_row(rows->db->driver, rows->pool, rows->results, &rows->row, -1) == 0;
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

static void scan(tseed_rows_t *rows, const tseed_target_t *to)
{
    const char *text = tseed_rows_text(rows);

    switch (to->kind) {
    case 'i':
        *(int *)to->to = (int)apr_atoi64(text);
        break;
    case 'l':
        *(int64_t *)to->to = apr_atoi64(text);
        break;
    case 'u':
        *(uint32_t *)to->to = (uint32_t)apr_atoi64(text);
        break;
    case 'd':
        *(double *)to->to = 0;
        tseed_text_double(to->to, text);
        break;
    default:
        *(const char **)to->to = rows->texts == rows->pool ? text : apr_pstrdup(rows->texts, text);
    }
}

void tseed_rows_scan_into(tseed_rows_t *rows, const tseed_target_t *targets)
{
    for (; targets->kind; targets++) {
        scan(rows, targets);
    }
}

apr_status_t tseed_database_first(tseed_rows_t *rows, tseed_database_t *db, tseed_sql_t sql,
                                  const void *const *args, apr_pool_t *pool)
{
    const apr_status_t rv = tseed_database_select(rows, db, sql, args, pool);

    return rv == APR_SUCCESS && !tseed_rows_next(rows) ? APR_NOTFOUND : rv;
}

apr_status_t tseed_database_number(tseed_database_t *db, int64_t *number, tseed_sql_t sql,
                                   const void *const *args, apr_pool_t *scratch)
{
    tseed_rows_t rows;
    const apr_status_t rv = tseed_database_first(&rows, db, sql, args, scratch);

    if (rv == APR_SUCCESS) {
        tseed_rows_scan(&rows, number);
    }
    return rv;
}
