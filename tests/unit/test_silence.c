/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* When a host that stands by takes the silent host that works for dead: at every lease, however
 * long renewals take. Hosts and clocks are simulated; both hosts renew as tseed_lease.c does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fleet/tseed_deadline.h"

#define SECOND APR_USEC_PER_SEC
#define MILLI  1000
#define NEVER  APR_INT64_MAX
#define BEGIN  (1000 * SECOND)

static const apr_interval_time_t leases[] = {3 * SECOND,  4 * SECOND,  5 * SECOND,  6 * SECOND,
                                             15 * SECOND, 60 * SECOND, 600 * SECOND};

/* Two hosts. A renewal that meets the time in which the database is away is answered after it. */
typedef struct {
    apr_interval_time_t lease, takes; /* takes: each renewal */
    apr_time_t dies;                  /* the host that works, which has begun at BEGIN */
    apr_time_t away, back;            /* the database */
} world_t;

/* When a renewal that begins at `begun` is answered. */
static apr_time_t answered(const world_t *world, apr_time_t begun)
{
    const apr_time_t end = begun + world->takes;

    return end > world->away && begun < world->back ? world->back + world->takes : end;
}

/* The end of the lease of the host that works, as the database has it at `now`. */
static apr_time_t until(const world_t *world, apr_time_t now)
{
    apr_time_t last = BEGIN, next = answered(world, BEGIN + SECOND);

    while (next < now && next < world->dies) {
        last = next;
        next = answered(world, last + SECOND);
    }
    return last + world->lease;
}

/* When the host that stands by takes over; NEVER: not before `most`. */
static apr_time_t takeover(const world_t *world, apr_time_t most)
{
    tseed_silence_t silence = {.lease = world->lease, .margin = world->lease / 3};
    apr_interval_time_t left;
    apr_time_t now = answered(world, BEGIN + SECOND / 2);

    while (now < most) {
        tseed_silence_hear(&silence, until(world, now), now);
        left = tseed_silence_left(&silence, now - until(world, now));
        if (left == 0) {
            return now;
        }
        now = answered(world, now + (left < SECOND ? left + MILLI : SECOND));
    }
    return NEVER;
}

static void test_silence__a_dead_host_is_succeeded_at_every_lease(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
        const apr_interval_time_t lease = leases[i], margin = lease / 3;
        const apr_interval_time_t durations[] = {
            0,      MILLI,          100 * MILLI, margin - SECOND, margin - SECOND + MILLI,
            margin, margin + MILLI, SECOND,      2 * SECOND,      lease / 2,
            lease,  2 * lease};

        for (size_t k = 0; k < sizeof(durations) / sizeof(durations[0]); k++) {
            const apr_interval_time_t takes = durations[k], look = takes + SECOND;
            const world_t world = {lease, takes, BEGIN + 10 * look + SECOND / 3, NEVER, NEVER};
            const apr_time_t earliest = until(&world, NEVER) + margin;
            const apr_time_t found = takeover(&world, earliest + 9 * (lease + look));

            if (look < lease) { /* else the lease ends between two renewals of a host that lives */
                assert_true(found > earliest);
            }
            if (look <= 2 * SECOND) { /* what is usual is no sign of anything */
                assert_true(found <= earliest + look + MILLI);
            } else {
                assert_true(found <= earliest + lease + margin + 6 * look);
            }
        }
    }
}

static void test_silence__a_host_that_is_alive_is_spared(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
        const apr_interval_time_t lease = leases[i];
        const apr_interval_time_t durations[] = {0, 100 * MILLI, SECOND, lease / 3, lease / 2};

        for (size_t k = 0; k < sizeof(durations) / sizeof(durations[0]); k++) {
            const world_t world = {lease, durations[k], NEVER, NEVER, NEVER};

            assert_true(takeover(&world, BEGIN + 2000 * SECOND) == NEVER);
        }
    }
}

/* Both hosts find the database again at the same moment. */
static void test_silence__a_host_comes_back_with_the_database(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
        const apr_interval_time_t lease = leases[i], margin = lease / 3;
        const apr_interval_time_t durations[] = {3 * SECOND, lease, 2 * lease, 100 * lease};

        for (size_t k = 0; k < sizeof(durations) / sizeof(durations[0]); k++) {
            const apr_time_t away = BEGIN + 10 * SECOND + SECOND / 3, back = away + durations[k];
            world_t world = {lease, 10 * MILLI, NEVER, away, back};

            assert_true(takeover(&world, back + 10 * lease) == NEVER);
            world.dies = away; /* and is dead then */
            assert_true(takeover(&world, back + 2 * (lease + margin) + 3 * SECOND) != NEVER);
        }
    }
}

static void test_silence__a_clock_that_is_set_ahead_is_found_out(void **state)
{
    tseed_silence_t silence = {.lease = 5 * SECOND, .margin = 5 * SECOND / 3};

    (void)state;
    tseed_silence_hear(&silence, 5, BEGIN);
    tseed_silence_hear(&silence, 6, BEGIN + SECOND);
    assert_int_equal(tseed_silence_left(&silence, 3600 * SECOND), 0);
    assert_false(tseed_silence_is_seen(&silence, BEGIN + SECOND));
    tseed_silence_hear(&silence, 6, BEGIN + 5 * SECOND);
    assert_false(tseed_silence_is_seen(&silence, BEGIN + 5 * SECOND));
    assert_true(tseed_silence_is_seen(&silence, BEGIN + 6 * SECOND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silence__a_dead_host_is_succeeded_at_every_lease),
        cmocka_unit_test(test_silence__a_host_that_is_alive_is_spared),
        cmocka_unit_test(test_silence__a_host_comes_back_with_the_database),
        cmocka_unit_test(test_silence__a_clock_that_is_set_ahead_is_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
