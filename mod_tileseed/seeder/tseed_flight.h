/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A flight: all requests that wait for one metatile, and the job that makes it. Private to the
 * seeder room; main thread only. */
#ifndef TSEED_FLIGHT_H
#define TSEED_FLIGHT_H

#include "seeder/tseed_house.h"
#include "seeder/tseed_miss.h"

/* One request that waits; malloc'd. The seeder's epoll knows it by its address: it hears when the
 * other end is closed. */
typedef struct tseed_guest_t {
    int end; /* where its answer goes */
    tseed_tile_t tile;
    apr_time_t until; /* monotonic: then it has given up */
    char *client;     /* its address, malloc'd */
    tseed_flight_t *flight;
    struct tseed_guest_t *next;
} tseed_guest_t;

/* malloc'd. One that failed is kept for a while, without job and guests: as many as the upstream
 * fails in that time. */
struct tseed_flight_t {
    tseed_run_t *run;
    int64_t position;
    tseed_metatile_t metatile;
    tseed_job_t *job; /* NULL: waits for a task that is at work on it */
    tseed_guest_t *guests;
    apr_time_t until; /* monotonic; of one that failed, which is not asked for again before this */
    char cause[TSEED_MISS_CAUSE_SIZE]; /* likewise */
    tseed_flight_t *next;
};

/* The flight to a position of a standing run, made if there is none. */
tseed_flight_t *tseed_flight_get(tseed_run_t *run, int64_t position);
/* The one that a job is about. */
tseed_flight_t *tseed_flight_of(const tseed_job_t *job);
/* The flight to that position whose failure still counts, or NULL. */
const tseed_flight_t *tseed_flight_failed(const tseed_run_t *run, int64_t position, apr_time_t now);

/* Another request waits for it; the place has been taken, and is given back when it leaves. */
void tseed_flight_board(tseed_seeder_t *seeder, tseed_flight_t *flight,
                        const tseed_question_t *question, int end);
/* A request waits no more and gets no answer. */
void tseed_flight_leave(tseed_seeder_t *seeder, tseed_guest_t *guest);
/* Answers those who wait for longer than they said. */
void tseed_flight_drop_late(tseed_seeder_t *seeder, tseed_flight_t *flight,
                            const tseed_reply_t *late, apr_time_t now);
/* Everybody hears of it; but of a tile that could not be stored only who was there when the work at
 * it began. Whoever has come since goes on waiting. */
void tseed_flight_tell(tseed_seeder_t *seeder, tseed_flight_t *flight, const tseed_reply_t *reply);

/* The job is over. Guests who still wait begin anew. What the upstream was asked for in vain is
 * remembered as long as the guests were told to wait. */
void tseed_flight_end(tseed_flight_t *flight, const tseed_reply_t *reply);
/* Forgets one without job and guests; and failures that count no more. */
void tseed_flight_forget(tseed_flight_t *flight);
void tseed_flight_forget_failed(tseed_run_t *run, apr_time_t now);

#endif
