/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A lane: all transfers to one upstream. Lists are walked: the seeder never has more transfers in
 * hand than it has threads. */
#include "source/tseed_lane.h"

#include <stdlib.h>

void tseed_transfers_insert(tseed_transfer_t **list, tseed_transfer_t *transfer)
{
    while (*list && (*list)->rank <= transfer->rank) {
        list = &(*list)->next;
    }
    transfer->next = *list;
    *list = transfer;
}

static int is_of(const tseed_transfer_t *transfer, const void *owner)
{
    return !owner || transfer->owner == owner;
}

static void prepend(tseed_transfer_t **list, tseed_transfer_t *transfer)
{
    transfer->next = *list;
    *list = transfer;
}

void tseed_transfers_withdraw(tseed_transfer_t **taken, tseed_transfer_t **list, const void *owner)
{
    while (*list) {
        tseed_transfer_t *transfer = *list;

        if (is_of(transfer, owner)) {
            *list = transfer->next;
            prepend(taken, transfer);
        } else {
            list = &transfer->next;
        }
    }
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

tseed_lane_t *tseed_lane_create(const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = calloc(1, sizeof(*lane));

    if (!lane) {
        abort();
    }
    lane->upstream = upstream;
    lane->headers = header_list(upstream->headers);
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
    free(lane);
}

void tseed_lane_put(tseed_lane_t *lane, tseed_transfer_t *transfer)
{
    transfer->rank = lane->round + 1;
    for (const tseed_transfer_t *other = lane->waiting; other; other = other->next) {
        if (other->owner == transfer->owner) {
            transfer->rank = other->rank + 1;
        }
    }
    tseed_transfers_insert(&lane->waiting, transfer);
}

static tseed_wire_t *idle_wire(tseed_lane_t *lane)
{
    tseed_wire_t *wire = lane->wires;

    while (wire && wire->transfer) {
        wire = wire->next;
    }
    if (!wire) {
        wire = tseed_wire_create(lane->upstream, lane->headers);
        wire->lane = lane;
        wire->next = lane->wires;
        lane->wires = wire;
    }
    return wire;
}

void tseed_lane_start(tseed_lane_t *lane, CURLM *multi)
{
    while (lane->waiting && lane->under_way < lane->upstream->connections) {
        tseed_transfer_t *transfer = lane->waiting;
        tseed_wire_t *wire = idle_wire(lane);

        lane->waiting = transfer->next;
        lane->round = transfer->rank;
        lane->under_way++;
        tseed_wire_load(wire, transfer);
        if (curl_multi_add_handle(multi, wire->easy) != CURLM_OK) {
            abort();
        }
    }
}

static tseed_transfer_t *take_off(tseed_lane_t *lane, CURLM *multi, tseed_wire_t *wire)
{
    curl_multi_remove_handle(multi, wire->easy);
    lane->under_way--;
    return tseed_wire_unload(wire);
}

tseed_transfer_t *tseed_lane_finish(tseed_lane_t *lane, CURLM *multi, tseed_wire_t *wire,
                                    CURLcode code)
{
    tseed_wire_judge(wire, code);
    return take_off(lane, multi, wire);
}

void tseed_lane_withdraw(tseed_transfer_t **taken, tseed_lane_t *lane, CURLM *multi,
                         const void *owner)
{
    tseed_transfers_withdraw(taken, &lane->waiting, owner);
    for (tseed_wire_t *wire = lane->wires; wire; wire = wire->next) {
        if (wire->transfer && is_of(wire->transfer, owner)) {
            prepend(taken, take_off(lane, multi, wire));
        }
    }
}
