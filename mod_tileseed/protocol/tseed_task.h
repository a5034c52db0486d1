/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A task: the accepted request, and how far its work is. REST documents, the state database, the
 * board and the seeder share these records. */
#ifndef TSEED_TASK_H
#define TSEED_TASK_H

#include <stdint.h>

#include <apr_tables.h>
#include <apr_time.h>

#include "tiling/tseed_positions.h"

typedef enum { TSEED_SEED, TSEED_RESEED, TSEED_TRUNCATE } tseed_task_type_t;

/* The numbers are the wire's (status list) and the database's. */
typedef enum {
    TSEED_ABORTED = -1,
    TSEED_PENDING = 0,
    TSEED_RUNNING = 1,
    TSEED_DONE = 2
} tseed_task_state_t;

/* The snapshot a task was accepted with; never changes. Pointers into the pool it was made in. */
typedef struct {
    int64_t id; /* 0 until the database gave one */
    tseed_task_type_t type;
    const char *layer, *gridset, *format; /* names; format is the MIME type */
    const apr_table_t *parameters;        /* every filter of the layer, upper-case key -> value */
    tseed_bounds_t bounds;                /* already cut to the layer's extent */
    int has_area;                         /* 0: nothing of the bounds was left, 0 tiles */
    int zoom_start, zoom_stop;
    int thread_count; /* at least 1 */
    int meta_width, meta_height, gutter;
    tseed_derived_t derived;        /* levels that are made of the tiles below them */
    int retries;                    /* of a metatile */
    apr_interval_time_t retry_wait; /* between them; 0: the seeder's own back-off */
    int64_t failure_limit;          /* failed metatiles before the task is aborted; -1: no limit */
    int64_t tiles_total;            /* exact */
    const char *gridset_print;      /* tseed_gridset_print of the grid set */
    const char *store_print;        /* tseed_store_layout_print of the layer's store */
    const char *requested_by;       /* user name, or "" */
    const char *ignored;            /* members of the request that are unknown, one a line, or "" */
    apr_time_t created;
    int64_t retry_of; /* 0, or the task whose failed metatiles this task tries again. The database
                       * has them as a list; a position is a place in the list */
} tseed_task_t;

/* Why the latest requests of a task are as large as they are. TSEED_SIZE_FIXED: nobody chooses. */
typedef enum {
    TSEED_SIZE_FIXED,
    TSEED_SIZE_TRIAL,     /* several sizes are being measured */
    TSEED_SIZE_BEST,      /* larger ones don't take less time for a tile */
    TSEED_SIZE_LARGEST,   /* that may be asked for, and larger ones would take less */
    TSEED_SIZE_FAILED,    /* larger ones failed */
    TSEED_SIZE_MEMORY,    /* larger answers would take too much memory */
    TSEED_SIZE_REST,      /* few metatiles are left */
    TSEED_SIZE_AS_BEFORE, /* the tiles came from requests of that size */
    TSEED_SIZE_ALONE,     /* nothing was joined to the metatile */
    TSEED_SIZE_LISTED,    /* the metatiles are those of a list: failed ones */
    TSEED_SIZE_CRASHED    /* the task has crashed a seeder */
} tseed_size_reason_t;

/* What the reason of a task says, for programs: they never read the sentence. Names are the wire's
 * and the database's. A running task of which nothing is to be said has none, and each other one
 * waits: tseed_reason_is_wait. */
#define TSEED_REASON_LIST(X)                                                                       \
    X(NONE)                                                                                        \
    X(THREAD)              /* waits for a thread of TileSeedThreads */                             \
    X(TASK)                /* for another task */                                                  \
    X(HOST)                /* for a host that works */                                             \
    X(CONFIGURATION)       /* does not fit this host's configuration, and waits for another */     \
    X(BOOKS)               /* the books are being read */                                          \
    X(AWAY)                /* its upstream is away, */                                             \
    X(QUIET)               /* has asked for a pause, */                                            \
    X(SILENT)              /* does not answer, */                                                  \
    X(REFUSED)             /* refuses the task: its credentials or its layer */                    \
    X(STORE)               /* its store can't be used */                                           \
    X(DATABASE)            /* the state database can't be written */                               \
    X(QUOTA)               /* the disk quota is reached */                                         \
    X(FREE_SPACE)          /* TileSeedMinFree keeps the rest, or it is not known */                \
    X(SYNC)                /* all is made, and the file system can't be synced */                  \
    X(LACKS)               /* it goes on; its upstream's capabilities lack something */            \
    X(FAILURES)            /* ended: metatiles failed, */                                          \
    X(NOTHING_MADE)        /* all of them, */                                                      \
    X(FAILURE_LIMIT)       /* too many of them */                                                  \
    X(GIVEN_UP)            /* its upstream was away, or refused it, for too long */                \
    X(EXPIRED)             /* the disk quota has removed some of its tiles */                      \
    X(UNSAFE)              /* the file system has lost some of them */                             \
    X(TERMINATED)          /* by a client */                                                       \
    X(CHANGED)             /* the configuration it was accepted with is gone */                    \
    X(LOST)                /* its list of metatiles is */                                          \
    X(CRASHED)             /* it has crashed the seeder too often */                               \
    X(PRUNED)              /* ended: most of its tiles were taken to be of one colour */
#define TSEED_REASON_CODE(name) TSEED_REASON_##name,

typedef enum { TSEED_REASON_LIST(TSEED_REASON_CODE) TSEED_REASONS } tseed_reason_t;

/* A position is begun only if it is less than this above the lowest unfinished position. */
#define TSEED_WINDOW      4096
#define TSEED_REASON_SIZE 240

/* The counts of a task that documents tell, in their order: the member of tseed_progress_t, the
 * name of a constant, the name on the wire, whether it counts tiles that are processed, and where
 * the database has it: in a COLUMN of the member's name, which statements may ask for, or in one
 * TEXT with others. A count is one line here. The first ones are what became of a tile, for the
 * metrics.
 *
 *      made, skipped, removed, failed    tiles
 *      unchanged                         those of the skipped whose answer was as before
 *      pruned                            tiles taken to be of the colour above them
 *      spared                            pruned metatiles that were not asked for
 *      looked, wrong                     pruned metatiles that were fetched all the same, and those
 *                                        of them that are of another colour
 *      forgotten                         metatiles of one colour that a truncate has forgotten, and
 *                                        that have pruned what lies below them
 *      bytes                             written into the cache
 *      requests                          sent to the upstream
 *      shared                            requests of other tasks whose answers it has used */
#define TSEED_TILE_COUNTS(X)                                                                       \
    X(made, MADE, "tilesMade", 1, COLUMN)                                                          \
    X(skipped, SKIPPED, "tilesSkipped", 1, COLUMN)                                                 \
    X(unchanged, UNCHANGED, "tilesUnchanged", 0, COLUMN)                                           \
    X(removed, REMOVED, "tilesRemoved", 1, COLUMN)                                                 \
    X(failed, FAILED, "tilesFailed", 1, COLUMN)                                                    \
    X(pruned, PRUNED, "tilesPruned", 1, COLUMN)
#define TSEED_COUNTS(X)                                                                            \
    TSEED_TILE_COUNTS(X)                                                                           \
    X(spared, SPARED, "prunedMetatiles", 0, TEXT)                                                  \
    X(looked, LOOKED, "prunedChecked", 0, TEXT)                                                    \
    X(wrong, WRONG, "prunedWrong", 0, TEXT)                                                        \
    X(forgotten, FORGOTTEN, "prunedForgotten", 0, TEXT)                                            \
    X(bytes, BYTES, "bytes", 0, COLUMN)                                                            \
    X(requests, REQUESTS, "upstreamRequests", 0, COLUMN)                                           \
    X(shared, SHARED, "sharedRequests", 0, TEXT)
#define TSEED_COUNT_MEMBER(member, ...) int64_t member;

/* How far a task is: plain data without pointers, copied whole between database, board and seeder.
 * Invariant: unchanged <= skipped, wrong <= looked; the tiles processed <= tiles_total, equal when
 * state is DONE. */
typedef struct {
    int32_t state; /* tseed_task_state_t */
    uint8_t request_width,
        request_height;  /* tiles of the latest request; 0: none. Never saved, … */
    uint8_t request_why; /* … and tseed_size_reason_t, which may be nonsense on the board */
    uint8_t reason_code; /* tseed_reason_t, which may be nonsense on the board */
    TSEED_COUNTS(TSEED_COUNT_MEMBER)
    int64_t failures;                   /* metatiles given up on */
    int64_t rate;                       /* of late, while it runs: tiles in 1000 s; never saved */
    apr_time_t started, finished;       /* 0: not yet */
    apr_time_t away_since;              /* it waits for its upstream; 0: it does not */
    int64_t low;                        /* lowest position that is not finished */
    uint64_t window[TSEED_WINDOW / 64]; /* bit i: position low + i is finished; never bit 0 */
    char reason[TSEED_REASON_SIZE];     /* UTF-8, why it waits or ended; "": nothing to be said */
} tseed_progress_t;

typedef struct {
    tseed_task_t *task;
    tseed_progress_t progress;
} tseed_task_record_t;

/* A metatile given up on. (z, x, y) is its first tile, rows from the bottom. */
typedef struct {
    int64_t task;
    int z;
    int64_t x, y;
    const char *cause;
    int http_status; /* 0: none */
    int attempts;
    apr_time_t time;
} tseed_failure_t;

/* The failures of a task that have one cause. */
typedef struct {
    const char *cause;
    int http_status; /* 0: none */
    int64_t count;
    apr_time_t first, last; /* of the first and the last of them */
    int z;                  /* one of the metatiles, by its first tile */
    int64_t x, y;
} tseed_cause_t;

/* The failures of a task, grouped by their causes. */
typedef struct {
    apr_array_header_t *list; /* of tseed_cause_t, the most frequent first */
    int64_t looked;           /* failures that were looked at for that */
} tseed_causes_t;

/* "seed", "reseed", "truncate"; "PENDING" and so on. Static text. */
const char *tseed_task_type_name(tseed_task_type_t type);
const char *tseed_task_state_name(tseed_task_state_t state);

/* Why requests are as large as they are, in a sentence; "": nobody chooses, or it is no reason.
 * Static text. */
const char *tseed_size_reason(int reason);

/* Sets the reason of a task and its code; "": there is none any more. Nothing else writes either of
 * them. */
void tseed_progress_tell(tseed_progress_t *progress, tseed_reason_t code, const char *reason);
/* The same of a format. */
void tseed_progress_say(tseed_progress_t *progress, tseed_reason_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "AWAY" and so on, "" for none and for a number that is no code; static text. And the code of a
 * name: TSEED_REASON_NONE if there is none such. */
const char *tseed_reason_name(int code);
tseed_reason_t tseed_reason_of(const char *name);

/* Whether a task with that reason stands still until something changes; and whether what it waits
 * for is its upstream. */
int tseed_reason_is_wait(int code);
int tseed_reason_is_upstream(int code);

/* The tiles processed, and those of them that take time: pruned ones don't. */
int64_t tseed_progress_processed(const tseed_progress_t *progress);
static inline int64_t tseed_progress_worked(const tseed_progress_t *progress)
{
    return tseed_progress_processed(progress) - progress->pruned;
}

/* Whether a position is finished. */
int tseed_progress_is_done(const tseed_progress_t *progress, int64_t position);

/* Marks a position as finished, low <= position < low + TSEED_WINDOW. Moves `low` to the lowest
 * position that is not finished. */
void tseed_progress_finish(tseed_progress_t *progress, int64_t position);

/* Marks all positions from `low` to before `end` as finished, and so moves `low` there. No position
 * from `end` on is finished. */
void tseed_progress_pass(tseed_progress_t *progress, int64_t end);

/* A level of a task. Metatiles of a truncate are whole levels. */
typedef struct {
    int z;
    int64_t metatiles, finished;
    int64_t tiles; /* -1: not known, of a task that retries another */
} tseed_task_level_t;

/* The levels (tseed_task_level_t) of a task, ascending, in `pool`. `gridset` is the task's, as it
 * was when the task was accepted. `listed` has for each of TSEED_LEVELS_MAX levels the number of
 * metatiles that a task with retry_of is about; NULL for other tasks. */
apr_array_header_t *tseed_task_levels(const tseed_task_t *task, const tseed_progress_t *progress,
                                      const tseed_gridset_t *gridset, const int64_t *listed,
                                      apr_pool_t *pool);

/* Whether the tiles that a progress counts are the tiles of its finished positions, as they are
 * whenever a seed or reseed under way is shown or saved. Says 1 of other tasks: a truncate counts
 * within a level, and the list of a task with retry_of is not at hand. `gridset` as above. */
int tseed_task_adds_up(const tseed_task_t *task, const tseed_progress_t *progress,
                       const tseed_gridset_t *gridset);

#endif
