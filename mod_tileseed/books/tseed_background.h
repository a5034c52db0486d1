/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Background runs: work in a tile set for no task. Such work makes tiles that requests wait for,
 * and counts or removes pages. Main thread only.
 *
 * A tile set has one background run as long as there is work, and a minute longer unless there are
 * many such runs. A background run has no place on the board and in the database. When the seeder
 * dies, the next seeder begins the work anew.
 */
#ifndef TSEED_BACKGROUND_H
#define TSEED_BACKGROUND_H

#include "books/tseed_cache.h"
#include "books/tseed_holds.h"
#include "books/tseed_jobs.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

typedef struct tseed_background_t tseed_background_t;

/* Makes the keeper of runs->background, in context->pool. */
tseed_background_t *tseed_background_create(const tseed_context_t *context, tseed_runs_t *runs,
                                            tseed_session_t *session, tseed_cache_t *cache);

/* The record of the client that forgets runs which nobody uses. It is the module's. */
tseed_client_t *tseed_background_client(tseed_background_t *background);

/* Finds the run of a tile set, or makes it. APR_NOTFOUND: no such tile set is configured.
 * Any other error: the database can't record the tile set now; the error has been logged. */
apr_status_t tseed_background_get(tseed_run_t **run, tseed_background_t *background,
                                  const tseed_names_t *names);

/* Finds the run of a tile set in the book, or makes it; NULL: the tile set is not configured. */
tseed_run_t *tseed_background_of(tseed_background_t *background, tseed_book_tileset_t *booked);

/* Dismisses a run if nothing is under way in it. Returns whether it did. */
int tseed_background_leave(tseed_background_t *background, tseed_run_t *run);

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
                                          tseed_book_tileset_t *booked);

/* A client calls this first when it takes such a job. The client puts the job back afterwards. */
void tseed_page_jobs_take(tseed_page_jobs_t *page_jobs, const tseed_job_t *job);

/* Such a job is in a store that hangs: from now on it does not count. */
void tseed_page_jobs_pass_over(tseed_page_jobs_t *page_jobs, tseed_job_t *job);

/* How many such jobs wait or are at work. */
int tseed_page_jobs_count(const tseed_page_jobs_t *page_jobs);

#endif
