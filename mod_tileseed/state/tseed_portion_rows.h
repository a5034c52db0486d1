/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions that the host that works gives to hosts that stand by, and what has become of them.
 *
 *      portion   giver, number, epoch, requests, results     a row holds some portions for one host
 *
 * `giver` is the epoch of the host that gives a row, and that host numbers its rows: no two rows
 * ever have the same giver and number. `epoch` is that of the host that gets the row. When the
 * giver works no longer, nobody needs its rows. Portions and results are texts for the rooms above,
 * a line each; at most 256 Ki characters of a text are read. Statuses as in tseed_state.h. Any
 * thread that has the handle; results live in the pool that a call takes.
 */
#ifndef TSEED_PORTION_ROWS_H
#define TSEED_PORTION_ROWS_H

#include "state/tseed_state.h"

/* Most portions of a row, which comes back as a whole. */
#define TSEED_PORTIONS_IN_ROW 4

typedef struct {
    int64_t giver, number, epoch;
    const char *requests, *results; /* results "": there are none yet */
    int is_gone;                    /* it was not there any more when its results came */
} tseed_portion_row_t;

/* A host that stands by. */
typedef struct {
    int64_t epoch;
    const char *name;
} tseed_portion_host_t;

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

/* The hosts (tseed_portion_host_t) that stand by, are alive and don't drain; `name` is that of the
 * host that asks. */
apr_status_t tseed_portion_rows_hosts(tseed_state_t *state, apr_array_header_t **hosts,
                                      const char *name, apr_pool_t *pool);

#endif
