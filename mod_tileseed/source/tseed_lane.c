/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A lane: all transfers to one upstream. */
#include "source/tseed_lane.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"

/* The remote transfers of a lane: those that other hosts carry out.
 *
 * The fetcher's remote has these transfers and writes their results; the list here only remembers
 * them. `next_remote` links the list, because `next` is used when a transfer comes back as a
 * letter.
 *
 * Private to this room; the fetcher's thread only.
 */

/* Each host gets so many windows of transfers: one to send and two that wait there, so that the
 * host need not wait for this one. The host may send them all at once, so it gets one window only
 * while ours is at most half of what is configured. */
#define WINDOWS_IN_HAND 3

void tseed_transfer_reset(tseed_transfer_t *transfer)
{
    transfer->result = TSEED_FETCH_CANCELLED;
    transfer->http_status = 0;
    transfer->sent = transfer->is_other = transfer->is_pack = 0;
    transfer->retry_after = transfer->took = 0;
    transfer->pauses_layer = 0;
    transfer->content_type[0] = transfer->exception[0] = '\0';
    transfer->next_condition[0] = '\0';
    transfer->cause[0] = '\0';
    transfer->length = transfer->received = 0;
    transfer->orphaned = 0;
    transfer->is_recalled = 0;
}

static int has_room(const tseed_remote_t *remote, const tseed_pace_t *pace)
{
    const tseed_remote_hosts_t *helpers = remote->helpers;
    const int windows = 2 * pace->window > pace->most ? WINDOWS_IN_HAND : 1;

    return helpers->calls.send && remote->count < helpers->hosts * windows * pace->window;
}

/* The first transfer of a list that another host may carry out, linked by `next`. NULL: there is
 * none, the other hosts have enough in hand for the pace's window, its circuit is open, or it has a
 * rate, which one host alone can hold exactly. */
static tseed_transfer_t *remote_next(const tseed_remote_t *remote, tseed_transfer_t *waiting,
                                     const tseed_pace_t *pace)
{
    if (pace->interval > 0 || tseed_pace_is_open(pace) || !has_room(remote, pace)) {
        return NULL;
    }
    while (waiting && !waiting->portion) {
        waiting = waiting->next;
    }
    return waiting;
}

/* Hands a transfer to the fetcher's remote. The list has the transfer first: the remote may return
 * it at once. */
static void remote_send(tseed_remote_t *remote, tseed_transfer_t *transfer)
{
    const tseed_fetch_remote_t *calls = &remote->helpers->calls;

    transfer->next_remote = remote->first;
    remote->first = transfer;
    remote->count++;
    calls->send(calls->baton, transfer);
}

/* The transfer of that address if it is remote, or NULL. */
static tseed_transfer_t *remote_find(const tseed_remote_t *remote, const tseed_transfer_t *transfer)
{
    tseed_transfer_t *found = remote->first;

    while (found && found != transfer) {
        found = found->next_remote;
    }
    return found;
}

/* Forgets a transfer that has come back. */
static void remote_take(tseed_remote_t *remote, const tseed_transfer_t *transfer)
{
    tseed_transfer_t **link = &remote->first;

    while (*link != transfer) {
        link = &(*link)->next_remote;
    }
    *link = transfer->next_remote;
    remote->count--;
}

/* Recalls the transfers of an owner, or of everybody (NULL), that are not recalled already. If that
 * is for good, what can't be recalled is dropped when it comes, and what can is cancelled: the
 * remote may have written a part of the results before. */
static void recall_each(tseed_transfer_t **taken, tseed_remote_t *remote, const void *owner,
                        int is_for_good)
{
    const tseed_fetch_remote_t *calls = &remote->helpers->calls;
    tseed_transfer_t **link = &remote->first;

    while (*link) {
        tseed_transfer_t *transfer = *link;
        const int is_meant = (!owner || transfer->owner == owner) && !transfer->is_recalled;

        transfer->is_recalled |= is_meant && is_for_good;
        if (!is_meant || !calls->recall(calls->baton, transfer)) {
            link = &transfer->next_remote;
            continue;
        }
        *link = transfer->next_remote;
        remote->count--;
        if (is_for_good) {
            tseed_transfer_reset(transfer);
        }
        transfer->next = *taken;
        *taken = transfer;
    }
}

/* Recalls the transfers of an owner, or of everybody (NULL). Adds those that could be recalled to
 * the list `*taken`, as cancelled. The others stay and have is_recalled set: they come back. */
static void remote_withdraw(tseed_transfer_t **taken, tseed_remote_t *remote, const void *owner)
{
    recall_each(taken, remote, owner, 1);
}

/* Takes back what the remote can be made to forget, into the list `*taken`. The others are on their
 * ways back already. */
static void remote_take_back(tseed_transfer_t **taken, tseed_remote_t *remote)
{
    recall_each(taken, remote, NULL, 0);
}

/* An upstream is silent when no answer has come for so long, and for so many times what is usual.
 */
#define SILENCE       (5 * APR_USEC_PER_SEC)
#define SILENCE_USUAL 3

/* How long a transfer that nobody waits for stays in the way of others: of many who go at once the
 * last has gone by then, so that none of their transfers takes the place of another. */
#define ORPHAN_GRACE (APR_USEC_PER_SEC / 4)

/* How long nobody has asked an upstream that seems to be away until the lane does it itself. */
#define DOUBT (APR_USEC_PER_SEC / 2)

/* How long a picture of another layer says that a pause is not for the whole upstream. */
#define OTHERS_LAST (60 * APR_USEC_PER_SEC)

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

tseed_lane_t *tseed_lane_create(const tseed_upstream_t *upstream, CURLSH *share,
                                const tseed_remote_hosts_t *helpers)
{
    tseed_lane_t *lane = calloc(1, sizeof(*lane));

    if (!lane) {
        abort();
    }
    lane->upstream = upstream;
    lane->share = share;
    lane->remote.helpers = helpers;
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
        wire = tseed_wire_create(lane->upstream, lane->headers, lane->share);
        wire->lane = lane;
        wire->next = lane->wires;
        lane->wires = wire;
    }
    return wire;
}

static void start(tseed_lane_t *lane, CURLM *multi, tseed_transfer_t *transfer, apr_time_t now)
{
    tseed_wire_t *wire = idle_wire(lane);

    lane->under_way++;
    lane->is_asked_again = 0;
    tseed_pace_sent(&lane->pace, now);
    tseed_wire_load(wire, transfer, now);
    if (curl_multi_add_handle(multi, wire->easy) != CURLM_OK) {
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

int tseed_lane_note_silence(tseed_lane_t *lane, apr_time_t now)
{
    apr_time_t since = silent_since(lane);
    int was_silent = atomic_load(&lane->silent) != 0;
    int is_silent = since && now - since >= silence_limit(lane);

    atomic_store(&lane->silent, is_silent ? since : 0);
    if (is_silent && !was_silent && lane->silence_said <= lane->pace.heard) {
        lane->silence_said = now;
        return 1;
    }
    return 0;
}

/* When that is to be seen; TSEED_PACE_NEVER: it is seen already, or there is nothing to wait for.
 */
static apr_time_t silence_due(const tseed_lane_t *lane)
{
    apr_time_t since = silent_since(lane);

    return since && !atomic_load(&lane->silent) ? since + silence_limit(lane) : TSEED_PACE_NEVER;
}

/* ---- what nobody waits for ---- */

static tseed_transfer_t *take_off(tseed_lane_t *lane, CURLM *multi, tseed_wire_t *wire)
{
    curl_multi_remove_handle(multi, wire->easy);
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
    return remote_next(&lane->remote, lane->turns.first, &lane->pace);
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

    remote_take_back(&list, &lane->remote);
    while (list) {
        tseed_transfer_t *transfer = list;

        list = transfer->next;
        give_up(taken, lane, transfer);
    }
}

/* What was sent before and hangs may never be answered, though the upstream is well again: it is
 * asked for anew. */
static void take_back_unanswered(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi)
{
    for (tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        tseed_transfer_t *transfer = wire->transfer;

        if (transfer && !wire->has_begun) {
            take_off(lane, multi, wire);
            if (transfer != &lane->probe) {
                transfer->sent_in_vain += transfer->sent;
                give_up(taken, lane, transfer);
            }
        }
    }
}

void tseed_lane_ask_again(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi,
                          apr_time_t now)
{
    const int is_ill = lane->pace.since || atomic_load(&lane->silent);

    if (is_ill) {
        take_back_unanswered(taken, lane, multi);
    }
    if (is_ill || lane->pace.streak > 0) {
        tseed_pace_ask_again(&lane->pace, now);
        lane->is_asked_again = 1;
    }
}

static void send_remote(tseed_lane_t *lane, tseed_transfer_t *transfer, apr_time_t now)
{
    tseed_pace_sent(&lane->pace, now);
    remote_send(&lane->remote, transfer);
}

void tseed_lane_make_way(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi, apr_time_t now)
{
    if (lane->remote.first && tseed_pace_waits(&lane->pace, now)) {
        take_back(taken, lane);
    }
    while (orphan_due(lane) <= now) {
        prepend(taken, take_off(lane, multi, find_orphan(lane)));
    }
}

/* ---- the transfers' way ---- */

void tseed_lane_start(tseed_lane_t *lane, CURLM *multi, apr_time_t now)
{
    if (probe_due(lane) <= now) {
        tseed_transfer_reset(&lane->probe);
        start(lane, multi, &lane->probe, now);
    }
    while (lane->turns.first && tseed_pace_next(&lane->pace, lane->under_way) <= now) {
        start(lane, multi, tseed_turns_serve(&lane->turns, lane->turns.first), now);
    }
    while (remote_due(lane) <= now) {
        send_remote(lane, tseed_turns_serve(&lane->turns, next_remote(lane)), now);
    }
}

apr_time_t tseed_lane_due(const tseed_lane_t *lane)
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

void tseed_lane_listen(tseed_lane_t *lane, apr_time_t now)
{
    for (tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        tseed_wire_listen(wire, now);
    }
}

tseed_wire_t *tseed_lane_find_silent(const tseed_lane_t *lane, apr_time_t now)
{
    tseed_wire_t *wire = lane->wires;

    while (wire && !(wire->transfer && wire->silent_until && wire->silent_until <= now)) {
        wire = wire->next;
    }
    return wire;
}

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

/* Whether a transfer gave a picture: such an address is the best probe. Until there is one, any
 * address that an upstream has answered will do. */
static int has_picture(const tseed_transfer_t *transfer)
{
    return transfer->result == TSEED_FETCH_OK || transfer->result == TSEED_FETCH_UNCHANGED;
}

/* ---- pauses of one layer ---- */

static void note_picture(tseed_lane_t *lane, const tseed_transfer_t *transfer)
{
    if (lane->pictures[0].layer != transfer->layer) {
        lane->pictures[1] = lane->pictures[0];
        lane->pictures[0].layer = transfer->layer;
    }
    lane->pictures[0].at = transfer->ended;
}

/* Whether the upstream has just given pictures of another layer, and so asks for a pause for this
 * one alone. */
static int pauses_layer(const tseed_lane_t *lane, const tseed_transfer_t *transfer)
{
    for (int i = 0; transfer->retry_after > 0 && transfer->layer && i < 2; i++) {
        if (lane->pictures[i].layer && lane->pictures[i].layer != transfer->layer &&
            transfer->ended - lane->pictures[i].at < OTHERS_LAST) {
            return 1;
        }
    }
    return 0;
}

/* Takes an answer into account that another host has got, or a wire. An answer of before the
 * upstream was away last says nothing about the pace. */
static tseed_pace_answer_t take_answer(tseed_lane_t *lane, tseed_transfer_t *transfer,
                                       apr_time_t begun)
{
    tseed_pace_answer_t answer = pace_answer(transfer);

    transfer->pauses_layer = answer == TSEED_PACE_AWAY && pauses_layer(lane, transfer);
    if (transfer->pauses_layer) {
        answer = TSEED_PACE_ERROR;
    } else if (has_picture(transfer) && transfer->layer) {
        note_picture(lane, transfer);
    }
    if (transfer->ended >= lane->pace.away_at) {
        tseed_pace_take(&lane->pace, answer, begun, transfer->is_document ? -1 : transfer->weight,
                        transfer->retry_after, transfer->ended);
    }
    lane->requests++;
    lane->errors += !has_picture(transfer) &&
                    !(transfer->is_document && transfer->http_status == 200 && transfer->length);
    if (answer == TSEED_PACE_AWAY) {
        apr_cpystrn(lane->cause, transfer->cause, sizeof(lane->cause));
    }
    return answer;
}

tseed_transfer_t *tseed_lane_finish(tseed_lane_t *lane, CURLM *multi, tseed_wire_t *wire,
                                    CURLcode code)
{
    apr_time_t now = tseed_clock_monotonic(), begun = wire->begun;
    tseed_transfer_t *transfer;
    tseed_pace_answer_t answer;

    tseed_wire_judge(wire, code);
    transfer = take_off(lane, multi, wire);
    transfer->ended = now;
    transfer->took = transfer->sent ? now - begun : 0;
    answer = take_answer(lane, transfer, begun);
    if (transfer == &lane->probe) {
        return NULL;
    }
    if (has_picture(transfer) || (answer == TSEED_PACE_WELL && !lane->probe.url)) {
        remember(lane, transfer);
    }
    return transfer;
}

tseed_transfer_t *tseed_lane_return(tseed_lane_t *lane, tseed_transfer_t *transfer, int is_done)
{
    tseed_transfer_t *taken = NULL;

    remote_take(&lane->remote, transfer);
    if (transfer->is_recalled) {
        tseed_transfer_reset(transfer);
        return transfer;
    }
    if (!is_done) {
        give_up(&taken, lane, transfer);
        return taken;
    }
    take_answer(lane, transfer, transfer->ended - transfer->took);
    if (has_picture(transfer)) {
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

void tseed_lane_send_elsewhere(tseed_transfer_t **taken, tseed_lane_t *lane)
{
    tseed_transfer_t *transfer;

    while (tseed_pace_is_open(&lane->pace) && (transfer = find_mobile(lane->turns.first))) {
        prepend(taken, tseed_turns_take(&lane->turns, transfer));
        transfer->result = TSEED_FETCH_AWAY;
        transfer->ended = lane->pace.away_at;
        apr_cpystrn(transfer->cause, lane->cause, sizeof(transfer->cause));
    }
}

void tseed_lane_describe(const tseed_lane_t *lane, tseed_outlook_t *outlook)
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
    apr_cpystrn(outlook->cause, lane->cause, sizeof(outlook->cause));
}

/* The transfer of that address if it is under way, on a wire or at another host; or NULL. */
static tseed_transfer_t *find_under_way(const tseed_lane_t *lane, const tseed_transfer_t *transfer)
{
    const tseed_wire_t *wire = wire_of(lane, transfer);

    return wire ? wire->transfer : remote_find(&lane->remote, transfer);
}

void tseed_lane_orphan(tseed_transfer_t **taken, tseed_lane_t *lane,
                       const tseed_transfer_t *transfer, apr_time_t now)
{
    tseed_transfer_t *under_way = find_under_way(lane, transfer);
    tseed_transfer_t *waiting = under_way ? NULL : tseed_turns_take(&lane->turns, transfer);

    if (under_way) {
        under_way->orphaned = now;
    } else if (waiting) {
        prepend(taken, waiting);
    }
}

void tseed_lane_adopt(tseed_lane_t *lane, const tseed_transfer_t *transfer)
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

void tseed_lane_withdraw(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi,
                         const void *owner)
{
    withdraw_waiting(taken, lane, owner);
    for (tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        if (wire->transfer && wire->transfer != &lane->probe && is_of(wire->transfer, owner)) {
            prepend(taken, take_off(lane, multi, wire));
        }
    }
    remote_withdraw(taken, &lane->remote, owner);
}
