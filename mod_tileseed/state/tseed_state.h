/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The state: tasks, failures and the quota configuration in a database.
 *
 * Each process opens its own handle after the fork, and one thread at a time uses it: a child
 * guards its handle with a mutex, and the seeder's main thread has one of its own. When a function
 * returns APR_SUCCESS its change is committed and synced. Each call compares the database file with
 * the file that was opened; if it was replaced or removed, the call opens the file anew and tries
 * again.
 *
 * Callers tell these statuses apart: APR_SUCCESS; APR_NOTFOUND; APR_ENOSPC (no room: 507);
 * APR_INCOMPLETE (a change failed, and nobody knows whether it will be found done later); all
 * others (503), with which nothing was changed. tseed_state_error says in words what happened.
 *
 * Results live in the pool that a call takes.
 */
#ifndef TSEED_STATE_H
#define TSEED_STATE_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <errno.h>
#include <stdatomic.h>

#include "protocol/tseed_estimate.h"
#include "protocol/tseed_route.h"
#include "protocol/tseed_settings.h"
#include "protocol/tseed_task.h"
#include "tiling/tseed_positions.h"

typedef struct tseed_state_t tseed_state_t;

/* The host has lost its registration or its role: another host took it for dead. */
#define TSEED_EFENCED EOWNERDEAD

/* Opens the database below `dir` (file tileseed.db unless `params` names another). The first
 * process makes or migrates the schema. A damaged file is set aside, and its readable rows are
 * taken over. On failure *state is NULL and the reason is logged, once. */
apr_status_t tseed_state_open(tseed_state_t **state, const char *dir, const char *driver,
                              const char *params, apr_pool_t *pool);

/* Opens the database that the settings name, unless *state is open. */
apr_status_t tseed_state_ready(tseed_state_t **state, const tseed_settings_t *settings,
                               apr_pool_t *pool);

/* Closes it before its pool goes; clearing that pool does so as well. */
void tseed_state_close(tseed_state_t *state);

/* From now on a write waits for SQLite's lock for three seconds rather than ten: a client waits for
 * the answer, and can ask again. */
void tseed_state_hurry(tseed_state_t *state);

/* The last failure in words, for the log; never NULL. */
const char *tseed_state_error(const tseed_state_t *state);

/* ---- children ---- */

/* Records a task; task->id is the new one. `most` bounds PENDING and RUNNING tasks: APR_EAGAIN when
 * that many exist. A task of 0 tiles is DONE at once, and needs no place. */
apr_status_t tseed_state_task_insert(tseed_state_t *state, tseed_task_t *task, int64_t most);

/* Records a task that retries the failed metatiles of task->retry_of, which has ended. `task` is a
 * copy of that task, and `positions` are that task's; the new task's positions count its failed
 * metatiles. Sets id and tiles_total. APR_EAGAIN as above; APR_NOTFOUND: task->retry_of has no
 * failed metatiles. */
apr_status_t tseed_state_task_retry(tseed_state_t *state, tseed_task_t *task,
                                    const tseed_positions_t *positions, int64_t most);

/* The outcome of a request. */
typedef enum {
    TSEED_ACCEPTED, /* a new task */
    TSEED_REPEATED, /* the task that this very request became before */
    TSEED_COVERED,  /* a pending task that will make all of it */
    TSEED_DIFFERS   /* none: the key came with another request */
} tseed_outcome_of_request_t;

/* A request as a client made it. */
typedef struct {
    tseed_task_t *task;
    const tseed_positions_t *retry; /* of tseed_state_task_retry, or NULL: all of the task */
    int64_t most;
    const char *key, *digest; /* the client's key, and what tells requests apart; NULL: no key.
                               * Keys are of task->requested_by and kept for a day. */
    int lenient;              /* a pending task that covers it will do */
    tseed_outcome_of_request_t outcome;
} tseed_acceptance_t;

/* Records a new task for the request, or finds the task that there is for it, in one commit. Sets
 * task->id to the id of that task, and acceptance->outcome. Fails as tseed_state_task_insert and
 * tseed_state_task_retry do. */
apr_status_t tseed_state_accept(tseed_state_t *state, tseed_acceptance_t *acceptance);

/* One task with its progress, whatever its state, in `pool`. APR_NOTFOUND. */
apr_status_t tseed_state_task_get(tseed_state_t *state, tseed_task_t **task,
                                  tseed_progress_t *progress, int64_t id, apr_pool_t *pool);

/* Tasks that a query wants, newest first, at most query->limit: *records is an array of
 * tseed_task_record_t in `pool`. `layers` (of const char *): only theirs; NULL: all. */
apr_status_t tseed_state_find(tseed_state_t *state, apr_array_header_t **records,
                              const tseed_task_query_t *query, const apr_array_header_t *layers,
                              apr_pool_t *pool);

/* The failed metatiles of a task that a query wants, ascending by z, x, y: *failures is an array of
 * tseed_failure_t in `pool`; *total counts all that the task has. */
apr_status_t tseed_state_failures(tseed_state_t *state, apr_array_header_t **failures,
                                  int64_t *total, int64_t task, const tseed_failure_query_t *query,
                                  apr_pool_t *pool);

/* Groups the failures of a task by their causes, at most a hundred thousand failures and fifty
 * causes, in `pool`. */
apr_status_t tseed_state_causes(tseed_state_t *state, tseed_causes_t *causes, int64_t task,
                                apr_pool_t *pool);

/* How many metatiles of each of TSEED_LEVELS_MAX levels a task with retry_of is about. */
apr_status_t tseed_state_metatile_levels(tseed_state_t *state, int64_t *levels, int64_t task);

/* Which tasks a client wants to terminate, and the reason that their records get. */
typedef struct {
    int64_t task;                     /* this one; 0: all of the layers and states */
    const apr_array_header_t *layers; /* of const char *; NULL: all */
    unsigned mask;                    /* of states: 1 << PENDING, 1 << RUNNING */
    const char *reason;
    apr_time_t now;
} tseed_termination_t;

/* Terminates them in one commit. *terminated: array of tseed_terminated_t
 * (protocol/tseed_answer.h), ascending by id. */
apr_status_t tseed_state_terminate(tseed_state_t *state, apr_array_header_t **terminated,
                                   const tseed_termination_t *what, apr_pool_t *pool);

/* Whether any task was ever recorded for that layer and is not finished. */
apr_status_t tseed_state_has_tasks(tseed_state_t *state, int *has, const char *layer);

/* The id of the newest task, 0 if there was none. */
apr_status_t tseed_state_newest(tseed_state_t *state, int64_t *id);

/* Status rows (tseed_status_row_t) of unfinished tasks of a layer (NULL: all), ascending; for when
 * the board lags. */
apr_status_t tseed_state_list(tseed_state_t *state, apr_array_header_t **rows, const char *layer,
                              apr_pool_t *pool);

/* Reads what tasks have measured of a tile set so far; `measures` has TSEED_LEVELS_MAX levels. */
apr_status_t tseed_state_measures(tseed_state_t *state, tseed_measure_t *measures,
                                  const char *tileset);

/* The quota configuration's saved text and version; APR_NOTFOUND before the first set. `directive`
 * is the value of TileSeedDiskQuota that it was last made of. */
apr_status_t tseed_state_quota_get(tseed_state_t *state, const char **saved, const char **directive,
                                   int64_t *version, apr_pool_t *pool);

/* Replaces version `version` (0: there is none) by version + 1; APR_EAGAIN if somebody else was
 * first. */
apr_status_t tseed_state_quota_set(tseed_state_t *state, const char *saved, const char *directive,
                                   int64_t version);

/* ---- seeder, main thread ---- */

/* Looks through the whole file, for as long as it takes; nothing is changed. Fails when the file
 * can't be read to its end. Any thread that has a handle of its own. */
apr_status_t tseed_state_look_through(tseed_state_t *state, int *is_damaged);

/* Does so, and replaces the file by what can be read of it if it is damaged. */
apr_status_t tseed_state_check(tseed_state_t *state);

/* Tells the file of the database that is open from any other one, such as a fresh one after it was
 * removed; 0: the database is no file. */
uint64_t tseed_state_file(const tseed_state_t *state);

/* From now on *waits says since when a call has been waiting for a database server (monotonic); 0:
 * no call waits. Returns 0 when the database is a file: then *waits stays 0. */
int tseed_state_watch(tseed_state_t *state, _Atomic int64_t *waits);

/* Once at start: RUNNING becomes PENDING. *records: all unfinished tasks (tseed_task_record_t)
 * ascending. */
apr_status_t tseed_state_recover(tseed_state_t *state, apr_array_header_t **records,
                                 apr_pool_t *pool);

/* Unfinished tasks with id > after, ascending (tseed_task_record_t). */
apr_status_t tseed_state_new_tasks(tseed_state_t *state, apr_array_header_t **records,
                                   int64_t after, apr_pool_t *pool);

/* Ids (int64_t) of tasks that were terminated and not yet confirmed. */
apr_status_t tseed_state_terminations(tseed_state_t *state, apr_array_header_t **ids,
                                      apr_pool_t *pool);

/* The first tiles (tseed_tile_t) of the metatiles that a task with retry_of is about; the index is
 * the position. */
apr_status_t tseed_state_metatiles(tseed_state_t *state, apr_array_header_t **metatiles,
                                   int64_t task, apr_pool_t *pool);

/* Brings SQLite's log into the database file. Else, if an administrator replaced the file, SQLite
 * would bring the old log into the new file. A log that is large, or that others are reading,
 * stays. Once, at the end. */
void tseed_state_settle(tseed_state_t *state);

/* One transaction for all that follows until commit; on any failure roll back and begin anew. */
apr_status_t tseed_state_begin(tseed_state_t *state);
apr_status_t tseed_state_commit(tseed_state_t *state);
void tseed_state_rollback(tseed_state_t *state);

/* Conditional updates inside a transaction; *won is 0 when a termination came first, or the
 * database does not know the task. claim: PENDING or RUNNING -> RUNNING. finish: RUNNING or PENDING
 * -> progress->state. checkpoint: progress of a task that goes on. */
apr_status_t tseed_state_task_claim(tseed_state_t *state, int64_t id, apr_time_t now, int *won);
apr_status_t tseed_state_task_finish(tseed_state_t *state, int64_t id,
                                     const tseed_progress_t *progress, int *won);
apr_status_t tseed_state_task_checkpoint(tseed_state_t *state, int64_t id,
                                         const tseed_progress_t *progress, int *won);

/* Writes the reason of a task and its code alone, if the task is unfinished. */
apr_status_t tseed_state_task_reason(tseed_state_t *state, int64_t id,
                                     const tseed_progress_t *progress);

/* Says that a terminated task writes no more: saves its final counters and confirms the
 * termination. */
apr_status_t tseed_state_task_confirm(tseed_state_t *state, int64_t id,
                                      const tseed_progress_t *progress);

/* Records a metatile given up on; a second record of the same one replaces the first. */
apr_status_t tseed_state_failure_add(tseed_state_t *state, const tseed_failure_t *failure);

/* Adds a measure to the sums of a level. A rollback undoes it. */
apr_status_t tseed_state_measure_add(tseed_state_t *state, const char *tileset, int z,
                                     const tseed_measure_t *measure);

/* Forgets finished tasks (and their failures) beyond the newest `most` or older than `before`, at
 * most a few hundred a call. */
apr_status_t tseed_state_trim(tseed_state_t *state, int64_t most, apr_time_t before);

#endif
