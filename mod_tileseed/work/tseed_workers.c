/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The workers: what workers do with a job. */
#include "work/tseed_workers.h"

#include <apr_strings.h>
#include <apr_thread_pool.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/tseed_digest.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "board/tseed_traces.h"
#include "image/tseed_blank.h"
#include "image/tseed_cutter.h"
#include "tiling/tseed_margin.h"

#define SIGNAL_STACK 65536

/* Belongs to one thread at a time: the one that took it out of `idle`. */
typedef struct worker_t {
    unsigned number;
    tseed_workers_t *workers;
    apr_pool_t *scratch; /* own allocator, cleared after each job */
    tseed_cutter_t *cutter;
    struct worker_t *next;
} worker_t;

struct tseed_workers_t {
    apr_thread_pool_t *threads;
    tseed_mailbox_t *mailbox;
    tseed_board_t *board;
    unsigned size;
    _Atomic int64_t block; /* disk blocks */
    pthread_mutex_t lock;  /* guards `idle`: lock 2 of the internals README */
    worker_t *idle;        /* workers without a job; as many as threads, so never empty for a job */
};

static worker_t *worker_take(tseed_workers_t *workers)
{
    worker_t *worker;

    pthread_mutex_lock(&workers->lock);
    worker = workers->idle;
    workers->idle = worker->next;
    pthread_mutex_unlock(&workers->lock);
    return worker;
}

static void worker_return(worker_t *worker)
{
    pthread_mutex_lock(&worker->workers->lock);
    worker->next = worker->workers->idle;
    worker->workers->idle = worker;
    pthread_mutex_unlock(&worker->workers->lock);
}

static int must_stop(void *run)
{
    return atomic_load(&((tseed_run_t *)run)->stopped);
}

/* This worker's view of the run's store, opened at its first job of the run. */
static apr_status_t store_get(tseed_store_t **store, worker_t *worker, tseed_run_t *run)
{
    tseed_view_t *view = &run->views[worker->number];
    apr_status_t rv = APR_SUCCESS;

    if (!view->store) {
        view->pool = tseed_memory_pool();
        rv = tseed_store_open(&view->store, &run->tileset, worker->number, view->pool);
        if (rv != APR_SUCCESS) {
            apr_pool_destroy(view->pool);
            view->store = NULL;
        }
    }
    *store = view->store;
    if (rv == APR_SUCCESS) {
        tseed_store_block_set(view->store, atomic_load(&worker->workers->block));
    }
    return rv;
}

/* `store` is NULL when there is no view. */
static void no_store(tseed_job_t *job, tseed_store_t *store, apr_status_t rv)
{
    if (rv == ELOOP && store) {
        tseed_text_say(job->cause, sizeof(job->cause),
                       "%s/%s is a symbolic link, and none is followed below a store's directory",
                       job->run->tileset.layer->store.root, tseed_store_link_met(store));
    }
    job->outcome = must_stop(job->run) ? TSEED_JOB_STOPPED
                   : job->refused      ? TSEED_JOB_NO_ROOM
                                       : TSEED_JOB_NO_STORE;
    job->rv = rv;
}

static void bad_answer(tseed_job_t *job, const char *cause)
{
    job->outcome = TSEED_JOB_BAD_ANSWER;
    tseed_text_fit(job->cause, sizeof(job->cause), cause);
}

static void check(tseed_store_t *store, tseed_job_t *job)
{
    apr_status_t rv = tseed_store_present(store, &job->metatile.wanted, job->present,
                                          TSEED_METATILE_TILES_MAX / 64);
    if (rv != APR_SUCCESS) {
        no_store(job, store, rv);
    }
}

/* ---- charged before it is written ---- */

/* Reserves what a new file may cost at most. APR_EDQUOT: an account refuses. */
static apr_status_t charge(tseed_job_t *job, int64_t allocated)
{
    job->needed = allocated;
    job->refused = tseed_account_charge(&job->run->booked->chain, (tseed_amount_t){allocated, 1});
    return job->refused ? APR_FROM_OS_ERROR(EDQUOT) : APR_SUCCESS;
}

static int64_t at_least_0(int64_t number)
{
    return number > 0 ? number : 0;
}

/* Gives back what of it was not needed. What became free is given back when it is booked: until
 * then the books have it still, and would be beyond the limit if others had it as well. */
static void settle(tseed_job_t *job, int64_t allocated, int files, const tseed_effect_t *effect)
{
    const tseed_amount_t spare = {allocated - at_least_0(effect->allocated),
                                  files - at_least_0(effect->files)};

    tseed_account_release(&job->run->booked->chain, spare);
    job->freed.bytes += at_least_0(-effect->allocated);
    job->freed.files += at_least_0(-effect->files);
}

static void note(tseed_job_t *job, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    tseed_page_t page = tseed_page_of(tile);

    tseed_tally_add(&job->tally, &page, effect);
}

static apr_status_t put_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                             const tseed_encoded_t *encoded)
{
    const tseed_stop_t stop = {must_stop, job->run};
    int64_t allocated = tseed_store_allocation(store, encoded->length);
    tseed_effect_t effect;
    apr_status_t rv = charge(job, allocated);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = tseed_store_put(&effect, store, tile, encoded->data, encoded->length, &stop);
    settle(job, allocated, 1, &effect);
    if (rv == APR_SUCCESS) {
        note(job, tile, &effect);
        job->bytes += (int64_t)encoded->length;
    }
    return rv;
}

static apr_status_t share(tseed_store_t *store, tseed_job_t *job, const tseed_encoded_t *encoded)
{
    int64_t allocated = tseed_store_allocation(store, encoded->length);
    tseed_effect_t effect;
    apr_status_t rv = charge(job, allocated);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = tseed_store_share(&effect, store, encoded->data, encoded->length);
    settle(job, allocated, 1, &effect);
    tseed_effect_add(&job->shared, &effect);
    job->bytes += effect.bytes;
    return rv;
}

/* APR_ENOTIMPL: the tile needs a file of its own. */
static apr_status_t link_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                              const tseed_encoded_t *encoded)
{
    const tseed_stop_t stop = {must_stop, job->run};
    tseed_effect_t effect;
    apr_status_t rv = tseed_store_link(&effect, store, tile, encoded->data, encoded->length, &stop);

    if (rv == APR_NOTFOUND) {
        rv = share(store, job, encoded);
        if (rv == APR_SUCCESS) {
            rv = tseed_store_link(&effect, store, tile, encoded->data, encoded->length, &stop);
        }
    }
    if (rv == APR_SUCCESS) {
        settle(job, 0, 0, &effect);
        note(job, tile, &effect);
    }
    return rv == APR_NOTFOUND ? APR_ENOTIMPL : rv;
}

static apr_status_t store_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                               const tseed_encoded_t *encoded)
{
    apr_status_t rv = APR_ENOTIMPL;

    if (job->run->tileset.layer->store.link_uniform && encoded->uniform) {
        rv = link_tile(store, job, tile, encoded);
    }
    return rv == APR_ENOTIMPL ? put_tile(store, job, tile, encoded) : rv;
}

/* Where the tile lies in the answer, whose first row is the metatile's uppermost. */
static tseed_region_t region_of(const tseed_job_t *job, const tseed_tile_t *tile)
{
    const tseed_gridset_t *gridset = job->run->tileset.subset->gridset;
    const tseed_range_t *whole = &job->metatile.whole;
    const tseed_margin_t margin = tseed_margin_of(gridset, whole, job->run->task->gutter,
                                                  !job->run->tileset.layer->gutter_beyond);

    return (tseed_region_t){
        .x = margin.left + (int)(tile->x - whole->minx) * gridset->tile_width,
        .y = margin.top + (int)(whole->maxy - tile->y) * gridset->tile_height,
        .width = gridset->tile_width,
        .height = gridset->tile_height,
    };
}

/* Cuts and stores one wanted tile. Returns 0 when the metatile can't go on; the outcome is set. */
static int cut_tile(worker_t *worker, tseed_store_t *store, tseed_job_t *job,
                    const tseed_tile_t *tile)
{
    tseed_region_t region = region_of(job, tile);
    tseed_encoded_t encoded;
    apr_status_t rv;
    const char *error = tseed_cutter_cut(worker->cutter, &encoded, &region, worker->scratch);

    if (error) {
        bad_answer(job, error);
        return 0;
    }
    rv = store_tile(store, job, tile, &encoded);
    if (rv != APR_SUCCESS) {
        no_store(job, store, rv);
        return 0;
    }
    job->made++;
    return 1;
}

static void cut_tiles(worker_t *worker, tseed_store_t *store, tseed_job_t *job)
{
    const tseed_range_t *wanted = &job->metatile.wanted;
    int64_t i = 0; /* counts the tiles as tseed_store_present does */

    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++, i++) {
            tseed_tile_t tile = {wanted->z, x, y};

            if (job->present[i / 64] >> (i % 64) & 1) {
                job->skipped++;
            } else if (job->written[i / 64] >> (i % 64) & 1) {
                job->made++;
            } else if (cut_tile(worker, store, job, &tile)) {
                job->written[i / 64] |= UINT64_C(1) << (i % 64);
            } else {
                return;
            }
        }
    }
}

/* Whether the answer is the one that the tiles came from. A new answer begins anew with what was
 * made of another. */
static int is_known(tseed_job_t *job)
{
    uint64_t digest;

    if (job->transfer.result == TSEED_FETCH_UNCHANGED) {
        return 1;
    }
    digest = tseed_digest(job->transfer.body, job->transfer.length, job->seed);
    digest = digest ? digest : 1;
    if (digest != job->digest) {
        memset(job->written, 0, sizeof(job->written));
        job->bytes = 0;
        job->digest = digest;
    }
    return digest == job->known;
}

/* In a reseed, finds the tiles that stay: those that are there, if they came from this very answer.
 */
static void find_unchanged(tseed_store_t *store, tseed_job_t *job)
{
    memset(job->present, 0, sizeof(job->present));
    if (is_known(job)) {
        check(store, job);
        for (size_t i = 0; i < sizeof(job->present) / sizeof(job->present[0]); i++) {
            job->present[i] &= ~job->written[i];
        }
    }
}

/* An answer without a body stands for a tile that the upstream does not have. */
static const char *open_answer(worker_t *worker, const tseed_job_t *job)
{
    tseed_answer_t answer = {job->transfer.body, job->transfer.length, job->width, job->height};
    const char *error = answer.length == 0 ? tseed_blank_picture(&answer, worker->scratch) : NULL;

    return error ? error
                 : tseed_cutter_open(worker->cutter, &answer, job->run->tileset.format,
                                     worker->scratch);
}

static void cut(worker_t *worker, tseed_store_t *store, tseed_job_t *job)
{
    const char *error = open_answer(worker, job);
    const char *words = error ? tseed_transfer_words(&job->transfer, worker->scratch) : "";

    if (error) {
        bad_answer(job, *words ? apr_psprintf(worker->scratch, "%s: %s", error, words) : error);
    } else {
        cut_tiles(worker, store, job);
    }
}

/* Makes what is missing or has changed. */
static void renew(worker_t *worker, tseed_store_t *store, tseed_job_t *job)
{
    const int64_t tiles = tseed_range_count(&job->metatile.wanted);

    if (tseed_run_leaves_unchanged(job->run)) {
        find_unchanged(store, job);
    } else {
        is_known(job);
    }
    if (job->outcome != TSEED_JOB_OK) {
        return;
    }
    if (tseed_job_present(job) == tiles) {
        job->skipped = tiles;
    } else if (job->transfer.result == TSEED_FETCH_UNCHANGED) {
        job->outcome = TSEED_JOB_NO_BODY;
    } else {
        cut(worker, store, job);
    }
}

/* The encoded tile in a file without a name, or -1. */
static int keep(const tseed_encoded_t *encoded)
{
    int file = memfd_create("tile", MFD_CLOEXEC);

    if (file >= 0 && write(file, encoded->data, encoded->length) != (ssize_t)encoded->length) {
        close(file);
        file = -1;
    }
    return file;
}

/* What can't be stored is kept for those who wait for it. */
static void pass(worker_t *worker, tseed_job_t *job)
{
    tseed_passage_t *passage = job->passage;

    for (int i = 0; i < passage->count; i++) {
        tseed_region_t region = region_of(job, &passage->tiles[i]);
        tseed_encoded_t encoded;

        if (!tseed_cutter_cut(worker->cutter, &encoded, &region, worker->scratch)) {
            passage->files[i] = keep(&encoded);
        }
    }
}

/* ---- removed, and credited ---- */

typedef struct {
    tseed_board_t *board;
    tseed_job_t *job;
} removal_t;

static void count_removed(const removal_t *removal)
{
    tseed_trace_count(removal->board, removal->job->trace);
    atomic_fetch_add(&removal->job->run->unlinked, 1);
}

static void remove_next(void *data, const tseed_tile_t *tile)
{
    const removal_t *removal = data;

    tseed_trace_remove(removal->board, removal->job->trace, tile->x, tile->y);
}

static void removed(void *data, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    const removal_t *removal = data;

    count_removed(removal);
    settle(removal->job, 0, 0, effect);
    note(removal->job, tile, effect);
}

/* A seeder that died at this level has removed a tile last that it did not count, or was about to.
 */
static void inherit(tseed_store_t *store, const removal_t *removal)
{
    tseed_range_t tile = {.z = removal->job->metatile.wanted.z};
    tseed_effect_t left;

    removal->job->inherits = 0;
    if (tseed_trace_doubt(removal->board, removal->job->trace, &tile.minx, &tile.miny)) {
        tile.maxx = tile.minx;
        tile.maxy = tile.miny;
        tile = tseed_range_intersect(&tile, &removal->job->metatile.wanted);
        if (tseed_range_count(&tile) == 1 &&
            tseed_store_count(&left, store, &tile, 0) == APR_SUCCESS && left.names == 0) {
            count_removed(removal);
        }
    }
}

/* A tally that is full is booked first. */
static int must_pause(void *data)
{
    const tseed_job_t *job = data;

    return must_stop(job->run) || tseed_tally_is_full(&job->tally);
}

/* APR_ENOTIMPL: to be removed tile by tile. */
static apr_status_t detach(tseed_store_t *store, tseed_job_t *job)
{
    const tseed_stop_t stop = {must_stop, job->run};
    apr_status_t rv;

    if (!job->is_whole) {
        return APR_ENOTIMPL;
    }
    rv = tseed_store_detach(&job->remnant, store, &job->metatile.wanted, &stop);
    if (rv == APR_SUCCESS) {
        job->is_detached = 1;
        atomic_fetch_add(&job->run->unlinked, job->remnant.usage.names);
    }
    return rv;
}

static apr_status_t sweep(tseed_store_t *store, tseed_job_t *job)
{
    tseed_effect_t swept;
    apr_status_t rv = tseed_store_shared_sweep(&swept, store);

    settle(job, 0, 0, &swept);
    tseed_effect_add(&job->shared, &swept);
    return rv;
}

/* The shared files of what was renamed away are swept when it is gone. */
static apr_status_t remove_tiles(tseed_store_t *store, removal_t *removal)
{
    tseed_job_t *job = removal->job;
    const tseed_stop_t stop = {must_pause, job};
    const tseed_witness_t witness = {removed, removal, remove_next};
    apr_status_t rv = tseed_store_remove(store, &job->metatile.wanted, &witness, &stop);

    return rv == APR_SUCCESS ? sweep(store, job) : rv;
}

static void remove_range(const worker_t *worker, tseed_store_t *store, tseed_job_t *job)
{
    removal_t removal = {worker->workers->board, job};
    apr_status_t rv;

    if (job->inherits) {
        inherit(store, &removal);
    }
    rv = detach(store, job);
    if (rv == APR_ENOTIMPL) {
        rv = remove_tiles(store, &removal);
    }
    if (APR_STATUS_IS_EINTR(rv) && !must_stop(job->run)) {
        job->outcome = TSEED_JOB_MORE;
    } else if (rv != APR_SUCCESS) {
        no_store(job, store, rv);
    }
}

/* ---- counted ---- */

static void count(tseed_store_t *store, tseed_job_t *job)
{
    apr_status_t rv =
        job->stage == TSEED_STAGE_COUNT_SHARED
            ? tseed_store_shared_count(&job->counted, store)
            : tseed_store_count(&job->counted, store, &job->metatile.wanted, job->is_recount);

    if (rv != APR_SUCCESS) {
        no_store(job, store, rv);
    }
}

/* Nothing is stored, whatever the store is like. */
static void pass_all(worker_t *worker, tseed_job_t *job)
{
    const tseed_answer_t answer = {job->transfer.body, job->transfer.length, job->width,
                                   job->height};
    const char *error =
        tseed_cutter_open(worker->cutter, &answer, job->run->tileset.format, worker->scratch);

    if (error) {
        bad_answer(job, error);
    } else {
        pass(worker, job);
        job->outcome = TSEED_JOB_NO_STORE;
    }
}

static void work(worker_t *worker, tseed_job_t *job)
{
    tseed_store_t *store = NULL;
    apr_status_t rv = job->is_passing ? APR_SUCCESS : store_get(&store, worker, job->run);

    if (must_stop(job->run)) {
        job->outcome = TSEED_JOB_STOPPED;
    } else if (job->is_passing) {
        pass_all(worker, job);
    } else if (rv != APR_SUCCESS) {
        no_store(job, NULL, rv);
    } else if (job->stage == TSEED_STAGE_CHECK) {
        check(store, job);
    } else if (job->stage == TSEED_STAGE_CUT) {
        renew(worker, store, job);
        if (job->passage &&
            (job->outcome == TSEED_JOB_NO_STORE || job->outcome == TSEED_JOB_NO_ROOM)) {
            pass(worker, job);
        }
    } else if (job->stage == TSEED_STAGE_REMOVE) {
        remove_range(worker, store, job);
    } else if (job->stage == TSEED_STAGE_SWEEP) {
        rv = sweep(store, job);
        if (rv != APR_SUCCESS) {
            no_store(job, store, rv);
        }
    } else {
        count(store, job);
    }
}

/* What handles a crash signal needs a stack when this thread has used up its own. The thread keeps
 * it as long as the process lives. */
static void keep_signal_stack(void)
{
    stack_t stack;

    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_DISABLE) {
        stack = (stack_t){.ss_sp = tseed_memory_get(SIGNAL_STACK), .ss_size = SIGNAL_STACK};
        sigaltstack(&stack, NULL);
    }
}

static void *APR_THREAD_FUNC work_thread(apr_thread_t *thread, void *data)
{
    tseed_job_t *job = data;
    tseed_workers_t *workers = NULL;
    worker_t *worker;
    void *owner = NULL;

    apr_thread_pool_task_owner_get(thread, &owner);
    workers = owner;
    worker = worker_take(workers);
    keep_signal_stack();
    tseed_board_worker_begin(workers->board, worker->number, job->run->task->id, job->position);
    work(worker, job);
    tseed_board_worker_end(workers->board, worker->number);
    apr_pool_clear(worker->scratch);
    worker_return(worker);
    tseed_mailbox_put(workers->mailbox, &job->letter);
    return NULL;
}

static apr_status_t worker_create(tseed_workers_t *workers, unsigned number, apr_pool_t *pool)
{
    worker_t *worker = apr_pcalloc(pool, sizeof(*worker));

    worker->number = number;
    worker->workers = workers;
    worker->scratch = tseed_memory_pool();
    worker->next = workers->idle;
    workers->idle = worker;
    return tseed_cutter_create(&worker->cutter);
}

apr_status_t tseed_workers_create(tseed_workers_t **workers, unsigned count,
                                  tseed_mailbox_t *mailbox, tseed_board_t *board, apr_pool_t *pool)
{
    tseed_workers_t *made = apr_pcalloc(pool, sizeof(*made));

    made->mailbox = mailbox;
    made->board = board;
    made->size = count;
    made->block = 1;
    pthread_mutex_init(&made->lock, NULL);
    for (unsigned i = 0; i < count; i++) {
        apr_status_t rv = worker_create(made, i, pool);

        if (rv != APR_SUCCESS) {
            return rv;
        }
    }
    *workers = made;
    /* as many threads from the start as there may ever be: a pool that grows leaves tasks queued */
    return apr_thread_pool_create(&made->threads, count, count, pool);
}

void tseed_workers_block_set(tseed_workers_t *workers, int64_t block)
{
    atomic_store(&workers->block, block);
}

apr_status_t tseed_workers_push(tseed_workers_t *workers, tseed_job_t *job)
{
    apr_byte_t priority = job->stage == TSEED_STAGE_REMOVE ? APR_THREAD_TASK_PRIORITY_HIGH
                                                           : APR_THREAD_TASK_PRIORITY_NORMAL;

    job->outcome = TSEED_JOB_OK;
    job->refused = NULL;
    job->made = job->skipped = 0;
    return apr_thread_pool_push(workers->threads, work_thread, job, priority, workers);
}

void tseed_workers_forget(tseed_workers_t *workers, tseed_run_t *run)
{
    for (unsigned i = 0; i < workers->size; i++) {
        tseed_view_t *view = &run->views[i];

        if (view->store) {
            tseed_store_close(view->store);
            apr_pool_destroy(view->pool);
            view->store = NULL;
        }
    }
}
