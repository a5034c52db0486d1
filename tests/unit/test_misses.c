/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Misses: requests for one metatile share one job, and each request hears what became of its tile.
 * The modules that misses use are replaced here: they note what they are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "board/tseed_counters.h"
#include "flow_fixture.h"
#include "pipeline/tseed_ends.h"
#include "seeder/tseed_flight.h"
#include "seeder/tseed_misses.h"

#define PLACES  4
#define ASKERS  8
#define NOTHING (-1) /* instead of an outcome: the request still waits */

/* ---- who asks ---- */

typedef struct {
    int end;    /* the client's, and the seeder's until it has answered */
    int seeder; /* -1: answered */
    int outcome;
    int retry_after;
    char cause[TSEED_MISS_CAUSE_SIZE];
    int has_tile;
} asker_t;

static asker_t askers[ASKERS];
static int asked;                      /* of the askers */
static tseed_question_t next_question; /* layer NULL: none */

apr_status_t tseed_miss_take(tseed_question_t *question, int *end, int miss_socket, apr_pool_t *p)
{
    (void)miss_socket;
    (void)p;
    if (!next_question.layer) {
        return APR_EAGAIN;
    }
    *question = next_question;
    *end = askers[asked - 1].seeder;
    next_question.layer = NULL;
    return APR_SUCCESS;
}

void tseed_miss_answer(int end, const tseed_reply_t *reply, int tile)
{
    asker_t *asker = askers;

    while (asker->seeder != end) {
        asker++;
    }
    asker->seeder = -1;
    asker->outcome = reply->outcome;
    asker->retry_after = reply->retry_after;
    strcpy(asker->cause, reply->cause);
    asker->has_tile = tile >= 0;
    close(end);
}

/* ---- what misses use ---- */

static tseed_run_t run; /* the background run of the only tile set */
static apr_status_t run_status;

apr_status_t tseed_open_tilesets_run(tseed_run_t **found, tseed_open_tilesets_t *open,
                                     const tseed_names_t *names, const char *client)
{
    (void)open;
    (void)names;
    (void)client;
    *found = &run;
    return run_status;
}

void tseed_open_tilesets_settle(tseed_open_tilesets_t *open, const tseed_book_tileset_t *booked)
{
    (void)open;
    (void)booked;
}

void tseed_quota_wait_put(tseed_quota_wait_t *wait, const tseed_job_t *job)
{
    (void)wait;
    job->run->pause_until = now + APR_USEC_PER_SEC;
}

void tseed_quota_wait_end(tseed_run_t *of, apr_time_t when)
{
    (void)of;
    (void)when;
}

static tseed_shade_t *shade; /* of all tiles; NULL: none is pruned */

const tseed_shade_t *tseed_savings_shade(tseed_savings_t *savings, tseed_run_t *of,
                                         int64_t position)
{
    (void)savings;
    (void)of;
    (void)position;
    return shade;
}

int tseed_savings_paint(tseed_savings_t *savings, tseed_job_t *job)
{
    (void)savings;
    job->savings.shade = shade;
    job->savings.is_made_of_shade = shade != NULL;
    return shade != NULL;
}

void tseed_ends_hurry(tseed_run_t *of, apr_time_t when)
{
    (void)of;
    (void)when;
}

void tseed_ends_note(tseed_run_t *of, const char *cause, apr_time_t when)
{
    (void)cause;
    (void)when;
    of->errors++;
}

void tseed_ends_summarise(tseed_run_t *of, apr_time_t when)
{
    (void)of;
    (void)when;
}

static tseed_counted_t tiles; /* of layer 3, for requests */

void tseed_counters_tiles(tseed_board_t *board, unsigned layer, tseed_work_kind_t work,
                          tseed_counted_t *counted, const tseed_counted_t *more)
{
    (void)board;
    assert_int_equal(layer, 3);
    assert_int_equal(work, TSEED_WORK_REQUEST);
    for (int act = 0; act < TSEED_ACTS; act++) {
        tiles.acts[act] += more->acts[act] - counted->acts[act];
    }
    tiles.bytes += more->bytes - counted->bytes;
}

/* ---- a module with requests ---- */

static tseed_settings_t settings;
static tseed_context_t context;
static tseed_catalog_t catalog;
static tseed_cache_t cache;
static tseed_task_t task;
static const tseed_layer_t layer = {.name = "states", .counted = 3};
static tseed_run_t seed; /* a task in the same tile set */
static tseed_runs_t runs;
static tseed_book_tileset_t booked;
static tseed_health_t *health;
static tseed_flow_t *flow;
static tseed_misses_t *misses;

/* Level 3 has 8 x 8 tiles: four metatiles of 4 x 4. */
static void make_runs(void)
{
    static const tseed_shape_t shape = {3, 3, 4, 4};
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:900913");

    task = (tseed_task_t){.layer = "states"};
    run = seed = (tseed_run_t){.task = &task, .tileset = {.layer = &layer}, .booked = &booked};
    run.is_background = 1;
    tseed_positions_init(&run.positions, gridset, &gridset->extent, &shape);
    runs = (tseed_runs_t){.tasks = &seed, .background = &run};
}

static int setup(void **state)
{
    (void)state;
    forget_neighbours();
    asked = 0;
    shade = NULL;
    run_status = APR_SUCCESS;
    settings = (tseed_settings_t){
        .miss_waiters = PLACES, .miss_of_layer = PLACES, .miss_of_client = PLACES};
    context = (tseed_context_t){
        .settings = &settings, .catalog = &catalog, .pool = pool, .scratch = pool};
    memset(&tiles, 0, sizeof(tiles));
    cache.book = tseed_book_create(pool);
    make_runs();
    health = tseed_health_create(pool);
    flow = tseed_flow_create(&(tseed_flow_uses_t){
        .context = &context, .runs = &runs, .health = health, .fleet = &fleet});
    misses =
        tseed_misses_create(&(tseed_misses_uses_t){.context = &context,
                                                   .runs = &runs,
                                                   .cache = &cache,
                                                   .flow = flow,
                                                   .health = health,
                                                   .cutoff = tseed_cutoff_create(&context, &runs)});
    return tseed_misses_open(misses);
}

static void tick_at(apr_time_t when)
{
    tseed_client_t *client = tseed_misses_client(misses);

    now = when;
    client->tick(client->module, now);
}

/* Nothing is left when all failures count no more. */
static int teardown(void **state)
{
    (void)state;
    tick_at(now + 100 * APR_USEC_PER_SEC);
    close(tseed_misses_hangups(misses));
    for (int i = 0; i < asked; i++) {
        if (askers[i].end >= 0) {
            close(askers[i].end);
        }
    }
    return run.flights || run.failed || run.jobs;
}

static void feed(void)
{
    tseed_client_t *client = tseed_misses_client(misses);

    client->feed(client->module);
}

/* Asks for a tile of level 3; the job of the first metatile is jobs[0]. */
static asker_t *ask(int64_t x, int64_t y)
{
    asker_t *asker = &askers[asked++];
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    *asker = (asker_t){.end = pair[0], .seeder = pair[1], .outcome = NOTHING};
    next_question = (tseed_question_t){
        .layer = "states", .gridset = "EPSG:900913", .tile = {3, x, y}, .client = "10.0.0.1"};
    tseed_misses_hear(misses);
    feed();
    return asker;
}

static void leave(asker_t *asker)
{
    close(asker->end);
    tseed_misses_part(misses);
    asker->end = asker->seeder = -1;
}

static void come_back(tseed_job_t *job)
{
    give_back(job);
    feed();
}

static void check(tseed_job_t *job, uint64_t present)
{
    assert_int_equal(job->request.stage, TSEED_STAGE_CHECK);
    job->result.outcome = TSEED_JOB_OK;
    job->result.present[0] = present;
    come_back(job);
}

static void fetch(tseed_job_t *job, tseed_fetch_result_t result, const char *cause)
{
    assert_int_equal(job->request.stage, TSEED_STAGE_FETCH);
    job->request.transfer.result = result;
    strcpy(job->request.transfer.cause, cause);
    come_back(job);
}

/* A worker takes the job out of the queue. */
static void begin_cut(tseed_job_t *job)
{
    assert_ptr_equal(tseed_queue_take(&run.ready), job);
    tseed_flow_work(flow, job, TSEED_STAGE_CUT);
}

static void cut(tseed_job_t *job, tseed_outcome_t outcome)
{
    job->result.outcome = outcome;
    come_back(job);
}

/* A job with no tile there and its picture at hand. */
static void go_to_cut(tseed_job_t *job)
{
    check(job, 0);
    fetch(job, TSEED_FETCH_OK, "");
    begin_cut(job);
}

static void assert_told(const asker_t *asker, tseed_miss_outcome_t outcome, const char *cause)
{
    assert_int_equal(asker->outcome, outcome);
    assert_string_equal(asker->cause, cause);
}

static void assert_waits(const asker_t *asker)
{
    assert_int_equal(asker->outcome, NOTHING);
}

/* Puts a job under way in a run. */
static void add_job(tseed_run_t *of, tseed_job_t *job)
{
    job->run = of;
    tseed_run_job_add(of, job);
}

/* ---- one job for all ---- */

static void test_misses__make_a_metatile_once_for_all_who_wait(void **state)
{
    const asker_t *first = ask(4, 4), *second = ask(5, 7), *third;

    (void)state;
    assert_int_equal(jobs_begun, 1);
    go_to_cut(&jobs[0]);
    third = ask(7, 7); /* while a worker is at it */
    assert_int_equal(jobs_begun, 1);
    assert_int_equal(fetches, 1);
    assert_waits(first);
    cut(&jobs[0], TSEED_JOB_OK);
    assert_told(first, TSEED_MISS_STORED, "");
    assert_told(second, TSEED_MISS_STORED, "");
    assert_told(third, TSEED_MISS_STORED, "");
    assert_int_equal(jobs_ended, 1);
}

static void test_misses__make_each_metatile_by_a_job_of_its_own(void **state)
{
    const asker_t *first = ask(0, 0), *second = ask(4, 0);

    (void)state;
    assert_int_equal(jobs_begun, 2);
    check(&jobs[1], 0xffff);
    assert_waits(first);
    assert_told(second, TSEED_MISS_STORED, "");
    check(&jobs[0], 0xffff);
    assert_told(first, TSEED_MISS_STORED, "");
    assert_int_equal(fetches, 0);
}

static void test_misses__wait_for_a_task_at_work_on_the_metatile(void **state)
{
    tseed_job_t of_task = {.metatile = {.whole = {3, 0, 0, 3, 3}, .wanted = {3, 0, 0, 3, 3}}};
    const asker_t *asker;

    (void)state;
    add_job(&seed, &of_task);
    asker = ask(1, 1);
    assert_int_equal(jobs_begun, 0);
    tseed_run_job_remove(&seed, &of_task);
    feed();
    assert_int_equal(jobs_begun, 1);
    check(&jobs[0], 0xffff);
    assert_told(asker, TSEED_MISS_STORED, "");
}

/* ---- failures ---- */

static void test_misses__tell_all_why_the_upstream_failed(void **state)
{
    const asker_t *first = ask(0, 0), *second = ask(1, 0), *early;

    (void)state;
    check(&jobs[0], 0);
    fetch(&jobs[0], TSEED_FETCH_FAILED, "it is gone");
    assert_told(first, TSEED_MISS_FAILED, "it is gone");
    assert_told(second, TSEED_MISS_FAILED, "it is gone");
    assert_int_equal(first->retry_after, 10);
    assert_int_equal(run.errors, 1);
    now += 7 * APR_USEC_PER_SEC;
    early = ask(3, 3);
    assert_told(early, TSEED_MISS_FAILED, "it is gone");
    assert_int_equal(early->retry_after, 4); /* 3 s and what is left of one */
    assert_int_equal(jobs_begun, 1);
}

static void test_misses__ask_again_when_a_failure_counts_no_more(void **state)
{
    const asker_t *late;

    (void)state;
    ask(0, 0);
    check(&jobs[0], 0);
    fetch(&jobs[0], TSEED_FETCH_FAILED, "it is gone");
    now += 10 * APR_USEC_PER_SEC;
    late = ask(0, 0);
    assert_int_equal(jobs_begun, 2);
    check(&jobs[1], 0xffff);
    assert_told(late, TSEED_MISS_STORED, "");
}

static void test_misses__do_not_ask_an_upstream_before_it_is_due(void **state)
{
    const asker_t *asker = ask(0, 0);

    (void)state;
    outlook = (tseed_outlook_t){.since = 1, .next = now + 1, .cause = "no connection"};
    check(&jobs[0], 0);
    assert_told(asker, TSEED_MISS_FAILED, "no connection");
    assert_int_equal(fetches, 0);
}

static void test_misses__an_answer_that_is_no_picture_is_a_failure(void **state)
{
    const asker_t *asker = ask(0, 0);

    (void)state;
    go_to_cut(&jobs[0]);
    strcpy(jobs[0].result.cause, "a text");
    cut(&jobs[0], TSEED_JOB_BAD_ANSWER);
    assert_told(asker, TSEED_MISS_FAILED, "a text");
}

/* A job of a derived metatile, whose stage DERIVE has come back. */
static void derive(tseed_job_t *job, tseed_outcome_t outcome)
{
    assert_int_equal(job->request.stage, TSEED_STAGE_DERIVE);
    job->result.outcome = outcome;
    come_back(job);
}

static void test_misses__derive_though_the_upstream_is_away(void **state)
{
    const asker_t *asker;

    (void)state;
    run.positions.derived = (tseed_derived_t){3, 4};
    outlook = (tseed_outlook_t){.since = 1, .next = now + 1, .cause = "no connection"};
    asker = ask(0, 0);
    check(&jobs[0], 0);
    assert_waits(asker);
    assert_int_equal(fetches, 0);
    derive(&jobs[0], TSEED_JOB_OK);
    begin_cut(&jobs[0]);
    cut(&jobs[0], TSEED_JOB_OK);
    assert_told(asker, TSEED_MISS_STORED, "");
}

/* Who asks for a tile that could be made gets it; the failure is no answer of the upstream. */
static void test_misses__say_which_tile_below_is_missing(void **state)
{
    const asker_t *lacking, *made;

    (void)state;
    run.positions.derived = (tseed_derived_t){3, 4};
    lacking = ask(5, 7);
    made = ask(4, 4);
    check(&jobs[0], 0);
    jobs[0].result.lacking[0] = 1 << 13; /* the fourth row's second */
    derive(&jobs[0], TSEED_JOB_OK);
    begin_cut(&jobs[0]);
    strcpy(jobs[0].result.cause, "tile 4/10/14 is missing");
    cut(&jobs[0], TSEED_JOB_LACKS);
    assert_told(made, TSEED_MISS_STORED, "");
    assert_told(lacking, TSEED_MISS_REFUSED, "tile 4/10/14 is missing");
    assert_int_equal(run.errors, 0);
    assert_null(run.failed);
}

static void test_misses__leave_a_metatile_alone_that_crashed_two_seeders(void **state)
{
    (void)state;
    crashes = 2;
    assert_told(ask(0, 0), TSEED_MISS_FAILED, "the seeder crashed twice at work on it");
    assert_int_equal(run.working, 0);
}

/* ---- refusals ---- */

static void test_misses__refuse_one_tile_set_too_many(void **state)
{
    const asker_t *asker;

    (void)state;
    run_status = APR_ENOSPC;
    for (int i = 0; i <= PLACES; i++) { /* each gives back its place */
        asker = ask(0, 0);
        assert_int_equal(asker->outcome, TSEED_MISS_REFUSED);
        assert_int_equal(asker->retry_after, 0);
        assert_non_null(strstr(asker->cause, "TileSeedMaxTileSets"));
    }
    assert_int_equal(jobs_begun, 0);
}

static void test_misses__are_busy_while_the_tile_set_is_not_to_be_had(void **state)
{
    (void)state;
    run_status = APR_NOTFOUND;
    assert_told(ask(0, 0), TSEED_MISS_BUSY, "the configuration is just being changed");
    run_status = APR_EGENERAL;
    assert_told(ask(0, 0), TSEED_MISS_BUSY,
                "the state database can't be written; the error log says why");
    run_status = APR_SUCCESS;
    assert_told(ask(8, 0), TSEED_MISS_BUSY, "the configuration is just being changed");
    assert_null(run.flights);
}

static void test_misses__have_no_more_waiters_than_places(void **state)
{
    const asker_t *asker[PLACES + 1];

    (void)state;
    for (int i = 0; i <= PLACES; i++) {
        asker[i] = ask(i % 4, 0);
    }
    assert_int_equal(asker[PLACES]->outcome, TSEED_MISS_BUSY);
    check(&jobs[0], 0xffff);
    assert_told(asker[0], TSEED_MISS_STORED, "");
    assert_waits(ask(0, 0)); /* there is a place again */
    check(&jobs[1], 0xffff);
}

/* ---- without room ---- */

static void test_misses__pass_on_what_there_is_no_room_for(void **state)
{
    const asker_t *first = ask(0, 0), *second = ask(1, 0);

    (void)state;
    go_to_cut(&jobs[0]);
    assert_int_equal(jobs[0].request.unstored->count, 2);
    assert_int_equal(jobs[0].request.unstored->tiles[1].x, 0); /* who asked last stands first */
    jobs[0].request.unstored->files[1] = open("/dev/null", O_RDONLY);
    cut(&jobs[0], TSEED_JOB_NO_ROOM);
    assert_told(first, TSEED_MISS_PASSED, "there is no room for it");
    assert_true(first->has_tile);
    assert_told(second, TSEED_MISS_BUSY, "there is no room for it");
    assert_int_equal(jobs[0].request.due, now + APR_USEC_PER_SEC);
    begin_cut(&jobs[0]);
    cut(&jobs[0], TSEED_JOB_NO_ROOM); /* tried once more */
    assert_int_equal(jobs_ended, 1);
}

/* ---- clients that leave ---- */

static void test_misses__begin_nothing_that_nobody_waits_for(void **state)
{
    tseed_job_t of_task = {.metatile = {.whole = {3, 0, 0, 3, 3}}};

    (void)state;
    add_job(&seed, &of_task);
    leave(ask(1, 1));
    tseed_run_job_remove(&seed, &of_task);
    feed();
    assert_int_equal(jobs_begun, 0);
    assert_null(run.flights);
}

static void test_misses__let_a_fetch_give_way_while_nobody_waits(void **state)
{
    asker_t *first = ask(0, 0), *second = ask(1, 0);
    const asker_t *third;

    (void)state;
    check(&jobs[0], 0);
    leave(first);
    assert_int_equal(orphans, 0);
    leave(second);
    assert_int_equal(orphans, 1);
    third = ask(2, 0);
    assert_int_equal(adoptions, 1);
    fetch(&jobs[0], TSEED_FETCH_CANCELLED, ""); /* it had given way before that */
    assert_int_equal(fetches, 2);
    fetch(&jobs[0], TSEED_FETCH_OK, "");
    begin_cut(&jobs[0]);
    cut(&jobs[0], TSEED_JOB_OK);
    assert_told(third, TSEED_MISS_STORED, "");
}

static void test_misses__end_a_fetch_that_gave_way(void **state)
{
    asker_t *asker = ask(0, 0);

    (void)state;
    check(&jobs[0], 0);
    leave(asker);
    fetch(&jobs[0], TSEED_FETCH_CANCELLED, "");
    assert_int_equal(jobs_ended, 1);
    assert_int_equal(fetches, 1);
    assert_null(run.failed);
}

static void test_misses__fetch_a_stale_answer_again(void **state)
{
    const asker_t *asker = ask(0, 0);

    (void)state;
    check(&jobs[0], 0);
    jobs[0].accounts.is_stale = 1; /* a truncate came in between */
    fetch(&jobs[0], TSEED_FETCH_OK, "");
    assert_int_equal(fetches, 2);
    assert_waits(asker);
    jobs[0].accounts.is_stale = 0;
    fetch(&jobs[0], TSEED_FETCH_FAILED, "it is gone");
    assert_told(asker, TSEED_MISS_FAILED, "it is gone");
}

/* ---- time and ends ---- */

static void test_misses__wait_no_longer_than_children_do(void **state)
{
    const apr_time_t late = now + apr_time_from_sec(TSEED_MISS_SECONDS);
    const asker_t *first = ask(0, 0), *second;

    (void)state;
    check(&jobs[0], 0);
    now++;
    second = ask(4, 0);
    tick_at(late - APR_USEC_PER_SEC);
    assert_waits(first);
    tick_at(late);
    assert_told(first, TSEED_MISS_BUSY, "the upstream has not answered in time");
    assert_int_equal(orphans, 1);
    tick_at(late + APR_USEC_PER_SEC);
    assert_told(second, TSEED_MISS_BUSY, "it takes too long");
    fetch(&jobs[0], TSEED_FETCH_CANCELLED, "");
    check(&jobs[1], 0xffff);
}

/* The children ask the next seeder. */
static void test_misses__say_nothing_when_the_seeder_stops(void **state)
{
    asker_t *asker = ask(0, 0);

    (void)state;
    go_to_cut(&jobs[0]);
    atomic_store(&run.stopped, 1);
    jobs[0].result.outcome = TSEED_JOB_STOPPED;
    give_back(&jobs[0]); /* nothing is fed any more */
    assert_waits(asker);
    leave(asker);
}

static void test_misses__count_the_tiles(void **state)
{
    (void)state;
    ask(0, 0); /* two tiles are there, and fourteen are made */
    check(&jobs[0], 0x3);
    fetch(&jobs[0], TSEED_FETCH_OK, "");
    begin_cut(&jobs[0]);
    jobs[0].result.written[0] = 0xfffc;
    jobs[0].result.bytes = 1400;
    cut(&jobs[0], TSEED_JOB_OK);
    ask(4, 0); /* all are there */
    check(&jobs[1], 0xffff);
    ask(0, 4); /* fifteen are missing and can't be made */
    check(&jobs[2], 0x1);
    fetch(&jobs[2], TSEED_FETCH_FAILED, "HTTP 404");
    assert_int_equal(tiles.acts[TSEED_ACT_MADE], 14);
    assert_int_equal(tiles.acts[TSEED_ACT_FAILED], 15);
    assert_int_equal(tiles.acts[TSEED_ACT_SKIPPED], 0);
    assert_int_equal(tiles.bytes, 1400);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_misses__##name, setup, teardown)

/* ---- pruned tiles ---- */

/* A shade, and how its layer treats it. */
static void prune(int sparse)
{
    static tseed_layer_t pruned;

    pruned = *run.tileset.layer;
    pruned.uniform = (tseed_uniform_config_t){.is_on = 1, .sparse = sparse};
    run.tileset.layer = &pruned;
    shade = calloc(1, sizeof(*shade) + 3);
    shade->length = 3;
    memcpy(shade->data, "sea", 3);
}

static void test_misses__a_pruned_tile_needs_no_upstream(void **state)
{
    const asker_t *asker;

    (void)state;
    prune(0);
    asker = ask(4, 4);
    check(&jobs[0], 0);
    assert_int_equal(fetches, 0);
    begin_cut(&jobs[0]);
    assert_true(jobs[0].savings.is_made_of_shade);
    assert_ptr_equal(jobs[0].savings.shade, shade);
    cut(&jobs[0], TSEED_JOB_OK);
    assert_told(asker, TSEED_MISS_STORED, "");
    free(shade);
}

static void test_misses__a_sparse_tile_comes_from_memory(void **state)
{
    const asker_t *asker;

    (void)state;
    prune(1);
    asker = ask(4, 4);
    assert_told(asker, TSEED_MISS_SHADE, "");
    assert_true(asker->has_tile);
    assert_int_equal(jobs_begun, 0);
    free(shade);
}

/* ---- asking again ---- */

/* A layer of an upstream, to be asked again. */
static const tseed_layer_t *make_listed(void)
{
    static const tseed_upstream_t upstream;
    static tseed_layer_t listed;

    listed = *run.tileset.layer;
    listed.source.count = 1;
    listed.source.addresses[0].upstream = &upstream;
    listed.subsets = apr_array_make(pool, 1, sizeof(tseed_subset_t));
    APR_ARRAY_PUSH(listed.subsets, tseed_subset_t) =
        (tseed_subset_t){.gridset = tseed_gridset_builtin("EPSG:900913")};
    listed.formats = apr_array_make(pool, 1, sizeof(tseed_format_t));
    APR_ARRAY_PUSH(listed.formats, tseed_format_t) = (tseed_format_t){.mime = "image/png"};
    catalog.order = apr_array_make(pool, 1, sizeof(const tseed_layer_t *));
    APR_ARRAY_PUSH(catalog.order, const tseed_layer_t *) = &listed;
    run.tileset.layer = &listed;
    return &listed;
}

/* A layer that fails gets its first metatile made, by one job whoever else wants the metatile. */
static void test_misses__try_a_layer_that_is_asked_again(void **state)
{
    const tseed_layer_t *listed = make_listed();
    const asker_t *asker;

    (void)state;
    tseed_misses_ask_again(misses, listed);
    assert_int_equal(jobs_begun, 0); /* nothing is known to be wrong */
    ask(4, 4);
    check(&jobs[0], 0);
    jobs[0].request.transfer.sent = 1;
    fetch(&jobs[0], TSEED_FETCH_FAILED, "HTTP 500");
    asker = ask(0, 0);
    assert_int_equal(jobs_begun, 2);
    tseed_misses_ask_again(misses, listed);
    assert_int_equal(jobs_begun, 2);
    check(&jobs[1], 0);
    jobs[1].request.transfer.sent = 1;
    fetch(&jobs[1], TSEED_FETCH_FAILED, "HTTP 500");
    assert_told(asker, TSEED_MISS_FAILED, "HTTP 500");
    tseed_misses_ask_again(misses, listed);
    assert_int_equal(jobs_begun, 3); /* nobody waits for it, and its tiles may be there */
    feed();
    fetch(&jobs[2], TSEED_FETCH_OK, "");
    begin_cut(&jobs[2]);
    cut(&jobs[2], TSEED_JOB_OK);
    assert_int_equal(jobs_ended, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(make_a_metatile_once_for_all_who_wait),
        TEST(make_each_metatile_by_a_job_of_its_own),
        TEST(wait_for_a_task_at_work_on_the_metatile),
        TEST(tell_all_why_the_upstream_failed),
        TEST(ask_again_when_a_failure_counts_no_more),
        TEST(do_not_ask_an_upstream_before_it_is_due),
        TEST(an_answer_that_is_no_picture_is_a_failure),
        TEST(derive_though_the_upstream_is_away),
        TEST(say_which_tile_below_is_missing),
        TEST(leave_a_metatile_alone_that_crashed_two_seeders),
        TEST(refuse_one_tile_set_too_many),
        TEST(are_busy_while_the_tile_set_is_not_to_be_had),
        TEST(have_no_more_waiters_than_places),
        TEST(pass_on_what_there_is_no_room_for),
        TEST(begin_nothing_that_nobody_waits_for),
        TEST(let_a_fetch_give_way_while_nobody_waits),
        TEST(end_a_fetch_that_gave_way),
        TEST(fetch_a_stale_answer_again),
        TEST(wait_no_longer_than_children_do),
        TEST(say_nothing_when_the_seeder_stops),
        TEST(count_the_tiles),
        TEST(a_pruned_tile_needs_no_upstream),
        TEST(a_sparse_tile_comes_from_memory),
        TEST(try_a_layer_that_is_asked_again),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
