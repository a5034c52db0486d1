/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the eviction removes: what goes first, what is spared, how much goes. Each page holds one
 * tile of 1 MiB. The source is included: what is chosen is nobody else's matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>

#include "books/tseed_evict.c"

#define NOW INT64_C(1790000000)
#define MIB (INT64_C(1) << 20)

static const tseed_effect_t tile = {1, 1, MIB, MIB};

static apr_pool_t *pool;
static tseed_settings_t settings;
static tseed_quota_config_t config;
static tseed_cache_t cache;
static tseed_evict_t evict;
static tseed_book_tileset_t *roads, *rivers; /* of a layer each, in one store */

static tseed_book_tileset_t *enter(int64_t id, const char *layer)
{
    const tseed_chain_t chain = tseed_cleaner_chain(cache.cleaner, layer, "/cache");
    const tseed_tileset_record_t record = {.id = id,
                                           .print = (uint64_t)id * 1000003,
                                           .key = layer,
                                           .layer = layer,
                                           .gridset = "EPSG:4326",
                                           .format = "image/png",
                                           .parameters = "{}",
                                           .root = "/cache",
                                           .place = "",
                                           .complete = 1};

    return tseed_book_add(cache.book, &record, &chain, 0);
}

static int setup(void **state)
{
    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    settings = (tseed_settings_t){.quota_files = TSEED_NO_LIMIT};
    tseed_quota_config_init(&config, 4096, pool);
    config.enabled = 1;
    config.policy = TSEED_POLICY_LRU;
    config.quota.bytes = 1000 * MIB;
    cache = (tseed_cache_t){.book = tseed_book_create(pool),
                            .cleaner = tseed_cleaner_create(&settings, pool)};
    roads = enter(1, "roads");
    rivers = enter(2, "rivers");
    tseed_cleaner_configure(cache.cleaner, &config, 1);
    evict = (tseed_evict_t){.uses.cache = &cache};
    return 0;
}

static int teardown(void **state)
{
    const char *problem = tseed_book_validate(cache.book, pool);

    (void)state;
    if (problem) {
        print_error("%s\n", problem);
    }
    apr_pool_destroy(pool);
    return problem != NULL;
}

static void limit_layer(const char *layer, int64_t mib)
{
    tseed_layer_quota_t *quota = apr_array_push(config.layers);

    *quota = (tseed_layer_quota_t){layer, 0, TSEED_POLICY_LRU, {mib * MIB, "", "MiB"}};
    tseed_cleaner_configure(cache.cleaner, &config, 1);
}

static tseed_page_t page_of(int64_t x)
{
    return (tseed_page_t){5, x, 0};
}

/* Pages 0 to count - 1, of which the last one was not used for longest. Found on the disk: whatever
 * the limits say. */
static void fill(tseed_book_tileset_t *booked, int64_t count)
{
    for (int64_t x = 0; x < count; x++) {
        const tseed_page_t page = page_of(x);
        const tseed_writer_t writer = {1, NOW - 10 * x};

        tseed_account_correct(&booked->chain, (tseed_amount_t){MIB, 1});
        assert_int_equal(tseed_book_apply(cache.book, booked, &page, &tile, &writer), APR_SUCCESS);
    }
}

static void read_page(tseed_book_tileset_t *booked, int64_t x)
{
    tseed_book_hit(cache.book, tseed_page_print(booked->record.print, 5, x, 0), 1, NOW + 1);
}

/* As a job does that works in the page. */
static void pin(tseed_book_tileset_t *booked, int64_t x)
{
    const tseed_page_t page = page_of(x);

    tseed_book_hold(cache.book, booked, &page);
    tseed_book_pin(cache.book, booked, &page);
}

static void unpin(tseed_book_tileset_t *booked, int64_t x)
{
    const tseed_page_t page = page_of(x);

    tseed_book_unpin(cache.book, booked, &page);
    tseed_book_drop(cache.book, booked, &page);
}

static void assert_duty(const tseed_account_t *account, const tseed_want_t *want)
{
    tseed_duty_t duty;

    assert_true(choose_duty(&duty, &evict, want));
    assert_ptr_equal(duty.account, account);
}

static void assert_no_duty(const tseed_want_t *want)
{
    tseed_duty_t duty;

    assert_false(choose_duty(&duty, &evict, want));
}

static tseed_duty_t duty_of(tseed_account_t *account)
{
    return (tseed_duty_t){.account = account, .policy = TSEED_POLICY_LRU};
}

static void assert_victim(tseed_book_tileset_t *booked, int64_t x)
{
    const tseed_duty_t duty = duty_of(booked->chain.layer);
    tseed_book_page_t victim;

    assert_true(choose_victim(&victim, &evict, &duty));
    assert_ptr_equal(victim.booked, booked);
    assert_int_equal(victim.page.x, x);
}

static void assert_no_victim(const tseed_book_tileset_t *booked)
{
    const tseed_duty_t duty = duty_of(booked->chain.layer);
    tseed_book_page_t victim;

    assert_false(choose_victim(&victim, &evict, &duty));
}

/* ---- what goes first ---- */

static void test_evict__nothing_goes_while_all_limits_hold(void **state)
{
    (void)state;
    limit_layer("roads", 5);
    fill(roads, 5);
    clean_up(&evict);
    assert_no_duty(NULL);
}

static void test_evict__a_limit_waits_for_the_clean_up(void **state)
{
    (void)state;
    limit_layer("roads", 2);
    fill(roads, 5);
    assert_no_duty(NULL);
    clean_up(&evict);
    assert_duty(roads->chain.layer, NULL);
}

static void test_evict__a_refused_write_goes_before_the_clean_up(void **state)
{
    const tseed_want_t want = {rivers->chain.layer, {MIB, 1}, {MIB, 1}};

    (void)state;
    limit_layer("roads", 2);
    limit_layer("rivers", 3);
    fill(roads, 5);
    fill(rivers, 3);
    clean_up(&evict);
    assert_duty(rivers->chain.layer, &want);
    assert_duty(roads->chain.layer, NULL);
}

static void test_evict__a_refused_write_needs_no_clean_up(void **state)
{
    const tseed_want_t want = {rivers->chain.layer, {MIB, 1}, {MIB, 1}};

    (void)state;
    limit_layer("rivers", 3);
    fill(rivers, 3);
    assert_duty(rivers->chain.layer, &want);
}

static void test_evict__the_page_not_used_for_longest_goes_first(void **state)
{
    (void)state;
    fill(roads, 4);
    for (int64_t x = 3; x >= 0; x--) {
        assert_victim(roads, x);
        pin(roads, x);
    }
    assert_no_victim(roads);
    for (int64_t x = 0; x < 4; x++) {
        unpin(roads, x);
    }
}

/* ---- what is spared ---- */

static void test_evict__a_page_in_use_is_spared(void **state)
{
    (void)state;
    fill(roads, 3);
    pin(roads, 2);
    assert_victim(roads, 1);
    unpin(roads, 2);
    assert_victim(roads, 2);
}

static void test_evict__a_tile_set_that_resists_is_spared(void **state)
{
    (void)state;
    fill(roads, 3);
    roads->spared = 1;
    assert_no_victim(roads);
    tseed_book_spare_none(cache.book);
    assert_victim(roads, 2);
}

/* Of 64 pages the book chooses two at once. */
static void test_evict__a_page_that_was_chosen_and_then_read_is_spared(void **state)
{
    (void)state;
    fill(roads, 64);
    assert_victim(roads, 63);
    pin(roads, 63);
    read_page(roads, 62);
    assert_victim(roads, 61);
    unpin(roads, 63);
}

static void test_evict__what_was_chosen_for_one_layer_goes_for_no_other(void **state)
{
    (void)state;
    fill(roads, 64);
    fill(rivers, 2);
    assert_victim(roads, 63);
    assert_victim(rivers, 1);
}

static void test_evict__where_nothing_may_go_others_have_their_turn(void **state)
{
    tseed_duty_t duty;

    (void)state;
    limit_layer("roads", 1);
    limit_layer("rivers", 1);
    fill(roads, 2);
    fill(rivers, 2);
    clean_up(&evict);
    assert_true(choose_duty(&duty, &evict, NULL));
    assert_ptr_equal(duty.account, roads->chain.layer);
    evict.skip = duty.number + 1;
    assert_true(choose_duty(&duty, &evict, NULL));
    assert_ptr_equal(duty.account, rivers->chain.layer);
    evict.skip = duty.number + 1;
    assert_no_duty(NULL);
    clean_up(&evict);
    assert_duty(roads->chain.layer, NULL);
}

/* ---- how much ---- */

static void test_evict__no_more_goes_than_is_over_the_limit(void **state)
{
    (void)state;
    limit_layer("roads", 2);
    fill(roads, 5);
    clean_up(&evict);
    for (int leaving = 0; leaving < 3; leaving++) {
        assert_int_equal(evict.leaving, leaving);
        assert_duty(roads->chain.layer, NULL);
        count_leaving(&evict, 1, &tile);
    }
    assert_no_duty(NULL);
}

static void test_evict__a_page_that_could_not_go_makes_no_room(void **state)
{
    (void)state;
    limit_layer("roads", 4);
    fill(roads, 6);
    clean_up(&evict);
    count_leaving(&evict, 1, &tile);
    count_leaving(&evict, 1, &tile);
    assert_no_duty(NULL);
    count_leaving(&evict, -1, &tile);
    assert_duty(roads->chain.layer, NULL);
}

/* 3 MiB of 5 are used when a write of 4 MiB is refused: 2 MiB must go. */
static void test_evict__no_more_goes_than_a_refused_write_wants(void **state)
{
    const tseed_want_t want = {roads->chain.layer, {4 * MIB, 4}, {MIB, 1}};

    (void)state;
    limit_layer("roads", 5);
    fill(roads, 3);
    assert_duty(roads->chain.layer, &want);
    count_leaving(&evict, 1, &tile);
    assert_duty(roads->chain.layer, &want);
    count_leaving(&evict, 1, &tile);
    assert_no_duty(&want);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_evict__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_goes_while_all_limits_hold),
        TEST(a_limit_waits_for_the_clean_up),
        TEST(a_refused_write_goes_before_the_clean_up),
        TEST(a_refused_write_needs_no_clean_up),
        TEST(the_page_not_used_for_longest_goes_first),
        TEST(a_page_in_use_is_spared),
        TEST(a_tile_set_that_resists_is_spared),
        TEST(a_page_that_was_chosen_and_then_read_is_spared),
        TEST(what_was_chosen_for_one_layer_goes_for_no_other),
        TEST(where_nothing_may_go_others_have_their_turn),
        TEST(no_more_goes_than_is_over_the_limit),
        TEST(a_page_that_could_not_go_makes_no_room),
        TEST(no_more_goes_than_a_refused_write_wants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
