/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A lane: all transfers to one upstream, those under way on its wires, those that other hosts carry
 * out, and those that wait for their turn (source/tseed_turns.h).
 *
 * Ways. A transfer goes to a wire as soon as the pace's window allows one more request at once.
 * While the window is full, transfers with a portion go to other hosts, unless the pace has a rate.
 * A transfer without a portion that waits in front keeps its place, and an owner whose transfer
 * goes past it keeps its turn for the wires. The pace's quiet and circuit hold for both ways. The
 * window holds for the wires; other hosts get some windows each (tseed_turns.c). Probes go to wires
 * only.
 *
 * Private to this room; the fetcher's thread only.
 */
#ifndef TSEED_LANE_H
#define TSEED_LANE_H

#include <pthread.h>
#include <stdatomic.h>

#include "source/tseed_fetcher.h"
#include "source/tseed_pace.h"
#include "source/tseed_turns.h"
#include "source/tseed_wire.h"

#define TSEED_LONGEST_NAP (INT_MAX / 2) /* milliseconds */

struct tseed_lane_t;

/* All lanes, and what they have in common. The fetcher sets it up; the thread's, except for the
 * wake-up by `multi`, and for others who walk the list under the lock. */
typedef struct {
    CURLM *multi;
    CURLSH *share; /* TLS sessions, so that each connection can resume any of them */
    tseed_fetch_done_t *done;
    void *baton;
    pthread_mutex_t *lock;        /* the fetcher's: held for the list and the outlooks */
    struct tseed_lane_t *first;   /* one of each upstream ever asked, the newest first */
    tseed_remote_hosts_t helpers; /* as they were when letters were read last */
    int leaving;                  /* nothing is started any more */
} tseed_lanes_t;

typedef struct tseed_lane_t {
    tseed_lanes_t *all;
    const tseed_upstream_t *upstream;
    unsigned number;            /* of the lane among all, in the order of their making */
    struct curl_slist *headers; /* the upstream's own */
    tseed_turns_t turns;        /* what waits */
    tseed_wire_t *wires;        /* idle and busy ones, never more than upstream->connections */
    tseed_remote_t remote;      /* transfers at other hosts */
    _Atomic int under_way;      /* requests on wires; others read it */
    int64_t requests, errors;   /* see tseed_outlook_t; probes count */
    apr_time_t silence_said; /* monotonic: the last line about a silence; one between two answers */
    tseed_pace_t pace;
    int is_asked_again;           /* somebody wants an answer, and no request was sent since */
    tseed_transfer_t probe;       /* its url: the last address that gave a picture; before one did,
                                   * the first that was answered well; or NULL */
    const tseed_layer_t *probe_layer; /* whose picture the probe asks for */
    const tseed_layer_t *cause_layer; /* whose request was answered so: */
    char cause[TSEED_CAUSE_SIZE];     /* of its last answer that said it is away */
    _Atomic apr_time_t silent;        /* see tseed_outlook_t; others read it */
    tseed_outlook_t outlook;          /* what others see of it, under the fetcher's lock */
    struct tseed_lane_t *next;
} tseed_lane_t;

/* Finds the lane of an upstream; NULL: it was never asked. */
tseed_lane_t *tseed_lanes_find(const tseed_lanes_t *lanes, const tseed_upstream_t *upstream);

/* Reads a letter, in the order in which letters were sent: takes a transfer in or back, or carries
 * out an order, which is freed. */
void tseed_lanes_read(tseed_lanes_t *lanes, tseed_transfer_t *letter);

/* Starts what may start, hands back what has ended, and waits until something happens or is due, or
 * until curl_multi_wakeup. */
void tseed_lanes_work(tseed_lanes_t *lanes);

/* Nothing waits and nothing is under way. */
void tseed_lane_destroy(tseed_lane_t *lane);

#endif
