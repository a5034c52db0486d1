/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Places: how many requests may wait for missing tiles, and whose.
 *
 * A layer, or a client, may have a number of places of its own. Without one it gets no more than
 * are left free: one alone gets half of them, two a third each. So there is always a place for
 * somebody who has none, whatever the others wait for.
 */
#ifndef TSEED_PLACES_H
#define TSEED_PLACES_H

#include <apr_pools.h>

typedef struct tseed_places_t tseed_places_t;

#define TSEED_PLACES_FREE 0 /* as many as are left free */

/* `most` places; of them `layer` at most for each layer, `client` for each address. In `pool`. */
tseed_places_t *tseed_places_create(int most, int layer, int client, apr_pool_t *pool);

/* Takes a place. An empty name is nobody's and has no share. NULL, or a sentence in `scratch` that
 * says which directive refuses it; then nothing is taken. */
const char *tseed_places_take(tseed_places_t *places, const char *layer, const char *client,
                              apr_pool_t *scratch);

/* Gives one back, by the names by which it was taken. */
void tseed_places_leave(tseed_places_t *places, const char *layer, const char *client);

#endif
