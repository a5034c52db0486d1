/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What has become of a portion, as one line of text, fields separated by blanks:
 *
 *      result, HTTP status, sent, other origin, microseconds that it took, microseconds of
 *      Retry-After, condition for the next time, cause, path of the pack
 *
 * Strings are as in a portion (work/tseed_portion.h). The result "-" says that the host can't do
 * the portion. Any thread.
 */
#ifndef TSEED_PORTION_RESULT_H
#define TSEED_PORTION_RESULT_H

#include <apr_pools.h>

#include "source/tseed_fetcher.h"

typedef struct {
    int is_refused; /* nothing below holds */
    tseed_fetch_result_t result;
    int http_status, sent, is_other;
    apr_interval_time_t took, retry_after;
    const char *next_condition, *cause, *path; /* path "": there is no pack */
} tseed_portion_result_t;

/* The line of a transfer that has ended. `path`: of its pack, or "". In `pool`. */
const char *tseed_portion_result_write(const tseed_transfer_t *transfer, const char *path,
                                       apr_pool_t *pool);
/* The line of a portion that is refused. */
const char *tseed_portion_result_refuse(void);

/* Reads a line, which it changes; texts in `pool`. Returns whether it is one. */
int tseed_portion_result_read(tseed_portion_result_t *result, char *line, apr_pool_t *pool);

/* Sets the results of a transfer, but for its body. */
void tseed_portion_result_put(tseed_transfer_t *transfer, const tseed_portion_result_t *result);

#endif
