/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Counting: what pages and shared files hold on the disk.
 *
 * A page is counted for one of three reasons: a job waits for it; it was in doubt when the seeder
 * started; or a walk has found it on the disk and not in the book. Pages that a job waits for go
 * first. The others take at most one worker. A tile set whose count has failed is put off for a
 * minute, and no other one is.
 */
#include "books/tseed_count.h"

#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"

#define RETRY            (60 * APR_USEC_PER_SEC)
#define SEARCH_EVERY     APR_USEC_PER_SEC /* for doubts, when some that were found are put off */
#define RECOUNTS_AT_ONCE 64
#define CLOCKS_DIFFER    60        /* seconds, at most: of the disk and of this process */
#define LOOKS_AT_ONCE    (1 << 18) /* of pages, in milliseconds */

struct tseed_count_t {
    tseed_count_uses_t uses;
    int recounts;           /* jobs under way for pages that were marked at the start */
    size_t recount_cursor;  /* in the book: pages before it were begun */
    int has_late;           /* tile sets are late, perhaps */
    const char *late_root;  /* theirs is being recounted; or NULL */
    size_t late_cursor;     /* likewise */
    size_t doubt_cursor;    /* in the book */
    unsigned shared_cursor; /* number of a tile set */
    int is_put_off;         /* a doubt that was found since the cursor was at the begin */
    apr_time_t search_at;   /* monotonic: the next search for doubts from the begin */
    tseed_client_t client, doubts_client, marks_client;
};

static int is_counted(const tseed_run_t *run, const tseed_page_t *page)
{
    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        const tseed_range_t *tiles = &job->metatile.wanted;

        if (job->request.stage == TSEED_STAGE_COUNT && tiles->z == page->z &&
            tiles->minx == page->x * TSEED_PAGE_SIDE && tiles->miny == page->y * TSEED_PAGE_SIDE) {
            return 1;
        }
    }
    return 0;
}

void tseed_count_page(tseed_count_t *count, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    tseed_run_t *run = tseed_background_of(count->uses.background, booked);

    if (run && !is_counted(run, page)) {
        tseed_page_jobs_begin(
            count->uses.page_jobs,
            &(tseed_job_what_t){.client = &count->client, .run = run, .first = TSEED_STAGE_COUNT},
            page);
    }
}

/* No file was written later than now. A file whose date lies in the future was written nobody knows
 * when. */
static int64_t oldest_of(const tseed_count_t *count, const tseed_job_t *job)
{
    const int64_t now = tseed_holds_date(count->uses.holds);

    if (job->result.oldest < 0 || job->result.oldest > now + CLOCKS_DIFFER) {
        return 0;
    }
    return job->result.oldest < now ? job->result.oldest : now;
}

static void report(const tseed_job_t *job, const tseed_effect_t *difference)
{
    if (job->report) {
        job->report(job->report_module, difference);
    }
}

/* What the job was to count is in doubt as before. */
static void count_failed(tseed_count_t *count, tseed_job_t *job)
{
    job->run->booked->count_after = tseed_clock_monotonic() + RETRY;
    if (job->request.stage == TSEED_STAGE_COUNT_SHARED) {
        tseed_marks_doubt_shared(count->uses.marks, job->run->booked);
    }
    report(job, NULL);
    count->uses.no_store(count->uses.flow, job);
}

static void counted(tseed_count_t *count, tseed_job_t *job)
{
    const tseed_range_t *tiles = &job->metatile.wanted;
    const tseed_page_t page = {tiles->z, tiles->minx / TSEED_PAGE_SIDE,
                               tiles->miny / TSEED_PAGE_SIDE};
    tseed_effect_t difference = {0};

    if (job->result.outcome == TSEED_JOB_STOPPED) {
        return; /* the next seeder counts */
    }
    if (job->result.has_adopted) { /* what was counted before may have it as a tile's own file */
        tseed_marks_doubt_shared(count->uses.marks, job->run->booked);
        tseed_book_doubt_all(count->uses.cache->book, job->run->booked);
    }
    if (job->result.outcome != TSEED_JOB_OK) {
        count_failed(count, job);
        return;
    }
    if (job->request.stage == TSEED_STAGE_COUNT) {
        tseed_book_count(&difference, count->uses.cache->book, job->run->booked, &page,
                         &job->result.counted, oldest_of(count, job));
    } else {
        tseed_book_count_shared(&difference, count->uses.cache->book, job->run->booked,
                                &job->result.counted);
    }
    tseed_cache_counted(count->uses.cache, job->request.stage == TSEED_STAGE_COUNT,
                               &difference);
    report(job, &difference);
}

/* Returns 0 if no sweep can be begun now. */
static int sweep_shared(tseed_count_t *count, tseed_book_tileset_t *booked)
{
    const tseed_job_what_t what = {.client = &count->client, .first = TSEED_STAGE_SWEEP};
    const tseed_job_t *job = tseed_page_jobs_begin_shared(count->uses.page_jobs, &what, booked);

    if (job) {
        booked->sweep_due = 0;
        count->uses.marks->shared_due--;
    }
    return job != NULL;
}

/* Begins the next count or sweep of shared files that is due, one tile set after the other: there
 * may be many. A tile set that no job can be begun in, or none yet, has its turn again after all
 * others. */
static void shared_next(tseed_count_t *count)
{
    tseed_book_tileset_t *booked;
    int is_begun;

    do {
        booked = tseed_book_next_due(count->uses.cache->book, &count->shared_cursor);
    } while (booked && !tseed_count_may_retry(booked) && ++count->shared_cursor);
    if (!booked) {
        count->shared_cursor = 0;
        return;
    }
    is_begun = booked->shared_due ? tseed_count_shared(count, booked, NULL, NULL)
                                  : sweep_shared(count, booked);
    count->shared_cursor += !is_begun;
}

/* Shared files have no page: they are counted while nothing else goes on in the tile set. */
int tseed_count_shared(tseed_count_t *count, tseed_book_tileset_t *booked, tseed_report_t *wanted,
                       void *module)
{
    const tseed_job_what_t what = {.client = &count->client,
                                   .first = TSEED_STAGE_COUNT_SHARED,
                                   .report = wanted,
                                   .report_module = module};
    const tseed_job_t *job = tseed_page_jobs_begin_shared(count->uses.page_jobs, &what, booked);

    if (job) {
        count->uses.marks->shared_due -= booked->shared_due;
        booked->shared_due = 0;
    }
    return job != NULL;
}

void tseed_count_sweep(tseed_count_t *count, const char *root)
{
    count->uses.marks->shared_due += tseed_book_sweep_root(count->uses.cache->book, root);
}

static void swept(tseed_count_t *count, tseed_job_t *job)
{
    tseed_holds_book(count->uses.holds, job);
    if (job->result.outcome == TSEED_JOB_NO_STORE) {
        tseed_log(
            TSEED_LOG_ERROR, job->result.rv,
            "TS0034: can't remove shared files of layer '%s' below %s that no tile needs any more; "
            "the next truncate or start tries it again",
            job->run->task->layer, job->run->tileset.layer->store.root);
    }
}

/* Begins the recount: pages that an earlier seeder was at work in are counted before any tile is
 * written, and their unfinished files are removed. There may be any number of such pages, so the
 * search goes through the book once, a few pages at a time. Shared files have no marks: they are
 * counted tile set by tile set, and first where a job is about to write. The recount leaves out
 * levels that were being truncated: the disk has less there than the book, so no limit is exceeded
 * meanwhile.
 *
 * A store that hangs keeps no other from being written to: its tile sets are late. They have a
 * recount of their own once the store answers, and until then no tile is written in that store: the
 * recount removes unfinished files, which must not be of a job at work. */
void tseed_count_recount(tseed_count_t *count)
{
    count->uses.marks->is_recounting = 1;
    count->uses.marks->shared_due += tseed_book_make_shared_due(count->uses.cache->book);
}

/* Whether a store root hangs; a recount in it says so. */
static int hangs(const tseed_count_t *count, const char *root)
{
    const tseed_run_t *run = count->uses.runs->background;

    while (run && !(run->is_hung && strcmp(run->booked->record.root, root) == 0)) {
        run = run->next_run;
    }
    return run != NULL;
}

static void set_late(tseed_count_t *count, const char *root, int is_late)
{
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_next(count->uses.cache->book, &i)) != NULL; i++) {
        booked->is_late = strcmp(booked->record.root, root) == 0 ? is_late : booked->is_late;
    }
}

/* Jobs of the recount under way: of the late tile sets of a root, or of those that are not late. */
static int recounts_of(const tseed_count_t *count, const char *root)
{
    int jobs = 0;

    if (!root) {
        return count->recounts;
    }
    for (const tseed_run_t *run = count->uses.runs->background; run; run = run->next_run) {
        if (strcmp(run->booked->record.root, root) == 0) {
            for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
                jobs += job->is_recount;
            }
        }
    }
    return jobs;
}

static void pass_over_job(tseed_count_t *count, tseed_job_t *job)
{
    count->recounts -= job->is_recount && !job->accounts.is_overdue;
    tseed_page_jobs_pass_over(count->uses.page_jobs, job);
}

static void recount_page(tseed_count_t *count, const tseed_book_page_t *found, int is_late)
{
    tseed_run_t *run = tseed_background_of(count->uses.background, found->booked);

    if (run && !is_counted(run, &found->page)) {
        const tseed_job_what_t what = {
            .client = &count->client, .run = run, .first = TSEED_STAGE_COUNT, .is_recount = 1};
        tseed_job_t *job = tseed_page_jobs_begin(count->uses.page_jobs, &what, &found->page);

        count->recounts++;
        if (is_late) {
            pass_over_job(count, job);
        }
    }
}

/* Begins the next pages of the recount, of the late tile sets of a root or (NULL) of those that are
 * not late. Returns 0 when all are counted. */
static int recount_feed(tseed_count_t *count, const char *root, size_t *cursor)
{
    size_t looks = LOOKS_AT_ONCE;
    tseed_book_page_t found;

    while (recounts_of(count, root) < RECOUNTS_AT_ONCE) {
        if (tseed_book_in_doubt(count->uses.cache->book) == 0 ||
            !tseed_book_next_in_doubt(&found, count->uses.cache->book, cursor, &looks)) {
            return looks == 0 || recounts_of(count, root) > 0;
        }
        if ((root ? found.booked->is_late && strcmp(found.booked->record.root, root) == 0
                  : !found.booked->is_late) &&
            !(found.booked->record.doubtful >> found.page.z & 1)) {
            recount_page(count, &found, root != NULL);
        }
    }
    return 1;
}

/* Goes on with the recount of a root that answers again. */
static void late_feed(tseed_count_t *count)
{
    tseed_book_tileset_t *booked;
    const char *root = NULL;

    count->has_late = 0;
    for (unsigned i = 0; !root && (booked = tseed_book_next(count->uses.cache->book, &i)); i++) {
        count->has_late |= booked->is_late;
        root = booked->is_late && !hangs(count, booked->record.root) ? booked->record.root : NULL;
    }
    if (!root || !count->late_root || strcmp(root, count->late_root) != 0) {
        count->late_cursor = 0;
    }
    count->late_root = root;
    if (root && !recount_feed(count, root, &count->late_cursor)) {
        set_late(count, root, 0);
        count->late_root = NULL;
    }
}

/* ---- the client ---- */

static void feed(void *module)
{
    tseed_count_t *count = module;

    if (count->uses.cache->is_loading) {
        return;
    }
    if (count->uses.marks->is_recounting) {
        count->uses.marks->is_recounting = recount_feed(count, NULL, &count->recount_cursor);
    } else if (count->has_late) {
        late_feed(count);
    }
    if (tseed_page_jobs_count(count->uses.page_jobs) == 0 && count->uses.marks->shared_due > 0) {
        shared_next(count);
    }
}

/* Whether the search for pages goes on at once: no job is under way that would wake the loop. */
static apr_time_t due(const void *module)
{
    const tseed_count_t *count = module;

    return count->uses.marks->is_recounting && count->recounts == 0 ? count->uses.session->retry_at
                                                                    : INT64_MAX;
}

static void take(void *module, tseed_job_t *job)
{
    tseed_count_t *count = module;

    tseed_page_jobs_take(count->uses.page_jobs, job);
    count->recounts -= job->is_recount && !job->accounts.is_overdue;
    if (job->request.stage == TSEED_STAGE_SWEEP) {
        swept(count, job);
    } else {
        counted(count, job);
    }
    tseed_jobs_put_back(count->uses.jobs, job);
}

/* Counts in a store that hangs keep no other count waiting, and no write to another store. */
static void pass_over(tseed_count_t *count, const tseed_run_t *run, apr_time_t now)
{
    run->booked->count_after = now + RETRY;
    for (tseed_job_t *job = run->jobs; job; job = job->sibling) {
        if (job->request.stage > TSEED_STAGE_REMOVE) {
            pass_over_job(count, job);
        }
    }
    if (count->uses.marks->is_recounting) {
        set_late(count, run->booked->record.root, 1);
        count->has_late = 1;
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_count_t *count = module;

    for (tseed_run_t *run = count->uses.runs->background; run; run = run->next_run) {
        if (run->is_hung) {
            pass_over(count, run, now);
        }
    }
}

/* ---- pages in doubt, in the background ---- */

int tseed_count_may_retry(const tseed_book_tileset_t *booked)
{
    return tseed_clock_monotonic() >= booked->count_after;
}

int tseed_count_may_begin(const tseed_count_t *count)
{
    return !count->uses.cache->is_loading && tseed_page_jobs_count(count->uses.page_jobs) == 0;
}

/* Begins to count the next page in doubt in which no job is at work. The search may take some turns
 * of the loop. */
static void count_next(tseed_count_t *count)
{
    size_t looks = LOOKS_AT_ONCE;
    tseed_book_page_t found;

    while (
        tseed_book_next_in_doubt(&found, count->uses.cache->book, &count->doubt_cursor, &looks)) {
        if (!tseed_count_may_retry(found.booked) || found.booked->is_late) {
            count->is_put_off = 1;
        } else if (!found.pinned) {
            tseed_count_page(count, found.booked, &found.page);
            return;
        }
    }
    if (looks > 0) {
        count->doubt_cursor = 0;
        count->search_at = count->is_put_off ? tseed_clock_monotonic() + SEARCH_EVERY : 0;
        count->is_put_off = 0;
    }
}

static void feed_doubts(void *module)
{
    tseed_count_t *count = module;

    if (tseed_count_may_begin(count) && tseed_book_in_doubt(count->uses.cache->book) > 0 &&
        (count->doubt_cursor > 0 || tseed_clock_monotonic() >= count->search_at)) {
        count_next(count);
    }
}

/* ---- what jobs wait for ---- */

static void feed_marks(void *module)
{
    tseed_count_t *count = module;

    for (int i = 0; i < count->uses.marks->to_count->nelts; i++) {
        const tseed_count_mark_t *mark =
            &APR_ARRAY_IDX(count->uses.marks->to_count, i, tseed_count_mark_t);

        if (mark->page.z >= 0) {
            tseed_count_page(count, mark->booked, &mark->page);
        } else if (mark->booked->shared_due) {
            tseed_count_shared(count, mark->booked, NULL, NULL);
        }
    }
    apr_array_clear(count->uses.marks->to_count);
}

/* ---- the module ---- */

tseed_count_t *tseed_count_create(const tseed_count_uses_t *uses, apr_pool_t *pool)
{
    tseed_count_t *count = apr_pcalloc(pool, sizeof(*count));

    count->uses = *uses;
    count->client =
        (tseed_client_t){.module = count, .feed = feed, .take = take, .tick = tick, .due = due};
    count->doubts_client = (tseed_client_t){.module = count, .feed = feed_doubts};
    count->marks_client = (tseed_client_t){.module = count, .feed = feed_marks};
    return count;
}

tseed_client_t *tseed_count_client(tseed_count_t *count)
{
    return &count->client;
}

tseed_client_t *tseed_count_doubts_client(tseed_count_t *count)
{
    return &count->doubts_client;
}

tseed_client_t *tseed_count_marks_client(tseed_count_t *count)
{
    return &count->marks_client;
}
