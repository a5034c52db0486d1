/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The roster: which tasks there are. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "board/tseed_traces.h"
#include "pipeline/tseed_job_trace.h"
#include "protocol/tseed_seed_request.h"
#include "seeder/tseed_house.h"

/* ---- entries ---- */

/* Its key; what an accepted truncate makes stale is so from now on. */
static char *resolve(tseed_seeder_t *seeder, const tseed_task_t *task)
{
    tseed_tileset_t tileset;

    if (tseed_task_tileset(&tileset, task, seeder->context->catalog, seeder->context->scratch)) {
        return tseed_memory_copy("");
    }
    if (task->type == TSEED_TRUNCATE) {
        tseed_cutoff_draw(seeder, task, &tileset);
    }
    return tseed_memory_copy(tileset.key);
}

/* Adds a task that has a slot. Without one it stays outside: what the board does not show neither
 * waits nor writes, and lists come from the database until there is room. Returns 0 then. */
static int take_in(tseed_seeder_t *seeder, const tseed_task_t *task, int slot)
{
    tseed_entry_t *entry;

    if (slot < 0) {
        tseed_board_crowd(seeder->context->board, 1);
        return 0;
    }
    entry = tseed_memory_get(sizeof(*entry));
    entry->id = task->id;
    entry->type = task->type;
    entry->slot = slot;
    entry->tileset = resolve(seeder, task);
    entry->layer = tseed_memory_copy(task->layer);
    *seeder->entries_end = entry;
    seeder->entries_end = &entry->next;
    seeder->last_id = task->id;
    seeder->pending++;
    return 1;
}

static tseed_entry_t *entry_find(const tseed_seeder_t *seeder, int64_t id)
{
    tseed_entry_t *entry = seeder->entries;

    while (entry && entry->id != id) {
        entry = entry->next;
    }
    return entry;
}

void tseed_roster_drop(tseed_seeder_t *seeder, tseed_entry_t *entry)
{
    tseed_entry_t **link = &seeder->entries;

    while (*link != entry) {
        link = &(*link)->next;
    }
    *link = entry->next;
    if (!entry->next) {
        seeder->entries_end = link;
    }
    tseed_board_slot_release(seeder->context->board, entry->slot);
    tseed_traces_forget(seeder->context->board, entry->id, NULL);
    free(entry->tileset);
    free(entry->layer);
    free(entry);
}

/* ---- taking in ---- */

/* id -> slot of what an earlier seeder left on the board. */
static apr_hash_t *slots_left(tseed_seeder_t *seeder)
{
    apr_hash_t *left = apr_hash_make(seeder->context->scratch);
    tseed_row_t row;

    for (unsigned i = 0; i < tseed_board_slots(seeder->context->board); i++) {
        if (tseed_board_read(seeder->context->board, i, &row)) {
            int64_t *id = apr_pmemdup(seeder->context->scratch, &row.id, sizeof(row.id));
            unsigned *slot = apr_pmemdup(seeder->context->scratch, &i, sizeof(i));

            apr_hash_set(left, id, sizeof(*id), slot);
        }
    }
    return left;
}

/* The slot of a task that an earlier seeder worked on: the board's progress stands if it is ahead
 * of the database's. */
static apr_status_t slot_recover(tseed_seeder_t *seeder, int *slot, const tseed_task_t *task,
                                 apr_hash_t *left)
{
    const unsigned *old = apr_hash_get(left, &task->id, sizeof(task->id));
    tseed_task_t *loaded;
    tseed_progress_t progress;
    tseed_row_t row;
    const int is_ours = old && tseed_board_read(seeder->context->board, *old, &row) &&
                        tseed_job_trace_is_row(&row, task);
    apr_status_t rv;

    rv = tseed_state_task_get(seeder->session->state, &loaded, &progress, task->id,
                              seeder->context->scratch);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (is_ours && tseed_progress_processed(&row.progress) >= tseed_progress_processed(&progress)) {
        progress = row.progress;
    }
    progress.state = TSEED_PENDING;
    progress.reason[0] = '\0'; /* what it waited for is to be found out anew */
    apr_hash_set(left, &task->id, sizeof(task->id), NULL);
    if (is_ours) {
        *slot = (int)*old;
        tseed_board_slot_update(seeder->context->board, *slot, &progress);
    } else {
        if (old) {
            tseed_board_slot_release(seeder->context->board, (int)*old);
        }
        *slot = tseed_board_slot_claim(seeder->context->board, task, &progress);
    }
    return APR_SUCCESS;
}

static apr_status_t confirm_each(tseed_seeder_t *seeder, const apr_array_header_t *ids,
                                 apr_hash_t *left)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < ids->nelts; i++) {
        int64_t id = APR_ARRAY_IDX(ids, i, int64_t);
        const unsigned *slot = apr_hash_get(left, &id, sizeof(id));
        tseed_row_t row;

        if (!entry_find(seeder, id)) {
            int shown = slot && tseed_board_read(seeder->context->board, *slot, &row);

            rv = tseed_state_task_confirm(seeder->session->state, id, shown ? &row.progress : NULL);
        }
    }
    return rv;
}

/* Tasks that were terminated when no seeder could say the last word: what the board has counted
 * since the last checkpoint was done, and has been read. Those that have been taken in before they
 * were terminated are not among them. */
static apr_status_t confirm_left(tseed_seeder_t *seeder, apr_hash_t *left)
{
    apr_array_header_t *ids;
    apr_status_t rv =
        tseed_state_terminations(seeder->session->state, &ids, seeder->context->scratch);

    if (rv != APR_SUCCESS || ids->nelts == 0) {
        return rv;
    }
    rv = tseed_state_begin(seeder->session->state);
    if (rv == APR_SUCCESS) {
        rv = confirm_each(seeder, ids, left);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(seeder->session->state);
    }
    tseed_state_rollback(seeder->session->state);
    return rv;
}

/* Takes in one task after another; those that an earlier, failed try has taken in are left alone.
 */
static apr_status_t take_again(tseed_seeder_t *seeder, const apr_array_header_t *tasks,
                               apr_hash_t *left)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < tasks->nelts; i++) {
        const tseed_task_t *task = APR_ARRAY_IDX(tasks, i, tseed_task_t *);
        int slot;

        if (task->id <= seeder->last_id) {
            apr_hash_set(left, &task->id, sizeof(task->id), NULL);
            continue;
        }
        rv = slot_recover(seeder, &slot, task, left);
        if (rv == APR_SUCCESS && !take_in(seeder, task, slot)) {
            break;
        }
    }
    return rv;
}

/* Of tasks that have ended, or that the database does not know. */
static void forget_traces(tseed_seeder_t *seeder)
{
    for (unsigned trace = tseed_traces_used(seeder->context->board); trace > 0; trace--) {
        const int64_t task = tseed_trace_task(seeder->context->board, trace);

        if (task != 0 && !entry_find(seeder, task)) {
            tseed_trace_end(seeder->context->board, trace);
        }
    }
}

apr_status_t tseed_roster_recover(tseed_seeder_t *seeder)
{
    apr_hash_t *left = slots_left(seeder);
    apr_array_header_t *tasks;
    apr_status_t rv = tseed_state_recover(seeder->session->state, &tasks, seeder->context->scratch);

    if (rv == APR_SUCCESS) {
        rv = take_again(seeder, tasks, left);
    }
    if (rv == APR_SUCCESS) {
        rv = confirm_left(seeder, left);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    for (apr_hash_index_t *i = apr_hash_first(seeder->context->scratch, left); i;
         i = apr_hash_next(i)) {
        tseed_board_slot_release(seeder->context->board, (int)*(unsigned *)apr_hash_this_val(i));
    }
    forget_traces(seeder);
    if (tasks->nelts > 0) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "%d unfinished tasks are taken up again",
                  tasks->nelts);
    }
    return APR_SUCCESS;
}

static apr_status_t take_new(tseed_seeder_t *seeder)
{
    apr_array_header_t *tasks;
    apr_status_t rv;

    rv = tseed_state_new_tasks(seeder->session->state, &tasks, seeder->last_id,
                               seeder->context->scratch);
    for (int i = 0; rv == APR_SUCCESS && i < tasks->nelts; i++) {
        const tseed_task_t *task = APR_ARRAY_IDX(tasks, i, tseed_task_t *);
        tseed_progress_t fresh = {.state = TSEED_PENDING};

        if (!take_in(seeder, task, tseed_board_slot_claim(seeder->context->board, task, &fresh))) {
            return rv;
        }
    }
    if (rv == APR_SUCCESS) {
        tseed_board_crowd(seeder->context->board, 0); /* only now the board shows them all */
    }
    return rv;
}

static void terminate(tseed_seeder_t *seeder, tseed_entry_t *entry)
{
    entry->terminated = 1;
    tseed_board_slot_terminating(seeder->context->board, entry->slot);
    if (entry->run) {
        entry->run->terminated = 1;
        tseed_stages_drain(seeder->stages, entry->run);
    } else {
        seeder->pending--;
    }
    seeder->session->must_record = 1;
}

void tseed_roster_forget(tseed_seeder_t *seeder, int64_t id)
{
    tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
              "task %" APR_INT64_T_FMT " is no longer in the state database and is forgotten", id);
    terminate(seeder, entry_find(seeder, id));
}

apr_status_t tseed_roster_sync(tseed_seeder_t *seeder)
{
    apr_array_header_t *ids;
    apr_status_t rv = take_new(seeder);

    if (rv == APR_SUCCESS) {
        rv = tseed_state_terminations(seeder->session->state, &ids, seeder->context->scratch);
    }
    for (int i = 0; rv == APR_SUCCESS && i < ids->nelts; i++) {
        tseed_entry_t *entry = entry_find(seeder, APR_ARRAY_IDX(ids, i, int64_t));

        if (!entry) { /* terminated before it was ever taken in */
            rv = tseed_state_task_confirm(seeder->session->state, APR_ARRAY_IDX(ids, i, int64_t),
                                          NULL);
        } else if (!entry->terminated) {
            terminate(seeder, entry);
        }
    }
    return rv;
}

/* ---- the end ---- */

void tseed_roster_dismiss(tseed_seeder_t *seeder, tseed_run_t *run)
{
    tseed_run_t **link = &seeder->runs->tasks;
    tseed_entry_t *entry = entry_find(seeder, run->task->id);

    while (*link != run) {
        link = &(*link)->next_run;
    }
    *link = run->next_run;
    if (!run->next_run) {
        seeder->runs->tasks_end = link;
    }
    seeder->runs->count--;
    tseed_board_crashes_forget(seeder->context->board, run->task->id);
    tseed_book_writing(seeder->cache->book, run->task->id, 0);
    tseed_roster_drop(seeder, entry);
    if (run->views) {
        tseed_workers_forget(seeder->context->workers, run);
    }
    apr_pool_destroy(run->pool);
}
