/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Turns: the transfers of a lane that wait, sorted by round.
 *
 * A transfer's round is one more than the round of its taker's last transfer that waits; if none
 * waits, one more than the round that is being served. The taker is the transfer's owner, unless
 * the transfer names another (turn_of). So a round has at most one transfer of each taker, and a
 * taker that submits again at once can't overtake the others. Example: while all connections are
 * taken, A submits five transfers and then B two. The order is:
 *
 *      transfer   A1 B1 A2 B2 A3 A4 A5
 *      round       1  1  2  2  3  4  5
 *
 * Lists are walked: the seeder never has more transfers in hand than it has threads. Private to
 * this room; the fetcher's thread only.
 */
#ifndef TSEED_TURNS_H
#define TSEED_TURNS_H

#include <stdatomic.h>

#include "source/tseed_fetcher.h"

typedef struct {
    tseed_transfer_t *first; /* by round, linked by `next` */
    int64_t round;           /* the one that is being served */
    _Atomic int count;       /* of those that wait; others read it */
} tseed_turns_t;

/* Lets a transfer wait for its turn. */
void tseed_turns_put(tseed_turns_t *turns, tseed_transfer_t *transfer);

/* Takes a transfer that waits, because its turn has come; returns it. If it goes past the first,
 * the round that is being served stays, and so does its taker's turn. Otherwise the taker's later
 * transfers would wait behind many rounds of the others when the other hosts are gone. */
tseed_transfer_t *tseed_turns_serve(tseed_turns_t *turns, tseed_transfer_t *transfer);

/* Takes the transfer of that address out of turn; NULL: it does not wait. */
tseed_transfer_t *tseed_turns_take(tseed_turns_t *turns, const tseed_transfer_t *transfer);

#endif
