/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions that the host that works gives to hosts that stand by, and what has become of them.
 *
 *      portion   giver, number, epoch, requests, results     one row some portions for one host
 *
 * A row is known by the epoch of the host that gives it (giver) and by that host's own number; no
 * two rows ever have both. `epoch` is that of the host that gets it. Rows of a giver that works no
 * longer are nobody's. Portions and results are texts for the rooms above, a line each. Statuses as
 * in tseed_state.h. Any thread that has the handle; results live in the pool that a call takes.
 */
#ifndef TSEED_PORTION_ROWS_H
#define TSEED_PORTION_ROWS_H

#include "state/tseed_state.h"

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

/* Deletes rows, all or none; all rows of a giver and of those before it. */
apr_status_t tseed_portion_rows_delete(tseed_state_t *state, const apr_array_header_t *rows);
apr_status_t tseed_portion_rows_forget(tseed_state_t *state, int64_t giver);

/* The hosts (tseed_portion_host_t) that stand by, are alive and don't drain; `name` is that of the
 * host that asks. */
apr_status_t tseed_portion_rows_hosts(tseed_state_t *state, apr_array_header_t **hosts,
                                      const char *name, apr_pool_t *pool);

#endif
