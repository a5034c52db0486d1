/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Waiter places: how many requests may wait for missing tiles, and whose.
 *
 * The configuration may limit the places of each layer and of each client. Without such a limit a
 * layer or client may have as many places as are still free: one alone gets half of all places, two
 * get a third each. So a newcomer always finds a place, whatever the others wait for. Main thread
 * only.
 */
#ifndef TSEED_WAITER_PLACES_H
#define TSEED_WAITER_PLACES_H

#include <apr_pools.h>

typedef struct tseed_waiter_places_t tseed_waiter_places_t;

#define TSEED_WAITER_PLACES_FREE 0 /* a share: as many as are left free */

/* Makes `most` places in `pool`: each layer gets `layer` of them at most, each address `client`. */
tseed_waiter_places_t *tseed_waiter_places_create(int most, int layer, int client,
                                                  apr_pool_t *pool);

/* Takes a place. An empty name is nobody's and has no share. Returns NULL, or a sentence in
 * `scratch` that says which directive refuses the place; then nothing is taken. */
const char *tseed_waiter_places_take(tseed_waiter_places_t *places, const char *layer,
                                     const char *client, apr_pool_t *scratch);

/* How many places are taken. */
int tseed_waiter_places_taken(const tseed_waiter_places_t *places);

/* Gives a place back, by the names by which it was taken. */
void tseed_waiter_places_leave(tseed_waiter_places_t *places, const char *layer,
                               const char *client);

#endif
