/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The state in a file of SQLite: what was reported as recorded is there, whatever happens to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_strings.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state_fixture.h"

#include <pthread.h>

static void test_state_file__is_one_file_when_it_is_settled(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "any");
    tseed_state_t *other;
    const char *log = apr_pstrcat(fixture->pool, fixture->dir, "/tileseed.db-wal", NULL);
    struct stat info;

    assert_int_equal(tseed_state_open(&other, fixture->dir, NULL, NULL, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_int_equal(stat(log, &info), 0);
    assert_true(info.st_size > 0);
    tseed_state_settle(fixture->state);
    assert_int_equal(stat(log, &info), 0); /* another process may have it open */
    assert_int_equal(info.st_size, 0);
    assert_int_equal(tseed_state_task_insert(other, &task, MOST), APR_SUCCESS);
    assert_int_equal(task.id, 2);
    tseed_state_close(other);
}

/* Each statement is prepared at its first use, some of them on PostgreSQL alone. */
static void test_state_file__every_statement_can_be_prepared(void **data)
{
    const fixture_t *fixture = *data;

    if (tseed_database_prepare(&fixture->state->db) != APR_SUCCESS) {
        fail_msg("%s", tseed_state_error(fixture->state));
    }
}

/* How SQLite means to find the rows of a statement. */
static const char *plan_of(const fixture_t *fixture, tseed_sql_t sql)
{
    const tseed_database_t *db = &fixture->state->db;
    char *text = apr_pstrcat(fixture->pool, "EXPLAIN QUERY PLAN ", tseed_statements[sql], NULL);
    apr_dbd_results_t *results = NULL;
    apr_dbd_row_t *row = NULL;

    for (char *parameter; (parameter = strchr(text, '%')) != NULL;) {
        memcpy(parameter, parameter[1] == 's' ? "''" : "1   ", parameter[1] == 's' ? 2 : 4);
    }
    assert_int_equal(apr_dbd_select(db->driver, fixture->pool, db->handle, &results, text, 0), 0);
    assert_int_equal(apr_dbd_get_row(db->driver, fixture->pool, results, &row, -1), 0);
    return apr_dbd_get_entry(db->driver, row, 3);
}

static void test_state_file__finds_unfinished_tasks_by_index(void **data)
{
    fixture_t *fixture = *data;

    assert_non_null(strstr(plan_of(fixture, TSEED_SQL_TASKS_COUNT), "INDEX task_state (state=?)"));
    assert_non_null(
        strstr(plan_of(fixture, TSEED_SQL_ROWS_AFTER), "INDEX task_state (state=? AND"));
    assert_non_null(
        strstr(plan_of(fixture, TSEED_SQL_TASKS_AFTER), "INDEX task_state (state=? AND"));
    assert_non_null(strstr(plan_of(fixture, TSEED_SQL_LAYER_HAS), "INDEX task_state (state=?)"));
    assert_non_null(strstr(plan_of(fixture, TSEED_SQL_TERMINATED), "INDEX task_kill_pending"));
}

/* ---- other processes ---- */

typedef struct {
    fixture_t *fixture;
    tseed_state_t *state;
    _Atomic int is_done;
    apr_status_t rv;
} patient_t;

static void *insert_patiently(void *data)
{
    patient_t *patient = data;
    tseed_task_t task = task_of(patient->fixture, "b");

    patient->rv = tseed_state_task_insert(patient->state, &task, MOST);
    patient->is_done = 1;
    return NULL;
}

/* Who has somebody waiting gives up while others go on waiting for the same lock. */
static void test_state_file__gives_up_sooner_when_a_client_waits(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *other = state_open(fixture);
    patient_t patient = {.fixture = fixture, .state = state_open(fixture)};
    tseed_task_t task = task_of(fixture, "a");
    pthread_t thread;

    tseed_state_hurry(fixture->state);
    assert_int_equal(tseed_state_begin(other), APR_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, insert_patiently, &patient), 0);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), EBUSY);
    assert_false(patient.is_done);
    tseed_state_rollback(other);
    pthread_join(thread, NULL);
    assert_int_equal(patient.rv, APR_SUCCESS);
    tseed_state_close(patient.state);
    tseed_state_close(other);
}

static void test_state_file__says_busy_when_another_process_holds_the_lock(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *other = state_open(fixture);
    tseed_task_t task = task_of(fixture, "a");
    apr_array_header_t *rows;

    assert_int_equal(tseed_state_begin(other), APR_SUCCESS);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), EBUSY);
    assert_non_null(strstr(tseed_state_error(fixture->state), "locked"));
    assert_int_equal(tseed_state_list(fixture->state, &rows, NULL, fixture->pool), APR_SUCCESS);
    tseed_state_rollback(other);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
}

/* Another process has a transaction for four seconds, longer than SQLite's driver waits. */
static void test_state_file__a_change_waits_for_those_of_others(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    int ready[2], status;
    char word;
    pid_t holder;

    tseed_state_close(fixture->state); /* no connection crosses a fork */
    assert_int_equal(pipe(ready), 0);
    holder = fork();
    if (holder == 0) {
        tseed_state_t *mine = state_open(fixture);
        int failed = tseed_state_begin(mine) != APR_SUCCESS || write(ready[1], "!", 1) != 1;

        apr_sleep(4 * APR_USEC_PER_SEC);
        _exit(failed || tseed_state_commit(mine) != APR_SUCCESS);
    }
    fixture->state = state_open(fixture);
    assert_int_equal(read(ready[0], &word, 1), 1);
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
}

/* Holds what SQLite holds after a crash while it looks through the log: the index file's locks to
 * write, to checkpoint and to recover, and its share of the switch (os_unix.c and wal.c). */
static pid_t hold_as_in_recovery(const fixture_t *fixture, unsigned microseconds)
{
    struct flock locks = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 3};
    struct flock share = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 128, .l_len = 1};
    const char *path = apr_pstrcat(fixture->pool, fixture->dir, "/tileseed.db-shm", NULL);
    int ends[2];
    pid_t holder;
    char held = 0;

    assert_int_equal(pipe(ends), 0);
    holder = fork();
    if (holder == 0) {
        int file = open(path, O_RDWR | O_CREAT, 0600);

        held = file >= 0 && ftruncate(file, 32768) == 0 && fcntl(file, F_SETLK, &locks) == 0 &&
               fcntl(file, F_SETLK, &share) == 0;
        _exit(write(ends[1], &held, 1) != 1 || usleep(microseconds) != 0);
    }
    assert_int_equal(read(ends[0], &held, 1), 1);
    assert_true(held);
    close(ends[0]);
    close(ends[1]);
    return holder;
}

static void test_state_file__waits_for_the_recovery_of_another(void **data)
{
    fixture_t *fixture = *data;
    pid_t holder;
    int status;

    tseed_state_close(fixture->state);
    holder = hold_as_in_recovery(fixture, 20000);
    fixture->state = state_open(fixture);
    waitpid(holder, &status, 0);
    assert_int_equal(status, 0);
}

/* ---- the file ---- */

static void test_state_file__keeps_its_files_to_itself(void **data)
{
    fixture_t *fixture = *data;
    static const char *const names[] = {"tileseed.db", "tileseed.db-wal", "tileseed.ids"};
    struct stat file;

    insert(fixture, fixture->state, "a");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(stat(path_in(fixture, names[i]), &file), 0);
        assert_int_equal(file.st_mode & 0777, 0600);
    }
    assert_int_equal(number(fixture, "PRAGMA synchronous"), 2); /* FULL */
    assert_int_equal(number(fixture, "SELECT value FROM meta WHERE name = 'schema_version'"), 21);
}

static void test_state_file__a_removed_file_is_noticed_and_ids_go_on(void **data)
{
    fixture_t *fixture = *data;
    int64_t before = insert(fixture, fixture->state, "a"), after;

    unlink(path_in(fixture, "tileseed.db"));
    after = insert(fixture, fixture->state, "b");
    assert_true(after > before);
    tseed_state_close(fixture->state);
    fixture->state = state_open(fixture);
    assert_true(is_there(fixture, after));
    assert_false(is_there(fixture, before));
}

static void test_state_file__a_replaced_file_is_noticed_by_everybody(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *other = state_open(fixture);
    int64_t id;

    insert(fixture, fixture->state, "a");
    rename(path_in(fixture, "tileseed.db"), path_in(fixture, "elsewhere.db"));
    rename(path_in(fixture, "tileseed.db-wal"), path_in(fixture, "elsewhere.db-wal"));
    id = insert(fixture, other, "b");
    assert_true(is_there(fixture, id));
}

/* Two processes have the log open when it goes, a third one comes afterwards. */
static void test_state_file__a_removed_log_is_no_loss(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *other = state_open(fixture);
    int64_t before = insert(fixture, other, "a"), after, last;

    assert_int_equal(unlink(path_in(fixture, "tileseed.db-wal")), 0);
    after = insert(fixture, fixture->state, "b");
    assert_non_null(strstr(last_line, "tileseed.db-wal was removed"));
    assert_true(is_there(fixture, before));
    last = insert(fixture, other, "c");
    tseed_state_close(other);
    tseed_state_close(fixture->state);
    fixture->state = state_open(fixture);
    assert_true(is_there(fixture, before));
    assert_true(is_there(fixture, after));
    assert_true(is_there(fixture, last));
}

static void test_state_file__a_transaction_finds_what_the_removed_log_held(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    claim(fixture, id);
    assert_int_equal(unlink(path_in(fixture, "tileseed.db-wal")), 0);
    assert_int_not_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_true(claim(fixture, id));
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
}

static void test_state_file__a_transaction_on_a_removed_file_fails(void **data)
{
    fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    claim(fixture, id);
    unlink(path_in(fixture, "tileseed.db"));
    assert_int_not_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_non_null(strstr(tseed_state_error(fixture->state), "replaced or removed"));
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
}

static void test_state_file__a_backup_gives_no_id_twice(void **data)
{
    fixture_t *fixture = *data;
    int64_t last;

    insert(fixture, fixture->state, "a");
    execute(fixture,
            apr_psprintf(fixture->pool, "VACUUM INTO '%s'", path_in(fixture, "backup.db")));
    for (int i = 0; i < 5; i++) {
        last = insert(fixture, fixture->state, "a");
    }
    tseed_state_close(fixture->state);
    assert_int_equal(rename(path_in(fixture, "backup.db"), path_in(fixture, "tileseed.db")), 0);
    fixture->state = state_open(fixture);
    assert_true(insert(fixture, fixture->state, "a") > last);
}

static void test_state_file__ids_survive_the_loss_of_the_mark(void **data)
{
    fixture_t *fixture = *data;

    assert_int_equal(insert(fixture, fixture->state, "a"), 1);
    tseed_state_close(fixture->state);
    unlink(path_in(fixture, "tileseed.ids"));
    fixture->state = state_open(fixture);
    assert_int_equal(insert(fixture, fixture->state, "a"), 2);
}

static void test_state_file__ids_go_on_when_all_files_are_gone(void **data)
{
    fixture_t *fixture = *data;
    int64_t before = insert(fixture, fixture->state, "a");

    unlink(path_in(fixture, "tileseed.db"));
    unlink(path_in(fixture, "tileseed.ids"));
    assert_true(insert(fixture, fixture->state, "a") > before);
}

static void test_state_file__says_that_the_mark_cannot_be_read(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *state;

    tseed_state_close(fixture->state);
    unlink(path_in(fixture, "tileseed.ids"));
    mkdir(path_in(fixture, "tileseed.ids"), 0700);
    assert_int_equal(tseed_state_open(&state, fixture->dir, NULL, NULL, fixture->pool), EISDIR);
    assert_non_null(strstr(last_line, "tileseed.ids beside"));
    rmdir(path_in(fixture, "tileseed.ids"));
    fixture->state = state_open(fixture);
}

static void test_state_file__ids_pass_the_mark(void **data)
{
    fixture_t *fixture = *data;
    FILE *file;
    long long mark = 0;

    execute(fixture, "UPDATE meta SET value = 999 WHERE name = 'task_id'");
    assert_int_equal(insert(fixture, fixture->state, "a"), 1000);
    assert_int_equal(insert(fixture, fixture->state, "a"), 1001);
    file = fopen(path_in(fixture, "tileseed.ids"), "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lld", &mark), 1);
    fclose(file);
    assert_true(mark >= 1001);
}

static char *contents(const fixture_t *fixture, const char *name, apr_size_t *length)
{
    struct stat file;
    int descriptor = open(path_in(fixture, name), O_RDONLY);
    char *bytes;

    assert_int_equal(fstat(descriptor, &file), 0);
    *length = (apr_size_t)file.st_size;
    bytes = apr_palloc(fixture->pool, *length);
    assert_int_equal(read(descriptor, bytes, *length), file.st_size);
    close(descriptor);
    return bytes;
}

static void test_state_file__counts_that_were_columns_are_kept(void **data)
{
    fixture_t *fixture = *data;
    const int64_t id = insert(fixture, fixture->state, "a");
    tseed_progress_t progress;
    tseed_task_t *task;

    execute(fixture, "ALTER TABLE task DROP COLUMN counts");
    execute(fixture, "UPDATE task SET spared = 1, looked = 20, wrong = 3, shared = 4000000000000");
    execute(fixture, "UPDATE meta SET value = 20 WHERE name = 'schema_version'");
    tseed_state_close(fixture->state);
    fixture->state = state_open(fixture);
    assert_int_equal(tseed_state_task_get(fixture->state, &task, &progress, id, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(progress.spared, 1);
    assert_int_equal(progress.looked, 20);
    assert_int_equal(progress.wrong, 3);
    assert_int_equal(progress.forgotten, 0);
    assert_int_equal(progress.shared, INT64_C(4000000000000));
}

static void test_state_file__a_newer_schema_is_refused_and_left_alone(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *state;
    apr_size_t length, length_after;
    const char *before, *after;

    insert(fixture, fixture->state, "a");
    execute(fixture, "UPDATE meta SET value = 4711 WHERE name = 'schema_version'");
    tseed_state_close(fixture->state);
    before = contents(fixture, "tileseed.db", &length);
    assert_int_not_equal(tseed_state_open(&state, fixture->dir, NULL, NULL, fixture->pool),
                         APR_SUCCESS);
    assert_null(state);
    assert_non_null(strstr(last_line, "schema version 4711 of a newer mod_tileseed"));
    after = contents(fixture, "tileseed.db", &length_after);
    assert_int_equal(length_after, length);
    assert_memory_equal(after, before, length);
    assert_int_equal(count_files(fixture, "tileseed.db*"), 1);
}

static void test_state_file__a_full_disk_is_told_apart_and_gets_over(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, apr_pstrcat(fixture->pool, "layer", NULL));
    apr_status_t rv = APR_SUCCESS;
    char *big = apr_palloc(fixture->pool, 5000);

    memset(big, 'b', 4999);
    big[4999] = '\0';
    task.requested_by = big;
    number(fixture, apr_psprintf(fixture->pool, "PRAGMA max_page_count = %d",
                                 (int)number(fixture, "PRAGMA page_count") + 10));
    for (int i = 0; rv == APR_SUCCESS && i < 50; i++) {
        rv = tseed_state_task_insert(fixture->state, &task, MOST);
    }
    assert_true(APR_STATUS_IS_ENOSPC(rv));
    assert_int_equal(task.id, 0);
    assert_non_null(strstr(tseed_state_error(fixture->state), "full"));
    number(fixture, "PRAGMA max_page_count = 100000");
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT COUNT(*) = MAX(id) FROM task"), 1);
}

static void test_state_file__says_what_is_wrong_with_driver_and_directory(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *state;

    assert_int_not_equal(tseed_state_open(&state, fixture->dir, "oracle", NULL, fixture->pool),
                         APR_SUCCESS);
    assert_null(state);
    assert_non_null(strstr(last_line, "driver oracle is not supported, sqlite3 and pgsql are"));
    assert_int_not_equal(
        tseed_state_open(&state, path_in(fixture, "missing"), NULL, NULL, fixture->pool),
        APR_SUCCESS);
    assert_null(state);
    assert_non_null(strstr(last_line, "missing/tileseed.db"));
}

static void test_state_file__takes_another_file_if_told(void **data)
{
    fixture_t *fixture = *data;
    tseed_state_t *state;

    assert_int_equal(tseed_state_open(&state, fixture->dir, "sqlite3", "other.db", fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(count_files(fixture, "other.db"), 1);
    tseed_state_close(state);
    assert_int_equal(tseed_state_open(&state, "/nowhere", "sqlite3", path_in(fixture, "third.db"),
                                      fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(count_files(fixture, "third.db"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_state_file__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_one_file_when_it_is_settled),
        TEST(every_statement_can_be_prepared),
        TEST(finds_unfinished_tasks_by_index),
        TEST(gives_up_sooner_when_a_client_waits),
        TEST(says_busy_when_another_process_holds_the_lock),
        TEST(a_change_waits_for_those_of_others),
        TEST(waits_for_the_recovery_of_another),
        TEST(keeps_its_files_to_itself),
        TEST(a_removed_file_is_noticed_and_ids_go_on),
        TEST(a_replaced_file_is_noticed_by_everybody),
        TEST(a_removed_log_is_no_loss),
        TEST(a_transaction_finds_what_the_removed_log_held),
        TEST(a_transaction_on_a_removed_file_fails),
        TEST(a_backup_gives_no_id_twice),
        TEST(ids_survive_the_loss_of_the_mark),
        TEST(ids_go_on_when_all_files_are_gone),
        TEST(says_that_the_mark_cannot_be_read),
        TEST(ids_pass_the_mark),
        TEST(counts_that_were_columns_are_kept),
        TEST(a_newer_schema_is_refused_and_left_alone),
        TEST(a_full_disk_is_told_apart_and_gets_over),
        TEST(says_what_is_wrong_with_driver_and_directory),
        TEST(takes_another_file_if_told),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
