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
#include "mod_tileseed_reply.h"

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

tseed_visit_t tseed_visit_begin(request_rec *r)
{
    tseed_visit_t visit = {.r = r, .rv = APR_ENOLOCK};

    if (child.lock) {
        visit.rv = apr_thread_mutex_timedlock(child.lock, LOCK_TIMEOUT);
    }
    if (visit.rv == APR_SUCCESS && !child.state) {
        visit.rv = tseed_state_ready(&child.state, child.settings, child.pool);
        if (child.state) {
            tseed_state_hurry(child.state);
        } else {
            apr_thread_mutex_unlock(child.lock);
        }
    }
    visit.state = visit.rv == APR_SUCCESS ? child.state : NULL;
    return visit;
}

apr_status_t tseed_visit_end(tseed_visit_t *visit)
{
    visit->why = "the state database is busy or can't be opened";
    if (visit->state) {
        visit->why = apr_pstrdup(visit->r->pool, tseed_state_error(visit->state));
        apr_thread_mutex_unlock(child.lock);
    }
    return visit->rv;
}

int tseed_visit_refuse(const tseed_visit_t *visit, const char *what)
{
    return tseed_reply_no_state(visit->r, visit->rv, visit->why, what);
}

int tseed_visit_done(tseed_visit_t *visit, const char *what)
{
    return tseed_visit_end(visit) == APR_SUCCESS ? DECLINED : tseed_visit_refuse(visit, what);
}
