/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Guests: requests that wait for a tile which is not there yet.
 *
 * They are served by the standing run of their tile set: metatiles take the way of a seed's, CHECK
 * -> FETCH -> CUT, once for all who wait for the same one (a "flight"). A metatile that a task is
 * at work on is waited for, not fetched twice. What can't be stored is passed through, and stored
 * by and by where it was only room that lacked. What the upstream does not give is said at once,
 * for a retry is the guest's to make: whoever comes before the time that was named hears the same,
 * and the upstream is not asked. A question that is lost with its seeder is the client's to ask
 * again.
 */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "seeder/tseed_miss.h"

#define CRASHES_OF_METATILE 2
#define FAILED_SECONDS      10
#define BUSY_SECONDS        1
#define WITHOUT_ROOM_MOST   16 /* metatiles of a tile set that wait for room: each has its answer */

/* One request that waits; malloc'd. */
typedef struct tseed_guest_t {
    int end; /* where its answer goes */
    tseed_tile_t tile;
    apr_time_t until; /* monotonic: then it has given up */
    struct tseed_guest_t *next;
} tseed_guest_t;

/* All who wait for one metatile; malloc'd. One that failed is kept for a while, without job and
 * guests: as many as the upstream fails in that time. */
struct tseed_flight_t {
    int64_t position;
    tseed_metatile_t metatile;
    tseed_job_t *job; /* NULL: waits for a task that is at work on it */
    tseed_guest_t *guests;
    apr_time_t until; /* monotonic; of one that failed, which is not asked for again before this */
    char cause[TSEED_MISS_CAUSE_SIZE]; /* likewise */
    tseed_flight_t *next;
};

/* ---- answers ---- */

static void answer(tseed_seeder_t *seeder, tseed_guest_t *guest, const tseed_reply_t *reply,
                   int tile)
{
    tseed_miss_answer(guest->end, reply, tile);
    free(guest);
    seeder->guest_count--;
}

static tseed_reply_t reply_of(tseed_miss_outcome_t outcome, int seconds, const char *cause)
{
    tseed_reply_t reply = {.outcome = outcome, .retry_after = seconds};

    apr_cpystrn(reply.cause, cause, sizeof(reply.cause));
    return reply;
}

static tseed_reply_t busy(const char *cause)
{
    return reply_of(TSEED_MISS_BUSY, BUSY_SECONDS, cause);
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

static void flight_unlink(tseed_run_t *run, tseed_flight_t *flight)
{
    tseed_flight_t **link = &run->flights;

    while (*link != flight) {
        link = &(*link)->next;
    }
    *link = flight->next;
}

/* Everybody hears of it; but of a tile that could not be stored only who was there when the work at
 * it began. Whoever has come since goes on waiting. */
static void tell(tseed_seeder_t *seeder, tseed_flight_t *flight, const tseed_reply_t *reply)
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

/* What the upstream was asked for in vain is remembered as long as the guests were told to wait.
 * Guests who still wait begin anew. */
static void flight_end(tseed_run_t *run, tseed_flight_t *flight, const tseed_reply_t *reply)
{
    int was_asked = flight->job->stage != TSEED_STAGE_CHECK;

    flight->job = NULL;
    if (flight->guests) {
        return;
    }
    flight_unlink(run, flight);
    if (reply->outcome != TSEED_MISS_FAILED || !was_asked) {
        free(flight);
        return;
    }
    flight->until = tseed_clock_monotonic() + apr_time_from_sec(reply->retry_after);
    memcpy(flight->cause, reply->cause, sizeof(flight->cause));
    flight->next = run->failed;
    run->failed = flight;
}

static tseed_flight_t *flight_of(const tseed_run_t *run, const tseed_job_t *job)
{
    tseed_flight_t *flight = run->flights;

    while (flight->job != job) {
        flight = flight->next;
    }
    return flight;
}

static void close_passage(tseed_job_t *job)
{
    for (int i = 0; job->passage && i < job->passage->count; i++) {
        if (job->passage->files[i] >= 0) {
            close(job->passage->files[i]);
        }
    }
    free(job->passage);
    job->passage = NULL;
}

static void finish(tseed_seeder_t *seeder, tseed_job_t *job, tseed_miss_outcome_t outcome)
{
    tseed_run_t *run = job->run;
    tseed_flight_t *flight = flight_of(run, job);
    tseed_reply_t reply = {.outcome = outcome};

    if (outcome == TSEED_MISS_FAILED) {
        reply = reply_of(outcome, FAILED_SECONDS, job->cause);
        tseed_pump_note_error(run, job->cause, tseed_clock_monotonic());
    } else if (outcome == TSEED_MISS_BUSY) {
        reply = busy(job->outcome == TSEED_JOB_NO_ROOM ? "there is no room for it"
                                                       : "the work at it was cut short");
    }
    tell(seeder, flight, &reply);
    flight_end(run, flight, &reply);
    close_passage(job);
    tseed_pump_job_put_back(seeder, job);
}

/* ---- stages ---- */

/* Names the tiles that are asked for, in case they can't be stored. */
static void begin_cut(tseed_job_t *job)
{
    tseed_passage_t *passage = tseed_memory_get(sizeof(*passage));
    const tseed_guest_t *guest = flight_of(job->run, job)->guests;

    for (; guest && passage->count < TSEED_PASSAGE_MOST; guest = guest->next) {
        passage->tiles[passage->count] = guest->tile;
        passage->files[passage->count++] = -1;
    }
    job->passage = passage;
    job->stage = TSEED_STAGE_CUT;
    tseed_queue_put(&job->run->ready, job);
}

/* What is passed through is no hit of a file, but it is a use of its page. */
static void count_uses(tseed_seeder_t *seeder, const tseed_job_t *job)
{
    const uint64_t print = job->run->shelf->holding.print;

    for (int i = 0; i < job->passage->count; i++) {
        const tseed_place_t place = tseed_place_of(&job->passage->tiles[i]);

        tseed_book_hit(seeder->book, tseed_page_print(print, place.z, place.x, place.y), 1,
                       apr_time_sec(apr_time_now()));
    }
}

/* The guests get what they came for; it is stored when the janitor has made room, or has not for a
 * second, which is the last try. */
static void wait_for_room(tseed_seeder_t *seeder, tseed_job_t *job)
{
    const tseed_reply_t reply = busy("there is no room for it");

    tseed_janitor_want(seeder, job);
    if (job->due || job->run->ready.count >= WITHOUT_ROOM_MOST) {
        finish(seeder, job, TSEED_MISS_BUSY);
        return;
    }
    count_uses(seeder, job);
    tell(seeder, flight_of(job->run, job), &reply);
    close_passage(job);
    begin_cut(job);
    job->due = job->run->pause_until;
}

static int is_there(const tseed_job_t *job)
{
    return job->outcome == TSEED_JOB_OK &&
           tseed_job_present(job) == tseed_range_count(&job->metatile.wanted);
}

static void fetched(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_pump_arrive(job);
    if (job->transfer.result == TSEED_FETCH_OK) {
        begin_cut(job);
    } else {
        memcpy(job->cause, job->transfer.cause, sizeof(job->cause));
        finish(seeder, job, TSEED_MISS_FAILED);
    }
}

/* An upstream that is away is asked no more than its pace allows: whoever comes before it is due
 * again hears so at once. */
static void begin_fetch(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_outlook_t outlook;

    tseed_patience_outlook(seeder, &outlook, job->run);
    if (outlook.since && tseed_clock_monotonic() < outlook.next) {
        memcpy(job->cause, outlook.cause, sizeof(job->cause));
        finish(seeder, job, TSEED_MISS_FAILED);
    } else {
        tseed_pump_fetch(seeder, job);
    }
}

static void worked(tseed_seeder_t *seeder, tseed_job_t *job)
{
    job->run->working--;
    if (job->stage == TSEED_STAGE_CUT) {
        tseed_steward_book(seeder, job);
    }
    job->run->checking -= job->stage == TSEED_STAGE_CHECK;
    if (job->stage == TSEED_STAGE_CHECK && !is_there(job)) {
        begin_fetch(seeder, job);
    } else if (job->outcome == TSEED_JOB_OK) {
        finish(seeder, job, TSEED_MISS_STORED);
    } else if (job->outcome == TSEED_JOB_NO_ROOM) {
        wait_for_room(seeder, job);
    } else if (job->outcome == TSEED_JOB_BAD_ANSWER) {
        finish(seeder, job, TSEED_MISS_FAILED);
    } else {
        finish(seeder, job, TSEED_MISS_BUSY);
    }
}

void tseed_guests_take(tseed_seeder_t *seeder, tseed_job_t *job)
{
    if (job->stage == TSEED_STAGE_FETCH) {
        fetched(seeder, job);
    } else {
        worked(seeder, job);
    }
}

/* ---- coming in ---- */

static tseed_flight_t *flight_find(tseed_run_t *run, int64_t position)
{
    tseed_flight_t *flight = run->flights;

    while (flight && flight->position != position) {
        flight = flight->next;
    }
    if (!flight) {
        flight = tseed_memory_get(sizeof(*flight));
        flight->position = position;
        flight->metatile = tseed_positions_at(&run->positions, position);
        flight->next = run->flights;
        run->flights = flight;
    }
    return flight;
}

/* The flight to that metatile whose failure still counts, or NULL. */
static const tseed_flight_t *failed_find(const tseed_run_t *run, int64_t position, apr_time_t now)
{
    const tseed_flight_t *flight = run->failed;

    while (flight && (flight->position != position || now >= flight->until)) {
        flight = flight->next;
    }
    return flight;
}

static void turn_away(int end, tseed_reply_t reply)
{
    tseed_miss_answer(end, &reply, -1);
}

/* The run that serves a question, and the position of its tile; NULL and a reason why not. */
static tseed_run_t *find_run(tseed_seeder_t *seeder, const tseed_question_t *question,
                             int64_t *position, const char **problem)
{
    const tseed_names_t names = {question->layer, question->gridset, question->format,
                                 question->parameters};
    const tseed_tile_t *tile = &question->tile;
    tseed_run_t *run;
    apr_status_t rv = tseed_standing_get(&run, seeder, &names);

    *problem = "the configuration is just being changed";
    if (rv != APR_SUCCESS) {
        *problem = rv == APR_NOTFOUND
                       ? *problem
                       : "the state database can't be written; the error log says why";
        return NULL;
    }
    *position = tseed_positions_of(&run->positions, tile->z, tile->x, tile->y);
    return *position < 0 ? NULL : run; /* asked under another configuration */
}

static void welcome(tseed_seeder_t *seeder, const tseed_question_t *question, int end)
{
    const char *problem;
    int64_t position;
    tseed_run_t *run = find_run(seeder, question, &position, &problem);
    const apr_time_t now = tseed_clock_monotonic();
    const tseed_flight_t *failed;
    tseed_guest_t *guest;
    tseed_flight_t *flight;

    if (!run) {
        turn_away(end, busy(problem));
        return;
    }
    failed = failed_find(run, position, now);
    if (failed) {
        turn_away(end, reply_of(TSEED_MISS_FAILED, 1 + (int)apr_time_sec(failed->until - now),
                                failed->cause));
        return;
    }
    flight = flight_find(run, position);
    guest = tseed_memory_get(sizeof(*guest));
    guest->end = end;
    guest->tile = question->tile;
    guest->until = now + TSEED_MISS_PATIENCE;
    guest->next = flight->guests;
    flight->guests = guest;
    seeder->guest_count++;
}

void tseed_guests_hear(tseed_seeder_t *seeder)
{
    tseed_question_t question;
    int end;
    apr_status_t rv;

    do {
        rv = tseed_miss_take(&question, &end, seeder->setup->hatch, seeder->scratch);
        if (rv == APR_SUCCESS && seeder->guest_count >= seeder->settings->miss_waiters) {
            turn_away(end, busy("too many requests wait for tiles"));
        } else if (rv == APR_SUCCESS) {
            welcome(seeder, &question, end);
        }
    } while (rv == APR_SUCCESS || rv == APR_EINVAL);
}

/* ---- under way ---- */

static void begin(tseed_seeder_t *seeder, tseed_run_t *run, tseed_flight_t *flight)
{
    tseed_job_t *job = tseed_pump_job_get(seeder);

    job->position = flight->position;
    job->metatile = flight->metatile;
    flight->job = job;
    tseed_run_job_add(run, job);
    tseed_steward_hold(seeder, job);
    if (tseed_board_crashes_at(seeder->board, run->task->id, job->position) >=
        CRASHES_OF_METATILE) {
        apr_cpystrn(job->cause, "the seeder crashed twice at work on it", sizeof(job->cause));
        finish(seeder, job, TSEED_MISS_FAILED);
    } else {
        tseed_pump_work(seeder, job, TSEED_STAGE_CHECK);
    }
}

void tseed_guests_feed(tseed_seeder_t *seeder)
{
    for (tseed_run_t *run = seeder->standing; run; run = run->next_run) {
        for (tseed_flight_t *flight = run->flights, *next; flight; flight = next) {
            next = flight->next;
            if (!flight->job && !tseed_feeder_is_taken(seeder, run, &flight->metatile)) {
                begin(seeder, run, flight);
            }
        }
    }
}

/* ---- once a tick ---- */

static void drop_late(tseed_seeder_t *seeder, tseed_flight_t *flight, apr_time_t now)
{
    const tseed_reply_t late = busy("it takes too long");
    tseed_guest_t **link = &flight->guests;

    while (*link) {
        tseed_guest_t *guest = *link;

        if (now >= guest->until) {
            *link = guest->next;
            answer(seeder, guest, &late, -1);
        } else {
            link = &guest->next;
        }
    }
}

static void forget_failed(tseed_run_t *run, apr_time_t now)
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

void tseed_guests_tick(tseed_seeder_t *seeder, apr_time_t now)
{
    for (tseed_run_t *run = seeder->standing; run; run = run->next_run) {
        for (tseed_flight_t *flight = run->flights, *next; flight; flight = next) {
            next = flight->next;
            drop_late(seeder, flight, now);
            if (!flight->guests && !flight->job) {
                flight_unlink(run, flight);
                free(flight);
            }
        }
        forget_failed(run, now);
        tseed_pump_summarise(run, now);
    }
}
