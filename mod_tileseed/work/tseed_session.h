/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The session with the state database: the connection, whether it works, and what waits to be
 * written. Main thread only. */
#ifndef TSEED_SESSION_H
#define TSEED_SESSION_H

#include <errno.h>

#include "state/tseed_state.h"

/* The host stands by: another one works, or this one drains. */
#define TSEED_ESTANDBY EINPROGRESS

/* How the seeder ends: the exit codes of its process. Never 15: httpd would
 * take the server down with us. */
typedef enum {
    TSEED_EXIT_STOPPED = 0,
    TSEED_EXIT_FAILED = 1,
    TSEED_EXIT_SETUP = 2,
    TSEED_EXIT_ANEW = 3 /* the host has lost its role or given it away: start again at once */
} tseed_exit_t;

typedef struct tseed_session_t {
    tseed_state_t *state;  /* NULL: the database can't be opened at the moment */
    const char *trouble;   /* the reason of tasks that wait for the database; NULL: it works */
    apr_time_t retry_at;   /* monotonic: nothing is written before; 0: at once */
    _Atomic int64_t waits; /* since when a call waits for a database server; 0: none does */
    int must_record;       /* an ending or a failure waits for the next transaction */
    int must_save;         /* levels are unmarked: all that has changed in them is to be written in
                           * the same transaction */
} tseed_session_t;

/* Notes that the database has failed with `rv` at `what` (a verb and its object); logs the first
 * failure in a row. Nothing is written for a second. */
void tseed_session_fail(tseed_session_t *session, apr_status_t rv, const char *what);

/* Logs that the database works again, for those who have said in words of their own that it does
 * not. */
void tseed_session_say_works(void);

/* Notes that the database has worked; logs that if it had failed before. */
void tseed_session_works(tseed_session_t *session);

#endif
