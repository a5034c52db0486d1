/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Page holds: which pages jobs are at work in, whether a job may go to work there, and what it has
 * changed there. Main thread only. */
#ifndef TSEED_HOLDS_H
#define TSEED_HOLDS_H

#include "books/tseed_cache.h"
#include "books/tseed_marks.h"
#include "books/tseed_origins.h"
#include "work/tseed_clients.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

typedef struct tseed_holds_t tseed_holds_t;

/* The modules that the holds use; all outlive the holds. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_runs_t *runs;
    tseed_cache_t *cache;
    tseed_marks_t *marks;
    tseed_durable_t *durable;
    tseed_origins_t *origins;
} tseed_holds_uses_t;

/* Makes the holds in the context's pool. `uses` is copied. */
tseed_holds_t *tseed_holds_create(const tseed_holds_uses_t *uses);

/* The record of this module, to be entered among the clients. */
tseed_client_t *tseed_holds_client(tseed_holds_t *holds);

/* Holds the pages of a job's tiles, before the job goes to work in them. While the book is loaded
 * there is nothing to hold. */
void tseed_holds_hold(tseed_holds_t *holds, tseed_job_t *job);

/* Drops the pages of a job that has ended, and the marks of its levels. */
void tseed_holds_drop(tseed_holds_t *holds, tseed_job_t *job);

/* Pins the pages that a job holds when the job goes to work, and unpins them when it comes back.
 * The disk quota removes nothing from a pinned page. */
void tseed_holds_pin(tseed_holds_t *holds, tseed_job_t *job);
void tseed_holds_unpin(tseed_holds_t *holds, tseed_job_t *job);

/* Marks the level that a job is about to remove from. The job holds no pages. */
void tseed_holds_mark_level(tseed_holds_t *holds, tseed_job_t *job);

/* Whether a CUT, REMOVE or COUNT may be given to a worker now. If not, the marks say what must be
 * counted first. */
int tseed_holds_may_work(tseed_holds_t *holds, tseed_job_t *job);

/* The present time as the book has it, in seconds since 1970. */
int64_t tseed_holds_date(const tseed_holds_t *holds);

/* Books what a job has changed. */
void tseed_holds_book(tseed_holds_t *holds, tseed_job_t *job);

/* What was written to a tile set may be lost: forgets what its tiles came from, also of jobs that
 * are writing. A reseed makes the tiles anew. */
void tseed_holds_doubt(tseed_holds_t *holds, tseed_book_tileset_t *booked);

/* Books the reads of tiles, and takes marks away that have served. Once a tick, and at the end of
 * the process. */
void tseed_holds_tick(tseed_holds_t *holds);

#endif
