/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fetcher: one thread that drives every upstream transfer through a curl multi handle.
 *
 *      any thread                         the fetcher's thread
 *
 *      submit ──┐                  delayed ──► lane of an upstream ──► wires ──► done
 *               ├─► letters ──────►    │        waiting by round       <= connections
 *      cancel ──┘  (one lock)          └── cancel takes them out of all three ──► done
 *
 * Transfers are handed in by value of a pointer: while a tseed_transfer_t is with the fetcher
 * nobody else touches it. It comes back exactly once through `done`, which the fetcher's thread
 * calls: in order of completion, cancelled ones included. At most upstream->connections transfers
 * of an upstream are under way; the others wait in turn, one of each owner after the other. A
 * transfer that waits for its delay takes no one's turn. Connections, TLS sessions and names are
 * kept.
 *
 * Letters are read in the order in which they were sent, so a cancel means the transfers that were
 * submitted before it and none that come later, even if their owner has the same address.
 */
#ifndef TSEED_FETCHER_H
#define TSEED_FETCHER_H

#include "layer/tseed_layer.h"

typedef struct tseed_fetcher_t tseed_fetcher_t;

typedef enum {
    TSEED_FETCH_OK,       /* a 200 with a body of a plausible type: not yet a picture */
    TSEED_FETCH_FAILED,   /* see cause; another try may help */
    TSEED_FETCH_CANCELLED /* taken back, under way or not */
} tseed_fetch_result_t;

#define TSEED_CAUSE_SIZE 240

typedef struct tseed_transfer_t {
    /* set by the caller */
    const char *url;                  /* lives as long as the transfer */
    const tseed_upstream_t *upstream; /* lives as long as the fetcher */
    const void *owner;                /* what cancel names, not NULL */
    apr_interval_time_t delay;        /* wait this long first (back-off); 0: at once */
    size_t most;                      /* longest body that is taken, bytes */

    /* set by the fetcher; body is malloc'd, kept and grown over the transfer's uses, freed by the
     * caller */
    tseed_fetch_result_t result;
    int http_status; /* 0: no answer */
    int sent;        /* whether a request went out */
    char content_type[64];
    char cause[TSEED_CAUSE_SIZE]; /* UTF-8, one line, neither credentials nor the whole address */
    unsigned char *body;
    size_t length, capacity;

    /* the fetcher's own */
    struct tseed_transfer_t *next;
    int64_t rank; /* what its list is sorted by: the time it is due, then its round in the lane */
} tseed_transfer_t;

/* Called by the fetcher's thread, which holds no lock; must not block. May submit and cancel. */
typedef void tseed_fetch_done_t(void *baton, tseed_transfer_t *transfer);

/* Starts the thread; the fetcher lives in `pool`, which its thread never uses. curl_global_init is
 * called here and never undone (mod_md shares the library). Seeder, after the fork, all signals
 * blocked. */
apr_status_t tseed_fetcher_create(tseed_fetcher_t **fetcher, tseed_fetch_done_t *done, void *baton,
                                  apr_pool_t *pool);

/* Hands a transfer in. Any thread; returns at once. */
void tseed_fetcher_submit(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer);

/* Ends all transfers of that owner, waiting or under way; each comes back as CANCELLED, unless it
 * was through already. Any thread; returns at once. */
void tseed_fetcher_cancel(tseed_fetcher_t *fetcher, const void *owner);

/* Ends all transfers and joins the thread. For tests; the seeder leaves with _exit. */
void tseed_fetcher_destroy(tseed_fetcher_t *fetcher);

#endif
