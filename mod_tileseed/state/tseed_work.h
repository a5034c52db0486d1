/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How every call is carried out: the handle's insides and the two ways to work with it. For the
 * state room, and for rooms that bring statements of their own. The thread that has the handle just
 * now. Statuses as in tseed_state.h. */
#ifndef TSEED_WORK_H
#define TSEED_WORK_H

#include "state/tseed_database.h"
#include "state/tseed_state.h"

/* A call's statements. May run again, after the connection was made anew. */
typedef apr_status_t tseed_work_t(tseed_state_t *state, void *baton);

struct tseed_state_t {
    apr_pool_t *pool;
    apr_pool_t *scratch; /* cleared by each call */
    tseed_database_t db;
    int is_hurried;         /* a client waits for the answer: see tseed_state_hurry */
    _Atomic int64_t *waits; /* since when a call waits for a server; NULL: nobody asks */
    tseed_work_t *fence;    /* what each transaction begins with; NULL: nothing */
    void *fence_baton;
};

/* Does the work in a transaction of its own, or in the one that tseed_state_begin began. */
apr_status_t tseed_work_write(tseed_state_t *state, tseed_work_t *work, void *baton);

/* Makes one change for each row of an array, all or none. Without a row it does nothing. */
typedef apr_status_t tseed_work_change_t(tseed_database_t *db, void *row);
apr_status_t tseed_work_write_each(tseed_state_t *state, tseed_work_change_t *change,
                                   const apr_array_header_t *rows);

/* The same with one change. *rows as for tseed_database_change. */
apr_status_t tseed_work_change(tseed_state_t *state, int *rows, tseed_sql_t sql,
                               const void *const *args);

/* Does work that only reads. */
apr_status_t tseed_work_read(tseed_state_t *state, tseed_work_t *work, void *baton);

/* The same with one statement, whose rows become those of the list. tseed_work_add_rows adds them
 * to the list, inside other work. Texts that are scanned get into the list's pool. */
typedef void tseed_work_row_t(void *row, tseed_rows_t *rows);
apr_status_t tseed_work_list(tseed_state_t *state, apr_array_header_t *list, tseed_work_row_t *load,
                             tseed_sql_t sql, const void *const *args);
apr_status_t tseed_work_add_rows(tseed_state_t *state, apr_array_header_t *list,
                                 tseed_work_row_t *load, tseed_sql_t sql, const void *const *args);

/* Likewise, where a statement may take longer than a server is usually given. Inside a transaction
 * tseed_work_patience says so. */
apr_status_t tseed_work_read_long(tseed_state_t *state, tseed_work_t *work, void *baton);
apr_status_t tseed_work_patience(tseed_state_t *state);

/* Connects if need be, and anew when the connection was lost. */
apr_status_t tseed_work_ready(tseed_state_t *state);

/* From now on each transaction of the handle begins with the fence. When the fence fails, the
 * transaction fails with its status and changes nothing. */
void tseed_work_fence(tseed_state_t *state, tseed_work_t *fence, void *baton);

/* A transaction for several calls. It begins on a new connection if need be. */
apr_status_t tseed_work_begin(tseed_state_t *state);
apr_status_t tseed_work_commit(tseed_state_t *state);
void tseed_work_rollback(tseed_state_t *state);

/* The id of a new task, inside a transaction. APR_EAGAIN when `most` are unfinished already. */
apr_status_t tseed_work_next_id(tseed_state_t *state, int64_t *id, int64_t most);

/* The first column of the first row as a number; APR_NOTFOUND when there is no row. */
apr_status_t tseed_work_number(tseed_state_t *state, int64_t *number, tseed_sql_t sql,
                               const void *const *args);

#endif
