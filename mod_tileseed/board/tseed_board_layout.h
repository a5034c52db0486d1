/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How the board lies in memory. Private to the board room; the drawing is in tseed_board.h. Any
 * process and thread that has the board, unless it says otherwise. */
#ifndef TSEED_BOARD_LAYOUT_H
#define TSEED_BOARD_LAYOUT_H

#include "board/tseed_board.h"
#include "board/tseed_counters_layout.h"
#include "board/tseed_gauges.h"
#include "board/tseed_pair.h"
#include "board/tseed_traces.h"

#define TSEED_BOARD_MAGIC           UINT64_C(0x6472616f42645354) /* "TSdBoard" */
#define TSEED_BOARD_LINE            64
#define TSEED_BOARD_QUOTA_TEXT_SIZE 16384
#define TSEED_BOARD_BLAMES          64
#define TSEED_BOARD_HITS            16384
#define TSEED_BOARD_WHOLE_TASK      (-1)

/* The part of a slot that stays the same as long as the task holds it. */
typedef struct {
    int64_t tiles_total;
    int64_t type;
    char layer[TSEED_NAME_MAX + 1];
} tseed_board_identity_t;

typedef struct {
    int64_t version;
    char text[TSEED_BOARD_QUOTA_TEXT_SIZE];
} tseed_board_quota_t;

static_assert(sizeof(tseed_board_identity_t) % 8 == 0, "records are copied in whole words");
static_assert(sizeof(tseed_board_quota_t) % 8 == 0, "records are copied in whole words");
static_assert(sizeof(tseed_board_host_t) % 8 == 0, "records are copied in whole words");
static_assert(sizeof(tseed_progress_t) % 8 == 0, "records are copied in whole words");
static_assert(sizeof(tseed_upstream_gauge_t) % 8 == 0, "records are copied in whole words");
static_assert(sizeof(tseed_quota_gauge_t) % 8 == 0, "records are copied in whole words");
static_assert(sizeof(tseed_quota_rule_t) % 8 == 0, "records are copied in whole words");

typedef struct {
    _Alignas(TSEED_BOARD_LINE) _Atomic int64_t id; /* 0: free */
    tseed_word_t terminating;
    tseed_word_t identity[TSEED_WORDS(tseed_board_identity_t)];
    tseed_word_t turn;
    tseed_word_t progress[2 * TSEED_WORDS(tseed_progress_t)];
} tseed_board_slot_t;

typedef struct {
    _Alignas(TSEED_BOARD_LINE) _Atomic int64_t task; /* 0: idle */
    _Atomic int64_t position;
    _Atomic int64_t thread;  /* kernel's number of it */
    _Atomic int64_t accused; /* it crashed at this */
} tseed_board_worker_t;

/* A metatile at which the seeder crashed; position WHOLE_TASK counts the crashes of a task. */
typedef struct {
    _Atomic int64_t task; /* 0: free */
    _Atomic int64_t position, crashes;
} tseed_board_blame_t;

/* See tseed_gauges.h; turn 0: nothing yet. */
typedef struct {
    tseed_word_t turn;
    tseed_word_t gauge[2 * TSEED_WORDS(tseed_upstream_gauge_t)];
} tseed_board_upstream_t;

/* See tseed_traces.h. */
typedef struct {
    _Atomic int64_t task; /* 0: free */
    _Atomic int64_t position;
    tseed_word_t words[TSEED_TRACE_WORDS];
} tseed_board_trace_t;

/* The hits of a page. A page's counter is at index print % TSEED_BOARD_HITS or one of the seven
 * behind it. */
typedef struct {
    tseed_word_t page; /* tseed_page_print; 0: free */
    tseed_word_t count;
} tseed_board_hit_t;

typedef struct {
    /* frozen: every build finds these four at the same place */
    uint64_t magic, layout, size;
    tseed_word_t fence;
    uint64_t frozen[4];

    /* seeder, main thread */
    _Alignas(TSEED_BOARD_LINE) tseed_word_t epoch;
    _Atomic int64_t pid, heartbeat;
    tseed_word_t state;
    tseed_word_t used; /* no slot from here on is taken */
    tseed_word_t peak; /* no slot from here on was ever taken */
    tseed_word_t hint; /* no slot before this one is free */
    tseed_word_t crowded;

    tseed_board_blame_t blames[TSEED_BOARD_BLAMES];

    /* parent, which never reads it */
    tseed_word_t generation;
    uint64_t born; /* wall clock: when it laid out this board */

    /* seeder, main thread, and the parent for a dead one */
    _Alignas(TSEED_BOARD_LINE) tseed_word_t changes;
    _Atomic int64_t state_since; /* monotonic */

    /* children */
    _Alignas(TSEED_BOARD_LINE) tseed_word_t committed;
    tseed_word_t polls;                                                  /* see tseed_polls.c */
    _Alignas(TSEED_BOARD_LINE) tseed_board_hit_t hits[TSEED_BOARD_HITS]; /* the seeder takes them */

    /* seeder, main thread */
    _Alignas(TSEED_BOARD_LINE) tseed_word_t applied;
    tseed_word_t quota_turn; /* 0: nothing yet */
    tseed_word_t quota[2 * TSEED_WORDS(tseed_board_quota_t)];

    tseed_word_t host_turn; /* 0: nothing yet */
    tseed_word_t host[2 * TSEED_WORDS(tseed_board_host_t)];

    tseed_word_t rule_turn; /* 0: nothing yet */
    tseed_word_t rule[2 * TSEED_WORDS(tseed_quota_rule_t)];

    tseed_word_t usage_turn; /* 0: nothing yet */
    tseed_word_t usage[2 * TSEED_WORDS(tseed_quota_gauge_t)];
    tseed_word_t upstreams_used;
    tseed_board_upstream_t upstreams[TSEED_GAUGES_UPSTREAMS];

    /* seeder, main thread; a worker those of its job */
    tseed_word_t traces_used; /* no trace from here on is taken */
    tseed_board_trace_t traces[TSEED_TRACES_MOST];

    tseed_counters_t counters; /* see tseed_counters.h */
} tseed_segment_t;

static_assert(offsetof(tseed_segment_t, epoch) == TSEED_BOARD_LINE, "the frozen head has 64 bytes");

/* Private to each process. Only these numbers say where the segment ends, because any process that
 * has the segment may write anywhere in it. */
struct tseed_board_t {
    tseed_segment_t *segment;
    unsigned slots, workers;
};

/* Makes all workers idle; those accused of a crash are blamed. */
void tseed_board_blame_workers(tseed_board_t *board);

/* Says as the end of a sentence what can't be right in a row; NULL: nothing is wrong. The texts of
 * the row end with a zero byte in any case. */
const char *tseed_board_judge(const tseed_row_t *row);

/* Says that readers see something else from now on; after the write. */
static inline void tseed_board_change(tseed_board_t *board)
{
    atomic_fetch_add(&board->segment->changes, 1);
}

/* Copies a slot as it is, right or not; 0 if it is free or can't be read just now. */
int tseed_board_copy(const tseed_board_t *board, unsigned slot, tseed_row_t *row);

/* The record of a worker; `worker` is below board->workers. */
static inline tseed_board_worker_t *tseed_board_worker_at(const tseed_board_t *board,
                                                          unsigned worker)
{
    return (tseed_board_worker_t *)(board->segment + 1) + worker;
}

/* A slot; `slot` is below board->slots. */
static inline tseed_board_slot_t *tseed_board_slot_at(const tseed_board_t *board, unsigned slot)
{
    return (tseed_board_slot_t *)((tseed_board_worker_t *)(board->segment + 1) + board->workers) +
           slot;
}

/* A number of slots that stands in the segment, bounded by the true number of slots. */
static inline unsigned tseed_board_bound(const tseed_board_t *board, const tseed_word_t *word)
{
    uint64_t count = atomic_load_explicit(word, memory_order_acquire);

    return count < board->slots ? (unsigned)count : board->slots;
}

/* Whether no task holds it. */
static inline int tseed_board_slot_is_free(const tseed_board_slot_t *slot)
{
    return atomic_load_explicit(&slot->id, memory_order_acquire) == 0;
}

#endif
