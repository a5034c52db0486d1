/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The pace at which an upstream is asked: rate, Retry-After, concurrency and circuit. Arithmetic
 * over the clock of its caller, no I/O; one thread at a time.
 *
 *      rate      requests are `interval` apart; behind a late request one other may follow
 *                sooner, never two
 *      quiet     nothing is sent before the end of Retry-After; behind it one request asks, until
 *                the upstream has given an answer
 *      window    most requests at once, between 1 and `most` (AIMD, as in TCP): one more after a
 *                window of answers with the usual latency; half after an error, or when latency has
 *                risen; answers to requests that were sent before the last halving do not count
 *      circuit   opens after TSEED_PACE_TRIP answers in a row that say the upstream is away; then
 *                one probe at a time is sent, with growing pauses; any other answer closes it
 */
#ifndef TSEED_PACE_H
#define TSEED_PACE_H

#include <stdint.h>

#include <apr_time.h>

#include "source/tseed_fetcher.h"

#define TSEED_PACE_TRIP  3
#define TSEED_PACE_NEVER INT64_MAX

typedef enum {
    TSEED_PACE_WELL,  /* an answer, whatever it says of the request */
    TSEED_PACE_ERROR, /* an answer that speaks of trouble on the upstream's side */
    TSEED_PACE_AWAY   /* no answer, or one that says "not now" */
} tseed_pace_answer_t;

typedef struct {
    /* as configured */
    int most;
    apr_interval_time_t interval; /* 0: as fast as it goes */

    /* all times monotonic */
    apr_time_t next_send;   /* by the rate */
    apr_time_t quiet_until; /* by Retry-After */
    apr_time_t probe_at;    /* while the circuit is open */
    apr_time_t opened;      /* the circuit, last */
    apr_time_t since;       /* when all this waiting began; see tseed_pace_waits */
    apr_time_t heard;       /* last answer that was not AWAY; 0: never */
    apr_time_t away_at;     /* last one that was */
    int streak;             /* AWAY in a row */
    int probes;             /* that failed since the circuit opened */

    int window;
    apr_time_t halved;         /* the window, last */
    apr_interval_time_t usual; /* latency; 0: not known yet */
    apr_interval_time_t sum;   /* latencies of this window's answers so far */
    int known;                 /* and their number, */
    int count;                 /* with those of which nobody knows how long they take */
    struct {
        const tseed_layer_t *layer;
        apr_time_t at;
    } pictures[2]; /* the last picture, and the last one of another layer */
} tseed_pace_t;

/* A pace at its beginning: at most `most` requests at once, `interval` apart. The first one waits
 * for `interval` from `now` (monotonic) on. */
void tseed_pace_init(tseed_pace_t *pace, int most, apr_interval_time_t interval, apr_time_t now);

/* When one more request may be sent while `under_way` requests are under way; a time in the past
 * means at once. TSEED_PACE_NEVER: not before one of them has ended. */
apr_time_t tseed_pace_next(const tseed_pace_t *pace, int under_way);

/* Says that a request is being sent. */
void tseed_pace_sent(tseed_pace_t *pace, apr_time_t now);

/* Takes the answer to a transfer into account, which was sent at `begun`, and sets its
 * pauses_layer. The transfer's weight is taken off its latency; that of a document, or with a
 * weight below 0, does not count. An answer of before the upstream was away last says nothing about
 * the pace. Returns what the answer says of the upstream. */
tseed_pace_answer_t tseed_pace_hear(tseed_pace_t *pace, tseed_transfer_t *transfer,
                                    apr_time_t begun);

/* Whether a transfer gave a picture: such an address is the best probe. Until there is one, any
 * address that an upstream has answered will do. */
static inline int tseed_transfer_has_picture(const tseed_transfer_t *transfer)
{
    return transfer->result == TSEED_FETCH_OK || transfer->result == TSEED_FETCH_UNCHANGED;
}

/* Ends the pauses, be they the upstream's or our own: one request may be sent at once, and its
 * answer decides. */
void tseed_pace_ask_again(tseed_pace_t *pace, apr_time_t now);

/* Whether nothing but a probe is sent at the moment: the circuit is open, or the upstream has asked
 * for quiet. */
int tseed_pace_waits(const tseed_pace_t *pace, apr_time_t now);
int tseed_pace_is_open(const tseed_pace_t *pace);

#endif
