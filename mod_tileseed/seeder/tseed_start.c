/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The start of a seeder, and the lock of its state. What has been got is kept for the next try. */
#include "seeder/tseed_start.h"

#include <poll.h>
#include <unistd.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "books/tseed_discover.h"
#include "books/tseed_inherited.h"
#include "work/tseed_heartbeat.h"

/* The lock of the state directory. */

tseed_state_lock_t tseed_state_lock_of(const char *state_dir, apr_pool_t *pool)
{
    return (tseed_state_lock_t){.path = apr_pstrcat(pool, state_dir, "/lock", NULL)};
}

/* Takes the lock; the file stays open in `pool`. Fails with EAGAIN or EACCES when another process
 * holds the lock, else when the file can't be made or opened. May be called again. */
static apr_status_t state_lock_take(tseed_state_lock_t *lock, apr_pool_t *pool)
{
    apr_status_t rv = APR_SUCCESS;

    if (!lock->file) {
        rv = apr_file_open(&lock->file, lock->path, APR_FOPEN_WRITE | APR_FOPEN_CREATE,
                           APR_FPROT_UREAD | APR_FPROT_UWRITE, pool);
    }
    if (rv == APR_SUCCESS) {
        rv = apr_file_lock(lock->file, APR_FLOCK_EXCLUSIVE | APR_FLOCK_NONBLOCK);
    }
    return rv;
}

/* Whether the lock was refused with `rv` because another process holds it. */
/* fcntl has two words for a lock that is held. Before there is a file EACCES means what it says. */
static int state_lock_is_held(const tseed_state_lock_t *lock, apr_status_t rv)
{
    return lock->file && (APR_STATUS_IS_EAGAIN(rv) || APR_STATUS_IS_EACCES(rv));
}

int tseed_state_lock_is_ours(const tseed_state_lock_t *lock, apr_pool_t *scratch)
{
    apr_finfo_t held, there;

    return apr_file_info_get(&held, APR_FINFO_IDENT, lock->file) == APR_SUCCESS &&
           apr_stat(&there, lock->path, APR_FINFO_IDENT, scratch) == APR_SUCCESS &&
           held.inode == there.inode && held.device == there.device;
}

#define TRY_MILLIS        1000
#define LOCK_TIMEOUT      (4 * APR_USEC_PER_SEC) /* beyond what the last one may take to stop */
#define LOCK_RETRY_MILLIS 100

/* ---- the role ---- */

/* What keeps the seeder from going on. */
typedef struct {
    tseed_seeder_state_t state;
    const char *words; /* for clients, who need not know the names of hosts */
} hindrance_t;

static const char *why_no_state(const tseed_start_t *start, apr_status_t rv)
{
    if (rv == APR_EEXIST) {
        return "another httpd has the name of this host";
    }
    return start->has_lock ? "the state database can't be used"
                           : "the state directory can't be used";
}

static hindrance_t hindrance_of(const tseed_start_t *start, apr_status_t rv)
{
    if (start->is_locked_out) {
        return (hindrance_t){TSEED_SEEDER_LOCKED_OUT,
                             "another httpd works on this server's state directory"};
    }
    if (rv == TSEED_ESTANDBY) {
        return (hindrance_t){TSEED_SEEDER_STANDBY, "this host stands by for another one"};
    }
    return (hindrance_t){TSEED_SEEDER_NO_STATE, why_no_state(start, rv)};
}

/* From now on a thread beats whenever the main thread waits for a server. */
static apr_status_t open_state(tseed_parts_t *parts)
{
    const tseed_settings_t *settings = parts->context->settings;
    tseed_session_t *session = parts->session;
    apr_status_t rv = tseed_state_open(&session->state, settings->state_dir, settings->db_driver,
                                       settings->db_params, parts->context->pool);

    if (rv == APR_SUCCESS && tseed_state_watch(session->state, &session->waits)) {
        tseed_heartbeat_beside(parts->context->board, &session->waits);
    }
    return rv;
}

static apr_status_t try_for_role(tseed_start_t *start)
{
    tseed_parts_t *parts = start->parts;
    apr_status_t rv = state_lock_take(start->lock, parts->context->pool);

    start->is_locked_out = state_lock_is_held(start->lock, rv);
    start->has_lock = rv == APR_SUCCESS;
    if (rv == APR_SUCCESS) {
        tseed_integrity_check_begin(parts->integrity_check);
    }
    if (rv == APR_SUCCESS && !parts->session->state) {
        rv = open_state(parts);
    }
    return rv == APR_SUCCESS ? parts->fleet->doors->seek(parts->fleet) : rv;
}

/* ---- the books ---- */

/* Mends the board that the last seeder left, before anything on it is believed. */
static void mend_board(const tseed_parts_t *parts)
{
    const char *problem;

    parts->fleet->doors->mend(parts->fleet);
    while ((problem = tseed_board_mend(parts->context->board, parts->context->scratch)) != NULL) {
        tseed_log(
            TSEED_LOG_ERROR, APR_SUCCESS,
            "TS0050: the board that the last seeder left was wrong: %s; the state database stands",
            problem);
    }
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the board is taken over");
}

/* The tile sets of database, configuration and disk, and what an earlier seeder has left undone;
 * their pages come later. */
static apr_status_t begin_books(tseed_parts_t *parts)
{
    apr_status_t rv;

    if (parts->cache->book) {
        return APR_SUCCESS;
    }
    rv = tseed_cache_load(parts->cache);
    if (rv == APR_SUCCESS) {
        tseed_page_loader_begin(parts->page_loader);
        rv = tseed_discover_look(parts->context, parts->cache);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_cache_load_notes(parts->cache);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_inherited_take(parts->context, parts->session, parts->cache, parts->page_loader);
    }
    if (rv == APR_SUCCESS) {
        tseed_page_loader_go(parts->page_loader);
    } else {
        tseed_cache_undo(parts->cache);
    }
    return rv;
}

static apr_status_t try_for_books(tseed_start_t *start)
{
    tseed_parts_t *parts = start->parts;
    apr_status_t rv = begin_books(parts);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    mend_board(parts);
    return tseed_tasks_recover(parts->tasks);
}

/* ---- trying ---- */

typedef apr_status_t step_t(tseed_start_t *start);

int tseed_start_is_orphan(const tseed_seeder_setup_t *setup)
{
    return setup->parent > 0 && getppid() != (pid_t)setup->parent;
}

/* Waits for at most that long, or until somebody asks for a missing tile if `hears`. Returns
 * nonzero when it is time to leave. */
static int wait_for_stop(const tseed_seeder_setup_t *setup, int milliseconds, int hears)
{
    struct pollfd fds[2] = {
        {.fd = setup->stop, .events = POLLIN},
        {.fd = hears ? setup->miss_socket : -1, .events = POLLIN},
    };

    poll(fds, 2, milliseconds);
    return fds[0].revents || tseed_start_is_orphan(setup);
}

static const char *what_fails(const tseed_start_t *start)
{
    const tseed_context_t *context = start->parts->context;

    if (start->has_lock) {
        return "can't use the state database";
    }
    return apr_pstrcat(context->scratch,
                       start->is_locked_out ? "another seeder holds the state directory "
                                            : "can't use the state directory ",
                       context->settings->state_dir, NULL);
}

/* The lease says itself who works, and the state why it can't be opened. */
static void say_hindrance(const tseed_start_t *start, const hindrance_t *hindrance, apr_status_t rv)
{
    const tseed_parts_t *parts = start->parts;
    const char *reason = parts->session->state ? tseed_state_error(parts->session->state) : "";

    tseed_board_seeder_state_set(parts->context->board, hindrance->state, tseed_clock_monotonic());
    if (hindrance->state != TSEED_SEEDER_STANDBY) {
        tseed_log(TSEED_LOG_ERROR, rv, "TS0040: %s%s%s; seeding waits until that has changed",
                  what_fails(start), *reason ? ": " : "", reason);
    }
}

/* What was said before may be over. */
static void say_works(tseed_seeder_state_t said, tseed_seeder_state_t now)
{
    if (said == TSEED_SEEDER_NO_STATE && now != said) {
        tseed_session_say_works();
    }
}

/* Sees to it that requests for missing tiles are answered meanwhile. Returns whether the main
 * thread is to do that. */
static int send_away(const tseed_start_t *start, const hindrance_t *hindrance, int is_young)
{
    const tseed_parts_t *parts = start->parts;
    const int stands_by = hindrance->state == TSEED_SEEDER_STANDBY;

    const int reads = stands_by ? parts->fleet->doors->stand_by(parts->fleet)
                                : parts->fleet->doors->reads(parts->fleet);

    if (reads || (is_young && !stands_by)) {
        return 0;
    }
    tseed_misses_send_away(parts->misses, hindrance->words);
    return 1;
}

static int pause_of(const tseed_start_t *start, const hindrance_t *hindrance, int is_early)
{
    if (hindrance->state == TSEED_SEEDER_STANDBY) {
        return start->parts->fleet->doors->pause(start->parts->fleet);
    }
    return is_early ? LOCK_RETRY_MILLIS : TRY_MILLIS;
}

/* Tries until it succeeds. Returns nonzero when it is time to leave. */
static int persist(tseed_start_t *start, step_t *try, tseed_exit_t *exit_code)
{
    const tseed_context_t *context = start->parts->context;
    const tseed_fleet_t *fleet = start->parts->fleet;
    const apr_time_t deadline =
        tseed_clock_monotonic() + context->settings->stop_timeout + LOCK_TIMEOUT;
    tseed_seeder_state_t said = TSEED_SEEDER_NONE;
    apr_status_t rv;

    while ((rv = try(start)) != APR_SUCCESS) {
        const hindrance_t hindrance = hindrance_of(start, rv);
        const int is_young = tseed_clock_monotonic() < deadline;
        /* the last seeder may just be leaving */
        const int is_early = hindrance.state == TSEED_SEEDER_LOCKED_OUT && is_young;
        int sends_away;

        if (rv == TSEED_EFENCED || fleet->doors->must_leave(fleet)) {
            *exit_code = TSEED_EXIT_ANEW;
            return 1;
        }
        if (!is_early && hindrance.state != said) {
            say_works(said, hindrance.state);
            say_hindrance(start, &hindrance, rv);
            said = hindrance.state;
        }
        tseed_board_heartbeat(context->board, tseed_clock_monotonic());
        sends_away = send_away(start, &hindrance, is_young);
        apr_pool_clear(context->scratch);
        if (wait_for_stop(start->setup, pause_of(start, &hindrance, is_early), sends_away)) {
            *exit_code = TSEED_EXIT_STOPPED;
            return 1;
        }
    }
    say_works(said, TSEED_SEEDER_NONE);
    return 0;
}

/* A thread beats for the main thread during each step: a database may be slow. */
static int take_step(tseed_start_t *start, step_t *try, tseed_exit_t *exit_code)
{
    tseed_heartbeat_t *heartbeat =
        tseed_heartbeat_begin(start->parts->context->board, TSEED_LONGEST_STEP);
    const int leaves = persist(start, try, exit_code);

    tseed_heartbeat_end(heartbeat);
    return leaves;
}

int tseed_start(tseed_start_t *start, tseed_exit_t *exit_code)
{
    tseed_fleet_t *fleet = start->parts->fleet;
    int leaves = take_step(start, try_for_role, exit_code);

    fleet->doors->stand_no_more(fleet);
    leaves = leaves || take_step(start, try_for_books, exit_code);
    if (leaves) {
        tseed_integrity_check_dismiss(start->parts->integrity_check);
        fleet->doors->end(fleet, 1);
        return 1;
    }
    return 0;
}
