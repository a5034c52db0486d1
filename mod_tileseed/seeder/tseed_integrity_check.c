/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The integrity check: a process beside the seeder looks through the state database. */
#include "seeder/tseed_integrity_check.h"

#include <apr_strings.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "work/tseed_heartbeat.h"

enum { SOUND, DAMAGED, UNKNOWN }; /* exit codes of that process */

struct tseed_integrity_check_t {
    const tseed_context_t *context;
    tseed_session_t *session;
    int is_begun; /* or is not needed */
    int is_sound; /* the database: the last seeder ended well, or all of it was looked through */
    pid_t pid;    /* of the process that stands by or looks; 0: there is none */
    int word;     /* a pipe to that process: a byte says "look", the end says "leave"; -1: closed */
};

tseed_integrity_check_t *tseed_integrity_check_create(const tseed_context_t *context,
                                                      tseed_session_t *session)
{
    tseed_integrity_check_t *check = apr_pcalloc(context->pool, sizeof(*check));

    check->context = context;
    check->session = session;
    check->word = -1;
    return check;
}

/* A file that is there between two seeders, when the first has ended well. */
static const char *mark_path(const tseed_integrity_check_t *check)
{
    return apr_pstrcat(check->context->scratch, check->context->settings->state_dir, "/ended-well",
                       NULL);
}

static int look_through(const tseed_integrity_check_t *check)
{
    const tseed_settings_t *settings = check->context->settings;
    tseed_state_t *state;
    apr_pool_t *pool;
    int is_damaged;

    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    if (tseed_state_open(&state, settings->state_dir, settings->db_driver, settings->db_params,
                         pool) != APR_SUCCESS) {
        return UNKNOWN;
    }
    if (tseed_state_look_through(state, &is_damaged) != APR_SUCCESS) {
        return UNKNOWN;
    }
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the state database was looked through: %s",
              is_damaged ? "damaged" : "nothing is known to be wrong");
    return is_damaged ? DAMAGED : SOUND;
}

/* Waits until the seeder knows whether the check is needed. Returns whether it is. */
static int is_told_to_look(int word)
{
    char byte;

    return read(word, &byte, 1) == 1;
}

void tseed_integrity_check_stand_by(tseed_integrity_check_t *check)
{
    const pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    check->pid = fork();
    if (check->pid == 0) {
        close(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "tileseed-check");
        _exit(getppid() == parent && is_told_to_look(ends[0]) ? look_through(check) : UNKNOWN);
    }
    close(ends[0]);
    check->word = ends[1];
}

static void close_word(tseed_integrity_check_t *check)
{
    if (check->word >= 0) {
        close(check->word);
        check->word = -1;
    }
}

/* The database bears the death of any process. A slow disk may keep the process for minutes. */
void tseed_integrity_check_dismiss(tseed_integrity_check_t *check)
{
    close_word(check);
    if (check->pid > 0) {
        kill(check->pid, SIGKILL);
        waitpid(check->pid, NULL, 0);
        check->pid = 0;
    }
}

void tseed_integrity_check_begin(tseed_integrity_check_t *check)
{
    if (check->is_begun) {
        return;
    }
    check->is_begun = 1;
    check->is_sound = unlink(mark_path(check)) == 0;
    if (check->is_sound || check->pid <= 0 || write(check->word, "", 1) != 1) {
        tseed_integrity_check_dismiss(check);
    }
    close_word(check);
}

/* Hears how the other process has ended. Returns whether it has found damage. */
static int has_found_damage(tseed_integrity_check_t *check)
{
    int status;

    if (check->pid <= 0 || waitpid(check->pid, &status, WNOHANG) != check->pid) {
        return 0;
    }
    check->pid = 0;
    check->is_sound = WIFEXITED(status) && WEXITSTATUS(status) == SOUND;
    return WIFEXITED(status) && WEXITSTATUS(status) == DAMAGED;
}

void tseed_integrity_check_tick(tseed_integrity_check_t *check)
{
    tseed_heartbeat_t *heartbeat;
    apr_status_t rv;

    if (!has_found_damage(check)) {
        return;
    }
    heartbeat = tseed_heartbeat_begin(check->context->board, TSEED_LONGEST_STEP);
    rv = tseed_state_check(check->session->state);
    tseed_heartbeat_end(heartbeat);
    if (rv == APR_SUCCESS) {
        check->is_sound = 1;
    } else {
        tseed_session_fail(check->session, rv, "replace the damaged state database");
    }
}

/* A database that has not been looked through to its end does not count as sound: the next seeder
 * has it looked through. */
void tseed_integrity_check_end(tseed_integrity_check_t *check)
{
    int mark;

    has_found_damage(check);
    tseed_integrity_check_dismiss(check);
    mark = check->is_sound
               ? open(mark_path(check), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)
               : -1;
    if (mark >= 0) {
        close(mark);
    }
}
