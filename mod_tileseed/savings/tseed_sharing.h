/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sharing: runs that need the same pictures of an upstream, as the tile sets of two formats do,
 * fetch each picture once.
 *
 * Runs of several tile sets are partners when their requests for the same tiles are the same. A
 * request of a run that has partners is entered here when it goes out. A partner's job whose tiles
 * lie in the request follows it: the job gets a copy of the answer, as if it had been fetched. An
 * answer that a partner has not had is kept for a while. A run follows no request that was sent
 * before the run began. A run that is ahead of its partner waits for it if that saves more requests
 * than it delays. Main thread only. */
#ifndef TSEED_SHARING_H
#define TSEED_SHARING_H

#include "books/tseed_marks.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"

typedef struct tseed_sharing_t tseed_sharing_t;

/* Makes the sharing of the tasks' runs, in context->pool. */
tseed_sharing_t *tseed_sharing_create(const tseed_context_t *context, const tseed_runs_t *runs,
                                      const tseed_display_t *display);

/* Whether a run is to ask for nothing just now: a partner that is behind catches up. now:
 * monotonic. */
int tseed_sharing_waits(tseed_sharing_t *sharing, tseed_run_t *run, apr_time_t now);

/* The cell of the partner's request that a metatile of a run lies in. {0, 0}: there is none. */
tseed_cell_shape_t tseed_sharing_cell(tseed_sharing_t *sharing, tseed_run_t *run,
                                      const tseed_metatile_t *metatile);

/* Finds a partner's request whose answer has the tiles of a job and of those that it leads. Sets
 * *asked to the tiles of the answer and *address to the source's address that is asked. Returns the
 * request, which is valid until control returns to the loop. NULL: there is none. */
typedef struct tseed_shared_request_t tseed_shared_request_t;
tseed_shared_request_t *tseed_sharing_find(tseed_sharing_t *sharing, const tseed_job_t *leader,
                                           tseed_range_t *asked, int *address);

/* Lets a job, whose address and condition are set, follow a request. The job comes back as if it
 * had been fetched, with `sent` 0; or as CANCELLED if the request fails or is taken back. Returns 0
 * when the job can't follow, because the request has another condition. */
int tseed_sharing_follow(tseed_sharing_t *sharing, tseed_shared_request_t *request,
                         tseed_job_t *leader);

/* Enters a request that goes out, by its leader and the address of its source. Returns whether
 * others may take its answer. */
int tseed_sharing_ask(tseed_sharing_t *sharing, tseed_job_t *leader, int address);

/* Takes a request that has come back: those that follow it get their copies. */
void tseed_sharing_arrive(tseed_sharing_t *sharing, const tseed_job_t *leader);

/* Lets nothing follow the requests that have been sent so far: a truncate begins. */
void tseed_sharing_forget(tseed_sharing_t *sharing);

/* Sends back the jobs of a run that follow a request, as cancelled. */
void tseed_sharing_drain(tseed_sharing_t *sharing, const tseed_run_t *run);

/* Frees answers that nobody will need any more. Once a tick. */
void tseed_sharing_tick(tseed_sharing_t *sharing);

#endif
