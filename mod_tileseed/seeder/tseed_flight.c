/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Flights: who waits for which metatile. */
#include "seeder/tseed_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"

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

/* ---- guests ---- */

void tseed_flight_board(tseed_seeder_t *seeder, tseed_flight_t *flight,
                        const tseed_question_t *question, int end)
{
    tseed_guest_t *guest = tseed_memory_get(sizeof(*guest));
    struct epoll_event gone = {.events = EPOLLRDHUP, .data.ptr = guest};

    guest->end = end;
    guest->tile = question->tile;
    guest->client = tseed_memory_copy(question->client);
    guest->until = tseed_clock_monotonic() + apr_time_from_sec(TSEED_MISS_SECONDS);
    guest->flight = flight;
    guest->next = flight->guests;
    flight->guests = guest;
    if (epoll_ctl(seeder->leavers, EPOLL_CTL_ADD, end, &gone) != 0) {
        tseed_log(TSEED_LOG_WARNING, APR_FROM_OS_ERROR(errno),
                  "a request for a missing tile can't be watched: it keeps its place when its "
                  "client goes");
    }
}

/* The end has been closed, or is closed with this. */
static void check_out(tseed_seeder_t *seeder, tseed_guest_t *guest)
{
    tseed_places_leave(seeder->places, guest->flight->run->task->layer, guest->client);
    free(guest->client);
    free(guest);
}

static void answer(tseed_seeder_t *seeder, tseed_guest_t *guest, const tseed_reply_t *reply,
                   int tile)
{
    tseed_miss_answer(guest->end, reply, tile);
    check_out(seeder, guest);
}

void tseed_flight_leave(tseed_seeder_t *seeder, tseed_guest_t *guest)
{
    tseed_guest_t **link = &guest->flight->guests;

    while (*link != guest) {
        link = &(*link)->next;
    }
    *link = guest->next;
    close(guest->end);
    check_out(seeder, guest);
}

void tseed_flight_drop_late(tseed_seeder_t *seeder, tseed_flight_t *flight,
                            const tseed_reply_t *late, apr_time_t now)
{
    tseed_guest_t **link = &flight->guests, *guest;

    while ((guest = *link) != NULL) {
        if (now >= guest->until) {
            *link = guest->next;
            answer(seeder, guest, late, -1);
        } else {
            link = &guest->next;
        }
    }
}

/* The place of a tile among those that a worker is to encode for guests even if it can't store
 * them, -1 if nobody had asked for it when the work began. */
static int passage_find(const tseed_job_t *job, const tseed_tile_t *tile)
{
    const tseed_passage_t *passage = job->passage;

    for (int i = 0; passage && i < passage->count; i++) {
        if (passage->tiles[i].x == tile->x && passage->tiles[i].y == tile->y) {
            return i;
        }
    }
    return -1;
}

void tseed_flight_tell(tseed_seeder_t *seeder, tseed_flight_t *flight, const tseed_reply_t *reply)
{
    const tseed_passage_t *passage = flight->job->passage;
    tseed_guest_t **link = &flight->guests, *guest;

    while ((guest = *link) != NULL) {
        int at = passage_find(flight->job, &guest->tile);
        int tile = at >= 0 ? passage->files[at] : -1;
        tseed_reply_t own = *reply;

        if (reply->outcome == TSEED_MISS_BUSY && passage && at < 0) {
            link = &guest->next;
            continue;
        }
        *link = guest->next;
        if (tile >= 0) {
            own.outcome = TSEED_MISS_PASSED;
        }
        answer(seeder, guest, &own, tile);
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
    if (flight->guests) {
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
