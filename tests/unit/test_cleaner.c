/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cleaner's judgement: limits, order, periods and the time of grace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <string.h>

#include "quota/tseed_cleaner.h"

#define MINUTE apr_time_from_sec(60)
#define NOW    apr_time_from_sec(INT64_C(1790000000)) /* 2026-09-21T14:13:20Z */
#define AHEAD  (NOW - MINUTE)                         /* httpd begins with the machine */
#define MIB    (INT64_C(1) << 20)

static apr_pool_t *pool;
static tseed_settings_t settings;
static tseed_quota_config_t config;
static tseed_cleaner_t *cleaner;
static tseed_chain_t roads, rivers; /* two layers in one store */

static void restart(void)
{
    const char *saved = cleaner ? tseed_cleaner_save(cleaner, pool) : "";

    cleaner = tseed_cleaner_create(&settings, pool);
    tseed_cleaner_load(cleaner, saved);
    roads = tseed_cleaner_chain(cleaner, "roads", "/cache");
    rivers = tseed_cleaner_chain(cleaner, "rivers", "/cache");
    tseed_cleaner_configure(cleaner, &config, 1);
}

static int setup(void **state)
{
    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    settings = (tseed_settings_t){.quota_files = TSEED_NO_LIMIT, .quota_grace = 15 * MINUTE};
    tseed_quota_config_init(&config, 4096, pool);
    config.enabled = 1;
    config.quota.bytes = 1000 * MIB;
    cleaner = NULL;
    restart();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    apr_pool_destroy(pool);
    return 0;
}

static void configure(void)
{
    tseed_cleaner_configure(cleaner, &config, 1);
}

static void limit_layer(const char *layer, int64_t mib, int has_policy, tseed_policy_t policy)
{
    tseed_layer_quota_t *quota = apr_array_push(config.layers);

    *quota = (tseed_layer_quota_t){layer, has_policy, policy, {mib * MIB, "", "MiB"}};
    configure();
}

static void use(const tseed_chain_t *chain, int64_t mib)
{
    tseed_account_correct(chain, (tseed_amount_t){mib * MIB, mib});
}

static void assert_duty(const tseed_account_t *account, tseed_policy_t policy, int64_t mib)
{
    tseed_duty_t duty;

    assert_true(tseed_cleaner_next(cleaner, &duty, 0));
    assert_ptr_equal(duty.account, account);
    assert_int_equal(duty.policy, policy);
    assert_int_equal(duty.excess.bytes, mib * MIB);
}

/* The wall clock is `AHEAD` of the machine's start of work, until it is set. */
static tseed_moment_t at(apr_time_t wall)
{
    return (tseed_moment_t){.monotonic = wall - AHEAD, .wall = wall};
}

static tseed_moment_t at_set(apr_time_t wall, apr_interval_time_t ahead)
{
    return (tseed_moment_t){.monotonic = wall - AHEAD, .wall = wall + ahead};
}

static tseed_clean_t ask_at(tseed_moment_t now)
{
    const char *sentence;

    return tseed_cleaner_ask(cleaner, &sentence, now, pool);
}

static tseed_clean_t ask(apr_time_t now)
{
    return ask_at(at(now));
}

static int due(apr_time_t now)
{
    return tseed_cleaner_due(cleaner, at(now));
}

/* ---- limits ---- */

static void test_cleaner__accounts_are_shared_by_name(void **state)
{
    tseed_chain_t again = tseed_cleaner_chain(cleaner, "roads", "/other");

    (void)state;
    assert_ptr_equal(roads.root, rivers.root);
    assert_ptr_equal(roads.global, rivers.global);
    assert_ptr_not_equal(roads.layer, rivers.layer);
    assert_ptr_equal(again.layer, roads.layer);
    assert_ptr_not_equal(again.root, roads.root);
    assert_string_equal(tseed_cleaner_root(cleaner, 0), "/cache");
    assert_string_equal(tseed_cleaner_root(cleaner, 1), "/other");
    assert_null(tseed_cleaner_root(cleaner, 2));
}

static void test_cleaner__layers_go_first_then_the_rest_with_a_policy_each(void **state)
{
    tseed_duty_t duty;

    (void)state;
    config.policy = TSEED_POLICY_LFU;
    limit_layer("rivers", 300, 1, TSEED_POLICY_LRU);
    use(&rivers, 350);
    use(&roads, 800);
    assert_duty(rivers.layer, TSEED_POLICY_LRU, 50);
    assert_int_equal(tseed_cleaner_policy(cleaner, rivers.layer), TSEED_POLICY_LRU);
    assert_int_equal(tseed_cleaner_policy(cleaner, roads.layer), TSEED_POLICY_LFU);
    assert_int_equal(tseed_cleaner_policy(cleaner, roads.global), TSEED_POLICY_LFU);
    use(&rivers, -50);
    assert_duty(roads.global, TSEED_POLICY_LFU, 100);
    use(&roads, -100);
    assert_false(tseed_cleaner_next(cleaner, &duty, 0));
}

static void test_cleaner__a_layer_without_a_policy_has_the_global_one(void **state)
{
    (void)state;
    config.policy = TSEED_POLICY_LRU;
    limit_layer("rivers", 1, 0, TSEED_POLICY_LFU);
    use(&rivers, 2);
    assert_duty(rivers.layer, TSEED_POLICY_LRU, 1);
}

static void test_cleaner__a_quota_taken_away_limits_no_more(void **state)
{
    tseed_duty_t duty;

    (void)state;
    limit_layer("rivers", 300, 0, TSEED_POLICY_LFU);
    use(&rivers, 350);
    config.layers = apr_array_make(pool, 1, sizeof(tseed_layer_quota_t));
    configure();
    assert_false(tseed_cleaner_next(cleaner, &duty, 0));
    assert_int_equal(tseed_account_limit(rivers.layer).bytes, TSEED_NO_LIMIT);
}

static void test_cleaner__off_nothing_is_limited(void **state)
{
    tseed_duty_t duty;

    (void)state;
    limit_layer("roads", 10, 0, TSEED_POLICY_LFU);
    use(&roads, 2000);
    config.enabled = 0;
    configure();
    assert_false(tseed_cleaner_next(cleaner, &duty, 0));
    assert_false(due(NOW));
    assert_null(tseed_account_charge(&roads, (tseed_amount_t){MIB, 1}));
    assert_int_equal(ask(NOW), TSEED_CLEAN_NEVER);
    config.enabled = 1;
    configure();
    assert_ptr_equal(tseed_account_charge(&roads, (tseed_amount_t){MIB, 1}), roads.global);
}

/* Nobody knows how much the first clean-up would take before that; later ones need not wait. */
static void test_cleaner__limits_hold_before_all_is_known(void **state)
{
    tseed_duty_t duty;

    (void)state;
    tseed_cleaner_configure(cleaner, &config, 0);
    use(&roads, 1001);
    assert_ptr_equal(tseed_account_charge(&roads, (tseed_amount_t){MIB, 1}), roads.global);
    assert_true(tseed_cleaner_next(cleaner, &duty, 0));
    assert_true(due(NOW));
    assert_int_equal(ask(NOW), TSEED_CLEAN_UNKNOWN);
    configure();
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW);
    tseed_cleaner_configure(cleaner, &config, 0);
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW);
}

static void test_cleaner__files_are_limited_while_the_quota_is_on(void **state)
{
    tseed_duty_t duty;

    (void)state;
    settings.quota_files = 100;
    restart();
    use(&roads, 103);
    assert_true(tseed_cleaner_next(cleaner, &duty, 0));
    assert_int_equal(duty.excess.files, 3);
    assert_int_equal(duty.excess.bytes, 0);
    config.enabled = 0;
    configure();
    assert_null(tseed_account_charge(&roads, (tseed_amount_t){1, 1}));
}

static void measure(int64_t bytes)
{
    tseed_cleaner_free_set(cleaner, "/cache", bytes, tseed_cleaner_used(cleaner, "/cache"));
}

static void test_cleaner__the_floor_holds_whatever_the_quota(void **state)
{
    (void)state;
    settings.min_free = 100 * MIB;
    config.enabled = 0;
    restart();
    use(&roads, 50);
    measure(110 * MIB);
    assert_int_equal(tseed_account_limit(roads.root).bytes, 60 * MIB);
    assert_null(tseed_account_charge(&roads, (tseed_amount_t){10 * MIB, 1}));
    assert_ptr_equal(tseed_account_charge(&rivers, (tseed_amount_t){1, 1}), rivers.root);
    config.enabled = 1;
    configure();
    measure(70 * MIB);
    assert_duty(roads.root, TSEED_POLICY_LFU, 30);
    measure(0);
    assert_int_equal(tseed_account_limit(roads.root).bytes, 0);
}

static void test_cleaner__a_root_takes_nothing_before_it_is_measured(void **state)
{
    tseed_duty_t duty;

    (void)state;
    settings.min_free = 100 * MIB;
    restart();
    use(&roads, 50);
    assert_ptr_equal(tseed_account_charge(&rivers, (tseed_amount_t){1, 1}), roads.root);
    assert_false(tseed_cleaner_next(cleaner, &duty, 0));
    measure(110 * MIB);
    assert_null(tseed_account_charge(&rivers, (tseed_amount_t){10 * MIB, 1}));
}

static void test_cleaner__a_root_that_cannot_be_measured_keeps_its_limit(void **state)
{
    (void)state;
    settings.min_free = 100 * MIB;
    restart();
    measure(INT64_MAX);
    assert_true(tseed_account_limit(roads.root).bytes == TSEED_NO_LIMIT);
    measure(110 * MIB);
    measure(INT64_MAX);
    assert_int_equal(tseed_account_limit(roads.root).bytes, 10 * MIB);
}

/* ---- periods ---- */

static void test_cleaner__is_due_once_a_period(void **state)
{
    (void)state;
    config.frequency = 2;
    config.frequency_units = "MINUTES";
    configure();
    assert_true(due(NOW));
    assert_false(due(NOW + 1));
    assert_false(due(NOW + 2 * MINUTE - 1));
    assert_true(due(NOW + 2 * MINUTE));
    config.frequency_units = "DAYS";
    configure();
    assert_false(due(NOW + 59 * MINUTE));
    config.frequency_units = "NANOSECONDS";
    configure();
    assert_true(due(NOW + 59 * MINUTE));
    config.frequency = 0;
    configure();
    assert_false(due(NOW + 60 * 24 * 60 * MINUTE));
    config.concurrent_cleanups = 7;
    configure();
    assert_int_equal(tseed_cleaner_workers(cleaner), 7);
}

/* Whoever sets the wall clock neither begins a clean-up nor puts one off. */
static void test_cleaner__is_due_by_the_monotonic_clock(void **state)
{
    (void)state;
    config.frequency = 2;
    config.frequency_units = "MINUTES";
    configure();
    assert_true(due(NOW));
    assert_false(tseed_cleaner_due(cleaner, at_set(NOW + MINUTE, 60 * MINUTE)));
    assert_false(tseed_cleaner_due(cleaner, at_set(NOW + MINUTE, -60 * MINUTE)));
    assert_true(tseed_cleaner_due(cleaner, at_set(NOW + 2 * MINUTE, -60 * MINUTE)));
}

static void test_cleaner__an_endless_period_ends_nowhere(void **state)
{
    (void)state;
    config.frequency = INT64_MAX;
    config.frequency_units = "DAYS";
    configure();
    assert_true(due(apr_time_from_sec(9000000000000)));
    assert_false(due(apr_time_from_sec(9000000000001)));
}

/* ---- the time of grace ---- */

static void test_cleaner__a_first_large_removal_is_announced(void **state)
{
    const char *sentence;

    (void)state;
    use(&roads, 1300);
    assert_int_equal(tseed_cleaner_ask(cleaner, &sentence, at(NOW), pool), TSEED_CLEAN_LATER);
    assert_string_equal(sentence,
                        "the disk quota is on and would remove a large part of the cache: it has "
                        "1.3 GiB in 1300 files, and at least 300.0 MiB of that go from "
                        "2026-09-21T14:28:20.000Z on, when TileSeedDiskQuotaGrace is over; raise "
                        "the limit or switch the quota off before, or have it done now with POST "
                        "diskquota/cleanup");
    assert_int_equal(tseed_cleaner_grace(cleaner), NOW + 15 * MINUTE);
    assert_int_equal(tseed_cleaner_ask(cleaner, &sentence, at(NOW + 1), pool), TSEED_CLEAN_LATER);
    assert_null(sentence);
    assert_int_equal(ask(NOW + 15 * MINUTE - 2), TSEED_CLEAN_LATER);
    assert_int_equal(ask(NOW + 15 * MINUTE), TSEED_CLEAN_NOW);
    assert_int_equal(tseed_cleaner_grace(cleaner), 0);
    assert_int_equal(ask(NOW + 15 * MINUTE), TSEED_CLEAN_NOW);
}

static void assert_announced(const char *amount)
{
    const char *sentence;

    assert_int_equal(tseed_cleaner_ask(cleaner, &sentence, at(NOW), pool), TSEED_CLEAN_LATER);
    if (!strstr(sentence, amount)) {
        fail_msg("\"%s\" does not say \"%s\"", sentence, amount);
    }
}

static void test_cleaner__what_is_announced_is_in_bytes_or_files_or_both(void **state)
{
    (void)state;
    settings.quota_files = 200;
    restart();
    use(&roads, 260);
    assert_announced("at least 60 files of that go");
    settings.quota_files = 1290;
    cleaner = NULL;
    restart();
    use(&roads, 1300);
    assert_announced("at least 300.0 MiB and 10 files of that go");
}

/* Of what layers, roots and all together are over, the most. */
static void test_cleaner__what_is_announced_is_the_most_of_three_sums(void **state)
{
    tseed_chain_t lakes;

    (void)state;
    settings.min_free = 100 * MIB;
    restart();
    lakes = tseed_cleaner_chain(cleaner, "lakes", "/other");
    limit_layer("roads", 100, 0, TSEED_POLICY_LFU);
    limit_layer("rivers", 100, 0, TSEED_POLICY_LFU);
    use(&roads, 150);
    use(&rivers, 140);
    use(&lakes, 50);
    measure(INT64_MAX);
    tseed_cleaner_free_set(cleaner, "/other", INT64_MAX, 0);
    assert_announced("at least 90.0 MiB of that go");
    cleaner = NULL;
    restart();
    lakes = tseed_cleaner_chain(cleaner, "lakes", "/other");
    use(&roads, 150);
    use(&rivers, 140);
    use(&lakes, 50);
    measure(30 * MIB); /* 70 MiB are missing here, 40 MiB there */
    tseed_cleaner_free_set(cleaner, "/other", 60 * MIB, 50 * MIB);
    assert_announced("at least 110.0 MiB of that go");
}

/* As at the start of a machine whose clock is set a while after httpd has begun. */
static void test_cleaner__a_clock_that_is_set_ends_no_grace(void **state)
{
    const apr_interval_time_t sets[] = {60 * MINUTE, -60 * MINUTE};
    const char *sentence;

    (void)state;
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    for (int i = 0; i < 2; i++) {
        const tseed_moment_t now = at_set(NOW + (i + 1) * MINUTE, sets[i]);

        assert_int_equal(tseed_cleaner_ask(cleaner, &sentence, now, pool), TSEED_CLEAN_LATER);
        assert_null(sentence);
        assert_int_equal(tseed_cleaner_grace(cleaner), NOW + sets[i] + 15 * MINUTE);
    }
    assert_int_equal(ask_at(at_set(NOW + 15 * MINUTE - 2, -60 * MINUTE)), TSEED_CLEAN_LATER);
    assert_int_equal(ask_at(at_set(NOW + 15 * MINUTE, -60 * MINUTE)), TSEED_CLEAN_NOW);
}

/* It drifts; what people read does not, as it is saved whenever it changes. */
static void test_cleaner__the_end_that_is_shown_is_steady(void **state)
{
    (void)state;
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    assert_int_equal(ask_at(at_set(NOW + MINUTE, 30000)), TSEED_CLEAN_LATER);
    assert_int_equal(tseed_cleaner_grace(cleaner), NOW + 15 * MINUTE);
}

/* Whatever the clocks said meanwhile; a machine's other life has a monotonic clock of its own. */
static void test_cleaner__a_restart_goes_on_with_what_was_left(void **state)
{
    const char *saved, *sentence;

    (void)state;
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    assert_int_equal(ask(NOW + apr_time_from_sec(5)), TSEED_CLEAN_LATER);
    saved = tseed_cleaner_save(cleaner, pool);
    assert_int_equal(ask(NOW + apr_time_from_sec(9)), TSEED_CLEAN_LATER);
    assert_string_equal(tseed_cleaner_save(cleaner, pool), saved);
    assert_int_equal(ask(NOW + 10 * MINUTE), TSEED_CLEAN_LATER);
    restart();
    use(&roads, 1300);
    assert_int_equal(tseed_cleaner_ask(cleaner, &sentence, at_set(NOW, 600 * MINUTE), pool),
                     TSEED_CLEAN_LATER);
    assert_null(sentence);
    assert_int_equal(tseed_cleaner_grace(cleaner), NOW + 605 * MINUTE);
    assert_int_equal(ask(NOW + 5 * MINUTE - 2), TSEED_CLEAN_LATER);
    assert_int_equal(ask(NOW + 5 * MINUTE), TSEED_CLEAN_NOW);
}

static void test_cleaner__a_shorter_grace_is_the_one_that_counts(void **state)
{
    (void)state;
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    settings.quota_grace = 2 * MINUTE;
    restart();
    use(&roads, 1300);
    assert_int_equal(ask(NOW + 1), TSEED_CLEAN_LATER);
    assert_int_equal(tseed_cleaner_grace(cleaner), NOW + 1 + 2 * MINUTE);
    settings.quota_grace = 0;
    restart();
    use(&roads, 1300);
    assert_int_equal(ask(NOW + 2), TSEED_CLEAN_NOW);
    settings.quota_grace = 15 * MINUTE;
}

static void test_cleaner__who_wants_it_ends_the_grace(void **state)
{
    (void)state;
    config.frequency = 0;
    configure();
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    assert_false(due(NOW));
    tseed_cleaner_hurry(cleaner);
    assert_true(due(NOW));
    assert_false(due(NOW + 1));
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW);
    restart();
    use(&roads, 1300);
    assert_int_equal(ask(NOW + 1), TSEED_CLEAN_NOW);
}

static void test_cleaner__a_fifth_is_not_announced(void **state)
{
    (void)state;
    use(&roads, 1250);
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW);
    config.quota.bytes = 100 * MIB;
    configure();
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW); /* it is not the first any more */
    restart();
    use(&roads, 1250);
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW);
}

static void test_cleaner__a_raised_limit_ends_the_grace(void **state)
{
    (void)state;
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    config.quota.bytes = 1200 * MIB;
    configure();
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW);
}

/* The administrator has mended the limit in time, so the next mistake is announced as the first. */
static void test_cleaner__a_grace_that_is_not_needed_any_more_is_forgotten(void **state)
{
    const char *sentence;

    (void)state;
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    config.quota.bytes = 1300 * MIB; /* nothing is over it: nobody asks any more */
    configure();
    assert_true(due(NOW + MINUTE));
    assert_int_equal(tseed_cleaner_grace(cleaner), 0);
    due(NOW + 60 * MINUTE);
    config.quota.bytes = 1000 * MIB;
    configure();
    assert_int_equal(tseed_cleaner_ask(cleaner, &sentence, at(NOW + 70 * MINUTE), pool),
                     TSEED_CLEAN_LATER);
    assert_non_null(sentence);
    assert_int_equal(tseed_cleaner_grace(cleaner), NOW + 85 * MINUTE);
    restart();
    assert_int_equal(ask(NOW + 84 * MINUTE), TSEED_CLEAN_NOW); /* the cache is gone */
}

/* After a restart the accounts are filled little by little. */
static void test_cleaner__a_grace_goes_on_until_all_is_known_again(void **state)
{
    (void)state;
    settings.min_free = MIB;
    restart();
    measure(100 * MIB);
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    restart();
    tseed_cleaner_configure(cleaner, &config, 0);
    due(NOW + MINUTE);
    use(&roads, 1300);
    configure();
    assert_int_equal(tseed_cleaner_grace(cleaner), NOW + 16 * MINUTE); /* when it began is lost */
    config.quota.bytes = 2000 * MIB;
    configure();
    due(NOW + 2 * MINUTE); /* the root is not measured yet */
    assert_int_not_equal(tseed_cleaner_grace(cleaner), 0);
    measure(100 * MIB);
    due(NOW + 3 * MINUTE);
    assert_int_equal(tseed_cleaner_grace(cleaner), 0);
}

static void test_cleaner__switched_on_again_it_is_the_first_again(void **state)
{
    (void)state;
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    config.enabled = 0;
    configure();
    assert_int_equal(tseed_cleaner_grace(cleaner), 0);
    config.enabled = 1;
    configure();
    assert_int_equal(ask(NOW + MINUTE), TSEED_CLEAN_LATER);
    assert_int_equal(tseed_cleaner_grace(cleaner), NOW + 16 * MINUTE);
}

static void test_cleaner__without_a_time_of_grace_there_is_none(void **state)
{
    (void)state;
    settings.quota_grace = 0;
    restart();
    use(&roads, 5000);
    assert_int_equal(ask(NOW), TSEED_CLEAN_NOW);
}

static void test_cleaner__layers_and_files_count_as_well(void **state)
{
    (void)state;
    limit_layer("roads", 100, 0, TSEED_POLICY_LFU);
    limit_layer("rivers", 100, 0, TSEED_POLICY_LFU);
    use(&roads, 120);
    use(&rivers, 140); /* 60 of 260 together */
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
    settings.quota_files = 200;
    config.layers = apr_array_make(pool, 1, sizeof(tseed_layer_quota_t));
    cleaner = NULL;
    restart();
    use(&roads, 260);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
}

static void test_cleaner__nonsense_is_not_remembered(void **state)
{
    (void)state;
    tseed_cleaner_load(cleaner, "");
    tseed_cleaner_load(cleaner, "enabled=1 removed=");
    use(&roads, 1300);
    assert_int_equal(ask(NOW), TSEED_CLEAN_LATER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_cleaner__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(accounts_are_shared_by_name),
        TEST(layers_go_first_then_the_rest_with_a_policy_each),
        TEST(a_layer_without_a_policy_has_the_global_one),
        TEST(a_quota_taken_away_limits_no_more),
        TEST(off_nothing_is_limited),
        TEST(limits_hold_before_all_is_known),
        TEST(files_are_limited_while_the_quota_is_on),
        TEST(the_floor_holds_whatever_the_quota),
        TEST(a_root_takes_nothing_before_it_is_measured),
        TEST(a_root_that_cannot_be_measured_keeps_its_limit),
        TEST(is_due_once_a_period),
        TEST(is_due_by_the_monotonic_clock),
        TEST(an_endless_period_ends_nowhere),
        TEST(a_first_large_removal_is_announced),
        TEST(what_is_announced_is_in_bytes_or_files_or_both),
        TEST(what_is_announced_is_the_most_of_three_sums),
        TEST(a_clock_that_is_set_ends_no_grace),
        TEST(the_end_that_is_shown_is_steady),
        TEST(a_restart_goes_on_with_what_was_left),
        TEST(a_shorter_grace_is_the_one_that_counts),
        TEST(who_wants_it_ends_the_grace),
        TEST(a_fifth_is_not_announced),
        TEST(a_raised_limit_ends_the_grace),
        TEST(a_grace_that_is_not_needed_any_more_is_forgotten),
        TEST(a_grace_goes_on_until_all_is_known_again),
        TEST(switched_on_again_it_is_the_first_again),
        TEST(without_a_time_of_grace_there_is_none),
        TEST(layers_and_files_count_as_well),
        TEST(nonsense_is_not_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
