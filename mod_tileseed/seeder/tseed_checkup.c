/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The checkup: after an end that was none the whole state database is looked through, beside the
 * work. It takes as long as the disk needs; nobody waits for it.
 *
 * A process of its own does it, forked before the seeder opens the database. A thread did not do:
 * the main thread stood still in the database as long as the thread was looking. What is damaged
 * shows while it is used as well; the checkup finds what nobody has used yet. The seeder then
 * replaces the file, as it does when it meets damage itself.
 */
#include <apr_strings.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "work/tseed_heartbeat.h"

enum { SOUND, DAMAGED, UNKNOWN }; /* exit codes of that process */

/* A file that is there between two seeders, when the first has ended well. */
static const char *mark_path(const tseed_seeder_t *seeder)
{
    return apr_pstrcat(seeder->context->scratch, seeder->context->settings->state_dir,
                       "/ended-well", NULL);
}

static int look_through(const tseed_seeder_t *seeder)
{
    const tseed_settings_t *settings = seeder->context->settings;
    tseed_state_t *state;
    apr_pool_t *pool;
    int is_damaged;

    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    if (tseed_state_open(&state, settings->state_dir, settings->db_driver, settings->db_params,
                         pool) != APR_SUCCESS) {
        return UNKNOWN;
    }
    tseed_state_look_through(state, &is_damaged);
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the state database was looked through: %s",
              is_damaged ? "damaged" : "nothing is known to be wrong");
    return is_damaged ? DAMAGED : SOUND;
}

void tseed_checkup_begin(tseed_seeder_t *seeder)
{
    const pid_t parent = getpid();

    if (seeder->is_looked_after) {
        return;
    }
    seeder->is_looked_after = 1;
    if (unlink(mark_path(seeder)) == 0) {
        return;
    }
    seeder->checkup = fork();
    if (seeder->checkup == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "tileseed-check");
        _exit(getppid() == parent ? look_through(seeder) : UNKNOWN);
    }
}

/* Whether the other process has ended and found damage. */
static int has_found_damage(tseed_seeder_t *seeder)
{
    int status = 0;

    if (seeder->checkup <= 0 || waitpid(seeder->checkup, &status, WNOHANG) == 0) {
        return 0;
    }
    seeder->checkup = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == DAMAGED;
}

void tseed_checkup_tick(tseed_seeder_t *seeder)
{
    tseed_heartbeat_t *pulse;
    apr_status_t rv;

    if (!has_found_damage(seeder)) {
        return;
    }
    pulse = tseed_heartbeat_begin(seeder->context->board, TSEED_LONGEST_STEP);
    rv = tseed_state_check(seeder->session->state);
    tseed_heartbeat_end(pulse);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(seeder->session, rv, "replace the damaged state database");
    }
}

/* One that has not been looked through to its end does not count as sound. */
void tseed_checkup_end(tseed_seeder_t *seeder)
{
    const int was_under_way = seeder->checkup > 0 && waitpid(seeder->checkup, NULL, WNOHANG) == 0;
    int mark;

    if (was_under_way) {
        kill(seeder->checkup, SIGKILL);
        waitpid(seeder->checkup, NULL, 0);
        return;
    }
    mark = open(mark_path(seeder), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (mark >= 0) {
        close(mark);
    }
}
