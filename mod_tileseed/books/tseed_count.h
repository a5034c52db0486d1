/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Counts: what pages and shared files hold on the disk. Main thread only. */
#ifndef TSEED_COUNT_H
#define TSEED_COUNT_H

#include "books/tseed_cache.h"
#include "books/tseed_marks.h"
#include "books/tseed_background.h"
#include "work/tseed_session.h"

typedef struct tseed_count_t tseed_count_t;

/* What counts use. */
typedef struct {
    const tseed_session_t *session;
    tseed_runs_t *runs;
    tseed_cache_t *cache;
    tseed_marks_t *marks;
    tseed_jobs_t *jobs;
    tseed_holds_t *holds;
    tseed_background_t *background;
    tseed_page_jobs_t *page_jobs;
    /* told of a job that could not count, because its store can't be looked at */
    void (*no_store)(void *flow, tseed_job_t *failed);
    void *flow;
} tseed_count_uses_t;

/* Makes the module in `pool`. */
tseed_count_t *tseed_count_create(const tseed_count_uses_t *uses, apr_pool_t *pool);

/* Three clients: one for pages that were marked at the start and for shared files, one for pages in
 * doubt in the background, and one for marks of this turn. */
tseed_client_t *tseed_count_client(tseed_count_t *count);
tseed_client_t *tseed_count_doubts_client(tseed_count_t *count);
tseed_client_t *tseed_count_marks_client(tseed_count_t *count);

/* Has a page counted, unless the page is being counted. */
void tseed_count_page(tseed_count_t *count, tseed_book_tileset_t *booked, const tseed_page_t *page);

/* Begins to count the shared files of a tile set. The count calls `report` with `module` and the
 * difference to the book; `report` may be NULL. Returns 0 if no count can be begun now. */
int tseed_count_shared(tseed_count_t *count, tseed_book_tileset_t *booked, tseed_report_t *report,
                       void *module);

/* Has the shared files below a store root removed, by and by, that no tile is a name of any more.
 */
void tseed_count_sweep(tseed_count_t *count, const char *root);

/* Has everything counted that must be counted before the first tile is written. */
void tseed_count_recount(tseed_count_t *count);

/* Whether a minute has passed since the last count of the tile set that failed. */
int tseed_count_may_retry(const tseed_book_tileset_t *booked);

/* Whether more may be counted in the background. */
int tseed_count_may_begin(const tseed_count_t *count);

#endif
