/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The hosts that share a database, as clients see them: the document of hosts.json, and the body
 * that drains a host. Any thread. Results live in the pool that a call takes. */
#ifndef TSEED_HOST_DOCUMENT_H
#define TSEED_HOST_DOCUMENT_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <apr_time.h>
#include <stdint.h>

/* A host. The times are the database's. */
typedef struct {
    const char *name, *machine, *version;
    int is_draining, is_dead;
    int is_fetching;  /* it has requests of the host that works in hand */
    apr_time_t until; /* the end of its lease; 0: it has none and needs none */
    apr_time_t started, seen;
} tseed_host_row_t;

typedef struct {
    apr_array_header_t *hosts; /* of tseed_host_row_t */
    const char *active;        /* who has the role of the seeder; "": nobody */
    const char *self;          /* who answers */
    apr_time_t now;            /* by the clock of the database */
} tseed_host_list_t;

/* The document of hosts.json. */
const char *tseed_host_document(const tseed_host_list_t *list, apr_pool_t *pool);

/* Reads {"state": "draining"} or "active". NULL, or the sentence of a 400. */
const char *tseed_host_body_read(int *is_draining, const char *body, size_t length,
                                 apr_pool_t *pool);

#endif
