/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents that list what there is: the layers that a request may name (layers.json), and the
 * hosts that share a database (hosts.json), with the body that drains one. Any thread. Results live
 * in the pool that a call takes. */
#ifndef TSEED_LISTS_H
#define TSEED_LISTS_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <apr_time.h>
#include <stdint.h>

#include "layer/tseed_layer.h"

/* ---- layers ---- */

/* A layer, and what the client may do with it. */
typedef struct {
    const tseed_layer_t *layer;
    const char *tiles; /* template of its tiles' addresses; NULL: no location is known */
    int may_seed;
} tseed_layers_entry_t;

/* What the client may do with the server as a whole. */
typedef struct {
    int terminate, quota, reconcile, clean_up;
} tseed_layers_rights_t;

/* The layers (tseed_layers_entry_t) in their order, with what a seed request may choose. Pure
 * ASCII, in `pool`. Any thread. */
const char *tseed_layers_document(const apr_array_header_t *entries,
                                  const tseed_layers_rights_t *rights, apr_pool_t *pool);

/* ---- hosts ---- */

#define TSEED_HOST_NAME_MAX 63

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

/* Whether a text can be the name of a host: letters, digits, '-', '_' and '.', at most
 * TSEED_HOST_NAME_MAX of them. */
int tseed_host_name_is_good(const char *name);

/* The document of hosts.json. */
const char *tseed_host_document(const tseed_host_list_t *list, apr_pool_t *pool);

/* Reads {"state": "draining"} or "active". NULL, or the sentence of a 400. */
const char *tseed_host_body_read(int *is_draining, const char *body, size_t length,
                                 apr_pool_t *pool);

#endif
