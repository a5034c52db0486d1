/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Page jobs are begun in the background run of their tile set. */
#include "books/tseed_page_jobs.h"

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
                                          const tseed_book_tileset_t *booked)
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
