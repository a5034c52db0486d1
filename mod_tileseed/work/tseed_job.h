/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A job: one metatile (or one page, or one level) under way. A job is malloc'd, used again, and
 * belongs to exactly one thread at a time: the main thread gives the job to a worker or to the
 * fetcher, and gets the job back through the mailbox.
 *
 *      seed      CHECK (worker) -> FETCH (fetcher) -> CUT (worker)
 *                CHECK: all tiles are there, and the job is done
 *      reseed                      FETCH           -> CUT
 *                CUT: the answer is unchanged, has no body, and tiles are missing -> FETCH
 *      miss      CHECK -> FETCH -> CUT, as a seed's; CUT again when room has come
 *      all these FETCH: the answer is no picture -> FETCH after a while, or given up
 *                CUT: the store or the quota refuses -> CUT after a while
 *      derived   DERIVE (worker) stands for FETCH
 *                DERIVE: a tile below is missing, and what needs it is given up
 *      truncate  REMOVE (worker), one job a level; again while there is more than a tally takes
 *      eviction  REMOVE (worker), one job a page
 *      count     COUNT (worker), one job a page; COUNT_SHARED, SWEEP (worker), one job a tile set
 *
 * Jobs of neighbouring metatiles may be joined: one request fetches the rectangle around them. The
 * first of joined jobs leads. The leader alone is handed over, waits in queues, and has the
 * transfer and its answer; the others go with it (savings/tseed_join.h). A job that is not joined
 * leads itself.
 */
#ifndef TSEED_JOB_H
#define TSEED_JOB_H

#include <stdint.h>

#include "board/tseed_board.h"
#include "quota/tseed_account.h"
#include "source/tseed_fetcher.h"
#include "store/tseed_store.h"
#include "tiling/tseed_cells.h"
#include "work/tseed_mailbox.h"
#include "work/tseed_tally.h"

/* Most tiles of a metatile. */
#define TSEED_METATILE_TILES_MAX (TSEED_METATILE_SIDE_MAX * TSEED_METATILE_SIDE_MAX)

/* Tiles on each side of a metatile, and of the largest request, unless others are configured. */
#define TSEED_METATILE_SIDE 4
#define TSEED_REQUEST_SIDE  16

struct tseed_run_t;
struct tseed_client_t;
struct tseed_sink_t; /* pipeline/tseed_flow.h */

typedef enum {
    TSEED_STAGE_CHECK,
    TSEED_STAGE_FETCH,
    TSEED_STAGE_DERIVE, /* makes the picture of the tiles below */
    TSEED_STAGE_CUT,
    TSEED_STAGE_REMOVE,
    TSEED_STAGE_COUNT,        /* what a page holds */
    TSEED_STAGE_COUNT_SHARED, /* the files that uniform tiles of a tile set share */
    TSEED_STAGE_SWEEP         /* removes those of them that no tile is a name of any more */
} tseed_stage_t;

typedef enum {
    TSEED_JOB_OK,
    TSEED_JOB_BAD_ANSWER, /* the upstream's: fetch again, then give up */
    TSEED_JOB_NO_STORE,   /* the cache directory's: nothing is wrong with the metatile, wait */
    TSEED_JOB_NO_ROOM,    /* an account refused: wait until something was removed */
    TSEED_JOB_NO_BODY,    /* nothing has changed, but there are tiles missing: fetch it whole */
    TSEED_JOB_LACKS,      /* tiles can't be made: tiles below are missing or broken, or what has a
                           * tile's name can't be replaced; the cause says which */
    TSEED_JOB_CRASHED,    /* the seeder has crashed at it, again and again */
    TSEED_JOB_MORE,       /* of REMOVE: there is more to be removed than fits a tally */
    TSEED_JOB_STOPPED     /* the task was terminated meanwhile */
} tseed_outcome_t;

/* Tiles that requests wait for and that can't be stored: they are encoded into files without a
 * name. */
#define TSEED_UNSTORED_MOST 32
typedef struct {
    int count;
    tseed_tile_t tiles[TSEED_UNSTORED_MOST];
    int files[TSEED_UNSTORED_MOST]; /* descriptors that the main thread closes; -1: none */
} tseed_unstored_t;

/* Such a file with a tile; -1: there is no memory or no descriptor left. Any thread. */
int tseed_unstored_file(const void *tile, size_t length);

/* One colour as the file of a tile, and the longest file that is taken for one. */
#define TSEED_SHADE_LONGEST 4096
typedef struct {
    size_t length;
    unsigned char data[];
} tseed_shade_t;

/* What a CUT has learnt of the colours of the tiles that it has made. */
typedef struct {
    enum { TSEED_COLOURS_UNKNOWN, TSEED_COLOURS_ONE, TSEED_COLOURS_SEVERAL } colours;
    size_t length; /* of ONE: the file of each tile */
    unsigned char data[TSEED_SHADE_LONGEST];
} tseed_plain_t;

/* What DERIVE has made of the tiles below. */
typedef struct {
    unsigned char *body; /* pixels, malloc'd; NULL: no picture */
    size_t length;
    apr_interval_time_t took; /* 0: there was no DERIVE */
    int is_unchanged;         /* a reseed has found the tiles below as they were */
} tseed_drawn_t;

struct tseed_job_t;

/* Takes the result of a count, the difference to the book. NULL: the count can't be done now. Main
 * thread. */
typedef void tseed_report_t(void *module, const tseed_effect_t *difference);

/* The parts of a job. Each is written by the files of one room alone (tests/lint/members.py). Who
 * has the job may read all of it. */

/* Where a job is on its way, and what was asked for it: pipeline/ writes this, and the fetcher the
 * transfer while it has it. */
typedef struct {
    tseed_stage_t stage;
    int attempts;       /* fetches that failed and count */
    int tries;          /* all that failed */
    apr_time_t doubted; /* when a failure ended that counts if the upstream answers anything after
                         * it; 0: there is none */
    apr_time_t first_failed; /* monotonic */
    apr_time_t answered;     /* monotonic: when its answer came, or its derived picture */
    apr_time_t due;          /* monotonic: when it leaves the list `to_retry`; when a job that was
                              * refused may have room at last; 0: neither */
    int must_fetch;          /* without a condition */
    int is_unstored;         /* of waiting requests: CUT encodes their tiles and stores nothing */
    int is_whole;            /* a REMOVE of all that the tile set may have there: to be renamed */
    tseed_remnant_t remnant; /* away, as this */
    int width, height;       /* pixels of the answer that is expected */
    tseed_transfer_t transfer;
    char *url; /* malloc'd, kept for the next use */
    size_t url_size;
    char *portion;              /* of the transfer, malloc'd, kept likewise; NULL: none */
    tseed_unstored_t *unstored; /* of a CUT that requests wait for, or NULL */
} tseed_job_request_t;

/* What the stages have found and made: work/ writes this. */
typedef struct {
    struct tseed_workers_root_t *root; /* of the leader: as the workers know it */
    int is_open;                       /* likewise: its worker has the answer decoded */
    int has_inherited;                 /* of REMOVE: it has taken over what a dead seeder left */
    tseed_outcome_t outcome;           /* of the last stage */
    apr_status_t rv;                   /* of TSEED_JOB_NO_STORE and TSEED_JOB_NO_ROOM */
    char place[TSEED_CAUSE_SIZE];      /* of TSEED_JOB_NO_STORE: the path that has failed */
    char cause[TSEED_CAUSE_SIZE];
    uint64_t digest;              /* of the answer at hand */
    tseed_drawn_t drawn;          /* of DERIVE */
    uint64_t below;               /* of a derived metatile: of the tiles that its picture is of */
    int is_wrong;                 /* of a look: the tiles are of another colour */
    int64_t alike;                /* tiles that were looked at and are of that colour */
    int64_t made, skipped, bytes; /* bytes: of all that is written */
    uint64_t present[TSEED_METATILE_TILES_MAX / 64]; /* which wanted tiles exist and stay: of CHECK,
                                                      * and in a reseed of CUT */
    int64_t equal; /* likewise: how many of those are of another answer, but just what would be
                    * made of this one */
    uint64_t written[TSEED_METATILE_TILES_MAX / 64]; /* of CUT: which were made, now or before */
    uint64_t lacking[TSEED_METATILE_TILES_MAX / 64]; /* of DERIVE and CUT: which can't be made, … */
    int has_broken;                                  /* … for a tile below is broken, … */
    int is_blocked;                                  /* … or their own files can't be replaced */
    tseed_plain_t plain;                             /* of CUT: of which colours they are */
    tseed_tally_t tally;                             /* what CUT and REMOVE have changed, */
    tseed_effect_t shared;                           /* also of shared files */
    tseed_amount_t freed;                            /* likewise: not given back yet */
    int is_detached;                                 /* of REMOVE: it was renamed away */
    tseed_effect_t counted;                          /* of COUNT: what the page holds */
    int64_t oldest;                                  /* likewise: the date of its oldest tile */
    int has_adopted;          /* likewise: a shared file has a master again */
    tseed_account_t *refused; /* of TSEED_JOB_NO_ROOM, */
    int64_t needed;           /* for a tile, bytes */
} tseed_job_result_t;

/* What the books know of a job: books/ writes this. */
typedef struct {
    int at_work;     /* with a worker */
    int holds;       /* pages of the books, */
    int pins;        /* and pins them: a worker is at it */
    uint64_t levels; /* whose mark must be durable before it begins */
    unsigned trace;  /* on the board; 0: none */
    int inherits;    /* a REMOVE: its trace is of a seeder that died at it */
    int has_waited;  /* amid its tiles, after some were written */
    int is_overdue;  /* no job waits for it, its store hangs, books/tseed_background.h */
    int is_stale; /* the answer, come or to come, is one of before a truncate, or of before writes
                   * were lost: not to be stored, and nothing is learnt from it */

    /* of FETCH and CUT; see tseed_origins.c */
    uint64_t seed;    /* of the digests: which tiles are wanted */
    uint64_t request; /* digest of the request */
    uint64_t known;   /* digest of the answer that the tiles came from; 0: not known */
    char condition[TSEED_CONDITION_SIZE];
} tseed_job_accounts_t;

/* Draws a wanted tile of a job from other tiles, see work/tseed_job_derive.h. Returns 0 when the
 * tile can't be made, or the job can't go on. A worker. */
struct tseed_derive_t;
typedef int tseed_draw_t(struct tseed_derive_t *derive, const tseed_tile_t *tile);

/* What spares requests: savings/ writes this. */
typedef struct {
    struct tseed_job_t *leader; /* of joined jobs; NULL: the job itself */
    struct tseed_job_t *joined; /* the next of them; NULL: there is none */
    tseed_range_t asked;        /* the tiles of the answer: the leader's counts */
    int step;      /* likewise: which size was asked for, tseed_sizes.h; -1: none, it is a part */
    uint8_t why;   /* likewise: tseed_size_reason_t */
    double weight; /* likewise: of the request, as tseed_transfer_t has it */
    int follows;   /* likewise: the answer of another run's request, savings/tseed_sharing.h */
    const tseed_shade_t *shade; /* the colour it is taken to be of, see savings/; NULL: none */
    int is_made_of_shade;       /* CUT makes its tiles of that, and needs no answer; else CUT looks
                                 * whether they are of that colour, and stores them if not */
    tseed_draw_t *draw; /* DERIVE stands for FETCH, and makes each tile by this; NULL: FETCH */
} tseed_job_savings_t;

/* What a job is made for. */
typedef struct {
    const struct tseed_client_t *client; /* who takes it after each stage */
    const struct tseed_sink_t *sink;     /* who wants its metatile; NULL: it is about none */
    struct tseed_run_t *run;
    int64_t position;
    tseed_metatile_t metatile;
    tseed_stage_t first;     /* its first stage */
    int is_recount;          /* a COUNT while nothing is written: it drops unfinished files */
    tseed_report_t *report;  /* of COUNT: who wants to know; or NULL */
    void *report_module;     /* and what is handed to it */
    tseed_effect_t expected; /* of REMOVE for the quota: what the book says of the page */
} tseed_job_what_t;

/* A job is made whole by books/tseed_jobs.c. What it is for is not written afterwards. */
typedef struct tseed_job_t {
    tseed_letter_t letter; /* by which it comes back */
    const struct tseed_client_t *client;
    const struct tseed_sink_t *sink;
    struct tseed_run_t *run;
    int64_t position;
    tseed_metatile_t metatile;
    int is_recount;
    tseed_report_t *report;
    void *report_module;
    tseed_effect_t expected;

    tseed_job_request_t request;
    tseed_job_result_t result;
    tseed_job_accounts_t accounts;

    tseed_job_savings_t savings;

    struct tseed_job_t *next;    /* in a queue */
    struct tseed_job_t *sibling; /* in its run's list of jobs under way */
} tseed_job_t;

/* Whether the job's picture is made of other tiles. */
static inline int tseed_job_is_drawn(const tseed_job_t *job)
{
    return job->savings.draw != NULL;
}

/* The job that has the answer. */
static inline tseed_job_t *tseed_job_leader(tseed_job_t *job)
{
    return job->savings.leader ? job->savings.leader : job;
}

/* Whether `other`, a job under way in the same tiles, keeps `job` from being given to a worker.
 * Only one kind of work goes on in a tile at a time. Two removals go on together only if neither
 * removes everything. A CUT also lets jobs go first that wait to remove tiles or to count shared
 * files. */
int tseed_job_excludes(const tseed_job_t *other, const tseed_job_t *job);

/* How many of the wanted tiles CHECK has found. */
int64_t tseed_job_present(const tseed_job_t *job);

/* How many CUT has made, now or before. */
int64_t tseed_job_written(const tseed_job_t *job);

/* Whether its answer must have a body, also where nothing has changed. */
int tseed_job_must_fetch(const tseed_job_t *job);

/* Says that a job is lost before a worker has found so: with that outcome, for that cause. */
void tseed_job_lose(tseed_job_t *job, tseed_outcome_t outcome, const char *cause);

/* Why a job has failed at its stage. */
const char *tseed_job_cause(const tseed_job_t *job);

/* Counts the tiles of a CHECK that has found all of them. */
void tseed_job_count_found(tseed_job_t *job);

/* After CHECK: moves tiles from `present` to `written` that a seeder has made which died at this
 * metatile, as its trace on the board says. */
void tseed_job_recall(tseed_board_t *board, tseed_job_t *job);

/* Whether the tiles below, or the upstream, say that nothing has changed: there is no picture. */
int tseed_job_is_unchanged(const tseed_job_t *job);

/* Frees the picture that DERIVE has made. */
void tseed_job_forget_drawn(tseed_job_t *job);

/* Forgets what was made of an answer that is out of date. */
void tseed_job_forget_made(tseed_job_t *job);

/* What a job has changed is in the book: it is not to be booked once more. */
void tseed_job_booked(tseed_job_t *job);

/* Whether the job looks at a metatile below a finding. It asks the upstream even if all its tiles
 * are there. */
int tseed_job_is_look(const tseed_job_t *job);

/* Notes that a wanted tile can't be made. */
void tseed_job_lack(tseed_job_t *job, const tseed_tile_t *tile);
/* Whether DERIVE or CUT has noted that of a wanted tile, … */
int tseed_job_lacks(const tseed_job_t *job, const tseed_tile_t *tile);
/* … or of any. */
int tseed_job_lacks_any(const tseed_job_t *job);

/* A first-in first-out queue of jobs. Zeroed is empty. */
typedef struct {
    tseed_job_t *head, *tail;
    int count;
} tseed_queue_t;

/* Puts a job at the end of a queue. The queue links the job; the job must be in no other queue. */
static inline void tseed_queue_put(tseed_queue_t *queue, tseed_job_t *job)
{
    job->next = NULL;
    if (queue->tail) {
        queue->tail->next = job;
    } else {
        queue->head = job;
    }
    queue->tail = job;
    queue->count++;
}

/* Takes the first job out of a queue; NULL: the queue is empty. */
static inline tseed_job_t *tseed_queue_take(tseed_queue_t *queue)
{
    tseed_job_t *job = queue->head;

    if (job) {
        queue->head = job->next;
        queue->tail = queue->head ? queue->tail : NULL;
        queue->count--;
    }
    return job;
}

#endif
