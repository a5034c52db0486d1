/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Page jobs: jobs of background runs that are no metatile's. Such a job counts or removes a page,
 * or counts or sweeps the shared files of a tile set. Main thread only. */
#ifndef TSEED_PAGE_JOBS_H
#define TSEED_PAGE_JOBS_H

#include "books/tseed_background.h"
#include "books/tseed_holds.h"
#include "books/tseed_jobs.h"

typedef struct tseed_page_jobs_t tseed_page_jobs_t;

/* Makes the module in `pool`. */
tseed_page_jobs_t *tseed_page_jobs_create(tseed_jobs_t *jobs, tseed_background_t *background,
                                          tseed_holds_t *holds, apr_pool_t *pool);

/* Begins a job in one page of a background run; `what` says all of it but where. The job waits in
 * the run's queue until the job may go to work. The job is the module's; the client takes it when
 * the stage is over. */
tseed_job_t *tseed_page_jobs_begin(tseed_page_jobs_t *page_jobs, const tseed_job_what_t *what,
                                   const tseed_page_t *page);

/* Begins a job in the shared files of a tile set likewise; `what` does not say the run. NULL: no
 * job can be begun now. */
tseed_job_t *tseed_page_jobs_begin_shared(tseed_page_jobs_t *page_jobs,
                                          const tseed_job_what_t *what,
                                          const tseed_book_tileset_t *booked);

/* A client calls this first when it takes such a job. The client puts the job back afterwards. */
void tseed_page_jobs_take(tseed_page_jobs_t *page_jobs, const tseed_job_t *job);

/* Such a job is in a store that hangs: from now on it does not count. */
void tseed_page_jobs_pass_over(tseed_page_jobs_t *page_jobs, tseed_job_t *job);

/* How many such jobs wait or are at work. */
int tseed_page_jobs_count(const tseed_page_jobs_t *page_jobs);

#endif
