/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sharing: which runs are partners, who gets which answer, and who waits for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "board_memory.h"
#include "books/tseed_jobs.h"
#include "savings/tseed_join.h"
#include "savings/tseed_sharing.h"
#include "tileset_fixture.h"

#define NOW  (100000 * APR_USEC_PER_SEC) /* monotonic */
#define LAST 6                           /* level of 32 x 32 metatiles of 2 x 2 */

/* Tasks of one layer in two formats, and of another layer. */
enum { PNG, WEBP, OTHER, RUNS };

static const tseed_upstream_t server, other_server;
static tileset_fixture_t tilesets[RUNS];
static tseed_task_t tasks[RUNS];
static tseed_run_t all[RUNS];
static tseed_runs_t runs;
static tseed_context_t context;
static tseed_session_t session;
static tseed_cache_t cache;
static tseed_mailbox_t mailbox;
static tseed_sharing_t *sharing;
static tseed_job_t jobs[12];
static int count;
static const tseed_job_t *back[8]; /* the jobs that have come back */
static int backs;
static tseed_board_t *board;

static void take_back(void *module, void *about)
{
    (void)module;
    back[backs++] = about;
}

static void make_run(int i, const char *url)
{
    tileset_fixture_t *fixture = &tilesets[i];
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:3857");
    tseed_run_t *run = &all[i];

    tileset_fixture_init(fixture, "/tmp", TSEED_LAYOUT_GEOWEBCACHE);
    fixture->subset.gridset = gridset;
    fixture->layer.source.kind = TSEED_SOURCE_XYZ;
    fixture->layer.source.count = 1;
    fixture->layer.source.addresses[0] = (tseed_address_t){url, &server};
    tasks[i] = (tseed_task_t){.id = i + 1, .layer = "a", .meta_width = 2, .meta_height = 2};
    *run = (tseed_run_t){.task = &tasks[i],
                         .tileset = fixture->tileset,
                         .booked = (void *)fixture, /* any of its own */
                         .terminated = 1,           /* so that the board has no slot of it */
                         .measured_at = NOW,
                         .threads = 2,
                         .next_run = i + 1 < RUNS ? run + 1 : NULL};
    tseed_positions_init(&run->positions, gridset, &gridset->extent,
                         &(tseed_shape_t){LAST, LAST, 2, 2});
}

/* It counts what runs have done. */
static int setup(void **state)
{
    tseed_display_t *display;

    (void)state;
    make_run(PNG, "http://maps/{z}/{x}/{y}.png");
    make_run(WEBP, "http://maps/{z}/{x}/{y}.png");
    make_run(OTHER, "http://maps/other/{z}/{x}/{y}.png");
    runs = (tseed_runs_t){.tasks = all, .count = RUNS};
    memset(jobs, 0, sizeof(jobs));
    count = backs = 0;
    board = make_board(1, 1);
    context = (tseed_context_t){.pool = pool, .scratch = pool, .mailbox = &mailbox, .board = board};
    tseed_mailbox_init(&mailbox);
    display = tseed_display_create(&context, &session, tseed_durable_create(&cache, pool));
    sharing = tseed_sharing_create(&context, &runs, display);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tseed_sharing_forget(sharing);
    for (int i = 0; i < count; i++) {
        free(jobs[i].request.transfer.body);
    }
    close(mailbox.wake);
    free(board->segment);
    return 0;
}

/* A job of a metatile in a column and row of metatiles, which is to be fetched. */
static tseed_job_t *job_of(int run, int64_t x, int64_t y)
{
    tseed_job_t *job = &jobs[count++];

    job->letter = (tseed_letter_t){.take = take_back, .about = job};
    job->run = &all[run];
    job->position = tseed_positions_of(&all[run].positions, LAST, 2 * x, 2 * y);
    job->metatile = tseed_positions_at(&all[run].positions, job->position);
    return tseed_join_chain(job);
}

static void answer(tseed_job_t *job, tseed_fetch_result_t result)
{
    tseed_transfer_t *transfer = &job->request.transfer;

    transfer->result = result;
    transfer->sent = 1;
    transfer->http_status = 200;
    if (result == TSEED_FETCH_OK) {
        transfer->body = (unsigned char *)strdup("a picture");
        transfer->length = transfer->capacity = 9;
    }
    tseed_sharing_arrive(sharing, job);
}

/* Lets a job follow if there is a request to follow; returns whether it does. */
static int follows(tseed_job_t *job)
{
    tseed_range_t asked;
    int address;
    tseed_shared_request_t *request = tseed_sharing_find(sharing, job, &asked, &address);

    if (!request) {
        return 0;
    }
    assert_int_equal(address, 0);
    job->savings.asked = asked;
    return tseed_sharing_follow(sharing, request, job);
}

static void assert_has_copy(const tseed_job_t *job)
{
    tseed_mailbox_take(&mailbox);
    assert_int_equal(backs, 1);
    assert_ptr_equal(back[0], job);
    backs = 0;
    assert_true(job->savings.follows);
    assert_int_equal(job->request.transfer.result, TSEED_FETCH_OK);
    assert_int_equal(job->request.transfer.http_status, 200);
    assert_int_equal(job->request.transfer.sent, 0);
    assert_int_equal(job->request.transfer.length, 9);
    assert_memory_equal(job->request.transfer.body, "a picture", 9);
}

static void test_sharing__a_partner_gets_a_copy_of_what_comes(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4), *follower = job_of(WEBP, 3, 4);

    (void)state;
    tseed_sharing_ask(sharing, leader, 0);
    assert_true(follows(follower));
    tseed_mailbox_take(&mailbox);
    assert_int_equal(backs, 0);
    answer(leader, TSEED_FETCH_OK);
    assert_has_copy(follower);
    assert_ptr_not_equal(follower->request.transfer.body, leader->request.transfer.body);
    assert_false(follows(job_of(WEBP, 3, 4))); /* the only partner has had it */
}

static void test_sharing__a_late_partner_gets_what_was_kept(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4), *follower = job_of(WEBP, 3, 4);

    (void)state;
    tseed_sharing_ask(sharing, leader, 0);
    answer(leader, TSEED_FETCH_OK);
    assert_true(follows(follower));
    assert_has_copy(follower);
    assert_false(follows(job_of(WEBP, 3, 4)));
}

/* Requests for a metatile, which are answered at once. */
static void ask_often(tseed_job_t *leader, int times)
{
    while (times-- > 0) {
        tseed_sharing_ask(sharing, leader, 0);
        answer(leader, TSEED_FETCH_OK);
        free(leader->request.transfer.body);
        leader->request.transfer.body = NULL;
    }
}

static void test_sharing__the_latest_answers_are_kept(void **state)
{
    tseed_job_t *first = job_of(PNG, 3, 4), *other = job_of(PNG, 9, 9);

    (void)state;
    ask_often(first, 1);
    ask_often(other, 1023);
    assert_int_equal(tseed_sharing_cell(sharing, &all[WEBP], &first->metatile).columns, 1);
    ask_often(other, 1);
    assert_int_equal(tseed_sharing_cell(sharing, &all[WEBP], &first->metatile).columns, 0);
    assert_int_equal(tseed_sharing_cell(sharing, &all[WEBP], &other->metatile).columns, 1);
}

static void test_sharing__what_was_asked_before_a_run_began_is_no_use(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4);

    (void)state;
    tseed_sharing_ask(sharing, leader, 0);
    answer(leader, TSEED_FETCH_OK);
    all[WEBP].begun = tseed_clock_monotonic() + 1;
    assert_false(follows(job_of(WEBP, 3, 4)));
    assert_int_equal(tseed_sharing_cell(sharing, &all[WEBP], &leader->metatile).columns, 0);
    all[WEBP].begun = 0;
    assert_true(follows(job_of(WEBP, 3, 4)));
}

static void test_sharing__other_pictures_are_no_use(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4);

    (void)state;
    tseed_sharing_ask(sharing, leader, 0);
    assert_false(follows(job_of(OTHER, 3, 4)));
    assert_false(follows(job_of(WEBP, 3, 5)));
    assert_false(follows(job_of(PNG, 3, 4))); /* of the run itself */
    all[OTHER].booked = all[PNG].booked;
    all[OTHER].picture = all[PNG].picture;
    assert_false(follows(job_of(OTHER, 3, 4))); /* of its tile set */
    all[OTHER].picture = 0;
    tasks[WEBP].gutter = 3;
    all[WEBP].picture = 0;
    assert_false(follows(job_of(WEBP, 3, 4)));
    tasks[WEBP].gutter = 0;
    all[WEBP].picture = 0;
    tilesets[WEBP].layer.source.addresses[0].upstream = &other_server; /* with other credentials */
    assert_false(follows(job_of(WEBP, 3, 4)));
    tilesets[WEBP].layer.source.addresses[0].upstream = &server;
    all[WEBP].picture = 0;
    assert_true(follows(job_of(WEBP, 3, 4)));
    answer(leader, TSEED_FETCH_OK);
}

static void test_sharing__a_larger_request_serves_its_parts(void **state)
{
    tseed_job_t *leader = tseed_join_chain(tseed_join_push(job_of(PNG, 2, 4), job_of(PNG, 3, 4)));
    tseed_job_t *follower = job_of(WEBP, 3, 4);
    const tseed_cell_shape_t cell = (tseed_sharing_ask(sharing, leader, 0),
                                     tseed_sharing_cell(sharing, &all[WEBP], &follower->metatile));

    (void)state;
    assert_int_equal(cell.columns, 2);
    assert_int_equal(cell.rows, 1);
    assert_int_equal(tseed_sharing_cell(sharing, &all[OTHER], &follower->metatile).columns, 0);
    assert_true(follows(follower));
    assert_int_equal(follower->savings.asked.minx, 4);
    assert_int_equal(follower->savings.asked.maxx, 7);
    answer(leader, TSEED_FETCH_OK);
    assert_has_copy(follower);
}

static void test_sharing__who_followed_what_fails_asks_for_itself(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4), *follower = job_of(WEBP, 3, 4);

    (void)state;
    tseed_sharing_ask(sharing, leader, 0);
    assert_true(follows(follower));
    answer(leader, TSEED_FETCH_FAILED);
    tseed_mailbox_take(&mailbox);
    assert_int_equal(backs, 1);
    assert_int_equal(follower->request.transfer.result, TSEED_FETCH_CANCELLED);
    assert_false(follows(job_of(WEBP, 3, 4)));
}

static void test_sharing__conditions_must_be_the_same(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4), *follower = job_of(WEBP, 3, 4);

    (void)state;
    leader->request.transfer.condition = "If-None-Match: \"1\"";
    tseed_sharing_ask(sharing, leader, 0);
    assert_false(follows(follower)); /* it needs the picture whatever it is */
    follower->request.transfer.condition = "If-None-Match: \"2\"";
    assert_false(follows(follower));
    follower->request.transfer.condition = "If-None-Match: \"1\"";
    assert_true(follows(follower));
    answer(leader, TSEED_FETCH_UNCHANGED);
    tseed_mailbox_take(&mailbox);
    assert_int_equal(follower->request.transfer.result, TSEED_FETCH_UNCHANGED);

    leader = job_of(PNG, 5, 4);
    tseed_sharing_ask(sharing, leader, 0); /* an answer in full serves all */
    follower = job_of(WEBP, 5, 4);
    follower->request.transfer.condition = "If-None-Match: \"1\"";
    assert_true(follows(follower));
    answer(leader, TSEED_FETCH_OK);
}

/* What was asked for before a truncate may be out of date. */
static void test_sharing__nothing_outlives_a_truncate(void **state)
{
    tseed_job_t *kept = job_of(PNG, 3, 4), *under_way = job_of(PNG, 4, 4);
    tseed_job_t *follower = job_of(WEBP, 4, 4);

    (void)state;
    tseed_sharing_ask(sharing, kept, 0);
    answer(kept, TSEED_FETCH_OK);
    tseed_sharing_ask(sharing, under_way, 0);
    assert_true(follows(follower));
    tseed_sharing_forget(sharing);
    assert_false(follows(job_of(WEBP, 3, 4)));
    assert_false(follows(job_of(WEBP, 4, 4)));
    answer(under_way, TSEED_FETCH_OK); /* who follows already is told by others that it is stale */
    assert_has_copy(follower);
}

static void test_sharing__a_run_that_ends_takes_its_jobs_back(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4), *follower = job_of(WEBP, 3, 4);

    (void)state;
    tseed_sharing_ask(sharing, leader, 0);
    assert_true(follows(follower));
    tseed_sharing_drain(sharing, &all[OTHER]);
    tseed_mailbox_take(&mailbox);
    assert_int_equal(backs, 0);
    tseed_sharing_drain(sharing, &all[WEBP]);
    tseed_mailbox_take(&mailbox);
    assert_int_equal(backs, 1);
    assert_int_equal(follower->request.transfer.result, TSEED_FETCH_CANCELLED);
    answer(leader, TSEED_FETCH_OK);
    tseed_mailbox_take(&mailbox);
    assert_int_equal(backs, 1);
}

static void test_sharing__answers_go_with_the_last_partner(void **state)
{
    tseed_job_t *leader = job_of(PNG, 3, 4);

    (void)state;
    tseed_sharing_ask(sharing, leader, 0);
    answer(leader, TSEED_FETCH_OK);
    tseed_sharing_tick(sharing);
    assert_int_equal(tseed_sharing_cell(sharing, &all[WEBP], &leader->metatile).columns, 1);
    all[WEBP].phase = TSEED_RUN_ENDING;
    tseed_sharing_tick(sharing);
    all[WEBP].phase = TSEED_RUN_GOING;
    assert_int_equal(tseed_sharing_cell(sharing, &all[WEBP], &leader->metatile).columns, 0);
}

/* 1024 metatiles: to wait for 300 pays as long as more are left. */
static void test_sharing__who_is_ahead_waits_while_that_saves_requests(void **state)
{
    (void)state;
    assert_int_equal(tseed_run_count(&all[PNG]), 1024);
    all[PNG].next = 64;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW)); /* in step */
    all[PNG].next = 300;
    assert_true(tseed_sharing_waits(sharing, &all[PNG], NOW));
    assert_string_equal(all[PNG].progress.reason,
                        "task 2 needs the same pictures and catches up: then each is fetched once "
                        "for both");
    assert_false(tseed_sharing_waits(sharing, &all[WEBP], NOW));
    all[PNG].next = 512;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW)); /* as many are left */
    all[PNG].next = 511;
    assert_true(tseed_sharing_waits(sharing, &all[PNG], NOW));
    all[PNG].threads = 8; /* 300 of two threads take as long as 1200 of eight */
    all[PNG].next = 300;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW));
}

static void test_sharing__nobody_waits_for_who_stands_still(void **state)
{
    const int account = 0;

    (void)state;
    all[PNG].next = 300;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW + 10 * APR_USEC_PER_SEC));
    all[WEBP].short_of = (const void *)&account;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW));
    all[WEBP].short_of = NULL;
    all[WEBP].pause_until = NOW + 1;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW));
    all[WEBP].pause_until = 0;
    all[WEBP].phase = TSEED_RUN_DRAINING;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW));
    all[WEBP].phase = TSEED_RUN_GOING;
    all[WEBP].positions.range[LAST].maxx--; /* another area */
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW));
    all[WEBP].positions.range[LAST].maxx++;
    tasks[WEBP].type = TSEED_TRUNCATE;
    assert_false(tseed_sharing_waits(sharing, &all[PNG], NOW));
    tasks[WEBP].type = TSEED_SEED;
    assert_true(tseed_sharing_waits(sharing, &all[PNG], NOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_sharing__##name, setup, teardown)
        TEST(a_partner_gets_a_copy_of_what_comes),
        TEST(a_late_partner_gets_what_was_kept),
        TEST(the_latest_answers_are_kept),
        TEST(what_was_asked_before_a_run_began_is_no_use),
        TEST(other_pictures_are_no_use),
        TEST(a_larger_request_serves_its_parts),
        TEST(who_followed_what_fails_asks_for_itself),
        TEST(conditions_must_be_the_same),
        TEST(nothing_outlives_a_truncate),
        TEST(a_run_that_ends_takes_its_jobs_back),
        TEST(answers_go_with_the_last_partner),
        TEST(who_is_ahead_waits_while_that_saves_requests),
        TEST(nobody_waits_for_who_stands_still),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
