/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Flights: which requests wait for which metatile, and the places of those who wait. */
#include "seeder/tseed_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <apr_hash.h>
#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"

/* Places: a count for each name that has any, forgotten with its last place. */

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

tseed_flight_t *tseed_flight_get(tseed_run_t *run, int64_t position)
{
    tseed_flight_t *flight = run->flights;

    while (flight && flight->position != position) {
        flight = flight->next;
    }
    if (!flight) {
        flight = tseed_memory_get(sizeof(*flight));
        flight->run = run;
        flight->position = position;
        flight->metatile = tseed_positions_at(&run->positions, position);
        flight->next = run->flights;
        run->flights = flight;
    }
    return flight;
}

tseed_flight_t *tseed_flight_of(const tseed_job_t *job)
{
    tseed_flight_t *flight = job->run->flights;

    while (flight->job != job) {
        flight = flight->next;
    }
    return flight;
}

const tseed_flight_t *tseed_flight_failed(const tseed_run_t *run, int64_t position, apr_time_t now)
{
    const tseed_flight_t *flight = run->failed;

    while (flight && (flight->position != position || now >= flight->until)) {
        flight = flight->next;
    }
    return flight;
}

/* ---- waiters ---- */

void tseed_flight_join(const tseed_waiters_t *shared, tseed_flight_t *flight,
                       const tseed_question_t *question, int end)
{
    tseed_waiter_t *waiter = tseed_memory_get(sizeof(*waiter));
    struct epoll_event gone = {.events = EPOLLRDHUP, .data.ptr = waiter};

    waiter->end = end;
    waiter->tile = question->tile;
    waiter->client = tseed_memory_copy(question->client);
    waiter->until = tseed_clock_monotonic() + apr_time_from_sec(TSEED_MISS_SECONDS);
    waiter->flight = flight;
    waiter->next = flight->waiters;
    flight->waiters = waiter;
    if (epoll_ctl(shared->hangups, EPOLL_CTL_ADD, end, &gone) != 0) {
        tseed_log(
            TSEED_LOG_WARNING, APR_FROM_OS_ERROR(errno),
            "TS0052: a request for a missing tile can't be watched: it keeps its place when its "
            "client goes");
    }
}

/* Takes a waiter out of the epoll before its end is closed. The close alone does not do that: the
 * child that asked, or a process forked of that child, may still have a copy of the end. */
static void unwatch(const tseed_waiters_t *shared, const tseed_waiter_t *waiter)
{
    epoll_ctl(shared->hangups, EPOLL_CTL_DEL, waiter->end, NULL);
}

/* Forgets a waiter whose end is closed. */
static void forget_waiter(const tseed_waiters_t *shared, tseed_waiter_t *waiter)
{
    tseed_waiter_places_leave(shared->places, waiter->flight->run->task->layer, waiter->client);
    free(waiter->client);
    free(waiter);
}

static void answer(const tseed_waiters_t *shared, tseed_waiter_t *waiter,
                   const tseed_reply_t *reply, int tile)
{
    unwatch(shared, waiter);
    tseed_miss_answer(waiter->end, reply, tile);
    forget_waiter(shared, waiter);
}

void tseed_flight_leave(const tseed_waiters_t *shared, tseed_waiter_t *waiter)
{
    tseed_waiter_t **link = &waiter->flight->waiters;

    while (*link != waiter) {
        link = &(*link)->next;
    }
    *link = waiter->next;
    unwatch(shared, waiter);
    close(waiter->end);
    forget_waiter(shared, waiter);
}

void tseed_flight_drop_late(const tseed_waiters_t *shared, tseed_flight_t *flight,
                            const tseed_reply_t *late, apr_time_t now)
{
    tseed_waiter_t **link = &flight->waiters, *waiter;

    while ((waiter = *link) != NULL) {
        if (now >= waiter->until) {
            *link = waiter->next;
            answer(shared, waiter, late, -1);
        } else {
            link = &waiter->next;
        }
    }
}

/* Finds a tile among those that a worker encodes for waiters even if it can't store them; -1:
 * nobody had asked for the tile when the work began. */
static int find_unstored(const tseed_job_t *job, const tseed_tile_t *tile)
{
    const tseed_unstored_t *unstored = job->request.unstored;

    for (int i = 0; unstored && i < unstored->count; i++) {
        if (unstored->tiles[i].x == tile->x && unstored->tiles[i].y == tile->y) {
            return i;
        }
    }
    return -1;
}

void tseed_flight_tell(const tseed_waiters_t *shared, tseed_flight_t *flight,
                       const tseed_reply_t *reply)
{
    const tseed_unstored_t *unstored = flight->job->request.unstored;
    tseed_waiter_t **link = &flight->waiters, *waiter;

    while ((waiter = *link) != NULL) {
        int at = find_unstored(flight->job, &waiter->tile);
        int tile = at >= 0 ? unstored->files[at] : -1;
        tseed_reply_t own = *reply;

        if (reply->outcome == TSEED_MISS_BUSY && unstored && at < 0) {
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        if (tile >= 0) {
            own.outcome = TSEED_MISS_PASSED;
        }
        answer(shared, waiter, &own, tile);
    }
}

void tseed_flight_tell_made(const tseed_waiters_t *shared, tseed_flight_t *flight,
                            const tseed_reply_t *reply)
{
    tseed_waiter_t **link = &flight->waiters, *waiter;

    while ((waiter = *link) != NULL) {
        if (tseed_job_lacks(flight->job, &waiter->tile)) {
            link = &waiter->next;
        } else {
            *link = waiter->next;
            answer(shared, waiter, reply, -1);
        }
    }
}

/* ---- ends ---- */

static void unlink_flight(tseed_flight_t *flight)
{
    tseed_flight_t **link = &flight->run->flights;

    while (*link != flight) {
        link = &(*link)->next;
    }
    *link = flight->next;
}

void tseed_flight_end(tseed_flight_t *flight, const tseed_reply_t *reply)
{
    int was_asked = flight->job->request.stage != TSEED_STAGE_CHECK;

    flight->job = NULL;
    if (flight->waiters) {
        return;
    }
    unlink_flight(flight);
    if (reply->outcome != TSEED_MISS_FAILED || !was_asked) {
        free(flight);
        return;
    }
    flight->until = tseed_clock_monotonic() + apr_time_from_sec(reply->retry_after);
    memcpy(flight->cause, reply->cause, sizeof(flight->cause));
    flight->next = flight->run->failed;
    flight->run->failed = flight;
}

void tseed_flight_forget(tseed_flight_t *flight)
{
    unlink_flight(flight);
    free(flight);
}

void tseed_flight_forget_failed(tseed_run_t *run, apr_time_t now)
{
    tseed_flight_t **link = &run->failed, *flight;

    while ((flight = *link) != NULL) {
        if (now < flight->until) {
            link = &flight->next;
        } else {
            *link = flight->next;
            free(flight);
        }
    }
}
