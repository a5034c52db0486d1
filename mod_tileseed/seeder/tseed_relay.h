/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The relay: on a host that stands by it hands the questions for missing tiles to the host that
 * works, through the state database, and hands the answers to the children that wait.
 *
 *      child ──► relay ──► table miss ──► intake (tseed_intake.h) ──► seeder of the other host
 *
 * The relay has a thread and a connection of its own, so that nothing else waits for the database.
 * A child that still waits when the relay ends asks the next seeder. The main thread calls all
 * functions.
 */
#ifndef TSEED_RELAY_H
#define TSEED_RELAY_H

#include <apr_pools.h>

#include "protocol/tseed_settings.h"

typedef struct tseed_relay_t tseed_relay_t;

/* Makes the relay, in `pool`. `socket` is where children ask, see tseed_miss.h; -1: they don't. */
tseed_relay_t *tseed_relay_create(const tseed_settings_t *settings, int socket, apr_pool_t *pool);

/* Begins to read from the socket, unless that has begun, or there is no thread or no descriptor to
 * be had. `epoch` is the host's. */
void tseed_relay_begin(tseed_relay_t *relay, int64_t epoch);

/* Says whether a host works. Where none has worked for a while nobody need wait. Once a second. */
void tseed_relay_note(tseed_relay_t *relay, int has_leader);

/* Whether the relay reads from the socket, so that nobody else need do that. */
int tseed_relay_reads(const tseed_relay_t *relay);

/* Ends the relay soon. It may read a question more, which is asked again. */
void tseed_relay_end(tseed_relay_t *relay);

#endif
