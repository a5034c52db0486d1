/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The loader: the pages of the books out of the database, beside the work.
 *
 * There may be millions of them. The tile sets are known at the start; their pages come in
 * portions, one each turn of the loop. Until the last of them has come the books say less than the
 * disk has, so nobody believes them and nobody writes them:
 *
 *      tasks       are taken in and terminated, and begin later
 *      guests      get what the upstream gives, unstored; their jobs hold no page
 *      the quota   is configured; nothing is removed, counted or walked
 *      hits        stay on the board
 *      database    keeps what the last seeder has saved of the books
 *
 * What a dead seeder has renamed away is booked before the loop begins: the pages of such a tile
 * set are loaded at once, all of them (tseed_heritage.c).
 */
#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "work/tseed_heartbeat.h"
#include "state/tseed_answers.h"
#include "state/tseed_books.h"

#define PAGES_AT_ONCE 1024
#define STEP          (APR_USEC_PER_SEC / 100) /* no portion is begun after that in a turn */
#define DOUBTS_FEW    1000

/* ---- pages ---- */

static void load_page(tseed_seeder_t *seeder, tseed_book_tileset_t *booked,
                      const tseed_page_record_t *record)
{
    tseed_loader_t *loader = &seeder->loader;

    tseed_book_load(seeder->cache->book, booked, record);
    loader->last = record->page;
    tseed_calendar_show(&seeder->context->calendar, apr_time_from_sec((uint32_t)record->accessed),
                        loader->began);
    if (record->dirty) {
        APR_ARRAY_PUSH(loader->doubts, tseed_page_record_t) = *record;
    }
}

/* The next pages of a tile set. */
static apr_status_t load_portion(tseed_seeder_t *seeder, tseed_book_tileset_t *booked)
{
    tseed_loader_t *loader = &seeder->loader;
    apr_array_header_t *pages;
    apr_pool_t *pool;
    apr_status_t rv;

    apr_pool_create(&pool, seeder->context->scratch);
    loader->began = tseed_clock_monotonic();
    rv = tseed_books_pages(seeder->session->state, &pages, booked->record.id,
                           loader->is_within ? &loader->last : NULL, PAGES_AT_ONCE, pool);
    for (int i = 0; rv == APR_SUCCESS && i < pages->nelts; i++) {
        load_page(seeder, booked, &APR_ARRAY_IDX(pages, i, tseed_page_record_t));
    }
    if (rv == APR_SUCCESS) {
        loader->is_within = pages->nelts == PAGES_AT_ONCE;
        booked->loaded = !loader->is_within;
    }
    apr_pool_destroy(pool);
    return rv;
}

apr_status_t tseed_loader_load(tseed_seeder_t *seeder, tseed_book_tileset_t *booked)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !booked->loaded) {
        rv = load_portion(seeder, booked);
    }
    return rv;
}

/* ---- answers ---- */

/* Where there are many, all of their levels are forgotten: in seconds, for a reseed that has more
 * to make. */
static apr_status_t forget_levels(tseed_seeder_t *seeder, const apr_array_header_t *doubts)
{
    apr_status_t rv = APR_SUCCESS;
    uint64_t levels = 0;

    for (int i = 0; rv == APR_SUCCESS && i < doubts->nelts; i++) {
        const tseed_page_record_t *record = &APR_ARRAY_IDX(doubts, i, tseed_page_record_t);
        const int is_last = i + 1 == doubts->nelts || record[1].tileset != record->tileset;

        levels |= UINT64_C(1) << record->page.z;
        if (is_last) {
            rv = tseed_answers_doubt_levels(seeder->session->state, record->tileset, levels);
            levels = 0;
        }
    }
    return rv;
}

static apr_status_t forget_pages(tseed_seeder_t *seeder, const apr_array_header_t *doubts)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < doubts->nelts; i++) {
        const tseed_page_record_t *record = &APR_ARRAY_IDX(doubts, i, tseed_page_record_t);

        rv = tseed_answers_doubt(seeder->session->state, record->tileset, &record->page);
    }
    return rv;
}

/* Of what pages in doubt came from nothing is known any more. */
static apr_status_t forget_answers(tseed_seeder_t *seeder, const apr_array_header_t *doubts)
{
    apr_status_t rv = doubts->nelts ? tseed_state_begin(seeder->session->state) : APR_SUCCESS;

    if (rv == APR_SUCCESS) {
        rv = doubts->nelts > DOUBTS_FEW ? forget_levels(seeder, doubts)
                                        : forget_pages(seeder, doubts);
    }
    if (doubts->nelts == 0) {
        return rv;
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(seeder->session->state);
    }
    tseed_state_rollback(seeder->session->state);
    return rv;
}

/* ---- the end ---- */

/* Guests' jobs that go on hold their pages from now on. */
static void hold_pages(tseed_seeder_t *seeder)
{
    for (tseed_run_t *run = seeder->runs->background; run; run = run->next_run) {
        for (tseed_job_t *job = run->jobs; job; job = job->sibling) {
            tseed_holds_hold(seeder->holds, job);
        }
    }
}

/* Whether the database still is the one that the tile sets came from: another one in its place has
 * had no pages to give. */
static apr_status_t look_for_tilesets(int *there, tseed_seeder_t *seeder)
{
    apr_array_header_t *records;
    const tseed_book_tileset_t *booked;
    unsigned known = 0;
    apr_status_t rv =
        tseed_books_tilesets(seeder->session->state, &records, seeder->context->scratch);

    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        booked = tseed_book_find(seeder->cache->book, record->print);
        known += booked && booked->record.id == record->id &&
                 booked->record.complete <= record->complete;
    }
    *there = tseed_book_tileset(seeder->cache->book, known) == NULL;
    return rv;
}

static apr_status_t end(tseed_seeder_t *seeder)
{
    tseed_heartbeat_t *pulse;
    int there;
    apr_status_t rv = look_for_tilesets(&there, seeder);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!there) {
        seeder->loader.is_lost = 1;
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                  "the state database below %s was replaced while the books of the disk usage were "
                  "read; the seeder starts anew",
                  seeder->context->settings->state_dir);
        return APR_SUCCESS;
    }
    pulse = tseed_heartbeat_begin(seeder->context->board, TSEED_LONGEST_STEP);
    rv = forget_answers(seeder, seeder->loader.doubts);
    tseed_heartbeat_end(pulse);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    apr_pool_destroy(seeder->loader.pool);
    seeder->cache->is_loading = 0;
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "the books of the disk usage are read: %" APR_INT64_T_FMT " pages",
              tseed_book_pages(seeder->cache->book));
    hold_pages(seeder);
    return APR_SUCCESS;
}

/* ---- beside the work ---- */

void tseed_loader_begin(tseed_seeder_t *seeder, apr_pool_t *pool)
{
    seeder->loader = (tseed_loader_t){0};
    apr_pool_create(&seeder->loader.pool, pool);
    seeder->loader.doubts = apr_array_make(seeder->loader.pool, 16, sizeof(tseed_page_record_t));
}

void tseed_loader_expect(tseed_seeder_t *seeder, int64_t pages)
{
    tseed_loader_t *loader = &seeder->loader;

    if (pages > 0 && pages < INT64_MAX - loader->expected) {
        loader->expected += pages;
    }
}

void tseed_loader_go(tseed_seeder_t *seeder)
{
    seeder->cache->is_loading = 1;
    tseed_book_expect(seeder->cache->book,
                      seeder->loader.expected - tseed_book_pages(seeder->cache->book));
}

/* The next portion, or the end. */
static apr_status_t go_on(tseed_seeder_t *seeder)
{
    tseed_loader_t *loader = &seeder->loader;
    tseed_book_tileset_t *booked;

    while ((booked = tseed_book_tileset(seeder->cache->book, loader->tileset)) != NULL &&
           booked->loaded) {
        loader->tileset++;
    }
    return booked ? load_portion(seeder, booked) : end(seeder);
}

int tseed_loader_turn(tseed_seeder_t *seeder)
{
    const tseed_loader_t *loader = &seeder->loader;
    const int was_going = seeder->cache->is_loading;
    const apr_time_t until = tseed_clock_monotonic() + STEP;
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && seeder->cache->is_loading && !loader->is_lost &&
           tseed_clock_monotonic() >= seeder->session->retry_at &&
           tseed_clock_monotonic() < until) {
        rv = go_on(seeder);
    }
    if (rv != APR_SUCCESS) {
        tseed_session_fail(seeder->session, rv, "read the books of the disk usage");
    }
    return was_going && !seeder->cache->is_loading;
}

/* What was expected is what the rows of the tile sets say, which pages that are marked may not yet
 * be in. */
const char *tseed_loader_reason(const tseed_seeder_t *seeder)
{
    const int64_t read = tseed_book_pages(seeder->cache->book), expected = seeder->loader.expected;

    return apr_psprintf(seeder->context->scratch,
                        "waits until the books of the disk usage are read: %" APR_INT64_T_FMT
                        " of %" APR_INT64_T_FMT " pages so far",
                        read, expected > read ? expected : read);
}
