/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Job clients: modules that have work done by the seeder. HTTP clients are something else.
 *
 * The loop and the jobs know a client by this record alone. A module embeds its
 * record; who makes the modules enters their records. A job points to the record of its client.
 * Clients are fed in the order in which they were entered. Main thread only.
 */
#ifndef TSEED_CLIENTS_H
#define TSEED_CLIENTS_H

#include <apr_time.h>

struct tseed_job_t;

typedef struct tseed_client_t {
    void *module;               /* handed to each of these; each may be NULL */
    void (*feed)(void *module); /* begins what may begin now */
    void (*take)(void *module, struct tseed_job_t *job); /* a stage of its job is over */
    void (*tick)(void *module, apr_time_t now);          /* once a second; now: monotonic */
    apr_time_t (*due)(const void *module); /* monotonic: when to feed it at the latest; INT64_MAX:
                                            * no matter when */
    struct tseed_client_t *next;
} tseed_client_t;

/* Zeroed is empty. */
typedef struct {
    tseed_client_t *first, *last;
} tseed_clients_t;

/* Enters a client behind all others. The record stays the module's and must outlive the clients. */
void tseed_clients_enter(tseed_clients_t *clients, tseed_client_t *client);

/* All clients in turn. */
void tseed_clients_feed(const tseed_clients_t *clients);
void tseed_clients_tick(const tseed_clients_t *clients, apr_time_t now);
/* When the first of them is due, monotonic; INT64_MAX: none is. */
apr_time_t tseed_clients_due(const tseed_clients_t *clients);

#endif
