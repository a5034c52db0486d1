/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The session with the state database: what the log and tasks say of its failures, once each. */
#include "work/tseed_session.h"

#include "base/tseed_clock.h"
#include "base/tseed_log.h"

#define RETRY_AFTER APR_USEC_PER_SEC

static const char *reason_of(apr_status_t rv)
{
    return APR_STATUS_IS_ENOSPC(rv)
               ? "paused: the state directory has no space left"
               : "paused: the state database can't be written; the error log says why";
}

void tseed_session_fail(tseed_session_t *session, apr_status_t rv, const char *what)
{
    session->retry_at = tseed_clock_monotonic() + RETRY_AFTER;
    if (rv == TSEED_EFENCED) {
        return; /* the seeder ends, and says so */
    }
    if (!session->trouble) {
        tseed_log(TSEED_LOG_ERROR, rv,
                  "TS0042: can't %s in the state database: %s; running tasks go on up to the next "
                  "page of the cache, new ones wait, it is tried again every second",
                  what, tseed_state_error(session->state));
    }
    session->trouble = reason_of(rv);
}

void tseed_session_say_works(void)
{
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0076: the state database works again");
}

void tseed_session_works(tseed_session_t *session)
{
    if (session->trouble) {
        tseed_session_say_works();
    }
    session->trouble = NULL;
}
