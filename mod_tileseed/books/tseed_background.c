/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Background runs: a list without order, for there are few. */
#include "books/tseed_background.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "layer/tseed_page.h"
#include "protocol/tseed_parameters.h"

#define IDLE (60 * APR_USEC_PER_SEC)
/* The most idle runs, because each has files open. Beyond that number the run that was used longest
 * ago goes. */
#define MOST_IDLE 32

struct tseed_background_t {
    const tseed_context_t *context;
    tseed_runs_t *runs;
    tseed_session_t *session;
    tseed_cache_t *cache;
    tseed_client_t client;
};

/* Makes the task of a background run: a seed of the whole tile set, which the database does not
 * have. */
static tseed_task_t *task_of(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    tseed_task_t *task = apr_pcalloc(pool, sizeof(*task));

    /* for the blame of crashes only: never the number of a task */
    task->id = -1 - (int64_t)(tseed_tileset_print(tileset, pool) >> 1);
    task->type = TSEED_SEED;
    task->layer = tileset->layer->name;
    task->gridset = tileset->subset->gridset->name;
    task->format = tileset->format->mime;
    task->meta_width = tileset->layer->meta_width;
    task->meta_height = tileset->layer->meta_height;
    task->gutter = tileset->layer->gutter;
    task->derived = tileset->layer->derived;
    return task;
}

static int is_idle(const tseed_run_t *run)
{
    return !run->flights && !run->failed && !run->jobs && !run->is_walked;
}

static void dismiss(tseed_background_t *background, tseed_run_t *run)
{
    tseed_run_t **link = &background->runs->background;

    while (*link != run) {
        link = &(*link)->next_run;
    }
    *link = run->next_run;
    tseed_workers_forget(background->context->workers, run);
    apr_pool_destroy(run->pool);
}

static tseed_run_t *find(const tseed_background_t *background, const tseed_book_tileset_t *booked)
{
    tseed_run_t *run = background->runs->background;

    while (run && run->booked != booked) {
        run = run->next_run;
    }
    return run;
}

/* Makes room for one more. */
static void limit_idle(tseed_background_t *background)
{
    tseed_run_t *oldest = NULL;
    int idle = 0;

    for (tseed_run_t *run = background->runs->background; run; run = run->next_run) {
        if (is_idle(run)) {
            idle++;
            oldest = oldest && oldest->used <= run->used ? oldest : run;
        }
    }
    if (idle >= MOST_IDLE) {
        dismiss(background, oldest);
    }
}

/* Finds the run of a tile set by these names, or makes it. */
static tseed_run_t *get(tseed_background_t *background, const tseed_names_t *names,
                        tseed_book_tileset_t *booked)
{
    apr_pool_t *pool;
    tseed_run_t *run = find(background, booked);
    const tseed_subset_t *subset;
    tseed_shape_t shape;

    if (run) {
        run->used = tseed_clock_monotonic();
        return run;
    }
    limit_idle(background);
    apr_pool_create(&pool, background->context->pool);
    run = apr_pcalloc(pool, sizeof(*run));
    run->pool = pool;
    run->booked = booked;
    run->used = tseed_clock_monotonic();
    tseed_tileset_find(&run->tileset, background->context->catalog, names, pool);
    run->task = task_of(&run->tileset, pool);
    run->is_background = 1;
    run->slot = -1;
    run->views = apr_pcalloc(pool, TSEED_STORE_IDS * sizeof(*run->views));
    subset = run->tileset.subset;
    shape = (tseed_shape_t){subset->zoom_first, subset->zoom_last, run->task->meta_width,
                            run->task->meta_height};
    tseed_positions_init_derived(&run->positions, subset->gridset, &subset->extent, &shape,
                                 &run->task->derived);
    run->next_run = background->runs->background;
    background->runs->background = run;
    return run;
}

/* Finds a tile set in the book, or enters it in the book and the database. APR_EBUSY: the database
 * has failed, and it is too early to try again. */
static apr_status_t find_booked(tseed_book_tileset_t **booked, tseed_background_t *background,
                                const tseed_tileset_t *tileset)
{
    apr_status_t rv;

    *booked = tseed_book_find(background->cache->book,
                              tseed_tileset_print(tileset, background->context->scratch));
    if (*booked) {
        return APR_SUCCESS;
    }
    if (background->session->trouble && tseed_clock_monotonic() < background->session->retry_at) {
        return APR_EBUSY;
    }
    rv = tseed_cache_tileset(booked, background->cache, tileset);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(background->session, rv, "enter a tile set");
    }
    return rv;
}

apr_status_t tseed_background_get(tseed_run_t **found, tseed_background_t *background,
                                  const tseed_names_t *names)
{
    tseed_tileset_t tileset;
    tseed_book_tileset_t *booked;
    apr_status_t rv;

    *found = NULL;
    if (tseed_tileset_find(&tileset, background->context->catalog, names,
                           background->context->scratch)) {
        return APR_NOTFOUND;
    }
    rv = find_booked(&booked, background, &tileset);
    if (rv == APR_SUCCESS) {
        *found = get(background, names, booked);
    }
    return rv;
}

tseed_run_t *tseed_background_of(tseed_background_t *background, tseed_book_tileset_t *booked)
{
    const tseed_tileset_record_t *record = &booked->record;
    apr_pool_t *scratch = background->context->scratch;
    tseed_run_t *run = find(background, booked);
    tseed_tileset_t tileset;
    tseed_names_t names;

    if (run) {
        return run;
    }
    names = (tseed_names_t){record->layer, record->gridset, record->format,
                            tseed_parameters_load(record->parameters, scratch)};
    return tseed_tileset_find(&tileset, background->context->catalog, &names, scratch) ||
                   tseed_tileset_print(&tileset, scratch) != record->print
               ? NULL
               : get(background, &names, booked);
}

int tseed_background_leave(tseed_background_t *background, tseed_run_t *run)
{
    const int may_go = is_idle(run);

    if (may_go) {
        dismiss(background, run);
    }
    return may_go;
}

static void tick(void *module, apr_time_t now)
{
    tseed_background_t *background = module;

    for (tseed_run_t *run = background->runs->background, *next; run; run = next) {
        next = run->next_run;
        if (is_idle(run) && now - run->used >= IDLE) {
            dismiss(background, run);
        }
    }
}

tseed_background_t *tseed_background_create(const tseed_context_t *context, tseed_runs_t *runs,
                                            tseed_session_t *session, tseed_cache_t *cache)
{
    tseed_background_t *background = apr_pcalloc(context->pool, sizeof(*background));

    background->context = context;
    background->runs = runs;
    background->session = session;
    background->cache = cache;
    background->client = (tseed_client_t){.module = background, .tick = tick};
    return background;
}

tseed_client_t *tseed_background_client(tseed_background_t *background)
{
    return &background->client;
}

/* Page jobs: jobs of background runs that are no metatile's. Such a job counts or removes a page,
 * or counts or sweeps the shared files of a tile set. Main thread only. */

struct tseed_page_jobs_t {
    tseed_jobs_t *jobs;
    tseed_background_t *background;
    tseed_holds_t *holds;
    int under_way; /* jobs that wait or are at work */
};

tseed_page_jobs_t *tseed_page_jobs_create(tseed_jobs_t *jobs, tseed_background_t *background,
                                          tseed_holds_t *holds, apr_pool_t *pool)
{
    tseed_page_jobs_t *page_jobs = apr_pcalloc(pool, sizeof(*page_jobs));

    page_jobs->jobs = jobs;
    page_jobs->background = background;
    page_jobs->holds = holds;
    return page_jobs;
}

/* The tiles of a page, as far as the grid goes. */
static tseed_range_t tiles_of(const tseed_run_t *run, const tseed_page_t *page)
{
    const tseed_gridset_t *gridset = run->tileset.subset->gridset;
    tseed_range_t grid = {page->z, 0, 0, gridset->columns[page->z] - 1, gridset->rows[page->z] - 1};
    tseed_range_t tiles = {page->z, page->x * TSEED_PAGE_SIDE, page->y * TSEED_PAGE_SIDE,
                           (page->x + 1) * TSEED_PAGE_SIDE - 1,
                           (page->y + 1) * TSEED_PAGE_SIDE - 1};

    return tseed_range_intersect(&tiles, &grid);
}

static tseed_job_t *job_get(tseed_page_jobs_t *page_jobs, const tseed_job_what_t *what,
                            tseed_run_t *run, const tseed_range_t *tiles)
{
    const tseed_range_t nothing = {.z = -1, .maxx = -1, .maxy = -1};
    tseed_job_what_t whole = *what;

    whole.run = run;
    whole.position = -1;
    whole.metatile = (tseed_metatile_t){nothing, tiles ? *tiles : nothing};
    page_jobs->under_way++;
    return tseed_jobs_get(page_jobs->jobs, &whole);
}

tseed_job_t *tseed_page_jobs_begin(tseed_page_jobs_t *page_jobs, const tseed_job_what_t *what,
                                   const tseed_page_t *page)
{
    const tseed_range_t tiles = tiles_of(what->run, page);
    tseed_job_t *job = job_get(page_jobs, what, what->run, &tiles);

    tseed_holds_hold(page_jobs->holds, job);
    tseed_holds_pin(page_jobs->holds, job);
    tseed_queue_put(&what->run->ready, job);
    return job;
}

tseed_job_t *tseed_page_jobs_begin_shared(tseed_page_jobs_t *page_jobs,
                                          const tseed_job_what_t *what,
                                          tseed_book_tileset_t *booked)
{
    tseed_run_t *run = tseed_background_of(page_jobs->background, booked);
    tseed_job_t *job = run ? job_get(page_jobs, what, run, NULL) : NULL;

    if (job) {
        tseed_queue_put(&run->ready, job);
    }
    return job;
}

void tseed_page_jobs_take(tseed_page_jobs_t *page_jobs, const tseed_job_t *job)
{
    page_jobs->under_way -= !job->accounts.is_overdue;
}

void tseed_page_jobs_pass_over(tseed_page_jobs_t *page_jobs, tseed_job_t *job)
{
    page_jobs->under_way -= !job->accounts.is_overdue;
    job->accounts.is_overdue = 1;
}

int tseed_page_jobs_count(const tseed_page_jobs_t *page_jobs)
{
    return page_jobs->under_way;
}
