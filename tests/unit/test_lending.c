/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Who gets seeding threads that nobody uses, which tasks begin next, and why others wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>

#include "pool_fixture.h"
#include "seeder/tseed_lending.h"
#include "seeder/tseed_task_queue.h"

#define RUNS_MOST    6
#define ENTRIES_MOST 8

/* Tasks by their ids 1, 2, …: first those that run, then those that are PENDING. */
typedef struct {
    tseed_task_t tasks[RUNS_MOST];
    tseed_run_t running[RUNS_MOST];
    tseed_runs_t runs;
    int runs_count;
    tseed_entry_t entries[ENTRIES_MOST];
    int count;
} state_t;

static state_t *state_make(void)
{
    return apr_pcalloc(pool, sizeof(state_t));
}

static tseed_entry_t *entry_add(state_t *all, tseed_task_type_t type, const char *layer)
{
    tseed_entry_t *entry = &all->entries[all->count++];

    entry->id = all->count;
    entry->type = type;
    entry->layer = apr_pstrdup(pool, layer);
    entry->tileset = entry->layer; /* one tile set a layer */
    if (entry->id > 1) {
        entry[-1].next = entry;
    }
    return entry;
}

/* A run that has nothing left to hand out, so no other run stands before it. */
static tseed_run_t *run_of(state_t *all, tseed_task_type_t type, const char *layer,
                           int thread_count)
{
    tseed_run_t *run = &all->running[all->runs_count];
    tseed_task_t *task = &all->tasks[all->runs_count++];

    entry_add(all, type, layer)->run = run;
    task->id = all->count;
    task->type = type;
    task->layer = layer;
    task->thread_count = thread_count;
    run->task = task;
    run->phase = TSEED_RUN_ENDING;
    if (all->runs_count > 1) {
        run[-1].next_run = run;
    }
    all->runs.tasks = all->running;
    return run;
}

static tseed_run_t *run_add(state_t *all, const char *layer, int thread_count)
{
    return run_of(all, TSEED_SEED, layer, thread_count);
}

/* The ids of the tasks that begin, as in "3 4"; truncates come first. */
static const char *begins(state_t *all, int threads)
{
    tseed_task_queue_t queue = tseed_task_queue_of(&all->runs, threads, pool);
    const apr_array_header_t *found = tseed_task_queue_find(&queue, all->entries);
    const char *ids = "";

    for (int i = 0; i < found->nelts; i++) {
        ids = apr_psprintf(pool, "%s%s%d", ids, i ? " " : "",
                           (int)APR_ARRAY_IDX(found, i, tseed_entry_t *)->id);
    }
    return ids;
}

/* Why a PENDING task waits. */
static const char *reason(state_t *all, int id, int threads)
{
    tseed_task_queue_t queue = tseed_task_queue_of(&all->runs, threads, pool);
    tseed_reason_t code;

    for (int i = 0; i < id - 1; i++) {
        tseed_task_queue_pass(&queue, &all->entries[i]);
    }
    return tseed_task_queue_reason(&queue, &all->entries[id - 1], &code);
}

/* ---- lending ---- */

static void test_lending__threads_that_nobody_uses_are_lent_in_turn(void **state)
{
    state_t *all = state_make();
    const tseed_run_t *greedy = run_add(all, "a", 8);
    const tseed_run_t *modest = run_add(all, "b", 2);
    const tseed_run_t *other = run_add(all, "c", 8);

    (void)state;
    assert_int_equal(tseed_lending_vacant(&all->runs, 8), 5);
    tseed_lending_lend(&all->runs, 8);
    assert_int_equal(greedy->threads, 3);
    assert_int_equal(modest->threads, 2); /* no more than it has asked for */
    assert_int_equal(other->threads, 3);
}

static void test_lending__each_run_has_the_thread_that_it_owns(void **state)
{
    state_t *all = state_make();

    (void)state;
    for (int i = 0; i < 3; i++) {
        run_add(all, "a", 4);
    }
    tseed_lending_lend(&all->runs, 2); /* the configuration has fewer threads now */
    assert_int_equal(tseed_lending_vacant(&all->runs, 2), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(all->running[i].threads, 1);
    }
}

static void test_lending__a_paused_run_lends_its_own_thread(void **state)
{
    state_t *all = state_make();
    tseed_run_t *away = run_add(all, "a", 4);
    const tseed_run_t *working = run_add(all, "b", 4);

    (void)state;
    away->waits_since = 1;
    assert_int_equal(tseed_lending_vacant(&all->runs, 2), 1);
    tseed_lending_lend(&all->runs, 2);
    assert_int_equal(away->threads, 1); /* to try again with, and no thread of others */
    assert_int_equal(working->threads, 2);
}

static void test_lending__what_pauses_a_run(void **state)
{
    state_t *all = state_make();
    tseed_run_t *run = run_add(all, "a", 1);

    (void)state;
    assert_false(tseed_lending_is_paused(&all->runs, run));
    run->is_silent = 1; /* its upstream does not answer */
    assert_true(tseed_lending_is_paused(&all->runs, run));
    run->is_silent = 0;
    run->is_hung = 1; /* nor does its store */
    assert_true(tseed_lending_is_paused(&all->runs, run));
    run->is_hung = 0;
    run->pauses = 1; /* its store failed */
    assert_true(tseed_lending_is_paused(&all->runs, run));
    run->pauses = 0;
    run->pause_until = INT64_MAX;
    assert_true(tseed_lending_is_paused(&all->runs, run));
    run->pause_until = 0;
    assert_false(tseed_lending_is_paused(&all->runs, run));
}

/* Puts a job under way in a run. */
static void add_job(tseed_run_t *of, tseed_job_t *job)
{
    job->run = of;
    tseed_run_job_add(of, job);
}

/* Until the truncate has removed its level, or as long as it is paused, nothing is stored there. */
static void test_lending__a_run_that_waits_for_a_truncate_has_a_reason(void **state)
{
    state_t *all = state_make();
    tseed_run_t *reseed = run_of(all, TSEED_RESEED, "a", 1);
    tseed_run_t *truncate = run_of(all, TSEED_TRUNCATE, "a", 1);
    const tseed_range_t level = {3, 0, 0, 7, 7}, other = {4, 0, 0, 7, 7};
    tseed_job_t cut = {.request.stage = TSEED_STAGE_CUT, .metatile = {level, level}};
    tseed_job_t removal = {.request.stage = TSEED_STAGE_REMOVE, .metatile = {level, level}};

    (void)state;
    reseed->phase = TSEED_RUN_GOING;
    add_job(reseed, &cut);
    add_job(truncate, &removal);
    tseed_queue_put(&reseed->ready, &cut);
    assert_ptr_equal(tseed_lending_stuck_before(&all->runs, reseed), truncate);
    assert_true(tseed_lending_is_paused(&all->runs, reseed));
    reseed->fetching = 1;
    assert_null(tseed_lending_stuck_before(&all->runs, reseed));
    reseed->fetching = 0;
    removal.metatile = (tseed_metatile_t){other, other};
    assert_null(tseed_lending_stuck_before(&all->runs, reseed));
    assert_null(tseed_lending_stuck_before(&all->runs, truncate));
}

/* ---- the queue ---- */

static void test_lending__tasks_begin_in_the_order_of_their_ids(void **state)
{
    state_t *all = state_make();

    (void)state;
    run_add(all, "a", 1);
    entry_add(all, TSEED_SEED, "b");
    entry_add(all, TSEED_SEED, "c");
    entry_add(all, TSEED_SEED, "d");
    assert_string_equal(begins(all, 3), "2 3");
    assert_string_equal(begins(all, 1), "");
    assert_string_equal(reason(all, 2, 1),
                        "waits for a thread: other tasks have all 1 of TileSeedThreads");
    all->entries[1].terminated = 1;
    assert_string_equal(begins(all, 3), "3 4");
}

static void test_lending__a_task_waits_for_truncates_before_it(void **state)
{
    state_t *all = state_make();

    (void)state;
    entry_add(all, TSEED_SEED, "a");
    entry_add(all, TSEED_TRUNCATE, "a");
    entry_add(all, TSEED_SEED, "a");
    entry_add(all, TSEED_SEED, "b");
    entry_add(all, TSEED_TRUNCATE, "a"); /* truncates do not wait for each other */
    assert_string_equal(begins(all, 9), "2 5 1 4");
    assert_string_equal(reason(all, 3, 9), "waits for task 2, a truncate of the same tile set");
    assert_string_equal(reason(all, 4, 9), "");
}

static void test_lending__layers_without_a_paused_task_go_first(void **state)
{
    state_t *all = state_make();

    (void)state;
    run_add(all, "a", 1)->pauses = 1;
    entry_add(all, TSEED_SEED, "a");
    entry_add(all, TSEED_SEED, "b");
    assert_string_equal(begins(all, 1), "3");
    assert_string_equal(begins(all, 2), "3 2");
}

static void test_lending__paused_tasks_are_kept_few(void **state)
{
    state_t *all = state_make();

    (void)state;
    run_add(all, "a", 1)->pauses = 1;
    run_add(all, "a", 1)->pauses = 1;
    entry_add(all, TSEED_SEED, "a");
    assert_string_equal(begins(all, 1), ""); /* two a thread */
    assert_string_equal(reason(all, 3, 1),
                        "waits for task 2 of the same layer, which is paused or waits itself");
    entry_add(all, TSEED_SEED, "b");
    assert_string_equal(begins(all, 1), "4"); /* they keep no other layer from beginning */
    assert_string_equal(begins(all, 2), "4 3");
}

/* ---- truncates ---- */

static void test_lending__a_truncate_needs_no_seeding_thread(void **state)
{
    state_t *all = state_make();
    tseed_run_t *seed = run_add(all, "a", 4);

    (void)state;
    entry_add(all, TSEED_SEED, "b");
    entry_add(all, TSEED_TRUNCATE, "b");
    assert_string_equal(begins(all, 1), "3");
    assert_string_equal(reason(all, 3, 1), "");
    seed->pauses = 1;
    entry_add(all, TSEED_TRUNCATE, "a"); /* nor does it wait for paused tasks */
    run_add(all, "a", 1)->pauses = 1;
    assert_string_equal(begins(all, 1), "3 4 2");
}

static void test_lending__a_truncate_that_runs_takes_no_seeding_thread(void **state)
{
    state_t *all = state_make();
    tseed_run_t *truncate = run_of(all, TSEED_TRUNCATE, "a", 4);

    (void)state;
    assert_int_equal(tseed_lending_vacant(&all->runs, 2), 2);
    tseed_lending_lend(&all->runs, 2);
    assert_int_equal(truncate->threads, 1); /* none is lent to it */
    truncate->pauses = 1; /* of an ill store: no other task is one of the paused for that */
    entry_add(all, TSEED_SEED, "a")->tileset = "another of a";
    entry_add(all, TSEED_SEED, "b");
    assert_string_equal(begins(all, 1), "2");
}

static void test_lending__no_layer_waits_for_truncates_of_others(void **state)
{
    state_t *all = state_make();

    (void)state;
    run_of(all, TSEED_TRUNCATE, "a", 1)->pauses = 1; /* its store is ill */
    entry_add(all, TSEED_TRUNCATE, "a");
    entry_add(all, TSEED_TRUNCATE, "a");
    entry_add(all, TSEED_TRUNCATE, "b");
    entry_add(all, TSEED_TRUNCATE, "b");
    assert_string_equal(begins(all, 2), "2 4");
    assert_string_equal(reason(all, 3, 1), "waits for task 1, a truncate of the same layer");
    assert_string_equal(reason(all, 4, 1), "");
    assert_string_equal(begins(all, 9), "2 3 4 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lending__threads_that_nobody_uses_are_lent_in_turn),
        cmocka_unit_test(test_lending__each_run_has_the_thread_that_it_owns),
        cmocka_unit_test(test_lending__a_paused_run_lends_its_own_thread),
        cmocka_unit_test(test_lending__what_pauses_a_run),
        cmocka_unit_test(test_lending__a_run_that_waits_for_a_truncate_has_a_reason),
        cmocka_unit_test(test_lending__tasks_begin_in_the_order_of_their_ids),
        cmocka_unit_test(test_lending__a_task_waits_for_truncates_before_it),
        cmocka_unit_test(test_lending__layers_without_a_paused_task_go_first),
        cmocka_unit_test(test_lending__paused_tasks_are_kept_few),
        cmocka_unit_test(test_lending__a_truncate_needs_no_seeding_thread),
        cmocka_unit_test(test_lending__a_truncate_that_runs_takes_no_seeding_thread),
        cmocka_unit_test(test_lending__no_layer_waits_for_truncates_of_others),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
