/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Syncs: what the database calls made is on the disk.
 *
 * The database syncs each commit, tiles are written without. So a thread has the file system of the
 * stores write what it has (syncfs), and the database is told no more than what was done when that
 * began:
 *
 *      progress    A run's progress is copied when a sync begins. Checkpoints write the last copy
 *                  whose sync has succeeded. The board shows the progress itself.
 *      endings     A task is DONE when a sync has succeeded that began after its last tile. If one
 *                  has failed meanwhile, what it was about is lost: the reason of the end says so.
 *      marks       A sweep takes marks of pages away only if a sync has begun since the sweep
 *                  before, and has succeeded. Marks of levels wait for one after their last job.
 *                  Pages that become empty keep their mark as long.
 *
 * Roots of one file system are synced once, together. A file system that does not come back keeps
 * the endings and marks of its own stores only.
 */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "seeder/tseed_house.h"

#define RETRY APR_USEC_PER_SEC
#define SLOW  (10 * APR_USEC_PER_SEC)

typedef struct sync_root_t {
    const char *path;
    dev_t device; /* the thread's */
    struct sync_root_t *next;
} sync_root_t;

/* The roots of a file system, as it was at the start. Kept for ever. The thread reads the roots;
 * the job is how it reports. */
struct tseed_sync_t {
    tseed_job_t job;
    tseed_mailbox_t *mailbox;
    sync_root_t *roots;
    /* owned by the main thread */
    dev_t device;
    int64_t begun;  /* syncs so far */
    int64_t done;   /* the number of the last one that has succeeded; 0: none */
    int64_t swept;  /* `begun` at the last sweep of marks that was not held up, */
    int64_t levels; /* and when the last job in a marked level has ended */
    int at_work, due;
    int is_last;                     /* nothing is written any more since it has begun */
    int is_said;                     /* that it is slow or fails */
    apr_status_t rv;                 /* of the last one */
    apr_time_t begun_at, not_before; /* monotonic */
    char trouble[TSEED_REASON_SIZE];
    tseed_sync_t *next;
};

/* ---- the file systems ---- */

/* Of the directory, or of the nearest one above that is there. */
static dev_t device_of(const char *root, apr_pool_t *pool)
{
    char *path = apr_pstrdup(pool, root), *slash;
    struct stat st = {0};

    while (stat(path, &st) != 0 && (slash = strrchr(path, '/')) != NULL && slash > path) {
        *slash = '\0';
    }
    return st.st_dev;
}

static tseed_sync_t *group_get(tseed_seeder_t *seeder, dev_t device)
{
    tseed_sync_t *sync = seeder->syncs;

    while (sync && sync->device != device) {
        sync = sync->next;
    }
    if (!sync) {
        sync = tseed_memory_get(sizeof(*sync));
        sync->device = device;
        sync->mailbox = &seeder->mailbox;
        sync->job.stage = TSEED_STAGE_SYNC;
        sync->next = seeder->syncs;
        seeder->syncs = sync;
    }
    return sync;
}

void tseed_sync_begin(tseed_seeder_t *seeder)
{
    const char *path;

    for (unsigned i = 0;
         seeder->settings->sync && (path = tseed_cleaner_root(seeder->cleaner, i)) != NULL; i++) {
        tseed_sync_t *sync = group_get(seeder, device_of(path, seeder->scratch));
        sync_root_t *root = tseed_memory_get(sizeof(*root));

        root->path = tseed_memory_copy(path);
        root->next = sync->roots;
        sync->roots = root;
    }
}

static tseed_sync_t *sync_of(const tseed_seeder_t *seeder, const tseed_shelf_t *shelf)
{
    for (tseed_sync_t *sync = shelf ? seeder->syncs : NULL; sync; sync = sync->next) {
        for (const sync_root_t *root = sync->roots; root; root = root->next) {
            if (strcmp(root->path, shelf->holding.root) == 0) {
                return sync;
            }
        }
    }
    return NULL;
}

/* ---- threads ---- */

static int was_synced(const sync_root_t *roots, const sync_root_t *before, dev_t device)
{
    while (roots != before && roots->device != device) {
        roots = roots->next;
    }
    return roots != before;
}

/* A directory that is not there has nothing to lose. */
static apr_status_t sync_root(const sync_root_t *roots, sync_root_t *root)
{
    int fd = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    apr_status_t rv = APR_SUCCESS;

    root->device = 0;
    if (fd < 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    if (fstat(fd, &st) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    } else if (!was_synced(roots, root, st.st_dev)) {
        rv = syncfs(fd) == 0 ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
        root->device = st.st_dev;
    }
    close(fd);
    return rv;
}

static void *sync_all(void *data)
{
    tseed_sync_t *sync = data;

    sync->job.rv = APR_SUCCESS;
    for (sync_root_t *root = sync->roots; root; root = root->next) {
        const apr_status_t rv = sync_root(sync->roots, root);

        sync->job.rv = sync->job.rv == APR_SUCCESS ? rv : sync->job.rv;
    }
    tseed_mailbox_put(sync->mailbox, &sync->job);
    return NULL;
}

/* ---- runs ---- */

static int is_at_end(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING && run->losses == 0;
}

/* What the sync that begins now will have made safe. */
static void copy_run(tseed_run_t *run)
{
    run->is_copied = run->dirty;
    if (run->dirty) {
        run->copied = run->progress;
    }
    run->dirty = 0;
    run->is_end_copied = is_at_end(run);
}

/* Of what could not be written the system keeps nothing, and says so once. */
static int has_lost_writes(apr_status_t rv)
{
    return rv == EIO || APR_STATUS_IS_ENOSPC(rv) || rv == EDQUOT;
}

static void settle_run(tseed_seeder_t *seeder, tseed_run_t *run, apr_status_t rv)
{
    if (has_lost_writes(rv) && run->task->type != TSEED_TRUNCATE &&
        (run->dirty || run->is_copied || run->is_end_copied)) {
        tseed_run_doubt(run);
        tseed_pump_show(seeder, run);
    }
    if (rv != APR_SUCCESS) {
        run->dirty |= run->is_copied;
    } else {
        if (run->is_copied) {
            run->synced = run->copied;
            run->is_to_save = 1;
        }
        run->may_end |= run->is_end_copied;
        seeder->must_record |= run->is_end_copied;
    }
    run->is_copied = run->is_end_copied = 0;
}

const tseed_progress_t *tseed_sync_progress(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    if (sync_of(seeder, run->shelf)) {
        return run->is_to_save ? &run->synced : NULL;
    }
    return run->dirty ? &run->progress : NULL;
}

void tseed_sync_saved(const tseed_seeder_t *seeder, tseed_run_t *run)
{
    run->is_to_save = 0;
    run->dirty = run->dirty && sync_of(seeder, run->shelf);
}

/* Nothing of a task that is not DONE is promised. */
int tseed_sync_may_end(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    return run->may_end || run->terminated || run->progress.state == TSEED_ABORTED ||
           !sync_of(seeder, run->shelf);
}

const char *tseed_sync_trouble(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    const tseed_sync_t *sync = is_at_end(run) ? sync_of(seeder, run->shelf) : NULL;

    return sync && sync->is_said ? sync->trouble : NULL;
}

/* ---- one sync ---- */

static void begin_one(tseed_seeder_t *seeder, tseed_sync_t *sync)
{
    pthread_t thread;

    for (tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        if (sync_of(seeder, run->shelf) == sync) {
            copy_run(run);
        }
    }
    sync->begun++;
    sync->begun_at = tseed_clock_monotonic();
    sync->at_work = 1;
    sync->due = 0;
    if (pthread_create(&thread, NULL, sync_all, sync) == 0) {
        pthread_detach(thread);
    } else { /* as if it had failed at once */
        sync->job.rv = APR_ENOMEM;
        tseed_mailbox_put(&seeder->mailbox, &sync->job);
    }
}

static void complain(tseed_sync_t *sync, apr_status_t rv, const char *what)
{
    char path[120];

    if (!sync->is_said) {
        tseed_log(TSEED_LOG_ERROR, rv,
                  "the file system of the store directory %s %s; tasks there are not done before "
                  "their tiles are safe, TileSeedSync off does not wait for that",
                  sync->roots->path, what);
    }
    sync->is_said = 1;
    tseed_text_say(sync->trouble, sizeof(sync->trouble),
                   "all is made, but the file system of %s %s",
                   tseed_text_fit(path, sizeof(path), sync->roots->path), what);
}

void tseed_sync_take(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_sync_t *sync = (tseed_sync_t *)job;

    sync->at_work = 0;
    sync->rv = job->rv;
    for (tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        if (sync_of(seeder, run->shelf) == sync) {
            settle_run(seeder, run, job->rv);
        }
    }
    if (job->rv != APR_SUCCESS) {
        sync->not_before = tseed_clock_monotonic() + RETRY;
        sync->due = 1;
        complain(sync, job->rv, "can't be synced");
        return;
    }
    sync->done = sync->begun;
    if (sync->is_said) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "the file system of the store directory %s is synced again", sync->roots->path);
    }
    sync->is_said = 0;
}

/* Endings wait for nothing else. */
static int somebody_ends(const tseed_seeder_t *seeder, const tseed_sync_t *sync)
{
    for (const tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        if (is_at_end(run) && !tseed_sync_may_end(seeder, run) &&
            sync_of(seeder, run->shelf) == sync) {
            return 1;
        }
    }
    return 0;
}

void tseed_sync_feed(tseed_seeder_t *seeder)
{
    for (tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        if (!sync->at_work && (sync->due || somebody_ends(seeder, sync)) &&
            tseed_clock_monotonic() >= sync->not_before) {
            begin_one(seeder, sync);
        }
    }
}

void tseed_sync_tick(tseed_seeder_t *seeder, apr_time_t now)
{
    for (const tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        tseed_sync_t *sync = run->dirty ? sync_of(seeder, run->shelf) : NULL;

        if (sync) {
            sync->due = 1;
        }
    }
    for (tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        if (sync->at_work && now - sync->begun_at > SLOW) {
            complain(sync, APR_SUCCESS, "has been writing for more than 10 s");
        }
    }
}

/* ---- marks ---- */

void tseed_sync_touch_levels(tseed_seeder_t *seeder, const tseed_shelf_t *shelf)
{
    tseed_sync_t *sync = sync_of(seeder, shelf);

    if (sync) {
        sync->levels = sync->begun;
        sync->due = 1;
    }
}

int tseed_sync_may_unmark(tseed_seeder_t *seeder, const tseed_shelf_t *shelf)
{
    tseed_sync_t *sync = sync_of(seeder, shelf);

    if (sync && sync->done <= sync->levels) {
        sync->due = 1;
        return 0;
    }
    return 1;
}

void tseed_sync_sweep(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf;
    int lingers;

    for (unsigned i = 0; (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
        const tseed_sync_t *sync = sync_of(seeder, shelf);

        shelf->keeps_empty = sync != NULL;
        shelf->is_unsafe = sync && sync->done <= sync->swept;
    }
    for (tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        if (sync->done > sync->swept) {
            sync->swept = sync->begun;
        }
    }
    lingers = tseed_book_sweep(seeder->book);
    for (tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        sync->due |= lingers;
    }
}

/* ---- the end ---- */

void tseed_sync_begin_last(tseed_seeder_t *seeder)
{
    for (tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        if (!sync->at_work) {
            begin_one(seeder, sync);
            sync->is_last = 1;
        }
    }
}

int tseed_sync_is_at_work(const tseed_seeder_t *seeder)
{
    int at_work = 0;

    for (const tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        at_work |= sync->at_work;
    }
    return at_work;
}

void tseed_sync_end(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf;

    for (unsigned i = 0; (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
        const tseed_sync_t *sync = sync_of(seeder, shelf);

        shelf->is_unsafe = sync && !(sync->is_last && !sync->at_work && sync->rv == APR_SUCCESS);
    }
}
