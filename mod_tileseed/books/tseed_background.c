/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Background runs: a list without order, for there are few. */
#include "books/tseed_background.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "layer/tseed_page.h"
#include "protocol/tseed_answer.h"

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

static tseed_run_t *create(tseed_background_t *background, const tseed_names_t *names,
                           tseed_book_tileset_t *booked)
{
    apr_pool_t *pool;
    tseed_run_t *run;
    const tseed_subset_t *subset;
    tseed_shape_t shape;

    limit_idle(background);
    apr_pool_create(&pool, background->context->pool);
    run = apr_pcalloc(pool, sizeof(*run));
    run->pool = pool;
    run->booked = booked;
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
    tseed_run_t *run = background->runs->background;
    apr_status_t rv;

    *found = NULL;
    if (tseed_tileset_find(&tileset, background->context->catalog, names,
                           background->context->scratch)) {
        return APR_NOTFOUND;
    }
    rv = find_booked(&booked, background, &tileset);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    while (run && run->booked != booked) {
        run = run->next_run;
    }
    *found = run ? run : create(background, names, booked);
    (*found)->used = tseed_clock_monotonic();
    return APR_SUCCESS;
}

tseed_run_t *tseed_background_of(tseed_background_t *background, const tseed_book_tileset_t *booked)
{
    const tseed_tileset_record_t *record = &booked->record;
    const tseed_names_t names = {
        record->layer, record->gridset, record->format,
        tseed_parameters_load(record->parameters, background->context->scratch)};
    tseed_run_t *run = background->runs->background;

    while (run && run->booked != booked) {
        run = run->next_run;
    }
    if (!run) {
        tseed_background_get(&run, background, &names);
    }
    return run;
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
