/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The workers: threads, and which work is done at each stage.
 *
 * A file system that does not answer holds every thread that asks it. So a store root in which no
 * job is at work may always begin one, if need be in a spare thread. And when no job of a root has
 * come back for a while, the root begins no other one, and its jobs do not count: as many threads
 * as ever are there for the other roots. The log says when that begins and ends.
 *
 * A REMOVE has a thread of its own, a remover, while it lasts: what is to go must not wait until
 * pictures are cut, nor for a store that does not answer. Whoever begins removals bounds their
 * number: the task queue those of truncates, the eviction those for the disk quota. A removal of a
 * page is short: it shows as any other job that its root hangs. */
#include "work/tseed_workers.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "image/tseed_cutter.h"
#include "work/tseed_job_cut.h"
#include "work/tseed_job_derive.h"
#include "work/tseed_job_remove.h"
#include "work/tseed_job_store.h"

#define SIGNAL_STACK 65536
#define SPARES       32 /* threads beyond the workers, at most */
#define HUNG         (10 * APR_USEC_PER_SEC)

/* The jobs of one store root. malloc'd, kept. */
typedef struct tseed_workers_root_t {
    const char *path; /* the configuration's; "": of jobs that need no store */
    unsigned busy;    /* threads at work */
    unsigned removes; /* removers at work in pages */
    apr_time_t moved; /* monotonic: when the first of all these began, or the last came back */
    int is_hung;
    apr_time_t said; /* monotonic: since when it has hung, as the log says; 0: it does not. The main
                      * thread's */
    struct tseed_workers_root_t *next;
} root_t;

/* Belongs to its thread. malloc'd, kept. */
typedef struct {
    unsigned number; /* of its job: the lowest that no other job at work has. So a job that comes
                      * once more finds the temporary file that it has left */
    tseed_workers_t *workers;
    apr_pool_t *scratch; /* own allocator, cleared after each job */
    tseed_cutter_t *cutter;
} worker_t;

/* Belongs to one thread at a time, and is used again. Its number follows those of all workers.
 * malloc'd, kept. */
typedef struct remover_t {
    unsigned number;
    tseed_workers_t *workers;
    tseed_job_t *job;
    void *signal_stack;
    struct remover_t *next;
} remover_t;

/* malloc'd, kept: its threads are not joined. */
struct tseed_workers_t {
    tseed_mailbox_t *mailbox;
    tseed_board_t *board;
    unsigned size, most;   /* workers; and with the spare ones */
    _Atomic int64_t block; /* disk blocks */
    unsigned removers;     /* so far; the main thread's */
    pthread_mutex_t lock;  /* guards what follows: lock 2 of the internals README */
    pthread_cond_t may_begin;
    tseed_queue_t waiting;
    root_t *roots;
    unsigned char is_used[TSEED_STORE_IDS]; /* by number: whether a worker has it */
    unsigned threads;
    unsigned idle; /* of them, waiting for a job */
    unsigned at_work;
    unsigned hung; /* of those at work, of hung roots */
    remover_t *idle_removers;
};

/* ---- the queue ---- */

static root_t *root_find(tseed_workers_t *workers, const char *path)
{
    root_t *root = workers->roots;

    while (root && strcmp(root->path, path) != 0) {
        root = root->next;
    }
    return root;
}

static root_t *root_get(tseed_workers_t *workers, const char *path)
{
    root_t *root = root_find(workers, path), *made;

    if (root) {
        return root;
    }
    made = tseed_memory_get(sizeof(*made));
    *made = (root_t){.path = path};
    pthread_mutex_lock(&workers->lock);
    made->next = workers->roots;
    workers->roots = made;
    pthread_mutex_unlock(&workers->lock);
    return made;
}

static int may_begin(const tseed_workers_t *workers, const root_t *root)
{
    return root->busy == 0 || (!root->is_hung && workers->at_work - workers->hung < workers->size);
}

/* Finds the first job that may begin, and the job before it in the queue. */
static tseed_job_t *find_locked(tseed_job_t **before, const tseed_workers_t *workers)
{
    tseed_job_t *job = workers->waiting.head;

    *before = NULL;
    while (job && !may_begin(workers, job->result.root)) {
        *before = job;
        job = job->next;
    }
    return job;
}

/* If a job may begin, wakes a thread for it. Returns whether a thread is to be begun for it, which
 * is counted already. A thread that is neither idle nor at work is about to take a job. */
static int wake_locked(tseed_workers_t *workers)
{
    tseed_job_t *before;

    if (!find_locked(&before, workers)) {
        return 0;
    }
    if (workers->idle > 0) {
        pthread_cond_signal(&workers->may_begin);
        return 0;
    }
    if (workers->threads > workers->at_work || workers->threads >= workers->most) {
        return 0;
    }
    workers->threads++;
    return 1;
}

static void begin_locked(root_t *root)
{
    if (root->busy + root->removes == 0) {
        root->moved = tseed_clock_monotonic();
    }
}

static tseed_job_t *take_locked(tseed_workers_t *workers)
{
    tseed_queue_t *waiting = &workers->waiting;
    tseed_job_t *before, *job = find_locked(&before, workers);

    if (job) {
        *(before ? &before->next : &waiting->head) = job->next;
        waiting->tail = waiting->tail == job ? before : waiting->tail;
        waiting->count--;
        workers->at_work++;
        workers->hung += job->result.root->is_hung != 0;
        begin_locked(job->result.root);
        job->result.root->busy++;
    }
    return job;
}

static void spare_begin(tseed_workers_t *workers, int is_wanted);

/* Waits for a job. */
static tseed_job_t *job_take(worker_t *worker)
{
    tseed_workers_t *workers = worker->workers;
    tseed_job_t *job;
    int spare;

    pthread_mutex_lock(&workers->lock);
    while ((job = take_locked(workers)) == NULL) {
        workers->idle++;
        pthread_cond_wait(&workers->may_begin, &workers->lock);
        workers->idle--;
    }
    worker->number = 0;
    while (workers->is_used[worker->number]) {
        worker->number++;
    }
    workers->is_used[worker->number] = 1;
    spare = wake_locked(workers);
    pthread_mutex_unlock(&workers->lock);
    spare_begin(workers, spare);
    return job;
}

static void answer_locked(tseed_workers_t *workers, root_t *root)
{
    workers->hung -= root->is_hung ? root->busy : 0;
    root->is_hung = 0;
    root->moved = tseed_clock_monotonic();
}

/* The job of a root is over; the root answers. */
static void job_end(const worker_t *worker, root_t *root)
{
    tseed_workers_t *workers = worker->workers;

    pthread_mutex_lock(&workers->lock);
    workers->is_used[worker->number] = 0;
    answer_locked(workers, root);
    root->busy--;
    workers->at_work--;
    pthread_mutex_unlock(&workers->lock);
}

/* Says that a root has begun to hang, or that it answers again. */
static void say(tseed_workers_t *workers, root_t *root, apr_time_t now)
{
    apr_time_t since;

    pthread_mutex_lock(&workers->lock);
    since = root->is_hung ? root->moved : 0;
    pthread_mutex_unlock(&workers->lock);
    if (since && !root->said) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                  "TS0103: the store %s has not answered for %.0f s: what needs it waits, and goes "
                  "on by itself; look whether its disk, or the server that it is mounted from, is "
                  "there",
                  root->path, (double)(now - since) / APR_USEC_PER_SEC);
    } else if (!since && root->said) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0104: the store %s answers again after %.0f s",
                  root->path, (double)(now - root->said) / APR_USEC_PER_SEC);
    }
    root->said = since;
}

void tseed_workers_tick(tseed_workers_t *workers, apr_time_t now)
{
    int spare;

    pthread_mutex_lock(&workers->lock);
    for (root_t *root = workers->roots; root; root = root->next) {
        if (!root->is_hung && root->busy + root->removes > 0 && now - root->moved > HUNG) {
            root->is_hung = 1;
            workers->hung += root->busy;
        }
    }
    spare = wake_locked(workers);
    pthread_mutex_unlock(&workers->lock);
    spare_begin(workers, spare);
    for (root_t *root = workers->roots; root; root = root->next) {
        say(workers, root, now);
    }
}

int tseed_workers_is_hung(tseed_workers_t *workers, const tseed_run_t *run)
{
    const root_t *root = root_find(workers, run->tileset.layer->store.root);
    int is_hung;

    pthread_mutex_lock(&workers->lock);
    is_hung = root && root->is_hung;
    pthread_mutex_unlock(&workers->lock);
    return is_hung;
}

/* ---- work ---- */

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
    apr_status_t rv = job->request.is_unstored ? APR_SUCCESS : store_get(&store, worker, job->run);

    if (tseed_job_is_stopped(job->run)) {
        job->result.outcome = TSEED_JOB_STOPPED;
    } else if (job->request.is_unstored) {
        tseed_job_pass(worker->cutter, job, worker->scratch);
    } else if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, NULL, rv);
    } else if (job->request.stage == TSEED_STAGE_CHECK) {
        tseed_job_check(store, job);
    } else if (job->request.stage == TSEED_STAGE_DERIVE) {
        tseed_job_derive(worker->cutter, store, job, worker->scratch);
    } else if (job->request.stage == TSEED_STAGE_CUT) {
        tseed_job_cut(worker->cutter, store, job, worker->scratch);
    } else if (job->request.stage == TSEED_STAGE_SWEEP) {
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

static void *work_thread(void *data)
{
    worker_t *worker = data;
    tseed_workers_t *workers = worker->workers;

    use_signal_stack(tseed_memory_get(SIGNAL_STACK));
    for (;;) {
        tseed_job_t *job = job_take(worker);

        for (tseed_job_t *one = job; one; one = one->savings.joined) {
            tseed_board_worker_begin(workers->board, worker->number, one->run->task->id,
                                     one->position);
            work(worker, one);
            tseed_board_worker_end(workers->board, worker->number);
        }
        apr_pool_clear(worker->scratch);
        job_end(worker, job->result.root);
        tseed_mailbox_put(workers->mailbox, &job->letter);
    }
    return NULL;
}

static apr_status_t worker_begin(tseed_workers_t *workers)
{
    worker_t *worker = tseed_memory_get(sizeof(*worker));
    apr_status_t rv;

    *worker = (worker_t){.workers = workers, .scratch = tseed_memory_pool()};
    rv = tseed_cutter_create(&worker->cutter);
    if (rv == APR_SUCCESS) {
        rv = tseed_thread_begin(work_thread, worker);
    }
    if (rv != APR_SUCCESS) {
        tseed_cutter_destroy(worker->cutter);
        apr_pool_destroy(worker->scratch);
        free(worker);
    }
    return rv;
}

/* If no thread can be had, the tick tries it again. */
static void spare_begin(tseed_workers_t *workers, int is_wanted)
{
    if (is_wanted && worker_begin(workers) != APR_SUCCESS) {
        pthread_mutex_lock(&workers->lock);
        workers->threads--;
        pthread_mutex_unlock(&workers->lock);
    }
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
        remover->number = workers->most + workers->removers++;
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
        job->result.outcome = TSEED_JOB_STOPPED;
    } else if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, NULL, rv);
    } else {
        tseed_store_block_set(store, atomic_load(&remover->workers->block));
        tseed_job_remove(remover->workers->board, store, job);
    }
    apr_pool_destroy(pool);
}

/* Counts the removal of a page in its root: +1 when it begins, -1 when it is over. A truncate
 * removes a whole level, which may take long in a store that is well. */
static void count_remove(tseed_workers_t *workers, tseed_job_t *job, int change)
{
    if (!job->run->is_background) {
        return;
    }
    if (change > 0) {
        job->result.root = root_get(workers, job->run->tileset.layer->store.root);
    }
    pthread_mutex_lock(&workers->lock);
    if (change > 0) {
        begin_locked(job->result.root);
        job->result.root->removes++;
    } else {
        answer_locked(workers, job->result.root);
        job->result.root->removes--;
    }
    pthread_mutex_unlock(&workers->lock);
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
    count_remove(workers, job, -1);
    tseed_mailbox_put(workers->mailbox, &job->letter);
    return NULL;
}

static apr_status_t remover_begin(tseed_workers_t *workers, tseed_job_t *job)
{
    remover_t *remover = remover_take(workers);
    apr_status_t rv;

    remover->job = job;
    count_remove(workers, job, 1);
    rv = tseed_thread_begin(remove_thread, remover);
    if (rv != APR_SUCCESS) {
        count_remove(workers, job, -1);
        remover_return(remover);
    }
    return rv;
}

/* ---- all of them ---- */

apr_status_t tseed_workers_create(tseed_workers_t **workers, unsigned count,
                                  tseed_mailbox_t *mailbox, tseed_board_t *board)
{
    tseed_workers_t *made = tseed_memory_get(sizeof(*made));
    apr_status_t rv = APR_SUCCESS;

    *made = (tseed_workers_t){.mailbox = mailbox, .board = board, .size = count, .block = 1};
    made->most = count + SPARES < TSEED_STORE_IDS ? count + SPARES : TSEED_STORE_IDS - 1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->may_begin, NULL);
    made->threads = count;
    for (unsigned i = 0; i < count && rv == APR_SUCCESS; i++) {
        rv = worker_begin(made);
    }
    *workers = made;
    return rv;
}

void tseed_workers_block_set(tseed_workers_t *workers, int64_t block)
{
    atomic_store(&workers->block, block);
}

/* Without a thread for a removal the job comes back at once, as from a store that can't be used. */
static void remove_or_return(tseed_workers_t *workers, tseed_job_t *job)
{
    if (remover_begin(workers, job) != APR_SUCCESS) {
        job->result.outcome = TSEED_JOB_NO_STORE;
        job->result.rv = APR_ENOMEM;
        tseed_mailbox_put(workers->mailbox, &job->letter);
    }
}

void tseed_workers_push(tseed_workers_t *workers, tseed_job_t *job)
{
    int spare;

    job->result.is_open = 0;
    for (tseed_job_t *one = job; one; one = one->savings.joined) {
        one->result.outcome = TSEED_JOB_OK;
        one->result.refused = NULL;
        one->result.made = one->result.skipped = 0;
    }
    if (job->request.stage == TSEED_STAGE_REMOVE) {
        remove_or_return(workers, job);
        return;
    }
    job->result.root =
        root_get(workers, job->request.is_unstored ? "" : job->run->tileset.layer->store.root);
    pthread_mutex_lock(&workers->lock);
    tseed_queue_put(&workers->waiting, job);
    spare = wake_locked(workers);
    pthread_mutex_unlock(&workers->lock);
    spare_begin(workers, spare);
}

void tseed_workers_forget(tseed_workers_t *workers, tseed_run_t *run)
{
    for (unsigned i = 0; i < workers->most; i++) {
        tseed_view_t *view = &run->views[i];

        if (view->store) {
            tseed_store_close(view->store);
            apr_pool_destroy(view->pool);
            view->store = NULL;
        }
    }
}
