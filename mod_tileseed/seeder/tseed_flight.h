/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A flight: all requests that wait for one metatile, and the job that makes it. Who waits first has
 * the metatile made, whoever comes later waits for the same job. Main thread only. */
#ifndef TSEED_FLIGHT_H
#define TSEED_FLIGHT_H

#include <apr_pools.h>

#include "work/tseed_miss.h"
#include "work/tseed_run.h"

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

/* What all waiters share. */
typedef struct {
    tseed_waiter_places_t *places;
    int hangups; /* an epoll: it hears when a client closes its end */
} tseed_waiters_t;

/* One request that waits; malloc'd. The epoll knows the waiter by its address. */
typedef struct tseed_waiter_t {
    int end; /* where its answer goes */
    tseed_tile_t tile;
    apr_time_t until; /* monotonic: then the request has waited too long */
    char *client;     /* its address, malloc'd */
    tseed_flight_t *flight;
    struct tseed_waiter_t *next;
} tseed_waiter_t;

/* malloc'd. A flight that failed is kept for a while, without job and waiters. There are as many of
 * those as the upstream fails in that time. */
struct tseed_flight_t {
    tseed_run_t *run;
    int64_t position;
    tseed_metatile_t metatile;
    tseed_job_t *job; /* NULL: waits for a task that is at work on the metatile */
    int is_trial;     /* its upstream is to be asked, whoever waits and whatever is there */
    tseed_waiter_t *waiters;
    apr_time_t until; /* monotonic; a flight that failed: the upstream is not asked again before */
    char cause[TSEED_MISS_CAUSE_SIZE]; /* likewise: why */
    tseed_flight_t *next;
};

/* Gets the flight to a position of a background run; makes the flight if there is none. */
tseed_flight_t *tseed_flight_get(tseed_run_t *run, int64_t position);
/* Finds the flight that a job is about. */
tseed_flight_t *tseed_flight_of(const tseed_job_t *job);
/* Finds the flight to that position whose failure still counts; NULL: there is none. */
const tseed_flight_t *tseed_flight_failed(const tseed_run_t *run, int64_t position, apr_time_t now);

/* Lets another request wait for the flight. The flight owns `end` from now on. The caller has taken
 * a place; the place is given back when the waiter leaves. */
void tseed_flight_join(const tseed_waiters_t *shared, tseed_flight_t *flight,
                       const tseed_question_t *question, int end);
/* Lets a waiter go without an answer. */
void tseed_flight_leave(const tseed_waiters_t *shared, tseed_waiter_t *waiter);
/* Answers `late` to waiters that have waited too long. */
void tseed_flight_drop_late(const tseed_waiters_t *shared, tseed_flight_t *flight,
                            const tseed_reply_t *late, apr_time_t now);
/* Answers all waiters, with their unstored tiles where there are some. Of BUSY only those hear who
 * waited when the work began, if tiles could not be stored; who has come since goes on waiting. */
void tseed_flight_tell(const tseed_waiters_t *shared, tseed_flight_t *flight,
                       const tseed_reply_t *reply);

/* Answers the waiters whose tiles were made, where others of the metatile can't be. */
void tseed_flight_tell_made(const tseed_waiters_t *shared, tseed_flight_t *flight,
                            const tseed_reply_t *reply);

/* Takes the job off the flight. Waiters that are left begin anew. Without any the flight is
 * forgotten; but a failure of the upstream is remembered as long as the waiters were told to wait.
 */
void tseed_flight_end(tseed_flight_t *flight, const tseed_reply_t *reply);
/* Forgets a flight without job and waiters. */
void tseed_flight_forget(tseed_flight_t *flight);
/* Forgets failures of the run that count no more. */
void tseed_flight_forget_failed(tseed_run_t *run, apr_time_t now);

#endif
