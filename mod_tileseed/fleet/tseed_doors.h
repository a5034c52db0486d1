/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fleet: the hosts that share a database, of which one works and the others stand by. These
 * are the doors of the room. A build without the room has this header and one host
 * (tseed_fleet.h).
 *
 *      may this process write     asked by state (the fence of a handle, which seek() sets) and by
 *                                 store (tseed_store_guard)
 *      who can help               asked by source (tseed_fetcher_remote, which work() sets)
 *      who answers for me         asked by httpd: stand_by() answers for its children, and
 *                                 tseed_fleet_can_share says who knows all tasks
 *
 * Those rooms lie below, and don't see this header: the fleet hands its answers down at start. The
 * seeder has one table of functions. Where the database is a file, or the build has no fleet, it is
 * the table of one host: the role is ours from the beginning, and nobody helps.
 *
 * Main thread of the seeder, except where a comment says otherwise.
 */
#ifndef TSEED_DOORS_H
#define TSEED_DOORS_H

#include "work/tseed_context.h"
#include "work/tseed_job.h"
#include "work/tseed_session.h"

typedef struct tseed_fleet_t tseed_fleet_t;

typedef struct {
    /* Takes the next step to the role, again and again until it is APR_SUCCESS: the role is ours,
     * and writes of the session and of stores are fenced. TSEED_ESTANDBY: this host stands by.
     * TSEED_EFENCED: the seeder must start anew. APR_EEXIST: another httpd has this host's name.
     * The session is open. */
    apr_status_t (*seek)(tseed_fleet_t *fleet);
    /* After how many milliseconds a host that stands by takes the next step. */
    int (*pause)(const tseed_fleet_t *fleet);
    /* While this host stands by, after each step: hands its children's questions for missing tiles
     * to the host that works, and carries out that host's requests. Returns whether the questions
     * are read, so that nobody else need answer. */
    int (*stand_by)(tseed_fleet_t *fleet);
    /* Whether they are read. */
    int (*reads)(const tseed_fleet_t *fleet);
    /* Ends what stand_by has begun, soon. */
    void (*stand_no_more)(tseed_fleet_t *fleet);
    /* Before anything on the board is believed: clears what is of another tenure. */
    void (*mend)(tseed_fleet_t *fleet);
    /* This host works from now on: other hosts help the context's fetcher, and their questions are
     * asked at the socket `miss_ask`. */
    void (*work)(tseed_fleet_t *fleet, int miss_ask);
    /* This host works no longer: takes no more questions. */
    void (*work_no_more)(tseed_fleet_t *fleet);
    /* Whether the lease is over: leave at once, and write nothing. */
    int (*is_over)(const tseed_fleet_t *fleet);
    /* Whether it is over, or this host is to give its role away. */
    int (*must_leave)(const tseed_fleet_t *fleet);
    /* Whether the database knows other hosts. Fails as the state does. */
    apr_status_t (*has_others)(const tseed_fleet_t *fleet, int *has_others);
    /* The request of a job that leads, as a text by which another host can carry it out, in `pool`.
     * Its transfer is prepared, and `address` is that of its source. NULL: none can. */
    const char *(*portion)(const tseed_job_t *leader, int address, apr_pool_t *pool);
    /* Shows on the board which hosts there are, and remembers from time to time. Once a tick. */
    void (*tick)(tseed_fleet_t *fleet);
    /* Ends the lease, as the last thing that is written. `is_quiet`: no worker changes a store any
     * more. Then another host need not wait for the end of the lease. A host that drains gives its
     * role away. */
    void (*end)(tseed_fleet_t *fleet, int is_quiet);
} tseed_fleet_doors_t;

/* Each fleet begins with this. */
struct tseed_fleet_t {
    const tseed_fleet_doors_t *doors;
};

#endif
