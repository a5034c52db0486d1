/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The board: one shared segment through which every httpd child sees tasks and quota
 * configuration without a lock.
 *
 *      +-----------------+ 0      frozen for ever: magic, layout id, size, fence
 *      | head            | 64     seeder: epoch, pid, state, heartbeat, deaths
 *      |                 |        commit_seq (children) · applied_seq (seeder)
 *      |                 |        two copies of the quota configuration, `turn` says which is valid
 *      +-----------------+
 *      | hits            |        children: how often pages were read (tseed_hits.h)
 *      +-----------------+
 *      | traces          |        what jobs under way have found or removed (tseed_traces.h)
 *      +-----------------+
 *      | workers         |        what each worker works on (blame after a crash)
 *      +-----------------+
 *      | slot 0          |        identity · two copies of the progress, `turn` says which is valid
 *      | slot 1          |
 *      | …               |
 *      +-----------------+
 *
 * One writer, the seeder (its main thread); workers write their own records and the traces of
 * their jobs, children commit_seq
 * and hits alone. No pointers. A slot's progress is written into the copy that is not valid and
 * then `turn` is moved on with one store, so a writer that dies at any instant leaves the last
 * whole record behind; counters and finished positions can never disagree. A reader copies the
 * valid one and accepts it if `turn` has not moved meanwhile. The segment outlives seeders and
 * generations of children; whoever attaches to one of another layout id sets the fence and makes
 * a new one. Pages of slots that were never used are never touched.
 *
 * Every process that has the segment may write anywhere in it, and the parent is root. So nobody
 * believes it: how many slots and workers there are stands in private memory, an index is bounded
 * before it is used, a row that can't be right is not handed out, texts end where their space
 * ends. The parent reads only the seeder's pid and its heartbeat, as numbers to compare with.
 */
#ifndef TSEED_BOARD_H
#define TSEED_BOARD_H

#include <apr_pools.h>
#include <apr_tables.h>

#include "layer/tseed_layer.h"
#include "protocol/tseed_task.h"

/* What a process knows of the segment: private memory, the same in all that are forked later. */
typedef struct tseed_board_t tseed_board_t;

typedef enum {
    TSEED_SEEDER_NONE, /* never started, or gone */
    TSEED_SEEDER_STARTING,
    TSEED_SEEDER_WORKING,
    TSEED_SEEDER_LOCKED_OUT, /* another seeder holds the state directory */
    TSEED_SEEDER_NO_STATE,   /* the state database can't be used; see the log */
    TSEED_SEEDER_STOPPED     /* left on request */
} tseed_seeder_state_t;

/* What a slot says of its task. */
typedef struct {
    int64_t id, tiles_total;
    tseed_task_type_t type;
    int terminating; /* terminated, not yet confirmed: no more in the lists */
    char layer[TSEED_NAME_MAX + 1];
    tseed_progress_t progress;
} tseed_row_t;

/* Bytes of a segment for that many tasks and workers. */
apr_size_t tseed_board_size(unsigned slots, unsigned workers);

/* A number that no other layout has. */
uint64_t tseed_board_layout(void);

/* Lays out a fresh board in zeroed memory of that size, 64-byte aligned. Parent, before any
 * fork. */
tseed_board_t *tseed_board_init(void *memory, unsigned slots, unsigned workers, apr_pool_t *pool);

/* The board that init laid out in this memory, of the layout, slots and workers that the caller
 * has kept elsewhere. NULL (and the old one's fence set) if that layout is not ours, or the memory
 * says another. */
tseed_board_t *tseed_board_attach(void *memory, uint64_t layout, unsigned slots, unsigned workers,
                                  apr_pool_t *pool);

/* Whether a newer build has taken over: the state of tasks is elsewhere now, answer 503 to
 * changes. Any process. */
int tseed_board_is_fenced(const tseed_board_t *board);

/* How many tasks it can show. Any process. */
unsigned tseed_board_slots(const tseed_board_t *board);

/* ---- seeder, main thread ---- */

/* Begins an incarnation: epoch + 1, pid, state STARTING, workers idle and, after a crash, blamed
 * for what they were at. Slots stay as the last seeder left them: their progress may be ahead of
 * the database's. After one that was killed because it hung the next one says tseed_board_crash(0)
 * before. */
void tseed_board_seeder_begin(tseed_board_t *board, int64_t pid, apr_time_t now);
void tseed_board_seeder_state_set(tseed_board_t *board, tseed_seeder_state_t state);
void tseed_board_heartbeat(tseed_board_t *board, apr_time_t now);

/* A free slot shows the task from now on; -1 when the board is full. */
int tseed_board_slot_claim(tseed_board_t *board, const tseed_task_t *task,
                           const tseed_progress_t *progress);
void tseed_board_slot_update(tseed_board_t *board, int slot, const tseed_progress_t *progress);
void tseed_board_slot_terminating(tseed_board_t *board, int slot);
void tseed_board_slot_release(tseed_board_t *board, int slot);

/* Whether there are tasks without a slot. */
void tseed_board_crowd(tseed_board_t *board, int crowded);

/* Everything committed up to `seq` has been acted upon. */
void tseed_board_apply(tseed_board_t *board, uint64_t seq);

/* The quota configuration as tseed_quota_config_save wrote it; too long for the board:
 * APR_ENOSPC. */
apr_status_t tseed_board_quota_set(tseed_board_t *board, const char *saved, int64_t version);

/* How often a crash met a metatile at work, and any metatile of a task. */
unsigned tseed_board_crashes_at(const tseed_board_t *board, int64_t task, int64_t position);
unsigned tseed_board_crashes_of(const tseed_board_t *board, int64_t task);

/* Forgets the crashes of a task that has ended. */
void tseed_board_crashes_forget(tseed_board_t *board, int64_t task);

/* ---- seeder, worker `worker`, on its own thread ---- */

/* Begin: the worker works on a metatile of a task, which is blamed for a crash. End: on nothing. */
void tseed_board_worker_begin(tseed_board_t *board, unsigned worker, int64_t task,
                              int64_t position);
void tseed_board_worker_end(tseed_board_t *board, unsigned worker);

/* ---- any process and thread ---- */

/* Says that a change has been committed; returns its sequence number. Ring the doorbell after. */
uint64_t tseed_board_commit(tseed_board_t *board);
uint64_t tseed_board_committed(const tseed_board_t *board);
uint64_t tseed_board_applied(const tseed_board_t *board);

/* Whether the board does not show all tasks: the database does. */
int tseed_board_is_crowded(const tseed_board_t *board);

/* State, pid, epoch and last heartbeat (0: never) of the seeder. Outputs may be NULL. */
tseed_seeder_state_t tseed_board_seeder(const tseed_board_t *board, int64_t *pid, uint64_t *epoch,
                                        apr_time_t *heartbeat);

/* Copies a slot; 0 if it is free, can't be right or can't be read just now. */
int tseed_board_read(const tseed_board_t *board, unsigned slot, tseed_row_t *row);

/* The rows of a layer (NULL: all), ascending by id, as an array of tseed_row_t in `pool`. With
 * `terminating` those in termination too. NULL when a row can't be right or can't be read just
 * now: ask the database. */
apr_array_header_t *tseed_board_list(const tseed_board_t *board, const char *layer, int terminating,
                                     apr_pool_t *pool);

/* The row of a task; 0 when the board has none. */
int tseed_board_find(const tseed_board_t *board, int64_t task, tseed_row_t *row);

/* The saved quota configuration and its version in `pool`; NULL before the seeder has put one
 * there, or when it can't be read just now. */
const char *tseed_board_quota_get(const tseed_board_t *board, int64_t *version, apr_pool_t *pool);

/* The seeder is about to die of its work: of a crash signal in `thread`. Or the last one has died:
 * it was killed because it hung (0: any thread may be the culprit). The next
 * tseed_board_seeder_begin blames what that worker is at; a plain SIGKILL blames nobody. Seeder
 * alone; safe in a signal handler. */
void tseed_board_crash(tseed_board_t *board, int64_t thread);

/* The configuration in force: the parent counts it with each start and restart, and processes of
 * earlier ones may live on for a while. What the parent sets it on is in use, so a fence that
 * stands there is nonsense and goes. */
uint64_t tseed_board_generation(const tseed_board_t *board);
void tseed_board_generation_set(tseed_board_t *board, uint64_t generation);

/* Checks every invariant: magic, layout, ids unique among used slots, counters not negative and
 * within the total, window bit 0 clear, applied <= committed, texts terminated. NULL or a
 * sentence in `pool`. The process that writes the slots runs it, or any while nobody writes; the
 * seeder does so regularly. */
const char *tseed_board_validate(const tseed_board_t *board, apr_pool_t *pool);

/* Puts one kind of thing right that is wrong with a board that another seeder has left, and says in
 * a sentence what it was; NULL: there is no more. A slot that can't be right is free afterwards:
 * the database knows its task. Seeder, main thread, before it takes in what was left. */
const char *tseed_board_mend(tseed_board_t *board, apr_pool_t *pool);

#endif
