/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Workers: a store root that does not answer keeps no other one waiting. The work itself is
 * replaced here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "board_memory.h"
#include "tileset_fixture.h"
#include "work/tseed_job_cut.h"
#include "work/tseed_job_derive.h"
#include "work/tseed_job_remove.h"
#include "work/tseed_job_store.h"
#include "work/tseed_workers.h"

#define WORKERS 2
#define JOBS    6
#define TIMEOUT 60000 /* milliseconds */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_ill, together; /* how many jobs of the store that is well go on together */
static int at_ill, at_well, most_at_ill; /* jobs at work */

/* The threads of the workers, and what they have, go with the process. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

int tseed_job_is_stopped(void *run)
{
    (void)run;
    return 0;
}

/* The work of all jobs. */
void tseed_job_check(tseed_store_t *store, tseed_job_t *job)
{
    const int is_of_ill = strcmp(job->run->tileset.layer->store.root, "/ill") == 0;

    (void)store;
    pthread_mutex_lock(&lock);
    at_ill += is_of_ill;
    at_well += !is_of_ill;
    most_at_ill = at_ill > most_at_ill ? at_ill : most_at_ill;
    pthread_cond_broadcast(&changed);
    while (is_of_ill ? is_ill : at_well < together) {
        pthread_cond_wait(&changed, &lock);
    }
    at_ill -= is_of_ill;
    pthread_mutex_unlock(&lock);
}

void tseed_job_no_store(tseed_job_t *job, tseed_store_t *store, apr_status_t rv)
{
    (void)job;
    (void)store;
    (void)rv;
}

void tseed_job_derive(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                      apr_pool_t *scratch)
{
    (void)cutter;
    (void)scratch;
    tseed_job_no_store(job, store, 0);
}

void tseed_job_cut(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                   apr_pool_t *scratch)
{
    tseed_job_derive(cutter, store, job, scratch);
}

void tseed_job_pass(tseed_cutter_t *cutter, tseed_job_t *job, apr_pool_t *scratch)
{
    tseed_job_derive(cutter, NULL, job, scratch);
}

void tseed_job_remove(tseed_board_t *board, tseed_store_t *store, tseed_job_t *job)
{
    (void)board;
    tseed_job_check(store, job);
}

void tseed_job_sweep(tseed_store_t *store, tseed_job_t *job)
{
    tseed_job_no_store(job, store, 0);
}

void tseed_job_count(tseed_store_t *store, tseed_job_t *job)
{
    tseed_job_no_store(job, store, 0);
}

static tseed_task_t task = {.id = 1};
static tileset_fixture_t fixtures[2];
static tseed_view_t views[2][TSEED_STORE_IDS];
static tseed_run_t runs[2];
static tseed_job_t jobs[2][JOBS];
static tseed_mailbox_t mailbox;
static tseed_workers_t *workers;
static int back[2]; /* jobs of each */

static void take(void *module, void *about)
{
    const tseed_job_t *job = about;

    (void)module;
    back[job->run - runs]++;
}

static void push(int which, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        tseed_job_t *job = &jobs[which][i];

        *job = (tseed_job_t){.run = &runs[which], .request.stage = TSEED_STAGE_CHECK};
        job->letter = (tseed_letter_t){.take = take, .about = job};
        tseed_workers_push(workers, job);
    }
}

static int says_hung, says_well;

static void hear_line(void *baton, tseed_log_level_t level, apr_status_t rv, const char *line)
{
    (void)baton;
    (void)rv;
    says_hung += level == TSEED_LOG_ERROR &&
                 strncmp(line, "TS0103: the store /ill has not answered for ", 44) == 0;
    says_well += level == TSEED_LOG_NOTICE &&
                 strncmp(line, "TS0104: the store /ill answers again after ", 43) == 0;
}

static void tick_after(apr_interval_time_t seconds)
{
    tseed_workers_tick(workers, tseed_clock_monotonic() + seconds * APR_USEC_PER_SEC);
}

static void be_well(void)
{
    pthread_mutex_lock(&lock);
    is_ill = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for(int which, int count)
{
    struct pollfd wake = {.events = POLLIN};

    while (back[which] < count) {
        wake.fd = mailbox.wake;
        assert_int_equal(poll(&wake, 1, TIMEOUT), 1);
        tseed_mailbox_take(&mailbox);
    }
}

static void test_workers__a_root_that_hangs_holds_no_other(void **state)
{
    (void)state;
    is_ill = 1;
    push(0, 0, JOBS - 1);
    pthread_mutex_lock(&lock);
    while (at_ill < WORKERS) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    push(1, 0, JOBS - WORKERS);
    wait_for(1, JOBS - WORKERS);
    assert_false(tseed_workers_is_hung(workers, &runs[0]));

    /* after a while its jobs do not count: all workers are there for the other one */
    tick_after(11);
    tick_after(12);
    assert_int_equal(says_hung, 1);
    assert_true(tseed_workers_is_hung(workers, &runs[0]));
    assert_false(tseed_workers_is_hung(workers, &runs[1]));
    together = at_well + WORKERS;
    push(0, JOBS - 1, 1);
    push(1, JOBS - WORKERS, WORKERS);
    wait_for(1, JOBS);
    assert_int_equal(back[0], 0);

    assert_int_equal(says_well, 0);
    be_well();
    wait_for(0, JOBS);
    assert_int_equal(most_at_ill, WORKERS);
    assert_false(tseed_workers_is_hung(workers, &runs[0]));
    tick_after(0);
    tick_after(1);
    assert_int_equal(says_well, 1);
    assert_int_equal(says_hung, 1);
}

/* The removal of a page for the disk quota hangs: the root hangs. A truncate takes its time. */
static void test_workers__a_removal_that_hangs_is_seen(void **state)
{
    tseed_job_t removal = {.run = &runs[0], .request.stage = TSEED_STAGE_REMOVE};
    const int done = back[0];

    (void)state;
    is_ill = 1;
    removal.letter = (tseed_letter_t){.take = take, .about = &removal};
    for (int of_page = 0; of_page < 2; of_page++) {
        runs[0].is_background = of_page;
        tseed_workers_push(workers, &removal);
        tick_after(11);
        assert_int_equal(tseed_workers_is_hung(workers, &runs[0]), of_page);
        be_well();
        wait_for(0, done + of_page + 1);
        assert_false(tseed_workers_is_hung(workers, &runs[0]));
        is_ill = 1;
    }
    runs[0].is_background = is_ill = 0;
    tick_after(0);
    assert_int_equal(says_well, 2);
    assert_int_equal(says_hung, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers__a_root_that_hangs_holds_no_other),
        cmocka_unit_test(test_workers__a_removal_that_hangs_is_seen),
    };

    apr_initialize();
    for (int i = 0; i < 2; i++) {
        runs[i].task = &task;
        tileset_fixture_init(&fixtures[i], i == 0 ? "/ill" : "/well", TSEED_LAYOUT_GEOWEBCACHE);
        runs[i].tileset = fixtures[i].tileset;
        runs[i].views = views[i];
    }
    tseed_log_sink_set(hear_line, NULL);
    tseed_mailbox_init(&mailbox);
    apr_pool_create(&pool, NULL);
    if (tseed_workers_create(&workers, WORKERS, &mailbox, make_board(1, WORKERS)) != APR_SUCCESS) {
        return 1;
    }
    return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}
