/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Salvage: copies the rows of a damaged database that can still be read.
 *
 * SQLite attaches the damaged file to the fresh one. Tasks are copied by ranges of row numbers,
 * which need no index and never exceed the ids. A range that can't be read is halved, until only
 * the damaged rows are left. Any other table is copied whole or not at all. Each copy is a
 * transaction of its own, because within a transaction SQLite refuses everything after the first
 * damage. Only SQLite needs this, so the SQL here is SQLite's. An earlier version may have written
 * the damaged file: the columns that both versions have are copied, and the others get the values
 * that a migration gives them.
 */
#include "state/tseed_salvage.h"

#include <apr_strings.h>
#include <stdlib.h>

#define TRIES 4096 /* statements; each damaged row costs about as many as its id has bits */

/* Rows that hold nonsense are left behind. */
#define SOUND "state BETWEEN -1 AND 2 AND type BETWEEN 0 AND 2 AND tiles_total >= 0"

typedef struct {
    tseed_database_t *db;
    apr_pool_t *scratch; /* cleared by each statement */
    const char *columns; /* of the tasks */
    int tries;
} salvage_t;

/* Whether a failure is not the damaged file's: what it kept from being copied must be tried again.
 */
static int is_ours(apr_status_t rv)
{
    return rv == ENOSPC || rv == EBUSY;
}

/* The columns that a table has in both files; NULL when the damaged one has no such table, or does
 * not tell. */
static const char *columns_of(tseed_database_t *db, const char *table, apr_pool_t *pool)
{
    const char *columns;
    const char *sql =
        apr_psprintf(pool,
                     "SELECT group_concat(name, ', ') FROM pragma_table_info('%s', 'damaged')"
                     " WHERE name IN (SELECT name FROM pragma_table_info('%s', 'main'))",
                     table, table);

    if (tseed_database_ask(db, &columns, sql, pool) != APR_SUCCESS || !columns || !*columns) {
        return NULL;
    }
    return columns;
}

static apr_status_t copy_tasks(salvage_t *salvage, int64_t first, int64_t last)
{
    int64_t middle = first + (last - first) / 2;
    apr_status_t rv;

    if (first > last || salvage->tries++ >= TRIES) {
        return APR_SUCCESS;
    }
    apr_pool_clear(salvage->scratch);
    rv = tseed_database_execute(
        salvage->db, apr_psprintf(salvage->scratch,
                                  "INSERT OR IGNORE INTO task (%s) SELECT %s"
                                  " FROM damaged.task WHERE " SOUND
                                  " AND rowid BETWEEN %" APR_INT64_T_FMT " AND %" APR_INT64_T_FMT,
                                  salvage->columns, salvage->columns, first, last));
    if (rv == APR_SUCCESS || is_ours(rv) || first == last) {
        return is_ours(rv) ? rv : APR_SUCCESS;
    }
    rv = copy_tasks(salvage, first, middle);
    return rv == APR_SUCCESS ? copy_tasks(salvage, middle + 1, last) : rv;
}

/* Copies a whole table, or nothing of it. */
static apr_status_t copy_table(tseed_database_t *db, const char *table, apr_pool_t *scratch)
{
    const char *columns = columns_of(db, table, scratch);
    apr_status_t rv = APR_SUCCESS;

    if (columns) {
        rv = tseed_database_execute(
            db, apr_psprintf(scratch, "INSERT OR IGNORE INTO %s (%s) SELECT %s FROM damaged.%s",
                             table, columns, columns, table));
    }
    return is_ours(rv) ? rv : APR_SUCCESS;
}

static apr_status_t copy_all(salvage_t *salvage, int64_t last, apr_pool_t *scratch)
{
    static const char *const whole[] = {"quota", "metatile", "failure", "request", "measure"};
    apr_status_t rv = APR_SUCCESS;

    salvage->columns = columns_of(salvage->db, "task", scratch);
    if (salvage->columns) {
        rv = copy_tasks(salvage, 1, last);
    }
    for (size_t i = 0; rv == APR_SUCCESS && i < sizeof(whole) / sizeof(whole[0]); i++) {
        rv = copy_table(salvage->db, whole[i], scratch);
    }
    if (rv == APR_SUCCESS) { /* a request whose task is lost is made again */
        rv = tseed_database_execute(salvage->db,
                                    "DELETE FROM request WHERE task NOT IN (SELECT id FROM task)");
    }
    return rv;
}

static int count(tseed_database_t *db, const char *sql, apr_pool_t *scratch)
{
    const char *answer;

    return tseed_database_ask(db, &answer, sql, scratch) == APR_SUCCESS && answer ? atoi(answer)
                                                                                  : 0;
}

apr_status_t tseed_salvage(tseed_database_t *db, int *tasks, int *quota, const char *damaged,
                           int64_t last, apr_pool_t *scratch)
{
    salvage_t salvage = {.db = db};
    const char *attach = apr_psprintf(scratch, "ATTACH DATABASE '%s' AS damaged",
                                      apr_dbd_escape(db->driver, scratch, damaged, db->handle));
    apr_status_t rv = tseed_database_execute(db, attach);

    apr_pool_create(&salvage.scratch, scratch);
    if (rv == APR_SUCCESS) {
        rv = copy_all(&salvage, last, scratch);
        tseed_database_execute(db, "DETACH DATABASE damaged");
    } else if (rv == TSEED_EDAMAGED) {
        rv = APR_SUCCESS; /* nothing of it can be read */
    }
    *tasks = count(db, "SELECT COUNT(*) FROM task", scratch);
    *quota = count(db, "SELECT COUNT(*) FROM quota", scratch);
    apr_pool_destroy(salvage.scratch);
    db->lost = db->suspect = 0; /* it was the damaged file that these failures were about */
    return rv;
}
