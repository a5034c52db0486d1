/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Savings: what spares requests to the upstream, behind one door. Main thread only.
 *
 *      joined      neighbouring metatiles of a run come with one request     tseed_sizing, _join
 *      pruned      below metatiles of one colour nothing is asked for        tseed_prune
 *      shared      runs that need the same pictures ask for them once        tseed_sharing
 *      derived     tiles are made of the tiles below them                    tseed_derived
 *      unchanged   an answer of before is recognised, or not sent again      books/tseed_origins
 *
 * A job's way passes the door at four places:
 *
 *      next ──► begin ──► CHECK ──► ask, derive or follow ──► came, took ──► CUT ──► took
 *
 * Which of them go together says tseed_together.h. */
#ifndef TSEED_SAVINGS_H
#define TSEED_SAVINGS_H

#include "books/tseed_cache.h"
#include "books/tseed_cutoff.h"
#include "books/tseed_marks.h"
#include "books/tseed_origins.h"
#include "savings/tseed_join.h"
#include "work/tseed_clients.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

typedef struct tseed_savings_t tseed_savings_t;

/* What the savings use; all of it outlives them. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    const tseed_runs_t *runs;
    const tseed_cache_t *cache;
    tseed_origins_t *origins;
    const tseed_cutoff_t *cutoff;
    const tseed_display_t *display;
} tseed_savings_uses_t;

/* What the door asks of a saving that learns from answers and keeps what it learns: the calls of
 * that name below. `feed` and `due` are those of a client. */
typedef struct {
    void *(*create)(const tseed_savings_uses_t *uses);
    void (*feed)(void *saving);
    apr_time_t (*due)(const void *saving);
    void (*begin)(void *saving, tseed_job_t *job);
    void (*took)(void *saving, tseed_job_t *job);
    int64_t (*truncate)(void *saving, const tseed_tileset_t *tileset);
    void (*leave)(void *saving, const tseed_book_tileset_t *booked);
    int (*has_changes)(const void *saving);
    apr_status_t (*write)(const void *saving);
    void (*saved)(const void *saving);
} tseed_saving_t;

/* Makes the savings, in the context's pool. `uses` is copied. */
tseed_savings_t *tseed_savings_create(const tseed_savings_uses_t *uses);

/* The record to enter among the clients: it has the loop go on where there is more to be passed. */
tseed_client_t *tseed_savings_client(tseed_savings_t *savings);

/* ---- what comes next ---- */

/* The metatiles that the next request of a run is about. */
typedef struct {
    int64_t positions[TSEED_CELL_MOST]; /* free, ascending */
    int count;                          /* 0: none for now */
    tseed_cell_shape_t cell;            /* that they lie in */
    int step;                           /* savings/tseed_sizes.h; -1: nobody chose */
    tseed_size_reason_t why;
} tseed_request_t;

/* Sets what a run begins next. Passes pruned positions before it, and counts them: the run may be
 * through afterwards. */
void tseed_savings_next(tseed_request_t *request, tseed_savings_t *savings, tseed_run_t *run);

/* Whether a run is to ask for nothing just now: a partner that is behind catches up. now:
 * monotonic. */
int tseed_savings_wait(tseed_savings_t *savings, tseed_run_t *run, apr_time_t now);

/* Before the first stage of a job of a request: says which size was chosen, and whether the job is
 * a look. */
void tseed_savings_begin(tseed_savings_t *savings, tseed_job_t *job,
                         const tseed_request_t *request);

/* The colour of all tiles of the metatile at a position, if a finding prunes it; NULL: none does.
 */
const tseed_shade_t *tseed_savings_shade(tseed_savings_t *savings, tseed_run_t *run,
                                         int64_t position);

/* Has a job make its tiles of that colour, without a picture. Returns whether there is one. */
int tseed_savings_paint(tseed_savings_t *savings, tseed_job_t *job);

/* ---- what is asked ---- */

/* What was known of a job is out of date: it is no look any more. */
void tseed_savings_renew(tseed_job_t *job);

/* Parts jobs of one cell of shape `cell`, which are to be fetched, into requests that ask for
 * little in vain, and puts them into their run's `wanted`. NULL: there are none. */
void tseed_savings_join(tseed_savings_t *savings, tseed_job_t *list, tseed_cell_shape_t cell);

/* A request for the tiles of a job and of those that it leads goes out to an address of its source.
 * job->url is set. Sets what the answer is to be compared with, and how long it may take. Returns
 * whether other runs may take the answer. */
int tseed_savings_ask(tseed_savings_t *savings, tseed_job_t *leader, int address);

/* Decides what the picture of a job that is to be fetched is made of. Returns whether of other
 * tiles: DERIVE stands for FETCH. */
int tseed_savings_draws(tseed_savings_t *savings, tseed_job_t *job);

/* What draws the tiles of a job of a derived level; NULL: the level is not derived. */
tseed_draw_t *tseed_derived_draw(const tseed_job_t *job);

/* Prepares a job for DERIVE: it expects no answer, and knows what the tiles are made of. */
void tseed_savings_derive(tseed_savings_t *savings, tseed_job_t *job);

/* Finds a partner's request whose answer has the tiles of a job and of those that it leads. Sets
 * leader->asked to the tiles of the answer and *address to the source's address that is asked.
 * Returns the request, which is valid until control returns to the loop. NULL: there is none. */
struct tseed_shared_request_t *tseed_savings_partner(tseed_savings_t *savings, tseed_job_t *leader,
                                                     int *address);

/* Lets a job, whose URL is set, follow a request. The job comes back as if it had been fetched,
 * with `sent` 0; or as CANCELLED if the request fails or is taken back. Returns 0 when the job
 * can't follow, because the request has another condition. */
int tseed_savings_follow(tseed_savings_t *savings, struct tseed_shared_request_t *request,
                         tseed_job_t *leader);

/* ---- what an answer means ---- */

/* A FETCH has come back, whatever its result: those that follow it get their copies. */
void tseed_savings_came(tseed_savings_t *savings, const tseed_job_t *leader);

/* Takes in what a job's stage has found: how long a good answer took, that a DERIVE has come back,
 * or, when the book has it, what a CUT says of colours and origins. */
void tseed_savings_took(tseed_savings_t *savings, tseed_job_t *job);

/* Counts what a job that is finished has found, if it was a look. */
void tseed_savings_count(const tseed_job_t *job);

/* A request for several metatiles has failed, with its cause, for what may be its size. */
void tseed_savings_fail(tseed_savings_t *savings, const tseed_job_t *leader);

/* ---- what ends ---- */

/* Sends back the jobs of a run that follow a request, as cancelled. */
void tseed_savings_drain(tseed_savings_t *savings, const tseed_run_t *run);

/* A line is drawn: nothing follows a request that was sent before. */
void tseed_savings_close(tseed_savings_t *savings);

/* A truncate is taken in, or claimed if that could not be done before: forgets what was found in
 * its area. Returns how many findings were that have pruned what lies below them. */
int64_t tseed_savings_truncate(tseed_savings_t *savings, const tseed_tileset_t *tileset);

/* Forgets what is known of a tile set that leaves the book; the database is the caller's matter. */
void tseed_savings_leave(tseed_savings_t *savings, const tseed_book_tileset_t *booked);

/* Notes that an upstream draws no pictures of more pixels for a layer; 0: any. */
void tseed_savings_bound(tseed_savings_t *savings, const char *layer, int width, int height);

/* Frees answers that nobody will need any more. Once a tick. */
void tseed_savings_tick(tseed_savings_t *savings);

/* ---- the database ---- */

/* has_changes: whether there is something that must be saved with the book. write: writes what has
 * changed into the open transaction, behind the book, and with `all` what goes with the book; fails
 * when the database does, and then the next call writes all of it again. saved: notes that the
 * transaction is committed. */
int tseed_savings_has_changes(const tseed_savings_t *savings);
apr_status_t tseed_savings_write(tseed_savings_t *savings, int all);
void tseed_savings_saved(tseed_savings_t *savings, int all);

#endif
