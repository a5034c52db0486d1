/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Every statement of the fleet, which the state room prepares as it does its own. And the rows by
 * which the host that works gives portions to hosts that stand by.
 *
 *      portion   giver, number, epoch, requests, results     a row holds some portions for one host
 *
 * `giver` is the epoch of the host that gives a row, and that host numbers its rows: no two rows
 * ever have the same giver and number. `epoch` is that of the host that gets the row. When the
 * giver works no longer, nobody needs its rows. Portions and results are texts for others, a line
 * each; at most 256 Ki characters of a text are read.
 *
 * Statuses as in tseed_state.h. Any thread that has the handle; results live in the pool that a
 * call takes.
 */
#ifndef TSEED_FLEET_ROWS_H
#define TSEED_FLEET_ROWS_H

#include "state/tseed_state.h"
#include "state/tseed_statements.h"

/* The fleet's statements by number: tseed_sql_t of the state room goes on here. */
enum {
    TSEED_SQL_CLOCK = TSEED_SQL_COUNT,
    TSEED_SQL_EPOCH_NEXT,
    TSEED_SQL_EPOCH_RAISE,
    TSEED_SQL_ROLE_GET,
    TSEED_SQL_ROLE_HOLD,
    TSEED_SQL_ROLE_SET,
    TSEED_SQL_HOST_GET,
    TSEED_SQL_HOST_HOLD,
    TSEED_SQL_HOST_FENCE,
    TSEED_SQL_HOST_GLANCE,
    TSEED_SQL_HOST_PUT,
    TSEED_SQL_HOST_RENEW,
    TSEED_SQL_HOST_OUST,
    TSEED_SQL_HOST_LEAVE,
    TSEED_SQL_HOST_DRAIN,
    TSEED_SQL_HOSTS,
    TSEED_SQL_HOSTS_OTHERS,
    TSEED_SQL_HOSTS_FORGET,
    TSEED_SQL_MISS_ADD,
    TSEED_SQL_MISS_ANSWER,
    TSEED_SQL_MISS_DELETE,
    TSEED_SQL_MISSES_OPEN,
    TSEED_SQL_MISSES_ANSWERED,
    TSEED_SQL_MISSES_DELETE,
    TSEED_SQL_MISSES_FORGET,
    TSEED_SQL_PORTION_ADD,
    TSEED_SQL_PORTION_FINISH,
    TSEED_SQL_PORTION_DELETE,
    TSEED_SQL_PORTIONS_LEAVE,
    TSEED_SQL_PORTIONS_FORGET,
    TSEED_SQL_PORTIONS_GIVEN,
    TSEED_SQL_PORTIONS_FINISHED,
    TSEED_SQL_PORTIONS_OF,
    TSEED_SQL_PORTION_HOSTS,
    TSEED_SQL_FLEET_END
};

/* The statements, for tseed_statements_welcome. */
extern const tseed_guest_statements_t tseed_fleet_statements;

/* ---- portions ---- */

/* Most portions of a row, which comes back as a whole. */
#define TSEED_PORTIONS_IN_ROW 4

typedef struct {
    int64_t giver, number, epoch;
    const char *requests, *results; /* results "": there are none yet */
    int is_gone;                    /* it was not there any more when its results came */
} tseed_portion_row_t;

/* Gives portions (an array of tseed_portion_row_t without results), all or none. */
apr_status_t tseed_portion_rows_give(tseed_state_t *state, const apr_array_header_t *rows);

/* The rows without results that the host that works has given to one host, by number. */
apr_status_t tseed_portion_rows_given(tseed_state_t *state, apr_array_header_t **rows,
                                      int64_t epoch, apr_pool_t *pool);

/* Writes results of rows down, all or none, and sets is_gone of those that are not there any more.
 */
apr_status_t tseed_portion_rows_finish(tseed_state_t *state, apr_array_header_t *rows);

/* The rows of a giver that have results, without their requests. */
apr_status_t tseed_portion_rows_finished(tseed_state_t *state, apr_array_header_t **rows,
                                         int64_t giver, apr_pool_t *pool);

/* All rows of a giver, without their texts. */
apr_status_t tseed_portion_rows_of(tseed_state_t *state, apr_array_header_t **rows, int64_t giver,
                                   apr_pool_t *pool);

/* Deletes rows, but those to which their host is just writing its results. */
apr_status_t tseed_portion_rows_delete(tseed_state_t *state, const apr_array_header_t *rows);
/* Deletes the rows of all givers that do not work now. */
apr_status_t tseed_portion_rows_forget(tseed_state_t *state);

#endif
