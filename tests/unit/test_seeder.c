/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's process without httpd: tasks. */
#include "board/tseed_board_layout.h"
#include "seeder_fixture.h"

static void test_seeder__seeds_then_skips_then_removes(void **state)
{
    house_t *house = *state;
    tseed_progress_t seeded = wait_end(house, post(house, "seed", 4, 2));
    tseed_progress_t skipped, removed;

    assert_int_equal(seeded.state, TSEED_DONE);
    assert_int_equal(seeded.made, pyramid(4));
    assert_int_equal(seeded.skipped + seeded.failed + seeded.removed, 0);
    assert_int_equal(seeded.requests, 1 + 1 + 1 + 4 + 16);
    assert_int_equal(files(house), pyramid(4));
    skipped = wait_end(house, post(house, "seed", 4, 2));
    assert_int_equal(skipped.skipped, pyramid(4));
    assert_int_equal(skipped.made + skipped.requests, 0);
    removed = wait_end(house, post(house, "truncate", 3, 1));
    assert_int_equal(removed.state, TSEED_DONE);
    assert_int_equal(removed.removed, pyramid(3));
    assert_int_equal(files(house), pyramid(4) - pyramid(3));
    removed = wait_end(house, post(house, "truncate", 4, 1));
    assert_int_equal(removed.removed, pyramid(4) - pyramid(3));
    assert_int_equal(removed.skipped, pyramid(3));
}

static void test_seeder__reseed_makes_what_is_missing_or_unknown(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;

    wait_end(house, post(house, "seed", 2, 1));
    progress = wait_end(house, post(house, "RESEED", 3, 1));
    assert_int_equal(progress.made, pyramid(3) - pyramid(2));
    assert_int_equal(progress.skipped, pyramid(2));
    assert_int_equal(progress.unchanged, pyramid(2));
    assert_int_equal(files(house), pyramid(3));
}

static void test_seeder__two_seeds_of_one_set_share_the_work(void **state)
{
    house_t *house = *state;
    int64_t first = post(house, "seed", 5, 2), second = post(house, "seed", 5, 2);
    tseed_progress_t a = wait_end(house, first), b = wait_end(house, second);

    assert_int_equal(a.made + b.made, pyramid(5));
    assert_int_equal(a.made + a.skipped, pyramid(5));
    assert_int_equal(b.made + b.skipped, pyramid(5));
}

static void test_seeder__exceptions_are_failures_with_a_cause(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;

    upstream->mood = EXCEPTION;
    progress = wait_end(house, post(house, "seed", 3, 2));
    assert_int_equal(progress.state, TSEED_ABORTED); /* nothing was made */
    assert_int_equal(progress.failed, pyramid(3));
    assert_int_equal(progress.failures, 1 + 1 + 1 + 4);
    assert_int_equal(files(house), 0);
}

static void test_seeder__too_many_failures_abort(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;

    house->layer->failure_limit = 3; /* the task's snapshot takes it from there */
    upstream->mood = EXCEPTION;
    progress = wait_end(house, post(house, "seed", 6, 1));
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_non_null(strstr(progress.reason, "no such layer"));
    assert_true(progress.failures > 3);
}

/* Terminates the tasks of a layer, or all. */
static void terminate(house_t *house, const char *layer)
{
    apr_array_header_t *layers = apr_array_make(house->pool, 1, sizeof(char *));
    tseed_termination_t what = {.layers = layer ? layers : NULL,
                                .mask = 1u << TSEED_PENDING | 1u << TSEED_RUNNING,
                                .reason = "terminated",
                                .now = apr_time_now()};
    apr_array_header_t *terminated;

    APR_ARRAY_PUSH(layers, const char *) = layer;
    assert_int_equal(tseed_state_terminate(house->state, &terminated, &what, house->pool),
                     APR_SUCCESS);
    assert_true(terminated->nelts > 0);
    ring(house);
}

/* Terminates everything and waits until the task has left the board. */
static void terminate_all(house_t *house, int64_t id)
{
    tseed_row_t row;

    terminate(house, NULL);
    AWAIT(!tseed_board_find(house->board, id, &row));
}

/* The upstream's timeouts are longer than the test waits. */
static void test_seeder__terminates_while_the_upstream_hangs(void **state)
{
    house_t *house = *state;
    int64_t before = upstream->requests, id;

    upstream->mood = HANGS;
    id = post(house, "seed", 8, 4);
    AWAIT(upstream->requests > before);
    terminate_all(house, id);
    assert_int_equal(progress_of(house, id).state, TSEED_ABORTED);
    assert_int_equal(files(house), 0);
}

static void test_seeder__terminated_task_writes_no_more(void **state)
{
    house_t *house = *state;
    int64_t id = post(house, "seed", 8, 4);
    int left;

    wait_processed(house, id, 100);
    terminate_all(house, id);
    left = files(house);
    seeder_stop(house, SIGTERM);
    assert_int_equal(files(house), left);
    assert_int_equal(progress_of(house, id).state, TSEED_ABORTED);
    assert_int_equal(progress_of(house, id).made, left);
}

static void goes_on_after(house_t *house, int signal_number)
{
    tseed_progress_t progress;
    int status;
    int64_t id;

    upstream_answer_only(20); /* of 87 */
    id = post(house, "seed", 5, 4);
    wait_processed(house, id, 200);
    status = seeder_stop(house, signal_number);
    assert_int_equal(WIFSIGNALED(status), signal_number == SIGKILL);
    upstream_answer_all();
    seeder_start(house);
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(tseed_progress_processed(&progress), pyramid(5));
    assert_int_equal(progress.failed, 0);
    assert_int_equal(progress.made, pyramid(5)); /* also of metatiles left in the middle */
    assert_int_equal(files(house), pyramid(5));
    /* what was under way is fetched again, nothing else: 4 requests and 4 metatiles at work */
    assert_in_range(progress.requests, 1 + 1 + 1 + 4 + 16 + 64, 1 + 1 + 1 + 4 + 16 + 64 + 8);
}

static void test_seeder__goes_on_after_a_stop(void **state)
{
    goes_on_after(*state, SIGTERM);
}

static void test_seeder__goes_on_after_a_kill(void **state)
{
    goes_on_after(*state, SIGKILL);
}

/* Until the seeder that was started last has taken the board over. */
static void wait_working(house_t *house)
{
    int64_t pid = 0;

    while (tseed_board_seeder(house->board, &pid, NULL, NULL) != TSEED_SEEDER_WORKING ||
           pid != house->seeder) {
        apr_sleep(1000);
    }
}

/* Lets a crash meet a position of the task, as the crash handler of the process would note it. The
 * upstream keeps the task from its end. */
static void crash_at(house_t *house, int64_t id, int64_t position)
{
    wait_working(house);
    wait_processed(house, id, 1);
    seeder_stop(house, SIGKILL);
    for (unsigned i = 0; i < 2; i++) {
        tseed_board_worker_end(house->board, i);
    }
    tseed_board_worker_begin(house->board, 0, id, position);
    tseed_board_crash(house->board, 0);
    seeder_start(house);
}

static void test_seeder__a_metatile_that_crashes_twice_is_given_up(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;
    int64_t id;

    upstream_answer_only(1);
    id = post(house, "seed", 5, 1);
    crash_at(house, id, 80);
    crash_at(house, id, 80);
    upstream_answer_all();
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.failures, 1);
    assert_int_equal(progress.failed, 16);
    assert_int_equal(progress.made + progress.skipped, pyramid(5) - 16);
}

static void test_seeder__a_task_that_crashes_thrice_is_aborted(void **state)
{
    house_t *house = *state;
    tseed_progress_t progress;
    int64_t id, other;

    upstream_answer_only(1);
    id = post(house, "seed", 6, 1);
    crash_at(house, id, 300);
    crash_at(house, id, 301);
    crash_at(house, id, 302);
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_non_null(strstr(progress.reason, "crashed three times"));
    upstream_answer_all();
    other = post(house, "seed", 2, 1);
    assert_int_equal(wait_end(house, other).state, TSEED_DONE);
}

static int is_running(house_t *house, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(house->board, id, &row) && row.progress.state == TSEED_RUNNING;
}

static void test_seeder__runs_as_many_tasks_as_threads(void **state)
{
    house_t *house = *state;
    int64_t ids[6];
    apr_array_header_t *rows;
    int running = 0;

    upstream->mood = HANGS;
    for (int i = 0; i < 6; i++) {
        ids[i] = post(house, "reseed", 6, 4);
    }
    AWAIT(is_running(house, ids[3]));
    AWAIT(tseed_board_applied(house->board) == tseed_board_committed(house->board));
    rows = tseed_board_list(house->board, NULL, 0, house->pool);
    assert_int_equal(rows->nelts, 6);
    for (int i = 0; i < 6; i++) {
        running += APR_ARRAY_IDX(rows, i, tseed_row_t).progress.state == TSEED_RUNNING;
    }
    assert_int_equal(running, 4);
    assert_int_equal(APR_ARRAY_IDX(rows, 5, tseed_row_t).progress.state, TSEED_PENDING);
    terminate_all(house, ids[0]);
}

static void test_seeder__huge_task_starts_at_once(void **state)
{
    house_t *house = *state;
    int64_t id = post(house, "seed", 20, 1); /* 1,466,015,503,701 tiles */
    tseed_row_t row;

    wait_processed(house, id, 1);
    assert_true(tseed_board_find(house->board, id, &row));
    assert_int_equal(row.tiles_total, 1466015503701);
    terminate_all(house, id);
}

static void test_seeder__unwritable_store_pauses_the_task(void **state)
{
    house_t *house = *state;
    const char *root = house->layer->store.root;
    apr_file_t *file;
    int64_t id;

    /* a file where the directory should be fails for root as well */
    assert_int_equal(apr_file_open(&file, root, APR_FOPEN_WRITE | APR_FOPEN_CREATE,
                                   APR_FPROT_OS_DEFAULT, house->pool),
                     APR_SUCCESS);
    apr_file_close(file);
    id = post(house, "seed", 2, 1);
    AWAIT(shows_paused(house, id));
    assert_int_equal(progress_of(house, id).state, TSEED_RUNNING);
    assert_int_equal(unlink(root), 0);
    assert_int_equal(wait_end(house, id).made, pyramid(2));
}

/* A store that fails at one level while other levels are looked at, fetched and cut. */
static void pauses_once_at(house_t *house, int level)
{
    const char *layer = apr_pstrcat(house->pool, house->layer->store.root, "/topp_states", NULL);
    const char *loop = apr_psprintf(house->pool, "%s/EPSG_900913_%02d", layer, level);
    tseed_progress_t progress;
    int64_t id;

    assert_int_equal(mkdir(house->layer->store.root, 0755), 0);
    assert_int_equal(mkdir(layer, 0755), 0);
    assert_int_equal(symlink(loop, loop), 0);
    upstream->mood = SLOW;
    id = post(house, "seed", 5, 4);
    AWAIT(shows_paused(house, id));
    assert_int_equal(unlink(loop), 0);
    progress = wait_end(house, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.made, pyramid(5));
    assert_int_equal(progress.skipped + progress.failed, 0);
    assert_int_equal(progress.requests, 1 + 1 + 1 + 4 + 16 + 64);
    assert_int_equal(files(house), pyramid(5));
}

static void test_seeder__a_pause_among_first_metatiles_repeats_none(void **state)
{
    pauses_once_at(*state, 2);
}

static void test_seeder__a_pause_in_the_middle_repeats_no_metatile(void **state)
{
    pauses_once_at(*state, 4);
}

static void test_seeder__tasks_beyond_the_board_wait_for_room(void **state)
{
    house_t *house = *state;
    const char *roads = apr_pstrcat(house->pool, house->other->store.root, "/roads", NULL);
    int64_t ids[SLOTS + 5], outside;
    tseed_row_t row;

    upstream->mood = HANGS;
    for (int i = 0; i < SLOTS + 5; i++) {
        ids[i] = post(house, "seed", 1, 1);
    }
    outside = post_document(house, house->other,
                            "{'seedRequest':{'type':'seed','zoomStart':0,'zoomStop':1}}");
    AWAIT(tseed_board_applied(house->board) == tseed_board_committed(house->board));
    assert_true(tseed_board_is_crowded(house->board));
    assert_false(tseed_board_find(house->board, outside, &row));
    terminate(house, "roads");
    upstream->mood = FINE;
    for (int i = 0; i < SLOTS + 5; i++) {
        tseed_progress_t progress = wait_end(house, ids[i]);

        assert_int_equal(progress.state, TSEED_DONE);
        assert_int_equal(progress.made + progress.skipped, pyramid(1));
    }
    AWAIT(!tseed_board_is_crowded(house->board) && unconfirmed(house) == 0);
    assert_int_equal(progress_of(house, outside).state, TSEED_ABORTED);
    assert_int_equal(files_below(roads), 0);
    assert_int_equal(files(house), pyramid(1));
}

static void test_seeder__a_vanished_task_does_not_block_later_ones(void **state)
{
    house_t *house = *state;
    int64_t running = 0, vanished, later;
    tseed_row_t row = {0};

    upstream->mood = HANGS;
    for (int i = 0; i < house->settings.threads; i++) {
        running = post(house, "reseed", 2, 1);
    }
    AWAIT(is_running(house, running));
    vanished = post(house, "reseed", 2, 1);
    AWAIT(tseed_board_find(house->board, vanished, &row));
    assert_int_equal(row.progress.state, TSEED_PENDING);
    AWAIT(sql(house, apr_psprintf(house->pool, "DELETE FROM task WHERE id = %" APR_INT64_T_FMT,
                                  vanished)));
    later = post(house, "reseed", 1, 1);
    upstream->mood = FINE;
    assert_int_equal(wait_end(house, later).state, TSEED_DONE);
    assert_int_equal(wait_end(house, running).state, TSEED_DONE);
    AWAIT(!tseed_board_find(house->board, vanished, &row));
}

static void test_seeder__a_retry_that_waits_holds_up_nobody_else(void **state)
{
    house_t *house = *state;
    int64_t before = upstream->requests, waiting, other;

    upstream->mood = EXCEPTION;
    waiting = post_document(house, house->layer, /* for longer than we wait */
                            "{'seedRequest':{'type':'seed','zoomStart':5,'zoomStop':8,"
                            "'threadCount':4,'tileFailureRetryCount':1,"
                            "'tileFailureRetryWaitTime':1000000}}");
    AWAIT(upstream->requests >= before + house->settings.threads);
    upstream->mood = FINE;
    other = post_document(house, house->other,
                          "{'seedRequest':{'type':'seed','zoomStart':0,'zoomStop':2}}");
    assert_int_equal(wait_end(house, other).made, pyramid(2));
    assert_int_equal(progress_of(house, waiting).state, TSEED_RUNNING);
    terminate_all(house, waiting);
}

static void test_seeder__confirms_what_ended_before_it_heard_of_it(void **state)
{
    house_t *house = *state;
    int64_t id;

    AWAIT(tseed_board_seeder(house->board, NULL, NULL, NULL) == TSEED_SEEDER_WORKING);
    AWAIT(halt(house));
    id = post(house, "seed", 1, 1);
    terminate(house, NULL);
    assert_int_equal(unconfirmed(house), 1);
    kill(house->seeder, SIGCONT);
    AWAIT(unconfirmed(house) == 0);
    assert_int_equal(progress_of(house, id).state, TSEED_ABORTED);
    assert_int_equal(files(house), 0);
}

static void test_seeder__keeps_the_counts_of_what_ends_before_it_goes_on(void **state)
{
    house_t *house = *state;
    tseed_row_t row;
    int64_t id, made;

    upstream->mood = SLOW;
    post(house, "seed", 9, 2);
    id = post_document(house, house->other, "{'seedRequest':{'type':'seed','zoomStop':9}}");
    wait_processed(house, id, 20);
    seeder_stop(house, SIGKILL);
    assert_true(tseed_board_find(house->board, id, &row));
    made = row.progress.made;
    assert_true(sql(house, "UPDATE task SET made = 0, low = 0, passed = ''")); /* never saved */
    house->settings.threads = 1; /* which the older task has */
    seeder_start(house);
    AWAIT(tseed_board_find(house->board, id, &row) && row.progress.state == TSEED_PENDING);
    terminate(house, "roads");
    AWAIT(unconfirmed(house) == 0);
    assert_int_equal(progress_of(house, id).made, made);
}

/* As a child that somebody has taken over could: all but the head, by a generator of its own. */
static void scribble(house_t *house, unsigned seed)
{
    uint64_t *words = (uint64_t *)(void *)house->board->segment;
    const size_t count = tseed_board_size(SLOTS, 2) / sizeof(*words);

    for (size_t i = 8 + seed % 3; i < count; i += 1 + (unsigned)rand_r(&seed) % (seed % 64 + 1)) {
        words[i] = rand_r(&seed) % 4 ? (uint64_t)rand_r(&seed) << 33 : UINT64_MAX - seed;
    }
}

static void test_seeder__lives_with_nonsense_on_the_board(void **state)
{
    house_t *house = *state;
    int64_t ids[4];

    upstream->mood = SLOW;
    for (unsigned i = 0; i < 4; i++) {
        ids[i] = post(house, "seed", 4, 2);
        wait_processed(house, ids[i], 1);
        scribble(house, i);
        sleep(1); /* in which it looks at the board; nothing says that it has */
        assert_int_equal(waitpid(house->seeder, NULL, WNOHANG), 0);
        seeder_stop(house, i % 2 ? SIGKILL : SIGTERM);
        scribble(house, 100 + i);
        seeder_start(house);
        wait_working(house); /* which has put the board right */
    }
    upstream->mood = FINE;
    for (unsigned i = 0; i < 4; i++) {
        tseed_progress_t progress = wait_end(house, ids[i]);

        assert_int_equal(progress.state, TSEED_DONE);
        assert_int_equal(progress.made + progress.skipped, pyramid(4));
    }
}

/* What was fetched before a truncate is fetched again, be it for a seed or a reseed. */
static void outdated_by_truncate(house_t *house, const char *type)
{
    int64_t before = upstream->requests;
    int64_t id, truncate;
    uint64_t sum;

    upstream->mood = HANGS;
    id = post(house, type, 3, 4);
    AWAIT(upstream->requests - before >= 3);
    upstream->tint++;
    truncate = post(house, "truncate", 3, 1);
    assert_int_equal(wait_end(house, truncate).state, TSEED_DONE);
    upstream->mood = FINE;
    assert_int_equal(wait_end(house, id).made, pyramid(3));
    sum = sum_of_files(house);
    wait_end(house, post(house, "truncate", 3, 1));
    wait_end(house, post(house, "seed", 3, 4));
    assert_true(sum == sum_of_files(house));
}

static void test_seeder__a_truncate_makes_answers_of_seeds_stale(void **state)
{
    outdated_by_truncate(*state, "seed");
}

static void test_seeder__a_truncate_makes_answers_of_reseeds_stale(void **state)
{
    wait_end(*state, post(*state, "seed", 3, 4));
    outdated_by_truncate(*state, "reseed");
}

static const char *reason_of(house_t *house, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(house->board, id, &row) ? apr_pstrdup(house->pool, row.progress.reason)
                                                    : "";
}

/* Tasks of a layer whose upstream is away keep no thread and no turn from others. */
static void test_seeder__a_dead_upstream_stops_its_own_layer_only(void **state)
{
    house_t *house = *state;
    tseed_upstream_t *dead =
        apr_pmemdup(house->pool, house->layer->source.addresses[0].upstream, sizeof(*dead));
    const char *other = "{'seedRequest':{'type':'reseed','zoomStart':2,'zoomStop':2}}";
    int64_t ids[12];

    dead->url = "http://127.0.0.1:1/wms"; /* nobody listens there */
    dead->name = "dead";
    house->layer->source.addresses[0] = (tseed_address_t){dead->url, dead};
    seeder_stop(house, SIGTERM);
    seeder_start(house);
    for (int i = 0; i < 12; i++) {
        ids[i] = post(house, "seed", 6, 4);
    }
    AWAIT(strstr(reason_of(house, ids[11]), "of the same layer"));
    assert_int_equal(wait_end(house, post_document(house, house->other, other)).made, 16);
    AWAIT(strstr(reason_of(house, ids[0]), "upstream dead"));
    assert_int_equal(progress_of(house, ids[11]).state, TSEED_PENDING);
}

/* Who waits for a thread says so. */
static void test_seeder__a_task_without_a_thread_says_so(void **state)
{
    house_t *house = *state;
    int64_t ids[5];

    upstream->mood = HANGS;
    for (int i = 0; i < 5; i++) {
        ids[i] = post(house, "reseed", 6, 4);
    }
    AWAIT(strstr(reason_of(house, ids[4]), "TileSeedThreads"));
    terminate_all(house, ids[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seeder__seeds_then_skips_then_removes, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__reseed_makes_what_is_missing_or_unknown,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__two_seeds_of_one_set_share_the_work,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__exceptions_are_failures_with_a_cause,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__too_many_failures_abort, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__terminates_while_the_upstream_hangs,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__terminated_task_writes_no_more, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__goes_on_after_a_stop, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__goes_on_after_a_kill, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_metatile_that_crashes_twice_is_given_up,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__lives_with_nonsense_on_the_board, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_task_that_crashes_thrice_is_aborted,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__runs_as_many_tasks_as_threads, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__huge_task_starts_at_once, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__unwritable_store_pauses_the_task, house_setup,
                                        house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_pause_among_first_metatiles_repeats_none,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_pause_in_the_middle_repeats_no_metatile,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__tasks_beyond_the_board_wait_for_room,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_vanished_task_does_not_block_later_ones,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_retry_that_waits_holds_up_nobody_else,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__confirms_what_ended_before_it_heard_of_it,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder__keeps_the_counts_of_what_ends_before_it_goes_on, house_setup,
            house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_truncate_makes_answers_of_seeds_stale,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_truncate_makes_answers_of_reseeds_stale,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_dead_upstream_stops_its_own_layer_only,
                                        house_setup, house_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_task_without_a_thread_says_so, house_setup,
                                        house_teardown),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
