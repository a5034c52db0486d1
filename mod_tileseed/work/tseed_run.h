/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A run: a task that owns a seeding thread, with its sequence of metatiles and its jobs under way.
 */
#ifndef TSEED_RUN_H
#define TSEED_RUN_H

#include <apr_hash.h>
#include <stdatomic.h>

#include "board/tseed_counters.h"
#include "layer/tseed_tileset.h"
#include "protocol/tseed_estimate.h"
#include "quota/tseed_book.h"
#include "source/tseed_source.h"
#include "work/tseed_job.h"
#include "store/tseed_store.h"

/* Most bytes of a run's answers that are on their way or wait for a worker, and after how many
 * answers a run knows what they take. */
#define TSEED_ANSWERS_BUDGET (26 << 20)
#define TSEED_ANSWERS_FIRST  8

/* One worker's view of the run's store, in a pool of its own. */
typedef struct {
    tseed_store_t *store; /* NULL until the worker's first job of the run */
    apr_pool_t *pool;
} tseed_view_t;

typedef enum {
    TSEED_RUN_GOING,
    TSEED_RUN_DRAINING, /* no new job is begun; those under way come back first */
    TSEED_RUN_ENDING,   /* nothing under way; progress.state is to be recorded */
    TSEED_RUN_LEAVING   /* the process stops; the task goes on in the next one */
} tseed_phase_t;

/* What the upstream of a run has refused, or a pause that it has asked for while it answers other
 * layers, pipeline/tseed_ends.c. */
typedef struct {
    int count;            /* refusals since the last picture */
    int asks;             /* single requests among them, while the run waits */
    apr_time_t next;      /* monotonic: when the next of those may be sent */
    tseed_refusal_t what; /* TSEED_REFUSES_NOTHING: it asked for a pause */
    const tseed_upstream_t *by;
    char cause[TSEED_CAUSE_SIZE]; /* of the last one */
} tseed_refused_t;

typedef struct tseed_flight_t tseed_flight_t; /* seeder/tseed_flight.h */

/* In parts, as a job: what is below the name of a room the files of that room write alone
 * (tests/lint/members.py). The main thread owns all of it but what is shared. */
typedef struct tseed_run_t {
    /* what it is: set when the run is made, read by every thread afterwards */
    apr_pool_t *pool;
    tseed_task_t *task;
    tseed_tileset_t tileset;
    tseed_positions_t positions;
    const apr_array_header_t *list; /* of tseed_tile_t: the metatiles of a task that retries
                                     * another, by their first tiles; NULL: all of `positions` */
    tseed_book_tileset_t
        *booked;         /* the tile set in the books; workers read its chain of accounts only */
    const char *gone;    /* why the task can't go on, or NULL */
    int is_background;   /* the run has no task */
    int slot;            /* on the board */
    tseed_view_t *views; /* of TSEED_STORE_IDS; views[i] is of the worker that has number i */
    apr_time_t begun;    /* monotonic: when this seeder began the task */

    /* what has come of it: many count, each a member of its own, and say why the task waits */
    tseed_progress_t progress;

    /* work/ */
    _Atomic int stopped;      /* shared: no tile is to be written or removed any more */
    _Atomic int64_t unlinked; /* shared: files that the REMOVE job under way has removed */
    int64_t removed_before;   /* progress.removed without the REMOVE job under way */
    struct tseed_run_t *next_run;
    tseed_job_t *jobs;                 /* all under way, by sibling */
    int64_t next;                      /* lowest position that was not handed out */
    uint64_t ahead[TSEED_WINDOW / 64]; /* bit p % TSEED_WINDOW: position p above `next` was */
    tseed_queue_t wanted;              /* checked, to be fetched */
    tseed_queue_t ready;               /* fetched, to be cut */
    apr_time_t pause_until;            /* monotonic; the store can't be written */
    apr_time_t measured_at;            /* monotonic: when the last metatile was finished */
    int is_measured;                   /* `measures` has something that the database has not */
    tseed_measure_t measures[TSEED_LEVELS_MAX]; /* by level */
    int is_doubtful;                            /* what it has written may be lost */
    int64_t expired; /* tiles that this seeder removed of its pages for the quota */

    /* pipeline/ */
    tseed_phase_t phase;
    int fetching;            /* jobs with the fetcher */
    int deriving;            /* those of the working that make pictures of the tiles below */
    int64_t pixels_expected; /* of the answers that are on their way, */
    double pixel_bytes;      /* and what each of them may take, by the answers so far */
    int answers;             /* the first TSEED_ANSWERS_FIRST */
    int is_sizing;           /* the size of requests is about to change */
    tseed_job_t *to_retry;   /* to be fetched again, by the time when they are due */
    apr_time_t waits_since;  /* monotonic, on the clock of this process: progress.away_since. 0: the
                              * upstream is not known to be away, or to refuse */
    tseed_refused_t refused;
    int is_silent;     /* the upstream is there, but does not answer */
    int is_hung;       /* the store does not answer */
    int64_t barred_by; /* its next metatile must not be derived before this task, a truncate, is
                        * done; 0 */
    int pauses;        /* in a row, for the back-off */
    apr_hash_t *lost;  /* the metatiles that the task has given up, pipeline/tseed_ends.c; NULL:
                        * nobody has asked for them yet */
    int losses;        /* given up on, not yet in the database */
    int64_t errors;    /* upstream errors since the last line about them */
    apr_time_t next_summary;           /* monotonic */
    char last_cause[TSEED_CAUSE_SIZE]; /* of the last error */
    char loss_cause[TSEED_CAUSE_SIZE]; /* of the last loss, "" */
    apr_time_t rated_at;               /* monotonic: when the rate was last taken, … */
    int64_t rated_tiles;               /* … and how many tiles were processed then */
    int rates;                         /* of which the rate is the mean */

    /* books/ */
    int working;                     /* jobs with workers */
    int checking;                    /* those of the working that only look what is there */
    const tseed_account_t *short_of; /* waits for room there, or NULL */
    tseed_counted_t counted;         /* what the metrics know of the progress */
    int dirty;                       /* progress has changed since the last checkpoint, or copy */
    tseed_progress_t copied, synced; /* tseed_syncer.c: when the sync under way has begun, and what
                                      * is safe, */
    int is_copied, is_to_save;       /* not yet so, and not yet in the database */
    int is_end_copied, may_end;      /* the same of its end */
    int is_walked;                   /* a walk goes through the tile set */
    apr_time_t used;                 /* monotonic: when a run of no task was last asked for */
    uint64_t recipe;                 /* tseed_origins.c; 0: not looked up yet */

    /* savings/ */
    uint64_t picture; /* tseed_sharing.c; 0: not looked up yet */

    /* seeder/ */
    const char *warning;     /* what its upstream lacks; in the seeder's pool; NULL: nothing */
    int lacks_layer;         /* that is, a layer */
    tseed_flight_t *flights; /* metatiles that requests wait for */
    tseed_flight_t *failed;  /* metatiles that failed and need not be asked for just now */
    int threads;             /* seeding threads: the one it owns and those it was lent */
    int terminated;          /* by a client: recorded as such already, only to be confirmed */
    int is_behind;           /* its next metatile is with a run that can't go on just now */
    int unknown;             /* the last checkpoint has met no such unfinished task */
} tseed_run_t;

/* The runs of the main thread. */
typedef struct tseed_runs_t {
    tseed_run_t *tasks, **tasks_end; /* in turn */
    int count;                       /* of tasks' runs */
    tseed_run_t *background;         /* runs of no task */
} tseed_runs_t;

/* Positions of the run: metatiles, or levels for a truncate. */
int64_t tseed_run_count(const tseed_run_t *run);

/* The metatile at a position, not of a truncate. */
tseed_metatile_t tseed_run_metatile(const tseed_run_t *run, int64_t position);

/* Whether the tiles of level z are made of the tiles below them. Any thread. */
int tseed_run_derives(const tseed_run_t *run, int z);

/* Whether tiles whose answer did not change are left alone. */
int tseed_run_leaves_unchanged(const tseed_run_t *run);

/* Whether too few answers have come to know what they take. */
int tseed_run_is_new(const tseed_run_t *run);

/* Bytes that a pixel of an answer takes, by the answers so far. */
double tseed_run_pixel_bytes(const tseed_run_t *run);

/* A run begins: its task is RUNNING. now: monotonic. */
void tseed_run_begin(tseed_run_t *run, apr_time_t now);

/* Sets that the task of a run ends before its time; the caller says why. */
void tseed_run_abort(tseed_run_t *run);

/* Has workers leave a run at the next file. */
void tseed_run_stop(tseed_run_t *run);

/* Begins nothing of a run before `until`, monotonic; 0: it may go on. */
void tseed_run_pause(tseed_run_t *run, apr_time_t until);

/* A REMOVE begins, or is over: `removed` files were removed without one that is under way. */
void tseed_run_count_from(tseed_run_t *run, int64_t removed);

/* The time before `now` says nothing of how long metatiles take. */
void tseed_run_measure_from(tseed_run_t *run, apr_time_t now);

/* The database has what was measured. */
void tseed_run_measures_saved(tseed_run_t *run);

/* Measures a metatile that is finished, by the time since the one before. */
void tseed_run_measure(tseed_run_t *run, const tseed_job_t *job, apr_time_t now);

/* The tiles of a truncate's level `position`. */
tseed_range_t tseed_run_level(const tseed_run_t *run, int64_t position);

/* The lowest position from `next` on that is not finished, or -1 when all have been handed out or
 * the window is full. */
int64_t tseed_run_peek(const tseed_run_t *run);

/* Whether a position is within the window, not finished and not handed out. */
int tseed_run_is_free(const tseed_run_t *run, int64_t position);

/* Notes that a free position is handed out. */
void tseed_run_hand_out(tseed_run_t *run, int64_t position);

/* Whether every position is finished. */
int tseed_run_is_through(const tseed_run_t *run);

/* Notes that the disk quota has removed `tiles` tiles of a page, in each run of a list that writes
 * to the page. */
void tseed_run_expire(tseed_run_t *runs, const tseed_book_tileset_t *booked,
                      const tseed_range_t *page, int64_t tiles);

/* Sets how a run that is through has ended, and the reason. ABORTED: metatiles failed, and no tile
 * was made or found unchanged. DONE otherwise. */
void tseed_run_conclude(tseed_run_t *run);

/* Notes that the file system has failed to write files of the run. The kernel drops such data and
 * reports the failure once, so the next sync succeeds. The reason of the run's end tells of the
 * failure, also when the end is set already. */
void tseed_run_doubt(tseed_run_t *run);

/* Enters a job into the run's list of jobs under way, and takes it out again. */
void tseed_run_job_add(tseed_run_t *run, tseed_job_t *job);
void tseed_run_job_remove(tseed_run_t *run, tseed_job_t *job);

/* Finds a run, one of `runs`, that has a job which keeps `job` from being begun. NULL: there is
 * none. */
const tseed_run_t *tseed_run_excluder(const tseed_run_t *runs, const tseed_job_t *job);

/* Finds a run that is at work on the metatile: one of `runs`, not `run` itself, in the same tile
 * set. `run` then waits for that run, and finds its tiles there. NULL: there is none. */
const tseed_run_t *tseed_run_holder(const tseed_run_t *runs, const tseed_run_t *run,
                                    const tseed_metatile_t *metatile);

/* Whether a run waits because its upstream has refused it: so often, without a picture between
 * them. */
#define TSEED_REFUSALS_MOST 3
int tseed_run_is_refused(const tseed_run_t *run);

/* Sets the reason of a run to what its upstream lacks, or to none. */
void tseed_run_remind(tseed_run_t *run);

#endif
