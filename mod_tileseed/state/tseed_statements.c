/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The statements. States are written as numbers: -1 ABORTED, 0 PENDING, 1 RUNNING, 2 DONE. The
 * times of a task never go back: created, started, finished, even if somebody has set the clock
 * back between them. */
#include "state/tseed_statements.h"

#define UNFINISHED "state IN (0, 1)"
#define FINISHED   "state IN (-1, 2)"

#define SET_COUNT(member, name, wire, is_processed, place) TSEED_COLUMN_##place(member, " = %lld, ")
#define SET_COUNTERS                                                                               \
    TSEED_COUNTS(SET_COUNT)                                                                        \
    "failures = %lld, started = %lld, away_since = %lld, low = %lld, passed = %s,"                 \
    " counts = %s"

/* The sum of the tiles that are processed. */
#define ADD_0(member)
#define ADD_1(member)                                " + " #member
#define ADD(member, name, wire, is_processed, place) ADD_##is_processed(member)
#define PROCESSED                                    "0" TSEED_COUNTS(ADD)

/* A number that comes as text: of a double, apr_dbd's driver for PostgreSQL would write six digits
 * behind the point. */
#define DOUBLE "CAST(%s AS DOUBLE PRECISION)"

#define STATUS_ROWS                                                                                \
    "SELECT id, tiles_total, " PROCESSED ", state FROM task WHERE " UNFINISHED " AND id > %lld"

/* The plus keeps the index of states out: finding the newest ones by it means to sort them all. */
#define TASKS_BEFORE                                                                               \
    "SELECT " TSEED_TASK_COLUMNS ", " TSEED_PROGRESS_COLUMNS " FROM task WHERE id < %lld"          \
    " AND +state IN (%d, %d, %d, %d)"

const char *const tseed_statements[TSEED_SQL_COUNT] = {
    [TSEED_SQL_ID_HOLD] = "SELECT value FROM meta WHERE name = 'task_id'",
    [TSEED_SQL_ID_NEXT] =
        "UPDATE meta SET value = value + 1 WHERE name = 'task_id' RETURNING value",
    [TSEED_SQL_ID_GET] = "SELECT MAX(id) FROM (SELECT value AS id FROM meta WHERE name = 'task_id'"
                         " UNION ALL SELECT MAX(id) FROM task) AS ids",
    [TSEED_SQL_ID_SET] = "UPDATE meta SET value = %lld WHERE name = 'task_id'",
    [TSEED_SQL_TASKS_COUNT] = "SELECT COUNT(*) FROM task WHERE " UNFINISHED,
    [TSEED_SQL_TASK_INSERT] =
        "INSERT INTO task (" TSEED_TASK_COLUMNS ") VALUES (%lld, %d, %s, %s, %s, %s, %s, %d, %d,"
        " %d, %d, %d, %d, %d, %d, %lld, %lld, %lld, %s, %s, %s, %lld, %lld, %s, %d, %d)",
    [TSEED_SQL_TASK_GET] =
        "SELECT " TSEED_TASK_COLUMNS ", " TSEED_PROGRESS_COLUMNS " FROM task WHERE id = %lld",
    [TSEED_SQL_TASK_HOLD] = "SELECT id FROM task WHERE id = %lld",
    [TSEED_SQL_TASKS_HOLD] = "SELECT 0",
    [TSEED_SQL_TASK_ENDING] = "SELECT COUNT(*) FROM task WHERE id = %lld AND state = %d"
                              " AND finished = %lld AND kill_pending = 0",
    [TSEED_SQL_TASKS_BEFORE] = TASKS_BEFORE " ORDER BY id DESC LIMIT %lld",
    [TSEED_SQL_TASKS_BEFORE_OF_LAYER] = TASKS_BEFORE " AND layer = %s ORDER BY id DESC LIMIT %lld",
    [TSEED_SQL_TASKS_AFTER] =
        "SELECT " TSEED_TASK_COLUMNS ", " TSEED_PROGRESS_COLUMNS " FROM task WHERE " UNFINISHED
        " AND id > %lld ORDER BY id LIMIT %lld",
    [TSEED_SQL_ROWS_AFTER] = STATUS_ROWS " ORDER BY id LIMIT %lld",
    [TSEED_SQL_ROWS_AFTER_OF_LAYER] = STATUS_ROWS " AND layer = %s ORDER BY id LIMIT %lld",
    [TSEED_SQL_LAYER_HAS] = "SELECT id FROM task WHERE " UNFINISHED " AND layer = %s LIMIT 1",
    [TSEED_SQL_TERMINATE] = TSEED_TERMINATE("state = %d"),
    [TSEED_SQL_TERMINATE_OF_LAYER] = TSEED_TERMINATE("state = %d AND layer = %s"),
    [TSEED_SQL_TERMINATE_ONE] = TSEED_TERMINATE("state = %d AND id = %lld"),
    [TSEED_SQL_QUOTA_GET] = "SELECT config, directive, version FROM quota WHERE id = 1",
    [TSEED_SQL_QUOTA_INSERT] = "INSERT INTO quota (id, config, directive, version)"
                               " VALUES (1, %s, %s, 1) ON CONFLICT (id) DO NOTHING",
    [TSEED_SQL_QUOTA_UPDATE] = "UPDATE quota SET config = %s, directive = %s,"
                               " version = version + 1 WHERE id = 1 AND version = %lld",
    [TSEED_SQL_RECOVER_RUNNING] = TSEED_RECOVER(TSEED_RECOVERED),
    [TSEED_SQL_TERMINATED] = "SELECT id FROM task WHERE kill_pending = 1 ORDER BY id",
    [TSEED_SQL_TASK_CLAIM] =
        "UPDATE task SET state = 1, started = CASE WHEN started > 0 THEN started"
        " WHEN created > %lld THEN created ELSE %lld END"
        " WHERE id = %lld AND " UNFINISHED,
    [TSEED_SQL_TASK_FINISH] = "UPDATE task SET " SET_COUNTERS ", state = %d, reason = %s,"
                              " reason_code = %s, finished = %lld WHERE id = %lld AND " UNFINISHED,
    [TSEED_SQL_TASK_REASON] =
        "UPDATE task SET reason = %s, reason_code = %s WHERE id = %lld AND " UNFINISHED,
    [TSEED_SQL_TASK_CHECKPOINT] = "UPDATE task SET " SET_COUNTERS ", reason = %s, reason_code = %s"
                                  " WHERE id = %lld AND " UNFINISHED,
    [TSEED_SQL_TASK_COUNT_LAST] =
        "UPDATE task SET " SET_COUNTERS " WHERE id = %lld AND kill_pending = 1",
    [TSEED_SQL_TASK_CONFIRM] =
        "UPDATE task SET kill_pending = 0 WHERE id = %lld AND kill_pending = 1",
    [TSEED_SQL_FAILURE_ADD] =
        "INSERT INTO failure (task, z, x, y, cause, http_status, attempts, happened)"
        " VALUES (%lld, %d, %lld, %lld, %s, %d, %d, %lld) ON CONFLICT (task, z, x, y) DO UPDATE"
        " SET cause = excluded.cause, http_status = excluded.http_status,"
        " attempts = excluded.attempts, happened = excluded.happened",
    [TSEED_SQL_FAILURES_COUNT] = "SELECT COUNT(*) FROM failure WHERE task = %lld",
    [TSEED_SQL_FAILURES_AFTER] =
        "SELECT task, z, x, y, cause, http_status, attempts, happened FROM failure"
        " WHERE task = %lld AND (z, x, y) > (%d, %lld, %lld) ORDER BY z, x, y LIMIT %lld",
    [TSEED_SQL_METATILE_ADD] =
        "INSERT INTO metatile (task, position, z, x, y) VALUES (%lld, %lld, %d, %lld, %lld)",
    [TSEED_SQL_METATILES_FROM] = "SELECT z, x, y FROM metatile WHERE task = %lld"
                                 " AND position >= %lld ORDER BY position LIMIT %lld",
    [TSEED_SQL_METATILES_BY_LEVEL] =
        "SELECT z, COUNT(*) FROM metatile WHERE task = %lld GROUP BY z",
    [TSEED_SQL_METATILES_DELETE] = "DELETE FROM metatile WHERE task = %lld",
    [TSEED_SQL_MEASURE_ADD] =
        "INSERT INTO measure (tileset, z, metatiles, tiles, bytes, bytes_squares, busy,"
        " busy_squares, looks, looking)"
        " VALUES (%s, %d, %lld, %lld, " DOUBLE ", " DOUBLE ", " DOUBLE ", " DOUBLE ", " DOUBLE
        ", " DOUBLE ")"
        " ON CONFLICT (tileset, z) DO UPDATE SET metatiles = measure.metatiles + "
        "excluded.metatiles,"
        " tiles = measure.tiles + excluded.tiles, bytes = measure.bytes + excluded.bytes,"
        " bytes_squares = measure.bytes_squares + excluded.bytes_squares,"
        " busy = measure.busy + excluded.busy,"
        " busy_squares = measure.busy_squares + excluded.busy_squares,"
        " looks = measure.looks + excluded.looks, looking = measure.looking + excluded.looking",
    [TSEED_SQL_MEASURES_GET] =
        "SELECT z, metatiles, tiles, bytes, bytes_squares, busy, busy_squares, looks, looking"
        " FROM measure WHERE tileset = %s",
    [TSEED_SQL_REQUESTS_FORGET] = "DELETE FROM request WHERE created < %lld",
    [TSEED_SQL_REQUEST_GET] = "SELECT digest, task FROM request WHERE client = %s AND name = %s",
    [TSEED_SQL_REQUEST_ADD] = "INSERT INTO request (client, name, digest, task, created)"
                              " VALUES (%s, %s, %s, %lld, %lld)",
    [TSEED_SQL_TASKS_OF_SET] = "SELECT " TSEED_TASK_COLUMNS ", state FROM task WHERE " UNFINISHED
                               " AND layer = %s AND gridset = %s AND format = %s"
                               " AND parameters = %s ORDER BY id",
    [TSEED_SQL_HISTORY_END] =
        "SELECT id FROM task WHERE " FINISHED " ORDER BY id DESC LIMIT 1 OFFSET %lld",
    [TSEED_SQL_HISTORY_BEYOND] = TSEED_HISTORY_BEYOND,
    [TSEED_SQL_FAILURES_DELETE] = "DELETE FROM failure WHERE task = %lld",
    [TSEED_SQL_TASK_DELETE] = "DELETE FROM task WHERE id = %lld",
    [TSEED_SQL_TILESETS] = "SELECT id, print, name, layer, gridset, format, parameters, root,"
                           " place, " TSEED_SUM_COLUMNS " FROM tileset ORDER BY id",
    [TSEED_SQL_TILESET_NEXT] = "SELECT COALESCE(MAX(id), 0) + 1 FROM tileset",
    [TSEED_SQL_TILESET_FIND] = "SELECT id FROM tileset WHERE print = %lld",
    [TSEED_SQL_TILESET_INSERT] =
        "INSERT INTO tileset (id, print, name, layer, gridset, format, parameters, root, place)"
        " VALUES (%lld, %lld, %s, %s, %s, %s, %s, %s, %s)",
    [TSEED_SQL_TILESET_PLACE] = "UPDATE tileset SET place = %s WHERE id = %lld",
    [TSEED_SQL_TILESET_SAVE] =
        "UPDATE tileset SET pages = %lld, names = %lld, files = %lld, bytes = %lld,"
        " allocated = %lld, shared_names = %lld, shared_files = %lld, shared_bytes = %lld,"
        " shared_allocated = %lld, detached_names = %lld, detached_files = %lld,"
        " detached_bytes = %lld, detached_allocated = %lld, complete = %d, doubtful = %lld,"
        " recipe = %lld, by_reading = %d"
        " WHERE id = %lld AND print = %lld",
    [TSEED_SQL_TILESET_DELETE] = "DELETE FROM tileset WHERE id = %lld",
    [TSEED_SQL_TILESETS_DOUBT] = "UPDATE tileset SET complete = 0, doubtful = -1",
    [TSEED_SQL_PAGES] = "SELECT tileset, z, x, y, names, files, bytes, allocated, accessed, heat,"
                        " written, dirty FROM page WHERE tileset = %lld"
                        " AND (z, x, y) > (%d, %lld, %lld) ORDER BY z, x, y LIMIT %lld",
    [TSEED_SQL_PAGES_BY_LEVEL] =
        "SELECT tileset, z, SUM(names), SUM(files), SUM(bytes), SUM(allocated) FROM page"
        " WHERE tileset = %lld GROUP BY tileset, z ORDER BY tileset, z",
    [TSEED_SQL_PAGES_BY_LEVEL_OF_ALL] =
        "SELECT tileset, z, SUM(names), SUM(files), SUM(bytes), SUM(allocated) FROM page"
        " GROUP BY tileset, z ORDER BY tileset, z",
    [TSEED_SQL_PAGES_DELETE] = "DELETE FROM page WHERE tileset = %lld",
    [TSEED_SQL_PAGE_SAVE] =
        "INSERT INTO page (tileset, z, x, y, names, files, bytes, allocated, accessed, heat,"
        " written, dirty)"
        " VALUES (%lld, %d, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %d)"
        " ON CONFLICT (tileset, z, x, y) DO UPDATE SET names = excluded.names,"
        " files = excluded.files, bytes = excluded.bytes, allocated = excluded.allocated,"
        " accessed = excluded.accessed, heat = excluded.heat, written = excluded.written,"
        " dirty = excluded.dirty",
    [TSEED_SQL_PAGE_DELETE] =
        "DELETE FROM page WHERE tileset = %lld AND z = %d AND x = %lld AND y = %lld",
    [TSEED_SQL_ORIGINS_GET] =
        "SELECT metatiles FROM answer WHERE tileset = %lld AND z = %d AND x = %lld AND y = %lld",
    [TSEED_SQL_ORIGINS_SAVE] =
        "INSERT INTO answer (tileset, z, x, y, metatiles) VALUES (%lld, %d, %lld, %lld, %s)"
        " ON CONFLICT (tileset, z, x, y) DO UPDATE SET metatiles = excluded.metatiles",
    [TSEED_SQL_ORIGINS_DELETE] =
        "DELETE FROM answer WHERE tileset = %lld AND z = %d AND x = %lld AND y = %lld",
    [TSEED_SQL_ORIGINS_DELETE_LEVEL] = "DELETE FROM answer WHERE tileset = %lld AND z = %d",
    [TSEED_SQL_ORIGINS_DELETE_TILESET] = "DELETE FROM answer WHERE tileset = %lld",
    [TSEED_SQL_ORIGINS_DELETE_ALL] = "DELETE FROM answer",
    [TSEED_SQL_FINDINGS] =
        "SELECT z, x, y, minx, miny, maxx, maxy, shade, depth, hole, clean, task FROM finding"
        " WHERE tileset = %lld AND (z, x, y) > (%d, %lld, %lld) ORDER BY z, x, y LIMIT %lld",
    [TSEED_SQL_FINDING_SAVE] =
        "INSERT INTO finding (tileset, z, x, y, minx, miny, maxx, maxy, shade, depth, hole, clean,"
        " task)"
        " VALUES (%lld, %d, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %d, %d, %d, %lld)"
        " ON CONFLICT (tileset, z, x, y) DO UPDATE SET minx = excluded.minx, miny = excluded.miny,"
        " maxx = excluded.maxx, maxy = excluded.maxy, shade = excluded.shade,"
        " depth = excluded.depth, hole = excluded.hole, clean = excluded.clean, task = "
        "excluded.task",
    [TSEED_SQL_FINDING_DELETE] =
        "DELETE FROM finding WHERE tileset = %lld AND z = %d AND x = %lld AND y = %lld",
    [TSEED_SQL_FINDINGS_DELETE] = "DELETE FROM finding WHERE tileset = %lld",
    [TSEED_SQL_FINDINGS_DOUBT] = "UPDATE finding SET clean = 0 WHERE tileset = %lld AND z < %d",
    [TSEED_SQL_SHADES] = "SELECT id, tile FROM shade WHERE tileset = %lld ORDER BY id",
    [TSEED_SQL_SHADE_SAVE] = "INSERT INTO shade (tileset, id, tile) VALUES (%lld, %lld, %s)"
                             " ON CONFLICT (tileset, id) DO UPDATE SET tile = excluded.tile",
    [TSEED_SQL_SHADES_DELETE] = "DELETE FROM shade WHERE tileset = %lld",
    [TSEED_SQL_NOTE_GET] = "SELECT value FROM note WHERE name = %s",
    [TSEED_SQL_NOTE_SET] = "INSERT INTO note (name, value) VALUES (%s, %s)"
                           " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [TSEED_SQL_NOTE_APPEND] = "INSERT INTO note (name, value) VALUES (%s, %s) ON CONFLICT (name)"
                              " DO UPDATE SET value = note.value || excluded.value",
};

static const tseed_guest_statements_t none, *guests = &none;

void tseed_statements_welcome(const tseed_guest_statements_t *given)
{
    guests = given ? given : &none;
}

const tseed_guest_statements_t *tseed_statements_guests(void)
{
    return guests;
}
