/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests that wait for the same metatile wait for one job, and each gets its answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "pool_fixture.h"
#include "seeder/tseed_flight.h"

#define WAITERS 3

/* A background run with a flight, and the children's ends of the requests that wait for it. */
typedef struct {
    tseed_task_t task;
    tseed_run_t run;
    tseed_job_t job;
    tseed_waiters_t shared;
    tseed_flight_t *flight;
    int ends[WAITERS];
} flight_t;

static void join(flight_t *all, int number, const tseed_tile_t *tile)
{
    const tseed_question_t question = {.layer = "states", .tile = *tile, .client = "10.0.0.1"};
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_null(tseed_waiter_places_take(all->shared.places, "states", "10.0.0.1", pool));
    tseed_flight_join(&all->shared, all->flight, &question, pair[0]);
    all->ends[number] = pair[1];
}

/* Every waiter asks for another tile of the metatile. */
static flight_t *flight_make(void)
{
    const tseed_gridset_t *gridset = tseed_gridset_builtin("EPSG:900913");
    const tseed_shape_t shape = {3, 3, 4, 4};
    flight_t *all = apr_pcalloc(pool, sizeof(*all));

    all->task.layer = "states";
    all->run.task = &all->task;
    tseed_positions_init(&all->run.positions, gridset, &gridset->extent, &shape);
    all->job.run = &all->run;
    all->job.request.stage = TSEED_STAGE_CUT;
    all->shared.places = tseed_waiter_places_create(WAITERS, WAITERS, WAITERS, pool);
    all->shared.hangups = epoll_create1(EPOLL_CLOEXEC);
    all->flight = tseed_flight_get(&all->run, 3);
    all->flight->job = &all->job;
    for (int i = 0; i < WAITERS; i++) {
        join(all, i, &(tseed_tile_t){3, 4 + i, 4});
    }
    return all;
}

/* What a child hears; -1: nothing yet. *tile is a descriptor or -1. */
static int hear(const flight_t *all, int number, int *tile)
{
    char space[CMSG_SPACE(sizeof(int))] = {0};
    tseed_reply_t reply;
    struct iovec part = {.iov_base = &reply, .iov_len = sizeof(reply)};
    struct msghdr packet = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    const struct cmsghdr *header;

    *tile = -1;
    if (recvmsg(all->ends[number], &packet, MSG_DONTWAIT) != (ssize_t)sizeof(reply)) {
        return -1;
    }
    header = CMSG_FIRSTHDR(&packet);
    if (header) {
        memcpy(tile, CMSG_DATA(header), sizeof(*tile));
    }
    return reply.outcome;
}

/* How many places nobody has. */
static int count_places(const flight_t *all)
{
    int count = 0;

    while (!tseed_waiter_places_take(all->shared.places, "states", "10.0.0.1", pool)) {
        count++;
    }
    return count;
}

static void end(flight_t *all)
{
    for (int i = 0; i < WAITERS; i++) {
        close(all->ends[i]);
    }
    close(all->shared.hangups);
}

static void test_flight__requests_for_one_metatile_share_a_flight(void **state)
{
    const tseed_reply_t stored = {.outcome = TSEED_MISS_STORED};
    flight_t *all = flight_make();
    int tile;

    (void)state;
    assert_ptr_equal(tseed_flight_get(&all->run, 3), all->flight);
    assert_ptr_equal(tseed_flight_of(&all->job), all->flight);
    assert_int_equal(count_places(all), 0);
    tseed_flight_tell(&all->shared, all->flight, &stored);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(hear(all, i, &tile), TSEED_MISS_STORED);
        assert_int_equal(tile, -1);
    }
    assert_int_equal(count_places(all), WAITERS);
    tseed_flight_end(all->flight, &stored);
    assert_null(all->run.flights);
    end(all);
}

/* Who came after the work had begun goes on waiting, and the work begins anew for them. */
static void test_flight__unstored_tiles_go_to_those_who_were_there(void **state)
{
    const tseed_reply_t busy = {.outcome = TSEED_MISS_BUSY};
    flight_t *all = flight_make();
    tseed_unstored_t unstored = {
        .count = 2, .tiles = {{3, 4, 4}, {3, 5, 4}}, .files = {STDERR_FILENO, -1}};
    int tile;

    (void)state;
    all->job.request.unstored = &unstored;
    tseed_flight_tell(&all->shared, all->flight, &busy);
    assert_int_equal(hear(all, 0, &tile), TSEED_MISS_PASSED);
    assert_true(tile >= 0);
    close(tile);
    assert_int_equal(hear(all, 1, &tile), TSEED_MISS_BUSY); /* it could not be encoded either */
    assert_int_equal(hear(all, 2, &tile), -1);
    tseed_flight_end(all->flight, &busy);
    assert_ptr_equal(all->run.flights, all->flight);
    assert_null(all->flight->job);
    tseed_flight_leave(&all->shared, all->flight->waiters);
    assert_int_equal(count_places(all), WAITERS);
    tseed_flight_forget(all->flight);
    end(all);
}

static void test_flight__a_failure_counts_until_the_retry_is_due(void **state)
{
    const tseed_reply_t failed = {
        .outcome = TSEED_MISS_FAILED, .retry_after = 10, .cause = "no such picture"};
    const apr_time_t before = tseed_clock_monotonic();
    flight_t *all = flight_make();
    const tseed_flight_t *found;

    (void)state;
    tseed_flight_tell(&all->shared, all->flight, &failed);
    tseed_flight_end(all->flight, &failed);
    assert_null(all->run.flights);
    found = tseed_flight_failed(&all->run, 3, before);
    assert_non_null(found);
    assert_string_equal(found->cause, "no such picture");
    assert_true(found->until >= before + apr_time_from_sec(10));
    assert_null(tseed_flight_failed(&all->run, 2, before));
    assert_null(tseed_flight_failed(&all->run, 3, found->until));
    tseed_flight_forget_failed(&all->run, found->until - 1);
    assert_non_null(all->run.failed);
    tseed_flight_forget_failed(&all->run, INT64_MAX);
    assert_null(all->run.failed);
    end(all);
}

/* The upstream was not asked: a request that comes next has it asked. */
static void test_flight__a_check_that_fails_is_no_failure_of_the_upstream(void **state)
{
    const tseed_reply_t failed = {.outcome = TSEED_MISS_FAILED, .retry_after = 10};
    flight_t *all = flight_make();

    (void)state;
    all->job.request.stage = TSEED_STAGE_CHECK;
    tseed_flight_tell(&all->shared, all->flight, &failed);
    tseed_flight_end(all->flight, &failed);
    assert_null(all->run.flights);
    assert_null(all->run.failed);
    end(all);
}

static void test_flight__late_waiters_hear_so(void **state)
{
    const tseed_reply_t late = {.outcome = TSEED_MISS_BUSY};
    flight_t *all = flight_make();
    int tile;

    (void)state;
    all->flight->waiters->until = 100; /* the last that came */
    tseed_flight_drop_late(&all->shared, all->flight, &late, 99);
    assert_int_equal(hear(all, 2, &tile), -1);
    tseed_flight_drop_late(&all->shared, all->flight, &late, 100);
    assert_int_equal(hear(all, 2, &tile), TSEED_MISS_BUSY);
    assert_int_equal(hear(all, 1, &tile), -1);
    assert_int_equal(count_places(all), 1);
    tseed_flight_drop_late(&all->shared, all->flight, &late, INT64_MAX);
    assert_null(all->flight->waiters);
    tseed_flight_end(all->flight, &late);
    end(all);
}

static void test_flight__a_client_that_goes_is_heard_of(void **state)
{
    flight_t *all = flight_make();
    struct epoll_event gone;

    (void)state;
    assert_int_equal(epoll_wait(all->shared.hangups, &gone, 1, 0), 0);
    close(all->ends[1]);
    all->ends[1] = -1;
    assert_int_equal(epoll_wait(all->shared.hangups, &gone, 1, 0), 1);
    tseed_flight_leave(&all->shared, gone.data.ptr);
    assert_int_equal(count_places(all), 1);
    tseed_flight_drop_late(&all->shared, all->flight, &(tseed_reply_t){0}, INT64_MAX);
    tseed_flight_end(all->flight, &(tseed_reply_t){.outcome = TSEED_MISS_BUSY});
    end(all);
}

/* The child that asked has not closed its copy of the seeder's end yet. */
static void test_flight__who_was_answered_is_not_heard_of(void **state)
{
    const tseed_reply_t stored = {.outcome = TSEED_MISS_STORED};
    flight_t *all = flight_make();
    tseed_waiter_t *waiter = all->flight->waiters; /* the last that came */
    const int kept[2] = {dup(waiter->end), dup(waiter->next->end)};
    struct epoll_event gone;

    (void)state;
    tseed_flight_leave(&all->shared, waiter);
    tseed_flight_tell(&all->shared, all->flight, &stored);
    tseed_flight_end(all->flight, &stored);
    for (int i = 0; i < WAITERS; i++) {
        close(all->ends[i]);
        all->ends[i] = -1;
    }
    assert_int_equal(epoll_wait(all->shared.hangups, &gone, 1, 0), 0);
    close(kept[0]);
    close(kept[1]);
    end(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flight__requests_for_one_metatile_share_a_flight),
        cmocka_unit_test(test_flight__unstored_tiles_go_to_those_who_were_there),
        cmocka_unit_test(test_flight__a_failure_counts_until_the_retry_is_due),
        cmocka_unit_test(test_flight__a_check_that_fails_is_no_failure_of_the_upstream),
        cmocka_unit_test(test_flight__late_waiters_hear_so),
        cmocka_unit_test(test_flight__a_client_that_goes_is_heard_of),
        cmocka_unit_test(test_flight__who_was_answered_is_not_heard_of),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
