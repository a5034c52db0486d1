/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A child's way to the state database: one connection a process, opened at the first need, used by
 * one thread at a time. */
#ifndef MOD_TILESEED_CHILD_H
#define MOD_TILESEED_CHILD_H

#include <httpd.h>

#include "protocol/tseed_settings.h"
#include "state/tseed_state.h"

/* Makes the mutex; nothing is opened. child_init hook. */
void tseed_child_init(const tseed_settings_t *settings, server_rec *server);

/* Takes the connection, and waits for it for at most two seconds. NULL: another thread has it, or
 * it can't be opened; rv says which. Request thread; release the connection in any case. */
tseed_state_t *tseed_child_acquire(apr_status_t *rv);

/* Gives it back (NULL: nothing) and says in words what failed last with it. In `pool`. */
const char *tseed_child_release(tseed_state_t *state, apr_pool_t *pool);

#endif
