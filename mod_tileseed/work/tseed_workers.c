/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The workers: threads, and which work is done at each stage.
 *
 * A REMOVE has a thread of its own, a remover, while it lasts: what is to go must not wait until
 * pictures are cut, nor for a store that does not answer. Whoever begins removals bounds their
 * number: the task queue those of truncates, the eviction those for the disk quota. */
#include "work/tseed_workers.h"

#include <apr_thread_pool.h>
#include <signal.h>

#include "base/tseed_memory.h"
#include "image/tseed_cutter.h"
#include "work/tseed_job_cut.h"
#include "work/tseed_job_derive.h"
#include "work/tseed_job_remove.h"
#include "work/tseed_job_store.h"

#define SIGNAL_STACK 65536

/* Belongs to one thread at a time: the one that took it out of `idle`. */
typedef struct worker_t {
    unsigned number;
    tseed_workers_t *workers;
    apr_pool_t *scratch; /* own allocator, cleared after each job */
    tseed_cutter_t *cutter;
    struct worker_t *next;
} worker_t;

/* Belongs to one thread at a time, likewise, and is used again. Its number follows those of the
 * workers. malloc'd, kept. */
typedef struct remover_t {
    unsigned number;
    tseed_workers_t *workers;
    tseed_job_t *job;
    void *signal_stack;
    struct remover_t *next;
} remover_t;

struct tseed_workers_t {
    apr_thread_pool_t *threads;
    tseed_mailbox_t *mailbox;
    tseed_board_t *board;
    unsigned size;
    _Atomic int64_t block; /* disk blocks */
    unsigned removers;     /* so far; the main thread's */
    pthread_mutex_t lock;  /* guards the lists: lock 2 of the internals README */
    worker_t *idle;        /* workers without a job; as many as threads, so never empty for a job */
    remover_t *idle_removers;
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

static void work(worker_t *worker, tseed_job_t *job)
{
    tseed_store_t *store = NULL;
    apr_status_t rv = job->is_unstored ? APR_SUCCESS : store_get(&store, worker, job->run);

    if (tseed_job_is_stopped(job->run)) {
        job->outcome = TSEED_JOB_STOPPED;
    } else if (job->is_unstored) {
        tseed_job_pass(worker->cutter, job, worker->scratch);
    } else if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, NULL, rv);
    } else if (job->stage == TSEED_STAGE_CHECK) {
        tseed_job_check(store, job);
    } else if (job->stage == TSEED_STAGE_DERIVE) {
        tseed_job_derive(worker->cutter, store, job, worker->scratch);
    } else if (job->stage == TSEED_STAGE_CUT) {
        tseed_job_cut(worker->cutter, store, job, worker->scratch);
    } else if (job->stage == TSEED_STAGE_SWEEP) {
        tseed_job_sweep(store, job);
    } else {
        tseed_job_count(store, job);
    }
}

/* Gives this thread a stack of its own for the handler of crash signals, which needs one when the
 * thread has used up its stack. */
static void use_signal_stack(void *memory)
{
    const stack_t stack = {.ss_sp = memory, .ss_size = SIGNAL_STACK};

    sigaltstack(&stack, NULL);
}

/* The thread keeps the stack as long as the process lives. */
static void keep_signal_stack(void)
{
    stack_t stack;

    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_DISABLE) {
        use_signal_stack(tseed_memory_get(SIGNAL_STACK));
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
    for (tseed_job_t *one = job; one; one = one->joined) {
        tseed_board_worker_begin(workers->board, worker->number, one->run->task->id, one->position);
        work(worker, one);
        tseed_board_worker_end(workers->board, worker->number);
    }
    apr_pool_clear(worker->scratch);
    worker_return(worker);
    tseed_mailbox_put(workers->mailbox, &job->letter);
    return NULL;
}

/* ---- removers ---- */

static remover_t *remover_take(tseed_workers_t *workers)
{
    remover_t *remover;

    pthread_mutex_lock(&workers->lock);
    remover = workers->idle_removers;
    workers->idle_removers = remover ? remover->next : NULL;
    pthread_mutex_unlock(&workers->lock);
    if (!remover) {
        remover = tseed_memory_get(sizeof(*remover));
        remover->number = workers->size + workers->removers++;
        remover->workers = workers;
        remover->signal_stack = tseed_memory_get(SIGNAL_STACK);
    }
    return remover;
}

static void remover_return(remover_t *remover)
{
    pthread_mutex_lock(&remover->workers->lock);
    remover->next = remover->workers->idle_removers;
    remover->workers->idle_removers = remover;
    pthread_mutex_unlock(&remover->workers->lock);
}

/* Its view of the store is its own and ends with the job. It writes no file, so it needs no name of
 * temporary files that nobody else has. */
static void remove_by(const remover_t *remover, tseed_job_t *job)
{
    apr_pool_t *pool = tseed_memory_pool();
    tseed_store_t *store;
    apr_status_t rv = tseed_store_open(&store, &job->run->tileset, TSEED_STORE_IDS - 1, pool);

    if (tseed_job_is_stopped(job->run)) {
        job->outcome = TSEED_JOB_STOPPED;
    } else if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, NULL, rv);
    } else {
        tseed_store_block_set(store, atomic_load(&remover->workers->block));
        tseed_job_remove(remover->workers->board, store, job);
    }
    apr_pool_destroy(pool);
}

static void *remove_thread(void *data)
{
    static const stack_t none = {.ss_flags = SS_DISABLE};
    remover_t *remover = data;
    tseed_workers_t *workers = remover->workers;
    tseed_job_t *job = remover->job;

    use_signal_stack(remover->signal_stack);
    tseed_board_worker_begin(workers->board, remover->number, job->run->task->id, job->position);
    remove_by(remover, job);
    tseed_board_worker_end(workers->board, remover->number);
    sigaltstack(&none, NULL); /* the next thread has it */
    remover_return(remover);
    tseed_mailbox_put(workers->mailbox, &job->letter);
    return NULL;
}

static apr_status_t remover_begin(tseed_workers_t *workers, tseed_job_t *job)
{
    remover_t *remover = remover_take(workers);
    pthread_t thread;
    int failed;

    remover->job = job;
    failed = pthread_create(&thread, NULL, remove_thread, remover);
    if (failed) {
        remover_return(remover);
        return APR_FROM_OS_ERROR(failed);
    }
    pthread_detach(thread);
    return APR_SUCCESS;
}

/* ---- all of them ---- */

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
    job->is_open = 0;
    for (tseed_job_t *one = job; one; one = one->joined) {
        one->outcome = TSEED_JOB_OK;
        one->refused = NULL;
        one->made = one->skipped = 0;
    }
    return job->stage == TSEED_STAGE_REMOVE
               ? remover_begin(workers, job)
               : apr_thread_pool_push(workers->threads, work_thread, job,
                                      APR_THREAD_TASK_PRIORITY_NORMAL, workers);
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
