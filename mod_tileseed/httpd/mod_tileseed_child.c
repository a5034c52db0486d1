/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A child's way to the state database. Lock 3 of the internals README.
 *
 * No pool that the child's end destroys has anything of the database. Prefork ends its children in
 * a signal handler. The signal may come while this very thread is within SQLite; closing the
 * database from the handler would then wait for itself. The kernel closes the database, as after
 * kill -9.
 */
#include "mod_tileseed_child.h"

#include <apr_strings.h>
#include <apr_thread_mutex.h>
#include <http_log.h>

#include "mod_tileseed.h"

#define LOCK_TIMEOUT (10 * APR_USEC_PER_SEC) /* a slow disk opens a database for seconds */

APLOG_USE_MODULE(tileseed);

/* One a process. The mutex guards everything else in it. */
static struct {
    const tseed_settings_t *settings;
    apr_thread_mutex_t *lock;
    apr_pool_t *pool; /* below no other, own allocator: request threads take turns with it */
    tseed_state_t *state;
} child;

void tseed_child_init(const tseed_settings_t *settings, server_rec *server)
{
    apr_status_t rv;

    child.settings = settings;
    apr_pool_create_unmanaged(&child.pool);
    rv = apr_thread_mutex_create(&child.lock, APR_THREAD_MUTEX_TIMED, child.pool);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, server,
                     "TS0010: no mutex for the state database; REST answers 503");
        child.lock = NULL;
    }
}

tseed_state_t *tseed_child_acquire(apr_status_t *rv)
{
    *rv = child.lock ? apr_thread_mutex_timedlock(child.lock, LOCK_TIMEOUT) : APR_ENOLOCK;
    if (*rv != APR_SUCCESS) {
        return NULL;
    }
    if (!child.state) {
        *rv = tseed_state_open(&child.state, child.settings->state_dir, child.settings->db_driver,
                               child.settings->db_params, child.pool);
        if (child.state) {
            tseed_state_hurry(child.state);
        }
    }
    if (!child.state) {
        apr_thread_mutex_unlock(child.lock);
    }
    return child.state;
}

const char *tseed_child_release(tseed_state_t *state, apr_pool_t *pool)
{
    const char *why;

    if (!state) {
        return "the state database is busy or can't be opened";
    }
    why = apr_pstrdup(pool, tseed_state_error(state));
    apr_thread_mutex_unlock(child.lock);
    return why;
}
