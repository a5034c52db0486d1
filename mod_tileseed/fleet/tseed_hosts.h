/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The hosts that share a database, and the role of the seeder, which one of them has.
 *
 *      host   name, instance, epoch, renewals, until, state, …     one row a host
 *      role   name, host, epoch, tenure, former                    one row: the seeder's
 *      meta   epoch                                                the last one that was given out
 *
 * A host registers, gets an epoch, and renews its row each second: the lease. `until` is the end of
 * the lease by the clock of the database, and no other clock is compared with it. A host that has
 * the role puts a fence round its writes: each transaction locks the host's row and looks whether
 * its epoch still stands there and in the role. Who takes the role from a host that was silent
 * turns the sign of that host's epoch in the same transaction. So a host that was taken for dead
 * changes nothing any more, however late it comes.
 *
 * A tenure is a time during which one host has the role without a break. It is numbered by the
 * epoch at which the host took the role, and lasts over restarts of the host's seeder.
 *
 * Each write locks the row of the role before it locks a row of a host. A database in a file has
 * one host: there the tables are empty, and nobody calls these functions.
 *
 * Statuses as in tseed_state.h. Results live in the pool that a call takes.
 */
#ifndef TSEED_HOSTS_H
#define TSEED_HOSTS_H

#include "fleet/tseed_host_document.h"
#include "fleet/tseed_fleet_rows.h"

/* The role of the seeder. */
typedef struct {
    const char *host; /* "": nobody has it */
    int64_t epoch, tenure, former;
} tseed_role_t;

/* A fence: what a host writes only while its registration has the role . The thread
 * that renews the registration and a thread that writes share it. */
typedef struct {
    const char *host;
    int64_t epoch;            /* of the registration */
    _Atomic int64_t renewals; /* at least so many has the row of the host */
    _Atomic int is_broken;    /* a write or a renewal found the registration void */
} tseed_fence_t;

/* From now on whatever this handle writes is written only inside the fence, which outlives the
 * handle. Else the write fails with TSEED_EFENCED, and the fence is broken. */
void tseed_hosts_fence(tseed_state_t *state, tseed_fence_t *fence);

/* What a host remembers of the database, all 0 at first. A database that knows less than that was
 * restored from a backup. */
typedef struct {
    int64_t epoch, renewals; /* of the host's row */
    int64_t id;              /* the newest task */
} tseed_host_memory_t;

/* A host that registers. */
typedef struct {
    const char *name;     /* tells hosts apart, 1 to TSEED_HOST_NAME_MAX characters */
    const char *instance; /* tells httpds apart that have the same name */
    const char *machine, *version;
    apr_interval_time_t lease;  /* how long the lease lasts from each renewal on, */
    apr_interval_time_t margin; /* and how long after its end nobody takes the role */
    tseed_host_memory_t memory;
} tseed_host_t;

/* What a registration has come to. */
typedef struct {
    int64_t epoch, renewals;
    int has_role;           /* this host has the role */
    int has_ousted;         /* it has taken the role from a host that was silent */
    int64_t tenure, former; /* of the role, and the one before; 0: there was none */
    int is_restored;        /* the database is older than what the host remembers. All that it says
                             * of the stores was put in doubt, and ids go on above those that the
                             * host remembers */
} tseed_registration_t;

/* Registers a host anew. Call it only while no other process of this host can have a registration:
 * under the lock of the state directory. A registration that failed is handed in again as it was:
 * it may have been committed. APR_EEXIST: another httpd with this name is alive, be it one with a
 * copy of this host's state directory. */
apr_status_t tseed_hosts_register(tseed_state_t *state, tseed_registration_t *registration,
                                  const tseed_host_t *host);

/* What a renewal has seen. */
typedef struct {
    int64_t renewals;
    int64_t newest;                       /* id of a task */
    int is_draining;                      /* this host is to give its role away, and to take none */
    int others;                           /* hosts beside this one, but for those that are
                                           * dead for a day: a host whose lease is over takes
                                           * requests as soon as it sees the database again */
    char active[TSEED_HOST_NAME_MAX + 1]; /* who has the role; "": nobody */
    int64_t until;                        /* the end of that host's lease, the database's clock */
    apr_interval_time_t ended;            /* since then; less than 0: it goes on */
} tseed_renewal_t;

/* Renews the lease. TSEED_EFENCED: the registration is void. */
apr_status_t tseed_hosts_renew(tseed_state_t *state, tseed_renewal_t *renewal,
                               const tseed_host_t *host, const tseed_fence_t *fence);

/* What a host may have to act upon before it renews its lease again. */
typedef struct {
    int is_free;     /* nobody has the role */
    int is_draining; /* this host is to give its role away, and to take none */
} tseed_glance_t;

/* Looks, and changes nothing. APR_NOTFOUND: the host is not registered. */
apr_status_t tseed_hosts_glance(tseed_state_t *state, tseed_glance_t *glance, const char *name);

typedef enum {
    TSEED_TAKE_NO,    /* another host works, or this one drains */
    TSEED_TAKE_DONE,  /* this host has the role now */
    TSEED_TAKE_LATER, /* it could have it, but the database was started lately */
} tseed_take_t;

/* Takes the role if nobody has it, or if the host that has it was silent until the end of its lease
 * and for the margin. A host that drains takes none. TSEED_TAKE_DONE: `registration` says so too;
 * else it is left alone. A call that failed may have taken the role all the same: the answer to its
 * commit was lost. For a lease and the margin after a start of the database no role is taken from a
 * host, because no host could renew its lease before. TSEED_EFENCED as above. */
apr_status_t tseed_hosts_take(tseed_state_t *state, tseed_take_t *taken,
                              tseed_registration_t *registration, const tseed_host_t *host);

/* Gives the role away: anybody may take it at once. No thread of this process may change a store
 * any more. */
apr_status_t tseed_hosts_resign(tseed_state_t *state, const tseed_fence_t *fence);

/* Ends the lease, and keeps the role if the host has it: another host may take the role after the
 * margin. Likewise. */
apr_status_t tseed_hosts_leave(tseed_state_t *state, const tseed_fence_t *fence);

/* All hosts by name. Any process. */
apr_status_t tseed_hosts_list(tseed_state_t *state, tseed_host_list_t *list, apr_pool_t *pool);

/* A host that stands by. */
typedef struct {
    int64_t epoch;
    const char *name;
} tseed_standby_t;

/* The hosts (tseed_standby_t) that stand by, are alive and don't drain; `name` is that of the
 * host that asks. */
apr_status_t tseed_hosts_standby(tseed_state_t *state, apr_array_header_t **hosts, const char *name,
                                 apr_pool_t *pool);

/* Says that a host is to give its roles away and to take none, or no longer. APR_NOTFOUND. Any
 * process. */
apr_status_t tseed_hosts_drain(tseed_state_t *state, const char *name, int is_draining);

/* Forgets hosts without a role that were not seen for so long, and questions for missing tiles of
 * hosts that are not alive. */
apr_status_t tseed_hosts_forget(tseed_state_t *state, apr_interval_time_t age);

#endif
