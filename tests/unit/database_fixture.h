/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Which database a test program works on. The same tests are built twice: as they are they work on
 * SQLite; built with ON_PGSQL, the path of tests/postgres.sh, on a PostgreSQL of the program's own.
 * There each test has a schema to itself. */
#ifndef DATABASE_FIXTURE_H
#define DATABASE_FIXTURE_H

#include <apr_dbd.h>
#include <apr_strings.h>
#include <apr_time.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef TSEED_FLEET
#include "fleet/tseed_fleet_rows.h"

static inline void enter_fleet(void)
{
    tseed_statements_welcome(&tseed_fleet_statements);
}
#else
static inline void enter_fleet(void)
{
}
#endif

#ifdef ON_PGSQL
#define DATABASE_DRIVER "pgsql"
#define NOT_INSTALLED   77 /* exit code of postgres.sh */
#define START_PATIENCE  (300 * APR_USEC_PER_SEC)

static struct {
    char dir[64];
    pid_t server;
    apr_pool_t *pool;
    const apr_dbd_driver_t *driver;
    apr_dbd_t *admin;
    int schemas;
} postgres = {.dir = "/tmp/tileseed-pgsql-XXXXXX"};

static inline void run_server(void)
{
    postgres.server = fork();
    if (postgres.server == 0) {
        setenv("TILESEED_POSTGRES_EMPTY", POSTGRES_EMPTY, 1);
        if (!freopen("/dev/null", "w", stdout) ||
            !freopen(apr_pstrcat(postgres.pool, postgres.dir, "/log", NULL), "a", stderr)) {
            _exit(1);
        }
        execl("/bin/sh", "sh", ON_PGSQL, postgres.dir, (char *)NULL);
        _exit(1);
    }
}

/* The parameters of a connection: who, the file of whose password, to which database. */
static inline const char *database_user(apr_pool_t *pool, const char *user, const char *passfile,
                                        const char *name)
{
    return apr_pstrcat(pool, "host=", postgres.dir, " user=", user, " passfile=", postgres.dir, "/",
                       passfile, " dbname=", name, NULL);
}

/* Connects; returns an exit code of the server's if it has ended, else 0. */
static inline int await_server(void)
{
    const char *params = database_user(postgres.pool, "tileseed", "passfile", "tileseed");
    const apr_time_t until = apr_time_now() + START_PATIENCE;
    const char *error = "";

    while (apr_dbd_open_ex(postgres.driver, postgres.pool, params, &postgres.admin, &error) !=
           APR_SUCCESS) {
        int status;

        if (waitpid(postgres.server, &status, WNOHANG) == postgres.server) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        }
        if (apr_time_now() > until) {
            printf("Bail out! PostgreSQL does not start: %s\n", error);
            return 1;
        }
        apr_sleep(20000);
    }
    return 0;
}

/* Starts the server. Returns the exit code of a program that can't go on, or -1. */
static inline int database_begin(void)
{
    int code;

    enter_fleet();
    apr_initialize();
    apr_pool_create(&postgres.pool, NULL);
    apr_dbd_init(postgres.pool);
    if (apr_dbd_get_driver(postgres.pool, "pgsql", &postgres.driver) != APR_SUCCESS) {
        puts("1..0 # SKIP APR's driver for PostgreSQL is not installed");
        return 0;
    }
    if (!mkdtemp(postgres.dir)) {
        return 1;
    }
    run_server();
    code = await_server();
    if (code == NOT_INSTALLED) {
        puts("1..0 # SKIP PostgreSQL is not installed");
    }
    return code == NOT_INSTALLED ? 0 : code ? code : -1;
}

static inline int database_end(int result)
{
    int status;

    apr_dbd_close(postgres.driver, postgres.admin);
    kill(postgres.server, SIGQUIT);
    waitpid(postgres.server, &status, 0);
    status = system(apr_psprintf(postgres.pool, "rm -rf %s", postgres.dir));
    return result ? result : status;
}

/* Runs a statement beside all tests. Returns nonzero when it fails. */
static inline int database_do(const char *sql)
{
    int rows;

    return apr_dbd_query(postgres.driver, postgres.admin, &rows, sql);
}

/* Runs a statement as the superuser. Returns nonzero when it fails. */
static inline int database_do_all(const char *sql, apr_pool_t *pool)
{
    const char *params = database_user(pool, "postgres", "admin", "postgres");
    apr_dbd_t *all;
    int rows, result;

    if (apr_dbd_open(postgres.driver, pool, params, &all) != APR_SUCCESS) {
        return -1;
    }
    result = apr_dbd_query(postgres.driver, all, &rows, sql);
    apr_dbd_close(postgres.driver, all);
    return result;
}

/* The parameters of an empty database. */
static inline const char *database_params(apr_pool_t *pool)
{
    const char *schema = apr_psprintf(pool, "test%d", ++postgres.schemas);

    database_do(apr_pstrcat(pool, "CREATE SCHEMA ", schema, NULL));
    return apr_psprintf(pool, "%s options='-c search_path=%s -c client_min_messages=warning'",
                        database_user(pool, "tileseed", "passfile", "tileseed"), schema);
}

#else
#define DATABASE_DRIVER "sqlite3"

/* Begins to need the database. Returns the exit code of a program that can't go on, or -1. */
static inline int database_begin(void)
{
    enter_fleet();
    return -1;
}

static inline int database_end(int result)
{
    return result;
}

static inline const char *database_params(apr_pool_t *pool)
{
    (void)pool;
    return NULL;
}
#endif

#endif
