/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lease: whether this host is the one that works. Of several hosts with one database one works,
 * and the others stand by.
 *
 *      begin      register ──► standing by: renew each second, look more often whether the role is
 *                 free, and when the lease of the host that works has ended (tseed_deadline.h)
 *      work       a thread renews each second, over a connection of its own, and looks more often
 *                 whether this host drains; another one ends the process when the deadline has
 *                 passed
 *      end        resign, leave, or nothing: another host takes the role when the lease is over
 *
 * A renewal that is committed puts the deadline of the process off (tseed_deadline.h): to the
 * moment before it was sent, plus the lease, less the margin. The database counts the lease from a
 * later moment, and another host waits for the margin beyond its end. So the hosts need no clocks
 * that agree, and between the last change of this host and the first one of the next lie two
 * margins at least.
 *
 * A seeder whose lease is over ends at once and writes nothing more.
 *
 * Main thread, except the threads of the lease itself.
 */
#ifndef TSEED_LEASE_H
#define TSEED_LEASE_H

#include "fleet/tseed_doors.h"

/* Makes the fleet of several hosts, see tseed_fleet_create. */
tseed_fleet_t *tseed_lease_create(const tseed_context_t *context, tseed_session_t *session,
                                  int miss_socket);

#endif
