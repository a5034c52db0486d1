/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The salvage: what can be read of a damaged database is kept, and nobody is stopped by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_file_io.h>
#include <apr_strings.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state_fixture.h"

static void overwrite(const char *path, off_t from, size_t length)
{
    int file = open(path, O_WRONLY);
    char *garbage = malloc(length);

    memset(garbage, 0xa5, length);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, garbage, length, from), (ssize_t)length);
    close(file);
    free(garbage);
}

/* Overwrites the page of the database that holds a text. */
static void overwrite_page_of(const fixture_t *fixture, const char *text)
{
    const char *path = path_in(fixture, "tileseed.db");
    apr_finfo_t info;
    apr_file_t *file;
    char *whole, *at;

    assert_int_equal(apr_file_open(&file, path, APR_READ, 0, fixture->pool), APR_SUCCESS);
    apr_file_info_get(&info, APR_FINFO_SIZE, file);
    whole = apr_palloc(fixture->pool, (apr_size_t)info.size);
    assert_int_equal(apr_file_read_full(file, whole, (apr_size_t)info.size, NULL), APR_SUCCESS);
    apr_file_close(file);
    at = memmem(whole, (size_t)info.size, text, strlen(text));
    assert_non_null(at);
    overwrite(path, (at - whole) / 4096 * 4096, 4096);
}

static void test_salvage__a_file_that_is_no_database_is_set_aside(void **data)
{
    fixture_t *fixture = *data;

    insert(fixture, fixture->state, "a");
    tseed_state_close(fixture->state);
    overwrite(path_in(fixture, "tileseed.db"), 0, 100);
    fixture->state = state_open(fixture);
    assert_int_equal(count_files(fixture, "tileseed.db.damaged-*Z"), 1);
    assert_non_null(strstr(last_line, "set aside"));
    assert_true(insert(fixture, fixture->state, "a") > 1);
}

static void test_salvage__what_can_be_read_of_a_damaged_file_is_salvaged(void **data)
{
    fixture_t *fixture = *data;
    int64_t saved;
    apr_array_header_t *tasks;
    const char *config, *directive;
    int64_t version;

    assert_int_equal(tseed_state_quota_set(fixture->state, "{}", "on", 0), APR_SUCCESS);
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    for (int i = 0; i < 600; i++) {
        insert(fixture, fixture->state,
               i == 200   ? "first victim"
               : i == 400 ? "second victim"
                          : "a");
    }
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    tseed_state_close(fixture->state); /* the log is written back */
    overwrite_page_of(fixture, "first victim");
    overwrite_page_of(fixture, "second victim");

    fixture->state = state_open(fixture);
    assert_int_equal(tseed_state_check(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_recover(fixture->state, &tasks, fixture->pool), APR_SUCCESS);
    saved = number(fixture, "SELECT COUNT(*) FROM task");
    assert_in_range(saved, 450, 599); /* about 46 rows fit on a page */
    assert_int_equal(tasks->nelts, saved);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task WHERE id IN (1, 600)"), 2);
    assert_int_equal(
        tseed_state_quota_get(fixture->state, &config, &directive, &version, fixture->pool),
        APR_SUCCESS);
    assert_int_equal(count_files(fixture, "tileseed.db.damaged-*Z"), 1);
    assert_int_equal(count_files(fixture, "tileseed.db.new*"), 0);
    assert_non_null(strstr(last_line, apr_psprintf(fixture->pool, "has %d tasks", (int)saved)));
    assert_true(insert(fixture, fixture->state, "a") > 600);
}

static void test_salvage__a_damaged_file_of_the_first_version_is_salvaged(void **data)
{
    fixture_t *fixture = *data;
    static const char *const later[] = {"metatile", "tileset", "page",
                                        "note",     "measure", "request"};
    apr_array_header_t *tasks;

    insert(fixture, fixture->state, "a");
    insert(fixture, fixture->state, "b");
    execute(fixture, "UPDATE task SET state = 1, low = 7 WHERE id = 1");
    execute(fixture, "INSERT INTO failure (task, z, x, y, cause, http_status, attempts, happened)"
                     " VALUES (1, 3, 4, 5, 'why', 500, 3, 1)");
    execute(fixture, "ALTER TABLE task DROP COLUMN retry_of");
    execute(fixture, "ALTER TABLE task DROP COLUMN away_since");
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        execute(fixture, apr_pstrcat(fixture->pool, "DROP TABLE ", later[i], NULL));
    }
    execute(fixture, "UPDATE meta SET value = 1 WHERE name = 'schema_version'");
    tseed_state_close(fixture->state);
    overwrite_page_of(fixture, "schema_version"); /* it can't be migrated */

    fixture->state = state_open(fixture);
    assert_int_equal(count_files(fixture, "tileseed.db.damaged-*Z"), 1);
    assert_int_equal(tseed_state_check(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_recover(fixture->state, &tasks, fixture->pool), APR_SUCCESS);
    assert_int_equal(tasks->nelts, 2);
    assert_int_equal(number(fixture, "SELECT low FROM task WHERE id = 1 AND retry_of = 0"), 7);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM failure WHERE task = 1 AND x = 4"), 1);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM request"), 0);
}

static void test_salvage__damage_that_shows_later_is_healed_as_well(void **data)
{
    fixture_t *fixture = *data;
    int64_t id, index;

    insert(fixture, fixture->state, "a");
    index = number(fixture, "SELECT rootpage FROM sqlite_master WHERE name = 'task_state'");
    tseed_state_close(fixture->state);
    fixture->state = state_open(fixture);
    overwrite(path_in(fixture, "tileseed.db"), (index - 1) * 4096, 4096);
    id = insert(fixture, fixture->state, "b");
    assert_int_equal(
        number(fixture,
               apr_psprintf(fixture->pool, "SELECT COUNT(*) FROM task WHERE id = %d", (int)id)),
        1);
    assert_int_equal(count_files(fixture, "tileseed.db.damaged-*Z"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_salvage__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_is_no_database_is_set_aside),
        TEST(what_can_be_read_of_a_damaged_file_is_salvaged),
        TEST(a_damaged_file_of_the_first_version_is_salvaged),
        TEST(damage_that_shows_later_is_healed_as_well),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
