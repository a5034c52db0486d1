/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The free space of store roots, where one root's file system answers only when the test lets it:
 * nobody waits for that root, and nothing is written there before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/statvfs.h>

#include "books/tseed_free_space.h"
#include "books/tseed_quota_wait.h"
#include "counters_fixture.h"
#include "pool_fixture.h"

#define FREE         (1000 * 4096) /* bytes in each file system */
#define MIN_FREE     4000000
#define USED         10000        /* bytes in each root's account at the start */
#define ROOM         96000        /* FREE - MIN_FREE */
#define TEST_TIMEOUT (300 * 1000) /* milliseconds, far beyond what a slow machine needs */

static sem_t asked;   /* one for each call that the slow file system has heard, */
static sem_t answers; /* and one for each that it may answer */

/* The seeder frees no root, and the leak sanitizer does not look into APR's pools. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

/* Instead of the C library's. */
int statvfs(const char *path, struct statvfs *info)
{
    if (strcmp(path, "/slow") == 0) {
        sem_post(&asked);
        while (sem_wait(&answers) != 0) {
        }
    }
    *info = (struct statvfs){.f_bavail = FREE / 4096, .f_frsize = 4096};
    return 0;
}

static tseed_settings_t settings;
static tseed_context_t context;
static tseed_cache_t *cache;
static tseed_chain_t slow, quick;
static tseed_free_space_t *space;

static void open_roots(void)
{
    cache = apr_pcalloc(pool, sizeof(*cache));
    cache->cleaner = tseed_cleaner_create(&settings, pool);
    slow = tseed_cleaner_chain(cache->cleaner, "roads", "/slow");
    quick = tseed_cleaner_chain(cache->cleaner, "rivers", "/quick");
    tseed_account_correct(&slow, (tseed_amount_t){USED, 1});
    tseed_account_correct(&quick, (tseed_amount_t){USED, 1});
    space = tseed_free_space_create(&context, cache);
}

/* Threads of an earlier test may still be at work: what they have stays. */
static int setup(void **state)
{
    (void)state;
    settings = (tseed_settings_t){.min_free = MIN_FREE, .quota_files = TSEED_NO_LIMIT};
    context = (tseed_context_t){.settings = &settings,
                                .pool = pool,
                                .scratch = pool,
                                .board = board_for_counters(),
                                .mailbox = apr_pcalloc(pool, sizeof(tseed_mailbox_t))};
    open_roots();
    return tseed_mailbox_init(context.mailbox);
}

/* Takes letters until the root has been measured. */
static void await_measure(const char *root)
{
    struct pollfd mail = {.fd = context.mailbox->wake, .events = POLLIN};

    while (tseed_free_space_get(space, root) == INT64_MAX) {
        assert_true(poll(&mail, 1, TEST_TIMEOUT) > 0);
        tseed_mailbox_take(context.mailbox);
    }
}

static void let_slow_answer(void)
{
    sem_wait(&asked);
    sem_post(&answers);
    await_measure("/slow");
}

static void assert_slow_is_not_asked(void)
{
    int count;

    sem_getvalue(&asked, &count);
    assert_int_equal(count, 0);
}

static void tick(void)
{
    tseed_client_t *client = tseed_free_space_client(space);

    client->tick(client->module, 0);
}

static int64_t limit_of(const tseed_chain_t *chain)
{
    return tseed_account_limit(chain->root).bytes;
}

static void test_free_space__of_one_root_holds_up_no_other(void **state)
{
    (void)state;
    tseed_free_space_begin(space);
    await_measure("/quick");
    assert_int_equal(tseed_free_space_get(space, "/quick"), FREE);
    assert_int_equal(limit_of(&quick), USED + ROOM);
    assert_true(tseed_free_space_get(space, "/slow") == INT64_MAX);
    let_slow_answer();
    assert_int_equal(limit_of(&slow), USED + ROOM);
}

static void test_free_space__lets_nothing_be_written_before_it_is_known(void **state)
{
    (void)state;
    tseed_free_space_begin(space);
    assert_ptr_equal(tseed_account_charge(&slow, (tseed_amount_t){1, 1}), slow.root);
    assert_int_equal(tseed_account_excess(slow.root).bytes, 0);
    let_slow_answer();
    assert_null(tseed_account_charge(&slow, (tseed_amount_t){ROOM, 1}));
    assert_ptr_equal(tseed_account_charge(&slow, (tseed_amount_t){1, 1}), slow.root);
}

static void test_free_space__is_measured_once_at_a_time(void **state)
{
    (void)state;
    tseed_free_space_begin(space);
    tick();
    tick();
    let_slow_answer();
    assert_slow_is_not_asked();
    tick();
    let_slow_answer();
}

/* A measure may have seen what was written meanwhile, or not. */
static void test_free_space__goes_by_the_lesser_use(void **state)
{
    (void)state;
    tseed_free_space_begin(space);
    tseed_account_correct(&slow, (tseed_amount_t){5000, 1});
    tseed_account_correct(&quick, (tseed_amount_t){-4000, 0});
    let_slow_answer();
    await_measure("/quick");
    assert_int_equal(limit_of(&slow), USED + ROOM);
    assert_int_equal(limit_of(&quick), USED - 4000 + ROOM);
}

/* People want to know how much is free; nothing is limited by it. */
static void test_free_space__limits_nothing_without_a_floor(void **state)
{
    (void)state;
    settings.min_free = 0;
    open_roots();
    assert_null(tseed_account_charge(&slow, (tseed_amount_t){INT64_MAX / 2, 1}));
    tseed_free_space_begin(space);
    let_slow_answer();
    assert_int_equal(tseed_free_space_get(space, "/slow"), FREE);
    context.ticks = 11;
    tick();
    assert_slow_is_not_asked();
    assert_null(tseed_account_charge(&slow, (tseed_amount_t){1, 1}));
}

/* The run is `terminated`, so that nothing of it is shown on a board. */
static void test_free_space__is_waited_for_by_a_run(void **state)
{
    static tseed_session_t session;
    tseed_task_t task = {.id = 7, .layer = "roads"};
    tseed_book_tileset_t booked = {.chain = slow};
    tseed_run_t run = {.task = &task, .booked = &booked, .terminated = 1};
    tseed_runs_t runs = {.tasks = &run};
    tseed_job_t job = {.run = &run, .result.refused = slow.root, .result.needed = 4096};
    tseed_server_counts_t counts;
    tseed_quota_wait_t *wait = tseed_quota_wait_create(
        &context, &runs, space,
        tseed_display_create(&context, &session, tseed_durable_create(cache, pool)));

    (void)state;
    tseed_free_space_begin(space);
    assert_null(tseed_quota_wait_refuse(wait, &job));
    tseed_quota_wait_put(wait, &job);
    tseed_quota_wait_say(wait, NULL, "nothing may be expired");
    assert_string_equal(run.progress.reason,
                        "paused: the free space of the layer's store is not known yet");
    assert_ptr_equal(run.short_of, slow.root);
    tseed_counters_server(context.board, &counts);
    assert_int_equal(counts.counts[TSEED_COUNT_QUOTA_REFUSALS], 1);
    assert_null(tseed_quota_wait_wanted(wait));
    let_slow_answer();
    assert_non_null(tseed_quota_wait_wanted(wait));
    assert_int_equal(tseed_quota_wait_wanted(wait)->amount.bytes, 4096);
    tseed_quota_wait_wake(wait);
    assert_null(run.short_of);
    assert_int_equal(run.pause_until, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_free_space__of_one_root_holds_up_no_other, setup),
        cmocka_unit_test_setup(test_free_space__lets_nothing_be_written_before_it_is_known, setup),
        cmocka_unit_test_setup(test_free_space__is_measured_once_at_a_time, setup),
        cmocka_unit_test_setup(test_free_space__goes_by_the_lesser_use, setup),
        cmocka_unit_test_setup(test_free_space__limits_nothing_without_a_floor, setup),
        cmocka_unit_test_setup(test_free_space__is_waited_for_by_a_run, setup),
    };

    sem_init(&asked, 0, 0);
    sem_init(&answers, 0, 0);
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
