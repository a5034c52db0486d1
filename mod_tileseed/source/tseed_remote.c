/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The remote transfers of a lane. */
#include "source/tseed_remote.h"

#include "source/tseed_lane.h"

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

/* The list has the transfer first: the remote may return it at once. */
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

void tseed_remote_withdraw(tseed_transfer_t **taken, tseed_remote_t *remote, const void *owner)
{
    recall_each(taken, remote, owner, 1);
}

void tseed_remote_take_back(tseed_transfer_t **taken, tseed_remote_t *remote)
{
    recall_each(taken, remote, NULL, 0);
}
