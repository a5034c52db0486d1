/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Flights: which requests wait for which metatile. */
#include "seeder/tseed_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "work/tseed_job_derive.h"

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
    const tseed_unstored_t *unstored = job->unstored;

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
    const tseed_unstored_t *unstored = flight->job->unstored;
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
    int was_asked = flight->job->stage != TSEED_STAGE_CHECK;

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
