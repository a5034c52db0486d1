/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fleet's statements, and portions as rows. */
#include "fleet/tseed_fleet_rows.h"

#include <apr_strings.h>

#include "state/tseed_work.h"

/* ---- statements ---- */

/* PostgreSQL's texts add what locks the row. */
#define ROLE_ROW "SELECT host, epoch, tenure, former FROM role WHERE name = %s"
#define HOST_ROW "SELECT instance, epoch, renewals, until, state FROM host WHERE name = %s"
#define HOST_HELD                                                                                  \
    "SELECT epoch FROM host WHERE name = %s AND epoch = %lld AND renewals >= %lld"                 \
    " AND EXISTS (SELECT 1 FROM role WHERE role.host = host.name AND role.epoch = host.epoch)"

#define ANSWER_MISS                                                                                \
    "UPDATE miss SET outcome = %d, retry_after = %d, upstream = %d, cause = %s, tile = %s"

#define PORTION_ONE  "giver = %lld AND epoch = %lld AND number = %lld"
#define PORTIONS_OWN "giver = %lld"
#define PORTIONS_OLD "giver NOT IN (SELECT epoch FROM role WHERE name = 'seeder')"

#define DELETE_PORTIONS(which)                                                                     \
    "DELETE FROM portion WHERE (giver, epoch, number) IN"                                          \
    " (SELECT giver, epoch, number FROM portion WHERE " which " FOR UPDATE SKIP LOCKED)"

#define AT(sql) [(sql)-TSEED_SQL_COUNT]
#define FLEET   (TSEED_SQL_FLEET_END - TSEED_SQL_COUNT)

_Static_assert((int)TSEED_SQL_FLEET_END <= (int)TSEED_SQL_MOST, "a connection has room for all");

static const char *const texts[FLEET] = {
    AT(TSEED_SQL_CLOCK) =
        "SELECT CAST((julianday('now') - 2440587.5) * 86400 * 1000000 AS BIGINT), 0",
    AT(TSEED_SQL_EPOCH_NEXT) =
        "UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value",
    AT(TSEED_SQL_EPOCH_RAISE) =
        "UPDATE meta SET value = %lld WHERE name = 'epoch' AND value < %lld",
    AT(TSEED_SQL_ROLE_GET) = ROLE_ROW,
    AT(TSEED_SQL_ROLE_HOLD) = ROLE_ROW,
    AT(TSEED_SQL_ROLE_SET) = "UPDATE role SET host = %s, epoch = %lld, tenure = %lld, former = %lld"
                             " WHERE name = %s",
    AT(TSEED_SQL_HOST_GET) = HOST_ROW,
    AT(TSEED_SQL_HOST_HOLD) = HOST_ROW,
    AT(TSEED_SQL_HOST_FENCE) = HOST_HELD,
    AT(TSEED_SQL_HOST_GLANCE) = "SELECT role.host, host.state FROM role, host"
                                " WHERE role.name = 'seeder' AND host.name = %s",
    AT(TSEED_SQL_HOST_PUT) =
        "INSERT INTO host (name, instance, machine, version, epoch, until, started, seen)"
        " VALUES (%s, %s, %s, %s, %lld, %lld, %lld, %lld) ON CONFLICT (name) DO UPDATE"
        " SET instance = excluded.instance, machine = excluded.machine,"
        " version = excluded.version, epoch = excluded.epoch, renewals = host.renewals + 1,"
        " until = excluded.until, started = excluded.started, seen = excluded.seen"
        " RETURNING renewals",
    AT(TSEED_SQL_HOST_RENEW) =
        "UPDATE host SET until = %lld, seen = %lld, renewals = renewals + 1"
        " WHERE name = %s AND epoch = %lld AND renewals >= %lld RETURNING renewals, state",
    AT(TSEED_SQL_HOST_OUST) = "UPDATE host SET epoch = -epoch WHERE name = %s AND epoch > 0",
    AT(TSEED_SQL_HOST_LEAVE) = "UPDATE host SET until = %lld WHERE name = %s AND epoch = %lld",
    AT(TSEED_SQL_HOST_DRAIN) = "UPDATE host SET state = %d WHERE name = %s",
    AT(TSEED_SQL_HOSTS) =
        "SELECT name, machine, version, until, state, started, seen,"
        " (SELECT COUNT(*) FROM portion WHERE portion.epoch = host.epoch AND results = ''"
        " AND giver = (SELECT epoch FROM role WHERE role.name = 'seeder'))"
        " FROM host ORDER BY name",
    AT(TSEED_SQL_HOSTS_OTHERS) = "SELECT COUNT(*) FROM host WHERE name <> %s AND until > %lld",
    AT(TSEED_SQL_HOSTS_FORGET) =
        "DELETE FROM host WHERE seen < %lld AND name NOT IN (SELECT host FROM role)",
    AT(TSEED_SQL_MISS_ADD) = "INSERT INTO miss (epoch, number, question) VALUES (%lld, %lld, %s)"
                             " ON CONFLICT (epoch, number) DO NOTHING",
    AT(TSEED_SQL_MISS_ANSWER) = ANSWER_MISS " WHERE epoch = %lld AND number = %lld AND outcome < 0",
    AT(TSEED_SQL_MISS_DELETE) = "DELETE FROM miss WHERE epoch = %lld AND number = %lld",
    AT(TSEED_SQL_MISSES_OPEN) =
        "SELECT epoch, number, question FROM miss WHERE outcome < 0 ORDER BY epoch, number",
    AT(TSEED_SQL_MISSES_ANSWERED) =
        "SELECT epoch, number, outcome, retry_after, upstream, cause, tile FROM miss"
        " WHERE epoch = %lld AND outcome >= 0 ORDER BY number",
    AT(TSEED_SQL_MISSES_DELETE) = "DELETE FROM miss WHERE epoch = %lld",
    AT(TSEED_SQL_MISSES_FORGET) = "DELETE FROM miss WHERE epoch NOT IN"
                                  " (SELECT epoch FROM host WHERE until > %lld)",
    AT(TSEED_SQL_PORTION_ADD) =
        "INSERT INTO portion (giver, number, epoch, requests) VALUES (%lld, %lld, %lld, %s)"
        " ON CONFLICT (giver, epoch, number) DO NOTHING",
    AT(TSEED_SQL_PORTION_FINISH) = "UPDATE portion SET results = %s WHERE " PORTION_ONE,
    AT(TSEED_SQL_PORTION_DELETE) = "DELETE FROM portion WHERE " PORTION_ONE,
    AT(TSEED_SQL_PORTIONS_LEAVE) = "DELETE FROM portion WHERE " PORTIONS_OWN,
    AT(TSEED_SQL_PORTIONS_FORGET) = "DELETE FROM portion WHERE " PORTIONS_OLD,
    AT(TSEED_SQL_PORTIONS_GIVEN) =
        "SELECT giver, number, epoch, substr(requests, 1, 262144), '' FROM portion"
        " WHERE epoch = %lld"
        " AND results = '' AND giver = (SELECT epoch FROM role WHERE name = 'seeder')"
        " ORDER BY number",
    AT(TSEED_SQL_PORTIONS_FINISHED) =
        "SELECT giver, number, epoch, '', substr(results, 1, 262144) FROM portion"
        " WHERE giver = %lld AND results <> '' ORDER BY epoch, number",
    AT(TSEED_SQL_PORTIONS_OF) =
        "SELECT giver, number, epoch, '', '' FROM portion WHERE giver = %lld ORDER BY number",
    AT(TSEED_SQL_PORTION_HOSTS) = "SELECT epoch, name FROM host WHERE name <> %s AND epoch > 0"
                                  " AND state = 0 AND until > %lld ORDER BY epoch",
};

/* Statements that lock what SQLite's only writer has to itself. */
static const char *const of_pgsql[FLEET] = {
    AT(TSEED_SQL_CLOCK) =
        "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT),"
        " CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)",
    AT(TSEED_SQL_ROLE_HOLD) = ROLE_ROW " FOR UPDATE",
    AT(TSEED_SQL_HOST_HOLD) = HOST_ROW " FOR UPDATE",
    /* lets the renewals of the lease through, and not who takes the role */
    AT(TSEED_SQL_HOST_FENCE) = HOST_HELD " FOR KEY SHARE",
    /* a host that stands still while it writes to a row keeps nobody else waiting */
    AT(TSEED_SQL_MISS_ANSWER) =
        ANSWER_MISS " WHERE (epoch, number) IN (SELECT epoch, number FROM miss"
                    " WHERE epoch = %lld AND number = %lld AND outcome < 0"
                    " FOR UPDATE SKIP LOCKED)",
    AT(TSEED_SQL_PORTION_DELETE) = DELETE_PORTIONS(PORTION_ONE),
    AT(TSEED_SQL_PORTIONS_LEAVE) = DELETE_PORTIONS(PORTIONS_OWN),
    AT(TSEED_SQL_PORTIONS_FORGET) = DELETE_PORTIONS(PORTIONS_OLD),
};

const tseed_guest_statements_t tseed_fleet_statements = {FLEET, texts, of_pgsql};

/* ---- portions ---- */

static apr_status_t give(tseed_database_t *db, void *data)
{
    tseed_portion_row_t *row = data;

    return tseed_database_change(
        db, NULL, TSEED_SQL_PORTION_ADD,
        (const void *[]){&row->giver, &row->number, &row->epoch, row->requests});
}

apr_status_t tseed_portion_rows_give(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, give, rows);
}

static apr_status_t finish(tseed_database_t *db, void *data)
{
    tseed_portion_row_t *row = data;
    int count = 0;
    apr_status_t rv = tseed_database_change(
        db, &count, TSEED_SQL_PORTION_FINISH,
        (const void *[]){row->results, &row->giver, &row->epoch, &row->number});

    row->is_gone = count == 0;
    return rv;
}

apr_status_t tseed_portion_rows_finish(tseed_state_t *state, apr_array_header_t *rows)
{
    return tseed_work_write_each(state, finish, rows);
}

static apr_status_t delete_row(tseed_database_t *db, void *data)
{
    tseed_portion_row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_PORTION_DELETE,
                                 (const void *[]){&row->giver, &row->epoch, &row->number});
}

apr_status_t tseed_portion_rows_delete(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, delete_row, rows);
}

apr_status_t tseed_portion_rows_forget(tseed_state_t *state)
{
    return tseed_work_change(state, NULL, TSEED_SQL_PORTIONS_FORGET, NULL);
}

static void load_portion(void *data, tseed_rows_t *rows)
{
    tseed_portion_row_t *row = data;

    tseed_rows_scan(rows, &row->giver, &row->number, &row->epoch, &row->requests, &row->results);
}

/* `epoch`: of the giver, or of the host that gets them. */
static apr_status_t list(tseed_state_t *state, apr_array_header_t **rows, tseed_sql_t sql,
                         int64_t epoch, apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 8, sizeof(tseed_portion_row_t));
    return tseed_work_list(state, *rows, load_portion, sql, (const void *[]){&epoch});
}

apr_status_t tseed_portion_rows_given(tseed_state_t *state, apr_array_header_t **rows,
                                      int64_t epoch, apr_pool_t *pool)
{
    return list(state, rows, TSEED_SQL_PORTIONS_GIVEN, epoch, pool);
}

apr_status_t tseed_portion_rows_finished(tseed_state_t *state, apr_array_header_t **rows,
                                         int64_t giver, apr_pool_t *pool)
{
    return list(state, rows, TSEED_SQL_PORTIONS_FINISHED, giver, pool);
}

apr_status_t tseed_portion_rows_of(tseed_state_t *state, apr_array_header_t **rows, int64_t giver,
                                   apr_pool_t *pool)
{
    return list(state, rows, TSEED_SQL_PORTIONS_OF, giver, pool);
}
