/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Traces: a table in the segment. The task is written last and taken away first: a seeder that dies
 * in between leaves a trace that is whole, or none. */
#include "board/tseed_traces.h"

#include "board/tseed_board_layout.h"

/* Words of a level's trace. NEXT is REMOVED + 1 from before a tile is removed until it counts. */
enum { REMOVED, NEXT, X, Y };

static tseed_board_trace_t *trace_at(const tseed_board_t *board, unsigned trace)
{
    return &board->segment->traces[trace - 1];
}

unsigned tseed_traces_used(const tseed_board_t *board)
{
    uint64_t count = atomic_load(&board->segment->traces_used);

    return count < TSEED_TRACES_MOST ? (unsigned)count : TSEED_TRACES_MOST;
}

static unsigned find_free(const tseed_board_t *board)
{
    unsigned count = tseed_traces_used(board), trace = 1;

    while (trace <= count && tseed_trace_task(board, trace) != 0) {
        trace++;
    }
    return trace <= TSEED_TRACES_MOST ? trace : 0;
}

unsigned tseed_trace_begin(tseed_board_t *board, int64_t task, int64_t position,
                           const uint64_t found[TSEED_TRACE_WORDS])
{
    unsigned trace = find_free(board);
    tseed_board_trace_t *record;

    if (trace == 0) {
        return 0;
    }
    record = trace_at(board, trace);
    atomic_store(&record->task, 0);
    tseed_words_store(record->words, found, TSEED_TRACE_WORDS);
    atomic_store(&record->position, position);
    if (trace > tseed_traces_used(board)) {
        atomic_store(&board->segment->traces_used, trace);
    }
    atomic_store(&record->task, task);
    return trace;
}

unsigned tseed_trace_begin_level(tseed_board_t *board, int64_t task, int64_t position,
                                 int64_t removed)
{
    const uint64_t words[TSEED_TRACE_WORDS] = {
        [REMOVED] = (uint64_t)removed, [NEXT] = (uint64_t)removed};

    return tseed_trace_begin(board, task, position, words);
}

unsigned tseed_trace_find(const tseed_board_t *board, int64_t task, int64_t position)
{
    unsigned count = tseed_traces_used(board);

    for (unsigned trace = 1; trace <= count; trace++) {
        const tseed_board_trace_t *record = trace_at(board, trace);

        if (atomic_load(&record->task) == task && atomic_load(&record->position) == position) {
            return trace;
        }
    }
    return 0;
}

void tseed_trace_end(tseed_board_t *board, unsigned trace)
{
    unsigned count = tseed_traces_used(board);

    if (trace == 0) {
        return;
    }
    atomic_store(&trace_at(board, trace)->task, 0);
    while (count > 0 && tseed_trace_task(board, count) == 0) {
        count--;
    }
    atomic_store(&board->segment->traces_used, count);
}

void tseed_traces_forget(tseed_board_t *board, int64_t task, const tseed_progress_t *progress)
{
    for (unsigned trace = tseed_traces_used(board); trace > 0; trace--) {
        const int64_t position = atomic_load(&trace_at(board, trace)->position);

        if (tseed_trace_task(board, trace) == task &&
            (!progress || position < 0 || tseed_progress_is_done(progress, position))) {
            tseed_trace_end(board, trace);
        }
    }
}

int64_t tseed_trace_task(const tseed_board_t *board, unsigned trace)
{
    return atomic_load(&trace_at(board, trace)->task);
}

void tseed_trace_recall(tseed_board_t *board, unsigned trace, uint64_t present[TSEED_TRACE_WORDS])
{
    for (int i = 0; trace > 0 && i < TSEED_TRACE_WORDS; i++) {
        present[i] &= atomic_load(&trace_at(board, trace)->words[i]);
        atomic_store(&trace_at(board, trace)->words[i], present[i]);
    }
}

/* ---- levels ---- */

static uint64_t word_get(const tseed_board_t *board, unsigned trace, int word)
{
    return atomic_load(&trace_at(board, trace)->words[word]);
}

static void word_set(tseed_board_t *board, unsigned trace, int word, uint64_t value)
{
    atomic_store(&trace_at(board, trace)->words[word], value);
}

int64_t tseed_trace_removed(const tseed_board_t *board, unsigned trace)
{
    return trace > 0 ? (int64_t)word_get(board, trace, REMOVED) : 0;
}

void tseed_trace_remove(tseed_board_t *board, unsigned trace, int64_t x, int64_t y)
{
    if (trace > 0) {
        const uint64_t removed = word_get(board, trace, REMOVED);

        word_set(board, trace, NEXT, removed);
        word_set(board, trace, X, (uint64_t)x);
        word_set(board, trace, Y, (uint64_t)y);
        word_set(board, trace, NEXT, removed + 1);
    }
}

void tseed_trace_count(tseed_board_t *board, unsigned trace)
{
    if (trace > 0) {
        word_set(board, trace, REMOVED, word_get(board, trace, NEXT));
    }
}

int tseed_trace_doubt(const tseed_board_t *board, unsigned trace, int64_t *x, int64_t *y)
{
    if (trace == 0 || word_get(board, trace, NEXT) != word_get(board, trace, REMOVED) + 1) {
        return 0;
    }
    *x = (int64_t)word_get(board, trace, X);
    *y = (int64_t)word_get(board, trace, Y);
    return 1;
}
