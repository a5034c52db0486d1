/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What an eviction begins, and when. Its neighbours are replaced: a job that it begins holds the
 * page for good. The clock stands at `now`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "books/tseed_evict.h"
#include "pool_fixture.h"
#include "state/tseed_books.h"
#include "work/tseed_workers.h"

static apr_time_t now;
static tseed_run_t run;
static tseed_cache_t cache;
static int begun;

/* ---- neighbours ---- */

int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = apr_time_sec(now), .tv_nsec = apr_time_usec(now) * 1000};
    return 0;
}

tseed_run_t *tseed_background_of(tseed_background_t *background, tseed_book_tileset_t *booked)
{
    (void)background;
    run.booked = booked;
    return &run;
}

tseed_job_t *tseed_page_jobs_begin(tseed_page_jobs_t *page_jobs, const tseed_job_what_t *what,
                                   const tseed_page_t *page)
{
    (void)page_jobs;
    assert_int_equal(what->first, TSEED_STAGE_REMOVE);
    tseed_book_hold(cache.book, what->run->booked, page);
    begun++;
    return NULL;
}

void tseed_page_jobs_take(tseed_page_jobs_t *page_jobs, const tseed_job_t *job)
{
    (void)page_jobs;
    (void)job;
}

void tseed_page_jobs_pass_over(tseed_page_jobs_t *page_jobs, tseed_job_t *job)
{
    (void)page_jobs;
    (void)job;
}

const tseed_want_t *tseed_quota_wait_wanted(const tseed_quota_wait_t *wait)
{
    (void)wait;
    return NULL;
}

void tseed_quota_wait_forget(tseed_quota_wait_t *wait)
{
    (void)wait;
}

void tseed_quota_wait_wake(tseed_quota_wait_t *wait)
{
    (void)wait;
}

void tseed_quota_wait_say(tseed_quota_wait_t *wait, const tseed_account_t *account, const char *why)
{
    (void)wait;
    (void)account;
    (void)why;
}

int tseed_quota_wait_has_room(const tseed_account_t *account, tseed_amount_t amount,
                              tseed_amount_t leaving)
{
    (void)account;
    (void)amount;
    (void)leaving;
    return 1;
}

void tseed_holds_book(tseed_holds_t *holds, tseed_job_t *job)
{
    (void)holds;
    (void)job;
}

void tseed_jobs_put_back(tseed_jobs_t *jobs, tseed_job_t *job)
{
    (void)jobs;
    (void)job;
}

int tseed_count_shared(tseed_count_t *count, tseed_book_tileset_t *booked, tseed_report_t *report,
                       void *module)
{
    (void)count;
    (void)booked;
    (void)report;
    (void)module;
    return 1;
}

apr_status_t tseed_books_note_get(tseed_state_t *state, const char **value, const char *name,
                                  apr_pool_t *scratch)
{
    (void)state;
    (void)value;
    (void)name;
    (void)scratch;
    return APR_NOTFOUND;
}

apr_status_t tseed_books_note_set(tseed_state_t *state, const char *name, const char *value)
{
    (void)state;
    (void)name;
    (void)value;
    return APR_SUCCESS;
}

void tseed_workers_block_set(tseed_workers_t *workers, int64_t block)
{
    (void)workers;
    (void)block;
}

/* ---- tile sets that leave ---- */

/* Jobs hold pages of a tile set that is to go. Each look goes over all pages: there is one a
 * second, and one at once where more may be left. */
static void test_evict__looks_once_a_second_for_pages_that_jobs_hold(void **state)
{
    static const tseed_effect_t tile = {1, 1, 1000, 1024};
    static const tseed_writer_t writer = {1, 1790000000};
    static const tseed_page_t pages[] = {{5, 0, 0}, {5, 1, 0}, {5, 2, 0}};
    tseed_settings_t settings = {.quota_files = TSEED_NO_LIMIT};
    const tseed_tileset_record_t record = {.id = 1,
                                           .print = 1000003,
                                           .key = "roads",
                                           .layer = "roads",
                                           .gridset = "EPSG:4326",
                                           .format = "image/png",
                                           .parameters = "{}",
                                           .root = "/cache",
                                           .place = "",
                                           .complete = 1};
    const tseed_context_t context = {.pool = pool, .scratch = pool, .settings = &settings};
    const tseed_evict_uses_t uses = {.context = &context, .cache = &cache};
    tseed_quota_config_t config;
    tseed_book_tileset_t *booked;
    tseed_client_t *client;
    tseed_chain_t chain;

    (void)state;
    now = 1000 * APR_USEC_PER_SEC;
    tseed_quota_config_init(&config, 4096, pool);
    config.concurrent_cleanups = 3;
    cache = (tseed_cache_t){.book = tseed_book_create(pool),
                            .cleaner = tseed_cleaner_create(&settings, pool)};
    tseed_cleaner_configure(cache.cleaner, &config, 1);
    chain = tseed_cleaner_chain(cache.cleaner, "roads", "/cache");
    booked = tseed_book_add(cache.book, &record, &chain, 0);
    for (int i = 0; i < 3; i++) {
        tseed_account_correct(&booked->chain, (tseed_amount_t){1024, 1});
        assert_int_equal(tseed_book_apply(cache.book, booked, &pages[i], &tile, &writer), 0);
    }
    tseed_book_hold(cache.book, booked, &pages[0]);
    tseed_book_hold(cache.book, booked, &pages[1]);
    tseed_book_set_leaving(cache.book, booked, 1);
    client = tseed_evict_client(tseed_evict_create(&uses));
    client->feed(client->module);
    assert_int_equal(begun, 1);
    assert_int_equal(client->due(client->module), now + APR_USEC_PER_SEC);
    tseed_book_drop(cache.book, booked, &pages[1]);
    now += APR_USEC_PER_SEC - 1;
    client->feed(client->module);
    assert_int_equal(begun, 1);
    now++;
    client->feed(client->module);
    assert_int_equal(begun, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evict__looks_once_a_second_for_pages_that_jobs_hold),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
