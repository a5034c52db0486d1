/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Durable: what is on the disk, so that the database may say so.
 *
 * upkeep/ has the file systems write their data, and notes here which syncs have succeeded. Main
 * thread only; the thread of a sync has some members of tseed_sync_t.
 */
#ifndef TSEED_DURABLE_H
#define TSEED_DURABLE_H

#include <sys/types.h>

#include "usage/tseed_cache.h"
#include "work/tseed_mailbox.h"
#include "work/tseed_run.h"

typedef struct tseed_durable_t tseed_durable_t;

/* A store root. Each has an outcome of its own: a root that can't be reached keeps no other of its
 * file system from being safe. The thread of the sync writes `device`, `rv` and `has_lost`, until
 * it posts the letter. */
typedef struct tseed_sync_root_t {
    const char *path;
    struct tseed_sync_t *sync; /* its file system's */
    dev_t device;
    apr_status_t rv; /* of the last sync */
    int has_lost;    /* the system has dropped what it could not write */
    /* owned by the main thread */
    int64_t done;   /* the number of the last sync that has succeeded here; 0: none */
    int64_t swept;  /* `begun` at the last sweep of marks that was not held up, */
    int64_t levels; /* and when the last job in a marked level has ended */
    int is_said;    /* tasks say that it is slow or fails, */
    int is_logged;  /* and the log; one root speaks there for a slow file system */
    char trouble[TSEED_REASON_SIZE];
    struct tseed_sync_root_t *next;
} tseed_sync_root_t;

/* The roots of a file system, as it was at the start. Kept for ever. The thread reads the list of
 * roots. */
typedef struct tseed_sync_t {
    tseed_letter_t letter;
    tseed_mailbox_t *mailbox;
    tseed_sync_root_t *roots;
    /* owned by the main thread */
    dev_t device;
    int64_t begun; /* syncs so far */
    int at_work, due;
    int is_last;                     /* nothing is written any more since it has begun */
    int is_slow;                     /* the one under way, which was said */
    apr_time_t begun_at, not_before; /* monotonic */
    struct tseed_sync_t *next;
} tseed_sync_t;

/* Makes the record of syncs in `pool`, without a file system: then nothing is synced. */
tseed_durable_t *tseed_durable_create(const tseed_cache_t *cache, apr_pool_t *pool);

/* Enters a file system, whose memory stays the caller's and must outlive `durable`. */
void tseed_durable_enter(tseed_durable_t *durable, tseed_sync_t *sync);

/* The first file system; the others follow by `next`. NULL: none. */
tseed_sync_t *tseed_durable_first(const tseed_durable_t *durable);

/* The store root of a tile set; NULL: its file system is not synced. */
tseed_sync_root_t *tseed_durable_root(const tseed_durable_t *durable,
                                      const tseed_book_tileset_t *booked);

/* Whether nothing is left of a run but to record its end. */
int tseed_durable_is_at_end(const tseed_run_t *run);

/* What a checkpoint may say of a run; NULL: nothing new. */
const tseed_progress_t *tseed_durable_progress(const tseed_durable_t *durable,
                                               const tseed_run_t *run);

/* Notes that the database has what tseed_durable_progress has given. */
void tseed_durable_saved(const tseed_durable_t *durable, tseed_run_t *run);

/* Whether the database may say that a run has ended. */
int tseed_durable_may_end(const tseed_durable_t *durable, const tseed_run_t *run);

/* Why the database has not been allowed to say so for long; NULL: there is no trouble. */
const char *tseed_durable_trouble(const tseed_durable_t *durable, const tseed_run_t *run);

/* Notes that a job in a marked level has ended. */
void tseed_durable_touch_levels(tseed_durable_t *durable, const tseed_book_tileset_t *booked);

/* Whether marks of levels may be taken away. If not, a sync is wanted. */
int tseed_durable_may_unmark(tseed_durable_t *durable, const tseed_book_tileset_t *booked);

/* Sweeps marks out of the book, as far as what was done there is on the disk. */
void tseed_durable_sweep(tseed_durable_t *durable);

/* At the end of the process: notes which marks the last sweeps have to leave. */
void tseed_durable_end(const tseed_durable_t *durable);

#endif
