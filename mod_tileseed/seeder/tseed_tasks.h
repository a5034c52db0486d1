/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tasks: all unfinished tasks that the board shows, running or not. Main thread only. */
#ifndef TSEED_TASKS_H
#define TSEED_TASKS_H

#include "fleet/tseed_doors.h"
#include "pipeline/tseed_ends.h"

/* An unfinished task. A PENDING task costs no more memory than this. malloc'd. */
typedef struct tseed_entry_t {
    int64_t id;
    tseed_task_type_t type;
    int slot;         /* on the board */
    int terminated;   /* by a client, not yet confirmed */
    char *tileset;    /* its key, malloc'd; "" when the task does not fit the configuration */
    char *layer;      /* malloc'd */
    char *obstacle;   /* why it waits for another host, see tseed_task_queue.h; NULL: it need not */
    tseed_run_t *run; /* NULL: PENDING */
    struct tseed_entry_t *next;
} tseed_entry_t;

typedef struct tseed_tasks_t tseed_tasks_t;

/* What tasks use. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    tseed_runs_t *runs;
    tseed_cache_t *cache;
    tseed_ends_t *ends;
    tseed_savings_t *savings;
    tseed_cutoff_t *cutoff;
    const tseed_fleet_t *fleet;
} tseed_tasks_uses_t;

/* Makes the module, in the context's pool, without a task. */
tseed_tasks_t *tseed_tasks_create(const tseed_tasks_uses_t *uses);

/* Returns the tasks in the order of their ids, by `next`; NULL: there are none. */
tseed_entry_t *tseed_tasks_first(const tseed_tasks_t *tasks);
/* Returns how many tasks neither run nor are terminated; and how many of those are truncates. */
int tseed_tasks_pending(const tseed_tasks_t *tasks);
int tseed_tasks_pending_truncates(const tseed_tasks_t *tasks);

/* Takes in all unfinished tasks at the start, with the progress that an earlier seeder left on the
 * board. Fails when the database does; the next try goes on where this one failed. */
apr_status_t tseed_tasks_recover(tseed_tasks_t *tasks);
/* Takes in what children have committed since: new tasks and terminations. Fails when the database
 * does. */
apr_status_t tseed_tasks_hear(tseed_tasks_t *tasks);

/* Makes `count` PENDING tasks RUNNING in the database, in one commit. Sets the entry of a task to
 * NULL if a client has terminated the task first. Fails when the database does, which has been
 * noted at the session. */
apr_status_t tseed_tasks_claim(tseed_tasks_t *tasks, tseed_entry_t **entries, int count);
/* Notes that a claimed task has a run now. */
void tseed_tasks_begin(tseed_tasks_t *tasks, tseed_entry_t *entry, tseed_run_t *run);

/* Terminates a task that the database does not know. */
void tseed_tasks_forget(tseed_tasks_t *tasks, int64_t id);
/* Removes a task that never ran, and its slot on the board. Frees the entry. */
void tseed_tasks_drop(tseed_tasks_t *tasks, tseed_entry_t *entry);
/* Removes a run whose end has been recorded, and its task. Destroys the run's pool. */
void tseed_tasks_dismiss(tseed_tasks_t *tasks, tseed_run_t *run);

#endif
