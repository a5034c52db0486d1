/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The pace at which an upstream is asked.
 *
 * Latency is compared with the usual latency: the lowest mean of a window of answers. The usual
 * latency creeps up, because other zoom levels are slower to draw. At a window of one our requests
 * can't be what slows the upstream, so the latency that is measured then is usual.
 */
#include "source/tseed_pace.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_FACTOR 3
#define SLOW_SLACK  (APR_USEC_PER_SEC / 10)
#define GROWTH      5 /* the usual latency grows by this part of it a window */
#define PROBE_FIRST APR_USEC_PER_SEC
#define PROBE_MOST  (40 * APR_USEC_PER_SEC)

/* The seeder before this one, or that of another host, may have sent a request just now. */
void tseed_pace_init(tseed_pace_t *pace, int most, apr_interval_time_t interval, apr_time_t now)
{
    memset(pace, 0, sizeof(*pace));
    pace->most = pace->window = most;
    pace->interval = interval;
    pace->next_send = now + interval;
}

int tseed_pace_is_open(const tseed_pace_t *pace)
{
    return pace->streak >= TSEED_PACE_TRIP;
}

int tseed_pace_waits(const tseed_pace_t *pace, apr_time_t now)
{
    return tseed_pace_is_open(pace) || now < pace->quiet_until;
}

static apr_time_t later(apr_time_t a, apr_time_t b)
{
    return a > b ? a : b;
}

/* Whether a pause that the upstream asked for is over, and no answer has come since. */
static int is_to_ask(const tseed_pace_t *pace)
{
    return pace->streak > 0 && pace->quiet_until > pace->away_at;
}

apr_time_t tseed_pace_next(const tseed_pace_t *pace, int under_way)
{
    int is_open = tseed_pace_is_open(pace);

    if (under_way >= (is_open || is_to_ask(pace) ? 1 : pace->window)) {
        return TSEED_PACE_NEVER;
    }
    return later(later(pace->next_send, pace->quiet_until), is_open ? pace->probe_at : 0);
}

void tseed_pace_sent(tseed_pace_t *pace, apr_time_t now)
{
    pace->next_send = later(pace->next_send, now - pace->interval) + pace->interval;
}

/* ---- concurrency ---- */

static void set_window(tseed_pace_t *pace, int window)
{
    pace->window = window < 1 ? 1 : window > pace->most ? pace->most : window;
    pace->sum = pace->count = pace->known = 0;
}

static void halve(tseed_pace_t *pace, apr_time_t now)
{
    set_window(pace, pace->window / 2);
    pace->halved = later(pace->halved, now);
}

static void weigh_latency(tseed_pace_t *pace, apr_time_t now)
{
    apr_interval_time_t mean;

    if (pace->known == 0) {
        set_window(pace, pace->window + 1);
        return;
    }
    mean = pace->sum / pace->known;
    if (pace->usual > 0 && pace->window > 1 && mean > SLOW_FACTOR * pace->usual + SLOW_SLACK) {
        halve(pace, now);
        return;
    }
    if (pace->usual == 0 || pace->window == 1 || mean < pace->usual) {
        pace->usual = mean > 0 ? mean : 1;
    } else {
        pace->usual += pace->usual / GROWTH;
    }
    set_window(pace, pace->window + 1);
}

/* What a request of which nobody knows has taken says nothing. */
static void weigh(tseed_pace_t *pace, apr_interval_time_t took, double weight)
{
    if (weight >= 0) {
        pace->sum += weight > 0 ? (apr_interval_time_t)((double)took / weight) : took;
        pace->known++;
    }
}

static void adapt(tseed_pace_t *pace, tseed_pace_answer_t answer, apr_time_t sent, double weight,
                  apr_time_t now)
{
    if (sent < pace->halved) {
        return;
    }
    if (answer != TSEED_PACE_WELL) {
        halve(pace, now);
        return;
    }
    weigh(pace, now - sent, weight);
    if (++pace->count >= pace->window) {
        weigh_latency(pace, now);
    }
}

/* ---- circuit and Retry-After ---- */

static apr_interval_time_t probe_pause(int failed)
{
    apr_interval_time_t pause = PROBE_FIRST << (failed < 6 ? failed : 6);

    pause = pause < PROBE_MOST ? pause : PROBE_MOST;
    return pause - (apr_interval_time_t)(drand48() * (double)(pause / 4));
}

/* A pause that the upstream asks for goes before pauses of our own. */
static void take_away(tseed_pace_t *pace, apr_time_t sent, apr_interval_time_t retry_after,
                      apr_time_t now)
{
    pace->away_at = now;
    if (++pace->streak == TSEED_PACE_TRIP) {
        pace->opened = now;
    }
    if (retry_after > 0) {
        pace->quiet_until = later(pace->quiet_until, now + retry_after);
        pace->probe_at = pace->quiet_until;
    } else if (pace->opened == now || (tseed_pace_is_open(pace) && sent >= pace->opened)) {
        pace->probe_at = now + probe_pause(pace->probes++);
    }
    if (!pace->since && tseed_pace_waits(pace, now)) {
        pace->since = now;
    }
}

void tseed_pace_ask_again(tseed_pace_t *pace, apr_time_t now)
{
    pace->quiet_until = pace->quiet_until < now ? pace->quiet_until : now;
    pace->probe_at = now;
    pace->probes = 0;
}

static void take(tseed_pace_t *pace, tseed_pace_answer_t answer, apr_time_t sent, double weight,
                 apr_interval_time_t retry_after, apr_time_t now)
{
    adapt(pace, answer, sent, weight, now);
    if (answer == TSEED_PACE_AWAY) {
        take_away(pace, sent, retry_after, now);
        return;
    }
    pace->heard = later(pace->heard, now); /* another host's answer may be older */
    pace->streak = pace->probes = 0;
    if (now >= pace->quiet_until) { /* else it was sent before the upstream asked for quiet */
        pace->since = 0;
    }
}

/* ---- answers ---- */

/* How long a picture of another layer says that a pause is not for the whole upstream. */
#define OTHERS_LAST (60 * APR_USEC_PER_SEC)

static tseed_pace_answer_t pace_answer(const tseed_transfer_t *transfer)
{
    if (transfer->result == TSEED_FETCH_AWAY) {
        return TSEED_PACE_AWAY;
    }
    return transfer->result == TSEED_FETCH_FAILED &&
                   (transfer->http_status == 0 || transfer->http_status >= 500)
               ? TSEED_PACE_ERROR
               : TSEED_PACE_WELL;
}

static void note_picture(tseed_pace_t *pace, const tseed_transfer_t *transfer)
{
    if (pace->pictures[0].layer != transfer->layer) {
        pace->pictures[1] = pace->pictures[0];
        pace->pictures[0].layer = transfer->layer;
    }
    pace->pictures[0].at = transfer->ended;
}

/* Whether the upstream has just given pictures of another layer, and so asks for a pause for this
 * one alone. */
static int pauses_layer(const tseed_pace_t *pace, const tseed_transfer_t *transfer)
{
    for (int i = 0; transfer->retry_after > 0 && transfer->layer && i < 2; i++) {
        if (pace->pictures[i].layer && pace->pictures[i].layer != transfer->layer &&
            transfer->ended - pace->pictures[i].at < OTHERS_LAST) {
            return 1;
        }
    }
    return 0;
}

tseed_pace_answer_t tseed_pace_hear(tseed_pace_t *pace, tseed_transfer_t *transfer,
                                    apr_time_t begun)
{
    tseed_pace_answer_t answer = pace_answer(transfer);

    transfer->pauses_layer = answer == TSEED_PACE_AWAY && pauses_layer(pace, transfer);
    if (transfer->pauses_layer) {
        answer = TSEED_PACE_ERROR;
    } else if (tseed_transfer_has_picture(transfer) && transfer->layer) {
        note_picture(pace, transfer);
    }
    if (transfer->ended >= pace->away_at) {
        take(pace, answer, begun, transfer->is_document ? -1 : transfer->weight,
             transfer->retry_after, transfer->ended);
    }
    return answer;
}
