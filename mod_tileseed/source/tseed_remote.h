/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The remote transfers of a lane: those that other hosts carry out.
 *
 * The fetcher's remote has these transfers and writes their results; the list here only remembers
 * them. `next_remote` links the list, because `next` is used when a transfer comes back as a
 * letter.
 *
 * Private to this room; the fetcher's thread only.
 */
#ifndef TSEED_REMOTE_H
#define TSEED_REMOTE_H

#include <stdatomic.h>

#include "source/tseed_fetcher.h"
#include "source/tseed_pace.h"

/* Who helps all lanes. The fetcher has one and changes it between two turns of its thread. */
typedef struct {
    tseed_fetch_remote_t calls; /* send is NULL: there is no remote */
    int hosts;                  /* that help just now */
} tseed_remote_hosts_t;

typedef struct {
    const tseed_remote_hosts_t *helpers; /* the fetcher's */
    tseed_transfer_t *first;
    _Atomic int count; /* others read it */
} tseed_remote_t;

/* The first transfer of a list that another host may carry out, linked by `next`. NULL: there is
 * none, the other hosts have enough in hand for the pace's window, its circuit is open, or it has a
 * rate, which one host alone can hold exactly. */
tseed_transfer_t *tseed_remote_next(const tseed_remote_t *remote, tseed_transfer_t *waiting,
                                    const tseed_pace_t *pace);

/* Hands a transfer to the fetcher's remote. */
void tseed_remote_send(tseed_remote_t *remote, tseed_transfer_t *transfer);

/* The transfer of that address if it is remote, or NULL. */
tseed_transfer_t *tseed_remote_find(const tseed_remote_t *remote, const tseed_transfer_t *transfer);

/* Forgets a transfer that has come back. */
void tseed_remote_take(tseed_remote_t *remote, const tseed_transfer_t *transfer);

/* Recalls the transfers of an owner, or of everybody (NULL). Adds those that could be recalled to
 * the list `*taken`, as cancelled. The others stay and have is_recalled set: they come back. */
void tseed_remote_withdraw(tseed_transfer_t **taken, tseed_remote_t *remote, const void *owner);

/* Takes back what the remote can be made to forget, into the list `*taken`. The others are on their
 * ways back already. */
void tseed_remote_take_back(tseed_transfer_t **taken, tseed_remote_t *remote);

/* Clears all results of a transfer, but for its body's memory. The transfer counts as cancelled
 * until it has another result. */
void tseed_transfer_reset(tseed_transfer_t *transfer);

#endif
