/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The board: what is shown is what was written, whoever reads while the writer writes, or dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board/tseed_board.h"
#include "board/tseed_board_layout.h"
#include "board/tseed_hits.h"
#include "board/tseed_traces.h"
#include "protocol/tseed_answer.h"

#define SLOTS   64
#define WORKERS 4

static apr_pool_t *pool;

static void *map_segment(apr_size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static tseed_board_t *board_new(unsigned slots)
{
    return tseed_board_init(map_segment(tseed_board_size(slots, WORKERS)), slots, WORKERS, pool);
}

static tseed_task_t task_of(int64_t id, const char *layer)
{
    return (tseed_task_t){.id = id, .layer = layer, .type = TSEED_RESEED, .tiles_total = INT64_MAX};
}

/* Progress whose every part follows from `step`, so that a mixture of two steps shows. */
static tseed_progress_t progress_of(int64_t step)
{
    tseed_progress_t progress = {.state = TSEED_RUNNING};

    progress.made = progress.skipped = progress.removed = progress.failed = step;
    progress.bytes = progress.requests = progress.failures = progress.low = step;
    progress.started = progress.finished = step;
    for (int i = 0; i < TSEED_WINDOW / 64; i++) {
        progress.window[i] = (uint64_t)step << 1;
    }
    snprintf(progress.reason, sizeof(progress.reason), "step %lld", (long long)step);
    return progress;
}

static int is_whole(const tseed_row_t *row)
{
    tseed_progress_t expected = progress_of(row->progress.made);

    return memcmp(&row->progress, &expected, sizeof(expected)) == 0;
}

static int claim(tseed_board_t *board, int64_t id, const char *layer, int64_t step)
{
    tseed_task_t task = task_of(id, layer);
    tseed_progress_t progress = progress_of(step);

    return tseed_board_slot_claim(board, &task, &progress);
}

static void assert_valid(const tseed_board_t *board)
{
    const char *problem = tseed_board_validate(board, pool);

    if (problem) {
        fail_msg("%s", problem);
    }
}

/* ---- one process ---- */

static void test_board__shows_what_was_claimed_and_updated(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    tseed_progress_t later = progress_of(9007199254740993);
    tseed_row_t row;
    int slot = claim(board, 7, "topp:states", 3);

    (void)state;
    assert_true(slot >= 0);
    assert_true(tseed_board_find(board, 7, &row));
    assert_int_equal(row.id, 7);
    assert_int_equal(row.tiles_total, INT64_MAX);
    assert_int_equal(row.type, TSEED_RESEED);
    assert_int_equal(row.terminating, 0);
    assert_string_equal(row.layer, "topp:states");
    assert_int_equal(row.progress.made, 3);

    tseed_board_slot_update(board, slot, &later);
    assert_true(tseed_board_read(board, (unsigned)slot, &row));
    assert_memory_equal(&row.progress, &later, sizeof(later));
    assert_false(tseed_board_find(board, 8, &row));
    assert_valid(board);
}

/* Until the database has its end, and so until it leaves the board. */
static void test_board__a_task_that_is_done_is_no_damage(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    const tseed_task_t task = {.id = 7, .layer = "topp:states", .tiles_total = 5};
    const tseed_progress_t progress = {.state = TSEED_DONE, .made = 5, .low = 1};
    tseed_row_t row;

    (void)state;
    assert_true(tseed_board_slot_claim(board, &task, &progress) >= 0);
    assert_true(tseed_board_find(board, 7, &row));
    assert_int_equal(row.progress.state, TSEED_DONE);
    assert_valid(board);
}

static void test_board__lists_ascending_by_layer_without_terminating(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    apr_array_header_t *rows;
    int first = claim(board, 1, "a", 0);

    (void)state;
    claim(board, 2, "b", 0);
    tseed_board_slot_terminating(board, claim(board, 3, "a", 0));
    tseed_board_slot_release(board, first);
    assert_int_equal(claim(board, 4, "a", 0), first);
    claim(board, 5, "ab", 0);

    rows = tseed_board_list(board, NULL, 0, pool);
    assert_int_equal(rows->nelts, 3);
    assert_int_equal(APR_ARRAY_IDX(rows, 0, tseed_row_t).id, 2);
    assert_int_equal(APR_ARRAY_IDX(rows, 1, tseed_row_t).id, 4);
    assert_int_equal(APR_ARRAY_IDX(rows, 2, tseed_row_t).id, 5);

    rows = tseed_board_list(board, "a", 1, pool);
    assert_int_equal(rows->nelts, 2);
    assert_int_equal(APR_ARRAY_IDX(rows, 0, tseed_row_t).id, 3);
    assert_int_equal(APR_ARRAY_IDX(rows, 0, tseed_row_t).terminating, 1);
    assert_int_equal(APR_ARRAY_IDX(rows, 1, tseed_row_t).id, 4);
    assert_int_equal(tseed_board_list(board, "c", 1, pool)->nelts, 0);
}

static void test_board__is_full_and_takes_again_what_was_released(void **state)
{
    tseed_board_t *board = board_new(3);
    tseed_row_t row;

    (void)state;
    for (int64_t id = 1; id <= 3; id++) {
        assert_int_equal(claim(board, id, "a", 0), (int)id - 1);
    }
    assert_int_equal(claim(board, 4, "a", 0), -1);
    tseed_board_slot_terminating(board, 1);
    tseed_board_slot_release(board, 1);
    assert_false(tseed_board_read(board, 1, &row));
    assert_int_equal(claim(board, 4, "a", 0), 1);
    assert_true(tseed_board_read(board, 1, &row));
    assert_int_equal(row.terminating, 0);
    assert_valid(board);
}

static void test_board__keeps_the_longest_layer_name(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    char name[TSEED_NAME_MAX + 1];
    tseed_row_t row;

    (void)state;
    memset(name, 'x', TSEED_NAME_MAX);
    name[TSEED_NAME_MAX] = '\0';
    claim(board, 1, name, 0);
    assert_true(tseed_board_find(board, 1, &row));
    assert_string_equal(row.layer, name);
    assert_int_equal(tseed_board_list(board, name, 0, pool)->nelts, 1);
}

static void test_board__survives_its_seeder(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    apr_time_t heartbeat;
    uint64_t epoch;
    int64_t pid;
    tseed_row_t row;

    (void)state;
    assert_int_equal(tseed_board_seeder(board, &pid, &epoch, &heartbeat), TSEED_SEEDER_NONE);
    assert_int_equal(heartbeat, 0);
    tseed_board_seeder_begin(board, 4711, 10);
    tseed_board_seeder_state_set(board, TSEED_SEEDER_WORKING, 5);
    claim(board, 5, "a", 77);
    tseed_board_worker_begin(board, WORKERS - 1, 5, 77);

    tseed_board_seeder_begin(board, 4712, 20);
    tseed_board_heartbeat(board, 30);
    assert_int_equal(tseed_board_seeder(board, &pid, &epoch, &heartbeat), TSEED_SEEDER_STARTING);
    assert_int_equal(pid, 4712);
    assert_int_equal(epoch, 2);
    assert_int_equal(heartbeat, 30);
    assert_true(tseed_board_find(board, 5, &row));
    assert_int_equal(row.progress.made, 77);
    assert_int_equal(tseed_board_seeder(board, NULL, NULL, NULL), TSEED_SEEDER_STARTING);
}

static void test_board__counts_changes(void **state)
{
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    assert_int_equal(tseed_board_commit(board), 1);
    assert_int_equal(tseed_board_commit(board), 2);
    tseed_board_apply(board, 2);
    tseed_board_apply(board, 1);
    assert_int_equal(tseed_board_applied(board), 2);
    assert_int_equal(tseed_board_committed(board), 2);
    tseed_board_generation_set(board, 3);
    assert_int_equal(tseed_board_generation(board), 3);
}

static void test_board__tells_of_hosts(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    const tseed_board_host_t said = {.tenure = 7, .active = "web1"};
    tseed_board_host_t host = tseed_board_host_get(board);
    uint64_t changes;

    (void)state;
    assert_int_equal(host.tenure, 0); /* nothing was said */
    assert_string_equal(host.active, "");
    tseed_board_host_set(board, &said);
    changes = tseed_board_changes(board);
    tseed_board_host_set(board, &said);
    assert_int_equal(tseed_board_changes(board), changes);
    host = tseed_board_host_get(board);
    assert_memory_equal(&host, &said, sizeof(host));
    assert_false(tseed_board_is_standby(board));
    tseed_board_seeder_state_set(board, TSEED_SEEDER_STANDBY, 1);
    assert_true(tseed_board_is_standby(board));
    assert_valid(board);
}

/* What another tenure has left is believed by nobody. */
static void test_board__is_cleared(void **state)
{
    const uint64_t nothing[TSEED_TRACE_WORDS] = {0};
    tseed_board_t *board = board_new(SLOTS);
    tseed_row_t row;

    (void)state;
    for (int i = 1; i <= 3; i++) {
        claim(board, i, "a", 0);
    }
    tseed_board_slot_release(board, 1);
    tseed_trace_begin(board, 1, 5, nothing);
    tseed_board_clear(board);
    assert_int_equal(tseed_board_used(board), 0);
    assert_false(tseed_board_find(board, 1, &row));
    assert_int_equal(tseed_trace_find(board, 1, 5), 0);
    assert_int_equal(claim(board, 4, "a", 0), 0);
    assert_valid(board);
}

static void test_board__keeps_the_quota_with_its_version(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    char *longest = malloc(16384);
    int64_t version = 0;

    (void)state;
    assert_null(tseed_board_quota_get(board, &version, pool));
    assert_int_equal(tseed_board_quota_set(board, "{\"enabled\":false}", 1), APR_SUCCESS);
    assert_string_equal(tseed_board_quota_get(board, &version, pool), "{\"enabled\":false}");
    assert_int_equal(version, 1);

    memset(longest, 'q', 16383);
    longest[16383] = '\0';
    assert_int_equal(tseed_board_quota_set(board, longest, 2), APR_SUCCESS);
    assert_string_equal(tseed_board_quota_get(board, &version, pool), longest);
    free(longest);
    longest = calloc(1, 16385);
    memset(longest, 'q', 16384);
    assert_int_equal(tseed_board_quota_set(board, longest, 3), APR_ENOSPC);
    tseed_board_quota_get(board, &version, pool);
    assert_int_equal(version, 2);
    free(longest);
    assert_valid(board);
}

/* ---- other builds ---- */

/* As the parent does it in its next generation, for a segment of that layout. */
static tseed_board_t *attach(const tseed_board_t *board, uint64_t layout)
{
    return tseed_board_attach(board->segment, layout, SLOTS, WORKERS, pool);
}

static void test_board__is_found_again_by_the_same_build(void **state)
{
    tseed_board_t *board = board_new(SLOTS), *again;
    tseed_row_t row;

    (void)state;
    claim(board, 1, "a", 1);
    again = attach(board, tseed_board_layout());
    assert_non_null(again);
    assert_int_equal(tseed_board_slots(again), SLOTS);
    assert_false(tseed_board_is_fenced(again));
    assert_true(tseed_board_find(again, 1, &row));
}

static void test_board__of_another_layout_is_fenced(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    uint64_t *head = (uint64_t *)(void *)board->segment;

    (void)state;
    assert_null(attach(board, tseed_board_layout() ^ 1));
    assert_true(tseed_board_is_fenced(board));
    assert_int_equal(head[3], 1); /* the fence is the fourth word of the frozen head */
    tseed_board_generation_set(board, 1);
    assert_false(tseed_board_is_fenced(board));
}

static void test_board__that_says_another_layout_is_fenced(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    uint64_t *head = (uint64_t *)(void *)board->segment;

    (void)state;
    head[1] ^= 1;
    assert_null(attach(board, tseed_board_layout()));
    assert_true(tseed_board_is_fenced(board));
}

static void test_board__touches_no_page_of_a_slot_before_it_is_used(void **state)
{
    const unsigned slots = 16384;
    apr_size_t size = tseed_board_size(slots, WORKERS);
    size_t pages = size / 4096, resident = 0;
    unsigned char *there = malloc(pages + 1);
    tseed_board_t *board = board_new(slots);

    (void)state;
    tseed_board_seeder_begin(board, 1, 1);
    for (int64_t id = 1; id <= 4; id++) {
        claim(board, id, "a", 0);
    }
    tseed_board_list(board, NULL, 0, pool);
    assert_valid(board);
    assert_int_equal(mincore(board->segment, size, there), 0);
    for (size_t i = 0; i < pages; i++) {
        resident += there[i] & 1;
    }
    free(there);
    assert_true(size >= slots * 2 * sizeof(tseed_progress_t));
    assert_in_range(resident, 1, 8);
}

/* ---- the validator can fail ---- */

typedef void damage_t(tseed_task_t *task, tseed_progress_t *progress);

static void damage_counter(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)task;
    progress->skipped = -1;
}

static void damage_total(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)progress;
    task->tiles_total = 3;
}

static void damage_sum(tseed_task_t *task, tseed_progress_t *progress)
{
    progress->made = progress->skipped = INT64_MAX; /* a sum that overflows */
    task->tiles_total = 10;
}

static void damage_window(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)task;
    progress->window[0] |= 1;
}

static void damage_reason(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)task;
    memset(progress->reason, 'r', sizeof(progress->reason));
}

static void damage_state(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)task;
    progress->state = 3;
}

static void damage_done(tseed_task_t *task, tseed_progress_t *progress)
{
    task->tiles_total = 5;
    progress->state = TSEED_DONE;
}

static void damage_id(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)progress;
    task->id = 2;
}

static void damage_number(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)progress;
    task->id = -1;
}

static void damage_size(tseed_task_t *task, tseed_progress_t *progress)
{
    *progress = (tseed_progress_t){.state = TSEED_RUNNING};
    task->tiles_total = -1;
}

static void damage_type(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)progress;
    task->type = TSEED_TRUNCATE + 1;
}

#define YEAR_10000 (INT64_C(253402300800) * APR_USEC_PER_SEC)

static void damage_start(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)task;
    progress->started = -1;
}

static void damage_end(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)task;
    progress->finished = YEAR_10000;
}

static void damage_wait(tseed_task_t *task, tseed_progress_t *progress)
{
    (void)task;
    progress->away_since = YEAR_10000;
}

/* One thing was wrong, and is put right. */
static void assert_mended(tseed_board_t *board)
{
    assert_non_null(tseed_board_mend(board, pool));
    assert_null(tseed_board_mend(board, pool));
    assert_valid(board);
}

static void test_board__validator_sees_each_damage(void **state)
{
    static damage_t *const damages[] = {damage_counter, damage_total, damage_sum,  damage_window,
                                        damage_reason,  damage_state, damage_done, damage_id,
                                        damage_start,   damage_end,   damage_wait, damage_number,
                                        damage_size,    damage_type};

    (void)state;
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        tseed_board_t *board = board_new(SLOTS);
        tseed_task_t task = task_of(1, "a");
        tseed_progress_t progress = progress_of(1);
        tseed_row_t row;

        claim(board, 2, "a", 0);
        assert_valid(board);
        damages[i](&task, &progress);
        assert_true(tseed_board_slot_claim(board, &task, &progress) >= 0);
        assert_non_null(tseed_board_validate(board, pool));
        assert_mended(board);
        assert_true(tseed_board_find(board, 2, &row));
        assert_false(tseed_board_find(board, 1, &row));
    }
}

static void test_board__validator_sees_a_quota_without_version(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    int64_t version;

    (void)state;
    tseed_board_quota_set(board, "{}", 0);
    assert_non_null(tseed_board_validate(board, pool));
    assert_mended(board);
    assert_null(tseed_board_quota_get(board, &version, pool));
}

/* A number of slots each, and a slot that is taken where no claim can have put it. */
static void test_board__validator_sees_slots_that_are_not_known(void **state)
{
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    for (int64_t id = 1; id <= 3; id++) {
        claim(board, id, "a", 0);
    }
    assert_valid(board);
    atomic_store(&board->segment->used, SLOTS + 1);
    assert_string_equal(tseed_board_validate(board, pool),
                        "more slots are called used than there are");
    assert_mended(board);
    atomic_store(&board->segment->peak, SLOTS + 1);
    assert_non_null(tseed_board_validate(board, pool));
    assert_mended(board);
    board = board_new(SLOTS);
    for (int64_t id = 1; id <= 3; id++) {
        claim(board, id, "a", 0);
    }
    atomic_store(&board->segment->used, 1);
    assert_string_equal(tseed_board_validate(board, pool), "slot 1 is taken beyond the used ones");
    assert_string_equal(tseed_board_mend(board, pool),
                        "slot 1 is taken beyond the used ones, and 1 more are wrong");
    assert_valid(board);
    assert_int_equal(claim(board, 4, "a", 0), 1);
}

static void test_board__validator_sees_changes_applied_before_their_commit(void **state)
{
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    tseed_board_apply(board, 1);
    assert_non_null(tseed_board_validate(board, pool));
    assert_mended(board);
}

/* ---- many readers, one writer ---- */

#define BUSY_SLOTS 8

static const char *layer_of(int64_t id)
{
    return id % 2 ? "odd" : "even";
}

/* Works on the slots until it is told to stop or killed: updates, now and then another task. */
static void write_on(tseed_board_t *board, const atomic_int *stop, unsigned seed)
{
    int slots[BUSY_SLOTS];
    int64_t id = (int64_t)seed * 1000000;
    char text[64];

    for (int i = 0; i < (int)tseed_board_slots(board); i++) {
        tseed_board_slot_release(board, i);
    }
    for (int i = 0; i < BUSY_SLOTS; i++) {
        id++;
        slots[i] = claim(board, id, layer_of(id), 0);
    }
    for (int64_t step = 1; !atomic_load(stop); step++) {
        int i = (int)(step % BUSY_SLOTS);
        tseed_progress_t progress = progress_of(step);

        tseed_board_slot_update(board, slots[i], &progress);
        if (rand_r(&seed) % 32 == 0) {
            tseed_board_slot_release(board, slots[i]);
            id++;
            slots[i] = claim(board, id, layer_of(id), step);
            snprintf(text, sizeof(text), "%lld", (long long)id);
            tseed_board_quota_set(board, text, id);
        }
    }
}

/* Reads every slot once; returns the number of rows, or -1 when one was not whole. */
static int64_t read_slots(const tseed_board_t *board)
{
    int64_t rows = 0;
    tseed_row_t row;

    for (unsigned i = 0; i < BUSY_SLOTS; i++) {
        if (tseed_board_read(board, i, &row)) {
            if (!is_whole(&row) || strcmp(row.layer, layer_of(row.id)) != 0) {
                return -1;
            }
            rows++;
        }
    }
    return rows;
}

/* Reads until it is told to stop; counts itself once it has read a row. Returns the number of rows,
 * or -1 when something was not whole. */
static int64_t read_on(const tseed_board_t *board, const atomic_int *stop, atomic_int *readers)
{
    apr_pool_t *mine;
    int64_t rows = 0;

    apr_pool_create(&mine, NULL);
    while (!atomic_load(stop)) {
        int64_t version = 0, more = read_slots(board);
        const char *quota = tseed_board_quota_get(board, &version, mine);

        if (!rows && more) {
            atomic_fetch_add(readers, 1);
        }
        if (more < 0 || (quota && strtoll(quota, NULL, 10) != version)) {
            return -1;
        }
        rows += more;
        apr_pool_clear(mine);
    }
    apr_pool_destroy(mine);
    return rows;
}

static void await_readers(const atomic_int *readers, int count)
{
    while (atomic_load(readers) < count) {
        usleep(1000);
    }
}

typedef struct {
    tseed_board_t *board;
    atomic_int *stop, *readers;
    int64_t rows;
} reader_t;

static void *reader_main(void *data)
{
    reader_t *reader = data;

    reader->rows = read_on(reader->board, reader->stop, reader->readers);
    return NULL;
}

static void *writer_main(void *data)
{
    reader_t *writer = data;

    write_on(writer->board, writer->stop, 1);
    return NULL;
}

static void test_board__readers_in_threads_see_whole_records(void **state)
{
    atomic_int stop = 0, readers = 0;
    reader_t parts[3];
    pthread_t threads[3];
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    for (int i = 0; i < 3; i++) {
        parts[i] = (reader_t){board, &stop, &readers, 0};
        assert_int_equal(
            pthread_create(&threads[i], NULL, i ? reader_main : writer_main, &parts[i]), 0);
    }
    await_readers(&readers, 2);
    usleep(300 * 1000); /* how long the churn lasts, not something awaited */
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(parts[1].rows > 0);
    assert_true(parts[2].rows > 0);
    assert_valid(board);
}

/* `control`: whether to stop, and how many readers have read. */
static pid_t fork_reader(tseed_board_t *board, atomic_int *control)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(read_on(board, &control[0], &control[1]) > 0 ? 0 : 1);
    }
    return pid;
}

static void test_board__readers_in_processes_survive_writers_that_are_killed(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    atomic_int *control = map_segment(4096);
    unsigned seed = 20260101;
    pid_t readers[2];
    int status;

    (void)state;
    for (int i = 0; i < 2; i++) {
        readers[i] = fork_reader(board, control);
    }
    for (unsigned round = 1; round <= 25; round++) {
        pid_t writer = fork();

        if (writer == 0) {
            tseed_board_seeder_begin(board, getpid(), 1);
            write_on(board, &control[0], round);
            _exit(0);
        }
        if (round == 1) {
            await_readers(&control[1], 2);
        }
        usleep(2000 + (unsigned)rand_r(&seed) % 20000);
        assert_int_equal(kill(writer, SIGKILL), 0);
        assert_int_equal(waitpid(writer, &status, 0), writer);
        assert_true(WIFSIGNALED(status));
        assert_valid(board);
    }
    atomic_store(&control[0], 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(readers[i], &status, 0), readers[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static int setup(void **state)
{
    (void)state;
    apr_initialize();
    return apr_pool_create(&pool, NULL);
}

static int teardown(void **state)
{
    (void)state;
    apr_terminate();
    return 0;
}

static void test_board__blames_only_crashes_and_only_who_was_at_work(void **state)
{
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    tseed_board_worker_begin(board, 0, 5, 77);
    tseed_board_seeder_begin(board, 100, 1); /* a plain kill */
    assert_int_equal(tseed_board_crashes_of(board, 5), 0);
    for (unsigned i = 0; i < 2; i++) {
        tseed_board_worker_begin(board, 0, 5, 77);
        tseed_board_worker_begin(board, 1, 5, 80 + i);
        tseed_board_worker_begin(board, 2, 6, 77);
        tseed_board_worker_end(board, 2);
        tseed_board_crash(board, 0);
        tseed_board_seeder_begin(board, 101 + i, 2);
    }
    assert_int_equal(tseed_board_crashes_at(board, 5, 77), 2);
    assert_int_equal(tseed_board_crashes_at(board, 5, 80), 1);
    assert_int_equal(tseed_board_crashes_at(board, 6, 77), 0);
    assert_int_equal(tseed_board_crashes_of(board, 5), 2); /* two crashes, not four metatiles */
    tseed_board_crashes_forget(board, 5);
    assert_int_equal(tseed_board_crashes_of(board, 5), 0);
    assert_int_equal(tseed_board_crashes_at(board, 5, 77), 0);
    assert_valid(board);
}

static void *begin_work(void *board)
{
    tseed_board_worker_begin(board, 1, 6, 78);
    return NULL;
}

static void test_board__blames_the_thread_that_crashed(void **state)
{
    tseed_board_t *board = board_new(SLOTS);
    pthread_t other;

    (void)state;
    tseed_board_worker_begin(board, 0, 5, 77);
    pthread_create(&other, NULL, begin_work, board);
    pthread_join(other, NULL);
    tseed_board_crash(board, gettid());
    tseed_board_seeder_begin(board, 100, 1);
    assert_int_equal(tseed_board_crashes_of(board, 5), 1);
    assert_int_equal(tseed_board_crashes_at(board, 5, 77), 1);
    assert_int_equal(tseed_board_crashes_of(board, 6), 0);
}

static void test_board__full_of_blame_drops_the_least(void **state)
{
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    for (int i = 0; i < 300; i++) {
        tseed_board_worker_begin(board, 0, 5, 77);
        tseed_board_worker_begin(board, 1, 6, i);
        tseed_board_crash(board, 0);
        tseed_board_seeder_begin(board, 100, 1);
    }
    assert_int_equal(tseed_board_crashes_at(board, 5, 77), 300);
    assert_int_equal(tseed_board_crashes_at(board, 6, 299), 1);
}

/* What a forgotten task has left in the table makes room before the others do. */
static void test_board__forgotten_blame_is_no_blame(void **state)
{
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    for (int i = 0; i < 2 * TSEED_BOARD_BLAMES; i++) {
        tseed_board_worker_begin(board, 0, 6, i / 2);
        tseed_board_crash(board, 0);
        tseed_board_seeder_begin(board, 100, 1);
    }
    tseed_board_crashes_forget(board, 6);
    for (int64_t task = 7; task < 12; task++) {
        tseed_board_worker_begin(board, 0, task, 1);
        tseed_board_crash(board, 0);
        tseed_board_seeder_begin(board, 100, 1);
    }
    for (int64_t task = 7; task < 12; task++) {
        assert_int_equal(tseed_board_crashes_at(board, task, 1), 1);
        assert_int_equal(tseed_board_crashes_of(board, task), 1);
    }
}

/* Nobody is at work at a task of any number. */
static void test_board__idle_workers_are_blamed_for_nothing(void **state)
{
    tseed_board_t *board = board_new(SLOTS);

    (void)state;
    tseed_board_worker_begin(board, 0, 5, 77);
    tseed_board_worker_end(board, 0);
    tseed_board_crash(board, 0);
    tseed_board_seeder_begin(board, 100, 1);
    for (unsigned i = 0; i < TSEED_BOARD_BLAMES; i++) {
        assert_int_equal(board->segment->blames[i].task, 0);
    }
}

/* What stands behind the last slot is none. */
static void test_board__has_no_slot_behind_its_last(void **state)
{
    tseed_board_t *larger = board_new(SLOTS);
    tseed_board_t *board =
        tseed_board_attach(larger->segment, tseed_board_layout(), 2, WORKERS, pool);
    tseed_row_t row;

    (void)state;
    for (int64_t id = 1; id <= 4; id++) {
        claim(larger, id, "a", 0);
    }
    assert_int_not_equal(tseed_board_layout(), 0); /* as fresh memory says */
    assert_true(tseed_board_read(board, 1, &row));
    assert_false(tseed_board_read(board, 2, &row));
    assert_false(tseed_board_find(board, 3, &row));
    assert_int_equal(tseed_board_list(board, NULL, 1, pool)->nelts, 2);
}

/* ---- somebody writes nonsense ---- */

/* A segment that ends where memory ends: one byte more is a crash. */
static tseed_board_t *board_at_the_edge(unsigned slots)
{
    const apr_size_t size = tseed_board_size(slots, WORKERS);
    const apr_size_t pages = (size + 4095) / 4096 * 4096;
    char *memory = map_segment(pages + 2 * 4096);

    assert_int_equal(mprotect(memory, 4096, PROT_NONE), 0);
    assert_int_equal(mprotect(memory + 4096 + pages, 4096, PROT_NONE), 0);
    return tseed_board_init(memory + 4096 + pages - size, slots, WORKERS, pool);
}

static uint64_t nonsense(unsigned *seed)
{
    static const uint64_t words[] = {0,
                                     1,
                                     2,
                                     3,
                                     SLOTS - 1,
                                     SLOTS,
                                     SLOTS + 1,
                                     WORKERS,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX - 4096,
                                     UINT64_C(0x7878787878787878)};
    const size_t count = sizeof(words) / sizeof(words[0]);
    const size_t pick = (size_t)rand_r(seed) % (count + 4);

    return pick < count ? words[pick] : (uint64_t)rand_r(seed) << 33 ^ (uint64_t)rand_r(seed);
}

/* Writes nonsense over every word, or every n-th. */
static void scribble(tseed_board_t *board, unsigned *seed, unsigned every)
{
    uint64_t *words = (uint64_t *)(void *)board->segment;
    const size_t count = tseed_board_size(board->slots, board->workers) / sizeof(*words);

    for (size_t i = (size_t)rand_r(seed) % every; i < count; i += every) {
        words[i] = nonsense(seed);
    }
}

/* What a child does with a row: all of it must be possible. */
static void use_row(const tseed_row_t *row)
{
    const tseed_task_t task = {.type = row->type,
                               .layer = row->layer,
                               .gridset = "g",
                               .format = "image/png",
                               .requested_by = "",
                               .ignored = "",
                               .parameters = apr_table_make(pool, 1),
                               .tiles_total = row->tiles_total};

    assert_in_range(strlen(row->layer), 0, TSEED_NAME_MAX);
    assert_in_range(strlen(row->progress.reason), 0, TSEED_REASON_SIZE - 1);
    assert_non_null(tseed_task_type_name(row->type));
    assert_true(tseed_progress_processed(&row->progress) <= row->tiles_total);
    assert_non_null(tseed_answer_task(&task, &row->progress, pool));
}

static void live_as_a_child(tseed_board_t *board)
{
    apr_array_header_t *rows = tseed_board_list(board, NULL, 1, pool);
    int64_t version;
    const char *quota = tseed_board_quota_get(board, &version, pool);
    tseed_row_t row;

    for (int i = 0; rows && i < rows->nelts; i++) {
        use_row(&APR_ARRAY_IDX(rows, i, tseed_row_t));
    }
    tseed_board_list(board, "a", 0, pool);
    for (unsigned i = 0; i < SLOTS + 4; i++) {
        if (tseed_board_read(board, i, &row)) {
            use_row(&row);
        }
    }
    tseed_board_find(board, 1, &row);
    assert_true(!quota || strlen(quota) < TSEED_BOARD_QUOTA_TEXT_SIZE);
    assert_in_range(tseed_board_seeder(board, NULL, NULL, NULL), TSEED_SEEDER_NONE,
                    TSEED_SEEDER_STOPPED);
    for (uint64_t page = UINT64_MAX - 64; page != 64; page++) {
        tseed_hits_count(board, page);
    }
    tseed_board_commit(board);
}

static void live_as_the_parent(tseed_board_t *board)
{
    int64_t pid;
    apr_time_t heartbeat;

    tseed_board_seeder(board, &pid, NULL, &heartbeat);
    tseed_board_seeder_state_set(board, TSEED_SEEDER_NONE, 6);
    attach(board, tseed_board_layout());
    attach(board, tseed_board_layout() ^ 1);
    tseed_board_generation_set(board, 2);
}

static void take_hits(void *baton, uint64_t page, uint64_t count)
{
    (void)page;
    *(uint64_t *)baton += count;
}

/* What was left, and what is begun beside it. */
static void go_on_with_traces(tseed_board_t *board)
{
    const tseed_progress_t progress = progress_of(3);
    const uint64_t found[TSEED_TRACE_WORDS] = {1};
    uint64_t present[TSEED_TRACE_WORDS] = {3};
    int64_t x, y;

    for (unsigned trace = 1; trace <= tseed_traces_used(board); trace++) {
        tseed_traces_forget(board, tseed_trace_task(board, trace), trace % 2 ? &progress : NULL);
        tseed_trace_removed(board, trace);
        tseed_trace_doubt(board, trace, &x, &y);
        tseed_trace_remove(board, trace, 1, 2);
        tseed_trace_count(board, trace);
    }
    tseed_trace_recall(board, tseed_trace_begin(board, 1, 1, found), present);
    tseed_trace_end(board, tseed_trace_find(board, 1, 1));
    tseed_trace_begin_level(board, 1, 2, 3);
}

static void live_as_a_seeder(tseed_board_t *board)
{
    uint64_t hits = 0;
    int slot, first = -1;

    tseed_board_crash(board, gettid());
    tseed_board_crash(board, 0);
    tseed_board_seeder_begin(board, getpid(), 1);
    for (int i = 0; i < 8 && tseed_board_mend(board, pool); i++) {
    }
    assert_valid(board);
    for (int64_t id = 1; (slot = claim(board, id << 40, "a", 0)) >= 0; id++) {
        first = first < 0 ? slot : first;
        assert_in_range(slot, 0, SLOTS - 1);
    }
    if (first >= 0) {
        tseed_board_slot_release(board, first);
    }
    assert_valid(board);
    tseed_board_crashes_of(board, 1);
    tseed_board_crashes_forget(board, 1);
    tseed_board_worker_begin(board, WORKERS - 1, 1, 1);
    tseed_hits_drain(board, take_hits, &hits);
    go_on_with_traces(board);
}

/* One thread does it all: the sanitizer of threads, which takes twenty times as long, sees no more
 * in many rounds than in some. */
#ifdef __SANITIZE_THREAD__
#define NONSENSE_ROUNDS 40
#else
#define NONSENSE_ROUNDS 400
#endif

static void test_board__full_of_nonsense_harms_nobody(void **state)
{
    apr_pool_t *whole = pool;
    unsigned seed = 20260102;

    (void)state;
    for (unsigned round = 0; round < NONSENSE_ROUNDS; round++) {
        tseed_board_t *board;

        apr_pool_create(&pool, whole);
        board = board_at_the_edge(SLOTS);
        for (int64_t id = 1; id <= SLOTS / 2; id++) {
            claim(board, id, "a", 1);
        }
        scribble(board, &seed, round % 4 == 0 ? 1 : 1 + (unsigned)rand_r(&seed) % 500);
        live_as_a_child(board);
        live_as_the_parent(board);
        live_as_a_seeder(board);
        live_as_a_child(board);
        munmap((void *)((uintptr_t)board->segment / 4096 * 4096), tseed_board_size(SLOTS, WORKERS));
        apr_pool_destroy(pool);
    }
    pool = whole;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_board__shows_what_was_claimed_and_updated),
        cmocka_unit_test(test_board__a_task_that_is_done_is_no_damage),
        cmocka_unit_test(test_board__lists_ascending_by_layer_without_terminating),
        cmocka_unit_test(test_board__is_full_and_takes_again_what_was_released),
        cmocka_unit_test(test_board__keeps_the_longest_layer_name),
        cmocka_unit_test(test_board__survives_its_seeder),
        cmocka_unit_test(test_board__counts_changes),
        cmocka_unit_test(test_board__blames_only_crashes_and_only_who_was_at_work),
        cmocka_unit_test(test_board__blames_the_thread_that_crashed),
        cmocka_unit_test(test_board__full_of_blame_drops_the_least),
        cmocka_unit_test(test_board__forgotten_blame_is_no_blame),
        cmocka_unit_test(test_board__idle_workers_are_blamed_for_nothing),
        cmocka_unit_test(test_board__has_no_slot_behind_its_last),
        cmocka_unit_test(test_board__tells_of_hosts),
        cmocka_unit_test(test_board__is_cleared),
        cmocka_unit_test(test_board__keeps_the_quota_with_its_version),
        cmocka_unit_test(test_board__is_found_again_by_the_same_build),
        cmocka_unit_test(test_board__of_another_layout_is_fenced),
        cmocka_unit_test(test_board__that_says_another_layout_is_fenced),
        cmocka_unit_test(test_board__touches_no_page_of_a_slot_before_it_is_used),
        cmocka_unit_test(test_board__validator_sees_each_damage),
        cmocka_unit_test(test_board__validator_sees_a_quota_without_version),
        cmocka_unit_test(test_board__validator_sees_slots_that_are_not_known),
        cmocka_unit_test(test_board__validator_sees_changes_applied_before_their_commit),
        cmocka_unit_test(test_board__full_of_nonsense_harms_nobody),
        cmocka_unit_test(test_board__readers_in_threads_see_whole_records),
        cmocka_unit_test(test_board__readers_in_processes_survive_writers_that_are_killed),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
