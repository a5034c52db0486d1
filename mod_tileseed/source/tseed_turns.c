/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Transfers that are on no wire. */
#include "source/tseed_turns.h"

/* Each host gets so many windows of transfers: one to send and two that wait there, so that the
 * host need not wait for this one. The host may send them all at once, so it gets one window only
 * while ours is at most half of what is configured. */
#define WINDOWS_IN_HAND 3

/* ---- turns ---- */

static const void *taker_of(const tseed_transfer_t *transfer)
{
    return transfer->turn_of ? transfer->turn_of : transfer->owner;
}

/* At the end of its round. */
static void insert(tseed_turns_t *turns, tseed_transfer_t *transfer)
{
    tseed_transfer_t **link = &turns->first;

    while (*link && (*link)->round <= transfer->round) {
        link = &(*link)->next;
    }
    transfer->next = *link;
    *link = transfer;
}

void tseed_turns_put(tseed_turns_t *turns, tseed_transfer_t *transfer)
{
    transfer->round = turns->round + 1;
    for (const tseed_transfer_t *other = turns->first; other; other = other->next) {
        if (taker_of(other) == taker_of(transfer)) {
            transfer->round = other->round + 1;
        }
    }
    insert(turns, transfer);
    turns->count++;
}

/* Where a transfer stands; the end of the list if it does not wait. */
static tseed_transfer_t **link_of(tseed_turns_t *turns, const tseed_transfer_t *transfer)
{
    tseed_transfer_t **link = &turns->first;

    while (*link && *link != transfer) {
        link = &(*link)->next;
    }
    return link;
}

static tseed_transfer_t *take_out(tseed_turns_t *turns, tseed_transfer_t **link)
{
    tseed_transfer_t *transfer = *link;

    *link = transfer->next;
    turns->count--;
    return transfer;
}

/* From a place in the queue on, each transfer of a taker gets the round of the one before it; the
 * first gets `round`. */
static void move_up(tseed_turns_t *turns, tseed_transfer_t **link, const void *taker, int64_t round)
{
    tseed_transfer_t *moved = NULL, **end = &moved;

    while (*link) {
        if (taker_of(*link) == taker) {
            *end = *link;
            *link = (*link)->next;
            end = &(*end)->next;
        } else {
            link = &(*link)->next;
        }
    }
    *end = NULL;
    while (moved) {
        tseed_transfer_t *transfer = moved;
        const int64_t left = transfer->round;

        moved = transfer->next;
        transfer->round = round;
        round = left;
        insert(turns, transfer);
    }
}

tseed_transfer_t *tseed_turns_serve(tseed_turns_t *turns, tseed_transfer_t *transfer)
{
    const int is_first = transfer == turns->first;
    tseed_transfer_t **link = link_of(turns, transfer);

    take_out(turns, link);
    if (is_first) {
        turns->round = transfer->round;
    } else {
        move_up(turns, link, taker_of(transfer), transfer->round);
    }
    return transfer;
}

tseed_transfer_t *tseed_turns_take(tseed_turns_t *turns, const tseed_transfer_t *transfer)
{
    tseed_transfer_t **link = link_of(turns, transfer);

    return *link ? take_out(turns, link) : NULL;
}

/* ---- at other hosts ---- */

void tseed_transfer_reset(tseed_transfer_t *transfer)
{
    transfer->result = TSEED_FETCH_CANCELLED;
    transfer->http_status = 0;
    transfer->sent = transfer->is_other = 0;
    transfer->packed = NULL;
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

tseed_transfer_t *tseed_remote_next(const tseed_remote_t *remote, tseed_transfer_t *waiting,
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

void tseed_remote_send(tseed_remote_t *remote, tseed_transfer_t *transfer)
{
    const tseed_fetch_remote_t *calls = &remote->helpers->calls;

    transfer->next_remote = remote->first;
    remote->first = transfer;
    remote->count++;
    calls->send(calls->baton, transfer);
}

tseed_transfer_t *tseed_remote_find(const tseed_remote_t *remote, const tseed_transfer_t *transfer)
{
    tseed_transfer_t *found = remote->first;

    while (found && found != transfer) {
        found = found->next_remote;
    }
    return found;
}

void tseed_remote_take(tseed_remote_t *remote, const tseed_transfer_t *transfer)
{
    tseed_transfer_t **link = &remote->first;

    while (*link != transfer) {
        link = &(*link)->next_remote;
    }
    *link = transfer->next_remote;
    remote->count--;
}

void tseed_remote_recall(tseed_transfer_t **taken, tseed_remote_t *remote, const void *owner,
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
