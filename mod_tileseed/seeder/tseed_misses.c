/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Misses: what becomes of a request that waits for a missing tile. */
#include "seeder/tseed_misses.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "pipeline/tseed_ends.h"
#include "pipeline/tseed_upstreams.h"
#include "seeder/tseed_flight.h"

#define AWAY_RETRY_AFTER  30 /* seconds: told to requests while the seeder can't begin */
#define FAILED_SECONDS    10
#define BUSY_SECONDS      1
#define WITHOUT_ROOM_MOST 16 /* metatiles of a tile set that wait for room: each has its answer */
#define HANGUPS_AT_ONCE   64

struct tseed_misses_t {
    tseed_misses_uses_t uses;
    tseed_client_t client;
    tseed_sink_t sink;
    tseed_waiters_t shared;
};

/* ---- answers ---- */

static tseed_reply_t busy(const char *cause)
{
    return tseed_miss_reply(TSEED_MISS_BUSY, BUSY_SECONDS, cause);
}

/* What the upstream took for a job, in ms, rounded up. */
static int32_t upstream_ms(const tseed_job_t *job)
{
    const apr_interval_time_t took =
        tseed_job_is_drawn(job) ? job->result.drawn.took : job->request.transfer.took;

    return (int32_t)apr_time_as_msec(took + APR_USEC_PER_SEC / 1000 - 1);
}

static void close_unstored(const tseed_job_t *job)
{
    for (int i = 0; job->request.unstored && i < job->request.unstored->count; i++) {
        if (job->request.unstored->files[i] >= 0) {
            close(job->request.unstored->files[i]);
        }
    }
    free(job->request.unstored);
}

/* Counts the tiles of a metatile that was made for requests, or was not. */
static void count_tiles(const tseed_misses_t *misses, const tseed_job_t *job, int has_failed)
{
    const int64_t made = tseed_job_written(job);
    const int64_t lacking =
        tseed_range_count(&job->metatile.wanted) - made - tseed_job_present(job);
    const tseed_counted_t now = {
        .acts = {[TSEED_ACT_MADE] = made, [TSEED_ACT_FAILED] = has_failed ? lacking : 0},
        .bytes = job->result.bytes,
    };
    tseed_counted_t nothing = {{0}, 0};

    tseed_counters_tiles(misses->uses.context->board, job->run->tileset.layer->counted,
                         TSEED_WORK_REQUEST, &nothing, &now);
}

/* `cause`: of REFUSED and FAILED. */
static void finish(tseed_misses_t *misses, tseed_job_t *job, tseed_miss_outcome_t outcome,
                   const char *cause)
{
    tseed_flight_t *flight = tseed_flight_of(job);
    tseed_reply_t reply = {.outcome = outcome};

    if (outcome == TSEED_MISS_REFUSED) {
        reply = tseed_miss_reply(outcome, 0, cause);
    } else if (outcome == TSEED_MISS_FAILED) {
        reply = tseed_miss_reply(outcome, FAILED_SECONDS, cause);
        tseed_ends_note(job->run, cause, tseed_clock_monotonic());
    } else if (outcome == TSEED_MISS_BUSY) {
        reply = busy(job->result.outcome == TSEED_JOB_NO_ROOM ? "there is no room for it"
                     : job->result.is_blocked ? "what has its name can't be replaced"
                                              : "the work at it was cut short");
    }
    count_tiles(misses, job, outcome == TSEED_MISS_FAILED);
    reply.upstream = upstream_ms(job);
    if (!atomic_load(&job->run->stopped)) { /* who waits when we stop asks the next seeder */
        tseed_flight_tell(&misses->shared, flight, &reply);
    }
    tseed_flight_end(flight, &reply);
    close_unstored(job);
    tseed_jobs_put_back(misses->uses.jobs, job);
}

/* ---- the sink ---- */

/* Notes the tiles that waiters ask for, in case they can't be stored. */
static tseed_unstored_t *prepare(void *module, const tseed_job_t *job)
{
    const tseed_waiter_t *waiter = tseed_flight_of(job)->waiters;
    tseed_unstored_t *unstored = tseed_memory_get(sizeof(*unstored));

    (void)module;
    close_unstored(job);
    for (; waiter && unstored->count < TSEED_UNSTORED_MOST; waiter = waiter->next) {
        unstored->tiles[unstored->count] = waiter->tile;
        unstored->files[unstored->count++] = -1;
    }
    return unstored;
}

/* All tiles of a metatile are there. */
static void finished(void *module, tseed_job_t *job, int coming)
{
    tseed_misses_t *misses = module;

    (void)coming;
    if (job->request.stage == TSEED_STAGE_CUT) {
        tseed_quota_wait_end(job->run, tseed_clock_monotonic());
        tseed_open_tilesets_settle(misses->uses.open, job->run->booked);
    }
    finish(misses, job, TSEED_MISS_STORED, NULL);
}

static void fail(void *module, tseed_job_t *job)
{
    finish(module, job, TSEED_MISS_FAILED, tseed_job_cause(job));
}

/* Some tiles of a metatile can't be made. After a CUT the others were, and a tile that was made and
 * can't be stored is handed over. */
static void give_up(void *module, tseed_job_t *job)
{
    tseed_misses_t *misses = module;
    const tseed_reply_t stored = {.outcome = TSEED_MISS_STORED, .upstream = upstream_ms(job)};

    if (job->result.outcome == TSEED_JOB_CRASHED) {
        fail(module, job);
        return;
    }
    if (job->request.stage == TSEED_STAGE_CUT) {
        tseed_flight_tell_made(&misses->shared, tseed_flight_of(job), &stored);
    }
    finish(misses, job, job->result.is_blocked ? TSEED_MISS_BUSY : TSEED_MISS_REFUSED,
           tseed_job_cause(job));
}

static void discard(void *module, tseed_job_t *job)
{
    finish(module, job, TSEED_MISS_BUSY, NULL);
}

/* A tile that is handed over unstored is no hit of a file, but it is a use of its page. */
static void count_uses(tseed_misses_t *misses, const tseed_job_t *job)
{
    const uint64_t print = job->run->booked->record.print;

    for (int i = 0; i < job->request.unstored->count; i++) {
        const tseed_page_t page = tseed_page_of(&job->request.unstored->tiles[i]);

        tseed_book_hit(misses->uses.cache->book, tseed_page_print(print, page.z, page.x, page.y), 1,
                       tseed_holds_date(misses->uses.holds));
    }
}

/* The waiters get their tiles, unstored. The job waits until an eviction has made room, for a
 * second at most, and tries once more to store the tiles. */
static tseed_verdict_t wait_for_room(tseed_misses_t *misses, tseed_job_t *job)
{
    tseed_reply_t reply = busy("there is no room for it");

    reply.upstream = upstream_ms(job);
    tseed_quota_wait_put(misses->uses.quota_wait, job);
    if (job->request.due || job->accounts.is_stale || job->run->ready.count >= WITHOUT_ROOM_MOST) {
        return TSEED_FLOW_DROPPED;
    }
    count_uses(misses, job);
    tseed_flight_tell(&misses->shared, tseed_flight_of(job), &reply);
    return TSEED_FLOW_WAITS;
}

/* A store that can't be looked at keeps nobody from having the tiles. */
static tseed_verdict_t refuse(void *module, tseed_job_t *job)
{
    if (job->request.stage == TSEED_STAGE_CHECK) {
        return TSEED_FLOW_ANEW;
    }
    return job->result.outcome == TSEED_JOB_NO_ROOM ? wait_for_room(module, job)
                                                    : TSEED_FLOW_DROPPED;
}

/* ---- what is to be fetched ---- */

/* Why the upstream of a job is not asked just now, or NULL: one that is away is asked no more than
 * its pace allows, and a request that comes before the upstream is due again hears so at once. */
static const char *obstacle_of(tseed_misses_t *misses, const tseed_job_t *job)
{
    const tseed_context_t *context = misses->uses.context;
    const apr_time_t now = tseed_clock_monotonic();
    tseed_outlook_t outlook = {0};
    const char *cause = NULL;

    tseed_upstreams_get(context->fetcher, &outlook, job->run);
    if (outlook.since && now < outlook.next) {
        return apr_pstrdup(context->scratch, outlook.cause);
    }
    tseed_health_may_ask(misses->uses.health, &cause, job->run->tileset.layer, now);
    return cause;
}

static void get(tseed_misses_t *misses, tseed_job_t *job)
{
    const char *obstacle = NULL;

    if (tseed_savings_paint(misses->uses.savings, job)) {
        tseed_flow_cut(job);
        return;
    }
    if (tseed_cutoff_bars(misses->uses.cutoff, job->run, &job->metatile.wanted)) {
        finish(misses, job, TSEED_MISS_BUSY, NULL);
        return;
    }
    if (!tseed_savings_draws(misses->uses.savings, job)) {
        obstacle = obstacle_of(misses, job);
    }
    if (obstacle) {
        finish(misses, job, TSEED_MISS_FAILED, obstacle);
    } else {
        tseed_flow_get(misses->uses.flow, job);
    }
}

/* A metatile that nobody waits for any more is fetched only if that is to show how the upstream is.
 */
static void work_off(tseed_misses_t *misses, tseed_run_t *run)
{
    tseed_job_t *job;

    while ((job = tseed_queue_take(&run->wanted))) {
        tseed_flight_t *flight = tseed_flight_of(job);

        if (flight->waiters || flight->is_trial) {
            flight->is_trial = 0;
            get(misses, job);
        } else {
            finish(misses, job, TSEED_MISS_BUSY, NULL);
        }
    }
}

/* ---- coming in ---- */

static const char too_many[] = "seed requests have made as many tile sets of its layer as "
                               "TileSeedMaxTileSets allows for, with "
                               "values that TileSeedParameter does not list";
static const char too_fast[] =
    "tile sets with values that TileSeedParameter does not list come and go too fast";

/* Finds the run that serves a question, and the position of its tile; NULL: *problem says why. */
static tseed_run_t *find_run(tseed_misses_t *misses, const tseed_question_t *question,
                             int64_t *position, const char **problem)
{
    const tseed_names_t names = {question->layer, question->gridset, question->format,
                                 question->parameters};
    const tseed_tile_t *tile = &question->tile;
    tseed_run_t *run;
    apr_status_t rv = tseed_open_tilesets_run(&run, misses->uses.open, &names, question->client);

    *problem = "the configuration is just being changed";
    if (rv == APR_ENOSPC) {
        *problem = too_many;
        return NULL;
    }
    if (rv != APR_SUCCESS) {
        *problem = rv == APR_NOTFOUND ? *problem
                   : rv == APR_EAGAIN
                       ? too_fast
                       : "the state database can't be written; the error log says why";
        return NULL;
    }
    *position = tseed_positions_of(&run->positions, tile->z, tile->x, tile->y);
    return *position < 0 ? NULL : run; /* asked under another configuration */
}

/* Lets a request wait for a flight. The flight's transfer may have gone on without any request that
 * waits: then somebody waits for it again. */
static void join(tseed_misses_t *misses, tseed_flight_t *flight, const tseed_question_t *question,
                 int end)
{
    if (!flight->waiters && flight->job && flight->job->request.stage == TSEED_STAGE_FETCH) {
        tseed_fetcher_adopt(misses->uses.context->fetcher, &flight->job->request.transfer);
    }
    tseed_flight_join(&misses->shared, flight, question, end);
}

/* Why the metatile at a position must not be derived just now, or NULL. The request has its answer
 * at once: how long a truncate takes is not for requests to wait. */
static const char *barred(const tseed_misses_t *misses, tseed_run_t *run, int64_t position)
{
    const tseed_metatile_t metatile = tseed_run_metatile(run, position);
    const int64_t truncate = tseed_cutoff_bars(misses->uses.cutoff, run, &metatile.wanted);

    return truncate ? apr_psprintf(misses->uses.context->scratch,
                                   "task %" APR_INT64_T_FMT
                                   ", a truncate, is removing the tiles that it is derived from",
                                   truncate)
                    : NULL;
}

/* Answers requests for tiles that a layer never writes, being of the colour above them, and
 * requests that want no other tiles than these. Returns 0 if the tile is to be made. */
static int answer_shade(tseed_misses_t *misses, const tseed_question_t *question, tseed_run_t *run,
                        int64_t position, int end)
{
    const tseed_reply_t reply = {.outcome = TSEED_MISS_SHADE};
    const tseed_shade_t *shade = tseed_savings_shade(misses->uses.savings, run, position);
    int file;

    if (!shade && question->is_shade_only) {
        tseed_miss_turn_away(end,
                             tseed_miss_reply(TSEED_MISS_REFUSED, BUSY_SECONDS, "it was not made"));
        return 1;
    }
    if (!shade || !run->tileset.layer->uniform.sparse) {
        return 0;
    }
    file = tseed_unstored_file(shade->data, shade->length);
    if (file < 0) {
        tseed_miss_turn_away(end, busy("there is no memory for it"));
        return 1;
    }
    tseed_miss_answer(end, &reply, file);
    close(file);
    return 1;
}

/* Returns whether the request waits now; if not, the request has its answer. */
static int join_flight(tseed_misses_t *misses, const tseed_question_t *question, int end)
{
    const char *problem = NULL;
    int64_t position;
    tseed_run_t *run = find_run(misses, question, &position, &problem);
    const apr_time_t now = tseed_clock_monotonic();
    const tseed_flight_t *failed;

    problem = run ? barred(misses, run, position) : problem;
    if (problem) {
        tseed_miss_turn_away(end, problem == too_many
                                      ? tseed_miss_reply(TSEED_MISS_REFUSED, 0, problem)
                                      : busy(problem));
        return 0;
    }
    if (answer_shade(misses, question, run, position, end)) {
        return 0;
    }
    failed = tseed_flight_failed(run, position, now);
    if (failed) {
        tseed_miss_turn_away(end, tseed_miss_reply(TSEED_MISS_FAILED,
                                                   1 + (int)apr_time_sec(failed->until - now),
                                                   failed->cause));
        return 0;
    }
    join(misses, tseed_flight_get(run, position), question, end);
    return 1;
}

/* Takes a place first: nothing is made for a request that gets none. */
static void let_wait(tseed_misses_t *misses, const tseed_question_t *question, int end)
{
    const char *problem = tseed_waiter_places_take(misses->shared.places, question->layer,
                                                   question->client, misses->uses.context->scratch);

    if (problem) {
        tseed_miss_turn_away(end, busy(problem));
    } else if (!join_flight(misses, question, end)) {
        tseed_waiter_places_leave(misses->shared.places, question->layer, question->client);
    }
}

static void let_in(tseed_misses_t *misses, const tseed_question_t *question, int end)
{
    if (question->tileset) {
        tseed_coverages_ask(misses->uses.coverages, question, end);
    } else {
        let_wait(misses, question, end);
    }
}

void tseed_misses_hear(tseed_misses_t *misses)
{
    tseed_question_t question;
    int end;
    apr_status_t rv;

    do {
        rv = tseed_miss_take(&question, &end, misses->uses.socket, misses->uses.context->scratch);
        if (rv == APR_SUCCESS) {
            let_in(misses, &question, end);
        }
    } while (rv == APR_SUCCESS || rv == APR_EINVAL);
}

void tseed_misses_send_away(tseed_misses_t *misses, const char *cause)
{
    tseed_question_t question;
    apr_status_t rv;
    int end;

    do {
        rv = tseed_miss_take(&question, &end, misses->uses.socket, misses->uses.context->scratch);
        if (rv == APR_SUCCESS) {
            tseed_miss_turn_away(end, tseed_miss_reply(TSEED_MISS_BUSY, AWAY_RETRY_AFTER, cause));
        }
    } while (rv == APR_SUCCESS || rv == APR_EINVAL);
}

/* ---- going away ---- */

/* A flight that nobody waits for any more is not begun. A request that the upstream has already
 * gives way to requests that somebody waits for; if there are none, its picture is stored. */
static void call_off(tseed_misses_t *misses, tseed_flight_t *flight)
{
    if (flight->waiters) {
        return;
    }
    if (!flight->job) {
        tseed_flight_forget(flight);
    } else if (flight->job->request.stage == TSEED_STAGE_FETCH) {
        tseed_fetcher_orphan(misses->uses.context->fetcher, &flight->job->request.transfer);
    }
}

void tseed_misses_part(tseed_misses_t *misses)
{
    struct epoll_event events[HANGUPS_AT_ONCE];
    int count = epoll_wait(misses->shared.hangups, events, HANGUPS_AT_ONCE, 0);

    for (int i = 0; i < count; i++) {
        tseed_waiter_t *waiter = events[i].data.ptr;
        tseed_flight_t *flight = waiter->flight;

        tseed_flight_leave(&misses->shared, waiter);
        call_off(misses, flight);
    }
}

/* ---- under way ---- */

/* Begins a flight, which may be over at once. Returns 0 if a task is at work on its metatile. */
static int begin(tseed_misses_t *misses, tseed_flight_t *flight)
{
    tseed_job_t *job =
        tseed_flow_begin(misses->uses.flow, flight->run, flight->position, &misses->sink);

    if (job) {
        flight->job = job;
        tseed_flow_start(misses->uses.flow, job, !flight->is_trial, (tseed_cell_shape_t){1, 1},
                         NULL);
    }
    return job != NULL;
}

static void feed(void *module)
{
    tseed_misses_t *misses = module;

    for (tseed_run_t *run = misses->uses.runs->background; run; run = run->next_run) {
        for (tseed_flight_t *flight = run->flights, *next; flight; flight = next) {
            next = flight->next;
            if (!flight->job) {
                begin(misses, flight);
            }
        }
        work_off(misses, run);
    }
}

/* ---- once a tick ---- */

/* The answer to requests that have waited too long. */
static tseed_reply_t late_of(const tseed_flight_t *flight)
{
    const tseed_job_t *job = flight->job;

    return busy(job && job->request.stage == TSEED_STAGE_FETCH
                    ? "the upstream has not answered in time"
                    : "it takes too long");
}

static void tick(void *module, apr_time_t now)
{
    tseed_misses_t *misses = module;

    for (tseed_run_t *run = misses->uses.runs->background; run; run = run->next_run) {
        for (tseed_flight_t *flight = run->flights, *next; flight; flight = next) {
            next = flight->next;
            if (flight->waiters || !flight->job) {
                const tseed_reply_t late = late_of(flight);

                tseed_flight_drop_late(&misses->shared, flight, &late, now);
                call_off(misses, flight);
            }
        }
        tseed_flight_forget_failed(run, now);
        tseed_ends_summarise(run, now);
    }
}

/* ---- asking again ---- */

static int have_upstream_in_common(const tseed_source_t *one, const tseed_source_t *other)
{
    for (int i = 0; i < one->count; i++) {
        for (int j = 0; j < other->count; j++) {
            if (one->addresses[i].upstream == other->addresses[j].upstream) {
                return 1;
            }
        }
    }
    return 0;
}

static void forget_trial(tseed_flight_t *flight)
{
    flight->is_trial = 0;
    if (!flight->waiters) {
        tseed_flight_forget(flight);
    }
}

/* Has the first metatile of a layer made anew, though nobody waits for it. Derived levels come last
 * in the sequence, so the upstream is asked. */
static void make_first(tseed_misses_t *misses, const tseed_layer_t *layer)
{
    const tseed_names_t names = {layer->name,
                                 APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t).gridset->name,
                                 APR_ARRAY_IDX(layer->formats, 0, tseed_format_t).mime,
                                 apr_table_make(misses->uses.context->scratch, 0)};
    tseed_flight_t *flight;
    tseed_run_t *run;

    if (tseed_open_tilesets_run(&run, misses->uses.open, &names, "") != APR_SUCCESS ||
        run->positions.count == 0) {
        return;
    }
    flight = tseed_flight_get(run, 0);
    if (flight->job) {
        return; /* it is being made, and its answer says as much */
    }
    flight->is_trial = 1;
    if (!begin(misses, flight)) {
        forget_trial(flight);
    }
}

/* An upstream that answers in vain shows by an answer alone that it is well again. One that is away
 * gets a probe. */
static void ask_for_failing(tseed_misses_t *misses, const tseed_upstream_t *upstream,
                            apr_time_t now)
{
    const tseed_context_t *context = misses->uses.context;
    tseed_outlook_t outlook;

    tseed_fetcher_outlook(context->fetcher, &outlook, upstream);
    for (int i = 0; !outlook.since && i < context->catalog->order->nelts; i++) {
        const tseed_layer_t *layer =
            APR_ARRAY_IDX(context->catalog->order, i, const tseed_layer_t *);

        const int is_ill = tseed_health_fails(misses->uses.health, layer, upstream, now);

        if (is_ill) {
            tseed_health_ask_again(misses->uses.health, layer);
            make_first(misses, layer);
        }
    }
}

void tseed_misses_ask_again(tseed_misses_t *misses, const tseed_layer_t *layer)
{
    const tseed_runs_t *runs = misses->uses.runs;
    const apr_time_t now = tseed_clock_monotonic();

    for (int i = 0; i < layer->source.count; i++) {
        tseed_fetcher_ask_again(misses->uses.context->fetcher, layer->source.addresses[i].upstream);
    }
    for (tseed_run_t *run = runs->background; run; run = run->next_run) {
        if (have_upstream_in_common(&run->tileset.layer->source, &layer->source)) {
            tseed_flight_forget_failed(run, INT64_MAX);
        }
    }
    for (tseed_run_t *run = runs->tasks; run; run = run->next_run) {
        if (run->tileset.layer &&
            have_upstream_in_common(&run->tileset.layer->source, &layer->source)) {
            tseed_ends_hurry(run, now);
        }
    }
    for (int i = 0; i < layer->source.count; i++) {
        ask_for_failing(misses, layer->source.addresses[i].upstream, now);
    }
}

/* ---- the module ---- */

tseed_misses_t *tseed_misses_create(const tseed_misses_uses_t *uses)
{
    const tseed_settings_t *settings = uses->context->settings;
    tseed_misses_t *misses = apr_pcalloc(uses->context->pool, sizeof(*misses));
    int of_layer = settings->miss_of_layer;

    if (of_layer == TSEED_WAITER_PLACES_FREE && uses->context->catalog->order->nelts == 1) {
        of_layer = settings->miss_waiters; /* there is no other layer to leave places to */
    }
    misses->uses = *uses;
    misses->client = (tseed_client_t){.module = misses, .feed = feed, .tick = tick};
    misses->sink = (tseed_sink_t){.module = misses,
                                  .prepare = prepare,
                                  .finish = finished,
                                  .give_up = give_up,
                                  .failed = fail,
                                  .refuse = refuse,
                                  .discard = discard};
    misses->shared.places = tseed_waiter_places_create(
        settings->miss_waiters, of_layer, settings->miss_of_client, uses->context->pool);
    misses->shared.hangups = -1;
    return misses;
}

tseed_client_t *tseed_misses_client(tseed_misses_t *misses)
{
    return &misses->client;
}

apr_status_t tseed_misses_open(tseed_misses_t *misses)
{
    misses->shared.hangups = epoll_create1(EPOLL_CLOEXEC);
    return misses->shared.hangups < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

int tseed_misses_waiting(const tseed_misses_t *misses)
{
    return tseed_waiter_places_taken(misses->shared.places);
}

int tseed_misses_hangups(const tseed_misses_t *misses)
{
    return misses->shared.hangups;
}
