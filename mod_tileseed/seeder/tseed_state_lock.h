/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lock of the state directory: one seeder a state directory. An fcntl lock on a file there,
 * which dies with its holder. Main thread only. */
#ifndef TSEED_STATE_LOCK_H
#define TSEED_STATE_LOCK_H

#include <apr_file_io.h>

typedef struct {
    const char *path;
    apr_file_t *file; /* NULL: the file could not be opened yet */
} tseed_state_lock_t;

/* Names the lock of a state directory, in `pool`. The lock is not taken. */
tseed_state_lock_t tseed_state_lock_of(const char *state_dir, apr_pool_t *pool);

/* Takes the lock; the file stays open in `pool`. Fails with EAGAIN or EACCES when another process
 * holds the lock, else when the file can't be made or opened. May be called again. */
apr_status_t tseed_state_lock_take(tseed_state_lock_t *lock, apr_pool_t *pool);

/* Whether the lock was refused with `rv` because another process holds it. */
int tseed_state_lock_is_held(const tseed_state_lock_t *lock, apr_status_t rv);

/* Whether the file at the path is still the file that is locked: another file in its place would
 * let a second seeder in. `scratch` gets what the look needs. */
int tseed_state_lock_is_ours(const tseed_state_lock_t *lock, apr_pool_t *scratch);

#endif
