/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Retries: metatiles whose answer was no picture wait here to be fetched again, while their task
 * goes on with others. Main thread only.
 *
 * An answer that is about the request counts as an attempt. An answer that says that the upstream
 * is away counts only if the upstream has answered any request since then. Otherwise nobody knows
 * whether the metatile is to blame, and a restart of the upstream leaves no failure behind. A pause
 * that the upstream has asked for never counts.
 *
 * A request for several metatiles waits here only if the upstream seems away, and is then sent
 * again in parts. If the upstream has answered meanwhile, the request was too large.
 */
#ifndef TSEED_RETRY_H
#define TSEED_RETRY_H

#include "pipeline/tseed_failures.h"
#include "pipeline/tseed_sizing.h"

typedef struct tseed_retry_t tseed_retry_t;

/* Makes the retries of the tasks' runs, in context->pool. */
tseed_retry_t *tseed_retry_create(const tseed_context_t *context, const tseed_runs_t *runs,
                                  tseed_failures_t *failures, tseed_sizing_t *sizing);

/* The record of the client that fetches again what is due. It is the module's. */
tseed_client_t *tseed_retry_client(tseed_retry_t *retry);

/* Takes a job whose answer was no picture: the job waits to be fetched again, or is given up. now:
 * monotonic. */
void tseed_retry_put(tseed_retry_t *retry, tseed_job_t *job, apr_time_t now);

/* Has jobs that are due fetched again, or gives them up. now: monotonic. */
void tseed_retry_release(tseed_retry_t *retry, apr_time_t now);

/* Has the jobs of a run fetched again at once. now: monotonic. */
void tseed_retry_hurry(tseed_run_t *run, apr_time_t now);

/* How long to wait after so many failures in a row, at least one. The wait grows exponentially; up
 * to a quarter is added or taken away at random, so that jobs which failed together do not come
 * back together. */
apr_interval_time_t tseed_retry_back_off(int failures);

/* The same with a random number of the caller's, 0 <= random < 1. Pure. */
apr_interval_time_t tseed_retry_wait(int failures, double random);

#endif
