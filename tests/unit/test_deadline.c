/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The deadline: it comes only if it was set, can be put off, and once seen it has passed for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/tseed_clock.h"
#include "fleet/tseed_deadline.h"

#define HOUR (3600 * APR_USEC_PER_SEC)

static int clear(void **state)
{
    (void)state;
    tseed_deadline_clear();
    return 0;
}

static void test_deadline__never_comes_by_itself(void **state)
{
    (void)state;
    assert_false(tseed_deadline_has_passed());
}

static void test_deadline__can_be_put_off(void **state)
{
    (void)state;
    tseed_deadline_set(tseed_clock_boot() + HOUR);
    assert_false(tseed_deadline_has_passed());
    tseed_deadline_set(tseed_clock_boot() + 2 * HOUR);
    assert_false(tseed_deadline_has_passed());
}

static void test_deadline__that_was_seen_has_passed_for_good(void **state)
{
    (void)state;
    tseed_deadline_set(tseed_clock_boot());
    assert_true(tseed_deadline_has_passed());
    tseed_deadline_set(tseed_clock_boot() + HOUR);
    assert_true(tseed_deadline_has_passed());
    tseed_deadline_clear();
    assert_false(tseed_deadline_has_passed());
}

/* Nobody needs to have seen it. */
static void test_deadline__that_was_made_to_pass_has_passed_for_good(void **state)
{
    (void)state;
    tseed_deadline_pass();
    tseed_deadline_set(tseed_clock_boot() + HOUR);
    assert_true(tseed_deadline_has_passed());
}

/* Nobody had asked before it was put off: all that was done was done in time. */
static void test_deadline__that_nobody_saw_can_be_put_off(void **state)
{
    (void)state;
    tseed_deadline_set(tseed_clock_boot());
    tseed_deadline_set(tseed_clock_boot() + HOUR);
    assert_false(tseed_deadline_has_passed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_deadline__never_comes_by_itself, clear),
        cmocka_unit_test_setup(test_deadline__can_be_put_off, clear),
        cmocka_unit_test_setup(test_deadline__that_was_seen_has_passed_for_good, clear),
        cmocka_unit_test_setup(test_deadline__that_was_made_to_pass_has_passed_for_good, clear),
        cmocka_unit_test_setup(test_deadline__that_nobody_saw_can_be_put_off, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
