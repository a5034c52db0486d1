/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lease: whether this host is the one that works. Of several hosts with one database one works,
 * and the others stand by.
 *
 *      begin      register ──► standing by: renew each second, look more often whether the role is
 *                 free, and when the lease of the host that works has ended (tseed_silence.h)
 *      work       a thread renews each second, over a connection of its own, and looks more often
 *                 whether this host drains; another one ends the process when the deadline has
 *                 passed
 *      end        resign, leave, or nothing: another host takes the role when the lease is over
 *
 * A renewal that is committed puts the deadline of the process off (base/tseed_deadline.h): to the
 * moment before it was sent, plus the lease, less the margin. The database counts the lease from a
 * later moment, and another host waits for the margin beyond its end. So the hosts need no clocks
 * that agree, and between the last change of this host and the first one of the next lie two
 * margins at least.
 *
 * A seeder whose lease is over ends at once and writes nothing more. Where the database is a file
 * there is no lease: the role is ours from the beginning, and nothing ever ends it.
 *
 * Main thread, except the threads of the lease itself.
 */
#ifndef TSEED_LEASE_H
#define TSEED_LEASE_H

#include <errno.h>

#include "work/tseed_context.h"
#include "work/tseed_session.h"

typedef struct tseed_lease_t tseed_lease_t;

/* Makes the lease, in the context's pool. */
tseed_lease_t *tseed_lease_create(const tseed_context_t *context, tseed_session_t *session);

/* The host stands by: another one works, or this one drains. */
#define TSEED_ESTANDBY EINPROGRESS

/* Takes the next step to the role, again and again until it is APR_SUCCESS: the role is ours, and
 * writes of the session are fenced. TSEED_ESTANDBY: this host stands by. TSEED_EFENCED: the seeder
 * must start anew. APR_EEXIST: another httpd has this host's name. The session is open. */
apr_status_t tseed_lease_seek(tseed_lease_t *lease);

/* After how many milliseconds a host that stands by takes the next step. */
int tseed_lease_pause(const tseed_lease_t *lease);

/* Before anything on the board is believed: clears what is of another tenure. */
void tseed_lease_mend(tseed_lease_t *lease);

/* Whether the lease is over: leave at once, and write nothing. */
int tseed_lease_is_over(const tseed_lease_t *lease);

/* Whether this host is to give its role away. */
int tseed_lease_is_draining(const tseed_lease_t *lease);

/* Whether any host had the role at the last look. */
int tseed_lease_has_leader(const tseed_lease_t *lease);

/* The epoch of this host's registration; 0: it has none. How many other hosts are alive; any
 * thread. */
int64_t tseed_lease_epoch(const tseed_lease_t *lease);
int tseed_lease_others(const tseed_lease_t *lease);

/* Shows on the board which hosts there are, and remembers from time to time. Once a tick. */
void tseed_lease_tick(tseed_lease_t *lease);

/* Ends the lease, as the last thing that is written. `is_quiet`: no worker changes a store any
 * more. Then another host need not wait for the end of the lease. A host that drains gives its role
 * away. */
void tseed_lease_end(tseed_lease_t *lease, int is_quiet);

#endif
