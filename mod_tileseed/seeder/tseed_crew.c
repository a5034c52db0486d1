/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The crew: what workers do with a job. */
#include "seeder/tseed_crew.h"

#include <apr_strings.h>
#include <apr_thread_pool.h>
#include <string.h>

#include "image/tseed_cutter.h"

/* Belongs to one thread at a time: the one that took it off the bench. */
typedef struct worker_t {
    unsigned number;
    tseed_crew_t *crew;
    apr_pool_t *scratch; /* own allocator, cleared after each job */
    tseed_cutter_t *cutter;
    struct worker_t *next;
} worker_t;

struct tseed_crew_t {
    apr_thread_pool_t *threads;
    tseed_mailbox_t *mailbox;
    tseed_board_t *board;
    unsigned size;
    pthread_mutex_t lock; /* guards `bench`: lock 2 of the internals README */
    worker_t *bench;      /* workers without a job; as many as threads, so never empty for a job */
};

/* A pool that shares nothing with other threads' pools. */
static apr_pool_t *pool_create(void)
{
    apr_allocator_t *allocator;
    apr_pool_t *pool;

    apr_allocator_create(&allocator);
    apr_pool_create_ex(&pool, NULL, NULL, allocator);
    apr_allocator_owner_set(allocator, pool);
    return pool;
}

static worker_t *worker_take(tseed_crew_t *crew)
{
    worker_t *worker;

    pthread_mutex_lock(&crew->lock);
    worker = crew->bench;
    crew->bench = worker->next;
    pthread_mutex_unlock(&crew->lock);
    return worker;
}

static void worker_return(worker_t *worker)
{
    pthread_mutex_lock(&worker->crew->lock);
    worker->next = worker->crew->bench;
    worker->crew->bench = worker;
    pthread_mutex_unlock(&worker->crew->lock);
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
        view->pool = pool_create();
        rv = tseed_store_open(&view->store, &run->tileset, worker->number, view->pool);
        if (rv != APR_SUCCESS) {
            apr_pool_destroy(view->pool);
            view->store = NULL;
        }
    }
    *store = view->store;
    return rv;
}

static void no_store(tseed_job_t *job, apr_status_t rv)
{
    job->outcome = APR_STATUS_IS_EINTR(rv) ? TSEED_JOB_STOPPED : TSEED_JOB_NO_STORE;
    job->rv = rv;
}

static void bad_answer(tseed_job_t *job, const char *cause)
{
    job->outcome = TSEED_JOB_BAD_ANSWER;
    apr_cpystrn(job->cause, cause, sizeof(job->cause));
}

static void check(worker_t *worker, tseed_store_t *store, tseed_job_t *job)
{
    apr_status_t rv;

    (void)worker;
    rv = tseed_store_present(store, &job->metatile.wanted, job->present,
                             TSEED_METATILE_TILES_MAX / 64);
    if (rv != APR_SUCCESS) {
        no_store(job, rv);
    }
}

/* The tile's number among those wanted, as tseed_store_present counts them. */
static int64_t wanted_index(const tseed_job_t *job, int64_t x, int64_t y)
{
    const tseed_range_t *wanted = &job->metatile.wanted;

    return (y - wanted->miny) * (wanted->maxx - wanted->minx + 1) + (x - wanted->minx);
}

/* The uniform tile that was stored last while a metatile is cut: later ones of its colour become
 * links to it. */
typedef struct {
    int known;
    unsigned char rgba[4];
    int64_t x, y;
} uniform_t;

static apr_status_t store_tile(tseed_store_t *store, tseed_job_t *job, uniform_t *last,
                               const tseed_encoded_t *tile, int64_t x, int64_t y)
{
    tseed_run_t *run = job->run;
    int z = job->metatile.wanted.z;
    int may_link = run->tileset.layer->store.link_uniform && tile->uniform;
    apr_status_t rv;

    if (may_link && last->known && memcmp(last->rgba, tile->rgba, sizeof(last->rgba)) == 0) {
        rv = tseed_store_link(store, z, x, y, last->x, last->y, must_stop, run);
        if (rv != APR_ENOTIMPL) {
            return rv;
        }
    }
    rv = tseed_store_put(store, z, x, y, tile->data, tile->length, must_stop, run);
    if (rv == APR_SUCCESS) {
        job->bytes += (int64_t)tile->length;
        if (may_link) {
            *last = (uniform_t){.known = 1, .x = x, .y = y};
            memcpy(last->rgba, tile->rgba, sizeof(last->rgba));
        }
    }
    return rv;
}

/* Cuts and stores one wanted tile. Returns 0 when the metatile can't go on; the outcome is set. */
static int cut_tile(worker_t *worker, tseed_store_t *store, tseed_job_t *job, uniform_t *last,
                    int64_t x, int64_t y)
{
    const tseed_gridset_t *gridset = job->run->tileset.subset->gridset;
    const tseed_range_t *whole = &job->metatile.whole;
    int gutter = job->run->task->gutter;
    tseed_encoded_t tile;
    apr_status_t rv;
    const char *error = tseed_cutter_cut(
        worker->cutter, &tile, gutter + (int)(x - whole->minx) * gridset->tile_width,
        gutter + (int)(whole->maxy - y) * gridset->tile_height, gridset->tile_width,
        gridset->tile_height, worker->scratch);

    if (error) {
        bad_answer(job, error);
        return 0;
    }
    rv = store_tile(store, job, last, &tile, x, y);
    if (rv != APR_SUCCESS) {
        no_store(job, rv);
        return 0;
    }
    job->made++;
    return 1;
}

static void cut(worker_t *worker, tseed_store_t *store, tseed_job_t *job)
{
    const tseed_range_t *wanted = &job->metatile.wanted;
    uniform_t last = {0};
    const char *error =
        tseed_cutter_open(worker->cutter, job->transfer.body, job->transfer.length, job->width,
                          job->height, job->run->tileset.format, worker->scratch);

    if (error) {
        bad_answer(job, error);
        return;
    }
    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++) {
            int64_t i = wanted_index(job, x, y);

            if (job->present[i / 64] >> (i % 64) & 1) {
                job->skipped++;
            } else if (!cut_tile(worker, store, job, &last, x, y)) {
                return;
            }
        }
    }
}

static void remove_level(worker_t *worker, tseed_store_t *store, tseed_job_t *job)
{
    tseed_range_t range = tseed_run_level(job->run, job->position);
    apr_status_t rv = tseed_store_remove(store, &range, &job->run->removed, must_stop, job->run);

    (void)worker;
    if (rv != APR_SUCCESS) {
        no_store(job, rv);
    }
}

static void work(worker_t *worker, tseed_job_t *job)
{
    tseed_store_t *store;
    apr_status_t rv = store_get(&store, worker, job->run);

    if (must_stop(job->run)) {
        job->outcome = TSEED_JOB_STOPPED;
    } else if (rv != APR_SUCCESS) {
        no_store(job, rv);
    } else if (job->stage == TSEED_STAGE_CHECK) {
        check(worker, store, job);
    } else if (job->stage == TSEED_STAGE_CUT) {
        cut(worker, store, job);
    } else {
        remove_level(worker, store, job);
    }
}

static void *APR_THREAD_FUNC work_thread(apr_thread_t *thread, void *data)
{
    tseed_job_t *job = data;
    tseed_crew_t *crew = NULL;
    worker_t *worker;
    void *owner = NULL;

    apr_thread_pool_task_owner_get(thread, &owner);
    crew = owner;
    worker = worker_take(crew);
    tseed_board_worker_begin(crew->board, worker->number, job->run->task->id, job->position);
    work(worker, job);
    tseed_board_worker_end(crew->board, worker->number);
    apr_pool_clear(worker->scratch);
    worker_return(worker);
    tseed_mailbox_put(crew->mailbox, job);
    return NULL;
}

static apr_status_t worker_create(tseed_crew_t *crew, unsigned number, apr_pool_t *pool)
{
    worker_t *worker = apr_pcalloc(pool, sizeof(*worker));

    worker->number = number;
    worker->crew = crew;
    worker->scratch = pool_create();
    worker->next = crew->bench;
    crew->bench = worker;
    return tseed_cutter_create(&worker->cutter);
}

apr_status_t tseed_crew_create(tseed_crew_t **crew, unsigned workers, tseed_mailbox_t *mailbox,
                               tseed_board_t *board, apr_pool_t *pool)
{
    tseed_crew_t *made = apr_pcalloc(pool, sizeof(*made));

    made->mailbox = mailbox;
    made->board = board;
    made->size = workers;
    pthread_mutex_init(&made->lock, NULL);
    for (unsigned i = 0; i < workers; i++) {
        apr_status_t rv = worker_create(made, i, pool);

        if (rv != APR_SUCCESS) {
            return rv;
        }
    }
    *crew = made;
    /* as many threads from the start as there may ever be: a pool that grows leaves tasks queued */
    return apr_thread_pool_create(&made->threads, workers, workers, pool);
}

apr_status_t tseed_crew_push(tseed_crew_t *crew, tseed_job_t *job)
{
    apr_byte_t priority = job->stage == TSEED_STAGE_REMOVE ? APR_THREAD_TASK_PRIORITY_HIGH
                                                           : APR_THREAD_TASK_PRIORITY_NORMAL;

    job->outcome = TSEED_JOB_OK;
    job->made = job->skipped = job->bytes = 0;
    return apr_thread_pool_push(crew->threads, work_thread, job, priority, crew);
}

void tseed_crew_forget(tseed_crew_t *crew, tseed_run_t *run)
{
    for (unsigned i = 0; i < crew->size; i++) {
        tseed_view_t *view = &run->views[i];

        if (view->store) {
            tseed_store_close(view->store);
            apr_pool_destroy(view->pool);
            view->store = NULL;
        }
    }
}
