/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Standing runs: what is done in a tile set for no task in particular - tiles that requests wait
 * for, pages that are counted or removed.
 *
 * A tile set has one as long as there is something to do, and a minute longer unless there are
 * many. It has no place on
 * the board and in the database: what is lost with the seeder is begun anew by the next one.
 */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "layer/tseed_page.h"
#include "protocol/tseed_answer.h"
#include "seeder/tseed_house.h"

#define IDLE (60 * APR_USEC_PER_SEC)
#define MOST_IDLE                                                                                  \
    32 /* beyond it the one that was not used for longest goes: each has files open                \
        */

/* What a task over the whole tile set would be. */
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
    return task;
}

static int is_idle(const tseed_run_t *run)
{
    return !run->flights && !run->failed && !run->jobs && !run->is_walked;
}

static void dismiss(tseed_seeder_t *seeder, tseed_run_t *run)
{
    tseed_run_t **link = &seeder->runs->background;

    while (*link != run) {
        link = &(*link)->next_run;
    }
    *link = run->next_run;
    tseed_workers_forget(seeder->context->workers, run);
    apr_pool_destroy(run->pool);
}

/* Makes room for one more. */
static void limit_idle(tseed_seeder_t *seeder)
{
    tseed_run_t *oldest = NULL;
    int idle = 0;

    for (tseed_run_t *run = seeder->runs->background; run; run = run->next_run) {
        if (is_idle(run)) {
            idle++;
            oldest = oldest && oldest->used <= run->used ? oldest : run;
        }
    }
    if (idle >= MOST_IDLE) {
        dismiss(seeder, oldest);
    }
}

static tseed_run_t *create(tseed_seeder_t *seeder, const tseed_names_t *names,
                           tseed_book_tileset_t *booked)
{
    apr_pool_t *pool;
    tseed_run_t *run;
    const tseed_subset_t *subset;
    tseed_shape_t shape;

    limit_idle(seeder);
    apr_pool_create(&pool, seeder->context->pool);
    run = apr_pcalloc(pool, sizeof(*run));
    run->pool = pool;
    run->booked = booked;
    tseed_tileset_find(&run->tileset, seeder->context->catalog, names, pool);
    run->task = task_of(&run->tileset, pool);
    run->is_standing = 1;
    run->slot = -1;
    run->views =
        apr_pcalloc(pool, (size_t)seeder->context->settings->workers * sizeof(*run->views));
    subset = run->tileset.subset;
    shape = (tseed_shape_t){subset->zoom_first, subset->zoom_last, run->task->meta_width,
                            run->task->meta_height};
    tseed_positions_init(&run->positions, subset->gridset, &subset->extent, &shape);
    run->next_run = seeder->runs->background;
    seeder->runs->background = run;
    return run;
}

/* A tile set that is new to the books must be recorded first; not each time that somebody asks
 * while the database fails. */
static apr_status_t find_booked(tseed_book_tileset_t **booked, tseed_seeder_t *seeder,
                                const tseed_tileset_t *tileset)
{
    apr_status_t rv;

    *booked = tseed_book_find(seeder->cache->book,
                              tseed_tileset_print(tileset, seeder->context->scratch));
    if (*booked) {
        return APR_SUCCESS;
    }
    if (tseed_clerk_is_full(seeder, tileset)) {
        return APR_ENOSPC;
    }
    if (seeder->session->trouble && tseed_clock_monotonic() < seeder->session->retry_at) {
        return APR_EBUSY;
    }
    rv = tseed_clerk_tileset(booked, seeder, tileset);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(seeder->session, rv, "enter a tile set");
    }
    return rv;
}

apr_status_t tseed_standing_get(tseed_run_t **found, tseed_seeder_t *seeder,
                                const tseed_names_t *names)
{
    tseed_tileset_t tileset;
    tseed_book_tileset_t *booked;
    tseed_run_t *run = seeder->runs->background;
    apr_status_t rv;

    *found = NULL;
    if (tseed_tileset_find(&tileset, seeder->context->catalog, names, seeder->context->scratch)) {
        return APR_NOTFOUND;
    }
    rv = find_booked(&booked, seeder, &tileset);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    while (run && run->booked != booked) {
        run = run->next_run;
    }
    *found = run ? run : create(seeder, names, booked);
    (*found)->used = tseed_clock_monotonic();
    return APR_SUCCESS;
}

tseed_run_t *tseed_standing_of(tseed_seeder_t *seeder, const tseed_book_tileset_t *booked)
{
    const tseed_tileset_record_t *record = &booked->record;
    const tseed_names_t names = {
        record->layer, record->gridset, record->format,
        tseed_parameters_load(record->parameters, seeder->context->scratch)};
    tseed_run_t *run = seeder->runs->background;

    while (run && run->booked != booked) {
        run = run->next_run;
    }
    if (!run) {
        tseed_standing_get(&run, seeder, &names);
    }
    return run;
}

static void tick(void *module, apr_time_t now)
{
    tseed_seeder_t *seeder = module;
    for (tseed_run_t *run = seeder->runs->background, *next; run; run = next) {
        next = run->next_run;
        if (is_idle(run) && now - run->used >= IDLE) {
            dismiss(seeder, run);
        }
    }
}

tseed_client_t tseed_standing_client = {.tick = tick};
