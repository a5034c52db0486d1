/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions that the host that works gives to hosts that stand by, and what has become of them.
 *
 *      portion   epoch, number, requests, results     one row some portions for one host
 *
 * A row is known by the epoch of the host that gets it and by the number that the host that works
 * has given it. Portions and results are texts for the rooms above, a line each. Statuses as in
 * tseed_state.h. Any thread that has the handle; results live in the pool that a call takes.
 */
#ifndef TSEED_PORTION_ROWS_H
#define TSEED_PORTION_ROWS_H

#include "state/tseed_state.h"

typedef struct {
    int64_t epoch, number;
    const char *requests, *results; /* results "": there are none yet */
} tseed_portion_row_t;

/* Gives portions (an array of tseed_portion_row_t without results), all or none. */
apr_status_t tseed_portion_rows_give(tseed_state_t *state, const apr_array_header_t *rows);

/* The rows of one host that have no results yet, by number. */
apr_status_t tseed_portion_rows_given(tseed_state_t *state, apr_array_header_t **rows,
                                      int64_t epoch, apr_pool_t *pool);

/* Writes results of rows down, all or none. A row that is not there any more is left out. */
apr_status_t tseed_portion_rows_finish(tseed_state_t *state, const apr_array_header_t *rows);

/* The rows of all hosts that have results, without their requests. */
apr_status_t tseed_portion_rows_finished(tseed_state_t *state, apr_array_header_t **rows,
                                         apr_pool_t *pool);

/* Deletes rows, all or none; all rows of all hosts. */
apr_status_t tseed_portion_rows_delete(tseed_state_t *state, const apr_array_header_t *rows);
apr_status_t tseed_portion_rows_delete_all(tseed_state_t *state);

/* The epochs (int64_t) of hosts that stand by, are alive and don't drain; `name` is that of the
 * host that asks. */
apr_status_t tseed_portion_rows_helpers(tseed_state_t *state, apr_array_header_t **epochs,
                                        const char *name, apr_pool_t *pool);

#endif
