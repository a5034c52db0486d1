/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Page holds: jobs hold pages of the book.
 *
 * A job holds the pages of its metatile from its beginning to its end. A worker writes the tiles
 * when three things are so: the marks of these pages are durable, pages in doubt have been counted,
 * and nobody removes there. When the job comes back, its changes are booked. The transactions of
 * the checkpoint save marks and changes.
 *
 * A hold only says that the job will write to the page. A page is pinned only while a worker is at
 * the job. So a job that waits, for room above all, does not keep pages from being removed to make
 * room. Tiles that the job had written there count as made, and are not made again.
 *
 * Only one kind of work goes on in a page at a time: cutting, counting or removing. So the effects
 * of replaced and removed files are exact.
 */
#include "books/tseed_holds.h"

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "board/tseed_hits.h"
#include "books/tseed_cutoff.h"

#define SWEEP_EVERY 30 /* ticks */

struct tseed_holds_t {
    tseed_holds_uses_t uses;
    tseed_client_t client;
};

/* ---- the pages of a job ---- */

typedef unsigned page_call_t(tseed_holds_t *holds, const tseed_job_t *job,
                             const tseed_page_t *page);

static unsigned hold(tseed_holds_t *holds, const tseed_job_t *job, const tseed_page_t *page)
{
    return tseed_book_hold(holds->uses.cache->book, job->run->booked, page);
}

static unsigned ask(tseed_holds_t *holds, const tseed_job_t *job, const tseed_page_t *page)
{
    unsigned obstacles = tseed_book_ask(holds->uses.cache->book, job->run->booked, page);

    if (obstacles & TSEED_PAGE_IN_DOUBT) {
        tseed_marks_count_page(holds->uses.marks, job->run->booked, page);
    }
    return obstacles;
}

static unsigned pin(tseed_holds_t *holds, const tseed_job_t *job, const tseed_page_t *page)
{
    tseed_book_pin(holds->uses.cache->book, job->run->booked, page);
    return 0;
}

static unsigned unpin(tseed_holds_t *holds, const tseed_job_t *job, const tseed_page_t *page)
{
    tseed_book_unpin(holds->uses.cache->book, job->run->booked, page);
    return 0;
}

static unsigned drop(tseed_holds_t *holds, const tseed_job_t *job, const tseed_page_t *page)
{
    tseed_book_drop(holds->uses.cache->book, job->run->booked, page);
    return 0;
}

/* Calls for each page that a job's tiles lie in, at most four for a metatile. */
static unsigned for_pages(tseed_holds_t *holds, const tseed_job_t *job, page_call_t *call)
{
    const tseed_range_t *tiles = &job->metatile.wanted;
    unsigned sum = 0;

    for (int64_t y = tiles->miny / TSEED_PAGE_SIDE; y <= tiles->maxy / TSEED_PAGE_SIDE; y++) {
        for (int64_t x = tiles->minx / TSEED_PAGE_SIDE; x <= tiles->maxx / TSEED_PAGE_SIDE; x++) {
            const tseed_page_t page = {tiles->z, x, y};

            sum |= call(holds, job, &page);
        }
    }
    return sum;
}

void tseed_holds_hold(tseed_holds_t *holds, tseed_job_t *job)
{
    if (holds->uses.cache->is_loading) {
        return;
    }
    job->accounts.holds = 1;
    if (for_pages(holds, job, hold) & TSEED_PAGE_UNMARKED) {
        holds->uses.session->must_record = 1;
    }
}

void tseed_holds_pin(tseed_holds_t *holds, tseed_job_t *job)
{
    if (job->accounts.holds && !job->accounts.pins) {
        for_pages(holds, job, pin);
        job->accounts.pins = 1;
    }
}

void tseed_holds_unpin(tseed_holds_t *holds, tseed_job_t *job)
{
    if (job->accounts.pins) {
        for_pages(holds, job, unpin);
        job->accounts.pins = 0;
    }
}

void tseed_holds_mark_level(tseed_holds_t *holds, tseed_job_t *job)
{
    job->accounts.levels = UINT64_C(1) << job->metatile.wanted.z;
    tseed_book_mark_levels(job->run->booked, job->accounts.levels);
    holds->uses.session->must_record = 1;
}

/* The levels that jobs of a tile set have marked; `job` (may be NULL) is not asked. */
static uint64_t marked_by_others(const tseed_holds_t *holds, const tseed_book_tileset_t *booked,
                                 const tseed_job_t *job)
{
    uint64_t levels = 0;

    for (const tseed_run_t *run = holds->uses.runs->tasks; run; run = run->next_run) {
        const tseed_job_t *other = run->booked == booked ? run->jobs : NULL;

        for (; other; other = other->sibling) {
            levels |= other != job ? other->accounts.levels : 0;
        }
    }
    return levels;
}

/* Takes away the marks of levels in which no job is at work any more, apart from `job` (may be
 * NULL). A page may be in doubt by the mark of its level alone, so all marks stay while the tile
 * set has a page in doubt. */
static void unmark(tseed_holds_t *holds, tseed_book_tileset_t *booked, const tseed_job_t *job)
{
    uint64_t levels = booked->in_doubt == 0 ? booked->record.doubtful : 0;

    levels &= levels ? ~marked_by_others(holds, booked, job) : 0;
    if (levels && tseed_durable_may_unmark(holds->uses.durable, booked)) {
        tseed_book_unmark_levels(booked, levels);
        holds->uses.session->must_save = 1;
    }
}

void tseed_holds_drop(tseed_holds_t *holds, tseed_job_t *job)
{
    tseed_holds_unpin(holds, job);
    if (job->accounts.holds) {
        for_pages(holds, job, drop);
        job->accounts.holds = 0;
    }
    if (job->accounts.levels) {
        tseed_durable_touch_levels(holds->uses.durable, job->run->booked);
        unmark(holds, job->run->booked, job);
        job->accounts.levels = 0;
    }
}

int tseed_holds_may_work(tseed_holds_t *holds, tseed_job_t *job)
{
    const int is_cut = job->request.stage == TSEED_STAGE_CUT;
    const int waits_for_shared = is_cut && job->run->booked->shared_due;

    if (is_cut && (holds->uses.marks->is_recounting || holds->uses.cache->is_loading ||
                   job->run->booked->is_late)) {
        return 0;
    }
    if (waits_for_shared) {
        tseed_marks_count_shared(holds->uses.marks, job->run->booked);
    }
    if (job->accounts.holds && job->request.stage != TSEED_STAGE_COUNT &&
        for_pages(holds, job, ask)) {
        return 0;
    }
    if (waits_for_shared || (job->accounts.levels & ~job->run->booked->marked)) {
        return 0;
    }
    return !tseed_run_excluder(holds->uses.runs->tasks, job) &&
           !tseed_run_excluder(holds->uses.runs->background, job);
}

static void complain(const tseed_job_t *job)
{
    tseed_log(
        TSEED_LOG_ERROR, APR_SUCCESS,
        "TS0036: what was changed in the cache of layer '%s' does not agree with its books; the "
        "tiles concerned are counted again",
        job->run->task->layer);
}

static void book_detached(tseed_holds_t *holds, tseed_job_t *job)
{
    tseed_book_tileset_t *booked = job->run->booked;
    tseed_effect_t moved;

    tseed_book_detach(&moved, holds->uses.cache->book, booked, job->metatile.wanted.z);
    tseed_marks_purge(holds->uses.marks, booked->record.root);
    holds->uses.session->must_save = holds->uses.session->must_record = 1;
}

int64_t tseed_holds_date(const tseed_holds_t *holds)
{
    return apr_time_sec(
        tseed_calendar_date(&holds->uses.context->calendar, tseed_clock_monotonic()));
}

/* How many of some tiles lie in a page. */
static int64_t tiles_in(const tseed_range_t *tiles, const tseed_page_t *page)
{
    const int64_t x = page->x * TSEED_PAGE_SIDE, y = page->y * TSEED_PAGE_SIDE;
    const tseed_range_t block = {page->z, x, y, x + TSEED_PAGE_SIDE - 1, y + TSEED_PAGE_SIDE - 1};
    const tseed_range_t common = tseed_range_intersect(tiles, &block);

    return tseed_range_count(&common);
}

/* A reseed is through with a metatile: all its tiles are new, or are what the upstream still says.
 * Each metatile of a task comes here once in the life of a seeder. */
static unsigned renew(tseed_holds_t *holds, const tseed_job_t *job, const tseed_page_t *page)
{
    const int64_t now = tseed_holds_date(holds);
    const int64_t began = apr_time_sec(job->run->progress.started);

    tseed_book_renew(holds->uses.cache->book, job->run->booked, page, job->run->task->id,
                     tiles_in(&job->metatile.wanted, page), began < now ? began : now);
    return 0;
}

/* Tiles that a job wrote before it had to wait may have been removed since: nobody knows whether
 * all its tiles are new. */
static int is_renewal(tseed_job_t *job)
{
    const int is_mere_look = job->savings.shade && !job->result.is_wrong; /* nothing was written */

    job->accounts.has_waited |= job->result.outcome != TSEED_JOB_OK && tseed_job_written(job) > 0;
    return job->result.outcome == TSEED_JOB_OK && !job->accounts.has_waited &&
           !job->accounts.is_stale && job->accounts.holds && !is_mere_look &&
           !job->run->is_background && job->run->task->type == TSEED_RESEED;
}

void tseed_holds_book(tseed_holds_t *holds, tseed_job_t *job)
{
    const tseed_writer_t writer = {job->run->task->id, tseed_holds_date(holds)};
    const tseed_line_t *line;
    unsigned cursor = 0;
    apr_status_t rv;

    while ((line = tseed_tally_next(&job->result.tally, &cursor)) != NULL) {
        rv = tseed_book_apply(holds->uses.cache->book, job->run->booked, &line->page, &line->effect,
                              job->request.stage == TSEED_STAGE_CUT ? &writer : NULL);
        if (rv != APR_SUCCESS) {
            complain(job);
        }
    }
    rv = tseed_book_share(holds->uses.cache->book, job->run->booked, &job->result.shared);
    if (rv != APR_SUCCESS) {
        complain(job);
        tseed_marks_count_shared(holds->uses.marks, job->run->booked);
    }
    if (job->result.is_detached) {
        book_detached(holds, job);
    }
    if (job->request.stage == TSEED_STAGE_CUT && is_renewal(job)) {
        for_pages(holds, job, renew);
    }
    tseed_account_release(&job->run->booked->chain, job->result.freed);
    tseed_job_booked(job);
}

/* ---- failed writes ---- */

static void doubt_jobs(tseed_run_t *runs, const tseed_book_tileset_t *booked)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        tseed_job_t *job = run->booked == booked ? run->jobs : NULL;

        for (; job; job = job->sibling) {
            if (job->request.stage == TSEED_STAGE_CUT &&
                (job->accounts.at_work || tseed_job_written(job) > 0)) {
                tseed_cutoff_doubt(job);
            }
        }
    }
}

void tseed_holds_doubt(tseed_holds_t *holds, tseed_book_tileset_t *booked)
{
    tseed_origins_forget_all(holds->uses.origins, booked);
    doubt_jobs(holds->uses.runs->tasks, booked);
    doubt_jobs(holds->uses.runs->background, booked);
    holds->uses.session->must_save = holds->uses.session->must_record = 1;
}

/* ---- once a tick ---- */

static void hit(void *data, uint64_t page_print, uint64_t hits)
{
    const tseed_holds_t *holds = data;
    const int64_t reads = hits < INT64_MAX ? (int64_t)hits : INT64_MAX; /* children may say any */

    tseed_book_hit(holds->uses.cache->book, page_print, reads, tseed_holds_date(holds));
}

/* Marks of levels that an earlier seeder has left, or that outlasted their job, have served when
 * all pages in doubt have been counted. */
static void unmark_counted(tseed_holds_t *holds)
{
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_next(holds->uses.cache->book, &i)) != NULL; i++) {
        unmark(holds, booked, NULL);
    }
}

void tseed_holds_tick(tseed_holds_t *holds)
{
    if (holds->uses.cache->is_loading) {
        return;
    }
    unmark_counted(holds);
    tseed_hits_drain(holds->uses.context->board, hit, holds);
    if (holds->uses.context->ticks % SWEEP_EVERY == 0) {
        tseed_durable_sweep(holds->uses.durable);
    }
}

static void tick(void *module, apr_time_t now)
{
    (void)now;
    tseed_holds_tick(module);
}

/* ---- made at the start ---- */

tseed_holds_t *tseed_holds_create(const tseed_holds_uses_t *uses)
{
    tseed_holds_t *holds = apr_pcalloc(uses->context->pool, sizeof(*holds));

    holds->uses = *uses;
    holds->client = (tseed_client_t){.module = holds, .tick = tick};
    return holds;
}

tseed_client_t *tseed_holds_client(tseed_holds_t *holds)
{
    return &holds->client;
}
