/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fetcher with a remote: other hosts carry out some of its transfers. */
#include "fetcher_fixture.h"

#define PACKED    ((const struct tseed_packed_t *)"a reader of packs")
#define SENT_MOST 64
#define INTERVAL  (APR_USEC_PER_SEC / 20)
#define WIRES     2
#define IN_HAND   6 /* at one other host: three windows */
#define TRANSFERS 12
#define WAITING   (TRANSFERS - WIRES - IN_HAND)

/* ---- a remote that collects what it gets ---- */

typedef struct {
    tseed_fetcher_t *fetcher;
    tseed_transfer_t *sent[SENT_MOST]; /* in order */
    apr_time_t sent_at[SENT_MOST];
    _Atomic int count, recalled;
    int forgets, returns_late; /* recall returns 1; recall returns the transfer */
} remote_t;

static remote_t remote; /* each test has a new one */

static void take(void *baton, tseed_transfer_t *transfer)
{
    remote_t *mine = baton;

    if (mine->count == SENT_MOST) {
        abort();
    }
    mine->sent[mine->count] = transfer;
    mine->sent_at[mine->count] = tseed_clock_monotonic();
    mine->count++;
}

static int recall(void *baton, tseed_transfer_t *transfer)
{
    remote_t *mine = baton;

    transfer->length = 3; /* it was about to have results */
    transfer->http_status = 200;
    if (mine->returns_late) {
        tseed_fetcher_return(mine->fetcher, transfer, 1);
    }
    mine->recalled++;
    return mine->forgets;
}

static void help(fixture_t *fixture, int hosts)
{
    const tseed_fetch_remote_t calls = {&remote, take, recall};

    remote = (remote_t){.fetcher = fixture->fetcher, .forgets = 1};
    tseed_fetcher_remote(fixture->fetcher, &calls);
    tseed_fetcher_remote_room(fixture->fetcher, hosts);
}

static void set_results(tseed_transfer_t *transfer, tseed_fetch_result_t result, int status)
{
    transfer->result = result;
    transfer->http_status = status;
    transfer->sent = 1;
    transfer->took = 1000;
    transfer->ended = tseed_clock_monotonic();
    if (result == TSEED_FETCH_OK) {
        transfer->packed = PACKED;
        transfer->body = malloc(7);
        memcpy(transfer->body, "PICTURE", 7);
        transfer->length = transfer->capacity = 7;
    } else {
        apr_cpystrn(transfer->cause, "said so elsewhere", sizeof(transfer->cause));
    }
}

static void return_picture(tseed_transfer_t *transfer)
{
    set_results(transfer, TSEED_FETCH_OK, 200);
    tseed_fetcher_return(remote.fetcher, transfer, 1);
}

/* ---- what a test has at hand ---- */

static void submit(fixture_t *fixture, tseed_transfer_t *transfers, int count, const char *portion)
{
    for (int i = 0; i < count; i++) {
        transfers[i] = ask(fixture, "/gate?x");
        transfers[i].portion = portion;
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
}

/* What the fetcher has read and done: the requests of the upstream stand like that. */
static void wait_until_stands(fixture_t *fixture, int under_way, int queued)
{
    apr_time_t end = tseed_clock_monotonic() + TEST_TIMEOUT * APR_USEC_PER_SEC;
    tseed_outlook_t outlook;

    do {
        usleep(1000);
        tseed_fetcher_outlook(fixture->fetcher, &outlook, &fixture->upstream);
    } while ((outlook.under_way != under_way || outlook.queued != queued) &&
             tseed_clock_monotonic() < end);
    assert_int_equal(outlook.under_way, under_way);
    assert_int_equal(outlook.queued, queued);
}

/* Two are on wires, six at the other host, four wait. */
static void fill(fixture_t *fixture, tseed_transfer_t transfers[TRANSFERS])
{
    fixture->upstream.connections = WIRES;
    help(fixture, 1);
    submit(fixture, transfers, TRANSFERS, "a portion");
    wait_until_stands(fixture, WIRES + IN_HAND, WAITING);
    wait_until_equal(&fixture->server.busy, WIRES);
    assert_int_equal(remote.count, IN_HAND);
}

static void free_bodies(tseed_transfer_t *transfers, int count)
{
    for (int i = 0; i < count; i++) {
        free(transfers[i].body);
    }
}

/* The fetcher has ended. */
static int times_back(const fixture_t *fixture, const tseed_transfer_t *transfer)
{
    int times = 0;

    for (int i = 0; i < fixture->count; i++) {
        times += fixture->back[i] == transfer;
    }
    return times;
}

static void assert_cancelled(const tseed_transfer_t *transfer)
{
    assert_int_equal(transfer->result, TSEED_FETCH_CANCELLED);
    assert_int_equal(transfer->http_status, 0);
    assert_int_equal(transfer->length, 0);
    assert_string_equal(transfer->cause, "");
}

/* Ends the fetcher: after that nothing comes back any more. */
static void end_with_each_back(fixture_t *fixture, const tseed_transfer_t *transfers, int count)
{
    tseed_fetcher_destroy(fixture->fetcher);
    fixture->fetcher = NULL;
    assert_int_equal(fixture->count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(times_back(fixture, &transfers[i]), 1);
    }
}

/* ---- what goes where ---- */

static void check_kept(fixture_t *fixture, int hosts, const char *portion)
{
    tseed_transfer_t transfers[6];

    fixture->upstream.connections = 2;
    help(fixture, hosts);
    submit(fixture, transfers, 6, portion);
    wait_until_stands(fixture, 2, 4);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, 6));
    assert_int_equal(remote.count, 0);
    free_bodies(transfers, 6);
}

static void test_fetcher_remote__keeps_all_without_other_hosts(void **state)
{
    check_kept(*state, 0, "a portion");
}

static void test_fetcher_remote__keeps_what_has_no_portion(void **state)
{
    check_kept(*state, 3, NULL);
}

/* One host alone can hold a rate exactly. */
static void test_fetcher_remote__keeps_what_has_a_rate(void **state)
{
    fixture_t *fixture = *state;

    fixture->upstream.interval = 1;
    check_kept(fixture, 3, "a portion");
}

/* The first in order are on our own wires. One more goes when one has come back, and all that wait
 * go when the other hosts have become three. */
static void test_fetcher_remote__shares_what_waits(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];

    fill(fixture, transfers);
    for (int i = 0; i < IN_HAND; i++) {
        assert_ptr_equal(remote.sent[i], &transfers[WIRES + i]);
    }
    return_picture(&transfers[3]);
    wait_until_equal(&remote.count, IN_HAND + 1);
    wait_until_stands(fixture, WIRES + IN_HAND, WAITING - 1);
    assert_ptr_equal(remote.sent[IN_HAND], &transfers[WIRES + IN_HAND]);
    tseed_fetcher_remote_room(fixture->fetcher, 3);
    wait_until_stands(fixture, TRANSFERS - 1, 0);
    assert_int_equal(remote.count, TRANSFERS - WIRES);
    for (int i = 0; i < TRANSFERS - WIRES; i++) {
        if (i != 1) {
            return_picture(remote.sent[i]);
        }
    }
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, TRANSFERS));
    for (int i = 0; i < TRANSFERS; i++) {
        assert_picture(&transfers[i]);
    }
    end_with_each_back(fixture, transfers, TRANSFERS);
    free_bodies(transfers, TRANSFERS);
}

static void test_fetcher_remote__brings_the_results(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS], *picture = &transfers[2], *missing = &transfers[3];
    tseed_outlook_t outlook;

    fill(fixture, transfers);
    return_picture(picture);
    set_results(missing, TSEED_FETCH_FAILED, 404);
    tseed_fetcher_return(fixture->fetcher, missing, 1);
    assert_true(waits_for(fixture, 2));
    assert_true(fixture->back[0] == picture && fixture->back[1] == missing);
    assert_picture(picture);
    assert_ptr_equal(picture->packed, PACKED);
    assert_int_equal(picture->took, 1000);
    assert_string_equal(missing->cause, "said so elsewhere");
    tseed_fetcher_outlook(fixture->fetcher, &outlook, &fixture->upstream);
    assert_int_equal(outlook.requests, 2);
    assert_int_equal(outlook.errors, 1);
    assert_int_equal(outlook.usual, 1000); /* what the other host has measured */
    assert_int_equal(outlook.heard, missing->ended);
    end_with_each_back(fixture, transfers, TRANSFERS);
    free_bodies(transfers, TRANSFERS);
}

static void test_fetcher_remote__stops_without_room(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];

    fill(fixture, transfers);
    tseed_fetcher_remote_room(fixture->fetcher, 0);
    for (int i = 0; i < IN_HAND; i++) {
        return_picture(remote.sent[i]);
    }
    assert_true(waits_for(fixture, IN_HAND));
    wait_until_stands(fixture, WIRES, WAITING);
    assert_int_equal(remote.count, IN_HAND);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, TRANSFERS));
    assert_int_equal(remote.count, IN_HAND);
    free_bodies(transfers, TRANSFERS);
}

/* The other host has died. What it had waits for its turn again, behind the others of its owner. */
static void test_fetcher_remote__sends_again_what_nobody_has_carried_out(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];

    fill(fixture, transfers);
    tseed_fetcher_remote_room(fixture->fetcher, 0);
    set_results(&transfers[5], TSEED_FETCH_FAILED, 500); /* they don't count */
    for (int i = 0; i < IN_HAND; i++) {
        tseed_fetcher_return(fixture->fetcher, remote.sent[i], 0);
    }
    wait_until_stands(fixture, WIRES, WAITING + IN_HAND);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, TRANSFERS));
    for (int i = 0; i < TRANSFERS; i++) {
        assert_picture(&transfers[i]);
        assert_null(transfers[i].packed);
    }
    for (int i = 0; i < WIRES + WAITING - 1; i++) { /* with two wires, one may come later */
        assert_true(fixture->back[i] < &transfers[WIRES] ||
                    fixture->back[i] >= &transfers[WIRES + IN_HAND]);
    }
    end_with_each_back(fixture, transfers, TRANSFERS);
    free_bodies(transfers, TRANSFERS);
}

/* Submits a transfer for each owner, one of which is on the only wire. Those whose letter in `ways`
 * is R have a portion, and three are at the other host until that host has gone. The upstream gets
 * the rest in an order. */
static void check_turns(fixture_t *fixture, const char *owners, const char *ways, const char *order)
{
    const int count = (int)strlen(owners), asked = (int)strlen(order);
    tseed_transfer_t transfers[TRANSFERS];

    fixture->upstream.connections = 1;
    help(fixture, 1);
    for (int i = 0; i < count; i++) {
        transfers[i] = ask(fixture, apr_psprintf(fixture->pool, "/gate?%c", owners[i]));
        transfers[i].owner = strchr(owners, owners[i]);
        transfers[i].portion = ways[i] == 'R' ? "a portion" : NULL;
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
        if (i == 0) {
            wait_until_equal(&fixture->server.busy, 1);
        }
    }
    wait_until_stands(fixture, 4, count - 4);
    for (int i = 0; i < 3; i++) {
        assert_true(remote.sent[i] == &transfers[strchr(ways, 'R') - ways + i]);
    }
    tseed_fetcher_remote_room(fixture->fetcher, 0);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, asked));
    end_with_each_back(fixture, transfers, count);
    assert_int_equal(fixture->server.noted, asked);
    assert_memory_equal(fixture->server.order, order, (size_t)asked);
    free_bodies(transfers, count);
}

/* B's transfers have no portion and wait in front. A's go past them to the other host. That does
 * not cost A its turn once the other host has gone. */
static void test_fetcher_remote__keeps_turns(void **state)
{
    check_turns(*state, "zBBBAAAAA", "----RRRRR", "zBABAB");
}

/* A's later transfers go past its own earlier ones, which have no portion and keep their turns. */
static void test_fetcher_remote__keeps_turns_of_the_same_owner(void **state)
{
    check_turns(*state, "zAABBAAA", "-----RRR", "zABAB");
}

/* ---- an upstream that is away ---- */

/* What the other host still has comes back, and nothing goes there until the upstream answers. */
static void test_fetcher_remote__learns_that_an_upstream_is_away(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];
    tseed_outlook_t outlook;

    fill(fixture, transfers);
    for (int i = 0; i < 3; i++) {
        set_results(remote.sent[i], TSEED_FETCH_AWAY, 503);
        tseed_fetcher_return(fixture->fetcher, remote.sent[i], 1);
    }
    assert_true(waits_for(fixture, 3));
    wait_until_stands(fixture, WIRES, WAITING + IN_HAND - 3);
    assert_int_equal(remote.recalled, IN_HAND - 3);
    tseed_fetcher_outlook(fixture->fetcher, &outlook, &fixture->upstream);
    assert_true(outlook.since != 0 && outlook.opened != 0);
    assert_string_equal(outlook.cause, "said so elsewhere");
    while (tseed_clock_monotonic() < outlook.next + INTERVAL) {
        usleep(1000); /* now is the time for a probe, which our own wires have no room for */
    }
    assert_int_equal(remote.count, IN_HAND);
    tseed_fetcher_remote_room(fixture->fetcher, 0);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, TRANSFERS));
    tseed_fetcher_outlook(fixture->fetcher, &outlook, &fixture->upstream);
    assert_true(outlook.since == 0);
    for (int i = 3; i < IN_HAND; i++) {
        assert_picture(remote.sent[i]);
    }
    end_with_each_back(fixture, transfers, TRANSFERS);
    free_bodies(transfers, TRANSFERS);
}

/* What nobody waits for does not wait for the end of the quiet. */
static void test_fetcher_remote__takes_back_for_quiet(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];

    fill(fixture, transfers);
    tseed_fetcher_orphan(fixture->fetcher, remote.sent[5]);
    set_results(remote.sent[0], TSEED_FETCH_AWAY, 429);
    remote.sent[0]->retry_after = NEVER;
    tseed_fetcher_return(fixture->fetcher, remote.sent[0], 1);
    assert_true(waits_for(fixture, 2));
    wait_until_stands(fixture, WIRES, WAITING + IN_HAND - 2);
    assert_int_equal(remote.recalled, IN_HAND - 1);
    assert_int_equal(remote.sent[0]->http_status, 429);
    assert_cancelled(remote.sent[5]);
    end_with_each_back(fixture, transfers, TRANSFERS);
}

/* ---- cancelling ---- */

static void test_fetcher_remote__cancels_what_can_be_recalled(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];

    fill(fixture, transfers);
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    assert_true(waits_for(fixture, TRANSFERS));
    assert_int_equal(remote.recalled, IN_HAND);
    for (int i = 0; i < TRANSFERS; i++) {
        assert_cancelled(&transfers[i]);
    }
    wait_until_stands(fixture, 0, 0);
    end_with_each_back(fixture, transfers, TRANSFERS);
}

/* Twice cancelled, once recalled. The results that come are dropped. */
static void test_fetcher_remote__cancels_what_is_on_its_way_back(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];
    tseed_outlook_t outlook;

    fill(fixture, transfers);
    remote.forgets = 0;
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    assert_true(waits_for(fixture, TRANSFERS - IN_HAND));
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    wait_until_stands(fixture, IN_HAND, 0);
    wait_until_equal(&remote.recalled, IN_HAND);
    for (int i = 0; i < IN_HAND; i++) {
        set_results(remote.sent[i], i < 2 ? TSEED_FETCH_AWAY : TSEED_FETCH_OK, 200);
        tseed_fetcher_return(fixture->fetcher, remote.sent[i], i != 3);
    }
    assert_true(waits_for(fixture, TRANSFERS));
    for (int i = 0; i < TRANSFERS; i++) {
        assert_cancelled(&transfers[i]);
    }
    tseed_fetcher_outlook(fixture->fetcher, &outlook, &fixture->upstream);
    assert_int_equal(outlook.requests, 0);
    end_with_each_back(fixture, transfers, TRANSFERS);
    assert_int_equal(remote.recalled, IN_HAND);
    free_bodies(transfers, TRANSFERS);
}

static void test_fetcher_remote__cancels_one_owner_only(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[6];

    fixture->upstream.connections = 2;
    help(fixture, 1);
    for (int i = 0; i < 6; i++) {
        transfers[i] = ask(fixture, "/gate?x");
        transfers[i].portion = "a portion";
        transfers[i].owner = i % 2 ? (const void *)transfers : fixture;
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    wait_until_stands(fixture, 6, 0);
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    assert_true(waits_for(fixture, 3));
    assert_int_equal(remote.recalled, 2);
    server_open_gate(&fixture->server);
    for (int i = 0; i < 4; i++) {
        if (remote.sent[i]->owner != fixture) {
            return_picture(remote.sent[i]);
        }
    }
    assert_true(waits_for(fixture, 6));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(transfers[i].result, i % 2 ? TSEED_FETCH_OK : TSEED_FETCH_CANCELLED);
    }
    end_with_each_back(fixture, transfers, 6);
    free_bodies(transfers, 6);
}

/* Nobody waits for it: its results come, but it does not wait for another turn. */
static void test_fetcher_remote__notes_orphans(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];

    fill(fixture, transfers);
    tseed_fetcher_remote_room(fixture->fetcher, 0);
    for (int i = 0; i < 3; i++) {
        tseed_fetcher_orphan(fixture->fetcher, remote.sent[i]);
    }
    tseed_fetcher_adopt(fixture->fetcher, remote.sent[2]);
    return_picture(remote.sent[0]);
    tseed_fetcher_return(fixture->fetcher, remote.sent[1], 0);
    tseed_fetcher_return(fixture->fetcher, remote.sent[2], 0);
    assert_true(waits_for(fixture, 2));
    wait_until_stands(fixture, WIRES + IN_HAND - 3, WAITING + 1);
    assert_picture(remote.sent[0]);
    assert_cancelled(remote.sent[1]);
    assert_int_equal(remote.recalled, 0);
    end_with_each_back(fixture, transfers, TRANSFERS);
    free_bodies(transfers, TRANSFERS);
}

/* Recall itself may return the transfer. */
static void test_fetcher_remote__hands_all_back_at_its_end(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[TRANSFERS];

    fill(fixture, transfers);
    remote.forgets = 0;
    remote.returns_late = 1;
    end_with_each_back(fixture, transfers, TRANSFERS);
    for (int i = 0; i < TRANSFERS; i++) {
        assert_cancelled(&transfers[i]);
    }
}

/* ---- many ---- */

/* A remote that keeps the protocol. One thread returns its transfers, some of them undone. */
typedef struct {
    tseed_fetcher_t *fetcher;
    pthread_mutex_t lock;
    tseed_transfer_t *held[SENT_MOST];
    int count, is_over, returned;
} station_t;

static void hold(void *baton, tseed_transfer_t *transfer)
{
    station_t *station = baton;

    pthread_mutex_lock(&station->lock);
    station->held[station->count++] = transfer;
    pthread_mutex_unlock(&station->lock);
}

static int forget(void *baton, tseed_transfer_t *transfer)
{
    station_t *station = baton;
    int i = 0, is_held;

    pthread_mutex_lock(&station->lock);
    while (i < station->count && station->held[i] != transfer) {
        i++;
    }
    is_held = i < station->count;
    if (is_held) {
        station->held[i] = station->held[--station->count];
    }
    pthread_mutex_unlock(&station->lock);
    return is_held;
}

/* Sets the results and returns the transfer without the lock. Returns 1 when the test is over. */
static int return_one(station_t *station)
{
    tseed_transfer_t *transfer;
    int is_over;

    pthread_mutex_lock(&station->lock);
    transfer = station->count > 0 ? station->held[--station->count] : NULL;
    is_over = station->is_over;
    pthread_mutex_unlock(&station->lock);
    if (transfer) {
        transfer->result = TSEED_FETCH_OK;
        transfer->http_status = 200;
        transfer->ended = tseed_clock_monotonic();
        tseed_fetcher_return(station->fetcher, transfer, ++station->returned % 4 != 0);
    }
    return is_over && !transfer;
}

static void *return_all(void *baton)
{
    while (!return_one(baton)) {
        usleep(100);
    }
    return NULL;
}

/* Each transfer comes back once, whatever meets what. */
static void test_fetcher_remote__cancels_while_results_come(void **state)
{
    fixture_t *fixture = *state;
    static tseed_transfer_t transfers[2000];
    station_t station = {.fetcher = fixture->fetcher, .lock = PTHREAD_MUTEX_INITIALIZER};
    const tseed_fetch_remote_t calls = {.baton = &station, .send = hold, .recall = forget};
    pthread_t thread;

    tseed_fetcher_remote(fixture->fetcher, &calls);
    tseed_fetcher_remote_room(fixture->fetcher, 2);
    pthread_create(&thread, NULL, return_all, &station);
    for (int i = 0; i < 2000; i++) {
        transfers[i] = ask(fixture, "/picture");
        transfers[i].portion = "a portion";
        transfers[i].owner = &transfers[i / 20];
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
        if (i % 20 == 19) {
            if (i % 3) {
                assert_true(waits_for(fixture, i - 10));
            }
            tseed_fetcher_cancel(fixture->fetcher, &transfers[i / 20]);
            assert_true(waits_for(fixture, i + 1));
        }
    }
    tseed_fetcher_destroy(fixture->fetcher);
    fixture->fetcher = NULL;
    pthread_mutex_lock(&station.lock);
    station.is_over = 1;
    pthread_mutex_unlock(&station.lock);
    pthread_join(thread, NULL);
    assert_int_equal(fixture->count, 2000);
    free_bodies(transfers, 2000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_fetcher_remote__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keeps_all_without_other_hosts),
        TEST(keeps_what_has_no_portion),
        TEST(keeps_what_has_a_rate),
        TEST(shares_what_waits),
        TEST(brings_the_results),
        TEST(stops_without_room),
        TEST(sends_again_what_nobody_has_carried_out),
        TEST(keeps_turns),
        TEST(keeps_turns_of_the_same_owner),
        TEST(takes_back_for_quiet),
        TEST(learns_that_an_upstream_is_away),
        TEST(cancels_what_can_be_recalled),
        TEST(cancels_what_is_on_its_way_back),
        TEST(cancels_one_owner_only),
        TEST(notes_orphans),
        TEST(hands_all_back_at_its_end),
        TEST(cancels_while_results_come),
    };

    return cmocka_run_group_tests(tests, setup_fetchers, teardown_group);
}
