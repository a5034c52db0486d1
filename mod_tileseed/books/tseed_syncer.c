/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The database syncs each commit, but tiles are written without a sync. So a thread has the file
 * system of the stores write its data (syncfs). The database is told only what was done before the
 * sync began (tseed_marks.c).
 *
 * The roots of one file system are synced once, together. If a file system does not answer, only
 * tasks and marks of its own stores wait for it. If a root can't be reached, only its own do.
 */
#include "books/tseed_syncer.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "base/tseed_thread.h"

#define RETRY APR_USEC_PER_SEC
#define SLOW  (10 * APR_USEC_PER_SEC)

struct tseed_syncer_t {
    tseed_syncer_uses_t uses;
    tseed_client_t client;
};

/* ---- threads ---- */

/* The system drops what it could not write, and says so once. */
static int has_lost_writes(apr_status_t rv)
{
    return rv == EIO || APR_STATUS_IS_ENOSPC(rv) || rv == EDQUOT;
}

/* Takes over the outcome of an earlier root in the same file system, or syncs it. */
static void sync_device(const tseed_sync_root_t *roots, tseed_sync_root_t *root, int fd)
{
    while (roots != root && roots->device != root->device) {
        roots = roots->next;
    }
    if (roots != root) {
        root->rv = roots->rv;
        root->has_lost = roots->has_lost;
    } else if (syncfs(fd) != 0) {
        root->rv = APR_FROM_OS_ERROR(errno);
        root->has_lost = has_lost_writes(root->rv);
    }
}

/* A directory that is not there has nothing to lose. */
static void sync_root(const tseed_sync_root_t *roots, tseed_sync_root_t *root)
{
    int fd = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    root->device = 0;
    root->rv = APR_SUCCESS;
    root->has_lost = 0;
    if (fd < 0) {
        root->rv = errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
        return;
    }
    if (fstat(fd, &st) != 0) {
        root->rv = APR_FROM_OS_ERROR(errno);
    } else {
        root->device = st.st_dev;
        sync_device(roots, root, fd);
    }
    close(fd);
}

static void *sync_all(void *data)
{
    tseed_sync_t *sync = data;

    for (tseed_sync_root_t *root = sync->roots; root; root = root->next) {
        sync_root(sync->roots, root);
    }
    tseed_mailbox_put(sync->mailbox, &sync->letter);
    return NULL;
}

/* ---- runs ---- */

/* Notes what the sync that begins now will make safe. */
static void copy_run(tseed_run_t *run)
{
    run->is_copied = run->dirty;
    if (run->dirty) {
        run->copied = run->progress;
    }
    run->dirty = 0;
    run->is_end_copied = tseed_durable_is_at_end(run);
}

static void settle_run(tseed_syncer_t *syncer, tseed_run_t *run, const tseed_sync_root_t *root)
{
    if (root->has_lost && run->task->type != TSEED_TRUNCATE &&
        (run->dirty || run->is_copied || run->is_end_copied)) {
        tseed_run_doubt(run);
        tseed_display_run(syncer->uses.display, run);
    }
    if (root->rv != APR_SUCCESS) {
        run->dirty |= run->is_copied;
    } else {
        if (run->is_copied) {
            run->synced = run->copied;
            run->is_to_save = 1;
        }
        run->may_end |= run->is_end_copied;
        syncer->uses.session->must_record |= run->is_end_copied;
    }
    run->is_copied = run->is_end_copied = 0;
}

/* ---- one sync ---- */

static int is_of(const tseed_syncer_t *syncer, const tseed_run_t *run, const tseed_sync_t *sync)
{
    const tseed_sync_root_t *root = tseed_durable_root(syncer->uses.durable, run->booked);

    return root && root->sync == sync;
}

static void begin_one(tseed_syncer_t *syncer, tseed_sync_t *sync)
{
    for (tseed_run_t *run = syncer->uses.runs->tasks; run; run = run->next_run) {
        if (is_of(syncer, run, sync)) {
            copy_run(run);
        }
    }
    sync->begun++;
    sync->begun_at = tseed_clock_monotonic();
    sync->at_work = 1;
    sync->due = 0;
    if (tseed_thread_begin(sync_all, sync) != APR_SUCCESS) { /* as if it had failed at once */
        for (tseed_sync_root_t *root = sync->roots; root; root = root->next) {
            root->rv = APR_ENOMEM;
        }
        tseed_mailbox_put(syncer->uses.context->mailbox, &sync->letter);
    }
}

/* Tasks of a root that have nothing left to do but to be safe say why they are not. */
static void say(tseed_sync_root_t *root, const char *what)
{
    char path[120];

    root->is_said = 1;
    tseed_text_say(root->trouble, sizeof(root->trouble),
                   "all is made, but the file system of %s %s",
                   tseed_text_fit(path, sizeof(path), root->path), what);
}

static void complain(tseed_sync_root_t *root, apr_status_t rv, const char *what)
{
    root->is_logged = 1;
    tseed_log(TSEED_LOG_ERROR, rv,
              "TS0028: the file system of the store directory %s %s; tasks of its layers are not "
              "done before their tiles are safe",
              root->path, what);
}

static void settle_root(tseed_sync_root_t *root)
{
    if (root->rv != APR_SUCCESS) {
        const char *what = root->device ? "can't be synced" : "can't be reached";

        if (!root->is_logged) {
            complain(root, root->rv, what);
        }
        say(root, what);
        return;
    }
    root->done = root->sync->begun;
    if (root->is_logged) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0073: the file system of the store directory %s is synced again", root->path);
    }
    root->is_said = root->is_logged = 0;
}

/* What runs have written to roots where the file system has lost data may be among it. */
static void doubt(tseed_syncer_t *syncer, tseed_run_t *runs, const tseed_sync_t *sync)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        if (is_of(syncer, run, sync) &&
            tseed_durable_root(syncer->uses.durable, run->booked)->has_lost) {
            tseed_holds_doubt(syncer->uses.holds, run->booked);
        }
    }
}

static void take(void *module, void *about)
{
    tseed_syncer_t *syncer = module;
    tseed_sync_t *sync = about;

    sync->at_work = sync->is_slow = 0;
    doubt(syncer, syncer->uses.runs->tasks, sync);
    doubt(syncer, syncer->uses.runs->background, sync);
    for (tseed_run_t *run = syncer->uses.runs->tasks; run; run = run->next_run) {
        if (is_of(syncer, run, sync)) {
            settle_run(syncer, run, tseed_durable_root(syncer->uses.durable, run->booked));
        }
    }
    for (tseed_sync_root_t *root = sync->roots; root; root = root->next) {
        if (root->rv != APR_SUCCESS) {
            sync->not_before = tseed_clock_monotonic() + RETRY;
            sync->due = 1;
        }
        settle_root(root);
    }
}

/* Whether a task waits for this sync alone to end. A root that has failed is tried again after a
 * while only. */
static int is_awaited(const tseed_syncer_t *syncer, const tseed_sync_t *sync)
{
    for (const tseed_run_t *run = syncer->uses.runs->tasks; run; run = run->next_run) {
        if (tseed_durable_is_at_end(run) && !tseed_durable_may_end(syncer->uses.durable, run) &&
            is_of(syncer, run, sync) &&
            tseed_durable_root(syncer->uses.durable, run->booked)->rv == APR_SUCCESS) {
            return 1;
        }
    }
    return 0;
}

static void feed(void *module)
{
    tseed_syncer_t *syncer = module;

    for (tseed_sync_t *sync = tseed_durable_first(syncer->uses.durable); sync; sync = sync->next) {
        if (!sync->at_work && ((sync->due && tseed_clock_monotonic() >= sync->not_before) ||
                               is_awaited(syncer, sync))) {
            begin_one(syncer, sync);
        }
    }
}

/* One line of the log for all roots. */
static void say_slow(tseed_sync_t *sync)
{
    static const char what[] = "has been writing for more than 10 s";

    sync->is_slow = 1;
    complain(sync->roots, APR_SUCCESS, what);
    for (tseed_sync_root_t *root = sync->roots; root; root = root->next) {
        say(root, what);
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_syncer_t *syncer = module;

    for (const tseed_run_t *run = syncer->uses.runs->tasks; run; run = run->next_run) {
        const tseed_sync_root_t *root =
            run->dirty ? tseed_durable_root(syncer->uses.durable, run->booked) : NULL;

        if (root) {
            root->sync->due = 1;
        }
    }
    for (tseed_sync_t *sync = tseed_durable_first(syncer->uses.durable); sync; sync = sync->next) {
        if (sync->at_work && !sync->is_slow && now - sync->begun_at > SLOW) {
            say_slow(sync);
        }
    }
}

/* ---- the file systems ---- */

/* The device of a directory, or of the nearest directory above it that exists. */
static dev_t device_of(const char *root, apr_pool_t *pool)
{
    char *path = apr_pstrdup(pool, root), *slash;
    struct stat st = {0};

    while (stat(path, &st) != 0 && (slash = strrchr(path, '/')) != NULL && slash > path) {
        *slash = '\0';
    }
    return st.st_dev;
}

static tseed_sync_t *file_system_get(tseed_syncer_t *syncer, dev_t device)
{
    tseed_sync_t *sync = tseed_durable_first(syncer->uses.durable);

    while (sync && sync->device != device) {
        sync = sync->next;
    }
    if (!sync) {
        sync = tseed_memory_get(sizeof(*sync));
        sync->device = device;
        sync->mailbox = syncer->uses.context->mailbox;
        sync->letter = (tseed_letter_t){.take = take, .module = syncer, .about = sync};
        tseed_durable_enter(syncer->uses.durable, sync);
    }
    return sync;
}

void tseed_syncer_begin(tseed_syncer_t *syncer)
{
    const char *path;

    for (unsigned i = 0; syncer->uses.context->settings->sync &&
                         (path = tseed_cleaner_root(syncer->uses.cache->cleaner, i)) != NULL;
         i++) {
        tseed_sync_t *sync =
            file_system_get(syncer, device_of(path, syncer->uses.context->scratch));
        tseed_sync_root_t *root = tseed_memory_get(sizeof(*root));

        root->path = tseed_memory_copy(path);
        root->sync = sync;
        root->next = sync->roots;
        sync->roots = root;
    }
}

/* ---- the end ---- */

void tseed_syncer_begin_last(tseed_syncer_t *syncer)
{
    for (tseed_sync_t *sync = tseed_durable_first(syncer->uses.durable); sync; sync = sync->next) {
        if (!sync->at_work) {
            begin_one(syncer, sync);
            sync->is_last = 1;
        }
    }
}

int tseed_syncer_is_at_work(const tseed_syncer_t *syncer)
{
    int at_work = 0;

    for (const tseed_sync_t *sync = tseed_durable_first(syncer->uses.durable); sync;
         sync = sync->next) {
        at_work |= sync->at_work;
    }
    return at_work;
}

/* ---- the module ---- */

tseed_syncer_t *tseed_syncer_create(const tseed_syncer_uses_t *uses)
{
    tseed_syncer_t *syncer = apr_pcalloc(uses->context->pool, sizeof(*syncer));

    syncer->uses = *uses;
    syncer->client = (tseed_client_t){.module = syncer, .feed = feed, .tick = tick};
    return syncer;
}

tseed_client_t *tseed_syncer_client(tseed_syncer_t *syncer)
{
    return &syncer->client;
}
