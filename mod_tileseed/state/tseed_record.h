/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tasks and progress as the columns of their rows. Private to the state room. The thread that uses
 * the connection. A scratch pool holds what a call needs while it runs; statuses are those of the
 * statement. */
#ifndef TSEED_RECORD_H
#define TSEED_RECORD_H

#include "protocol/tseed_task.h"
#include "state/tseed_database.h"

/* Writes the row of a new task with the id it has. */
apr_status_t tseed_record_task_insert(tseed_database_t *db, const tseed_task_t *task,
                                      apr_pool_t *scratch);

/* The type of a task by its number; TSEED_SEED: the number is none that the module writes. */
tseed_task_type_t tseed_record_type(int number);

/* Reads TSEED_TASK_COLUMNS from where the row is; the task lives in the pool of texts. A row that
 * the module has not written so becomes a task that fits no grid set. */
tseed_task_t *tseed_record_task_load(tseed_rows_t *rows);

/* The same with TSEED_PROGRESS_COLUMNS behind them, into a tseed_task_record_t. */
void tseed_record_load(void *record, tseed_rows_t *rows);

/* Runs a statement that begins with the counters; `more` are its `count` arguments behind them. */
apr_status_t tseed_record_progress_save(tseed_database_t *db, int *rows, tseed_sql_t sql,
                                        const tseed_progress_t *progress, const void *const *more,
                                        int count);

#endif
