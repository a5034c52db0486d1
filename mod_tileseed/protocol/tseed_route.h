/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Addresses below /rest: from address and method to an action, and the queries behind the addresses
 * that GeoWebCache does not have. Pure functions, any thread; results are in `pool`.
 *
 * tseed_query_refusal judges the keys of a query; the readers take those they know. A client asks
 * for the next page of a list by the last item of the page before. So the list repeats and omits
 * nothing when tasks and failures are added meanwhile. */
#ifndef TSEED_ROUTE_H
#define TSEED_ROUTE_H

#include <apr_pools.h>

#include "protocol/tseed_document.h"
#include "protocol/tseed_task.h"

/* The actions, one handler each. NONE: 404 or 405. */
typedef enum {
    TSEED_ACTION_NONE,
    TSEED_ACTION_PAGE,      /* GET the base itself, page/<file> */
    TSEED_ACTION_SEED,      /* POST seed/<layer>.xml|json */
    TSEED_ACTION_LIST,      /* GET seed/<layer>.xml|json, seed.json */
    TSEED_ACTION_KILL,      /* POST seed, seed/<layer>; a body that begins with { or < is a seed
                             * request for that layer, which is the handler's to see */
    TSEED_ACTION_QUOTA_GET, /* GET diskquota.xml|json, diskquota */
    TSEED_ACTION_QUOTA_PUT,
    TSEED_ACTION_USAGE,     /* GET diskquota/usage.json */
    TSEED_ACTION_FORGET,    /* DELETE diskquota/usage/<id>.json */
    TSEED_ACTION_RECONCILE, /* POST diskquota/reconcile */
    TSEED_ACTION_CLEANUP,   /* POST diskquota/cleanup */
    TSEED_ACTION_ESTIMATE,  /* GET, POST estimate/<layer>.xml|json */
    TSEED_ACTION_LAYERS,    /* GET layers.json */
    TSEED_ACTION_DROP,      /* DELETE layers/<layer>/tilesets */
    TSEED_ACTION_OVERVIEW,  /* GET overview.json */
    TSEED_ACTION_UPSTREAMS, /* GET upstreams.json */
    TSEED_ACTION_ASK_AGAIN, /* POST upstreams/again/<layer> */
    TSEED_ACTION_METRICS,   /* GET metrics */
    TSEED_ACTION_COVERAGE,  /* GET coverage/<id>/<z>.json */
    TSEED_ACTION_TASKS,     /* GET tasks.json */
    TSEED_ACTION_TASK_GET,  /* GET tasks/<id>.json */
    TSEED_ACTION_TASK_DELETE,
    TSEED_ACTION_FAILURES, /* GET tasks/<id>/failures.json */
    TSEED_ACTION_RETRY,    /* POST tasks/<id>/retry */
    TSEED_ACTION_HOSTS,    /* GET hosts.json */
    TSEED_ACTION_DRAIN     /* PUT hosts/<name> */
} tseed_action_t;

typedef enum {
    TSEED_METHOD_GET = 1, /* and HEAD */
    TSEED_METHOD_POST = 2,
    TSEED_METHOD_PUT = 4,
    TSEED_METHOD_DELETE = 8,
    TSEED_METHOD_OTHER = 16
} tseed_method_t;

typedef struct {
    tseed_action_t action;         /* NONE with allowed != 0: 405, with allowed == 0: 404 */
    unsigned allowed;              /* mask of the address's methods */
    const char *layer;             /* decoded, not empty; NULL: the address names none */
    tseed_format_of_body_t format; /* of an address that ends in .xml or .json, either allowed */
    int is_open;                   /* either is allowed, and the address does not say which */
    int64_t number;                /* of a task or tile set that the address names */
    int level;                     /* likewise */
    const char *file;              /* of the page; NULL: the address names none */
    const char *host;              /* NULL: the address names none */
} tseed_route_t;

/* `path` is the part of the address behind the base: it is empty or begins with "/", is unescaped
 * but for %2F, and has no query. Results are in `pool`. The layer is one segment of any bytes:
 * nobody checks here that such a layer exists. */
tseed_route_t tseed_route(const char *path, tseed_method_t method, apr_pool_t *pool);

/* ---- queries ---- */

/* The bit of a state in a mask of all four. */
#define TSEED_STATE_BIT(state) (1U << ((state)-TSEED_ABORTED))

/* ?state=running,done&layer=…&limit=…&before=<id> */
typedef struct {
    unsigned states;   /* mask of TSEED_STATE_BIT; all when none is named */
    const char *layer; /* NULL: all */
    int64_t before;    /* only ids below this one */
    int64_t limit;     /* 100 unless told; at most 1000 */
} tseed_task_query_t;

/* ?limit=…&after=<z>/<x>/<y> */
typedef struct {
    int64_t limit; /* 1000 unless told; at most 10000 */
    int z;         /* only metatiles behind this one; -1 at first */
    int64_t x, y;
} tseed_failure_query_t;

/* Judges the keys of what follows the question mark (NULL: nothing) at an address that reads
 * `known`, which ends with NULL. A list that ignored `limt` would have more than was asked for. So
 * every unknown key that has a value is refused, but for `_`, which programs add against caches.
 * NULL or a sentence (always 400). In `pool`. Any thread. */
const char *tseed_query_refusal(const char *text, const char *const *known, apr_pool_t *pool);

/* Whether a body says nothing: it is empty, or {}. Any thread. */
int tseed_body_is_empty(const char *body, apr_size_t length);

/* Reads what follows the question mark (NULL: nothing). NULL or a sentence (always 400). In
 * `pool`. Any thread. */
const char *tseed_task_query_read(tseed_task_query_t *query, const char *text, apr_pool_t *pool);
const char *tseed_failure_query_read(tseed_failure_query_t *query, const char *text,
                                     apr_pool_t *pool);

#endif
