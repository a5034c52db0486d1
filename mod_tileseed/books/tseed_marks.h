/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Marks: work that holds have found and that other modules of books/ do when they are fed. Holds
 * note the work here and call nobody. What of the work is on the disk (durable), and how runs are
 * shown (display), stand here as well. Main thread only. */
#ifndef TSEED_MARKS_H
#define TSEED_MARKS_H

#include <sys/types.h>

#include <apr_tables.h>

#include "books/tseed_cache.h"
#include "quota/tseed_book.h"
#include "work/tseed_context.h"
#include "work/tseed_mailbox.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

/* What must be counted before a job may write: a page, or the shared files of a tile set (z -1). */
typedef struct {
    tseed_book_tileset_t *booked;
    tseed_page_t page;
} tseed_count_mark_t;

typedef struct tseed_marks_t {
    apr_array_header_t *to_count; /* of tseed_count_mark_t: found in this turn */
    apr_array_header_t *to_purge; /* of const char *: store roots where a level was renamed away */
    unsigned shared_due; /* tile sets whose shared files are to be counted, and those to sweep */
    int is_recounting;   /* pages that were marked at the start are being counted: no tile is
                          * written before all of them are, but those in a store that hangs */
} tseed_marks_t;

/* Makes empty marks in `pool`, where all marks live. */
tseed_marks_t *tseed_marks_create(apr_pool_t *pool);

/* Notes that a page is to be counted. */
void tseed_marks_count_page(tseed_marks_t *marks, tseed_book_tileset_t *booked,
                            const tseed_page_t *page);

/* Notes that the shared files of a tile set are to be counted, by and by. */
void tseed_marks_doubt_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked);

/* Notes that the shared files of a tile set are to be counted in this turn. */
void tseed_marks_count_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked);

/* Notes that something was renamed away below a store root. The root must outlive the marks. */
void tseed_marks_purge(tseed_marks_t *marks, const char *root);

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

/* Notes that a job in a marked level has ended. */
void tseed_durable_touch_levels(tseed_durable_t *durable, const tseed_book_tileset_t *booked);

/* Whether marks of levels may be taken away. If not, a sync is wanted. */
int tseed_durable_may_unmark(tseed_durable_t *durable, const tseed_book_tileset_t *booked);

/* Sweeps marks out of the book, as far as what was done there is on the disk. */
void tseed_durable_sweep(tseed_durable_t *durable);

/* At the end of the process: notes which marks the last sweeps have to leave. */
void tseed_durable_end(const tseed_durable_t *durable);

typedef struct tseed_display_t tseed_display_t;

/* Makes the display in the context's pool. */
tseed_display_t *tseed_display_create(const tseed_context_t *context,
                                      const tseed_session_t *session,
                                      const tseed_durable_t *durable);

/* The metrics know what a run's progress is when the run is made. */
void tseed_display_begin(tseed_run_t *run);

/* Shows the run's progress on the board. What has changed in it is not worth a record. */
void tseed_display_show(const tseed_display_t *display, tseed_run_t *run);

/* The same, and notes that the progress has changed. */
void tseed_display_run(const tseed_display_t *display, tseed_run_t *run);

#endif
