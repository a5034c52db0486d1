/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Clients: each is called in turn, and need not have every call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "work/tseed_clients.h"

typedef struct {
    int turn;
    apr_time_t now, due;
} module_t;

static int turns;

static void feed(void *module)
{
    ((module_t *)module)->turn = ++turns;
}

static void tick(void *module, apr_time_t now)
{
    ((module_t *)module)->turn = ++turns;
    ((module_t *)module)->now = now;
}

static apr_time_t due(const void *module)
{
    return ((const module_t *)module)->due;
}

static void test_clients__are_called_in_turn(void **state)
{
    module_t modules[3] = {{.due = 9}, {.due = 5}, {.due = 7}};
    tseed_client_t records[3], idle = {0};
    tseed_clients_t clients = {0};

    (void)state;
    turns = 0;
    for (int i = 0; i < 3; i++) {
        records[i] = (tseed_client_t){
            .module = &modules[i], .feed = feed, .tick = tick, .due = due, .next = &idle};
        tseed_clients_enter(&clients, &records[i]);
    }
    tseed_clients_enter(&clients, &idle);
    tseed_clients_feed(&clients);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(modules[i].turn, i + 1);
    }
    tseed_clients_tick(&clients, 77);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(modules[i].turn, i + 4);
        assert_int_equal(modules[i].now, 77);
    }
    assert_true(tseed_clients_due(&clients) == 5);
}

static void test_clients__none_is_due_without_clients(void **state)
{
    tseed_client_t idle = {0};
    tseed_clients_t clients = {0};

    (void)state;
    tseed_clients_feed(&clients);
    assert_true(tseed_clients_due(&clients) == INT64_MAX);
    tseed_clients_enter(&clients, &idle);
    tseed_clients_feed(&clients);
    tseed_clients_tick(&clients, 1);
    assert_true(tseed_clients_due(&clients) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients__are_called_in_turn),
        cmocka_unit_test(test_clients__none_is_due_without_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
