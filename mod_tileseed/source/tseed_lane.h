/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A lane: all transfers to one upstream, those under way on its wires, those that other hosts carry
 * out, and those that wait for their turn (source/tseed_pace.h).
 *
 * Ways. A transfer goes to a wire as soon as the pace's window allows one more request at once.
 * While the window is full, transfers with a portion go to other hosts, unless the pace has a rate.
 * A transfer without a portion that waits in front keeps its place, and an owner whose transfer
 * goes past it keeps its turn for the wires. The pace's quiet and circuit hold for both ways. The
 * window holds for the wires; other hosts get some windows each (tseed_lane.c). Probes go to wires
 * only.
 *
 * Private to this room; the fetcher's thread only.
 */
#ifndef TSEED_LANE_H
#define TSEED_LANE_H

#include <stdatomic.h>

#include "source/tseed_fetcher.h"
#include "source/tseed_pace.h"
#include "source/tseed_wire.h"

/* Who helps all lanes. The fetcher has one and changes it between two turns of its thread. */
typedef struct {
    tseed_fetch_remote_t calls; /* send is NULL: there is no remote */
    int hosts;                  /* that help just now */
} tseed_remote_hosts_t;

typedef struct {
    const tseed_remote_hosts_t *helpers; /* the fetcher's */
    tseed_transfer_t *first;
    _Atomic int count; /* others read it */
} tseed_remote_t;

typedef struct tseed_lane_t {
    const tseed_upstream_t *upstream;
    unsigned number;            /* of the lane among all, in the order of their making */
    CURLSH *share;              /* what its wires have in common with others, borrowed */
    struct curl_slist *headers; /* the upstream's own */
    tseed_turns_t turns;        /* what waits */
    tseed_wire_t *wires;        /* idle and busy ones, never more than upstream->connections */
    tseed_remote_t remote;      /* transfers at other hosts */
    _Atomic int under_way;      /* requests on wires; others read it */
    int64_t requests, errors;   /* see tseed_outlook_t; probes count */
    apr_time_t silence_said; /* monotonic: the last line about a silence; one between two answers */
    tseed_pace_t pace;
    int is_asked_again;     /* somebody wants an answer, and no request was sent since */
    tseed_transfer_t probe; /* its url: the last address that gave a picture; before one did,
                                   * the first that was answered well; or NULL */
    struct {
        const void *layer;
        apr_time_t at;            /* monotonic */
    } pictures[2];                /* the last picture, and the last one of another layer */
    char cause[TSEED_CAUSE_SIZE]; /* of its last answer that said it is away */
    _Atomic apr_time_t silent;    /* see tseed_outlook_t; others read it */
    tseed_outlook_t outlook;      /* what others see of it, under the fetcher's lock */
    struct tseed_lane_t *next;
} tseed_lane_t;

/* The lane of an upstream, which outlives it, as `share` and `helpers` do; malloc'd, as long as the
 * fetcher. */
tseed_lane_t *tseed_lane_create(const tseed_upstream_t *upstream, CURLSH *share,
                                const tseed_remote_hosts_t *helpers);

/* Nothing waits and nothing is under way. */
void tseed_lane_destroy(tseed_lane_t *lane);

/* Starts the transfers, or the probe, that the pace allows now, on wires and at other hosts. */
void tseed_lane_start(tseed_lane_t *lane, CURLM *multi, apr_time_t now);

/* Ends the pauses of an upstream that is in trouble. If nobody waits for the upstream, a probe is
 * sent. What hangs there is given up and waits for its turn again; of that, adds to `*taken` what
 * nobody waits for. */
void tseed_lane_ask_again(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi,
                          apr_time_t now);

/* When to call start again if nothing ends before; TSEED_PACE_NEVER: then it is of no use. */
apr_time_t tseed_lane_due(const tseed_lane_t *lane);

/* Notes which requests have gone out; after curl has worked, before find_silent. */
void tseed_lane_listen(tseed_lane_t *lane, apr_time_t now);

/* Sees whether the upstream is silent. Returns 1 when that begins to be so. */
int tseed_lane_note_silence(tseed_lane_t *lane, apr_time_t now);

/* A busy wire whose upstream has been silent for too long, or NULL. */
tseed_wire_t *tseed_lane_find_silent(const tseed_lane_t *lane, apr_time_t now);

/* Adds all that wait and may go elsewhere to the list `*taken` if the upstream is away. */
void tseed_lane_send_elsewhere(tseed_transfer_t **taken, tseed_lane_t *lane);

/* Tells in *outlook how the upstream is doing. */
void tseed_lane_describe(const tseed_lane_t *lane, tseed_outlook_t *outlook);

/* Takes a transfer that came to its end off its wire, and its answer into account. NULL: it was a
 * probe. */
tseed_transfer_t *tseed_lane_finish(tseed_lane_t *lane, CURLM *multi, tseed_wire_t *wire,
                                    CURLcode code);

/* Takes a transfer back from another host, see tseed_fetcher_return, and its answer into account.
 * NULL: the transfer waits for its turn again, behind its owner's others. Else it is to be handed
 * back, as cancelled if it was recalled. */
tseed_transfer_t *tseed_lane_return(tseed_lane_t *lane, tseed_transfer_t *transfer, int is_done);

/* Adds all transfers of an owner, or of everybody (NULL), to the list `*taken`, linked by `next`;
 * connections of those under way are closed. A transfer whose result is on its way back from
 * another host stays until it has come: tseed_lane_return. */
void tseed_lane_withdraw(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi,
                         const void *owner);

/* orphan: nobody waits for the transfer any more; adds it to the list if it waits, else notes the
 * time. adopt: somebody waits for it again. */
void tseed_lane_orphan(tseed_transfer_t **taken, tseed_lane_t *lane,
                       const tseed_transfer_t *transfer, apr_time_t now);
void tseed_lane_adopt(tseed_lane_t *lane, const tseed_transfer_t *transfer);

/* Adds to the list the transfers for which nobody waits and whose connections others need. Their
 * end says nothing about the upstream. Takes back what other hosts have, while the upstream is away
 * or asks for quiet. */
void tseed_lane_make_way(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi,
                         apr_time_t now);

/* Clears all results of a transfer, but for its body's memory. The transfer counts as cancelled
 * until it has another result. */
void tseed_transfer_reset(tseed_transfer_t *transfer);

#endif
