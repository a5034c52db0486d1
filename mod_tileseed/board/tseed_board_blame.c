/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Blame: which metatiles were being worked on when the seeder crashed, and how often.
 *
 * Crashes are rare, so a small table will do. When it is full the entry with the fewest crashes
 * makes room: it is the least likely culprit.
 */
#include <string.h>

#include "board/tseed_board_layout.h"

void tseed_board_crash(tseed_board_t *board)
{
    atomic_store(&board->crashed, 1);
}

static tseed_board_blame_t *find(tseed_board_t *board, int64_t task, int64_t position)
{
    tseed_board_blame_t *weakest = &board->blames[0];

    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        tseed_board_blame_t *blame = &board->blames[i];

        if (blame->task == task && blame->position == position) {
            return blame;
        }
        if (blame->task == 0 || (weakest->task != 0 && blame->crashes < weakest->crashes)) {
            weakest = blame;
        }
    }
    weakest->task = 0;
    weakest->position = position;
    weakest->crashes = 0;
    return weakest;
}

void tseed_board_blame_workers(tseed_board_t *board)
{
    int crashed = atomic_exchange(&board->crashed, 0) != 0;

    for (unsigned i = 0; i < board->workers; i++) {
        const tseed_board_worker_t *worker = tseed_board_worker_at(board, i);
        int64_t task = atomic_load(&worker->task);

        if (crashed && task != 0) {
            tseed_board_blame_t *blame = find(board, task, atomic_load(&worker->position));

            blame->crashes++;
            blame->task = task;
        }
        tseed_board_worker_end(board, i);
    }
}

unsigned tseed_board_crashes_at(const tseed_board_t *board, int64_t task, int64_t position)
{
    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        const tseed_board_blame_t *blame = &board->blames[i];

        if (blame->task == task && blame->position == position) {
            return (unsigned)blame->crashes;
        }
    }
    return 0;
}

unsigned tseed_board_crashes_of(const tseed_board_t *board, int64_t task)
{
    unsigned crashes = 0;

    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        crashes += board->blames[i].task == task ? (unsigned)board->blames[i].crashes : 0;
    }
    return crashes;
}

void tseed_board_crashes_forget(tseed_board_t *board, int64_t task)
{
    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        if (board->blames[i].task == task) {
            board->blames[i].task = 0;
        }
    }
}
