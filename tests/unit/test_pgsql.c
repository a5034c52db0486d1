/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* PostgreSQL: what its driver does in its own way, what many writers do at once, and connections
 * that are lost at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/tseed_answer.h"
#include "state/tseed_books.h"

#include "state_fixture.h"

enum { WRITERS = 4 };

/* ---- helpers ---- */

static const char *text(const fixture_t *fixture, const char *sql)
{
    const char *answer;

    if (tseed_database_ask(&fixture->state->db, &answer, sql, fixture->pool) != APR_SUCCESS) {
        fail_msg("%s", tseed_state_error(fixture->state));
    }
    return answer;
}

/* Ends all connections but the one that says so. */
static void end_connections(void)
{
    assert_int_equal(database_do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                 " WHERE pid <> pg_backend_pid() AND backend_type = "
                                 "'client backend'"),
                     0);
}

/* Opens the same database with an option more. */
static apr_status_t open_with(tseed_state_t **state, const fixture_t *fixture, const char *option)
{
    const char *params = apr_pstrmemdup(fixture->pool, fixture->params,
                                        strlen(fixture->params) - 1); /* its last quote */

    return tseed_state_open(state, fixture->dir, "pgsql",
                            apr_pstrcat(fixture->pool, params, " ", option, "'", NULL),
                            fixture->pool);
}

typedef int write_t(const fixture_t *fixture, tseed_state_t *state, int writer);

/* Starts processes that write at once, each over a connection of its own. */
static void begin_writers(pid_t *writers, const fixture_t *fixture, write_t *write)
{
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            tseed_state_t *mine;
            int wrong = tseed_state_open(&mine, fixture->dir, "pgsql", fixture->params,
                                         fixture->pool) != APR_SUCCESS;

            _exit(wrong ? 100 : write(fixture, mine, i));
        }
    }
}

static void await_writers(const pid_t *writers)
{
    for (int i = 0; i < WRITERS; i++) {
        int status;

        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
}

/* Has processes write; nothing else goes on meanwhile. */
static void write_at_once(fixture_t *fixture, write_t *write)
{
    pid_t writers[WRITERS];

    tseed_state_close(fixture->state); /* no connection crosses a fork */
    begin_writers(writers, fixture, write);
    await_writers(writers);
    fixture->state = state_open(fixture);
}

/* ---- the driver ---- */

/* Rows that come one by one cost a tenth of a second where there are none. */
static void test_pgsql__rows_are_read_as_a_whole(void **data)
{
    const fixture_t *fixture = *data;
    const int64_t id = 1;
    tseed_rows_t rows;

    assert_int_equal(tseed_database_select(&rows, &fixture->state->db, TSEED_SQL_TASK_GET,
                                           (const void *[]){&id}, fixture->pool),
                     APR_SUCCESS);
    assert_int_equal(rows.left, 0);
    assert_false(tseed_rows_next(&rows));
}

/* A statement that is not prepared by name is looked at only when it is used. */
static void test_pgsql__every_statement_is_prepared(void **data)
{
    const fixture_t *fixture = *data;

    if (tseed_database_prepare(&fixture->state->db) != APR_SUCCESS) {
        fail_msg("%s", tseed_state_error(fixture->state));
    }
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM pg_prepared_statements"),
                     TSEED_SQL_COUNT + tseed_statements_guests()->count);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM pg_prepared_statements"
                                     " WHERE 'real'::regtype = ANY (parameter_types)"
                                     " OR 'double precision'::regtype = ANY (parameter_types)"),
                     0);
}

static void test_pgsql__measures_keep_their_digits(void **data)
{
    const fixture_t *fixture = *data;
    const tseed_measure_t measure = {.metatiles = 1,
                                     .tiles = 16,
                                     .bytes = 123456789012.25,
                                     .bytes_squares = 4503599627370497,
                                     .busy = 0.000244140625};
    tseed_measure_t back[TSEED_LEVELS_MAX];

    assert_int_equal(tseed_state_measure_add(fixture->state, "set", 7, &measure), APR_SUCCESS);
    assert_int_equal(tseed_state_measures(fixture->state, back, "set"), APR_SUCCESS);
    assert_true(back[7].bytes == measure.bytes);
    assert_true(back[7].bytes_squares == measure.bytes_squares);
    assert_true(back[7].busy == measure.busy);
}

/* PostgreSQL answers a COMMIT of such a transaction with success. */
static void test_pgsql__a_transaction_with_a_failed_statement_is_not_committed(void **data)
{
    const fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_true(claim(fixture, id));
    assert_int_not_equal(tseed_database_execute(&fixture->state->db, "SELECT 1 / 0"), APR_SUCCESS);
    assert_int_not_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_non_null(strstr(tseed_state_error(fixture->state), "division by zero"));
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT state FROM task"), TSEED_PENDING);
}

/* Any value comes back as it was, though it was sent as text among others. */
static void test_pgsql__changes_that_wait_keep_their_values(void **data)
{
    static const char *const causes[] = {"it's", "back\\slash \\'", "100 %d; --\n", "",
                                         "j\xfcrgen"};
    static const char *const back[] = {"it's", "back\\slash \\'", "100 %d; --\n", "",
                                       "j\xc3\xbcrgen"};
    enum { CAUSES = sizeof(causes) / sizeof(causes[0]), MANY = 2000 };
    const fixture_t *fixture = *data;
    tseed_failure_t failure = {.task = INT64_MIN, .z = -1, .x = INT64_MAX, .time = 1};

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        failure.y = i;
        failure.cause = causes[i % CAUSES];
        assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
        assert_true(i > 0 || fixture->state->db.waiting);
    }
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM failure"
                                     " WHERE task = -9223372036854775808 AND z = -1"
                                     " AND x = 9223372036854775807"),
                     MANY);
    for (int i = 0; i < CAUSES; i++) {
        assert_string_equal(
            text(fixture, apr_psprintf(fixture->pool, "SELECT cause FROM failure WHERE y = %d",
                                       MANY - CAUSES + i)),
            back[i]);
    }
}

/* Much that waits would take much memory, and fill the log of a server that logs what failed. */
static void test_pgsql__little_waits(void **data)
{
    enum { LENGTH = 60 * 1024, LONG = 2 * 1024 * 1024, MANY = 40 };
    const fixture_t *fixture = *data;
    tseed_failure_t failure = {.task = 1};
    char *cause = apr_pcalloc(fixture->pool, LONG + 1);

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        failure.x = i;
        failure.cause = memset(cause, '\'', LENGTH);
        assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
        assert_true(!fixture->state->db.waiting || fixture->state->db.waiting_bytes < 256 * 1024);
    }
    failure.x = MANY;
    failure.cause = memset(cause, 'x', LONG);
    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
    assert_null(fixture->state->db.waiting);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT SUM(length(cause)) FROM failure"),
                     MANY * LENGTH + LONG);
}

static void test_pgsql__a_change_that_waited_and_failed_is_told_by_the_commit(void **data)
{
    const fixture_t *fixture = *data;
    const int64_t id = insert(fixture, fixture->state, "a");
    const tseed_failure_t failure = {.task = id, .z = 7, .cause = "none"};

    execute(fixture, "ALTER TABLE failure ADD CONSTRAINT low CHECK (z < 5)");
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_true(claim(fixture, id));
    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
    assert_int_not_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_non_null(strstr(tseed_state_error(fixture->state), "check constraint \"low\""));
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT state FROM task"), TSEED_PENDING);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM failure"), 0);
}

/* Who asks in a transaction sees what it has changed. */
static void test_pgsql__changes_that_wait_are_sent_before_a_question(void **data)
{
    const fixture_t *fixture = *data;
    const tseed_failure_t failure = {.task = 1, .cause = "none"};

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
    assert_string_equal(text(fixture, "SELECT COUNT(*) FROM failure"), "1");
    assert_int_equal(tseed_state_failure_add(fixture->state, &failure), APR_SUCCESS);
    tseed_state_rollback(fixture->state);
    assert_null(fixture->state->db.waiting);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM failure"), 0);
}

static void test_pgsql__text_that_is_no_utf8_is_taken_for_latin1(void **data)
{
    const fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a"), *back;
    tseed_progress_t progress;

    task.requested_by = "j\xfcrgen";
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_int_equal(tseed_state_task_get(fixture->state, &back, &progress, task.id, fixture->pool),
                     APR_SUCCESS);
    assert_string_equal(back->requested_by, "j\xc3\xbcrgen");
}

/* ---- connections ---- */

static void test_pgsql__a_connection_that_was_lost_is_made_anew(void **data)
{
    const fixture_t *fixture = *data;
    apr_array_header_t *rows;

    insert(fixture, fixture->state, "a");
    end_connections();
    assert_int_equal(insert(fixture, fixture->state, "b"), 2);
    end_connections();
    assert_int_equal(tseed_state_list(fixture->state, &rows, NULL, fixture->pool), APR_SUCCESS);
    assert_int_equal(rows->nelts, 2);
    end_connections();
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_true(claim(fixture, 1));
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
}

static void test_pgsql__a_transaction_that_lost_its_connection_fails(void **data)
{
    const fixture_t *fixture = *data;
    int64_t id = insert(fixture, fixture->state, "a");
    int won;

    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_true(claim(fixture, id));
    end_connections();
    assert_int_not_equal(tseed_state_task_claim(fixture->state, id, 5, &won), APR_SUCCESS);
    assert_false(won);
    tseed_state_rollback(fixture->state);
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT state FROM task"), TSEED_PENDING);
}

/* Whoever commits an insert loses the connection while the commit is under way. */
static void test_pgsql__a_commit_without_an_answer_is_uncertain_and_not_repeated(void **data)
{
    const fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    apr_array_header_t *rows;

    execute(fixture, "CREATE TABLE tries (try serial)");
    execute(fixture, "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                     " PERFORM nextval('tries_try_seq');"
                     " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
    execute(fixture, "CREATE CONSTRAINT TRIGGER dies AFTER INSERT ON task"
                     " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()");
    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_INCOMPLETE);
    assert_int_equal(tseed_state_list(fixture->state, &rows, NULL, fixture->pool), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT last_value FROM tries_try_seq"), 1);
    assert_string_equal(text(fixture, "SELECT is_called FROM tries_try_seq"), "t");
}

/* The answer to the commit of an end was lost, but it was done. */
static void test_pgsql__an_end_that_was_recorded_before_is_no_termination(void **data)
{
    const fixture_t *fixture = *data;
    const int64_t id = insert(fixture, fixture->state, "a");
    tseed_progress_t progress = {.state = TSEED_DONE, .made = 100, .finished = 9};
    int won;

    assert_int_equal(tseed_state_task_finish(fixture->state, id, &progress, &won), APR_SUCCESS);
    assert_true(won);
    assert_int_equal(tseed_state_task_finish(fixture->state, id, &progress, &won), APR_SUCCESS);
    assert_true(won);
    progress.state = TSEED_ABORTED;
    assert_int_equal(tseed_state_task_finish(fixture->state, id, &progress, &won), APR_SUCCESS);
    assert_false(won);
}

static void test_pgsql__says_where_nobody_listens(void **data)
{
    const fixture_t *fixture = *data;
    tseed_state_t *state;

    assert_int_equal(tseed_state_open(&state, fixture->dir, "pgsql",
                                      "host=127.0.0.1 port=1 dbname=d password='top secret'",
                                      fixture->pool),
                     ECONNREFUSED);
    assert_null(state);
    assert_non_null(strstr(last_line, "database d at 127.0.0.1: "));
    assert_non_null(strstr(last_line, "is PostgreSQL running there, on that port?"));
    assert_null(strstr(last_line, "secret"));
}

/* libpq's words come in several lines, and the second one is indented. */
static void test_pgsql__says_in_one_line_which_word_is_wrong(void **data)
{
    const fixture_t *fixture = *data;
    const struct {
        const char *params, *advice;
    } wrongs[] = {
        {apr_pstrcat(fixture->pool, "host=", postgres.dir,
                     " user=no_login password=known dbname=tileseed", NULL),
         "; check user= of TileSeedDatabase"},
        {database_user(fixture->pool, "tileseed", "passfile", "nowhere"),
         "; check dbname= of TileSeedDatabase"},
    };

    assert_int_equal(database_do_all("CREATE ROLE no_login PASSWORD 'known'", fixture->pool), 0);
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        tseed_state_t *state;

        assert_int_equal(
            tseed_state_open(&state, fixture->dir, "pgsql", wrongs[i].params, fixture->pool),
            EINVAL);
        assert_null(state);
        assert_non_null(strstr(last_line, "FATAL: "));
        assert_non_null(strstr(last_line, wrongs[i].advice));
        assert_null(strpbrk(last_line, "\n\t"));
        assert_null(strstr(last_line, "  "));
    }
}

static void test_pgsql__gives_up_what_takes_too_long(void **data)
{
    const fixture_t *fixture = *data;

    assert_string_equal(text(fixture, "SELECT current_setting('statement_timeout')"), "3s");
    assert_string_equal(text(fixture, "SELECT current_setting('lock_timeout')"), "1s");
    assert_string_equal(
        text(fixture, "SELECT current_setting('idle_in_transaction_session_timeout')"), "10s");
}

static apr_status_t read_timeout(tseed_state_t *state, void *baton)
{
    return tseed_database_ask(&state->db, baton, "SELECT current_setting('statement_timeout')",
                              state->scratch);
}

/* Sums of all pages, for example, of millions of them. */
static void test_pgsql__waits_for_what_may_take_long(void **data)
{
    const fixture_t *fixture = *data;
    const char *timeout;

    assert_int_equal(tseed_work_read_long(fixture->state, read_timeout, &timeout), APR_SUCCESS);
    assert_string_equal(timeout, "1min");
    assert_int_equal(tseed_work_read(fixture->state, read_timeout, &timeout), APR_SUCCESS);
    assert_string_equal(timeout, "3s");
}

/* The last one holds the lock that accepting a task takes. */
static void test_pgsql__a_change_gives_up_waiting_for_a_lock(void **data)
{
    const fixture_t *fixture = *data;
    tseed_state_t *other, *impatient;
    tseed_task_t task = task_of(fixture, "a");

    assert_int_equal(open_with(&other, fixture, ""), APR_SUCCESS);
    assert_int_equal(open_with(&impatient, fixture, "-c lock_timeout=50"), APR_SUCCESS);
    assert_int_equal(tseed_state_begin(other), APR_SUCCESS);
    assert_int_equal(insert(fixture, other, "b"), 1);
    assert_int_not_equal(tseed_state_task_insert(impatient, &task, MOST), APR_SUCCESS);
    assert_non_null(strstr(tseed_state_error(impatient), "lock timeout"));
    assert_int_equal(tseed_state_commit(other), APR_SUCCESS);
    assert_int_equal(tseed_state_task_insert(impatient, &task, MOST), APR_SUCCESS);
    assert_int_equal(task.id, 2);
}

static void test_pgsql__what_was_accepted_is_on_the_disk(void **data)
{
    fixture_t *fixture = *data;

    tseed_state_close(fixture->state);
    assert_int_equal(open_with(&fixture->state, fixture, "-c synchronous_commit=off"), APR_SUCCESS);
    assert_string_equal(text(fixture, "SELECT current_setting('synchronous_commit')"), "on");
    tseed_state_close(fixture->state);
    assert_int_equal(open_with(&fixture->state, fixture, "-c synchronous_commit=remote_apply"),
                     APR_SUCCESS);
    assert_string_equal(text(fixture, "SELECT current_setting('synchronous_commit')"),
                        "remote_apply");
}

/* ---- the schema ---- */

static int open_only(const fixture_t *fixture, tseed_state_t *state, int writer)
{
    (void)fixture;
    (void)writer;
    return state == NULL;
}

static void test_pgsql__many_may_find_it_empty_at_once(void **data)
{
    fixture_t *fixture = *data;

    for (int round = 0; round < 3; round++) {
        fixture->params = database_params(fixture->pool);
        write_at_once(fixture, open_only);
        assert_int_equal(number(fixture, "SELECT COUNT(*) FROM meta WHERE name = 'task_id'"), 1);
    }
}

static void test_pgsql__an_older_schema_is_migrated(void **data)
{
    fixture_t *fixture = *data;
    const int64_t newest = number(fixture, "SELECT value FROM meta WHERE name = 'schema_version'");

    insert(fixture, fixture->state, "a");
    execute(fixture, "ALTER TABLE task DROP COLUMN pruned, DROP COLUMN looked, DROP COLUMN wrong,"
                     " DROP COLUMN shared, DROP COLUMN spared, DROP COLUMN forgotten,"
                     " DROP COLUMN reason_code, DROP COLUMN counts");
    execute(fixture, "ALTER TABLE tileset DROP COLUMN by_reading, DROP COLUMN place");
    execute(fixture, "DROP TABLE finding, shade, host, role, miss, portion");
    execute(fixture, "DELETE FROM meta WHERE name = 'epoch'");
    execute(fixture, "UPDATE meta SET value = 10 WHERE name = 'schema_version'");
    tseed_state_close(fixture->state);
    fixture->state = state_open(fixture);
    assert_int_equal(number(fixture, "SELECT value FROM meta WHERE name = 'schema_version'"),
                     newest);
    assert_int_equal(number(fixture, "SELECT shared + pruned FROM task WHERE id = 1"), 0);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM finding"), 0);
}

static void test_pgsql__a_newer_schema_is_refused(void **data)
{
    const fixture_t *fixture = *data;
    tseed_state_t *state;

    execute(fixture, "UPDATE meta SET value = 4711 WHERE name = 'schema_version'");
    assert_int_equal(open_with(&state, fixture, ""), ENOTSUP);
    assert_null(state);
    assert_non_null(strstr(last_line, "schema version 4711 of a newer mod_tileseed"));
    assert_non_null(strstr(last_line, "name another database to begin anew"));
}

static void test_pgsql__another_encoding_is_refused(void **data)
{
    const fixture_t *fixture = *data;
    tseed_state_t *state;
    const char *params = database_user(fixture->pool, "tileseed", "passfile", "latin");

    assert_int_equal(database_do_all("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0",
                                     fixture->pool),
                     0);
    assert_int_equal(tseed_state_open(&state, fixture->dir, "pgsql", params, fixture->pool),
                     ENOTSUP);
    assert_non_null(strstr(last_line, "has the encoding LATIN1"));
}

/* ---- many writers ---- */

static int insert_many(const fixture_t *fixture, tseed_state_t *state, int writer)
{
    tseed_task_t task = task_of(fixture, "a");

    (void)writer;
    for (int i = 0; i < 100; i++) {
        if (tseed_state_task_insert(state, &task, MOST) != APR_SUCCESS) {
            return 1;
        }
    }
    return 0;
}

/* The seeder asks for ids beyond the last one that it has seen. */
static void test_pgsql__ids_appear_in_their_order(void **data)
{
    fixture_t *fixture = *data;
    pid_t writers[WRITERS];
    int64_t last = 0;

    tseed_state_close(fixture->state);
    begin_writers(writers, fixture, insert_many);
    fixture->state = state_open(fixture);
    while (last < 100 * WRITERS) {
        apr_array_header_t *tasks;

        assert_int_equal(tseed_state_new_tasks(fixture->state, &tasks, last, fixture->pool),
                         APR_SUCCESS);
        for (int i = 0; i < tasks->nelts; i++) {
            assert_int_equal(APR_ARRAY_IDX(tasks, i, tseed_task_record_t).task->id, ++last);
        }
    }
    await_writers(writers);
}

static int insert_up_to_fifty(const fixture_t *fixture, tseed_state_t *state, int writer)
{
    tseed_task_t task = task_of(fixture, "a");
    apr_status_t rv;

    (void)writer;
    do {
        rv = tseed_state_task_insert(state, &task, 50);
    } while (rv == APR_SUCCESS);
    return rv != APR_EAGAIN;
}

static void test_pgsql__bounds_unfinished_tasks_among_many(void **data)
{
    fixture_t *fixture = *data;

    write_at_once(fixture, insert_up_to_fifty);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task"), 50);
}

/* Each request comes to all writers at about the same time. */
static int accept_with_keys(const fixture_t *fixture, tseed_state_t *state, int writer)
{
    for (int i = 0; i < 50; i++) {
        tseed_task_t task = task_of(fixture, "a");
        tseed_acceptance_t acceptance = {.task = &task,
                                         .most = MOST,
                                         .key = apr_psprintf(fixture->pool, "key %d", i),
                                         .digest = "d"};

        if (tseed_state_accept(state, &acceptance) != APR_SUCCESS || task.id != i + 1) {
            return 1 + writer;
        }
    }
    return 0;
}

static void test_pgsql__a_key_becomes_one_task(void **data)
{
    fixture_t *fixture = *data;

    write_at_once(fixture, accept_with_keys);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task"), 50);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM request"), 50);
}

static int accept_leniently(const fixture_t *fixture, tseed_state_t *state, int writer)
{
    tseed_task_t task = task_of(fixture, "a");
    tseed_acceptance_t acceptance = {.task = &task, .most = MOST, .lenient = 1};

    (void)writer;
    return tseed_state_accept(state, &acceptance) != APR_SUCCESS || task.id != 1;
}

static void test_pgsql__a_lenient_request_becomes_one_task(void **data)
{
    fixture_t *fixture = *data;

    write_at_once(fixture, accept_leniently);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM task"), 1);
}

#define WAITS_FOR_US                                                                               \
    "SELECT COUNT(DISTINCT pid) FROM pg_locks"                                                     \
    " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"

/* How many tasks were terminated; below 0: it failed. */
static void *terminate_all(void *data)
{
    const fixture_t *fixture = data;
    const tseed_termination_t what = {
        .mask = 1U << TSEED_PENDING | 1U << TSEED_RUNNING, .now = 1, .reason = "terminated"};
    apr_array_header_t *terminated;
    apr_pool_t *pool; /* of this thread */
    tseed_state_t *state;
    intptr_t count = -1;

    apr_pool_create(&pool, NULL);
    if (tseed_state_open(&state, fixture->dir, "pgsql", fixture->params, pool) == APR_SUCCESS &&
        tseed_state_terminate(state, &terminated, &what, pool) == APR_SUCCESS) {
        count = terminated->nelts;
    }
    apr_pool_destroy(pool);
    return (void *)count;
}

/* A seeder that follows another one makes tasks PENDING again. */
static void test_pgsql__a_task_that_changes_its_state_is_terminated(void **data)
{
    fixture_t *fixture = *data;
    tseed_task_t task = task_of(fixture, "a");
    pthread_t thread;
    void *count;
    int won;

    assert_int_equal(tseed_state_task_insert(fixture->state, &task, MOST), APR_SUCCESS);
    assert_int_equal(tseed_state_task_claim(fixture->state, task.id, 1, &won), APR_SUCCESS);
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(
        tseed_database_execute(&fixture->state->db, "UPDATE task SET state = 0 WHERE state = 1"),
        APR_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, terminate_all, fixture), 0);
    while (pthread_tryjoin_np(thread, &count) == EBUSY && number(fixture, WAITS_FOR_US) == 0) {
        usleep(1000);
    }
    assert_int_equal(number(fixture, WAITS_FOR_US), 1);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(pthread_join(thread, &count), 0);
    assert_int_equal((intptr_t)count, 1);
    assert_int_equal(number(fixture, "SELECT state FROM task"), TSEED_ABORTED);
}

/* Replaces the quota twenty times, whatever others do. */
static int replace_quota(const fixture_t *fixture, tseed_state_t *state, int writer)
{
    (void)writer;
    for (int done = 0; done < 20;) {
        const char *saved, *directive;
        int64_t version = 0;
        apr_status_t rv = tseed_state_quota_get(state, &saved, &directive, &version, fixture->pool);

        if (rv != APR_SUCCESS && rv != APR_NOTFOUND) {
            return 1;
        }
        rv = tseed_state_quota_set(state, "saved", "on 1GiB", version);
        if (rv != APR_SUCCESS && rv != APR_EAGAIN) {
            return 2;
        }
        done += rv == APR_SUCCESS;
    }
    return 0;
}

static void test_pgsql__no_replacement_of_the_quota_is_lost(void **data)
{
    fixture_t *fixture = *data;

    write_at_once(fixture, replace_quota);
    assert_int_equal(number(fixture, "SELECT version FROM quota"), 20 * WRITERS);
}

static void test_pgsql__what_comes_to_a_note_that_is_held_is_not_lost(void **data)
{
    const fixture_t *fixture = *data;
    tseed_state_t *client;
    const char *value;

    assert_int_equal(open_with(&client, fixture, "-c lock_timeout=50"), APR_SUCCESS);
    assert_int_equal(tseed_books_note_append(client, "wanted", " 1"), APR_SUCCESS);
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_books_note_hold(fixture->state, &value, "wanted", fixture->pool),
                     APR_SUCCESS);
    assert_string_equal(value, " 1");
    assert_int_not_equal(tseed_books_note_append(client, "wanted", " 2"), APR_SUCCESS);
    assert_int_equal(tseed_books_note_set(fixture->state, "wanted", ""), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_books_note_append(client, "wanted", " 2"), APR_SUCCESS);
    assert_int_equal(tseed_books_note_get(fixture->state, &value, "wanted", fixture->pool),
                     APR_SUCCESS);
    assert_string_equal(value, " 2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_pgsql__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_read_as_a_whole),
        TEST(every_statement_is_prepared),
        TEST(measures_keep_their_digits),
        TEST(a_transaction_with_a_failed_statement_is_not_committed),
        TEST(changes_that_wait_keep_their_values),
        TEST(little_waits),
        TEST(a_change_that_waited_and_failed_is_told_by_the_commit),
        TEST(changes_that_wait_are_sent_before_a_question),
        TEST(text_that_is_no_utf8_is_taken_for_latin1),
        TEST(a_connection_that_was_lost_is_made_anew),
        TEST(a_transaction_that_lost_its_connection_fails),
        TEST(a_commit_without_an_answer_is_uncertain_and_not_repeated),
        TEST(an_end_that_was_recorded_before_is_no_termination),
        TEST(says_where_nobody_listens),
        TEST(says_in_one_line_which_word_is_wrong),
        TEST(gives_up_what_takes_too_long),
        TEST(waits_for_what_may_take_long),
        TEST(a_change_gives_up_waiting_for_a_lock),
        TEST(what_was_accepted_is_on_the_disk),
        TEST(many_may_find_it_empty_at_once),
        TEST(an_older_schema_is_migrated),
        TEST(a_newer_schema_is_refused),
        TEST(another_encoding_is_refused),
        TEST(ids_appear_in_their_order),
        TEST(bounds_unfinished_tasks_among_many),
        TEST(a_key_becomes_one_task),
        TEST(a_lenient_request_becomes_one_task),
        TEST(a_task_that_changes_its_state_is_terminated),
        TEST(no_replacement_of_the_quota_is_lost),
        TEST(what_comes_to_a_note_that_is_held_is_not_lost),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
