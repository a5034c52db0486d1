/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The rows by which hosts decide who works: of a host, of the role, and the database's clock. Each
 * function is called within a transaction of the state. Texts live until the state's next call.
 *
 * Statuses as in tseed_state.h. Internal to state/. Any process, the thread of the state's handle.
 */
#ifndef TSEED_HOST_RECORD_H
#define TSEED_HOST_RECORD_H

#include "state/tseed_state.h"
#include "state/tseed_statements.h"

/* Microseconds since 1970. */
typedef struct {
    int64_t now, started; /* started: the database, if that matters */
} tseed_host_moment_t;

/* Reads the clock of the database. */
apr_status_t tseed_host_moment_read(tseed_state_t *state, tseed_host_moment_t *moment);

/* The role of the seeder. */
typedef struct {
    const char *host; /* "": nobody has it */
    int64_t epoch, tenure, former;
} tseed_role_t;

/* Reads the role. `sql`: TSEED_SQL_ROLE_HOLD locks its row, TSEED_SQL_ROLE_GET does not. */
apr_status_t tseed_role_read(tseed_state_t *state, tseed_role_t *role, tseed_sql_t sql);

/* Writes the role, whose row is locked. */
apr_status_t tseed_role_write(tseed_state_t *state, const tseed_role_t *role);

/* The row of a host. */
typedef struct {
    int is_there;
    const char *instance;
    int64_t epoch, renewals, until;
    int is_draining;
} tseed_host_record_t;

/* Reads the row of a host, if it is there. `sql`: TSEED_SQL_HOST_HOLD locks it, TSEED_SQL_HOST_GET
 * does not. */
apr_status_t tseed_host_record_read(tseed_state_t *state, tseed_host_record_t *row,
                                    const char *name, tseed_sql_t sql);

#endif
