/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What can still be read of a damaged database.
 *
 * The damaged file is attached to the fresh one and copied by ranges of row numbers,
 * which need no index and never exceed the ids. A range that can't be read is halved until what
 * is left is the damaged rows alone. Each range is a transaction of its own: within one, SQLite
 * refuses everything after the first damage. This is SQLite's business, so its dialect is spoken
 * here.
 */
#include "state/tseed_salvage.h"

#include <apr_strings.h>
#include <stdlib.h>

#define TRIES 4096 /* statements; each damaged row costs about as many as its id has bits */

#define COPIED TSEED_TASK_COLUMNS ", " TSEED_PROGRESS_COLUMNS ", kill_pending"

/* Rows that hold nonsense are left behind. */
#define SOUND "state BETWEEN -1 AND 2 AND type BETWEEN 0 AND 2 AND tiles_total >= 0"

typedef struct {
    tseed_database_t *db;
    apr_pool_t *scratch; /* cleared by each statement */
    int tries;
} salvage_t;

/* Whether a failure is not the damaged file's: what it kept from being copied must be tried again.
 */
static int is_ours(apr_status_t rv)
{
    return rv == ENOSPC || rv == EBUSY;
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
                                  "INSERT OR IGNORE INTO task (" COPIED ") SELECT " COPIED
                                  " FROM damaged.task WHERE " SOUND
                                  " AND rowid BETWEEN %" APR_INT64_T_FMT " AND %" APR_INT64_T_FMT,
                                  first, last));
    if (rv == APR_SUCCESS || is_ours(rv) || first == last) {
        return is_ours(rv) ? rv : APR_SUCCESS;
    }
    rv = copy_tasks(salvage, first, middle);
    return rv == APR_SUCCESS ? copy_tasks(salvage, middle + 1, last) : rv;
}

/* Copies a whole table, or nothing of it. */
static apr_status_t copy_table(tseed_database_t *db, const char *sql)
{
    apr_status_t rv = tseed_database_execute(db, sql);

    return is_ours(rv) ? rv : APR_SUCCESS;
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
        rv = copy_tasks(&salvage, 1, last);
        if (rv == APR_SUCCESS) {
            rv = copy_table(db, "INSERT OR IGNORE INTO quota (id, config, directive, version)"
                                " SELECT id, config, directive, version FROM damaged.quota");
        }
        if (rv == APR_SUCCESS) {
            rv = copy_table(db, "INSERT OR IGNORE INTO metatile (task, position, z, x, y)"
                                " SELECT task, position, z, x, y FROM damaged.metatile");
        }
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
