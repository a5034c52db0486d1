/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Errands: the transfers that other hosts carry out for this one, or that wait for a host. The
 * fetcher's thread adds transfers and recalls them; the thread of the portions does the rest. The
 * list has a lock of its own.
 */
#ifndef TSEED_ERRANDS_H
#define TSEED_ERRANDS_H

#include <pthread.h>

#include "layer/tseed_layer.h"
#include "source/tseed_fetcher.h"

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

#endif
