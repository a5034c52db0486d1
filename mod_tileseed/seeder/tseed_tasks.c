/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tasks: all unfinished tasks that the board shows. */
#include "seeder/tseed_tasks.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "board/tseed_counters.h"
#include "board/tseed_traces.h"
#include "books/tseed_jobs.h"
#include "protocol/tseed_task_check.h"
#include "seeder/tseed_task_queue.h"

struct tseed_tasks_t {
    tseed_tasks_uses_t uses;
    tseed_entry_t *entries, **entries_end; /* ascending by id */
    int64_t last_id;                       /* newest task that was taken in */
    int pending;                           /* entries without a run, not terminated, */
    int pending_truncates;                 /* and those of them that are truncates */
    tseed_obstacles_t obstacles;
};

tseed_tasks_t *tseed_tasks_create(const tseed_tasks_uses_t *uses)
{
    tseed_tasks_t *tasks = apr_pcalloc(uses->context->pool, sizeof(*tasks));

    tasks->uses = *uses;
    tasks->entries_end = &tasks->entries;
    tasks->obstacles = (tseed_obstacles_t){
        .context = uses->context, .session = uses->session, .fleet = uses->fleet};
    return tasks;
}

tseed_entry_t *tseed_tasks_first(const tseed_tasks_t *tasks)
{
    return tasks->entries;
}

int tseed_tasks_pending(const tseed_tasks_t *tasks)
{
    return tasks->pending;
}

int tseed_tasks_pending_truncates(const tseed_tasks_t *tasks)
{
    return tasks->pending_truncates;
}

static void count_pending(tseed_tasks_t *tasks, const tseed_entry_t *entry, int change)
{
    tasks->pending += change;
    tasks->pending_truncates += entry->type == TSEED_TRUNCATE ? change : 0;
}

/* ---- entries ---- */

/* Shows how many findings a truncate has forgotten. The board keeps the number until the task has a
 * run. A seeder that takes the task in anew may have some to forget that its predecessor did not
 * save as forgotten. */
static void show_forgotten(const tseed_tasks_t *tasks, int slot, int64_t forgotten)
{
    tseed_row_t row;

    if (tseed_board_read(tasks->uses.context->board, (unsigned)slot, &row) &&
        row.progress.forgotten < forgotten) {
        row.progress.forgotten = forgotten;
        tseed_board_slot_update(tasks->uses.context->board, slot, &row.progress);
    }
}

/* What was asked before a truncate or a reseed, and found before a truncate, is worth nothing from
 * now on. What was found is forgotten before a job is sent back: no job takes it up again. */
static void draw_line(tseed_tasks_t *tasks, const tseed_entry_t *entry, const tseed_task_t *task,
                      const tseed_tileset_t *tileset)
{
    tseed_cutoff_draw(tasks->uses.cutoff, task, tileset);
    tseed_savings_close(tasks->uses.savings);
    if (task->type == TSEED_TRUNCATE) {
        show_forgotten(tasks, entry->slot, tseed_savings_truncate(tasks->uses.savings, tileset));
    }
    for (tseed_run_t *run = tasks->uses.runs->tasks; run; run = run->next_run) {
        tseed_flow_send_back(run);
    }
    for (tseed_run_t *run = tasks->uses.runs->background; run; run = run->next_run) {
        tseed_flow_send_back(run);
    }
}

/* Sets the key of a task's tile set. */
static void resolve(tseed_tasks_t *tasks, tseed_entry_t *entry, const tseed_task_t *task)
{
    tseed_tileset_t tileset;
    const char *problem = tseed_task_tileset(&tileset, task, tasks->uses.context->catalog,
                                             tasks->uses.context->scratch);

    if (problem) {
        entry->tileset = tseed_memory_copy("");
        tseed_obstacles_add(&tasks->obstacles, entry, problem);
        return;
    }
    if (task->type == TSEED_TRUNCATE || task->type == TSEED_RESEED) {
        draw_line(tasks, entry, task, &tileset);
    }
    entry->tileset = tseed_memory_copy(tileset.key);
}

/* Adds a task that has a slot. Returns 0 for a task without a slot, which stays outside: it neither
 * waits nor writes, and lists come from the database until there is room on the board. */
static int take_in(tseed_tasks_t *tasks, const tseed_task_t *task, int slot)
{
    tseed_entry_t *entry;

    if (slot < 0) {
        tseed_board_crowd(tasks->uses.context->board, 1);
        return 0;
    }
    entry = tseed_memory_get(sizeof(*entry));
    entry->id = task->id;
    entry->type = task->type;
    entry->slot = slot;
    resolve(tasks, entry, task);
    entry->layer = tseed_memory_copy(task->layer);
    *tasks->entries_end = entry;
    tasks->entries_end = &entry->next;
    tasks->last_id = task->id;
    count_pending(tasks, entry, 1);
    return 1;
}

static tseed_entry_t *entry_find(const tseed_tasks_t *tasks, int64_t id)
{
    tseed_entry_t *entry = tasks->entries;

    while (entry && entry->id != id) {
        entry = entry->next;
    }
    return entry;
}

void tseed_tasks_drop(tseed_tasks_t *tasks, tseed_entry_t *entry)
{
    tseed_entry_t **link = &tasks->entries;

    while (*link != entry) {
        link = &(*link)->next;
    }
    *link = entry->next;
    if (!entry->next) {
        tasks->entries_end = link;
    }
    tseed_board_slot_release(tasks->uses.context->board, entry->slot);
    tseed_traces_forget(tasks->uses.context->board, entry->id, NULL);
    tseed_cutoff_end(tasks->uses.cutoff, entry->id);
    free(entry->tileset);
    free(entry->layer);
    free(entry->obstacle);
    free(entry);
}

/* ---- taking in ---- */

/* id -> slot of what an earlier seeder left on the board. */
static apr_hash_t *slots_left(tseed_tasks_t *tasks)
{
    apr_hash_t *left = apr_hash_make(tasks->uses.context->scratch);
    tseed_row_t row;

    for (unsigned i = 0; i < tseed_board_used(tasks->uses.context->board); i++) {
        if (tseed_board_read(tasks->uses.context->board, i, &row)) {
            int64_t *id = apr_pmemdup(tasks->uses.context->scratch, &row.id, sizeof(row.id));
            unsigned *slot = apr_pmemdup(tasks->uses.context->scratch, &i, sizeof(i));

            apr_hash_set(left, id, sizeof(*id), slot);
        }
    }
    return left;
}

/* The grid set of a task as the task was accepted, or NULL if the configuration has it no more. */
static const tseed_gridset_t *gridset_of(const tseed_tasks_t *tasks, const tseed_task_t *task)
{
    tseed_tileset_t tileset;

    return tseed_task_tileset(&tileset, task, tasks->uses.context->catalog,
                              tasks->uses.context->scratch)
               ? NULL
               : tileset.subset->gridset;
}

/* Finds or claims the slot of a task that an earlier seeder worked on; -1: there is none. The
 * board's progress holds if it is not behind the database's. How many findings a truncate has
 * forgotten stands on the board before the database has it. */
static int slot_recover(tseed_tasks_t *tasks, const tseed_task_record_t *record, apr_hash_t *left)
{
    const tseed_task_t *task = record->task;
    const unsigned *old = apr_hash_get(left, &task->id, sizeof(task->id));
    tseed_progress_t progress = record->progress;
    tseed_row_t row;
    const int is_ours = old && tseed_board_read(tasks->uses.context->board, *old, &row) &&
                        tseed_job_trace_is_row(&row, task, gridset_of(tasks, task));

    if (is_ours && tseed_progress_processed(&row.progress) >= tseed_progress_processed(&progress)) {
        progress = row.progress;
    } else if (is_ours && row.progress.forgotten > progress.forgotten) {
        progress.forgotten = row.progress.forgotten;
    }
    progress.state = TSEED_PENDING;
    tseed_progress_tell(&progress, TSEED_REASON_NONE, ""); /* to be found out anew */
    apr_hash_set(left, &task->id, sizeof(task->id), NULL);
    if (is_ours) {
        tseed_board_slot_update(tasks->uses.context->board, (int)*old, &progress);
        return (int)*old;
    }
    if (old) {
        tseed_board_slot_release(tasks->uses.context->board, (int)*old);
    }
    return tseed_board_slot_claim(tasks->uses.context->board, task, &progress);
}

/* ---- ends that no run has counted ---- */

/* Counts the termination of a task that this seeder did not take in. */
static void count_termination(const tseed_tasks_t *tasks, int64_t id)
{
    tseed_task_t *task;
    tseed_progress_t progress;

    if (tseed_state_task_get(tasks->uses.session->state, &task, &progress, id,
                             tasks->uses.context->scratch) == APR_SUCCESS) {
        tseed_counters_end(tasks->uses.context->board, task->type, TSEED_END_TERMINATED);
    }
}

/* Counts the end of a task that the last seeder recorded and did not live to count: its slot was
 * not free yet. */
static void count_left(const tseed_tasks_t *tasks, int slot)
{
    tseed_task_t *task;
    tseed_progress_t progress;
    tseed_row_t row;

    if (!tseed_board_read(tasks->uses.context->board, (unsigned)slot, &row) ||
        tseed_state_task_get(tasks->uses.session->state, &task, &progress, row.id,
                             tasks->uses.context->scratch) != APR_SUCCESS) {
        return;
    }
    if (progress.state == TSEED_DONE || progress.state == TSEED_ABORTED) {
        tseed_counters_end(tasks->uses.context->board, task->type,
                           row.terminating                ? TSEED_END_TERMINATED
                           : progress.state == TSEED_DONE ? TSEED_END_DONE
                                                          : TSEED_END_ABORTED);
    }
}

/* ---- terminations while there was no seeder ---- */

static apr_status_t confirm_each(tseed_tasks_t *tasks, const apr_array_header_t *ids,
                                 apr_hash_t *left)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < ids->nelts; i++) {
        int64_t id = APR_ARRAY_IDX(ids, i, int64_t);
        const unsigned *slot = apr_hash_get(left, &id, sizeof(id));
        tseed_row_t row;

        if (!entry_find(tasks, id)) {
            int shown = slot && tseed_board_read(tasks->uses.context->board, *slot, &row);

            rv = tseed_state_task_confirm(tasks->uses.session->state, id,
                                          shown ? &row.progress : NULL);
        }
    }
    return rv;
}

/* The terminations are committed: counts them, and frees the slots of the tasks. */
static void count_confirmed(tseed_tasks_t *tasks, const apr_array_header_t *ids, apr_hash_t *left)
{
    for (int i = 0; i < ids->nelts; i++) {
        int64_t id = APR_ARRAY_IDX(ids, i, int64_t);
        const unsigned *slot = apr_hash_get(left, &id, sizeof(id));

        if (!entry_find(tasks, id)) {
            count_termination(tasks, id);
        }
        if (slot) {
            tseed_board_slot_release(tasks->uses.context->board, (int)*slot);
            apr_hash_set(left, &id, sizeof(id), NULL);
        }
    }
}

/* Confirms tasks that a client terminated while no seeder could confirm it. The board may have
 * counted more of their work than the last checkpoint; that count is recorded. Tasks that this
 * seeder took in before their termination are left out. */
static apr_status_t confirm_left(tseed_tasks_t *tasks, apr_hash_t *left)
{
    apr_array_header_t *ids;
    apr_status_t rv =
        tseed_state_terminations(tasks->uses.session->state, &ids, tasks->uses.context->scratch);

    if (rv != APR_SUCCESS || ids->nelts == 0) {
        return rv;
    }
    rv = tseed_state_begin(tasks->uses.session->state);
    if (rv == APR_SUCCESS) {
        rv = confirm_each(tasks, ids, left);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_state_commit(tasks->uses.session->state);
        if (rv == APR_SUCCESS) {
            count_confirmed(tasks, ids, left);
        }
        return rv;
    }
    tseed_state_rollback(tasks->uses.session->state);
    return rv;
}

/* ---- taking up again ---- */

/* Takes in one task after another, except tasks that an earlier, failed try has taken in. */
static void take_again(tseed_tasks_t *tasks, const apr_array_header_t *found, apr_hash_t *left)
{
    for (int i = 0; i < found->nelts; i++) {
        const tseed_task_record_t *record = &APR_ARRAY_IDX(found, i, tseed_task_record_t);
        const tseed_task_t *task = record->task;

        if (task->id <= tasks->last_id) {
            apr_hash_set(left, &task->id, sizeof(task->id), NULL);
        } else if (!take_in(tasks, task, slot_recover(tasks, record, left))) {
            break;
        }
    }
}

/* Forgets the traces of tasks that have ended, or that the database does not know. */
static void forget_traces(tseed_tasks_t *tasks)
{
    for (unsigned trace = tseed_traces_used(tasks->uses.context->board); trace > 0; trace--) {
        const int64_t task = tseed_trace_task(tasks->uses.context->board, trace);

        if (task != 0 && !entry_find(tasks, task)) {
            tseed_trace_end(tasks->uses.context->board, trace);
        }
    }
}

apr_status_t tseed_tasks_recover(tseed_tasks_t *tasks)
{
    apr_hash_t *left = slots_left(tasks);
    apr_array_header_t *found;
    apr_status_t rv =
        tseed_state_recover(tasks->uses.session->state, &found, tasks->uses.context->scratch);

    if (rv == APR_SUCCESS) {
        rv = tseed_obstacles_look(&tasks->obstacles);
    }
    if (rv == APR_SUCCESS) {
        take_again(tasks, found, left);
        tseed_obstacles_recount(&tasks->obstacles, tasks->entries);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_obstacles_record(&tasks->obstacles, tasks->entries);
    }
    if (rv == APR_SUCCESS) {
        rv = confirm_left(tasks, left);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    for (apr_hash_index_t *i = apr_hash_first(tasks->uses.context->scratch, left); i;
         i = apr_hash_next(i)) {
        const int slot = (int)*(unsigned *)apr_hash_this_val(i);

        count_left(tasks, slot);
        tseed_board_slot_release(tasks->uses.context->board, slot);
    }
    forget_traces(tasks);
    if (found->nelts > 0) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0062: %d unfinished %s taken up again",
                  found->nelts, found->nelts == 1 ? "task is" : "tasks are");
    }
    return APR_SUCCESS;
}

static apr_status_t take_new(tseed_tasks_t *tasks)
{
    apr_array_header_t *found;
    apr_status_t rv;

    rv = tseed_state_new_tasks(tasks->uses.session->state, &found, tasks->last_id,
                               tasks->uses.context->scratch);
    if (rv == APR_SUCCESS && found->nelts > 0) {
        rv = tseed_obstacles_look(&tasks->obstacles);
    }
    for (int i = 0; rv == APR_SUCCESS && i < found->nelts; i++) {
        const tseed_task_t *task = APR_ARRAY_IDX(found, i, tseed_task_record_t).task;
        tseed_progress_t fresh = {.state = TSEED_PENDING};

        if (!take_in(tasks, task,
                     tseed_board_slot_claim(tasks->uses.context->board, task, &fresh))) {
            return rv;
        }
    }
    if (rv == APR_SUCCESS) {
        tseed_board_crowd(tasks->uses.context->board, 0); /* only now the board shows them all */
    }
    return rv;
}

static void terminate(tseed_tasks_t *tasks, tseed_entry_t *entry)
{
    entry->terminated = 1;
    tseed_board_slot_terminating(tasks->uses.context->board, entry->slot);
    if (entry->run) {
        entry->run->terminated = 1;
        tseed_ends_drain(tasks->uses.ends, entry->run);
    } else {
        count_pending(tasks, entry, -1);
    }
    tasks->uses.session->must_record = 1;
}

void tseed_tasks_forget(tseed_tasks_t *tasks, int64_t id)
{
    tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
              "TS0047: task %" APR_INT64_T_FMT
              " is no longer in the state database and is forgotten",
              id);
    terminate(tasks, entry_find(tasks, id));
}

apr_status_t tseed_tasks_hear(tseed_tasks_t *tasks)
{
    apr_array_header_t *ids;
    apr_status_t rv = take_new(tasks);

    if (rv == APR_SUCCESS) {
        rv = tseed_obstacles_record(&tasks->obstacles, tasks->entries);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_state_terminations(tasks->uses.session->state, &ids,
                                      tasks->uses.context->scratch);
    }
    for (int i = 0; rv == APR_SUCCESS && i < ids->nelts; i++) {
        tseed_entry_t *entry = entry_find(tasks, APR_ARRAY_IDX(ids, i, int64_t));

        if (!entry) { /* terminated before it was ever taken in */
            rv = tseed_state_task_confirm(tasks->uses.session->state,
                                          APR_ARRAY_IDX(ids, i, int64_t), NULL);
            if (rv == APR_SUCCESS) {
                count_termination(tasks, APR_ARRAY_IDX(ids, i, int64_t));
            }
        } else if (!entry->terminated) {
            terminate(tasks, entry);
        }
    }
    return rv;
}

/* ---- claims ---- */

/* The entry of the lowest id above `after`; NULL: there is none. */
static tseed_entry_t **next_by_id(tseed_entry_t **entries, int count, int64_t after)
{
    tseed_entry_t **next = NULL;

    for (int i = 0; i < count; i++) {
        if (entries[i] && entries[i]->id > after && (!next || entries[i]->id < (*next)->id)) {
            next = &entries[i];
        }
    }
    return next;
}

/* In the order of the ids, in which a client terminates several. */
static apr_status_t claim_all(tseed_tasks_t *tasks, tseed_entry_t **entries, int count)
{
    tseed_entry_t **entry;
    int64_t last = 0;
    apr_status_t rv = tseed_state_begin(tasks->uses.session->state);

    while (rv == APR_SUCCESS && (entry = next_by_id(entries, count, last)) != NULL) {
        int won;

        last = (*entry)->id;
        rv = tseed_state_task_claim(tasks->uses.session->state, last, apr_time_now(), &won);
        if (!won) {
            *entry = NULL;
        }
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_state_commit(tasks->uses.session->state);
    } else {
        tseed_state_rollback(tasks->uses.session->state);
    }
    return rv;
}

apr_status_t tseed_tasks_claim(tseed_tasks_t *tasks, tseed_entry_t **entries, int count)
{
    apr_status_t rv = claim_all(tasks, entries, count);

    if (rv == APR_SUCCESS) {
        tseed_session_works(tasks->uses.session);
    } else {
        tseed_session_fail(tasks->uses.session, rv, "claim a task");
    }
    return rv;
}

void tseed_tasks_begin(tseed_tasks_t *tasks, tseed_entry_t *entry, tseed_run_t *run)
{
    tseed_runs_t *runs = tasks->uses.runs;

    entry->run = run;
    *runs->tasks_end = run;
    runs->tasks_end = &run->next_run;
    runs->count++;
    count_pending(tasks, entry, -1);
}

/* ---- the end ---- */

void tseed_tasks_dismiss(tseed_tasks_t *tasks, tseed_run_t *run)
{
    tseed_run_t **link = &tasks->uses.runs->tasks;
    tseed_entry_t *entry = entry_find(tasks, run->task->id);

    while (*link != run) {
        link = &(*link)->next_run;
    }
    *link = run->next_run;
    if (!run->next_run) {
        tasks->uses.runs->tasks_end = link;
    }
    tasks->uses.runs->count--;
    tseed_board_crashes_forget(tasks->uses.context->board, run->task->id);
    tseed_book_writing(tasks->uses.cache->book, run->task->id, 0);
    tseed_tasks_drop(tasks, entry);
    if (run->views) {
        tseed_workers_forget(tasks->uses.context->workers, run);
    }
    apr_pool_destroy(run->pool);
}
