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
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "pipeline/tseed_upstreams.h"
#include "seeder/tseed_flight.h"

#define CRASHES_OF_METATILE 2
#define FAILED_SECONDS      10
#define BUSY_SECONDS        1
#define WITHOUT_ROOM_MOST   16 /* metatiles of a tile set that wait for room: each has its answer */
#define LEAVERS_AT_ONCE     64

/* ---- answers ---- */

static tseed_reply_t reply_of(tseed_miss_outcome_t outcome, int seconds, const char *cause)
{
    tseed_reply_t reply = {.outcome = outcome, .retry_after = seconds};

    tseed_text_fit(reply.cause, sizeof(reply.cause), cause);
    return reply;
}

static tseed_reply_t busy(const char *cause)
{
    return reply_of(TSEED_MISS_BUSY, BUSY_SECONDS, cause);
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
    tseed_flight_t *flight = tseed_flight_of(job);
    tseed_reply_t reply = {.outcome = outcome};

    if (outcome == TSEED_MISS_FAILED) {
        reply = reply_of(outcome, FAILED_SECONDS, job->cause);
        tseed_failures_note(job->run, job->cause, tseed_clock_monotonic());
    } else if (outcome == TSEED_MISS_BUSY) {
        reply = busy(job->outcome == TSEED_JOB_NO_ROOM ? "there is no room for it"
                                                       : "the work at it was cut short");
    }
    if (!atomic_load(&job->run->stopped)) { /* who waits when we stop asks the next seeder */
        tseed_flight_tell(seeder, flight, &reply);
    }
    tseed_flight_end(flight, &reply);
    close_passage(job);
    tseed_jobs_put_back(seeder->jobs, job);
}

/* ---- stages ---- */

/* Names the tiles that are asked for, in case they can't be stored. */
static void begin_cut(tseed_job_t *job)
{
    tseed_passage_t *passage = tseed_memory_get(sizeof(*passage));
    const tseed_guest_t *guest = tseed_flight_of(job)->guests;

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
    const uint64_t print = job->run->booked->record.print;

    for (int i = 0; i < job->passage->count; i++) {
        const tseed_page_t page = tseed_page_of(&job->passage->tiles[i]);

        tseed_book_hit(seeder->cache->book, tseed_page_print(print, page.z, page.x, page.y), 1,
                       tseed_holds_date(seeder->holds));
    }
}

/* The guests get what they came for; it is stored when the janitor has made room, or has not for a
 * second, which is the last try. */
static void wait_for_room(tseed_seeder_t *seeder, tseed_job_t *job)
{
    const tseed_reply_t reply = busy("there is no room for it");

    tseed_quota_wait_put(seeder->quota_wait, job);
    if (job->due || job->is_stale || job->run->ready.count >= WITHOUT_ROOM_MOST) {
        finish(seeder, job, TSEED_MISS_BUSY);
        return;
    }
    count_uses(seeder, job);
    tseed_flight_tell(seeder, tseed_flight_of(job), &reply);
    close_passage(job);
    begin_cut(job);
    job->due = job->run->pause_until;
}

static int is_there(const tseed_job_t *job)
{
    return job->outcome == TSEED_JOB_OK &&
           tseed_job_present(job) == tseed_range_count(&job->metatile.wanted);
}

/* An upstream that is away is asked no more than its pace allows: whoever comes before it is due
 * again hears so at once. */
static void begin_fetch(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_outlook_t outlook;

    tseed_upstreams_get(seeder->context->fetcher, &outlook, job->run);
    if (outlook.since && tseed_clock_monotonic() < outlook.next) {
        memcpy(job->cause, outlook.cause, sizeof(job->cause));
        finish(seeder, job, TSEED_MISS_FAILED);
    } else {
        tseed_stages_fetch(seeder->stages, job);
    }
}

/* Nobody waited for it before it was asked for. Who has come since has it asked for again. */
static void begin_anew(tseed_seeder_t *seeder, tseed_job_t *job)
{
    if (tseed_flight_of(job)->guests) {
        begin_fetch(seeder, job);
    } else {
        finish(seeder, job, TSEED_MISS_BUSY);
    }
}

static void fetched(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_stages_arrive(job);
    if (job->transfer.result == TSEED_FETCH_OK && !job->is_stale) {
        begin_cut(job);
    } else if (job->is_stale || job->transfer.result == TSEED_FETCH_CANCELLED) {
        begin_anew(seeder, job);
    } else {
        memcpy(job->cause, job->transfer.cause, sizeof(job->cause));
        finish(seeder, job, TSEED_MISS_FAILED);
    }
}

void tseed_guests_fetch_again(tseed_seeder_t *seeder, tseed_job_t *job)
{
    close_passage(job);
    begin_anew(seeder, job);
}

static void worked(tseed_seeder_t *seeder, tseed_job_t *job)
{
    job->run->working--;
    if (job->stage == TSEED_STAGE_CUT && !job->is_passing) {
        tseed_holds_book(seeder->holds, job);
    }
    job->run->checking -= job->stage == TSEED_STAGE_CHECK;
    if (job->stage == TSEED_STAGE_CHECK && !is_there(job)) {
        begin_anew(seeder, job);
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

static void take(void *module, tseed_job_t *job)
{
    tseed_seeder_t *seeder = module;
    if (job->stage == TSEED_STAGE_FETCH) {
        fetched(seeder, job);
    } else {
        worked(seeder, job);
    }
}

/* ---- coming in ---- */

static void turn_away(int end, tseed_reply_t reply)
{
    tseed_miss_answer(end, &reply, -1);
}

static const char too_many[] =
    "requests have made as many tile sets of its layer as TileSeedMaxTileSets allows for, with "
    "values that TileSeedParameter does not list";

/* The run that serves a question, and the position of its tile; NULL and a reason why not. */
static tseed_run_t *find_run(tseed_seeder_t *seeder, const tseed_question_t *question,
                             int64_t *position, const char **problem)
{
    const tseed_names_t names = {question->layer, question->gridset, question->format,
                                 question->parameters};
    const tseed_tile_t *tile = &question->tile;
    tseed_run_t *run;
    apr_status_t rv = tseed_background_get(&run, seeder->background, &names);

    *problem = "the configuration is just being changed";
    if (rv == APR_ENOSPC) {
        *problem = too_many;
        return NULL;
    }
    if (rv != APR_SUCCESS) {
        *problem = rv == APR_NOTFOUND
                       ? *problem
                       : "the state database can't be written; the error log says why";
        return NULL;
    }
    *position = tseed_positions_of(&run->positions, tile->z, tile->x, tile->y);
    return *position < 0 ? NULL : run; /* asked under another configuration */
}

/* Its transfer may have been without anybody who waits. */
static void board(tseed_seeder_t *seeder, tseed_flight_t *flight, const tseed_question_t *question,
                  int end)
{
    if (!flight->guests && flight->job && flight->job->stage == TSEED_STAGE_FETCH) {
        tseed_fetcher_adopt(seeder->context->fetcher, &flight->job->transfer);
    }
    tseed_flight_board(seeder, flight, question, end);
}

/* Returns whether it waits now; if not, it has its answer. */
static int welcome(tseed_seeder_t *seeder, const tseed_question_t *question, int end)
{
    const char *problem;
    int64_t position;
    tseed_run_t *run = find_run(seeder, question, &position, &problem);
    const apr_time_t now = tseed_clock_monotonic();
    const tseed_flight_t *failed;

    if (!run) {
        turn_away(end,
                  problem == too_many ? reply_of(TSEED_MISS_REFUSED, 0, problem) : busy(problem));
        return 0;
    }
    failed = tseed_flight_failed(run, position, now);
    if (failed) {
        turn_away(end, reply_of(TSEED_MISS_FAILED, 1 + (int)apr_time_sec(failed->until - now),
                                failed->cause));
        return 0;
    }
    board(seeder, tseed_flight_get(run, position), question, end);
    return 1;
}

/* A place first: nothing is made for those who get none. */
static void let_in(tseed_seeder_t *seeder, const tseed_question_t *question, int end)
{
    const char *problem = tseed_places_take(seeder->places, question->layer, question->client,
                                            seeder->context->scratch);

    if (problem) {
        turn_away(end, busy(problem));
    } else if (!welcome(seeder, question, end)) {
        tseed_places_leave(seeder->places, question->layer, question->client);
    }
}

void tseed_guests_hear(tseed_seeder_t *seeder)
{
    tseed_question_t question;
    int end;
    apr_status_t rv;

    do {
        rv = tseed_miss_take(&question, &end, seeder->setup->hatch, seeder->context->scratch);
        if (rv == APR_SUCCESS) {
            let_in(seeder, &question, end);
        }
    } while (rv == APR_SUCCESS || rv == APR_EINVAL);
}

/* ---- going away ---- */

/* Nobody waits for the flight any more: what has not begun is not begun. A request that the
 * upstream has gives way to those who wait; where nobody does its picture is stored. */
static void call_off(tseed_seeder_t *seeder, tseed_flight_t *flight)
{
    if (flight->guests) {
        return;
    }
    if (!flight->job) {
        tseed_flight_forget(flight);
    } else if (flight->job->stage == TSEED_STAGE_FETCH) {
        tseed_fetcher_orphan(seeder->context->fetcher, &flight->job->transfer);
    }
}

void tseed_guests_part(tseed_seeder_t *seeder)
{
    struct epoll_event events[LEAVERS_AT_ONCE];
    int count = epoll_wait(seeder->leavers, events, LEAVERS_AT_ONCE, 0);

    for (int i = 0; i < count; i++) {
        tseed_guest_t *guest = events[i].data.ptr;
        tseed_flight_t *flight = guest->flight;

        tseed_flight_leave(seeder, guest);
        call_off(seeder, flight);
    }
}

apr_status_t tseed_guests_begin(tseed_seeder_t *seeder)
{
    const tseed_settings_t *settings = seeder->context->settings;
    int layer = settings->miss_of_layer;

    if (layer == TSEED_PLACES_FREE && seeder->context->catalog->order->nelts == 1) {
        layer = settings->miss_waiters; /* there is nobody to leave places to */
    }
    seeder->places = tseed_places_create(settings->miss_waiters, layer, settings->miss_of_client,
                                         seeder->context->pool);
    seeder->leavers = epoll_create1(EPOLL_CLOEXEC);
    return seeder->leavers < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

/* ---- under way ---- */

static void begin(tseed_seeder_t *seeder, tseed_run_t *run, tseed_flight_t *flight)
{
    tseed_job_t *job = tseed_jobs_get(seeder->jobs, &tseed_guests_client);

    job->position = flight->position;
    job->metatile = flight->metatile;
    flight->job = job;
    tseed_run_job_add(run, job);
    tseed_holds_hold(seeder->holds, job);
    if (tseed_board_crashes_at(seeder->context->board, run->task->id, job->position) >=
        CRASHES_OF_METATILE) {
        apr_cpystrn(job->cause, "the seeder crashed twice at work on it", sizeof(job->cause));
        finish(seeder, job, TSEED_MISS_FAILED);
    } else {
        tseed_stages_work(seeder->stages, job, TSEED_STAGE_CHECK);
    }
}

static int is_taken(const tseed_seeder_t *seeder, const tseed_run_t *run,
                    const tseed_metatile_t *metatile)
{
    return tseed_run_holder(seeder->runs->tasks, run, metatile) ||
           tseed_run_holder(seeder->runs->background, run, metatile);
}

static void feed(void *module)
{
    tseed_seeder_t *seeder = module;
    for (tseed_run_t *run = seeder->runs->background; run; run = run->next_run) {
        for (tseed_flight_t *flight = run->flights, *next; flight; flight = next) {
            next = flight->next;
            if (!flight->job && !is_taken(seeder, run, &flight->metatile)) {
                begin(seeder, run, flight);
            }
        }
    }
}

/* ---- once a tick ---- */

/* What is told to those who have waited too long. */
static tseed_reply_t late_of(const tseed_flight_t *flight)
{
    const tseed_job_t *job = flight->job;

    return busy(job && job->stage == TSEED_STAGE_FETCH ? "the upstream has not answered in time"
                                                       : "it takes too long");
}

static void tick(void *module, apr_time_t now)
{
    tseed_seeder_t *seeder = module;
    for (tseed_run_t *run = seeder->runs->background; run; run = run->next_run) {
        for (tseed_flight_t *flight = run->flights, *next; flight; flight = next) {
            next = flight->next;
            if (flight->guests || !flight->job) {
                const tseed_reply_t late = late_of(flight);

                tseed_flight_drop_late(seeder, flight, &late, now);
                call_off(seeder, flight);
            }
        }
        tseed_flight_forget_failed(run, now);
        tseed_failures_summarise(run, now);
    }
}

tseed_client_t tseed_guests_client = {.feed = feed, .take = take, .tick = tick};
