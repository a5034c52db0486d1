/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What has become of a portion, as one line of text that begins with a word. After "refused" comes
 * the reason. After "ok", "unchanged", "failed" and "undone" come these fields, separated by
 * blanks:
 *
 *      HTTP status, requests that were sent, microseconds that the request took, microseconds since
 *      it ended, microseconds of Retry-After, bytes of the answer, condition for the next time,
 *      cause
 *
 * The last two are percent-encoded as in a portion (work/tseed_portion.h). The tiles of an "ok" are
 * in a pack (seeder/tseed_pack_file.h). Any thread.
 */
#ifndef TSEED_PORTION_RESULT_H
#define TSEED_PORTION_RESULT_H

#include <apr_pools.h>

#include "source/tseed_fetcher.h"

typedef enum {
    TSEED_PORTION_OK,
    TSEED_PORTION_UNCHANGED,
    TSEED_PORTION_FAILED, /* of the fields sent, retry_after and cause hold */
    TSEED_PORTION_UNDONE, /* the host did not try it to the end; sent holds */
    TSEED_PORTION_REFUSED /* the host can't do it; cause holds */
} tseed_portion_outcome_t;

typedef struct {
    tseed_portion_outcome_t outcome;
    int http_status, sent;
    apr_interval_time_t took, age, retry_after;
    size_t received;
    const char *next_condition, *cause;
} tseed_portion_result_t;

/* The line of a portion with an outcome at `now` (monotonic). The transfer of a portion that is not
 * refused has come back. In `pool`. */
const char *tseed_portion_result_write(tseed_portion_outcome_t outcome,
                                       const tseed_transfer_t *transfer, apr_time_t now,
                                       apr_pool_t *pool);

/* Reads a line, which it changes; texts in `pool`. Returns whether it is one. Another host has
 * written it: each number has to be in its range, the cause is made one line of UTF-8, and a
 * condition that is no header of a conditional request is left out. */
int tseed_portion_result_read(tseed_portion_result_t *result, char *line, apr_pool_t *pool);

/* Sets the results of a transfer, but for its body, by one that is OK or UNCHANGED. */
void tseed_portion_result_put(tseed_transfer_t *transfer, const tseed_portion_result_t *result);

#endif
