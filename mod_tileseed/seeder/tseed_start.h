/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The start of a seeder: what it gets before it works, however long that takes.
 *
 *      the role    lock of the state directory, state database, lease of the fleet
 *      the books   tile sets, the board that the last seeder left, unfinished tasks
 *
 * Each is tried again and again. What stands in the way is shown on the board and logged once.
 * Requests for missing tiles are sent away meanwhile. A host that stands by stays at the first
 * step. Main thread.
 */
#ifndef TSEED_START_H
#define TSEED_START_H

#include <apr_file_io.h>

#include "seeder/tseed_parts.h"

typedef struct {
    const char *path;
    apr_file_t *file; /* NULL: the file could not be opened yet */
} tseed_state_lock_t;

/* Names the lock of a state directory, in `pool`. The lock is not taken. */
tseed_state_lock_t tseed_state_lock_of(const char *state_dir, apr_pool_t *pool);

/* Whether the file at the path is still the file that is locked: another file in its place would
 * let a second seeder in. `scratch` gets what the look needs. */
int tseed_state_lock_is_ours(const tseed_state_lock_t *lock, apr_pool_t *scratch);

typedef struct {
    const tseed_seeder_setup_t *setup;
    tseed_parts_t *parts;
    tseed_state_lock_t *lock; /* to be taken */
    int is_locked_out;        /* another process holds it */
    int has_lock;             /* this one does */
} tseed_start_t;

/* Whether the process that started this one is gone. */
int tseed_start_is_orphan(const tseed_seeder_setup_t *setup);

/* Starts. Returns 0: to work; else the seeder is to leave with *exit_code. */
int tseed_start(tseed_start_t *start, tseed_exit_t *exit_code);

#endif
