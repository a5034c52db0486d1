/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The intake: on the host that works it takes the questions for missing tiles that relays of other
 * hosts have written into the state database, and writes the answers there (tseed_relay.h).
 *
 * To this host's seeder the intake is one more child that asks (tseed_miss.h). So requests of all
 * hosts for one metatile wait for one flight, and the upstream is asked once. The intake has a
 * thread and a connection of its own. The main thread calls all functions.
 */
#ifndef TSEED_INTAKE_H
#define TSEED_INTAKE_H

#include <apr_pools.h>

#include "seeder/tseed_lease.h"

typedef struct tseed_intake_t tseed_intake_t;

/* Begins, in `pool`, if the database can be shared. `socket` is what a child asks at, see
 * tseed_miss.h; -1: nobody can. NULL: nothing has begun, because there is nothing to be done, or
 * because there is no thread or no descriptor to be had. */
tseed_intake_t *tseed_intake_begin(const tseed_settings_t *settings, const tseed_lease_t *lease,
                                   int socket, apr_pool_t *pool);

/* Ends the intake soon. Questions without an answer are left for the next host. NULL: nothing. */
void tseed_intake_end(tseed_intake_t *intake);

#endif
