/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fetcher: one thread that drives every upstream transfer through a curl multi handle.
 *
 *      any thread                         the fetcher's thread
 *
 *      submit ──┐                 lane of an upstream ──► wires ──► done
 *      cancel ──┼─► letters ────►   waiting by round  │    as many as its pace allows
 *      return ──┘  (one lock)         │               └─► remote: other hosts send it
 *        ▲                            │                     │
 *        └────────────────────────────│─────────────────────┘
 *                                     └── cancel takes them out of all three ──► done
 *
 * A caller hands a tseed_transfer_t in by its pointer. While the fetcher has the transfer nobody
 * else touches it. It comes back exactly once through `done`, which the fetcher's thread calls in
 * order of completion, for cancelled transfers too. At most upstream->connections transfers of an
 * upstream are on wires; its pace may allow fewer, or later ones (source/tseed_pace.h). The others
 * wait for their turn, one of each owner after the other. Connections, TLS sessions and resolved
 * names are kept.
 *
 * When an upstream seems to be away, the request alone may be to blame. So the fetcher sends a
 * probe: a request that this upstream has answered before. Probes are the fetcher's own and are not
 * handed back.
 *
 * The fetcher reads letters in the order in which they were sent. So a cancel ends the transfers
 * that were submitted before it and none that come later, even if a later owner has the same
 * address in memory.
 *
 * Other hosts may send requests for this one. Then the fetcher has a remote, and the fetcher still
 * decides when a request may be sent. Between send and return the transfer is the remote's:
 *
 *      remote.send(t)     the remote has t. The fetcher reads what the caller has set, and nobody
 *                         but the remote writes the results.
 *      return(t)          t is the fetcher's again from this call on. The remote makes exactly one
 *                         such call for each send, or none if recall returned 1.
 *      remote.recall(t)   = 1: the remote has forgotten t. It never touches t again and never
 *                         returns it. The fetcher hands t back as CANCELLED at once.
 *                         = 0: return(t) has been called, is being called or is going to be called
 *                         without any further event. The fetcher keeps t until the letter of that
 *                         return comes, drops the result, and hands t back as CANCELLED then.
 *
 * The remote has a lock of its own. Under it the remote decides once for each transfer: "recalled",
 * if recall comes first, or "returning", if the result does. The fetcher calls send and recall
 * without any lock. So the remote may call return under its own lock or outside it, and from within
 * send or recall too. The order of the two locks is: the remote's, then the fetcher's.
 *
 * The fetcher calls recall once for each send, and again only if recall returned 0. A return whose
 * letter comes before the cancel is no race: the transfer has ended, and done has it with its
 * results.
 */
#ifndef TSEED_FETCHER_H
#define TSEED_FETCHER_H

#include "layer/tseed_layer.h"

typedef struct tseed_fetcher_t tseed_fetcher_t;

typedef enum {
    TSEED_FETCH_OK,        /* a 200 with a body of a plausible type: not yet a picture */
    TSEED_FETCH_UNCHANGED, /* a 304 to the condition: no body, what it named is as it was */
    TSEED_FETCH_FAILED,    /* see cause; another try may help */
    TSEED_FETCH_AWAY,      /* see cause, which speaks of the upstream rather than of the request */
    TSEED_FETCH_CANCELLED  /* taken back, under way or not */
} tseed_fetch_result_t;

#define TSEED_CAUSE_SIZE     240
#define TSEED_CONDITION_SIZE 160

typedef struct tseed_transfer_t {
    /* set by the caller */
    const char *url; /* lives as long as the transfer; "": what is wanted has no address, FAILED */
    const tseed_upstream_t *upstream; /* lives as long as the fetcher */
    const void *owner;                /* what cancel names, not NULL */
    const tseed_layer_t *layer;       /* whose picture it is; NULL: of none */
    const void *turn_of;   /* who takes turns with the others of the upstream; NULL: the owner */
    const char *condition; /* a header that makes the request conditional (RFC 9110, 13), lives as
                            * long as the transfer; NULL: none */
    size_t most;           /* longest body that is taken, bytes, as it is without compression */
    int is_document;       /* text: the upstream may compress it */
    double weight; /* times as long as a usual request it is expected to take; 0: it is a usual one;
                    * below 0: nobody knows */
    const char *portion;  /* by which another host can send the request and cut the answer, lives
                           * as long as the transfer (fleet/tseed_portion.h); NULL: only this host
                           * can */
    int sent_in_vain;     /* requests that other hosts have sent for it so far, or we, that were
                           * given up; 0 at first */
    int may_go_elsewhere; /* don't let it wait for an upstream that is away: AWAY, not sent */
    void *baton;          /* the caller's own */

    /* set by the fetcher; body is malloc'd, kept and grown over the transfer's uses, freed by the
     * caller */
    tseed_fetch_result_t result;
    int http_status;                     /* 0: no answer */
    int sent;                            /* whether a request went out */
    const struct tseed_packed_t *packed; /* the body is tiles, which these functions find
                                          * (work/tseed_job_cut.h); NULL: a picture */
    int is_other;                        /* the answer came from another origin, by a redirect */
    apr_time_t ended;                    /* monotonic */
    apr_interval_time_t took;        /* from the request to the end of the answer; 0: not sent */
    apr_interval_time_t retry_after; /* the upstream asked for this pause; 0: it did not */
    int pauses_layer;                /* it did so for this layer alone: others get answers */
    char content_type[64];
    char exception[64]; /* the code of the OGC exception that the answer is, "LayerNotDefined"; "":
                         * it is none, or another host has got it */
    char next_condition[TSEED_CONDITION_SIZE]; /* made of this answer's validator, for the next
                                                * request; "": the answer has none */
    char cause[TSEED_CAUSE_SIZE]; /* UTF-8, one line, neither credentials nor the whole address */
    size_t received;              /* bytes of the answer; the body may be tiles made of it */
    unsigned char *body;
    size_t length, capacity;

    /* the fetcher's own */
    struct tseed_transfer_t *next;
    struct tseed_transfer_t *next_remote; /* of its lane's transfers that other hosts carry out */
    int64_t round;                        /* in its lane */
    apr_time_t orphaned; /* monotonic: since then nobody waits for it; 0: somebody does */
    int is_recalled;     /* from another host: its result, which is on its way, is dropped */
    enum {
        TSEED_LETTER_SUBMIT,
        TSEED_LETTER_DONE,   /* returned with its results */
        TSEED_LETTER_UNDONE, /* returned without */
        TSEED_LETTER_CANCEL, /* this one and those below have no address: they are orders */
        TSEED_LETTER_ORPHAN, /* `owner` is the transfer meant, as in the next one */
        TSEED_LETTER_ADOPT,
        TSEED_LETTER_AGAIN /* `owner` is the upstream meant */
    } letter;              /* what the transfer says while it is a letter */
} tseed_transfer_t;

/* Whether a transfer gave a picture, or says that the one of before is as it was. */
static inline int tseed_transfer_is_good(const tseed_transfer_t *transfer)
{
    return transfer->result == TSEED_FETCH_OK || transfer->result == TSEED_FETCH_UNCHANGED;
}

/* The words of an answer whose Content-Type is a picture and whose body is text: one line, without
 * secrets. "" when the body is no text, or came from another origin. In `pool`. */
const char *tseed_transfer_words(const tseed_transfer_t *transfer, apr_pool_t *pool);

/* How an upstream is doing. */
typedef struct {
    const tseed_upstream_t *upstream; /* NULL: it was never asked */
    apr_time_t heard;                 /* monotonic: its last answer that was not AWAY; 0: never */
    apr_time_t since; /* wall clock: nothing but probes is sent since then, until it answers; 0: all
                       * is well */
    apr_time_t next;  /* monotonic: not asked again before */
    apr_time_t silent;  /* monotonic: for longer than its answers usually take nothing has come of
                        * what it was asked, since then; 0: it answers, or is not being asked */
    apr_time_t waits;   /* `since` on the monotonic clock */
    apr_time_t opened;  /* monotonic: when the circuit opened; 0: it is closed */
    apr_time_t away_at; /* monotonic: its last answer that was AWAY; 0: never */
    apr_time_t quiet_until;     /* monotonic: the end of the pause that it asked for last */
    apr_interval_time_t usual;  /* latency; 0: not known yet */
    int window;                 /* most requests at once, just now */
    int under_way, queued;      /* requests; those at other hosts are under way */
    int64_t requests, errors;   /* that have ended, and those of them without picture, 304 or the
                                * document that was asked for */
    const tseed_layer_t *layer; /* whose request was answered so; NULL: of none, or nobody knows */
    char cause[TSEED_CAUSE_SIZE];
} tseed_outlook_t;

/* Writes a cause of layer `of` as another layer may tell it: without the words of the upstream's
 * answer, which may name what was asked for. Any thread. */
void tseed_cause_for(char to[TSEED_CAUSE_SIZE], const char *cause, const tseed_layer_t *of,
                     const tseed_layer_t *layer);

/* How other hosts send requests for this one. The fetcher's thread calls it and holds no lock; it
 * must not block. The head of this file says who has a transfer when. */
typedef struct {
    void *baton; /* outlives the fetcher */
    /* Takes a transfer with a portion, which another host is to carry out. */
    void (*send)(void *baton, tseed_transfer_t *transfer);
    /* Returns 1 if the remote has forgotten the transfer, whose memory may be gone then. Returns 0
     * if the transfer is on its way back by tseed_fetcher_return. */
    int (*recall)(void *baton, tseed_transfer_t *transfer);
} tseed_fetch_remote_t;

/* Called by the fetcher's thread, which holds no lock; must not block. May submit and cancel. */
typedef void tseed_fetch_done_t(void *baton, tseed_transfer_t *transfer);

/* Starts the thread; the fetcher lives in `pool`, which its thread never uses. Calls
 * curl_global_init, which is never undone, because mod_md shares the library. Seeder, after the
 * fork, all signals blocked. Fails as the system does; then there is no fetcher. */
apr_status_t tseed_fetcher_create(tseed_fetcher_t **fetcher, tseed_fetch_done_t *done, void *baton,
                                  apr_pool_t *pool);

/* Hands a transfer in. Any thread; returns at once. */
void tseed_fetcher_submit(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer);

/* Ends all transfers of an owner, waiting or under way. Each comes back as CANCELLED, unless it had
 * ended before. Any thread; returns at once. */
void tseed_fetcher_cancel(tseed_fetcher_t *fetcher, const void *owner);

/* Says that nobody waits for a transfer any more. If the transfer waits for its turn, it comes back
 * as CANCELLED. If it is under way, it goes on until others need its connection, and then comes
 * back as CANCELLED; that says nothing about the upstream. At another host it is in nobody's way.
 * Any thread; returns at once. */
void tseed_fetcher_orphan(tseed_fetcher_t *fetcher, const tseed_transfer_t *transfer);
/* Says that somebody waits for the transfer again. Any thread; returns at once. */
void tseed_fetcher_adopt(tseed_fetcher_t *fetcher, const tseed_transfer_t *transfer);

/* Has an upstream that is away, has asked for a pause, or hangs, asked at once. Any thread; returns
 * at once. */
void tseed_fetcher_ask_again(tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream);

/* Gives the fetcher its remote, which is copied. Once, before any host helps; any thread. */
void tseed_fetcher_remote(tseed_fetcher_t *fetcher, const tseed_fetch_remote_t *remote);

/* Says how many other hosts help just now; at first none does. What has been sent to the remote
 * stays there; who takes a host away returns its transfers afterwards. Any thread; returns at once.
 */
void tseed_fetcher_remote_room(tseed_fetcher_t *fetcher, int hosts);
/* Whether any other host helps. Any thread. */
int tseed_fetcher_has_help(tseed_fetcher_t *fetcher);

/* Brings a transfer back from the remote. Any thread; returns at once.
 *
 * With is_done the remote has set the results, except is_other and content_type, and except cause
 * if the result is good. The result is not CANCELLED. `ended` is when the answer came, on this
 * host's clock; `took` is what the other host measured. body may be memory of an earlier use.
 *
 * Without is_done no host has carried out the transfer. The remote has added to sent_in_vain the
 * requests that a host has sent all the same. The fetcher clears the results. The transfer waits
 * for its turn again, behind the others of its owner, and may go to the remote again, unless the
 * remote has set portion to NULL before this call. A transfer for which nobody waits
 * (tseed_fetcher_orphan) comes back as CANCELLED instead. */
void tseed_fetcher_return(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer, int is_done);

/* How an upstream is doing; all zero before it was asked for the first time. Any thread. */
void tseed_fetcher_outlook(tseed_fetcher_t *fetcher, tseed_outlook_t *outlook,
                           const tseed_upstream_t *upstream);

/* The same of each upstream that was ever asked, in the order in which they were asked first; the
 * first `most` of them. Returns their number. Any thread. */
unsigned tseed_fetcher_outlooks(tseed_fetcher_t *fetcher, tseed_outlook_t *outlooks, unsigned most);

/* Ends all transfers and joins the thread. Waits for the returns of those that the remote could not
 * be made to forget. For tests; the seeder leaves with _exit. */
void tseed_fetcher_destroy(tseed_fetcher_t *fetcher);

#endif
