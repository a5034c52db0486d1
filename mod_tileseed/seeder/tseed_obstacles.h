/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Obstacles: why tasks do not fit the configuration of this host.
 *
 * A task that does not fit ends where no other host could do it. Where the database knows another
 * host the task waits, because the configurations of hosts differ for a while after each change.
 * The entry of a task that waits has its obstacle until the next seeder takes the task in.
 *
 * Main thread only. Statuses as in tseed_state.h.
 */
#ifndef TSEED_OBSTACLES_H
#define TSEED_OBSTACLES_H

#include "seeder/tseed_tasks.h"

typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    int has_other_hosts; /* the database knows some */
    int count;           /* tasks whose obstacles are not recorded yet, */
    int64_t first;       /* and the first one of them */
} tseed_obstacles_t;

/* Looks for other hosts, before tasks are taken in. */
apr_status_t tseed_obstacles_look(tseed_obstacles_t *obstacles);

/* Gives an entry its obstacle, malloc'd, if the task is to wait: what does not fit, in words. */
void tseed_obstacles_add(tseed_obstacles_t *obstacles, tseed_entry_t *entry, const char *problem);

/* Takes all obstacles of `entries` for not recorded, because the database has forgotten them. */
void tseed_obstacles_recount(tseed_obstacles_t *obstacles, const tseed_entry_t *entries);

/* Writes what was added to the board, the database and the log. `entries` are all tasks. When it
 * fails the next call does it. */
apr_status_t tseed_obstacles_record(tseed_obstacles_t *obstacles, const tseed_entry_t *entries);

#endif
