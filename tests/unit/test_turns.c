/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Transfers that wait for their turns, and those at other hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "source/tseed_turns.h"

static const int first_owner, second_owner;

#define OF(who)                                                                                    \
    {                                                                                              \
        .owner = &(who)                                                                            \
    }

static void test_turns__serve_one_of_each_owner_after_the_other(void **state)
{
    tseed_turns_t turns = {0};
    tseed_transfer_t transfers[] = {OF(first_owner), OF(first_owner), OF(second_owner)};

    (void)state;
    for (int i = 0; i < 3; i++) {
        tseed_turns_put(&turns, &transfers[i]);
    }
    assert_int_equal(turns.count, 3);
    assert_ptr_equal(tseed_turns_serve(&turns, turns.first), &transfers[0]);
    assert_ptr_equal(tseed_turns_serve(&turns, turns.first), &transfers[2]);
    assert_ptr_equal(tseed_turns_serve(&turns, turns.first), &transfers[1]);
    assert_null(turns.first);
    assert_int_equal(turns.count, 0);
}

static void test_turns__belong_to_whom_a_transfer_names(void **state)
{
    tseed_turns_t turns = {0};
    tseed_transfer_t transfers[] = {OF(first_owner), OF(second_owner), OF(second_owner)};

    (void)state;
    transfers[1].turn_of = &first_owner;
    for (int i = 0; i < 3; i++) {
        tseed_turns_put(&turns, &transfers[i]);
    }
    assert_ptr_equal(turns.first->next, &transfers[2]);
}

/* The others of an owner move up when one goes past the first that waits. */
static void test_turns__keep_the_turn_of_an_owner_whose_transfer_goes_past(void **state)
{
    tseed_turns_t turns = {0};
    tseed_transfer_t transfers[] = {OF(first_owner), OF(second_owner), OF(second_owner)};

    (void)state;
    for (int i = 0; i < 3; i++) {
        tseed_turns_put(&turns, &transfers[i]);
    }
    assert_ptr_equal(tseed_turns_serve(&turns, &transfers[1]), &transfers[1]);
    assert_int_equal(transfers[2].round, transfers[0].round);
    assert_int_equal(turns.round, 0);
}

static void test_turns__give_out_of_turn_what_waits_alone(void **state)
{
    tseed_turns_t turns = {0};
    tseed_transfer_t waiting = OF(first_owner), other = OF(first_owner);

    (void)state;
    tseed_turns_put(&turns, &waiting);
    assert_null(tseed_turns_take(&turns, &other));
    assert_ptr_equal(tseed_turns_take(&turns, &waiting), &waiting);
    assert_null(turns.first);
}

/* ---- at other hosts ---- */

static void note_send(void *baton, tseed_transfer_t *transfer)
{
    *(tseed_transfer_t **)baton = transfer;
}

static int forget_orphans(void *baton, tseed_transfer_t *transfer)
{
    (void)baton;
    return transfer->orphaned != 0;
}

typedef struct {
    tseed_remote_hosts_t helpers;
    tseed_remote_t remote;
    tseed_transfer_t *sent;
    tseed_pace_t pace;
} fixture_t;

static fixture_t *begin(fixture_t *fixture)
{
    *fixture = (fixture_t){.helpers = {{&fixture->sent, note_send, forget_orphans}, 1}};
    fixture->remote.helpers = &fixture->helpers;
    tseed_pace_init(&fixture->pace, 2, 0, 0);
    return fixture;
}

static void test_remote__gets_the_first_transfer_with_a_portion(void **state)
{
    tseed_transfer_t portion = {.portion = "p"}, here = {.next = &portion};
    fixture_t fixture;

    (void)state;
    begin(&fixture);
    assert_ptr_equal(tseed_remote_next(&fixture.remote, &here, &fixture.pace), &portion);
    tseed_remote_send(&fixture.remote, &portion);
    assert_ptr_equal(fixture.sent, &portion);
    assert_ptr_equal(tseed_remote_find(&fixture.remote, &portion), &portion);
    assert_null(tseed_remote_find(&fixture.remote, &here));
    tseed_remote_take(&fixture.remote, &portion);
    assert_int_equal(fixture.remote.count, 0);
}

static void test_remote__has_three_windows_of_each_host_at_most(void **state)
{
    tseed_transfer_t portion = {.portion = "p"};
    fixture_t fixture;

    (void)state;
    begin(&fixture);
    fixture.remote.count = 5;
    assert_non_null(tseed_remote_next(&fixture.remote, &portion, &fixture.pace));
    fixture.remote.count = 6;
    assert_null(tseed_remote_next(&fixture.remote, &portion, &fixture.pace));
    fixture.pace.window = 1;
    fixture.remote.count = 1;
    assert_null(tseed_remote_next(&fixture.remote, &portion, &fixture.pace));
}

static void test_remote__gets_nothing_of_an_upstream_with_a_rate(void **state)
{
    tseed_transfer_t portion = {.portion = "p"};
    fixture_t fixture;

    (void)state;
    begin(&fixture);
    fixture.pace.interval = 1;
    assert_null(tseed_remote_next(&fixture.remote, &portion, &fixture.pace));
}

/* What can't be recalled comes back: it is dropped then, if the recall was for good. */
static void test_remote__recalls_the_transfers_of_an_owner(void **state)
{
    tseed_transfer_t recalled = {.owner = &first_owner, .orphaned = 1, .http_status = 200};
    tseed_transfer_t returning = {.owner = &first_owner}, other = {.owner = &second_owner};
    tseed_transfer_t *taken = NULL;
    fixture_t fixture;

    (void)state;
    begin(&fixture);
    tseed_remote_send(&fixture.remote, &recalled);
    tseed_remote_send(&fixture.remote, &returning);
    tseed_remote_send(&fixture.remote, &other);
    tseed_remote_recall(&taken, &fixture.remote, &first_owner, 1);
    assert_ptr_equal(taken, &recalled);
    assert_null(taken->next);
    assert_int_equal(taken->http_status, 0);
    assert_true(returning.is_recalled);
    assert_false(other.is_recalled);
    assert_int_equal(fixture.remote.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns__serve_one_of_each_owner_after_the_other),
        cmocka_unit_test(test_turns__belong_to_whom_a_transfer_names),
        cmocka_unit_test(test_turns__keep_the_turn_of_an_owner_whose_transfer_goes_past),
        cmocka_unit_test(test_turns__give_out_of_turn_what_waits_alone),
        cmocka_unit_test(test_remote__gets_the_first_transfer_with_a_portion),
        cmocka_unit_test(test_remote__has_three_windows_of_each_host_at_most),
        cmocka_unit_test(test_remote__gets_nothing_of_an_upstream_with_a_rate),
        cmocka_unit_test(test_remote__recalls_the_transfers_of_an_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
