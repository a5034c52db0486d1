/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The board: one shared segment through which every httpd child sees tasks and quota
 * configuration without a lock.
 *
 *      +------------+            written by
 *      | frozen     | 0          parent         magic, layout id, size, fence
 *      +------------+
 *      | seeder     | 64         seeder         epoch, pid, heartbeat, state, bounds of the slots
 *      | blames     |            seeder         metatiles at which a seeder has crashed
 *      | generation |            parent         counts configurations
 *      +------------+
 *      | changes    |            seeder, parent counts what readers see of all but hits
 *      +------------+
 *      | committed  |            children       commit_seq
 *      +------------+
 *      | hits       |            children       how often pages were read (tseed_hits.h)
 *      +------------+
 *      | applied    |            seeder         applied_seq
 *      | quota      |            seeder         the quota configuration, a pair (tseed_pair.h)
 *      | host       |            seeder         which host works, a pair (tseed_pair.h)
 *      | gauges     |            seeder         the quota's and the upstreams' (tseed_gauges.h)
 *      | traces     |            seeder, workers  what jobs have found or removed (tseed_traces.h)
 *      | counters   |            all            what the metrics tell (tseed_counters.h)
 *      +------------+
 *      | workers    |            each worker    the metatile that the worker works on
 *      +------------+
 *      | slot 0     |            seeder         a task: its identity, and its progress as a pair
 *      | slot 1     |
 *      | …          |
 *      +------------+
 *
 * "Seeder" is the seeder's main thread. The segment holds no pointers. Progress and quota
 * configuration are pairs: a writer that dies at any instant leaves the last whole record behind,
 * so counters and finished positions never disagree.
 *
 * The segment outlives seeders and generations of children. A process that finds a segment of
 * another layout id sets the fence in that segment and makes a new segment. The memory pages of
 * slots that were never used are never touched.
 *
 * Every process that has the segment may write anywhere in it, and the parent is root. So nobody
 * believes the segment. The numbers of slots and workers stand in private memory. Readers bound
 * each index before they use it, hand out no row that can't be right, and end each text where its
 * space ends. The parent reads only the seeder's pid and heartbeat, and only compares them.
 */
#ifndef TSEED_BOARD_H
#define TSEED_BOARD_H

#include <apr_pools.h>
#include <apr_tables.h>

#include "layer/tseed_layer.h"
#include "protocol/tseed_settings.h"
#include "protocol/tseed_task.h"

/* A process's view of the segment: private memory, which processes that are forked later inherit.
 */
typedef struct tseed_board_t tseed_board_t;

typedef enum {
    TSEED_SEEDER_NONE, /* never started, or gone */
    TSEED_SEEDER_STARTING,
    TSEED_SEEDER_WORKING,
    TSEED_SEEDER_LOCKED_OUT, /* another seeder holds the state directory */
    TSEED_SEEDER_NO_STATE,   /* the state database can't be used; see the log */
    TSEED_SEEDER_STOPPED,    /* left on request */
    TSEED_SEEDER_STANDBY     /* another host works, see tseed_board_host_t */
} tseed_seeder_state_t;

/* Which of several hosts works. A seeder that has the database for itself says nothing. */
typedef struct {
    int64_t tenure; /* of the seeder's role: what the board says of tasks is of that tenure; 0: the
                     * database has one host */
    char active[TSEED_HOST_NAME_MAX + 1]; /* who works; "": nobody, or nobody else can */
} tseed_board_host_t;

/* A slot's task, as readers get it. */
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

/* Lays out a fresh board in zeroed memory of tseed_board_size bytes, 64-byte aligned. Parent,
 * before any fork. */
tseed_board_t *tseed_board_init(void *memory, unsigned slots, unsigned workers, apr_pool_t *pool);

/* The board that tseed_board_init laid out in this memory; the caller has kept the numbers of
 * layout, slots and workers elsewhere. NULL if `layout` is not ours or the memory has another one;
 * the fence of that board is set then. */
tseed_board_t *tseed_board_attach(void *memory, uint64_t layout, unsigned slots, unsigned workers,
                                  apr_pool_t *pool);

/* Whether a newer build has taken over: the state of tasks is elsewhere now, answer 503 to
 * changes. Any process. */
int tseed_board_is_fenced(const tseed_board_t *board);

/* How many tasks it can show. Any process. */
unsigned tseed_board_slots(const tseed_board_t *board);

/* No slot from this one on is taken; at most the number of slots. Any process. */
unsigned tseed_board_used(const tseed_board_t *board);

/* ---- seeder, main thread ---- */

/* Begins a new seeder: epoch + 1, pid, state STARTING, all workers idle. After a crash the
 * metatiles of the accused workers are blamed. Slots stay as the last seeder left them: their
 * progress may be ahead of the database's. A seeder whose predecessor was killed because it hung
 * calls tseed_board_crash(0) before. */
void tseed_board_seeder_begin(tseed_board_t *board, int64_t pid, apr_time_t now);
void tseed_board_seeder_state_set(tseed_board_t *board, tseed_seeder_state_t state, apr_time_t now);
void tseed_board_heartbeat(tseed_board_t *board, apr_time_t now);

/* Shows the task in a free slot from now on. Returns the slot, or -1 when the board is full. */
int tseed_board_slot_claim(tseed_board_t *board, const tseed_task_t *task,
                           const tseed_progress_t *progress);
void tseed_board_slot_update(tseed_board_t *board, int slot, const tseed_progress_t *progress);
void tseed_board_slot_terminating(tseed_board_t *board, int slot);
void tseed_board_slot_release(tseed_board_t *board, int slot);

/* Says whether there are tasks without a slot. */
void tseed_board_crowd(tseed_board_t *board, int crowded);

/* Says that the seeder has acted upon everything that was committed up to `seq`. */
void tseed_board_apply(tseed_board_t *board, uint64_t seq);

/* Shows the quota configuration, as tseed_quota_config_save wrote it. APR_ENOSPC: the text is too
 * long for the board. */
apr_status_t tseed_board_quota_set(tseed_board_t *board, const char *saved, int64_t version);

/* How many crashes came while a worker worked on a metatile, and on any metatile of a task. */
unsigned tseed_board_crashes_at(const tseed_board_t *board, int64_t task, int64_t position);
unsigned tseed_board_crashes_of(const tseed_board_t *board, int64_t task);

/* Forgets the crashes of a task that has ended. */
void tseed_board_crashes_forget(tseed_board_t *board, int64_t task);

/* ---- seeder, worker `worker`, on its own thread ---- */

/* Begin: the worker works on this metatile of a task; a crash is blamed on the metatile. End: the
 * worker works on nothing. A worker for whom the board has no record is never blamed. */
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

/* Since when the seeder is in its state, monotonic; 0: never was. */
apr_time_t tseed_board_seeder_since(const tseed_board_t *board);

/* The count of changes in what readers see on the board: state of the seeder, tasks, quota
 * configuration, gauges. Heartbeats and commits do not count. The count is raised after the change.
 * So a reader that reads first the count and then the board may see more than the count says, and
 * never less. */
uint64_t tseed_board_changes(const tseed_board_t *board);

/* When this board was laid out: no two boards of a machine have that, and so their counts of
 * changes can be told apart. */
uint64_t tseed_board_born(const tseed_board_t *board);

/* Copies a slot; 0 if it is free, can't be right or can't be read just now. */
int tseed_board_read(const tseed_board_t *board, unsigned slot, tseed_row_t *row);

/* The rows of a layer (NULL: all), ascending by id, as an array of tseed_row_t in `pool`. With
 * `terminating` it has rows of tasks that are being terminated, too. NULL when a row can't be right
 * or can't be read just now: ask the database. */
apr_array_header_t *tseed_board_list(const tseed_board_t *board, const char *layer, int terminating,
                                     apr_pool_t *pool);

/* The row of a task; 0 when the board has none. */
int tseed_board_find(const tseed_board_t *board, int64_t task, tseed_row_t *row);

/* The saved quota configuration and its version in `pool`; NULL before the seeder has put one
 * there, or when it can't be read just now. */
const char *tseed_board_quota_get(const tseed_board_t *board, int64_t *version, apr_pool_t *pool);

/* Accuses the worker that runs in `thread`, which has got a crash signal; 0: accuses all workers,
 * because the last seeder was killed when it hung. The next tseed_board_seeder_begin blames the
 * metatiles of the accused workers. A plain SIGKILL accuses nobody. Seeder alone; safe in a signal
 * handler. */
void tseed_board_crash(tseed_board_t *board, int64_t thread);

/* The generation of the configuration: the parent counts starts and restarts. Processes of earlier
 * generations may live on for a while. A board whose generation the parent sets is in use, so
 * setting it takes away a fence: the fence is nonsense. */
uint64_t tseed_board_generation(const tseed_board_t *board);
void tseed_board_generation_set(tseed_board_t *board, uint64_t generation);

/* Checks every invariant: magic, layout, ids unique among used slots, counters not negative and
 * within the total, window bit 0 clear, applied <= committed, texts terminated. NULL or a
 * sentence in `pool`. The seeder's main thread calls it regularly. Other processes may call it
 * while nobody writes slots. */
const char *tseed_board_validate(const tseed_board_t *board, apr_pool_t *pool);

/* Mends one kind of fault in a board that another seeder has left. Returns a sentence about the
 * fault, or NULL when there is no more fault. A slot that can't be right is free afterwards: the
 * database knows its task. Seeder, main thread, before it reads the slots. */
const char *tseed_board_mend(tseed_board_t *board, apr_pool_t *pool);

/* ---- hosts that share the database ---- */

/* Says it. Seeder, main thread. */
void tseed_board_host_set(tseed_board_t *board, const tseed_board_host_t *host);

/* Reads what was said last; all 0 before. Any process and thread. */
tseed_board_host_t tseed_board_host_get(const tseed_board_t *board);

/* Whether this host stands by: it has no tasks on the board, and the database knows them all. Any
 * process and thread. */
int tseed_board_is_standby(const tseed_board_t *board);

/* Forgets all tasks and traces on the board. Seeder, main thread. */
void tseed_board_clear(tseed_board_t *board);

#endif
