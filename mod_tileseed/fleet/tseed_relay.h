/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Misses of a host that stands by: the relay hands the questions for missing tiles to the host that
 * works, through the state database, and hands the answers to the children that wait.
 *
 *      child ──► relay ──► table miss ──► intake ──► seeder of the other host
 *
 *      miss      epoch, number, question, outcome, …   one row a question, until its answer is read
 *
 * A question is known by the epoch of the host that asks and by that host's own number. Both hosts
 * delete rows, so a row that is not there any more is no failure.
 *
 * To the seeder of the host that works the intake is one more child that asks (work/tseed_miss.h).
 * So requests of all hosts for one metatile wait for one flight, and the upstream is asked once.
 *
 * Each has a thread and a connection of its own, so that nothing else waits for the database. A
 * child that still waits when the relay ends asks the next seeder. The main thread calls all
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

/* ---- the intake ---- */

typedef struct tseed_intake_t tseed_intake_t;

/* Begins, in `pool`. `others` says how many other hosts are alive. `socket` is what a child asks
 * at, see work/tseed_miss.h; -1: nobody can. NULL: nothing has begun, because nobody can ask, or
 * because there is no thread or no descriptor to be had. */
tseed_intake_t *tseed_intake_begin(const tseed_settings_t *settings, const _Atomic int *others,
                                   int socket, apr_pool_t *pool);

/* Ends the intake soon. Questions without an answer are left for the next host. NULL: nothing. */
void tseed_intake_end(tseed_intake_t *intake);

#endif
