/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Transfers that are on no wire: they wait for their turns, or other hosts carry them out.
 *
 * The fetcher's remote has those of other hosts and writes their results; the list here only
 * remembers them. `next_remote` links the list, because `next` is used when a transfer comes back
 * as a letter.
 *
 * Private to this room; the fetcher's thread only. */
#ifndef TSEED_TURNS_H
#define TSEED_TURNS_H

#include <stdatomic.h>

#include "source/tseed_fetcher.h"
#include "source/tseed_pace.h"

/* Clears all results of a transfer, but for its body's memory. The transfer counts as cancelled
 * until it has another result. Whoever has the transfer. */
void tseed_transfer_reset(tseed_transfer_t *transfer);

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

/* Who helps all lanes. */
typedef struct {
    tseed_fetch_remote_t calls; /* send is NULL: there is no remote */
    int hosts;                  /* that help just now */
} tseed_remote_hosts_t;

typedef struct {
    const tseed_remote_hosts_t *helpers; /* of all lanes */
    tseed_transfer_t *first;
    _Atomic int count; /* others read it */
} tseed_remote_t;

/* The first transfer of a list that another host may carry out, linked by `next`. NULL: there is
 * none, the other hosts have enough in hand for the pace's window, its circuit is open, or it has a
 * rate, which one host alone can hold exactly. */
tseed_transfer_t *tseed_remote_next(const tseed_remote_t *remote, tseed_transfer_t *waiting,
                                    const tseed_pace_t *pace);

/* Hands a transfer to the fetcher's remote. The list has the transfer first: the remote may return
 * it at once. */
void tseed_remote_send(tseed_remote_t *remote, tseed_transfer_t *transfer);

/* The transfer of that address if it is remote, or NULL. */
tseed_transfer_t *tseed_remote_find(const tseed_remote_t *remote, const tseed_transfer_t *transfer);

/* Forgets a transfer that has come back. */
void tseed_remote_take(tseed_remote_t *remote, const tseed_transfer_t *transfer);

/* Recalls the transfers of an owner, or of everybody (NULL), that are not recalled already, into
 * the list `*taken`. Those that are on their way back stay. If that is for good, they are dropped
 * when they come, and those that could be recalled are cancelled: the remote may have written a
 * part of the results before. */
void tseed_remote_recall(tseed_transfer_t **taken, tseed_remote_t *remote, const void *owner,
                         int is_for_good);

#endif
