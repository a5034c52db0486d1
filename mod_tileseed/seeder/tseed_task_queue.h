/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The task queue: which PENDING tasks begin next, and why the others wait. Main thread only.
 *
 * A truncate asks no upstream and needs none of the seeding threads: it begins at once. At most as
 * many truncates as there are seeding threads run at a time, and one of each layer in any case, so
 * that no layer waits for the truncates of another.
 *
 * Seeds begin in the order of their ids, with three exceptions. A task waits for earlier truncates
 * of its tile set. If a layer has a paused task, tasks of other layers go first, because the next
 * task of that layer would probably be paused as well. Paused tasks take memory, so there are few.
 * A task that has an obstacle waits as long as this seeder lives, and holds up nobody: this host
 * does not know the tile set of such a truncate, so no task waits for the truncate.
 */
#ifndef TSEED_TASK_QUEUE_H
#define TSEED_TASK_QUEUE_H

#include <apr_hash.h>

#include "seeder/tseed_tasks.h"

/* What keeps PENDING tasks from being begun. */
typedef struct {
    apr_pool_t *scratch;
    apr_hash_t *truncates; /* key of a tile set -> the last truncate of it so far, an entry */
    apr_hash_t *paused;    /* layer -> a paused run of it, not of a truncate */
    int paused_count;      /* runs */
    apr_hash_t *removing;  /* layer -> a truncate of it that runs or begins, its id */
    int removing_count;
    int threads; /* seeding threads, all of them, */
    int vacant;  /* and those that no run uses */
} tseed_task_queue_t;

/* Looks at the runs; what the queue holds lives in `scratch`. */
tseed_task_queue_t tseed_task_queue_of(const tseed_runs_t *runs, int threads, apr_pool_t *scratch);

/* Finds the PENDING tasks that begin now, in scratch, as tseed_entry_t *: `vacant` seeds at most,
 * and truncates. */
apr_array_header_t *tseed_task_queue_find(tseed_task_queue_t *queue, tseed_entry_t *entries);

/* Notes a task that stands before others. To be called for each entry, in order. */
void tseed_task_queue_pass(tseed_task_queue_t *queue, const tseed_entry_t *entry);

/* Says why a PENDING task waits, in scratch, and sets `code` to the reason's; "": it need not. The
 * entries before it have been passed. */
const char *tseed_task_queue_reason(const tseed_task_queue_t *queue, const tseed_entry_t *entry,
                                    tseed_reason_t *code);

typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_fleet_t *fleet;
    int has_other_hosts; /* the database knows some */
    int count;           /* tasks whose obstacles are not recorded yet, */
    int64_t first;       /* and the first one of them */
} tseed_obstacles_t;

/* Looks for other hosts, before tasks are taken in. */
apr_status_t tseed_obstacles_look(tseed_obstacles_t *obstacles);

/* Gives an entry its obstacle, malloc'd, if the task is to wait: what does not fit, in words. */
void tseed_obstacles_add(tseed_obstacles_t *obstacles, tseed_entry_t *entry, const char *problem);

/* Takes all obstacles of `entries` for not recorded, because the database has forgotten them. */
void tseed_obstacles_recount(tseed_obstacles_t *obstacles, const tseed_entry_t *entries);

/* Writes what was added to the board, the database and the log. `entries` are all tasks. When it
 * fails the next call does it. */
apr_status_t tseed_obstacles_record(tseed_obstacles_t *obstacles, const tseed_entry_t *entries);

#endif
