/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The session: trouble with the database is told when it begins and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "work/tseed_session.h"

static char line[1024];
static int lines;

const char *tseed_state_error(const tseed_state_t *state)
{
    (void)state;
    return "disk I/O error";
}

static void keep_line(void *baton, tseed_log_level_t level, apr_status_t rv, const char *text)
{
    (void)baton;
    (void)level;
    (void)rv;
    apr_cpystrn(line, text, sizeof(line));
    lines++;
}

static int begin(void **state)
{
    (void)state;
    lines = 0;
    tseed_log_sink_set(keep_line, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tseed_log_sink_set(NULL, NULL);
    return 0;
}

static void test_session__trouble_is_told_once(void **state)
{
    tseed_session_t session = {0};
    const apr_time_t before = tseed_clock_monotonic();

    (void)state;
    tseed_session_fail(&session, APR_EGENERAL, "save tasks");
    assert_int_equal(lines, 1);
    assert_non_null(strstr(line, "can't save tasks in the state database: disk I/O error;"));
    assert_non_null(strstr(session.trouble, "can't be written"));
    assert_true(session.retry_at >= before + APR_USEC_PER_SEC / 2);
    assert_true(session.retry_at <= tseed_clock_monotonic() + 2 * APR_USEC_PER_SEC);
    session.retry_at = 0;
    tseed_session_fail(&session, APR_ENOSPC, "save tasks");
    assert_int_equal(lines, 1);
    assert_non_null(strstr(session.trouble, "no space left"));
    assert_true(session.retry_at > before);
    tseed_session_works(&session);
    assert_int_equal(lines, 2);
    assert_non_null(strstr(line, "works again"));
    assert_null(session.trouble);
    tseed_session_works(&session);
    assert_int_equal(lines, 2);
    tseed_session_fail(&session, APR_EGENERAL, "save tasks");
    assert_int_equal(lines, 3);
}

/* Another host writes now: this seeder ends, and its tasks do not wait. */
static void test_session__a_fence_is_no_trouble(void **state)
{
    tseed_session_t session = {0};

    (void)state;
    tseed_session_fail(&session, TSEED_EFENCED, "save tasks");
    assert_int_equal(lines, 0);
    assert_null(session.trouble);
    assert_true(session.retry_at > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_session__trouble_is_told_once, begin, end),
        cmocka_unit_test_setup_teardown(test_session__a_fence_is_no_trouble, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
