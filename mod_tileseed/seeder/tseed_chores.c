/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Chores: jobs of standing runs that are no metatile's. A page is counted or removed; the shared
 * files of a tile set are counted or swept. */
#include "seeder/tseed_house.h"

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

static tseed_job_t *chore_get(tseed_seeder_t *seeder, const tseed_client_t *client,
                              tseed_run_t *run, tseed_stage_t stage)
{
    const tseed_range_t nothing = {.z = -1, .maxx = -1, .maxy = -1};
    tseed_job_t *job = tseed_jobs_get(seeder->jobs, client);

    job->stage = stage;
    job->position = -1;
    job->metatile = (tseed_metatile_t){nothing, nothing};
    tseed_run_job_add(run, job);
    seeder->chores++;
    return job;
}

tseed_job_t *tseed_chores_begin_page(tseed_seeder_t *seeder, const tseed_client_t *client,
                                     tseed_run_t *run, const tseed_page_t *page,
                                     tseed_stage_t stage)
{
    tseed_job_t *job = chore_get(seeder, client, run, stage);

    job->metatile.wanted = tiles_of(run, page);
    tseed_holds_hold(seeder->holds, job);
    tseed_holds_pin(seeder->holds, job);
    tseed_queue_put(&run->ready, job);
    return job;
}

tseed_job_t *tseed_chores_begin_shared(tseed_seeder_t *seeder, const tseed_client_t *client,
                                       const tseed_book_tileset_t *booked, tseed_stage_t stage)
{
    tseed_run_t *run = tseed_background_of(seeder->background, booked);
    tseed_job_t *job = run ? chore_get(seeder, client, run, stage) : NULL;

    if (job) {
        tseed_queue_put(&run->ready, job);
    }
    return job;
}

void tseed_chores_take(tseed_seeder_t *seeder, const tseed_job_t *job)
{
    job->run->working--;
    seeder->chores--;
}
