/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* PostgreSQL's part of a connection.
 *
 * apr_dbd's driver for PostgreSQL gives no SQLSTATE, and the server's words may be in any language.
 * So whatever fails, the transaction is rolled back, the connection is given up, and the call is
 * tried again over a new one. A connection that was reset has lost its prepared statements, so a
 * connection is never reset.
 *
 * PostgreSQL takes a COMMIT of a transaction in which a statement has failed for success, and rolls
 * back. So this file commits no such transaction. When the answer to a COMMIT is lost, nobody knows
 * whether it was done.
 *
 * Many write at the same time here, each in a transaction at READ COMMITTED. The row task_id of the
 * table meta is the lock of those who accept tasks: who gives out an id holds it until the commit,
 * so ids become visible in their order.
 */
#include "state/tseed_pgsql.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_clock.h"
#include "state/tseed_conninfo.h"
#include "state/tseed_schema.h"

#define LOOK_EVERY APR_USEC_PER_SEC /* at the version of the schema */

/* ---- failures ---- */

#define AUTHORITY_ADVICE                                                                           \
    "; sslrootcert= of TileSeedDatabase must name the certificate of the authority that has "      \
    "signed PostgreSQL's, which httpd's User can read"

/* The words of libpq, and those of a server that speaks English. */
static const tseed_driver_failure_t failures[] = {
    {"root certificate file", EINVAL, AUTHORITY_ADVICE},
    {"certificate verify failed", EACCES, AUTHORITY_ADVICE},
    {"does not match host name", EACCES,
     "; host= of TileSeedDatabase must be a name that PostgreSQL's certificate has"},
    {"could not open certificate file", EACCES,
     "; libpq looks below HOME of who has started httpd: start it by systemctl or apachectl"},
    {"Connection refused", ECONNREFUSED, "; is PostgreSQL running there, on that port?"},
    {"No such file or directory", ECONNREFUSED, "; is PostgreSQL running there, on that port?"},
    {"could not translate host name", EINVAL, "; check host= of TileSeedDatabase"},
    {"starting up", ECONNREFUSED, ""},
    {"shutting down", ECONNREFUSED, ""},
    {"too many clients", ECONNREFUSED,
     "; each process of httpd has a connection: raise max_connections of PostgreSQL"},
    {"remaining connection slots", ECONNREFUSED,
     "; each process of httpd has a connection: raise max_connections of PostgreSQL"},
    {"authentication failed", EACCES,
     "; check user= and passfile= of TileSeedDatabase: the file must belong to httpd's User and "
     "have the mode 0600"},
    {"no password supplied", EACCES,
     "; passfile= of TileSeedDatabase must name a file with a line for this host, database and "
     "user, which belongs to httpd's User and has the mode 0600"},
    {"FATAL:  role \"", EINVAL, "; check user= of TileSeedDatabase"},
    {"FATAL:  database \"", EINVAL, "; check dbname= of TileSeedDatabase"},
    {"pg_hba.conf", EACCES, "; PostgreSQL's pg_hba.conf must let this host, user and database in"},
    {"permission denied", EACCES, "; the user of TileSeedDatabase must own the database"},
    {"read-only transaction", EROFS, "; this server is a standby: name all hosts in host="},
    {"No space left on device", ENOSPC, ""},
    {"", APR_EGENERAL, ""},
};

/* The lines of libpq's words as one, each space between two of them being one. */
static const char *one_line(const char *words, apr_pool_t *pool)
{
    char *line = apr_palloc(pool, strlen(words) + 1), *end = line;

    for (const char *at = words; *at; at++) {
        const int is_space = tseed_ascii_is_space(*at);

        if (!is_space) {
            *end++ = *at;
        } else if (end > line && end[-1] != ' ') {
            *end++ = ' ';
        }
    }
    end -= end > line && end[-1] == ' ';
    *end = '\0';
    return line;
}

static apr_status_t failed(tseed_database_t *db, const char *words)
{
    const tseed_driver_failure_t *failure = tseed_driver_failure_of(failures, words);

    db->lost = 1;
    return tseed_database_fail(db, failure->rv, "%s: %s%s", db->name, one_line(words, db->scratch),
                               failure->advice);
}

/* ---- connection ---- */

static const char *params_of(tseed_database_t *db, const char *dir, const char *params)
{
    apr_table_t *conninfo;
    const char *error = tseed_conninfo_read(&conninfo, params ? params : "", db->parent);

    (void)dir;
    if (error) {
        tseed_database_fail(db, APR_EINVAL, "TileSeedDatabase: %s", error);
        return NULL;
    }
    db->name = tseed_conninfo_name(conninfo, db->parent);
    return tseed_conninfo_complete(conninfo, db->parent);
}

/* Any text must fit in. */
static apr_status_t check_encoding(tseed_database_t *db)
{
    const char *encoding;
    apr_status_t rv =
        tseed_database_ask(db, &encoding, "SELECT current_setting('server_encoding')", db->scratch);

    if (rv == APR_SUCCESS && (!encoding || strcmp(encoding, "UTF8") != 0)) {
        rv = tseed_database_fail(db, ENOTSUP,
                                 "%s: has the encoding %s, UTF8 is expected; make the database "
                                 "anew: createdb -E UTF8 -T template0",
                                 db->name, encoding);
    }
    return rv;
}

static apr_status_t open_database(tseed_database_t *db)
{
    int version = 0;
    apr_status_t rv;

    tseed_database_disconnect(db);
    rv = tseed_database_connect(db);
    if (rv == APR_SUCCESS) {
        rv = check_encoding(db);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_schema_version(db, &version, db->scratch);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_schema_migrate(db, version, db->scratch);
    }
    if (rv != APR_SUCCESS) {
        tseed_database_disconnect(db);
    }
    return rv;
}

/* A connection that was lost says so at its next use. Another host may have a newer module, which
 * migrates the database while this process has it open. */
static apr_status_t check(tseed_database_t *db)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_status_t rv;
    int version;

    if (now < db->looked_at + LOOK_EVERY) {
        return APR_SUCCESS;
    }
    rv = tseed_schema_version(db, &version, db->scratch);
    db->looked_at = rv == APR_SUCCESS ? now : 0;
    return rv;
}

static apr_status_t commit(tseed_database_t *db)
{
    /* db->error has the words of a statement that failed before */
    apr_status_t rv = db->is_broken ? APR_EGENERAL : tseed_database_send(db);

    if (rv != APR_SUCCESS) {
        tseed_database_rollback(db);
        return rv;
    }
    rv = tseed_database_execute(db, "COMMIT");
    db->in_transaction = 0;
    db->is_uncertain = rv != APR_SUCCESS;
    return rv;
}

/* ---- the dialect ---- */

/* What was accepted must be on the disk. */
static const char *const session[] = {
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'",
    NULL,
};

static const char *const patience[] = {"SELECT set_config('statement_timeout', '60s', true)", NULL};

/* Processes that open a database at the same time migrate one after the other. The number is
 * anything that no other program takes. */
static const char *const migrates[] = {
    "SELECT set_config('lock_timeout', '10s', true)",
    "SELECT set_config('statement_timeout', '0', true)",
    "SELECT pg_advisory_xact_lock(8390876213447157)",
    NULL,
};

/* Everybody locks tasks in the order of their ids: two who lock several never wait for each other.
 */
#define TERMINATE(which)                                                                           \
    TSEED_TERMINATE("id IN (SELECT id FROM task WHERE " which " ORDER BY id FOR UPDATE)")

#define RECOVER(which)                                                                             \
    TSEED_RECOVER("id IN (SELECT id FROM task WHERE " which " ORDER BY id FOR UPDATE)")

/* Statements that lock what SQLite's only writer has to itself. */
static const char *const statements[TSEED_SQL_COUNT] = {
    [TSEED_SQL_RECOVER_RUNNING] = RECOVER(TSEED_RECOVERED),
    [TSEED_SQL_ID_HOLD] = "SELECT value FROM meta WHERE name = 'task_id' FOR UPDATE",
    [TSEED_SQL_TASK_HOLD] = "SELECT id FROM task WHERE id = %lld FOR UPDATE",
    [TSEED_SQL_TASKS_HOLD] = "SELECT COUNT(*) FROM (SELECT id FROM task WHERE state IN (0, 1)"
                             " ORDER BY id FOR UPDATE) AS held",
    [TSEED_SQL_TERMINATE] = TERMINATE("state = %d"),
    [TSEED_SQL_TERMINATE_OF_LAYER] = TERMINATE("state = %d AND layer = %s"),
    [TSEED_SQL_TERMINATE_ONE] = TERMINATE("state = %d AND id = %lld"),
    [TSEED_SQL_HISTORY_BEYOND] = TSEED_HISTORY_BEYOND " FOR UPDATE",
    [TSEED_SQL_TILESET_NEXT] = "INSERT INTO meta (name, value)"
                               " SELECT 'tileset_id', COALESCE(MAX(id), 0) + 1 FROM tileset"
                               " ON CONFLICT (name) DO UPDATE SET value = meta.value + 1"
                               " RETURNING value",
};

const tseed_sql_dialect_t tseed_pgsql_dialect = {
    .driver = "pgsql",
    .package = "libaprutil1-dbd-pgsql",
    .session = session,
    .begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    /* Asked once a second in each process: a view of the catalogs would take longer to plan. And
     * to_regclass() may not see yet what another process has made. */
    .tables = "SELECT COUNT(*) FROM pg_class WHERE relname = 'meta' AND relkind = 'r'"
              " AND relnamespace ="
              " (SELECT oid FROM pg_namespace WHERE nspname = current_schema())",
    .migrates = migrates,
    .patience = patience,
    .statements = statements,
    .has_types = 1,
    .tries = 3,
    .params = params_of,
    .open = open_database,
    .check = check,
    .commit = commit,
    .failed = failed,
};
