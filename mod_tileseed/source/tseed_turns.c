/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Turns of transfers. */
#include "source/tseed_turns.h"

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
