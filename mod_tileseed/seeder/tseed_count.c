/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Counting: what pages and shared files hold, on the disk.
 *
 * A page is counted because a job waits for it, because it was in doubt when the seeder started, or
 * because a walk has found it on the disk and not in the book. The first goes before the others,
 * which take one worker at most.
 */
#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "usage/tseed_usage_status.h"

#define RETRY            (60 * APR_USEC_PER_SEC)
#define RECOUNTS_AT_ONCE 64
#define LOOKS_AT_ONCE    (1 << 18) /* of pages, in milliseconds */

static int is_counted(const tseed_run_t *run, const tseed_page_t *page)
{
    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        const tseed_range_t *tiles = &job->metatile.wanted;

        if (job->stage == TSEED_STAGE_COUNT && tiles->z == page->z &&
            tiles->minx == page->x * TSEED_PAGE_SIDE && tiles->miny == page->y * TSEED_PAGE_SIDE) {
            return 1;
        }
    }
    return 0;
}

void tseed_count_page(tseed_seeder_t *seeder, tseed_book_tileset_t *booked,
                      const tseed_page_t *page)
{
    tseed_run_t *run = tseed_background_of(seeder->background, booked);

    if (run && !is_counted(run, page)) {
        tseed_chores_begin_page(seeder, &tseed_count_client, run, page, TSEED_STAGE_COUNT);
    }
}

/* The store can't be looked at: tasks pause, guests are served without it. */
static void give_up(tseed_seeder_t *seeder, const tseed_job_t *count)
{
    tseed_run_t *standing = count->run;

    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        if (run->booked == standing->booked && run->ready.count > 0) {
            tseed_pump_pause(seeder, run, count);
        }
    }
    for (int waiting = standing->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&standing->ready);

        if (job->stage == TSEED_STAGE_CUT) {
            tseed_pump_work(seeder, job, TSEED_STAGE_CUT);
        } else {
            tseed_queue_put(&standing->ready, job);
        }
    }
}

static void report(const tseed_job_t *job, const tseed_effect_t *difference)
{
    if (job->report) {
        job->report(job->report_module, difference);
    }
}

static void counted(tseed_seeder_t *seeder, tseed_job_t *job)
{
    const tseed_range_t *tiles = &job->metatile.wanted;
    const tseed_page_t page = {tiles->z, tiles->minx / TSEED_PAGE_SIDE,
                               tiles->miny / TSEED_PAGE_SIDE};
    tseed_effect_t difference = {0};

    if (job->outcome == TSEED_JOB_STOPPED) {
        return; /* the next seeder counts */
    }
    if (job->outcome != TSEED_JOB_OK) { /* in doubt as before */
        seeder->count_after = tseed_clock_monotonic() + RETRY;
        report(job, NULL);
        give_up(seeder, job);
        return;
    }
    if (job->stage == TSEED_STAGE_COUNT) {
        tseed_book_count(&difference, seeder->cache->book, job->run->booked, &page, &job->counted);
    } else {
        tseed_book_count_shared(&difference, seeder->cache->book, job->run->booked, &job->counted);
    }
    tseed_usage_status_counted(seeder->cache, job->stage == TSEED_STAGE_COUNT, &difference);
    report(job, &difference);
}

/* What is due in shared files, one tile set after the other: they may be many. */
static void shared_next(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked = tseed_book_tileset(seeder->cache->book, seeder->shared_cursor);

    while (booked && !booked->shared_due && !booked->sweep_due) {
        booked = tseed_book_tileset(seeder->cache->book, ++seeder->shared_cursor);
    }
    if (!booked) {
        seeder->shared_cursor = 0;
    } else if (booked->shared_due) {
        tseed_count_shared(seeder, booked, NULL, NULL);
    } else if (tseed_chores_begin_shared(seeder, &tseed_count_client, booked, TSEED_STAGE_SWEEP)) {
        booked->sweep_due = 0;
        seeder->marks->shared_due--;
    }
}

/* Shared files have no page: they are counted while nothing else goes on in the tile set. */
int tseed_count_shared(tseed_seeder_t *seeder, tseed_book_tileset_t *booked, tseed_report_t *wanted,
                       void *module)
{
    tseed_job_t *job =
        tseed_chores_begin_shared(seeder, &tseed_count_client, booked, TSEED_STAGE_COUNT_SHARED);

    if (job) {
        job->report = wanted;
        job->report_module = module;
        seeder->marks->shared_due -= booked->shared_due;
        booked->shared_due = 0;
    }
    return job != NULL;
}

void tseed_count_sweep(tseed_seeder_t *seeder, tseed_book_tileset_t *booked)
{
    seeder->marks->shared_due += !booked->sweep_due;
    booked->sweep_due = 1;
}

static void swept(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_holds_book(seeder->holds, job);
    if (job->outcome == TSEED_JOB_NO_STORE) {
        tseed_log(TSEED_LOG_ERROR, job->rv,
                  "can't remove shared files of layer '%s' below %s that no tile needs any more; "
                  "the next truncate or start tries it again",
                  job->run->task->layer, job->run->tileset.layer->store.root);
    }
}

/* Before anything is written: pages that an earlier seeder was at work in, whose unfinished files
 * are dropped. Shared files have no marks: one tile set after the other, those first that somebody
 * is about to write in. Levels that were being truncated hold less than the book has: they can
 * wait. There may be any number of pages: they are gone through once, a few at a time. */
void tseed_count_recount(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked;

    seeder->marks->is_recounting = 1;
    for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
        booked->shared_due = booked->record.shared.files > 0 || booked->in_doubt > 0;
        seeder->marks->shared_due += booked->shared_due;
    }
}

static void recount_page(tseed_seeder_t *seeder, const tseed_book_page_t *found)
{
    tseed_run_t *run = tseed_background_of(seeder->background, found->booked);

    if (run && !is_counted(run, &found->page)) {
        tseed_chores_begin_page(seeder, &tseed_count_client, run, &found->page, TSEED_STAGE_COUNT)
            ->is_recount = 1;
        seeder->recounts++;
    }
}

/* Begins the next pages of the recount; ends it behind the last. */
static void recount_feed(tseed_seeder_t *seeder)
{
    size_t looks = LOOKS_AT_ONCE;
    tseed_book_page_t found;

    while (seeder->recounts < RECOUNTS_AT_ONCE) {
        if (tseed_book_in_doubt(seeder->cache->book) == 0 ||
            !tseed_book_next_in_doubt(&found, seeder->cache->book, &seeder->recount_cursor,
                                      &looks)) {
            seeder->marks->is_recounting = looks == 0 || seeder->recounts > 0;
            return;
        }
        if (!(found.booked->record.doubtful >> found.page.z & 1)) {
            recount_page(seeder, &found);
        }
    }
}

/* ---- the client ---- */

static void feed(void *module)
{
    tseed_seeder_t *seeder = module;
    if (seeder->cache->is_loading) {
        return;
    }
    if (seeder->marks->is_recounting) {
        recount_feed(seeder);
    }
    if (seeder->chores == 0 && seeder->marks->shared_due > 0) {
        shared_next(seeder);
    }
}

/* Whether the search for pages goes on at once: no job is under way that would wake the loop. */
static apr_time_t due(const void *module)
{
    const tseed_seeder_t *seeder = module;
    return seeder->marks->is_recounting && seeder->recounts == 0 ? seeder->session->retry_at
                                                                 : INT64_MAX;
}

static void take(void *module, tseed_job_t *job)
{
    tseed_seeder_t *seeder = module;
    tseed_chores_take(seeder, job);
    seeder->recounts -= job->is_recount;
    if (job->stage == TSEED_STAGE_SWEEP) {
        swept(seeder, job);
    } else {
        counted(seeder, job);
    }
    tseed_jobs_put_back(seeder->jobs, job);
}

tseed_client_t tseed_count_client = {.feed = feed, .take = take, .due = due};

/* ---- pages in doubt, in the background ---- */

int tseed_count_may_begin(const tseed_seeder_t *seeder)
{
    return !seeder->cache->is_loading && seeder->chores == 0 &&
           tseed_clock_monotonic() >= seeder->count_after;
}

/* The next page in doubt in which nobody is at work; the search may last for some turns. */
static void count_next(tseed_seeder_t *seeder)
{
    size_t looks = LOOKS_AT_ONCE;
    tseed_book_page_t found;

    while (tseed_book_next_in_doubt(&found, seeder->cache->book, &seeder->doubt_cursor, &looks)) {
        if (!found.pinned) {
            tseed_count_page(seeder, found.booked, &found.page);
            return;
        }
    }
    seeder->doubt_cursor = looks > 0 ? 0 : seeder->doubt_cursor;
}

static void feed_doubts(void *module)
{
    tseed_seeder_t *seeder = module;
    if (tseed_count_may_begin(seeder) && tseed_book_in_doubt(seeder->cache->book) > 0) {
        count_next(seeder);
    }
}

tseed_client_t tseed_count_doubts_client = {.feed = feed_doubts};

/* ---- what jobs wait for ---- */

static void feed_marks(void *module)
{
    tseed_seeder_t *seeder = module;
    for (int i = 0; i < seeder->marks->to_count->nelts; i++) {
        const tseed_count_mark_t *mark =
            &APR_ARRAY_IDX(seeder->marks->to_count, i, tseed_count_mark_t);

        if (mark->page.z >= 0) {
            tseed_count_page(seeder, mark->booked, &mark->page);
        } else if (mark->booked->shared_due) {
            tseed_count_shared(seeder, mark->booked, NULL, NULL);
        }
    }
    apr_array_clear(seeder->marks->to_count);
}

tseed_client_t tseed_count_marks_client = {.feed = feed_marks};
