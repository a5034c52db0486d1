/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What is safe: on the disk, so that the database may say it. Main thread.
 *
 * tseed_sync.c has the file systems write what they have, and notes here what has succeeded.
 */
#ifndef TSEED_SAFE_H
#define TSEED_SAFE_H

#include <sys/types.h>

#include "work/tseed_mailbox.h"
#include "work/tseed_run.h"

struct tseed_seeder_t;

typedef struct tseed_sync_root_t {
    const char *path;
    dev_t device; /* the thread's */
    struct tseed_sync_root_t *next;
} tseed_sync_root_t;

/* The roots of a file system, as it was at the start. Kept for ever. The thread reads the roots
 * and writes `rv`, until it posts the letter. */
typedef struct tseed_sync_t {
    tseed_letter_t letter;
    apr_status_t rv; /* of the last one */
    tseed_mailbox_t *mailbox;
    tseed_sync_root_t *roots;
    /* owned by the main thread */
    dev_t device;
    int64_t begun;  /* syncs so far */
    int64_t done;   /* the number of the last one that has succeeded; 0: none */
    int64_t swept;  /* `begun` at the last sweep of marks that was not held up, */
    int64_t levels; /* and when the last job in a marked level has ended */
    int at_work, due;
    int is_last;                     /* nothing is written any more since it has begun */
    int is_said;                     /* that it is slow or fails */
    apr_time_t begun_at, not_before; /* monotonic */
    char trouble[TSEED_REASON_SIZE];
    struct tseed_sync_t *next;
} tseed_sync_t;

/* The file system of a tile set; NULL: nothing is synced. */
tseed_sync_t *tseed_safe_sync(const struct tseed_seeder_t *seeder,
                              const tseed_book_tileset_t *booked);

/* Whether nothing is left of a run but to record its end. */
int tseed_safe_is_at_end(const tseed_run_t *run);

/* What a checkpoint may say of a run; NULL: nothing new. And that it is saved. */
const tseed_progress_t *tseed_safe_progress(const struct tseed_seeder_t *seeder,
                                            const tseed_run_t *run);
void tseed_safe_saved(const struct tseed_seeder_t *seeder, tseed_run_t *run);
/* Whether the database may say that a run has ended; and why that takes so long, or NULL. */
int tseed_safe_may_end(const struct tseed_seeder_t *seeder, const tseed_run_t *run);
const char *tseed_safe_trouble(const struct tseed_seeder_t *seeder, const tseed_run_t *run);
/* A job in a marked level has ended; whether marks of levels may be taken away. */
void tseed_safe_touch_levels(struct tseed_seeder_t *seeder, const tseed_book_tileset_t *booked);
int tseed_safe_may_unmark(struct tseed_seeder_t *seeder, const tseed_book_tileset_t *booked);
/* Sweeps the book, as far as what was done is safe. */
void tseed_safe_sweep(struct tseed_seeder_t *seeder);
/* At the end: notes which marks the last sweeps have to leave. */
void tseed_safe_end(struct tseed_seeder_t *seeder);

#endif
