/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Every statement that is prepared, by name. Private to the state room. The SQL is what SQLite from
 * 3.35 and PostgreSQL from 12 have in common; a parameter is written as apr_dbd_prepare wants it. A
 * dialect may have its own text of a statement. */
#ifndef TSEED_STATEMENTS_H
#define TSEED_STATEMENTS_H

#include "protocol/tseed_task.h"

/* In the order in which tseed_record_task_load and tseed_record_progress_load read them. `passed`
 * is the window of finished positions. */
#define TSEED_TASK_COLUMNS                                                                         \
    "id, type, layer, gridset, format, parameters, bounds, has_area, zoom_start, zoom_stop,"       \
    " thread_count, meta_width, meta_height, gutter, retries, retry_wait, failure_limit,"          \
    " tiles_total, gridset_print, store_print, requested_by, created, retry_of, ignored,"          \
    " derived_first, derived_end"
#define TSEED_COLUMN(member, ...) #member ", "
#define TSEED_COUNTER_COLUMNS                                                                      \
    TSEED_COUNTS(TSEED_COLUMN) "failures, started, away_since, low, passed"
#define TSEED_PROGRESS_COLUMNS "state, reason, reason_code, finished, " TSEED_COUNTER_COLUMNS

#define TSEED_SUM_COLUMNS                                                                          \
    "pages, names, files, bytes, allocated,"                                                       \
    " shared_names, shared_files, shared_bytes, shared_allocated,"                                 \
    " detached_names, detached_files, detached_bytes, detached_allocated, complete, doubtful,"     \
    " recipe, by_reading"

/* Terminates tasks of a state that are chosen by `which`, and gives the columns that name them. */
#define TSEED_TERMINATE(which)                                                                     \
    "UPDATE task SET state = -1, finished = CASE WHEN started > %lld THEN started"                 \
    " WHEN created > %lld THEN created ELSE %lld END, reason = %s,"                                \
    " reason_code = 'TERMINATED', kill_pending = 1"                                                \
    " WHERE " which " RETURNING id, layer, type"

#define TSEED_MISS_ANSWER                                                                          \
    "UPDATE miss SET outcome = %d, retry_after = %d, upstream = %d, cause = %s, tile = %s"

/* Why a task waited is to be found out anew. */
#define TSEED_RECOVER(which) "UPDATE task SET state = 0, reason = '', reason_code = '' WHERE " which
#define TSEED_RECOVERED      "state = 1 OR (state = 0 AND reason <> '')"

#define TSEED_PORTION_ONE  "giver = %lld AND epoch = %lld AND number = %lld"
#define TSEED_PORTIONS_OWN "giver = %lld"
#define TSEED_PORTIONS_OLD "giver NOT IN (SELECT epoch FROM role WHERE name = 'seeder')"

#define TSEED_HISTORY_BEYOND                                                                       \
    "SELECT id FROM task WHERE state IN (-1, 2) AND kill_pending = 0"                              \
    " AND (id <= %lld OR finished < %lld) ORDER BY id LIMIT %lld"

/* The hosts' statements; a dialect adds what locks the row. */
#define TSEED_SQL_ROLE_ROW "SELECT host, epoch, tenure, former FROM role WHERE name = %s"
#define TSEED_SQL_HOST_ROW                                                                         \
    "SELECT instance, epoch, renewals, until, state FROM host WHERE name = %s"
#define TSEED_SQL_HOST_HELD                                                                        \
    "SELECT epoch FROM host WHERE name = %s AND epoch = %lld AND renewals >= %lld"                 \
    " AND EXISTS (SELECT 1 FROM role WHERE role.host = host.name AND role.epoch = host.epoch)"

typedef enum {
    TSEED_SQL_ID_HOLD,
    TSEED_SQL_ID_NEXT,
    TSEED_SQL_ID_GET,
    TSEED_SQL_ID_SET,
    TSEED_SQL_TASKS_COUNT,
    TSEED_SQL_TASK_INSERT,
    TSEED_SQL_TASK_GET,
    TSEED_SQL_TASK_HOLD,
    TSEED_SQL_TASKS_HOLD,
    TSEED_SQL_TASK_ENDING,
    TSEED_SQL_TASKS_BEFORE,
    TSEED_SQL_TASKS_BEFORE_OF_LAYER,
    TSEED_SQL_TASKS_AFTER,
    TSEED_SQL_ROWS_AFTER,
    TSEED_SQL_ROWS_AFTER_OF_LAYER,
    TSEED_SQL_LAYER_HAS,
    TSEED_SQL_TERMINATE,
    TSEED_SQL_TERMINATE_OF_LAYER,
    TSEED_SQL_TERMINATE_ONE,
    TSEED_SQL_QUOTA_GET,
    TSEED_SQL_QUOTA_INSERT,
    TSEED_SQL_QUOTA_UPDATE,
    TSEED_SQL_RECOVER_RUNNING,
    TSEED_SQL_TERMINATED,
    TSEED_SQL_TASK_CLAIM,
    TSEED_SQL_TASK_FINISH,
    TSEED_SQL_TASK_CHECKPOINT,
    TSEED_SQL_TASK_REASON,
    TSEED_SQL_TASK_COUNT_LAST,
    TSEED_SQL_TASK_CONFIRM,
    TSEED_SQL_FAILURE_ADD,
    TSEED_SQL_FAILURES_COUNT,
    TSEED_SQL_FAILURES_AFTER,
    TSEED_SQL_METATILE_ADD,
    TSEED_SQL_METATILES_FROM,
    TSEED_SQL_METATILES_BY_LEVEL,
    TSEED_SQL_METATILES_DELETE,
    TSEED_SQL_MEASURE_ADD,
    TSEED_SQL_MEASURES_GET,
    TSEED_SQL_REQUESTS_FORGET,
    TSEED_SQL_REQUEST_GET,
    TSEED_SQL_REQUEST_ADD,
    TSEED_SQL_TASKS_OF_SET,
    TSEED_SQL_HISTORY_END,
    TSEED_SQL_HISTORY_BEYOND,
    TSEED_SQL_FAILURES_DELETE,
    TSEED_SQL_TASK_DELETE,
    TSEED_SQL_TILESETS,
    TSEED_SQL_TILESET_NEXT,
    TSEED_SQL_TILESET_FIND,
    TSEED_SQL_TILESET_INSERT,
    TSEED_SQL_TILESET_PLACE,
    TSEED_SQL_TILESET_SAVE,
    TSEED_SQL_TILESET_DELETE,
    TSEED_SQL_TILESETS_DOUBT,
    TSEED_SQL_PAGES,
    TSEED_SQL_PAGES_BY_LEVEL,
    TSEED_SQL_PAGES_BY_LEVEL_OF_ALL,
    TSEED_SQL_PAGES_DELETE,
    TSEED_SQL_PAGE_SAVE,
    TSEED_SQL_PAGE_DELETE,
    TSEED_SQL_ORIGINS_GET,
    TSEED_SQL_ORIGINS_SAVE,
    TSEED_SQL_ORIGINS_DELETE,
    TSEED_SQL_ORIGINS_DELETE_LEVEL,
    TSEED_SQL_ORIGINS_DELETE_TILESET,
    TSEED_SQL_ORIGINS_DELETE_ALL,
    TSEED_SQL_FINDINGS,
    TSEED_SQL_FINDING_SAVE,
    TSEED_SQL_FINDING_DELETE,
    TSEED_SQL_FINDINGS_DELETE,
    TSEED_SQL_SHADES,
    TSEED_SQL_SHADE_SAVE,
    TSEED_SQL_SHADES_DELETE,
    TSEED_SQL_NOTE_GET,
    TSEED_SQL_NOTE_SET,
    TSEED_SQL_NOTE_APPEND,
    TSEED_SQL_CLOCK,
    TSEED_SQL_EPOCH_NEXT,
    TSEED_SQL_EPOCH_RAISE,
    TSEED_SQL_ROLE_GET,
    TSEED_SQL_ROLE_HOLD,
    TSEED_SQL_ROLE_SET,
    TSEED_SQL_HOST_GET,
    TSEED_SQL_HOST_HOLD,
    TSEED_SQL_HOST_FENCE,
    TSEED_SQL_HOST_GLANCE,
    TSEED_SQL_HOST_PUT,
    TSEED_SQL_HOST_RENEW,
    TSEED_SQL_HOST_OUST,
    TSEED_SQL_HOST_LEAVE,
    TSEED_SQL_HOST_DRAIN,
    TSEED_SQL_HOSTS,
    TSEED_SQL_HOSTS_OTHERS,
    TSEED_SQL_HOSTS_FORGET,
    TSEED_SQL_MISS_ADD,
    TSEED_SQL_MISS_ANSWER,
    TSEED_SQL_MISS_DELETE,
    TSEED_SQL_MISSES_OPEN,
    TSEED_SQL_MISSES_ANSWERED,
    TSEED_SQL_MISSES_DELETE,
    TSEED_SQL_MISSES_FORGET,
    TSEED_SQL_PORTION_ADD,
    TSEED_SQL_PORTION_FINISH,
    TSEED_SQL_PORTION_DELETE,
    TSEED_SQL_PORTIONS_LEAVE,
    TSEED_SQL_PORTIONS_FORGET,
    TSEED_SQL_PORTIONS_GIVEN,
    TSEED_SQL_PORTIONS_FINISHED,
    TSEED_SQL_PORTIONS_OF,
    TSEED_SQL_PORTION_HOSTS,
    TSEED_SQL_COUNT
} tseed_sql_t;

extern const char *const tseed_statements[TSEED_SQL_COUNT];

#endif
