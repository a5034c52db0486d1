/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The calendar: a wall clock that is set moves no date and makes nothing old. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/tseed_calendar.h"

#define SECONDS(n) ((n)*APR_USEC_PER_SEC)
#define WALL       SECONDS(INT64_C(1790000000)) /* September 2026 */
#define UP         SECONDS(INT64_C(5000))       /* the machine's time at work */
#define DAY        SECONDS(INT64_C(86400))
#define YEAR       (365 * DAY)

static void test_calendar__dates_go_on_by_the_monotonic_clock(void **state)
{
    const tseed_calendar_t calendar = tseed_calendar_begin(WALL, UP);

    (void)state;
    assert_int_equal(tseed_calendar_date(&calendar, UP), WALL);
    assert_int_equal(tseed_calendar_date(&calendar, UP + DAY), WALL + DAY);
}

/* A machine without a clock of its own begins in 1970, and one that was ahead begins behind. */
static void test_calendar__dates_do_not_begin_before_recorded_ones(void **state)
{
    tseed_calendar_t calendar = tseed_calendar_begin(SECONDS(100), UP);

    (void)state;
    tseed_calendar_show(&calendar, WALL - DAY, UP + SECONDS(1));
    tseed_calendar_show(&calendar, WALL, UP + SECONDS(1));
    tseed_calendar_show(&calendar, WALL - DAY, UP + SECONDS(2));
    assert_int_equal(tseed_calendar_date(&calendar, UP + SECONDS(3)), WALL + SECONDS(2));
}

static void test_calendar__a_damaged_date_is_not_believed(void **state)
{
    tseed_calendar_t calendar = tseed_calendar_begin(WALL, UP);

    (void)state;
    tseed_calendar_show(&calendar, SECONDS((apr_time_t)UINT32_MAX), UP);
    assert_int_equal(tseed_calendar_date(&calendar, UP), WALL);
}

/* Whichever way the clock is set, what came just before is no older than it is. */
static void test_calendar__the_least_takes_no_step_ahead(void **state)
{
    const tseed_calendar_t calendar = tseed_calendar_begin(WALL, UP);

    (void)state;
    assert_int_equal(tseed_calendar_least(&calendar, WALL + DAY, UP + DAY), WALL + DAY);
    assert_int_equal(tseed_calendar_least(&calendar, WALL + YEAR, UP + DAY), WALL + DAY);
    assert_int_equal(tseed_calendar_least(&calendar, WALL - YEAR, UP + DAY), WALL - YEAR);
}

/* Later than what is recorded, it would still make young things old. */
static void test_calendar__the_least_heeds_no_record(void **state)
{
    tseed_calendar_t calendar = tseed_calendar_begin(WALL, UP);

    (void)state;
    tseed_calendar_show(&calendar, WALL + YEAR, UP);
    assert_int_equal(tseed_calendar_least(&calendar, WALL + DAY, UP + DAY), WALL + DAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calendar__dates_go_on_by_the_monotonic_clock),
        cmocka_unit_test(test_calendar__dates_do_not_begin_before_recorded_ones),
        cmocka_unit_test(test_calendar__a_damaged_date_is_not_believed),
        cmocka_unit_test(test_calendar__the_least_takes_no_step_ahead),
        cmocka_unit_test(test_calendar__the_least_heeds_no_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
