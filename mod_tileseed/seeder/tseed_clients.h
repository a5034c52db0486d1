/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Clients: who has work done by the seeder.
 *
 * The loop, the stages and the dispatch know a client by this record alone. A job carries the
 * record of its client. One table (tseed_clients.c) lists all clients: a new client is one line
 * there. Only the main thread calls any of this.
 */
#ifndef TSEED_CLIENTS_H
#define TSEED_CLIENTS_H

#include "seeder/tseed_job.h"

typedef struct tseed_client_t {
    /* each may be NULL */
    void (*feed)(struct tseed_seeder_t *seeder);                   /* begins what may begin now */
    void (*take)(struct tseed_seeder_t *seeder, tseed_job_t *job); /* a stage of its job is over */
    void (*tick)(struct tseed_seeder_t *seeder, apr_time_t now);   /* once a second */
    apr_time_t (*due)(const struct tseed_seeder_t *seeder); /* monotonic: when to feed it at the
                                                             * latest; INT64_MAX: no matter when */
} tseed_client_t;

/* All clients in turn. */
void tseed_clients_feed(struct tseed_seeder_t *seeder);
void tseed_clients_tick(struct tseed_seeder_t *seeder, apr_time_t now);
/* When the first of them is due. */
apr_time_t tseed_clients_due(const struct tseed_seeder_t *seeder);

#endif
