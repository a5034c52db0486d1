/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The task queue: which PENDING tasks begin next, and why the others wait. */
#include "seeder/tseed_task_queue.h"

#include <apr_strings.h>

#include "seeder/tseed_lending.h"

#define PAUSED_A_THREAD 2 /* more tasks of layers that have paused ones are not begun */

tseed_task_queue_t tseed_task_queue_of(const tseed_runs_t *runs, int threads, apr_pool_t *scratch)
{
    tseed_task_queue_t queue = {.scratch = scratch,
                                .truncates = apr_hash_make(scratch),
                                .paused = apr_hash_make(scratch),
                                .threads = threads,
                                .vacant = tseed_lending_vacant(runs, threads)};

    for (const tseed_run_t *run = runs->tasks; run; run = run->next_run) {
        if (tseed_lending_is_paused(runs, run)) {
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

int tseed_task_queue_find(tseed_task_queue_t *queue, tseed_entry_t *entries, tseed_entry_t **found)
{
    tseed_entry_t **later = apr_palloc(queue->scratch, (size_t)queue->vacant * sizeof(*later));
    int count = 0, others = 0;

    for (tseed_entry_t *entry = entries; entry && count < queue->vacant; entry = entry->next) {
        if (!entry->run && !entry->terminated && !entry->obstacle &&
            !truncate_before(queue, entry)) {
            if (!paused_like(queue, entry)) {
                found[count++] = entry;
            } else if (others < queue->vacant) {
                later[others++] = entry;
            }
        }
        tseed_task_queue_pass(queue, entry);
    }
    for (int i = 0; i < others && count < queue->vacant && may_join(queue); i++) {
        found[count++] = later[i];
        queue->paused_count++;
    }
    return count;
}

static const char *say_truncate(const tseed_task_queue_t *queue, int64_t id)
{
    return apr_psprintf(queue->scratch,
                        "waits for task %" APR_INT64_T_FMT ", a truncate of the same tile set", id);
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
    if (truncate) {
        return say_truncate(queue, truncate->id);
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
