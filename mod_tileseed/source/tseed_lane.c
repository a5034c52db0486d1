/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Lanes: what the fetcher's thread does. */
#include "source/tseed_lane.h"

#include <apr_strings.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"

/* An upstream is silent when no answer has come for so long, and for so many times what is usual.
 */
#define SILENCE       (5 * APR_USEC_PER_SEC)
#define SILENCE_USUAL 3

/* How long a transfer that nobody waits for stays in the way of others: of many who go at once the
 * last has gone by then, so that none of their transfers takes the place of another. */
#define ORPHAN_GRACE (APR_USEC_PER_SEC / 4)

/* How long nobody has asked an upstream that seems to be away until the lane does it itself. */
#define DOUBT (APR_USEC_PER_SEC / 2)

static int is_of(const tseed_transfer_t *transfer, const void *owner)
{
    return !owner || transfer->owner == owner;
}

static void prepend(tseed_transfer_t **list, tseed_transfer_t *transfer)
{
    transfer->next = *list;
    *list = transfer;
}

static struct curl_slist *header_list(const apr_array_header_t *headers)
{
    struct curl_slist *list = NULL;

    for (int i = 0; headers && i < headers->nelts; i++) {
        list = curl_slist_append(list, APR_ARRAY_IDX(headers, i, const char *));
        if (!list) {
            abort();
        }
    }
    return list;
}

static tseed_lane_t *create(tseed_lanes_t *lanes, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = calloc(1, sizeof(*lane));

    if (!lane) {
        abort();
    }
    lane->upstream = upstream;
    lane->all = lanes;
    lane->remote.helpers = &lanes->helpers;
    lane->headers = header_list(upstream->headers);
    lane->probe.upstream = upstream;
    lane->probe.owner = &lane->probe;
    tseed_pace_init(&lane->pace, upstream->connections, upstream->interval,
                    tseed_clock_monotonic());
    return lane;
}

void tseed_lane_destroy(tseed_lane_t *lane)
{
    while (lane->wires) {
        tseed_wire_t *wire = lane->wires;

        lane->wires = wire->next;
        tseed_wire_destroy(wire);
    }
    curl_slist_free_all(lane->headers);
    free((char *)lane->probe.url);
    free(lane->probe.body);
    free(lane);
}

/* ---- on wires ---- */

static tseed_wire_t *idle_wire(tseed_lane_t *lane)
{
    tseed_wire_t *wire = lane->wires;

    while (wire && wire->transfer) {
        wire = wire->next;
    }
    if (!wire) {
        wire = tseed_wire_create(lane->upstream, lane->headers, lane->all->share);
        wire->lane = lane;
        wire->next = lane->wires;
        lane->wires = wire;
    }
    return wire;
}

static void put_on_wire(tseed_lane_t *lane, tseed_transfer_t *transfer, apr_time_t now)
{
    tseed_wire_t *wire = idle_wire(lane);

    lane->under_way++;
    lane->is_asked_again = 0;
    tseed_pace_sent(&lane->pace, now);
    tseed_wire_load(wire, transfer, now);
    if (curl_multi_add_handle(lane->all->multi, wire->easy) != CURLM_OK) {
        abort();
    }
}

/* ---- probes ---- */

/* Whether the upstream seems to be away and nobody is going to ask it soon, here or elsewhere. */
static int in_doubt(const tseed_lane_t *lane)
{
    return lane->pace.streak > 0 && !tseed_pace_is_open(&lane->pace) && !lane->turns.first &&
           lane->under_way == 0 && lane->remote.count == 0 && lane->probe.url;
}

/* When to ask what was answered before; TSEED_PACE_NEVER: no need to. While the circuit is open and
 * nobody waits for the upstream it is left in peace, unless somebody has it asked again. */
static apr_time_t probe_due(const tseed_lane_t *lane)
{
    apr_time_t next = tseed_pace_next(&lane->pace, lane->under_way);
    apr_time_t doubt = lane->pace.away_at + DOUBT;

    if (in_doubt(lane) && !lane->is_asked_again) {
        return next > doubt ? next : doubt;
    }
    return lane->probe.url &&
                   (lane->turns.first ? tseed_pace_is_open(&lane->pace) : lane->is_asked_again)
               ? next
               : TSEED_PACE_NEVER;
}

static void remember(tseed_lane_t *lane, const tseed_transfer_t *transfer)
{
    free((char *)lane->probe.url);
    lane->probe.url = tseed_memory_copy(transfer->url);
    lane->probe.most = transfer->most;
    lane->probe_layer = transfer->layer;
}

/* ---- silence ---- */

/* Since when what is under way has been waiting for any answer; 0: nothing is under way. */
static apr_time_t silent_since(const tseed_lane_t *lane)
{
    apr_time_t oldest = 0;

    for (const tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        if (wire->transfer && (!oldest || wire->begun < oldest)) {
            oldest = wire->begun;
        }
    }
    return oldest && lane->pace.heard > oldest ? lane->pace.heard : oldest;
}

static apr_interval_time_t silence_limit(const tseed_lane_t *lane)
{
    apr_interval_time_t usual = SILENCE_USUAL * lane->pace.usual;

    return usual > SILENCE ? usual : SILENCE;
}

/* The first silence between two answers is worth a line at once: until its requests have failed
 * much time may pass. */
static void note_silence(tseed_lane_t *lane, apr_time_t now)
{
    const apr_time_t since = silent_since(lane);
    const int was_silent = atomic_load(&lane->silent) != 0;
    const int is_silent = since && now - since >= silence_limit(lane);

    atomic_store(&lane->silent, is_silent ? since : 0);
    if (is_silent && !was_silent && lane->silence_said <= lane->pace.heard) {
        lane->silence_said = now;
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0022: the upstream %s has not answered for %.0f s; requests under way: %d",
                  lane->upstream->name, (double)(now - since) / APR_USEC_PER_SEC, lane->under_way);
    }
}

/* When that is to be seen; TSEED_PACE_NEVER: it is seen already, or there is nothing to wait for.
 */
static apr_time_t silence_due(const tseed_lane_t *lane)
{
    apr_time_t since = silent_since(lane);

    return since && !atomic_load(&lane->silent) ? since + silence_limit(lane) : TSEED_PACE_NEVER;
}

/* ---- what nobody waits for ---- */

static tseed_transfer_t *take_off(tseed_lane_t *lane, tseed_wire_t *wire)
{
    curl_multi_remove_handle(lane->all->multi, wire->easy);
    lane->under_way--;
    return tseed_wire_unload(wire);
}

static tseed_wire_t *wire_of(const tseed_lane_t *lane, const tseed_transfer_t *transfer)
{
    tseed_wire_t *wire = lane->wires;

    while (wire && wire->transfer != transfer) {
        wire = wire->next;
    }
    return wire;
}

/* The transfer that must make way: of those for which nobody waits, the one for which nobody has
 * waited longest. NULL: no transfer is in the way. */
static tseed_wire_t *find_orphan(const tseed_lane_t *lane)
{
    tseed_wire_t *found = NULL;

    if (!lane->turns.first || tseed_pace_next(&lane->pace, lane->under_way) != TSEED_PACE_NEVER) {
        return NULL;
    }
    for (tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        if (wire->transfer && wire->transfer->orphaned &&
            (!found || wire->transfer->orphaned < found->transfer->orphaned)) {
            found = wire;
        }
    }
    return found;
}

static apr_time_t orphan_due(const tseed_lane_t *lane)
{
    const tseed_wire_t *wire = find_orphan(lane);

    return wire ? wire->transfer->orphaned + ORPHAN_GRACE : TSEED_PACE_NEVER;
}

/* ---- at other hosts ---- */

static tseed_transfer_t *next_remote(const tseed_lane_t *lane)
{
    return tseed_remote_next(&lane->remote, lane->turns.first, &lane->pace);
}

/* When to send that transfer: by rate and quiet alone, as if none of our wires were busy. */
static apr_time_t remote_due(const tseed_lane_t *lane)
{
    return next_remote(lane) ? tseed_pace_next(&lane->pace, 0) : TSEED_PACE_NEVER;
}

/* Nobody carries this out any more. What nobody waits for does not wait for another turn. */
static void give_up(tseed_transfer_t **taken, tseed_lane_t *lane, tseed_transfer_t *transfer)
{
    const int is_orphan = transfer->orphaned != 0;

    tseed_transfer_reset(transfer);
    if (is_orphan) {
        prepend(taken, transfer);
    } else {
        tseed_turns_put(&lane->turns, transfer);
    }
}

/* An upstream that is away, or asks for quiet, is left in peace by all hosts. */
static void take_back(tseed_transfer_t **taken, tseed_lane_t *lane)
{
    tseed_transfer_t *list = NULL;

    tseed_remote_recall(&list, &lane->remote, NULL, 0);
    while (list) {
        tseed_transfer_t *transfer = list;

        list = transfer->next;
        give_up(taken, lane, transfer);
    }
}

/* What was sent before and hangs may never be answered, though the upstream is well again: it is
 * asked for anew. */
static void take_back_unanswered(tseed_transfer_t **taken, tseed_lane_t *lane)
{
    for (tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        tseed_transfer_t *transfer = wire->transfer;

        if (transfer && !wire->has_begun) {
            take_off(lane, wire);
            if (transfer != &lane->probe) {
                transfer->sent_in_vain += transfer->sent;
                give_up(taken, lane, transfer);
            }
        }
    }
}

/* Ends the pauses of an upstream that is in trouble. If nobody waits for the upstream, a probe is
 * sent. What hangs there is given up and waits for its turn again; of that, adds to `*taken` what
 * nobody waits for. */
static void end_pauses(tseed_transfer_t **taken, tseed_lane_t *lane, apr_time_t now)
{
    const int is_ill = lane->pace.since || atomic_load(&lane->silent);

    if (is_ill) {
        take_back_unanswered(taken, lane);
    }
    if (is_ill || lane->pace.streak > 0) {
        tseed_pace_ask_again(&lane->pace, now);
        lane->is_asked_again = 1;
    }
}

static void send_remote(tseed_lane_t *lane, tseed_transfer_t *transfer, apr_time_t now)
{
    tseed_pace_sent(&lane->pace, now);
    tseed_remote_send(&lane->remote, transfer);
}

/* Adds to the list the transfers for which nobody waits and whose connections others need. Their
 * end says nothing about the upstream. Takes back what other hosts have, while the upstream is away
 * or asks for quiet. */
static void make_way(tseed_transfer_t **taken, tseed_lane_t *lane, apr_time_t now)
{
    if (lane->remote.first && tseed_pace_waits(&lane->pace, now)) {
        take_back(taken, lane);
    }
    while (orphan_due(lane) <= now) {
        prepend(taken, take_off(lane, find_orphan(lane)));
    }
}

/* ---- the transfers' way ---- */

/* Starts the transfers, or the probe, that the pace allows now, on wires and at other hosts. */
static void start_due(tseed_lane_t *lane, apr_time_t now)
{
    if (probe_due(lane) <= now) {
        tseed_transfer_reset(&lane->probe);
        put_on_wire(lane, &lane->probe, now);
    }
    while (lane->turns.first && tseed_pace_next(&lane->pace, lane->under_way) <= now) {
        put_on_wire(lane, tseed_turns_serve(&lane->turns, lane->turns.first), now);
    }
    while (remote_due(lane) <= now) {
        send_remote(lane, tseed_turns_serve(&lane->turns, next_remote(lane)), now);
    }
}

/* When to call start again if nothing ends before; TSEED_PACE_NEVER: then it is of no use. */
static apr_time_t lane_due(const tseed_lane_t *lane)
{
    apr_time_t due =
        lane->turns.first ? tseed_pace_next(&lane->pace, lane->under_way) : probe_due(lane);
    apr_time_t silence = silence_due(lane), orphan = orphan_due(lane), remote = remote_due(lane);

    due = remote < due ? remote : due;
    due = silence < due ? silence : due;
    due = orphan < due ? orphan : due;
    for (const tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        if (wire->transfer && wire->silent_until && wire->silent_until < due) {
            due = wire->silent_until;
        }
    }
    return due;
}

/* A busy wire whose upstream has been silent for too long, or NULL. */
static tseed_wire_t *find_silent(const tseed_lane_t *lane, apr_time_t now)
{
    tseed_wire_t *wire = lane->wires;

    while (wire && !(wire->transfer && wire->silent_until && wire->silent_until <= now)) {
        wire = wire->next;
    }
    return wire;
}

/* Takes an answer into account that another host has got, or a wire. */
static tseed_pace_answer_t take_answer(tseed_lane_t *lane, tseed_transfer_t *transfer,
                                       apr_time_t begun)
{
    const tseed_pace_answer_t answer = tseed_pace_hear(&lane->pace, transfer, begun);

    lane->requests++;
    lane->errors += !tseed_transfer_has_picture(transfer) &&
                    !(transfer->is_document && transfer->http_status == 200 && transfer->length);
    if (answer == TSEED_PACE_AWAY) {
        apr_cpystrn(lane->cause, transfer->cause, sizeof(lane->cause));
        lane->cause_layer = transfer == &lane->probe ? lane->probe_layer : transfer->layer;
    }
    return answer;
}

/* Takes a transfer that came to its end off its wire, and its answer into account. NULL: it was a
 * probe. */
static tseed_transfer_t *take_finished(tseed_lane_t *lane, tseed_wire_t *wire, CURLcode code)
{
    apr_time_t now = tseed_clock_monotonic(), begun = wire->begun;
    tseed_transfer_t *transfer;
    tseed_pace_answer_t answer;

    tseed_wire_judge(wire, code);
    transfer = take_off(lane, wire);
    transfer->ended = now;
    transfer->took = transfer->sent ? now - begun : 0;
    answer = take_answer(lane, transfer, begun);
    if (transfer == &lane->probe) {
        return NULL;
    }
    if (tseed_transfer_has_picture(transfer) || (answer == TSEED_PACE_WELL && !lane->probe.url)) {
        remember(lane, transfer);
    }
    return transfer;
}

/* Takes a transfer back from another host, see tseed_fetcher_return, and its answer into account.
 * NULL: the transfer waits for its turn again, behind its owner's others. Else it is to be handed
 * back, as cancelled if it was recalled. */
static tseed_transfer_t *take_returned(tseed_lane_t *lane, tseed_transfer_t *transfer, int is_done)
{
    tseed_transfer_t *taken = NULL;

    tseed_remote_take(&lane->remote, transfer);
    if (transfer->is_recalled) {
        tseed_transfer_reset(transfer);
        return transfer;
    }
    if (!is_done) {
        give_up(&taken, lane, transfer);
        return taken;
    }
    take_answer(lane, transfer, transfer->ended - transfer->took);
    if (tseed_transfer_has_picture(transfer)) {
        remember(lane, transfer);
    }
    return transfer;
}

/* The first that waits from another on, and may go elsewhere. */
static tseed_transfer_t *find_mobile(tseed_transfer_t *transfer)
{
    while (transfer && !transfer->may_go_elsewhere) {
        transfer = transfer->next;
    }
    return transfer;
}

/* Adds all that wait and may go elsewhere to the list `*taken` if the upstream is away. */
static void send_elsewhere(tseed_transfer_t **taken, tseed_lane_t *lane)
{
    tseed_transfer_t *transfer;

    while (tseed_pace_is_open(&lane->pace) && (transfer = find_mobile(lane->turns.first))) {
        prepend(taken, tseed_turns_take(&lane->turns, transfer));
        transfer->result = TSEED_FETCH_AWAY;
        transfer->ended = lane->pace.away_at;
        tseed_cause_for(transfer->cause, lane->cause, lane->cause_layer, transfer->layer);
    }
}

/* All that an upstream says follows the status of its answer. */
void tseed_cause_for(char to[TSEED_CAUSE_SIZE], const char *cause, const tseed_layer_t *of,
                     const tseed_layer_t *layer)
{
    const char *words = tseed_ascii_is_digit(*cause) ? strstr(cause, ": ") : NULL;

    apr_cpystrn(to, cause, TSEED_CAUSE_SIZE);
    if (words && of != layer) {
        to[words - cause] = '\0';
    }
}

static void describe(const tseed_lane_t *lane, tseed_outlook_t *outlook)
{
    const tseed_pace_t *pace = &lane->pace;

    outlook->upstream = lane->upstream;
    outlook->heard = pace->heard;
    outlook->since = pace->since ? apr_time_now() - (tseed_clock_monotonic() - pace->since) : 0;
    outlook->next = tseed_pace_next(pace, 0);
    outlook->waits = pace->since;
    outlook->opened = tseed_pace_is_open(pace) ? pace->opened : 0;
    outlook->away_at = pace->away_at;
    outlook->quiet_until = pace->quiet_until;
    outlook->usual = pace->usual;
    outlook->window = pace->window;
    outlook->requests = lane->requests;
    outlook->errors = lane->errors;
    outlook->layer = lane->cause_layer;
    apr_cpystrn(outlook->cause, lane->cause, sizeof(outlook->cause));
}

/* The transfer of that address if it is under way, on a wire or at another host; or NULL. */
static tseed_transfer_t *find_under_way(const tseed_lane_t *lane, const tseed_transfer_t *transfer)
{
    const tseed_wire_t *wire = wire_of(lane, transfer);

    return wire ? wire->transfer : tseed_remote_find(&lane->remote, transfer);
}

/* Nobody waits for the transfer any more: adds it to the list if it waits, else notes the time. */
static void let_go(tseed_transfer_t **taken, tseed_lane_t *lane, const tseed_transfer_t *transfer,
                   apr_time_t now)
{
    tseed_transfer_t *under_way = find_under_way(lane, transfer);
    tseed_transfer_t *waiting = under_way ? NULL : tseed_turns_take(&lane->turns, transfer);

    if (under_way) {
        under_way->orphaned = now;
    } else if (waiting) {
        prepend(taken, waiting);
    }
}

static void adopt(tseed_lane_t *lane, const tseed_transfer_t *transfer)
{
    tseed_transfer_t *under_way = find_under_way(lane, transfer);

    if (under_way) {
        under_way->orphaned = 0;
    }
}

static void withdraw_waiting(tseed_transfer_t **taken, tseed_lane_t *lane, const void *owner)
{
    tseed_transfer_t *transfer = lane->turns.first;

    while (transfer) {
        tseed_transfer_t *next = transfer->next;

        if (is_of(transfer, owner)) {
            prepend(taken, tseed_turns_take(&lane->turns, transfer));
        }
        transfer = next;
    }
}

/* Adds all transfers of an owner, or of everybody (NULL), to the list `*taken`, linked by `next`;
 * connections of those under way are closed. A transfer whose result is on its way back from
 * another host stays until it has come. */
static void withdraw(tseed_transfer_t **taken, tseed_lane_t *lane, const void *owner)
{
    withdraw_waiting(taken, lane, owner);
    for (tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        if (wire->transfer && wire->transfer != &lane->probe && is_of(wire->transfer, owner)) {
            prepend(taken, take_off(lane, wire));
        }
    }
    tseed_remote_recall(taken, &lane->remote, owner, 1);
}

/* ---- what has ended ---- */

static void hand_back(tseed_lanes_t *lanes, tseed_transfer_t *transfers)
{
    while (transfers) {
        tseed_transfer_t *transfer = transfers;

        transfers = transfer->next; /* it is not ours any more once done has it */
        lanes->done(lanes->baton, transfer);
    }
}

static void start(tseed_lane_t *lane)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_transfer_t *orphans = NULL;

    if (lane->all->leaving) {
        return;
    }
    make_way(&orphans, lane, now);
    start_due(lane, now);
    hand_back(lane->all, orphans);
}

/* Shows what has become of an upstream, and says once that it is away and once that it is back. */
static void show_outlook(tseed_lane_t *lane, int was_open)
{
    int is_open = tseed_pace_is_open(&lane->pace);
    tseed_outlook_t outlook = {0};

    describe(lane, &outlook);
    if (is_open && !was_open) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0021: the upstream %s is away: %s; its tasks wait and go on by themselves",
                  lane->upstream->name, lane->cause);
    } else if (was_open && !is_open) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0063: the upstream %s is back after %.1f s",
                  lane->upstream->name,
                  (double)(tseed_clock_monotonic() - lane->pace.opened) / APR_USEC_PER_SEC);
    }
    pthread_mutex_lock(lane->all->lock);
    lane->outlook = outlook;
    pthread_mutex_unlock(lane->all->lock);
}

/* Goes on after the end of a transfer, NULL: it is not to be handed back. The next transfer is on
 * its way before the last one is handed back. */
static void go_on(tseed_lane_t *lane, tseed_transfer_t *transfer, int was_open)
{
    tseed_transfer_t *elsewhere = NULL;

    show_outlook(lane, was_open);
    start(lane);
    send_elsewhere(&elsewhere, lane);
    if (transfer) {
        lane->all->done(lane->all->baton, transfer);
    }
    hand_back(lane->all, elsewhere);
}

static void finish(tseed_wire_t *wire, CURLcode code)
{
    tseed_lane_t *lane = wire->lane;
    const int was_open = tseed_pace_is_open(&lane->pace);

    go_on(lane, take_finished(lane, wire, code), was_open);
}

/* ---- letters ---- */

tseed_lane_t *tseed_lanes_find(const tseed_lanes_t *lanes, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = lanes->first;

    while (lane && lane->upstream != upstream) {
        lane = lane->next;
    }
    return lane;
}

static tseed_lane_t *lane_of(tseed_lanes_t *lanes, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = tseed_lanes_find(lanes, upstream);

    if (!lane) {
        lane = create(lanes, upstream);
        describe(lane, &lane->outlook);
        lane->number = lanes->first ? lanes->first->number + 1 : 0;
        pthread_mutex_lock(lanes->lock);
        lane->next = lanes->first;
        lanes->first = lane;
        pthread_mutex_unlock(lanes->lock);
    }
    return lane;
}

static void read_return(tseed_lanes_t *lanes, tseed_transfer_t *transfer)
{
    tseed_lane_t *lane = tseed_lanes_find(lanes, transfer->upstream);
    const int was_open = tseed_pace_is_open(&lane->pace);

    go_on(lane, take_returned(lane, transfer, transfer->letter == TSEED_LETTER_DONE), was_open);
}

static void refuse(tseed_lanes_t *lanes, tseed_transfer_t *transfer)
{
    transfer->result = TSEED_FETCH_FAILED;
    transfer->ended = tseed_clock_monotonic();
    apr_cpystrn(transfer->cause,
                "not asked for: with its parameters . or .. would be a part of the address's path",
                sizeof(transfer->cause));
    lanes->done(lanes->baton, transfer);
}

static void take_in(tseed_lanes_t *lanes, tseed_transfer_t *transfer)
{
    if (*transfer->url) {
        tseed_turns_put(&lane_of(lanes, transfer->upstream)->turns, transfer);
    } else {
        refuse(lanes, transfer);
    }
}

/* The upstream may never have been asked. */
static void ask_again(tseed_lanes_t *lanes, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = tseed_lanes_find(lanes, upstream);

    if (lane) {
        tseed_transfer_t *taken = NULL;

        end_pauses(&taken, lane, tseed_clock_monotonic());
        show_outlook(lane, tseed_pace_is_open(&lane->pace));
        hand_back(lanes, taken);
    }
}

static void carry_out(tseed_lanes_t *lanes, const tseed_transfer_t *order)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_transfer_t *taken = NULL;

    for (tseed_lane_t *lane = lanes->first; lane; lane = lane->next) {
        if (order->letter == TSEED_LETTER_ORPHAN) {
            let_go(&taken, lane, order->owner, now);
        } else if (order->letter == TSEED_LETTER_ADOPT) {
            adopt(lane, order->owner);
        } else {
            withdraw(&taken, lane, order->owner);
        }
    }
    hand_back(lanes, taken);
}

void tseed_lanes_read(tseed_lanes_t *lanes, tseed_transfer_t *letter)
{
    if (letter->letter == TSEED_LETTER_SUBMIT) {
        take_in(lanes, letter);
    } else if (letter->letter <= TSEED_LETTER_UNDONE) {
        read_return(lanes, letter);
    } else if (letter->letter == TSEED_LETTER_AGAIN) {
        ask_again(lanes, letter->owner);
        free(letter);
    } else {
        lanes->leaving |= !letter->owner;
        carry_out(lanes, letter);
        free(letter);
    }
}

/* ---- turns of the thread ---- */

static void collect_finished(tseed_lanes_t *lanes)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(lanes->multi, &left))) {
        CURLcode code = message->data.result;
        tseed_wire_t *wire = NULL;

        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &wire);
        if (!tseed_wire_go_on(wire, lanes->multi, code)) {
            finish(wire, code);
        }
    }
}

static void end_silent(tseed_lanes_t *lanes)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_wire_t *wire;

    for (tseed_lane_t *lane = lanes->first; lane; lane = lane->next) {
        for (wire = lane->wires; wire; wire = wire->next) {
            tseed_wire_listen(wire, now);
        }
        note_silence(lane, now);
        while ((wire = find_silent(lane, now))) {
            finish(wire, CURLE_OPERATION_TIMEDOUT);
        }
    }
}

/* Milliseconds until the next upstream may be asked or has been silent for too long, rounded up so
 * that the thread does not wake early. curl_multi_poll itself looks after curl's own deadlines. */
static int nap(const tseed_lanes_t *lanes)
{
    apr_time_t due = TSEED_PACE_NEVER;
    int64_t millis;

    for (const tseed_lane_t *lane = lanes->first; lane; lane = lane->next) {
        apr_time_t next = lane_due(lane);

        due = next < due ? next : due;
    }
    millis =
        due == TSEED_PACE_NEVER ? TSEED_LONGEST_NAP : (due - tseed_clock_monotonic() + 999) / 1000;
    if (millis < 0) {
        return 0;
    }
    return millis < TSEED_LONGEST_NAP ? (int)millis : TSEED_LONGEST_NAP;
}

void tseed_lanes_work(tseed_lanes_t *lanes)
{
    int running;

    for (tseed_lane_t *lane = lanes->first; lane; lane = lane->next) {
        start(lane);
    }
    curl_multi_perform(lanes->multi, &running);
    collect_finished(lanes);
    end_silent(lanes);
    curl_multi_poll(lanes->multi, NULL, 0, nap(lanes), NULL);
}
