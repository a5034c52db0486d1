/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Accounts: all or nothing along the chain, and never over a limit, whoever charges when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "quota/tseed_account.h"

static tseed_chain_t chain;

static int setup(void **state)
{
    (void)state;
    chain = (tseed_chain_t){.layer = tseed_account_create(),
                            .root = tseed_account_create(),
                            .global = tseed_account_create()};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(chain.layer);
    free(chain.root);
    free(chain.global);
    return 0;
}

static tseed_amount_t amount(int64_t bytes, int64_t files)
{
    return (tseed_amount_t){bytes, files};
}

static void assert_used(const tseed_account_t *account, int64_t bytes, int64_t files)
{
    tseed_amount_t used = tseed_account_used(account);

    assert_int_equal(used.bytes, bytes);
    assert_int_equal(used.files, files);
}

static void assert_all_used(int64_t bytes, int64_t files)
{
    assert_used(chain.layer, bytes, files);
    assert_used(chain.root, bytes, files);
    assert_used(chain.global, bytes, files);
}

static void test_account__without_limits_everything_goes(void **state)
{
    (void)state;
    assert_null(tseed_account_charge(&chain, amount(INT64_MAX - 1, 1)));
    assert_null(tseed_account_charge(&chain, amount(1, INT64_MAX - 1)));
    assert_all_used(INT64_MAX, INT64_MAX);
    tseed_account_release(&chain, amount(INT64_MAX, INT64_MAX));
    assert_all_used(0, 0);
}

static void test_account__a_limit_may_be_reached_and_not_passed(void **state)
{
    (void)state;
    tseed_account_limit_set(chain.root, amount(100, TSEED_NO_LIMIT));
    assert_null(tseed_account_charge(&chain, amount(60, 1)));
    assert_ptr_equal(tseed_account_charge(&chain, amount(41, 1)), chain.root);
    assert_all_used(60, 1);
    assert_null(tseed_account_charge(&chain, amount(40, 1)));
    assert_all_used(100, 2);
    assert_ptr_equal(tseed_account_charge(&chain, amount(1, 0)), chain.root);
}

static void test_account__files_are_limited_likewise(void **state)
{
    tseed_account_t *const links[] = {chain.layer, chain.root, chain.global};

    (void)state;
    for (int i = 0; i < 3; i++) {
        tseed_account_limit_set(links[i], amount(TSEED_NO_LIMIT, 2));
        assert_null(tseed_account_charge(&chain, amount(10, 2)));
        assert_ptr_equal(tseed_account_charge(&chain, amount(10, 1)), links[i]);
        assert_null(tseed_account_charge(&chain, amount(10, 0)));
        assert_all_used(20, 2);
        tseed_account_release(&chain, amount(20, 2));
        tseed_account_limit_set(links[i], amount(TSEED_NO_LIMIT, TSEED_NO_LIMIT));
    }
}

static void test_account__a_lowered_limit_lets_only_releases_through(void **state)
{
    (void)state;
    assert_null(tseed_account_charge(&chain, amount(100, 10)));
    tseed_account_limit_set(chain.global, amount(70, 8));
    assert_int_equal(tseed_account_excess(chain.global).bytes, 30);
    assert_int_equal(tseed_account_excess(chain.global).files, 2);
    assert_int_equal(tseed_account_excess(chain.layer).bytes, 0);
    assert_ptr_equal(tseed_account_charge(&chain, amount(1, 0)), chain.global);
    assert_ptr_equal(tseed_account_charge(&chain, amount(-5, 1)), chain.global);
    assert_all_used(100, 10);
    assert_null(tseed_account_charge(&chain, amount(-5, 0)));
    assert_null(tseed_account_charge(&chain, amount(0, 0)));
    tseed_account_release(&chain, amount(30, 2));
    assert_all_used(65, 8);
    assert_null(tseed_account_charge(&chain, amount(5, 0)));
    assert_int_equal(tseed_account_excess(chain.global).bytes, 0);
}

static void test_account__an_unknown_limit_lets_nothing_be_charged_or_removed(void **state)
{
    (void)state;
    tseed_account_correct(&chain, amount(500, 5));
    tseed_account_limit_set(chain.root, amount(TSEED_LIMIT_UNKNOWN, TSEED_NO_LIMIT));
    assert_ptr_equal(tseed_account_charge(&chain, amount(1, 0)), chain.root);
    assert_int_equal(tseed_account_excess(chain.root).bytes, 0);
    assert_null(tseed_account_charge(&chain, amount(-100, 1)));
    assert_all_used(400, 6);
    tseed_account_limit_set(chain.root, amount(401, TSEED_NO_LIMIT));
    assert_null(tseed_account_charge(&chain, amount(1, 0)));
}

static void test_account__corrections_pass_every_limit(void **state)
{
    (void)state;
    tseed_account_limit_set(chain.layer, amount(10, 1));
    tseed_account_correct(&chain, amount(500, 5));
    assert_all_used(500, 5);
    tseed_account_correct(&chain, amount(-495, -5));
    assert_all_used(5, 0);
}

static void test_account__a_chain_may_have_gaps(void **state)
{
    const tseed_chain_t two = {.layer = chain.layer, .global = chain.global};

    (void)state;
    tseed_account_limit_set(chain.layer, amount(10, 10));
    assert_null(tseed_account_charge(&two, amount(10, 1)));
    assert_ptr_equal(tseed_account_charge(&two, amount(1, 1)), chain.layer);
    assert_used(chain.global, 10, 1);
    assert_used(chain.root, 0, 0);
}

/* ---- many threads ---- */

enum { THREADS = 4, ROUNDS = 100000, BYTES = 1000, FILES = 12 };

static atomic_int over, stop;

static void *charge_and_release(void *seed)
{
    unsigned state = *(unsigned *)seed;
    int64_t granted = 0;

    for (int i = 0; i < ROUNDS; i++) {
        tseed_amount_t wanted = amount(rand_r(&state) % 400, rand_r(&state) % 5);

        if (!tseed_account_charge(&chain, wanted)) {
            granted++;
            tseed_account_release(&chain, wanted);
        }
    }
    return granted > 0 ? seed : NULL;
}

static void *watch(void *unused)
{
    while (!atomic_load(&stop)) {
        tseed_amount_t used = tseed_account_used(chain.global);

        if (used.bytes > BYTES || used.bytes < 0 || used.files > FILES || used.files < 0) {
            atomic_fetch_add(&over, 1);
        }
    }
    return unused;
}

static void test_account__threads_never_pass_a_limit_together(void **state)
{
    pthread_t threads[THREADS], watcher;
    unsigned seeds[THREADS];

    (void)state;
    tseed_account_limit_set(chain.global, amount(BYTES, FILES));
    tseed_account_limit_set(chain.layer, amount(BYTES - 100, FILES - 2));
    pthread_create(&watcher, NULL, watch, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        pthread_create(&threads[i], NULL, charge_and_release, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *worked;

        pthread_join(threads[i], &worked);
        assert_non_null(worked);
    }
    atomic_store(&stop, 1);
    pthread_join(watcher, NULL);
    assert_int_equal(atomic_load(&over), 0);
    assert_all_used(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_account__without_limits_everything_goes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_account__a_limit_may_be_reached_and_not_passed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_account__files_are_limited_likewise, setup, teardown),
        cmocka_unit_test_setup_teardown(test_account__a_lowered_limit_lets_only_releases_through,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_account__an_unknown_limit_lets_nothing_be_charged_or_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_account__corrections_pass_every_limit, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_account__a_chain_may_have_gaps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_account__threads_never_pass_a_limit_together, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
