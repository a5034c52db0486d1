/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Places: a count for each name that has any, forgotten with its last place. */
#include "seeder/tseed_waiter_places.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_memory.h"
#include "base/tseed_text.h"

/* What one layer, or one client, has; malloc'd. */
typedef struct {
    char *name;
    int count;
} share_t;

struct tseed_waiter_places_t {
    int most, taken;
    int most_of_layer, most_of_client;
    apr_hash_t *layers, *clients; /* name -> share_t */
};

static void share_free(share_t *share)
{
    free(share->name);
    free(share);
}

static void free_shares(apr_hash_t *shares)
{
    for (apr_hash_index_t *i = apr_hash_first(NULL, shares); i; i = apr_hash_next(i)) {
        share_free(apr_hash_this_val(i));
    }
}

/* Frees the shares of places that nobody has given back. */
static apr_status_t end_places(void *data)
{
    const tseed_waiter_places_t *places = data;

    free_shares(places->layers);
    free_shares(places->clients);
    return APR_SUCCESS;
}

tseed_waiter_places_t *tseed_waiter_places_create(int most, int layer, int client, apr_pool_t *pool)
{
    tseed_waiter_places_t *places = apr_pcalloc(pool, sizeof(*places));

    places->most = most;
    places->most_of_layer = layer;
    places->most_of_client = client;
    places->layers = apr_hash_make(pool);
    places->clients = apr_hash_make(pool);
    apr_pool_cleanup_register(pool, places, end_places, apr_pool_cleanup_null);
    return places;
}

static int count_of(apr_hash_t *shares, const char *name)
{
    const share_t *share = apr_hash_get(shares, name, APR_HASH_KEY_STRING);

    return share ? share->count : 0;
}

/* Whether somebody who has `count` places may have another one. */
static int may_take(const tseed_waiter_places_t *places, int count, int most)
{
    return count < (most == TSEED_WAITER_PLACES_FREE ? places->most - places->taken : most);
}

int tseed_waiter_places_taken(const tseed_waiter_places_t *places)
{
    return places->taken;
}

static const char *refusal(const tseed_waiter_places_t *places, const char *layer,
                           const char *client, apr_pool_t *scratch)
{
    const int of_layer = count_of(places->layers, layer);
    const int of_client = count_of(places->clients, client);
    char name[64];

    if (places->taken >= places->most) {
        return apr_psprintf(scratch, "%d %s for tiles, TileSeedMissWaiters allows no more",
                            places->taken, places->taken == 1 ? "request waits" : "requests wait");
    }
    if (!may_take(places, of_layer, places->most_of_layer)) {
        return apr_psprintf(scratch,
                            "%d %s for tiles of layer '%s', TileSeedMissWaiters (layer=) "
                            "allows no more",
                            of_layer, of_layer == 1 ? "request waits" : "requests wait",
                            tseed_text_fit(name, sizeof(name), layer));
    }
    if (!may_take(places, of_client, places->most_of_client)) {
        return apr_psprintf(
            scratch, "%d %s for tiles, TileSeedMissWaiters (client=) allows no more", of_client,
            of_client == 1 ? "request of this client waits" : "requests of this client wait");
    }
    return NULL;
}

static void add(apr_hash_t *shares, const char *name)
{
    share_t *share = apr_hash_get(shares, name, APR_HASH_KEY_STRING);

    if (*name && !share) {
        share = tseed_memory_get(sizeof(*share));
        share->name = tseed_memory_copy(name);
        apr_hash_set(shares, share->name, APR_HASH_KEY_STRING, share);
    }
    if (share) {
        share->count++;
    }
}

static void subtract(apr_hash_t *shares, const char *name)
{
    share_t *share = apr_hash_get(shares, name, APR_HASH_KEY_STRING);

    if (share && --share->count == 0) {
        apr_hash_set(shares, share->name, APR_HASH_KEY_STRING, NULL);
        share_free(share);
    }
}

const char *tseed_waiter_places_take(tseed_waiter_places_t *places, const char *layer,
                                     const char *client, apr_pool_t *scratch)
{
    const char *problem = refusal(places, layer, client, scratch);

    if (!problem) {
        places->taken++;
        add(places->layers, layer);
        add(places->clients, client);
    }
    return problem;
}

void tseed_waiter_places_leave(tseed_waiter_places_t *places, const char *layer, const char *client)
{
    places->taken--;
    subtract(places->layers, layer);
    subtract(places->clients, client);
}
