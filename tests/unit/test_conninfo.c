/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parameters of a connection to PostgreSQL: read as libpq reads them, completed, and shown
 * without a password. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "state/tseed_conninfo.h"

#include "pool_fixture.h"

static apr_table_t *conninfo_of(const char *text)
{
    apr_table_t *conninfo;
    const char *error = tseed_conninfo_read(&conninfo, text, pool);

    if (error) {
        fail_msg("%s", error);
    }
    return conninfo;
}

static void refuses(const char *text, const char *words)
{
    apr_table_t *conninfo;
    const char *error = tseed_conninfo_read(&conninfo, text, pool);

    if (!error || !strstr(error, words) || strstr(error, "secret")) {
        fail_msg("%s: %s", text, error);
    }
}

static void test_conninfo__is_read_as_libpq_reads_it(void **state)
{
    const apr_table_t *conninfo = conninfo_of(
        "  host = db.example\tport=5433 password='it\\'s \\\\ mine' dbname=a\\ b user=''\n");

    (void)state;
    assert_string_equal(apr_table_get(conninfo, "host"), "db.example");
    assert_string_equal(apr_table_get(conninfo, "port"), "5433");
    assert_string_equal(apr_table_get(conninfo, "password"), "it's \\ mine");
    assert_string_equal(apr_table_get(conninfo, "dbname"), "a b");
    assert_string_equal(apr_table_get(conninfo, "user"), "");
    assert_int_equal(apr_table_elts(conninfo_of(""))->nelts, 0);
}

static void test_conninfo__the_last_of_two_counts(void **state)
{
    (void)state;
    assert_string_equal(apr_table_get(conninfo_of("host=a host=b"), "host"), "b");
}

static void test_conninfo__a_mistake_is_named_without_a_value(void **state)
{
    (void)state;
    refuses("host", "keyword=value is expected");
    refuses("=db", "keyword=value is expected");
    refuses("host=db tileseed", "keyword=value is expected");
    refuses("postgresql://me:secret@db/d?sslmode=require", "keyword=value is expected");
    refuses("password=my secret", "keyword=value is expected");
    refuses("password=my secret=x", "is no parameter of a connection");
    refuses("password='my secret", "the quotes of the value of password");
    refuses("hots=db", "'hots' is no parameter of a connection");
    refuses("port=0", "the value of port must be a whole number");
    refuses("port=5432,secret", "the value of port must be a whole number");
    refuses("keepalives_idle=2s", "the value of keepalives_idle must be a whole number");
    refuses("client_encoding=LATIN1", "must be UTF8");
}

static void test_conninfo__what_is_not_said_is_completed(void **state)
{
    const apr_table_t *conninfo =
        conninfo_of(tseed_conninfo_complete(conninfo_of("dbname=tileseed"), pool));

    (void)state;
    assert_string_equal(apr_table_get(conninfo, "dbname"), "tileseed");
    assert_string_equal(apr_table_get(conninfo, "connect_timeout"), "3");
    assert_string_equal(apr_table_get(conninfo, "tcp_user_timeout"), "4000");
    assert_string_equal(apr_table_get(conninfo, "keepalives_idle"), "2");
    assert_string_equal(apr_table_get(conninfo, "keepalives_interval"), "1");
    assert_string_equal(apr_table_get(conninfo, "keepalives_count"), "3");
    assert_non_null(strstr(apr_table_get(conninfo, "options"), "-c statement_timeout=3000"));
    assert_non_null(strstr(apr_table_get(conninfo, "options"), "-c lock_timeout=1000"));
    assert_non_null(
        strstr(apr_table_get(conninfo, "options"), "-c idle_in_transaction_session_timeout=10000"));
    assert_null(apr_table_get(conninfo, "target_session_attrs"));
}

static void test_conninfo__what_is_said_stands(void **state)
{
    const char *complete = tseed_conninfo_complete(
        conninfo_of("connect_timeout=30 options='-c lock_timeout=5s' password=\"it's\\'\\\\\""),
        pool);
    const apr_table_t *conninfo = conninfo_of(complete);
    const char *options = apr_table_get(conninfo, "options");

    (void)state;
    assert_string_equal(apr_table_get(conninfo, "connect_timeout"), "30");
    assert_true(strstr(options, "lock_timeout=5s") > strstr(options, "lock_timeout=1000"));
    assert_string_equal(apr_table_get(conninfo, "password"), "\"it's'\\\"");
}

static void test_conninfo__of_several_hosts_the_one_that_may_be_written_is_wanted(void **state)
{
    const char *complete = tseed_conninfo_complete(conninfo_of("host=a,b port=5432,5433"), pool);

    (void)state;
    assert_string_equal(apr_table_get(conninfo_of(complete), "target_session_attrs"), "read-write");
    complete = tseed_conninfo_complete(conninfo_of("host=a,b target_session_attrs=any"), pool);
    assert_string_equal(apr_table_get(conninfo_of(complete), "target_session_attrs"), "any");
}

static void test_conninfo__no_password_is_shown(void **state)
{
    const apr_table_t *conninfo =
        conninfo_of("host=db password=secret sslpassword='secret too' dbname='a b' options=''");

    (void)state;
    assert_string_equal(tseed_conninfo_show(conninfo, pool),
                        "host=db password=*** sslpassword=*** dbname='a b' options=''");
    assert_true(tseed_conninfo_has_password(conninfo));
    assert_false(tseed_conninfo_has_password(conninfo_of("host=db passfile=/f")));
}

static void test_conninfo__has_a_name_for_messages(void **state)
{
    (void)state;
    assert_string_equal(
        tseed_conninfo_name(conninfo_of("host=db dbname=tiles password=secret"), pool),
        "database tiles at db");
    assert_string_equal(tseed_conninfo_name(conninfo_of("hostaddr=::1 service=s"), pool),
                        "database s at ::1");
    assert_string_equal(tseed_conninfo_name(conninfo_of("user=me"), pool), "database by default");
}

#define TEST(name) cmocka_unit_test(test_conninfo__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_read_as_libpq_reads_it),
        TEST(the_last_of_two_counts),
        TEST(a_mistake_is_named_without_a_value),
        TEST(what_is_not_said_is_completed),
        TEST(what_is_said_stands),
        TEST(of_several_hosts_the_one_that_may_be_written_is_wanted),
        TEST(no_password_is_shown),
        TEST(has_a_name_for_messages),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
