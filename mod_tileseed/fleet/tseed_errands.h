/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Errands: the transfers that other hosts carry out for this one, or that wait for a host. The
 * fetcher's thread adds transfers and recalls them; the thread of the portions does the rest. The
 * list has a lock of its own.
 */
#ifndef TSEED_ERRANDS_H
#define TSEED_ERRANDS_H

#include <pthread.h>

#include <apr_pools.h>
#include <apr_time.h>

#include "layer/tseed_layer.h"
#include "source/tseed_fetcher.h"
#include "state/tseed_state.h"

/* malloc'd */
typedef struct tseed_errand_t {
    tseed_transfer_t *transfer; /* NULL: the fetcher has recalled it, and a host has its row */
    int64_t epoch;              /* of the host that has it; 0: no host has */
    int64_t number;             /* of the row */
    int index;                  /* in the row */
    const tseed_store_config_t *store; /* where its pack comes; NULL: no host has it */
    int is_given;                      /* the row is in the table for certain */
    apr_time_t until;                  /* monotonic: then it is taken back */
    apr_time_t missed; /* monotonic: since then its pack is not seen here; 0: nobody has looked for
                        * it in vain */
    struct tseed_errand_t *next;
} tseed_errand_t;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t has_more;
    tseed_errand_t *first, **end; /* under lock, in the order in which they came */
} tseed_errands_t;

/* Makes the list, empty. It is never destroyed. */
void tseed_errands_init(tseed_errands_t *errands);

/* Adds a transfer that waits for a host. The fetcher's thread. */
void tseed_errands_add(tseed_errands_t *errands, tseed_transfer_t *transfer);
/* Returns 1 if the transfer is forgotten; 0: it is on its way back. The fetcher's thread. */
int tseed_errands_recall(tseed_errands_t *errands, const tseed_transfer_t *transfer);

/* Takes out of the list the first errand that a function accepts, which is called under the lock.
 * The caller frees it. NULL: there is none. */
typedef int tseed_errand_choice_t(const tseed_errands_t *errands, const tseed_errand_t *errand,
                                  const void *data);
tseed_errand_t *tseed_errands_take(tseed_errands_t *errands, tseed_errand_choice_t *choice,
                                   const void *data);

/* Whether there are any. Waits for the first one, but no longer than `most`. */
int tseed_errands_wait(tseed_errands_t *errands, apr_interval_time_t most);

/* How many errands a host has. Under lock: within what tseed_errands_each calls. */
int tseed_errands_in_hand(const tseed_errands_t *errands, int64_t epoch);

/* Calls a function for each errand, under the lock. */
typedef void tseed_errand_visit_t(void *baton, tseed_errand_t *errand);
void tseed_errands_each(tseed_errands_t *errands, tseed_errand_visit_t *visit, void *baton);

/* Notes whether the rows of the errands that have got a host since the last call are in the table
 * for certain. If not, these errands wait for a host again. */
void tseed_errands_settle(tseed_errands_t *errands, int is_given);

/* How many lines the results of a row must have: one more than the highest index of its errands. */
int tseed_errands_lines(tseed_errands_t *errands, int64_t number);

typedef struct tseed_portion_hosts_t tseed_portion_hosts_t;

/* No hosts. Lives in `pool`. */
tseed_portion_hosts_t *tseed_portion_hosts_create(apr_pool_t *pool);

/* Looks up who stands by, once a second at most. `name` is that of the host that works. Scratch
 * memory in `scratch`. A host that is shunned stays so. */
apr_status_t tseed_portion_hosts_look(tseed_portion_hosts_t *hosts, tseed_state_t *state,
                                      const char *name, apr_pool_t *scratch);
/* Nobody knows who stands by until the next look: no host does. */
void tseed_portion_hosts_lose(tseed_portion_hosts_t *hosts);

/* How many of them get portions. */
int tseed_portion_hosts_count_open(const tseed_portion_hosts_t *hosts);
/* Whether the host of an epoch stands by. */
int tseed_portion_hosts_has(const tseed_portion_hosts_t *hosts, int64_t epoch);

/* The epoch of the host that gets portions and has the fewest in hand; 0: no host gets any. */
typedef int tseed_portions_in_hand_t(const void *baton, int64_t epoch);
int64_t tseed_portion_hosts_idlest(const tseed_portion_hosts_t *hosts,
                                   tseed_portions_in_hand_t *in_hand, const void *baton);

/* Shuns a host for a minute, or for a longer pause, but for ten minutes at most. `reason` is a
 * clause. */
void tseed_portion_hosts_shun(tseed_portion_hosts_t *hosts, int64_t epoch, const char *reason,
                              apr_interval_time_t pause);

/* Notes that a host has carried out a request, or that the request failed there. A host with
 * several failures in a row is shunned, for which `scratch` has scratch memory. */
void tseed_portion_hosts_succeeded(tseed_portion_hosts_t *hosts, int64_t epoch);
void tseed_portion_hosts_failed(tseed_portion_hosts_t *hosts, int64_t epoch, const char *cause,
                                apr_pool_t *scratch);

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
