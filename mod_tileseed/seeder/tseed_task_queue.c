/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The task queue: which PENDING tasks begin next, and why the others wait. */
#include "seeder/tseed_task_queue.h"

#include <apr_strings.h>

#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "seeder/tseed_lending.h"

/* Obstacles: why tasks do not fit the configuration of this host. */

apr_status_t tseed_obstacles_look(tseed_obstacles_t *obstacles)
{
    return obstacles->fleet->doors->has_others(obstacles->fleet, &obstacles->has_other_hosts);
}

void tseed_obstacles_add(tseed_obstacles_t *obstacles, tseed_entry_t *entry, const char *problem)
{
    const tseed_context_t *context = obstacles->context;

    if (!obstacles->has_other_hosts) {
        return;
    }
    entry->obstacle = tseed_memory_copy(
        apr_psprintf(context->scratch, "waits for another configuration or another host: at %s %s",
                     context->settings->host, problem));
    if (obstacles->count++ == 0) {
        obstacles->first = entry->id;
    }
}

void tseed_obstacles_recount(tseed_obstacles_t *obstacles, const tseed_entry_t *entries)
{
    obstacles->count = 0;
    for (; entries; entries = entries->next) {
        if (entries->obstacle && obstacles->count++ == 0) {
            obstacles->first = entries->id;
        }
    }
}

static apr_status_t record(const tseed_obstacles_t *obstacles, const tseed_entry_t *entry)
{
    tseed_board_t *board = obstacles->context->board;
    tseed_row_t row;

    if (!tseed_board_read(board, (unsigned)entry->slot, &row)) {
        return APR_SUCCESS;
    }
    tseed_progress_tell(&row.progress, TSEED_REASON_CONFIGURATION, entry->obstacle);
    tseed_board_slot_update(board, entry->slot, &row.progress);
    return tseed_state_task_reason(obstacles->session->state, entry->id, &row.progress);
}

static apr_status_t record_all(const tseed_obstacles_t *obstacles, const tseed_entry_t *entries)
{
    tseed_state_t *state = obstacles->session->state;
    apr_status_t rv = tseed_state_begin(state);

    for (; rv == APR_SUCCESS && entries; entries = entries->next) {
        if (entries->obstacle && entries->id >= obstacles->first) {
            rv = record(obstacles, entries);
        }
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(state);
    }
    tseed_state_rollback(state);
    return rv;
}

apr_status_t tseed_obstacles_record(tseed_obstacles_t *obstacles, const tseed_entry_t *entries)
{
    apr_status_t rv;

    if (obstacles->count == 0) {
        return APR_SUCCESS;
    }
    rv = record_all(obstacles, entries);
    if (rv == APR_SUCCESS) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0092: tasks do not fit the configuration of this host and wait for another "
                  "one or for another host: %d of them, from task %" APR_INT64_T_FMT " on",
                  obstacles->count, obstacles->first);
        obstacles->count = 0;
    }
    return rv;
}

#define PAUSED_A_THREAD 2 /* more tasks of layers that have paused ones are not begun */

/* A truncate runs, or begins. */
static void remove_next(tseed_task_queue_t *queue, const char *layer, const int64_t *id)
{
    apr_hash_set(queue->removing, layer, APR_HASH_KEY_STRING, id);
    queue->removing_count++;
}

tseed_task_queue_t tseed_task_queue_of(const tseed_runs_t *runs, int threads, apr_pool_t *scratch)
{
    tseed_task_queue_t queue = {.scratch = scratch,
                                .truncates = apr_hash_make(scratch),
                                .paused = apr_hash_make(scratch),
                                .removing = apr_hash_make(scratch),
                                .threads = threads,
                                .vacant = tseed_lending_vacant(runs, threads)};

    for (const tseed_run_t *run = runs->tasks; run; run = run->next_run) {
        if (run->task->type == TSEED_TRUNCATE) {
            remove_next(&queue, run->task->layer, &run->task->id);
        } else if (tseed_lending_is_paused(runs, run)) {
            apr_hash_set(queue.paused, run->task->layer, APR_HASH_KEY_STRING, run);
            queue.paused_count++;
        }
    }
    return queue;
}

void tseed_task_queue_pass(tseed_task_queue_t *queue, const tseed_entry_t *entry)
{
    if (entry->type == TSEED_TRUNCATE && *entry->tileset) {
        apr_hash_set(queue->truncates, entry->tileset, APR_HASH_KEY_STRING, entry);
    }
}

/* The truncate that a task must wait for, or NULL. */
static const tseed_entry_t *truncate_before(const tseed_task_queue_t *queue,
                                            const tseed_entry_t *entry)
{
    return entry->type == TSEED_TRUNCATE
               ? NULL
               : apr_hash_get(queue->truncates, entry->tileset, APR_HASH_KEY_STRING);
}

/* A paused task of the same layer, or NULL. */
static const tseed_run_t *paused_like(const tseed_task_queue_t *queue, const tseed_entry_t *entry)
{
    return apr_hash_get(queue->paused, entry->layer, APR_HASH_KEY_STRING);
}

/* Whether one more task may begin in a layer that has paused tasks. Paused tasks take memory, so
 * they are kept few, and they must not keep tasks of other layers from being begun. */
static int may_join(const tseed_task_queue_t *queue)
{
    return queue->paused_count < PAUSED_A_THREAD * queue->threads;
}

/* The truncate that another truncate must wait for, its id; NULL: none. */
static const int64_t *truncate_like(const tseed_task_queue_t *queue, const tseed_entry_t *entry)
{
    return queue->removing_count < queue->threads
               ? NULL
               : apr_hash_get(queue->removing, entry->layer, APR_HASH_KEY_STRING);
}

/* What is found: seeds that begin, seeds that begin if threads are left, truncates. */
typedef struct {
    apr_array_header_t *seeds, *later, *truncates;
} found_t;

static void consider(found_t *found, tseed_task_queue_t *queue, tseed_entry_t *entry)
{
    if (entry->run || entry->terminated || entry->obstacle || truncate_before(queue, entry)) {
        return;
    }
    if (entry->type == TSEED_TRUNCATE) {
        if (!truncate_like(queue, entry)) {
            APR_ARRAY_PUSH(found->truncates, tseed_entry_t *) = entry;
            remove_next(queue, entry->layer, &entry->id);
        }
    } else if (found->seeds->nelts < queue->vacant) {
        apr_array_header_t *list = paused_like(queue, entry) ? found->later : found->seeds;

        if (list->nelts < queue->vacant) {
            APR_ARRAY_PUSH(list, tseed_entry_t *) = entry;
        }
    }
}

apr_array_header_t *tseed_task_queue_find(tseed_task_queue_t *queue, tseed_entry_t *entries)
{
    found_t found = {apr_array_make(queue->scratch, 4, sizeof(tseed_entry_t *)),
                     apr_array_make(queue->scratch, 4, sizeof(tseed_entry_t *)),
                     apr_array_make(queue->scratch, 4, sizeof(tseed_entry_t *))};

    for (tseed_entry_t *entry = entries; entry; entry = entry->next) {
        consider(&found, queue, entry);
        tseed_task_queue_pass(queue, entry);
    }
    for (int i = 0; i < found.later->nelts && found.seeds->nelts < queue->vacant && may_join(queue);
         i++) {
        APR_ARRAY_PUSH(found.seeds, tseed_entry_t *) =
            APR_ARRAY_IDX(found.later, i, tseed_entry_t *);
        queue->paused_count++;
    }
    apr_array_cat(found.truncates, found.seeds);
    return found.truncates;
}

static const char *say_truncate(const tseed_task_queue_t *queue, int64_t id, const char *what)
{
    return apr_psprintf(queue->scratch,
                        "waits for task %" APR_INT64_T_FMT ", a truncate of the same %s", id, what);
}

static const char *reason_of_truncate(const tseed_task_queue_t *queue, const tseed_entry_t *entry)
{
    const int64_t *truncate = truncate_like(queue, entry);

    return truncate ? say_truncate(queue, *truncate, "layer") : "";
}

const char *tseed_task_queue_reason(const tseed_task_queue_t *queue, const tseed_entry_t *entry,
                                    tseed_reason_t *code)
{
    const tseed_entry_t *truncate = truncate_before(queue, entry);
    const tseed_run_t *paused = paused_like(queue, entry);

    *code = entry->obstacle ? TSEED_REASON_CONFIGURATION : TSEED_REASON_TASK;
    if (entry->obstacle) {
        return entry->obstacle;
    }
    if (entry->type == TSEED_TRUNCATE) {
        return reason_of_truncate(queue, entry);
    }
    if (truncate) {
        return say_truncate(queue, truncate->id, "tile set");
    }
    if (paused && !may_join(queue)) {
        return apr_psprintf(queue->scratch,
                            "waits for task %" APR_INT64_T_FMT
                            " of the same layer, which is paused or waits itself",
                            paused->task->id);
    }
    *code = TSEED_REASON_THREAD;
    return queue->vacant > 0
               ? ""
               : apr_psprintf(queue->scratch,
                              "waits for a thread: other tasks have all %d of TileSeedThreads",
                              queue->threads);
}
