/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Workers: which metatile each works on. Blame: at which metatiles the seeder has crashed, and how
 * often.
 *
 * Crashes are rare, so a small table will do. When it is full the entry with the fewest crashes
 * makes room: it is the least likely culprit.
 */
#include <unistd.h>

#include "board/tseed_board_layout.h"

void tseed_board_worker_begin(tseed_board_t *board, unsigned worker, int64_t task, int64_t position)
{
    tseed_board_worker_t *record;

    if (worker >= board->workers) {
        return;
    }
    record = tseed_board_worker_at(board, worker);
    atomic_store_explicit(&record->position, position, memory_order_relaxed);
    atomic_store_explicit(&record->thread, gettid(), memory_order_relaxed);
    atomic_store_explicit(&record->task, task, memory_order_release);
}

void tseed_board_worker_end(tseed_board_t *board, unsigned worker)
{
    if (worker < board->workers) {
        atomic_store_explicit(&tseed_board_worker_at(board, worker)->task, 0, memory_order_release);
    }
}

void tseed_board_crash(tseed_board_t *board, int64_t thread)
{
    for (unsigned i = 0; i < board->workers; i++) {
        tseed_board_worker_t *worker = tseed_board_worker_at(board, i);

        if (thread == 0 || atomic_load(&worker->thread) == thread) {
            atomic_store(&worker->accused, 1);
        }
    }
}

static tseed_board_blame_t *find(tseed_board_t *board, int64_t task, int64_t position)
{
    tseed_board_blame_t *weakest = &board->segment->blames[0];

    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        tseed_board_blame_t *entry = &board->segment->blames[i];

        if (entry->task == task && entry->position == position) {
            return entry;
        }
        if (entry->task == 0 || (weakest->task != 0 && entry->crashes < weakest->crashes)) {
            weakest = entry;
        }
    }
    weakest->task = 0;
    weakest->position = position;
    weakest->crashes = 0;
    return weakest;
}

static void blame(tseed_board_t *board, int64_t task, int64_t position)
{
    tseed_board_blame_t *entry = find(board, task, position);

    entry->crashes++;
    entry->task = task;
}

/* Whether an earlier worker was accused at the same task: one crash counts once. */
static int is_counted(tseed_board_t *board, unsigned worker, int64_t task)
{
    for (unsigned i = 0; i < worker; i++) {
        const tseed_board_worker_t *earlier = tseed_board_worker_at(board, i);

        if (earlier->accused && earlier->task == task) {
            return 1;
        }
    }
    return 0;
}

void tseed_board_blame_workers(tseed_board_t *board)
{
    for (unsigned i = 0; i < board->workers; i++) {
        const tseed_board_worker_t *worker = tseed_board_worker_at(board, i);
        int64_t task = worker->task;

        if (worker->accused && task != 0) {
            blame(board, task, worker->position);
            if (!is_counted(board, i, task)) {
                blame(board, task, TSEED_BOARD_WHOLE_TASK);
            }
        }
    }
    for (unsigned i = 0; i < board->workers; i++) {
        atomic_store(&tseed_board_worker_at(board, i)->accused, 0);
        tseed_board_worker_end(board, i);
    }
}

unsigned tseed_board_crashes_at(const tseed_board_t *board, int64_t task, int64_t position)
{
    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        const tseed_board_blame_t *entry = &board->segment->blames[i];

        if (entry->task == task && entry->position == position) {
            return (unsigned)entry->crashes;
        }
    }
    return 0;
}

unsigned tseed_board_crashes_of(const tseed_board_t *board, int64_t task)
{
    return tseed_board_crashes_at(board, task, TSEED_BOARD_WHOLE_TASK);
}

void tseed_board_crashes_forget(tseed_board_t *board, int64_t task)
{
    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        if (board->segment->blames[i].task == task) {
            board->segment->blames[i].task = 0;
        }
    }
}
