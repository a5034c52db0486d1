/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The page loader: reads the pages of the book from the database, beside the work.
 *
 * There may be millions of pages. The tile sets are known at the start. Their pages come in
 * portions, one portion in each turn of the loop. Until the last page has come the book has less
 * than the disk, so nobody uses the book and nobody saves it:
 *
 *      tasks       are taken in and terminated, and begin later
 *      misses      get what the upstream gives, unstored; their jobs hold no page
 *      the quota   is configured; nothing is removed, counted or walked
 *      hits        stay on the board
 *      database    keeps what the last seeder has saved of the book
 *
 * A dead seeder may have renamed levels of a tile set away. All pages of such a tile set are loaded
 * at once, and the renaming is booked before the loop begins.
 */
#include "books/tseed_page_loader.h"

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "state/tseed_books.h"
#include "state/tseed_finding_rows.h"
#include "state/tseed_origin_rows.h"
#include "work/tseed_heartbeat.h"

#define PAGES_AT_ONCE 1024
#define STEP          (APR_USEC_PER_SEC / 100) /* no portion is begun after that in a turn */
#define DOUBTS_FEW    1000

struct tseed_page_loader_t {
    tseed_context_t *context;
    tseed_session_t *session;
    const tseed_runs_t *runs;
    tseed_cache_t *cache;
    tseed_holds_t *holds;

    int is_lost;       /* another database is in the place of the one that is read */
    unsigned tileset;  /* number of the tile set it is at, */
    int is_within;     /* in the midst of it, */
    tseed_page_t last; /* behind this page */
    apr_time_t began;  /* monotonic: this portion */
    apr_pool_t *pool;
    apr_array_header_t *doubts; /* of tseed_page_record_t: those that are marked */
};

tseed_page_loader_t *tseed_page_loader_create(tseed_context_t *context, tseed_session_t *session,
                                              const tseed_runs_t *runs, tseed_cache_t *cache,
                                              tseed_holds_t *holds)
{
    tseed_page_loader_t *loader = apr_pcalloc(context->pool, sizeof(*loader));

    loader->context = context;
    loader->session = session;
    loader->runs = runs;
    loader->cache = cache;
    loader->holds = holds;
    return loader;
}

/* ---- pages ---- */

static void load_page(tseed_page_loader_t *loader, tseed_book_tileset_t *booked,
                      const tseed_page_record_t *record)
{
    tseed_book_load(loader->cache->book, booked, record);
    loader->last = record->page;
    tseed_calendar_show(&loader->context->calendar, apr_time_from_sec((uint32_t)record->accessed),
                        loader->began);
    if (record->dirty) {
        APR_ARRAY_PUSH(loader->doubts, tseed_page_record_t) = *record;
    }
}

/* The next pages of a tile set. */
static apr_status_t load_portion(tseed_page_loader_t *loader, tseed_book_tileset_t *booked)
{
    apr_array_header_t *pages;
    apr_pool_t *pool;
    apr_status_t rv;

    apr_pool_create(&pool, loader->context->scratch);
    loader->began = tseed_clock_monotonic();
    rv = tseed_books_pages(loader->session->state, &pages, booked->record.id,
                           loader->is_within ? &loader->last : NULL, PAGES_AT_ONCE, pool);
    for (int i = 0; rv == APR_SUCCESS && i < pages->nelts; i++) {
        load_page(loader, booked, &APR_ARRAY_IDX(pages, i, tseed_page_record_t));
    }
    if (rv == APR_SUCCESS) {
        loader->is_within = pages->nelts == PAGES_AT_ONCE;
        booked->loaded = !loader->is_within;
    }
    apr_pool_destroy(pool);
    return rv;
}

apr_status_t tseed_page_loader_load(tseed_page_loader_t *loader, tseed_book_tileset_t *booked)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !booked->loaded) {
        rv = load_portion(loader, booked);
    }
    return rv;
}

/* ---- answers ---- */

/* Forgets the origins of whole levels. This takes seconds where there are many pages in doubt. The
 * next reseed has more to make then. */
static apr_status_t forget_levels(tseed_page_loader_t *loader, const apr_array_header_t *doubts)
{
    apr_status_t rv = APR_SUCCESS;
    uint64_t levels = 0;

    for (int i = 0; rv == APR_SUCCESS && i < doubts->nelts; i++) {
        const tseed_page_record_t *record = &APR_ARRAY_IDX(doubts, i, tseed_page_record_t);
        const int is_last = i + 1 == doubts->nelts || record[1].tileset != record->tileset;

        levels |= UINT64_C(1) << record->page.z;
        if (is_last) {
            rv = tseed_origin_rows_doubt_levels(loader->session->state, record->tileset, levels);
            levels = 0;
        }
    }
    return rv;
}

static apr_status_t forget_pages(tseed_page_loader_t *loader, const apr_array_header_t *doubts)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < doubts->nelts; i++) {
        const tseed_page_record_t *record = &APR_ARRAY_IDX(doubts, i, tseed_page_record_t);

        rv = tseed_origin_rows_doubt(loader->session->state, record->tileset, &record->page);
    }
    return rv;
}

/* Tiles of any colour may lie in pages in doubt. */
static apr_status_t doubt_findings(tseed_page_loader_t *loader, const apr_array_header_t *doubts)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0, deepest = 0; rv == APR_SUCCESS && i < doubts->nelts; i++) {
        const tseed_page_record_t *record = &APR_ARRAY_IDX(doubts, i, tseed_page_record_t);
        const int is_last = i + 1 == doubts->nelts || record[1].tileset != record->tileset;

        deepest = record->page.z > deepest ? record->page.z : deepest;
        if (is_last) {
            rv = tseed_finding_rows_doubt(loader->session->state, record->tileset, deepest);
            deepest = 0;
        }
    }
    return rv;
}

/* Forgets the origins of pages in doubt. */
static apr_status_t forget_answers(tseed_page_loader_t *loader, const apr_array_header_t *doubts)
{
    apr_status_t rv = doubts->nelts ? tseed_state_begin(loader->session->state) : APR_SUCCESS;

    if (rv == APR_SUCCESS) {
        rv = doubts->nelts > DOUBTS_FEW ? forget_levels(loader, doubts)
                                        : forget_pages(loader, doubts);
    }
    if (rv == APR_SUCCESS) {
        rv = doubt_findings(loader, doubts);
    }
    if (doubts->nelts == 0) {
        return rv;
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(loader->session->state);
    }
    tseed_state_rollback(loader->session->state);
    return rv;
}

/* ---- the end ---- */

/* Jobs of misses that are under way hold their pages from now on. */
static void hold_pages(tseed_page_loader_t *loader)
{
    for (tseed_run_t *run = loader->runs->background; run; run = run->next_run) {
        for (tseed_job_t *job = run->jobs; job; job = job->sibling) {
            tseed_holds_hold(loader->holds, job);
        }
    }
}

/* Whether the database is still the database of the tile sets. If another one has taken its place,
 * no pages were read from it. */
static apr_status_t look_for_tilesets(int *there, tseed_page_loader_t *loader)
{
    apr_array_header_t *records;
    const tseed_book_tileset_t *booked;
    unsigned known = 0;
    apr_status_t rv =
        tseed_books_tilesets(loader->session->state, &records, loader->context->scratch);

    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        booked = tseed_book_find(loader->cache->book, record->print);
        known += booked && booked->record.id == record->id &&
                 booked->record.complete <= record->complete;
    }
    *there = known >= tseed_book_tilesets(loader->cache->book);
    return rv;
}

static apr_status_t end(tseed_page_loader_t *loader)
{
    tseed_heartbeat_t *heartbeat;
    int there;
    apr_status_t rv = look_for_tilesets(&there, loader);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!there) {
        loader->is_lost = 1;
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                  "TS0045: the state database below %s was replaced while the books of the disk "
                  "usage were read; the seeder starts anew",
                  loader->context->settings->state_dir);
        return APR_SUCCESS;
    }
    heartbeat = tseed_heartbeat_begin(loader->context->board, TSEED_LONGEST_STEP);
    rv = forget_answers(loader, loader->doubts);
    tseed_heartbeat_end(heartbeat);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    apr_pool_destroy(loader->pool);
    loader->cache->is_loading = 0;
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "TS0075: the books of the disk usage are read: %" APR_INT64_T_FMT " pages",
              tseed_book_pages(loader->cache->book));
    hold_pages(loader);
    return APR_SUCCESS;
}

/* ---- beside the work ---- */

void tseed_page_loader_begin(tseed_page_loader_t *loader)
{
    loader->is_lost = loader->is_within = 0;
    loader->tileset = 0;
    apr_pool_create(&loader->pool, loader->cache->pool);
    loader->doubts = apr_array_make(loader->pool, 16, sizeof(tseed_page_record_t));
}

void tseed_page_loader_go(tseed_page_loader_t *loader)
{
    loader->cache->is_loading = 1;
    tseed_book_expect(loader->cache->book,
                      loader->cache->expected - tseed_book_pages(loader->cache->book));
}

/* The next portion, or the end. */
static apr_status_t go_on(tseed_page_loader_t *loader)
{
    tseed_book_tileset_t *booked = tseed_book_next_unloaded(loader->cache->book, &loader->tileset);

    return booked ? load_portion(loader, booked) : end(loader);
}

int tseed_page_loader_turn(tseed_page_loader_t *loader)
{
    const int was_going = loader->cache->is_loading;
    const apr_time_t until = tseed_clock_monotonic() + STEP;
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && loader->cache->is_loading && !loader->is_lost &&
           tseed_clock_monotonic() >= loader->session->retry_at &&
           tseed_clock_monotonic() < until) {
        rv = go_on(loader);
    }
    if (rv != APR_SUCCESS) {
        tseed_session_fail(loader->session, rv, "read the books of the disk usage");
    }
    return was_going && !loader->cache->is_loading;
}

int tseed_page_loader_is_lost(const tseed_page_loader_t *loader)
{
    return loader->is_lost;
}

/* The rows of the tile sets said how many pages to expect. Pages that are marked may not be in
 * these numbers yet. */
const char *tseed_page_loader_reason(const tseed_page_loader_t *loader)
{
    const int64_t read = tseed_book_pages(loader->cache->book), expected = loader->cache->expected;

    return apr_psprintf(loader->context->scratch,
                        "waits until the books of the disk usage are read: %" APR_INT64_T_FMT
                        " of %" APR_INT64_T_FMT " pages so far",
                        read, expected > read ? expected : read);
}
