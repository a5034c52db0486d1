/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The integrity check: the seeder ends its process at any moment, and waits for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "pool_fixture.h"
#include "seeder/tseed_integrity_check.h"

#define TEST_TIMEOUT 300 /* seconds, far beyond what a slow machine needs */

static char dir[64];
static tseed_settings_t settings;
static tseed_context_t context;
static tseed_session_t session;
static tseed_integrity_check_t *check;

/* What the process does when it says that it has looked through the database. */
static enum { LEAVES, IS_STUCK, IS_KILLED } ending;
static pid_t seeder;
static int said[2]; /* a pipe: a byte when it says so */

static void hear_line(void *baton, tseed_log_level_t level, apr_status_t rv, const char *line)
{
    (void)baton;
    (void)level;
    (void)rv;
    if (getpid() == seeder || !strstr(line, "looked through") || write(said[1], "", 1) != 1) {
        return;
    }
    if (ending == IS_KILLED) {
        raise(SIGKILL);
    }
    while (ending == IS_STUCK) {
        pause();
    }
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/tileseed-check-XXXXXX");
    if (!mkdtemp(dir) || pipe(said) != 0) {
        return -1;
    }
    seeder = getpid();
    ending = LEAVES;
    settings = (tseed_settings_t){.state_dir = dir, .db_driver = "sqlite3"};
    context = (tseed_context_t){.settings = &settings, .pool = pool, .scratch = pool};
    session = (tseed_session_t){.state = NULL};
    check = tseed_integrity_check_create(&context, &session);
    tseed_log_sink_set(hear_line, NULL);
    alarm(TEST_TIMEOUT);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    alarm(0);
    tseed_log_sink_set(NULL, NULL);
    close(said[0]);
    close(said[1]);
    return system(apr_pstrcat(pool, "rm -r ", dir, NULL));
}

static const char *path_in(const char *name)
{
    return apr_pstrcat(pool, dir, "/", name, NULL);
}

static int is_marked(void)
{
    return access(path_in("ended-well"), F_OK) == 0;
}

/* Has the process look through the database, until it is about to end. */
static void look(void)
{
    char byte;

    tseed_integrity_check_stand_by(check);
    tseed_integrity_check_begin(check);
    assert_int_equal(read(said[0], &byte, 1), 1);
}

static void assert_no_process(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_integrity_check__a_stop_does_not_wait_for_it(void **state)
{
    (void)state;
    ending = IS_STUCK;
    look();
    tseed_integrity_check_dismiss(check);
    assert_no_process();
}

static void test_integrity_check__a_process_that_stands_by_leaves(void **state)
{
    (void)state;
    tseed_integrity_check_stand_by(check);
    tseed_integrity_check_dismiss(check);
    assert_no_process();
    tseed_integrity_check_dismiss(check);
}

/* The number of the pipe is given to the next file that is opened. */
static void test_integrity_check__closes_its_pipe_once(void **state)
{
    int first, second;

    (void)state;
    look();
    first = open("/dev/null", O_RDONLY);
    second = open("/dev/null", O_RDONLY);
    tseed_integrity_check_dismiss(check);
    assert_int_not_equal(fcntl(first, F_GETFD), -1);
    assert_int_not_equal(fcntl(second, F_GETFD), -1);
    close(first);
    close(second);
}

/* Waits until the process has ended, and leaves it to the check to hear so. */
static void wait_for_end(void)
{
    siginfo_t info;

    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
}

static void test_integrity_check__a_sound_database_is_marked(void **state)
{
    (void)state;
    look();
    wait_for_end();
    assert_false(is_marked());
    tseed_integrity_check_end(check);
    assert_true(is_marked());
    assert_no_process();
}

/* The next seeder takes the mark away, looks through nothing, and leaves the mark again. */
static void test_integrity_check__a_marked_database_is_not_looked_through(void **state)
{
    (void)state;
    close(open(path_in("ended-well"), O_WRONLY | O_CREAT, S_IRUSR | S_IWUSR));
    tseed_integrity_check_stand_by(check);
    tseed_integrity_check_begin(check);
    assert_no_process();
    assert_false(is_marked());
    tseed_integrity_check_end(check);
    assert_true(is_marked());
}

static void test_integrity_check__a_look_that_goes_on_is_no_proof(void **state)
{
    (void)state;
    ending = IS_STUCK;
    look();
    tseed_integrity_check_end(check);
    assert_no_process();
    assert_false(is_marked());
}

/* As the kernel does when memory is short. */
static void test_integrity_check__a_look_that_was_killed_is_no_proof(void **state)
{
    (void)state;
    ending = IS_KILLED;
    look();
    wait_for_end();
    tseed_integrity_check_tick(check);
    assert_no_process();
    tseed_integrity_check_end(check);
    assert_false(is_marked());
}

static void test_integrity_check__a_database_that_can_t_be_opened_is_not_sound(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_in("tileseed.db"), S_IRWXU), 0);
    tseed_integrity_check_stand_by(check);
    tseed_integrity_check_begin(check);
    wait_for_end();
    tseed_integrity_check_end(check);
    assert_no_process();
    assert_false(is_marked());
}

static void test_integrity_check__without_a_process_nothing_is_known(void **state)
{
    (void)state;
    tseed_integrity_check_begin(check);
    tseed_integrity_check_end(check);
    assert_false(is_marked());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_integrity_check__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_stop_does_not_wait_for_it),
        TEST(a_process_that_stands_by_leaves),
        TEST(closes_its_pipe_once),
        TEST(a_sound_database_is_marked),
        TEST(a_marked_database_is_not_looked_through),
        TEST(a_look_that_goes_on_is_no_proof),
        TEST(a_look_that_was_killed_is_no_proof),
        TEST(a_database_that_can_t_be_opened_is_not_sound),
        TEST(without_a_process_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
