/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Queries behind the addresses that GeoWebCache does not have. Those of tasks and failures say
 * which ones, how many, from where on.
 *
 * tseed_query_refusal judges the keys; the readers take those they know. A client asks for the next
 * page of a list by the last item of the page before. So the list repeats and omits nothing when
 * tasks and failures are added meanwhile.
 */
#ifndef TSEED_QUERY_H
#define TSEED_QUERY_H

#include "protocol/tseed_task.h"

/* The bit of a state in a mask of all four. */
#define TSEED_STATE_BIT(state) (1U << ((state)-TSEED_ABORTED))

/* ?state=running,done&layer=…&limit=…&before=<id> */
typedef struct {
    unsigned states;   /* mask of TSEED_STATE_BIT; all when none is named */
    const char *layer; /* NULL: all */
    int64_t before;    /* only ids below this one */
    int64_t limit;     /* 100 unless told; at most 1000 */
} tseed_task_query_t;

/* ?limit=…&after=<z>/<x>/<y> */
typedef struct {
    int64_t limit; /* 1000 unless told; at most 10000 */
    int z;         /* only metatiles behind this one; -1 at first */
    int64_t x, y;
} tseed_failure_query_t;

/* Judges the keys of what follows the question mark (NULL: nothing) at an address that reads
 * `known`, which ends with NULL. A list that ignored `limt` would have more than was asked for. So
 * every unknown key that has a value is refused, but for `_`, which programs add against caches.
 * NULL or a sentence (always 400). In `pool`. Any thread. */
const char *tseed_query_refusal(const char *text, const char *const *known, apr_pool_t *pool);

/* Whether a body says nothing: it is empty, or {}. Any thread. */
int tseed_body_is_empty(const char *body, apr_size_t length);

/* Reads what follows the question mark (NULL: nothing). NULL or a sentence (always 400). In
 * `pool`. Any thread. */
const char *tseed_task_query_read(tseed_task_query_t *query, const char *text, apr_pool_t *pool);
const char *tseed_failure_query_read(tseed_failure_query_t *query, const char *text,
                                     apr_pool_t *pool);

#endif
