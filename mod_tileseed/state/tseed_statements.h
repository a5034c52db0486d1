/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Every statement that is prepared, by name. The SQL is what SQLite from 3.35 and PostgreSQL from
 * 12 have in common; a parameter is written as apr_dbd_prepare wants it. A dialect may have its own
 * text of a statement. */
#ifndef TSEED_STATEMENTS_H
#define TSEED_STATEMENTS_H

#include "protocol/tseed_task.h"

/* In the order in which tseed_record_task_load and tseed_record_progress_load read them. `passed`
 * is the window of finished positions, `counts` those counts that are no columns. */
#define TSEED_TASK_COLUMNS                                                                         \
    "id, type, layer, gridset, format, parameters, bounds, has_area, zoom_start, zoom_stop,"       \
    " thread_count, meta_width, meta_height, gutter, retries, retry_wait, failure_limit,"          \
    " tiles_total, gridset_print, store_print, requested_by, created, retry_of, ignored,"          \
    " derived_first, derived_end"
#define TSEED_COLUMN_COLUMN(member, what) #member what
#define TSEED_COLUMN_TEXT(member, what)
#define TSEED_COLUMN(member, name, wire, is_processed, place) TSEED_COLUMN_##place(member, ", ")
#define TSEED_COUNTER_COLUMNS                                                                      \
    TSEED_COUNTS(TSEED_COLUMN) "failures, started, away_since, low, passed, counts"
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

/* Why a task waited is to be found out anew. */
#define TSEED_RECOVER(which) "UPDATE task SET state = 0, reason = '', reason_code = '' WHERE " which
#define TSEED_RECOVERED      "state = 1 OR (state = 0 AND reason <> '')"

#define TSEED_HISTORY_BEYOND                                                                       \
    "SELECT id FROM task WHERE state IN (-1, 2) AND kill_pending = 0"                              \
    " AND (id <= %lld OR finished < %lld) ORDER BY id LIMIT %lld"

/* The number of a statement. */
typedef int tseed_sql_t;

enum {
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
    TSEED_SQL_FINDINGS_DOUBT,
    TSEED_SQL_SHADES,
    TSEED_SQL_SHADE_SAVE,
    TSEED_SQL_SHADES_DELETE,
    TSEED_SQL_NOTE_GET,
    TSEED_SQL_NOTE_SET,
    TSEED_SQL_NOTE_APPEND,
    TSEED_SQL_COUNT,
    /* the guests': numbers from TSEED_SQL_COUNT on */
    TSEED_SQL_MOST = TSEED_SQL_COUNT + 48
};

extern const char *const tseed_statements[TSEED_SQL_COUNT];

/* Statements of a room above, which have the numbers from TSEED_SQL_COUNT on. */
typedef struct {
    int count;
    const char *const *texts;
    const char *const *of_pgsql; /* what is said to PostgreSQL in their place; NULL: the same */
} tseed_guest_statements_t;

/* Takes the guests in, which outlive the process; NULL, as at first: there are none. Call it before
 * any database is opened. */
void tseed_statements_welcome(const tseed_guest_statements_t *guests);

/* The guests. Any thread. */
const tseed_guest_statements_t *tseed_statements_guests(void);

#endif
