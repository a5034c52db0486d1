/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's process without httpd: tasks. */
#include "board/tseed_board_layout.h"
#include "seeder_fixture.h"

#include <sys/syscall.h>
#include <time.h>

static void test_seeder__seeds_then_skips_then_removes(void **state)
{
    fixture_t *fixture = *state;
    tseed_progress_t seeded = wait_end(fixture, post(fixture, "seed", 4, 2));
    tseed_progress_t skipped, removed;

    assert_int_equal(seeded.state, TSEED_DONE);
    assert_int_equal(seeded.made, pyramid(4));
    assert_int_equal(seeded.skipped + seeded.failed + seeded.removed, 0);
    assert_int_equal(seeded.requests, 1 + 1 + 1 + 4 + 16);
    assert_int_equal(files(fixture), pyramid(4));
    skipped = wait_end(fixture, post(fixture, "seed", 4, 2));
    assert_int_equal(skipped.skipped, pyramid(4));
    assert_int_equal(skipped.made + skipped.requests, 0);
    removed = wait_end(fixture, post(fixture, "truncate", 3, 1));
    assert_int_equal(removed.state, TSEED_DONE);
    assert_int_equal(removed.removed, pyramid(3));
    assert_int_equal(files(fixture), pyramid(4) - pyramid(3));
    removed = wait_end(fixture, post(fixture, "truncate", 4, 1));
    assert_int_equal(removed.removed, pyramid(4) - pyramid(3));
    assert_int_equal(removed.skipped, pyramid(3));
}

static void test_seeder__reseed_makes_what_is_missing_or_unknown(void **state)
{
    fixture_t *fixture = *state;
    tseed_progress_t progress;

    wait_end(fixture, post(fixture, "seed", 2, 1));
    progress = wait_end(fixture, post(fixture, "RESEED", 3, 1));
    assert_int_equal(progress.made, pyramid(3) - pyramid(2));
    assert_int_equal(progress.skipped, pyramid(2));
    assert_int_equal(progress.unchanged, pyramid(2));
    assert_int_equal(files(fixture), pyramid(3));
}

static void test_seeder__two_seeds_of_one_set_share_the_work(void **state)
{
    fixture_t *fixture = *state;
    int64_t first = post(fixture, "seed", 5, 2), second = post(fixture, "seed", 5, 2);
    tseed_progress_t a = wait_end(fixture, first), b = wait_end(fixture, second);

    assert_int_equal(a.made + b.made, pyramid(5));
    assert_int_equal(a.made + a.skipped, pyramid(5));
    assert_int_equal(b.made + b.skipped, pyramid(5));
}

static void test_seeder__exceptions_are_failures_with_a_cause(void **state)
{
    fixture_t *fixture = *state;
    tseed_progress_t progress;

    upstream->mood = EXCEPTION;
    progress = wait_end(fixture, post(fixture, "seed", 3, 2));
    assert_int_equal(progress.state, TSEED_ABORTED); /* nothing was made */
    assert_int_equal(progress.failed, pyramid(3));
    assert_int_equal(progress.failures, 1 + 1 + 1 + 4);
    assert_int_equal(files(fixture), 0);
}

static void test_seeder__too_many_failures_abort(void **state)
{
    fixture_t *fixture = *state;
    tseed_progress_t progress;

    fixture->layer->failure_limit = 3; /* the task's snapshot takes it from there */
    upstream->mood = EXCEPTION;
    progress = wait_end(fixture, post(fixture, "seed", 6, 1));
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_non_null(strstr(progress.reason, "no such layer"));
    assert_true(progress.failures > 3);
}

/* Terminates the tasks of a layer, or all. */
static void terminate(fixture_t *fixture, const char *layer)
{
    apr_array_header_t *layers = apr_array_make(fixture->pool, 1, sizeof(char *));
    tseed_termination_t what = {.layers = layer ? layers : NULL,
                                .mask = 1u << TSEED_PENDING | 1u << TSEED_RUNNING,
                                .reason = "terminated",
                                .now = apr_time_now()};
    apr_array_header_t *terminated;

    APR_ARRAY_PUSH(layers, const char *) = layer;
    assert_int_equal(tseed_state_terminate(fixture->state, &terminated, &what, fixture->pool),
                     APR_SUCCESS);
    assert_true(terminated->nelts > 0);
    ring(fixture);
}

/* Terminates everything and waits until the task has left the board. */
static void terminate_all(fixture_t *fixture, int64_t id)
{
    tseed_row_t row;

    terminate(fixture, NULL);
    AWAIT(!tseed_board_find(fixture->board, id, &row));
}

/* The upstream's timeouts are longer than the test waits. */
static void test_seeder__terminates_while_the_upstream_hangs(void **state)
{
    fixture_t *fixture = *state;
    int64_t before = upstream->requests, id;

    upstream->mood = HANGS;
    id = post(fixture, "seed", 8, 4);
    AWAIT(upstream->requests > before);
    terminate_all(fixture, id);
    assert_int_equal(progress_of(fixture, id).state, TSEED_ABORTED);
    assert_int_equal(files(fixture), 0);
}

/* Their upstream hangs, and they have all seeding threads. Another seed of that layer waits. */
static void test_seeder__a_truncate_waits_for_no_seed(void **state)
{
    fixture_t *fixture = *state;
    const char *seed = "{'seedRequest':{'type':'seed','zoomStart':8,'zoomStop':8}}";
    int64_t before, seeds[5];

    wait_end(fixture, post(fixture, "seed", 3, 1));
    before = upstream->requests;
    upstream->mood = HANGS;
    for (int i = 0; i < 5; i++) {
        seeds[i] = post_document(fixture, fixture->other, seed);
    }
    AWAIT(upstream->requests > before);
    assert_int_equal(wait_end(fixture, post(fixture, "truncate", 3, 1)).removed, pyramid(3));
    assert_int_equal(wait_end(fixture, post_document(fixture, fixture->other,
                                                     "{'seedRequest':{'type':'truncate',"
                                                     "'zoomStop':8}}"))
                         .state,
                     TSEED_DONE);
    assert_int_equal(progress_of(fixture, seeds[4]).state, TSEED_PENDING);
    terminate_all(fixture, seeds[0]);
}

static void test_seeder__terminated_task_writes_no_more(void **state)
{
    fixture_t *fixture = *state;
    int64_t id = post(fixture, "seed", 8, 4);
    int left;

    wait_processed(fixture, id, 100);
    terminate_all(fixture, id);
    left = files(fixture);
    seeder_stop(fixture, SIGTERM);
    assert_int_equal(files(fixture), left);
    assert_int_equal(progress_of(fixture, id).state, TSEED_ABORTED);
    assert_int_equal(progress_of(fixture, id).made, left);
}

static void goes_on_after(fixture_t *fixture, int signal_number)
{
    tseed_progress_t progress;
    int status;
    int64_t id;

    upstream_answer_only(20); /* of 87 */
    id = post(fixture, "seed", 5, 4);
    wait_processed(fixture, id, 200);
    status = seeder_stop(fixture, signal_number);
    assert_int_equal(WIFSIGNALED(status), signal_number == SIGKILL);
    upstream_answer_all();
    seeder_start(fixture);
    progress = wait_end(fixture, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(tseed_progress_processed(&progress), pyramid(5));
    assert_int_equal(progress.failed, 0);
    assert_int_equal(progress.made, pyramid(5)); /* also of metatiles left in the middle */
    assert_int_equal(files(fixture), pyramid(5));
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
static void wait_working(fixture_t *fixture)
{
    int64_t pid = 0;

    while (tseed_board_seeder(fixture->board, &pid, NULL, NULL) != TSEED_SEEDER_WORKING ||
           pid != fixture->seeder) {
        apr_sleep(1000);
    }
}

/* Lets a crash meet a position of the task, as the crash handler of the process would note it. The
 * upstream keeps the task from its end. */
static void crash_at(fixture_t *fixture, int64_t id, int64_t position)
{
    wait_working(fixture);
    wait_processed(fixture, id, 1);
    seeder_stop(fixture, SIGKILL);
    for (unsigned i = 0; i < 2; i++) {
        tseed_board_worker_end(fixture->board, i);
    }
    tseed_board_worker_begin(fixture->board, 0, id, position);
    tseed_board_crash(fixture->board, 0);
    seeder_start(fixture);
}

static void test_seeder__a_metatile_that_crashes_twice_is_given_up(void **state)
{
    fixture_t *fixture = *state;
    tseed_progress_t progress;
    int64_t id;

    upstream_answer_only(1);
    id = post(fixture, "seed", 5, 1);
    crash_at(fixture, id, 80);
    crash_at(fixture, id, 80);
    upstream_answer_all();
    progress = wait_end(fixture, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.failures, 1);
    assert_int_equal(progress.failed, 16);
    assert_int_equal(progress.made + progress.skipped, pyramid(5) - 16);
}

static void test_seeder__a_task_that_crashes_thrice_is_aborted(void **state)
{
    fixture_t *fixture = *state;
    tseed_progress_t progress;
    int64_t id, other;

    upstream_answer_only(1);
    id = post(fixture, "seed", 6, 1);
    crash_at(fixture, id, 300);
    crash_at(fixture, id, 301);
    crash_at(fixture, id, 302);
    progress = wait_end(fixture, id);
    assert_int_equal(progress.state, TSEED_ABORTED);
    assert_non_null(strstr(progress.reason, "crashed three times"));
    upstream_answer_all();
    other = post(fixture, "seed", 2, 1);
    assert_int_equal(wait_end(fixture, other).state, TSEED_DONE);
}

static int is_running(fixture_t *fixture, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(fixture->board, id, &row) && row.progress.state == TSEED_RUNNING;
}

static void test_seeder__runs_as_many_tasks_as_threads(void **state)
{
    fixture_t *fixture = *state;
    int64_t ids[6];
    apr_array_header_t *rows;
    int running = 0;

    upstream->mood = HANGS;
    for (int i = 0; i < 6; i++) {
        ids[i] = post(fixture, "reseed", 6, 4);
    }
    AWAIT(is_running(fixture, ids[3]));
    AWAIT(tseed_board_applied(fixture->board) == tseed_board_committed(fixture->board));
    rows = tseed_board_list(fixture->board, NULL, 0, fixture->pool);
    assert_int_equal(rows->nelts, 6);
    for (int i = 0; i < 6; i++) {
        running += APR_ARRAY_IDX(rows, i, tseed_row_t).progress.state == TSEED_RUNNING;
    }
    assert_int_equal(running, 4);
    assert_int_equal(APR_ARRAY_IDX(rows, 5, tseed_row_t).progress.state, TSEED_PENDING);
    terminate_all(fixture, ids[0]);
}

static void test_seeder__huge_task_starts_at_once(void **state)
{
    fixture_t *fixture = *state;
    int64_t id = post(fixture, "seed", 20, 1); /* 1,466,015,503,701 tiles */
    tseed_row_t row;

    wait_processed(fixture, id, 1);
    assert_true(tseed_board_find(fixture->board, id, &row));
    assert_int_equal(row.tiles_total, 1466015503701);
    terminate_all(fixture, id);
}

/* ---- a clock that goes ahead ---- */

static _Atomic int64_t *seconds_ahead; /* shared with the seeder */

__attribute__((constructor)) static void share_clock(void)
{
    seconds_ahead = mmap(NULL, sizeof(*seconds_ahead), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Takes the place of the C library's in this program. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    const long failed = syscall(SYS_clock_gettime, clock, time);

    if (!failed && clock == CLOCK_MONOTONIC && seconds_ahead) {
        time->tv_sec += (time_t)*seconds_ahead;
    }
    return (int)failed;
}

/* A seed that waits, because a file is where the store should be: that fails for root as well. */
static int64_t post_without_store(fixture_t *fixture)
{
    apr_file_t *file;
    int64_t id;

    assert_int_equal(apr_file_open(&file, fixture->layer->store.root,
                                   APR_FOPEN_WRITE | APR_FOPEN_CREATE, APR_FPROT_OS_DEFAULT,
                                   fixture->pool),
                     APR_SUCCESS);
    apr_file_close(file);
    id = post(fixture, "seed", 2, 1);
    AWAIT(shows_paused(fixture, id));
    return id;
}

static void test_seeder__an_answer_of_long_ago_is_not_stored(void **state)
{
    fixture_t *fixture = *state;
    const int64_t id = post_without_store(fixture);
    tseed_progress_t progress;

    *seconds_ahead += 61;
    assert_int_equal(unlink(fixture->layer->store.root), 0);
    progress = wait_end(fixture, id);
    assert_int_equal(progress.made, pyramid(2));
    assert_true(progress.requests > 1 + 1 + 1); /* the first one was sent again */
}

static void test_seeder__unwritable_store_pauses_the_task(void **state)
{
    fixture_t *fixture = *state;
    const int64_t id = post_without_store(fixture);

    assert_int_equal(progress_of(fixture, id).state, TSEED_RUNNING);
    assert_int_equal(unlink(fixture->layer->store.root), 0);
    assert_int_equal(wait_end(fixture, id).made, pyramid(2));
}

/* A store that fails at one level while other levels are looked at, fetched and cut. */
static void pauses_once_at(fixture_t *fixture, int level)
{
    const char *layer =
        apr_pstrcat(fixture->pool, fixture->layer->store.root, "/topp_states", NULL);
    const char *loop = apr_psprintf(fixture->pool, "%s/EPSG_900913_%02d", layer, level);
    tseed_progress_t progress;
    int64_t id;

    assert_int_equal(mkdir(fixture->layer->store.root, 0755), 0);
    assert_int_equal(mkdir(layer, 0755), 0);
    assert_int_equal(symlink(loop, loop), 0);
    upstream->mood = SLOW;
    id = post(fixture, "seed", 5, 4);
    AWAIT(shows_paused(fixture, id));
    assert_int_equal(unlink(loop), 0);
    progress = wait_end(fixture, id);
    assert_int_equal(progress.state, TSEED_DONE);
    assert_int_equal(progress.made, pyramid(5));
    assert_int_equal(progress.skipped + progress.failed, 0);
    assert_int_equal(progress.requests, 1 + 1 + 1 + 4 + 16 + 64);
    assert_int_equal(files(fixture), pyramid(5));
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
    fixture_t *fixture = *state;
    const char *roads = apr_pstrcat(fixture->pool, fixture->other->store.root, "/roads", NULL);
    int64_t ids[SLOTS + 5], outside;
    tseed_row_t row;

    upstream->mood = HANGS;
    for (int i = 0; i < SLOTS + 5; i++) {
        ids[i] = post(fixture, "seed", 1, 1);
    }
    outside = post_document(fixture, fixture->other,
                            "{'seedRequest':{'type':'seed','zoomStart':0,'zoomStop':1}}");
    AWAIT(tseed_board_applied(fixture->board) == tseed_board_committed(fixture->board));
    assert_true(tseed_board_is_crowded(fixture->board));
    assert_false(tseed_board_find(fixture->board, outside, &row));
    terminate(fixture, "roads");
    upstream->mood = FINE;
    for (int i = 0; i < SLOTS + 5; i++) {
        tseed_progress_t progress = wait_end(fixture, ids[i]);

        assert_int_equal(progress.state, TSEED_DONE);
        assert_int_equal(progress.made + progress.skipped, pyramid(1));
    }
    AWAIT(!tseed_board_is_crowded(fixture->board) && unconfirmed(fixture) == 0);
    assert_int_equal(progress_of(fixture, outside).state, TSEED_ABORTED);
    assert_int_equal(files_below(roads), 0);
    assert_int_equal(files(fixture), pyramid(1));
}

static void test_seeder__a_vanished_task_does_not_block_later_ones(void **state)
{
    fixture_t *fixture = *state;
    int64_t running = 0, vanished, later;
    tseed_row_t row = {0};

    upstream->mood = HANGS;
    for (int i = 0; i < fixture->settings.threads; i++) {
        running = post(fixture, "reseed", 2, 1);
    }
    AWAIT(is_running(fixture, running));
    vanished = post(fixture, "reseed", 2, 1);
    AWAIT(tseed_board_find(fixture->board, vanished, &row));
    assert_int_equal(row.progress.state, TSEED_PENDING);
    AWAIT(sql(fixture, apr_psprintf(fixture->pool, "DELETE FROM task WHERE id = %" APR_INT64_T_FMT,
                                    vanished)));
    later = post(fixture, "reseed", 1, 1);
    upstream->mood = FINE;
    assert_int_equal(wait_end(fixture, later).state, TSEED_DONE);
    assert_int_equal(wait_end(fixture, running).state, TSEED_DONE);
    AWAIT(!tseed_board_find(fixture->board, vanished, &row));
}

static void test_seeder__a_retry_that_waits_holds_up_nobody_else(void **state)
{
    fixture_t *fixture = *state;
    int64_t before = upstream->requests, waiting, other;

    upstream->mood = EXCEPTION;
    waiting = post_document(fixture, fixture->layer, /* for longer than we wait */
                            "{'seedRequest':{'type':'seed','zoomStart':5,'zoomStop':8,"
                            "'threadCount':4,'tileFailureRetryCount':1,"
                            "'tileFailureRetryWaitTime':1000000}}");
    AWAIT(upstream->requests >= before + fixture->settings.threads);
    upstream->mood = FINE;
    other = post_document(fixture, fixture->other,
                          "{'seedRequest':{'type':'seed','zoomStart':0,'zoomStop':2}}");
    assert_int_equal(wait_end(fixture, other).made, pyramid(2));
    assert_int_equal(progress_of(fixture, waiting).state, TSEED_RUNNING);
    terminate_all(fixture, waiting);
}

static void test_seeder__confirms_what_ended_before_it_heard_of_it(void **state)
{
    fixture_t *fixture = *state;
    int64_t id;

    AWAIT(tseed_board_seeder(fixture->board, NULL, NULL, NULL) == TSEED_SEEDER_WORKING);
    AWAIT(halt(fixture));
    id = post(fixture, "seed", 1, 1);
    terminate(fixture, NULL);
    assert_int_equal(unconfirmed(fixture), 1);
    kill(fixture->seeder, SIGCONT);
    AWAIT(unconfirmed(fixture) == 0);
    assert_int_equal(progress_of(fixture, id).state, TSEED_ABORTED);
    assert_int_equal(files(fixture), 0);
}

static void test_seeder__keeps_the_counts_of_what_ends_before_it_goes_on(void **state)
{
    fixture_t *fixture = *state;
    tseed_row_t row;
    int64_t id, made;

    upstream->mood = SLOW;
    post(fixture, "seed", 9, 2);
    id = post_document(fixture, fixture->other, "{'seedRequest':{'type':'seed','zoomStop':9}}");
    wait_processed(fixture, id, 20);
    seeder_stop(fixture, SIGKILL);
    assert_true(tseed_board_find(fixture->board, id, &row));
    made = row.progress.made;
    assert_true(sql(fixture, "UPDATE task SET made = 0, low = 0, passed = ''")); /* never saved */
    fixture->settings.threads = 1; /* which the older task has */
    seeder_start(fixture);
    AWAIT(tseed_board_find(fixture->board, id, &row) && row.progress.state == TSEED_PENDING);
    terminate(fixture, "roads");
    AWAIT(unconfirmed(fixture) == 0);
    assert_int_equal(progress_of(fixture, id).made, made);
}

/* As a child that somebody has taken over could: all but the head, by a generator of its own. */
static void scribble(fixture_t *fixture, unsigned seed)
{
    uint64_t *words = (uint64_t *)(void *)fixture->board->segment;
    const size_t count = tseed_board_size(SLOTS, 2) / sizeof(*words);

    for (size_t i = 8 + seed % 3; i < count; i += 1 + (unsigned)rand_r(&seed) % (seed % 64 + 1)) {
        words[i] = rand_r(&seed) % 4 ? (uint64_t)rand_r(&seed) << 33 : UINT64_MAX - seed;
    }
}

static void test_seeder__lives_with_nonsense_on_the_board(void **state)
{
    fixture_t *fixture = *state;
    int64_t ids[4];

    upstream->mood = SLOW;
    for (unsigned i = 0; i < 4; i++) {
        ids[i] = post(fixture, "seed", 4, 2);
        wait_processed(fixture, ids[i], 1);
        scribble(fixture, i);
        sleep(1); /* in which it looks at the board; nothing says that it has */
        assert_int_equal(waitpid(fixture->seeder, NULL, WNOHANG), 0);
        seeder_stop(fixture, i % 2 ? SIGKILL : SIGTERM);
        scribble(fixture, 100 + i);
        seeder_start(fixture);
        wait_working(fixture); /* which has put the board right */
    }
    upstream->mood = FINE;
    for (unsigned i = 0; i < 4; i++) {
        tseed_progress_t progress = wait_end(fixture, ids[i]);

        assert_int_equal(progress.state, TSEED_DONE);
        assert_int_equal(progress.made + progress.skipped, pyramid(4));
    }
}

/* What was fetched before a truncate is fetched again, be it for a seed or a reseed. */
static void outdated_by_truncate(fixture_t *fixture, const char *type)
{
    int64_t before = upstream->requests;
    int64_t id, truncate;
    uint64_t sum;

    upstream->mood = HANGS;
    id = post(fixture, type, 3, 4);
    AWAIT(upstream->requests - before >= 3);
    upstream->tint++;
    truncate = post(fixture, "truncate", 3, 1);
    assert_int_equal(wait_end(fixture, truncate).state, TSEED_DONE);
    upstream->mood = FINE;
    assert_int_equal(wait_end(fixture, id).made, pyramid(3));
    sum = sum_of_files(fixture);
    wait_end(fixture, post(fixture, "truncate", 3, 1));
    wait_end(fixture, post(fixture, "seed", 3, 4));
    assert_true(sum == sum_of_files(fixture));
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

static const char *reason_of(fixture_t *fixture, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(fixture->board, id, &row)
               ? apr_pstrdup(fixture->pool, row.progress.reason)
               : "";
}

/* Tasks of a layer whose upstream is away keep no thread and no turn from others. */
static void test_seeder__a_dead_upstream_stops_its_own_layer_only(void **state)
{
    fixture_t *fixture = *state;
    tseed_upstream_t *dead =
        apr_pmemdup(fixture->pool, fixture->layer->source.addresses[0].upstream, sizeof(*dead));
    const char *other = "{'seedRequest':{'type':'reseed','zoomStart':2,'zoomStop':2}}";
    int64_t ids[12];

    dead->url = "http://127.0.0.1:1/wms"; /* nobody listens there */
    dead->name = "dead";
    fixture->layer->source.addresses[0] = (tseed_address_t){dead->url, dead};
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    for (int i = 0; i < 12; i++) {
        ids[i] = post(fixture, "seed", 6, 4);
    }
    AWAIT(strstr(reason_of(fixture, ids[11]), "of the same layer"));
    assert_int_equal(wait_end(fixture, post_document(fixture, fixture->other, other)).made, 16);
    AWAIT(strstr(reason_of(fixture, ids[0]), "upstream dead"));
    assert_int_equal(progress_of(fixture, ids[11]).state, TSEED_PENDING);
}

/* Who waits for a thread says so. */
static void test_seeder__a_task_without_a_thread_says_so(void **state)
{
    fixture_t *fixture = *state;
    int64_t ids[5];

    upstream->mood = HANGS;
    for (int i = 0; i < 5; i++) {
        ids[i] = post(fixture, "reseed", 6, 4);
    }
    AWAIT(strstr(reason_of(fixture, ids[4]), "TileSeedThreads"));
    terminate_all(fixture, ids[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seeder__seeds_then_skips_then_removes, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__reseed_makes_what_is_missing_or_unknown,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__two_seeds_of_one_set_share_the_work,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__exceptions_are_failures_with_a_cause,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__too_many_failures_abort, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__terminates_while_the_upstream_hangs,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_truncate_waits_for_no_seed, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__terminated_task_writes_no_more, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__goes_on_after_a_stop, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__goes_on_after_a_kill, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_metatile_that_crashes_twice_is_given_up,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__lives_with_nonsense_on_the_board,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_task_that_crashes_thrice_is_aborted,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__runs_as_many_tasks_as_threads, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__huge_task_starts_at_once, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__an_answer_of_long_ago_is_not_stored,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__unwritable_store_pauses_the_task,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_pause_among_first_metatiles_repeats_none,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_pause_in_the_middle_repeats_no_metatile,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__tasks_beyond_the_board_wait_for_room,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_vanished_task_does_not_block_later_ones,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_retry_that_waits_holds_up_nobody_else,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__confirms_what_ended_before_it_heard_of_it,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder__keeps_the_counts_of_what_ends_before_it_goes_on, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_truncate_makes_answers_of_seeds_stale,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_truncate_makes_answers_of_reseeds_stale,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_dead_upstream_stops_its_own_layer_only,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder__a_task_without_a_thread_says_so, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, upstream_setup, upstream_teardown);
}
