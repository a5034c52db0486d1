/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fetcher against a server that does what upstreams do on their bad days. */
#include "fetcher_fixture.h"

#include <malloc.h>

#define MANY 10000

/* ---- answers ---- */

static void test_fetcher__brings_a_picture(void **state)
{
    static const char *const paths[] = {"/picture", "/untyped", "/chunked", "/http10", "/redirect"};
    house_t *house = *state;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        tseed_transfer_t transfer = ask(house, paths[i]);

        fetch(house, &transfer);
        assert_picture(&transfer);
        assert_int_equal(transfer.sent, 1);
        assert_string_equal(transfer.content_type, i == 1 ? "" : "image/png");
        free(transfer.body);
    }
}

static void test_fetcher__unpacks_gzip(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/gzip");

    fetch(house, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_OK);
    assert_int_equal(transfer.length, 280);
    for (int i = 0; i < 40; i++) {
        assert_memory_equal(transfer.body + 7 * i, "PICTURE", 7);
    }
    free(transfer.body);
}

typedef struct {
    const char *path;
    int status;
    const char *cause; /* %s: host and port */
    int is_away;
} bad_answer_t;

static const bad_answer_t bad_answers[] = {
    {"/204", 204, "empty answer (204)", 0},
    {"/206", 206, "206 Partial Content", 0},
    {"/304", 304, "304 Not Modified", 0},
    {"/404", 404, "404 Not Found", 0},
    {"/500", 500, "500 Internal Server Error: disk full", 0},
    {"/503", 503, "503 Service Unavailable", 1},
    {"/599", 599, "599", 0},
    {"/empty", 200, "empty answer", 0},
    {"/exception", 200,
     "200 with an XML exception: msWMSLoadGetMapParams(): WMS server error. Invalid layer(s) "
     "\"x\"",
     0},
    {"/mislabelled", 200, "200 with an HTML page: Log in, please", 0},
    {"/text", 200, "200 with text: Out of cheese", 0},
    {"/short", 200, "answer cut short after 7 bytes", 0},
    {"/chunked-short", 200, "answer cut short after 3 bytes", 0},
    {"/long", 200, "answer longer than 100000 bytes", 0},
    {"/long-announced", 200, "answer longer than 100000 bytes", 0},
    {"/loop", 302, "more than 3 redirects", 0},
    {"/lost", 302, "302 Found", 0},
    {"/close", 0, "connection closed without an answer by %s", 1},
    {"/garbage", 0, "failed request to %s: Received HTTP/0.9 when not allowed", 0},
    {"/reset", 0, "connection broken to %s: Recv failure: Connection reset by peer", 1},
};

static void test_fetcher__says_what_was_wrong(void **state)
{
    house_t *house = *state;

    for (size_t i = 0; i < sizeof(bad_answers) / sizeof(bad_answers[0]); i++) {
        tseed_transfer_t transfer = ask(house, bad_answers[i].path);
        const char *named = strstr(bad_answers[i].cause, "%s");
        const char *cause = bad_answers[i].cause;

        if (named) {
            cause = apr_psprintf(house->pool, "%.*s%s%s", (int)(named - cause), cause,
                                 house->authority, named + 2);
        }
        fetch(house, &transfer);
        assert_string_equal(transfer.cause, cause);
        assert_int_equal(transfer.result,
                         bad_answers[i].is_away ? TSEED_FETCH_AWAY : TSEED_FETCH_FAILED);
        assert_int_equal(transfer.http_status, bad_answers[i].status);
        assert_int_equal(transfer.sent, 1);
        free(transfer.body);
    }
}

static void test_fetcher__refuses_broken_compression(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/bad-gzip");

    fetch(house, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_FAILED);
    assert_non_null(strstr(transfer.cause, "failed request to 127.0.0.1:"));
    free(transfer.body);
}

static void test_fetcher__redirects_to_http_only(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/to-ftp");

    fetch(house, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_FAILED);
    assert_non_null(strstr(transfer.cause, "ftp"));
    free(transfer.body);
}

static void test_fetcher__takes_the_longest_answer_allowed(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/longest");

    fetch(house, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_OK);
    assert_int_equal(transfer.length, MOST);
    assert_true(transfer.capacity <= MOST);
    free(transfer.body);
}

static void test_fetcher__keeps_a_body_for_the_next_use(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/longest");
    const unsigned char *body;
    size_t capacity;

    fetch(house, &transfer);
    body = transfer.body;
    capacity = transfer.capacity;
    transfer.url = ask(house, "/picture").url;
    fetch(house, &transfer);
    assert_picture(&transfer);
    assert_ptr_equal(transfer.body, body);
    assert_int_equal(transfer.capacity, capacity);
    transfer.url = ask(house, "/404").url;
    fetch(house, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_FAILED);
    transfer.url = ask(house, "/picture").url;
    fetch(house, &transfer);
    assert_picture(&transfer);
    free(transfer.body);
}

/* ---- no answer ---- */

static void test_fetcher__says_who_refused(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/picture");
    int port;
    int silent = server_bind(&port); /* bound, but nobody listens */

    transfer.url = apr_psprintf(house->pool, "http://127.0.0.1:%d/wms?token=secret", port);
    fetch(house, &transfer);
    close(silent);
    assert_string_equal(transfer.cause,
                        apr_psprintf(house->pool, "connection refused by 127.0.0.1:%d", port));
    assert_int_equal(transfer.result, TSEED_FETCH_AWAY);
    assert_int_equal(transfer.sent, 0);
    assert_int_equal(transfer.http_status, 0);
}

/* Fetches until the cause is the expected one: "`what` within TIMEOUT s`rest`". A machine that is
 * too busy to get as far as that within the timeout is given twice the time. */
static void fetch_within(house_t *house, apr_interval_time_t *timeout, tseed_transfer_t *transfer,
                         const char *what, const char *rest)
{
    char cause[100];

    for (;; *timeout *= 2) {
        snprintf(cause, sizeof(cause), "%s within %g s%s", what,
                 (double)*timeout / APR_USEC_PER_SEC, rest);
        fetch(house, transfer);
        if (strcmp(transfer->cause, cause) == 0 || *timeout > NEVER / 10) {
            break;
        }
    }
    assert_string_equal(transfer->cause, cause);
}

static void test_fetcher__gives_up_on_a_silent_upstream(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/hang");
    tseed_transfer_t half = ask(house, "/half");
    apr_time_t begin = tseed_clock_monotonic();

    house->upstream.timeout = 300 * 1000;
    fetch_within(house, &house->upstream.timeout, &transfer, "no answer", "");
    assert_true(tseed_clock_monotonic() - begin >= 290 * 1000);
    assert_int_equal(transfer.sent, 1);
    fetch_within(house, &house->upstream.timeout, &half, "answer not complete", ", 7 bytes came");
    assert_int_equal(half.http_status, 200);
    free(half.body);
}

/* A listener whose queue is full lets the next one's SYN go unanswered. */
static void test_fetcher__gives_up_on_connecting(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/picture");
    struct sockaddr_in address = {.sin_family = AF_INET};
    int port, clients[8];
    int listener = server_bind(&port);

    listen(listener, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)port);
    for (int i = 0; i < 8; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(clients[i], (struct sockaddr *)&address, sizeof(address));
    }
    house->upstream.connect_timeout = 200 * 1000;
    transfer.url = apr_psprintf(house->pool, "http://127.0.0.1:%d/", port);
    fetch(house, &transfer);
    for (int i = 0; i < 8; i++) {
        close(clients[i]);
    }
    close(listener);
    assert_string_equal(
        transfer.cause,
        apr_psprintf(house->pool, "no connection to 127.0.0.1:%d within 0.2 s", port));
    assert_int_equal(transfer.sent, 0);
}

static void test_fetcher__names_what_tls_lacks(void **state)
{
    house_t *house = *state;
    tseed_transfer_t plain = ask(house, "/picture");
    tseed_transfer_t authority = ask(house, "/picture");
    tseed_upstream_t other = house->upstream;

    plain.url = authority.url = apr_psprintf(house->pool, "https://%s/", house->authority);
    fetch(house, &plain);
    assert_non_null(strstr(plain.cause,
                           apr_pstrcat(house->pool, "no TLS with ", house->authority, ": ", NULL)));
    assert_int_equal(plain.sent, 0);
    other.ca = "/nowhere/ca.pem";
    authority.upstream = &other;
    fetch(house, &authority);
    assert_string_equal(
        authority.cause,
        apr_pstrcat(house->pool, "unreadable file of ca= for TLS with ", house->authority, NULL));
}

static void test_fetcher__names_a_proxy_that_refused(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/picture");
    int port;
    int silent = server_bind(&port);

    house->upstream.proxy = apr_psprintf(house->pool, "http://me:secret@127.0.0.1:%d", port);
    fetch(house, &transfer);
    close(silent);
    assert_string_equal(
        transfer.cause,
        apr_psprintf(house->pool, "connection refused by the proxy 127.0.0.1:%d", port));
}

/* ---- what is sent ---- */

static const char *echo(house_t *house, const char *path)
{
    tseed_transfer_t transfer = ask(house, path);
    const char *request;

    fetch(house, &transfer);
    assert_string_equal(transfer.cause, "");
    request = apr_pstrmemdup(house->pool, (char *)transfer.body, transfer.length);
    free(transfer.body);
    return request;
}

static void test_fetcher__introduces_itself(void **state)
{
    house_t *house = *state;
    const char *request = echo(house, "/echo?LAYERS=a%20b");

    assert_ptr_equal(strstr(request, "GET /echo?LAYERS=a%20b HTTP/1.1\r\n"), request);
    assert_non_null(strstr(request, "\r\nUser-Agent: mod_tileseed"));
    assert_non_null(strstr(request, "gzip"));
    assert_null(strstr(request, "Authorization"));
}

static void test_fetcher__sends_headers_and_credentials(void **state)
{
    house_t *house = *state;
    apr_array_header_t *headers = apr_array_make(house->pool, 2, sizeof(const char *));
    const char *request;

    APR_ARRAY_PUSH(headers, const char *) = "X-Key: one";
    APR_ARRAY_PUSH(headers, const char *) = "X-Other: two";
    house->upstream.headers = headers;
    house->upstream.credentials = "Aladdin:open sesame"; /* RFC 7617's own example */
    request = echo(house, "/echo");
    assert_non_null(strstr(request, "\r\nX-Key: one\r\n"));
    assert_non_null(strstr(request, "\r\nX-Other: two\r\n"));
    assert_non_null(strstr(request, "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
}

static void test_fetcher__asks_a_proxy(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "");

    house->upstream.proxy = apr_pstrcat(house->pool, "http://", house->authority, NULL);
    transfer.url = "http://tiles.example/any";
    fetch(house, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_OK);
    assert_memory_equal(transfer.body, "GET http://tiles.example/any HTTP/1.1\r\n", 39);
    free(transfer.body);
}

/* ---- turns ---- */

static void test_fetcher__keeps_connections_and_their_limit(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfers[40];

    house->upstream.connections = 3;
    for (int i = 0; i < 40; i++) {
        transfers[i] = ask(house, "/gate?x");
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    wait_until_equal(&house->server.busy, 3);
    server_open_gate(&house->server);
    assert_true(waits_for(house, 40));
    for (int i = 0; i < 40; i++) {
        assert_picture(&transfers[i]);
        free(transfers[i].body);
    }
    assert_int_equal(house->server.requests, 40);
    assert_int_equal(house->server.busiest, 3);
    assert_int_equal(house->server.connections, 3);
}

static void test_fetcher__limits_each_upstream_by_itself(void **state)
{
    house_t *house = *state;
    tseed_upstream_t other = house->upstream;
    tseed_transfer_t transfers[8];

    house->upstream.connections = 2;
    other.connections = 1;
    for (int i = 0; i < 8; i++) {
        transfers[i] = ask(house, "/gate?x");
        transfers[i].upstream = i % 2 ? &other : &house->upstream;
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    wait_until_equal(&house->server.busy, 3);
    server_open_gate(&house->server);
    assert_true(waits_for(house, 8));
    assert_int_equal(house->server.busiest, 3);
    for (int i = 0; i < 8; i++) {
        free(transfers[i].body);
    }
}

/* The notes that requests to /gate have left, in order of arrival. */
static const char *order_of(house_t *house)
{
    const char *order;

    pthread_mutex_lock(&house->server.lock);
    order = apr_pstrmemdup(house->pool, house->server.order, (size_t)house->server.noted);
    pthread_mutex_unlock(&house->server.lock);
    return order;
}

/* The fetcher takes in what is handed to it in order: what comes back here was last. */
static void wait_until_taken_in(house_t *house)
{
    static tseed_upstream_t other; /* outlives the fetcher */
    tseed_transfer_t last = ask(house, "/picture");

    other = house->upstream;
    last.upstream = &other;
    fetch(house, &last);
    free(last.body);
}

/* While one transfer of a third owner is under way, A queues five, then B two, then C one. */
static void test_fetcher__serves_owners_in_turn(void **state)
{
    static const char owners[] = "zAAAAABBC";
    house_t *house = *state;
    tseed_transfer_t transfers[9];

    house->upstream.connections = 1;
    for (int i = 0; i < 9; i++) {
        transfers[i] = ask(house, apr_psprintf(house->pool, "/gate?%c", owners[i]));
        transfers[i].owner = strchr(owners, owners[i]);
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
        if (i == 0) {
            wait_until_equal(&house->server.busy, 1);
        }
    }
    wait_until_taken_in(house);
    server_open_gate(&house->server);
    assert_true(waits_for(house, 10));
    assert_string_equal(order_of(house), "zABCABAAA");
    for (int i = 0; i < 9; i++) {
        free(transfers[i].body);
    }
}

/* The first and B come back at once with one transfer each, A with three. */
static void test_fetcher__lets_nobody_overtake_by_coming_back(void **state)
{
    house_t *house = *state;
    tseed_transfer_t first = ask(house, "/gate?z"), transfers[4];
    int a = 0;

    house->upstream.connections = 1;
    first.owner = &first;
    tseed_fetcher_submit(house->fetcher, &first);
    wait_until_equal(&house->server.busy, 1);
    for (int i = 0; i < 4; i++) {
        transfers[i] = ask(house, i < 3 ? "/gate?A" : "/gate?B");
        transfers[i].owner = i < 3 ? &transfers[0] : &transfers[3];
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    wait_until_taken_in(house);
    hand_in_again(house, 20);
    server_open_gate(&house->server);
    assert_true(waits_for(house, 26));
    for (int i = 1; i < 9; i++) {
        a += order_of(house)[i] == 'A';
    }
    assert_in_range(a, 2, 5); /* of eight; in order of arrival it would get six */
    for (int i = 0; i < 4; i++) {
        free(transfers[i].body);
    }
    free(first.body);
}

/* ---- an upstream that is away ---- */

static int outlook_since(house_t *house, tseed_outlook_t *outlook)
{
    tseed_fetcher_outlook(house->fetcher, outlook, &house->upstream);
    return outlook->since != 0;
}

static void check_refused(house_t *house, tseed_outlook_t *outlook, tseed_transfer_t *refused)
{
    fetch(house, refused);
    assert_int_equal(refused->result, TSEED_FETCH_AWAY);
    assert_true(outlook_since(house, outlook));
    assert_int_equal(outlook->next, refused->ended + refused->retry_after);
}

/* RFC 9110, 10.2.3: seconds or a date. Nobody is sent there before, whoever the owner is. */
static void test_fetcher__obeys_retry_after(void **state)
{
    house_t *house = *state;
    tseed_transfer_t refused = ask(house, "/retry-seconds"), next = ask(house, "/picture");
    tseed_outlook_t outlook;

    check_refused(house, &outlook, &refused);
    assert_int_equal(refused.retry_after, APR_USEC_PER_SEC);
    next.owner = &next;
    fetch(house, &next);
    assert_picture(&next);
    assert_true(next.ended >= outlook.next);
    assert_false(outlook_since(house, &outlook));
    assert_true(outlook.heard >= outlook.next);
    free(refused.body);
    free(next.body);
}

/* Both clocks are read in whole seconds, and the answer takes a while to come. */
static void test_fetcher__reads_retry_after_as_a_date(void **state)
{
    house_t *house = *state;
    tseed_transfer_t refused = ask(house, "/retry-date");
    tseed_outlook_t outlook;
    time_t begin = time(NULL), lasted;

    check_refused(house, &outlook, &refused);
    lasted = time(NULL) - begin;
    assert_in_range(refused.retry_after, (MINUTES * 60 - lasted) * APR_USEC_PER_SEC,
                    MINUTES * 60 * APR_USEC_PER_SEC);
    free(refused.body);
}

/* 20 of two owners at 100 a second: the twentieth is sent 19 intervals after the first, or 18 when
 * the last one was late. */
static void test_fetcher__holds_the_rate_for_all_owners(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfers[20];
    apr_time_t begin = tseed_clock_monotonic();

    house->upstream.interval = APR_USEC_PER_SEC / 100;
    house->upstream.connections = 16;
    for (int i = 0; i < 20; i++) {
        transfers[i] = ask(house, "/picture");
        transfers[i].owner = &transfers[i % 2];
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    assert_true(waits_for(house, 20));
    assert_true(tseed_clock_monotonic() - begin >= 18 * (APR_USEC_PER_SEC / 100));
    for (int i = 0; i < 20; i++) {
        assert_picture(&transfers[i]);
        free(transfers[i].body);
    }
}

/* Has one good answer followed by three bad ones, without a pause in which a probe would be sent.
 */
static void submit_before_bad_ones(house_t *house, tseed_transfer_t *good, tseed_transfer_t bad[3])
{
    house->upstream.connections = 1;
    tseed_fetcher_submit(house->fetcher, good);
    for (int i = 0; i < 3; i++) {
        bad[i] = ask(house, "/503");
        tseed_fetcher_submit(house->fetcher, &bad[i]);
    }
    wait_until_taken_in(house);
    server_open_gate(&house->server);
    assert_true(waits_for(house, 5));
}

/* Where there was no picture yet, an answer that was none is asked again, not what fails always. */
static void test_fetcher__probes_with_what_was_no_picture(void **state)
{
    house_t *house = *state;
    tseed_transfer_t missing = ask(house, "/404-gate?m"), bad[4];
    tseed_outlook_t outlook;

    submit_before_bad_ones(house, &missing, bad);
    assert_true(outlook_since(house, &outlook));
    bad[3] = ask(house, "/503");
    fetch(house, &bad[3]);
    assert_false(outlook_since(house, &outlook));
    assert_int_equal(house->server.requests, 7); /* one of them the probe */
    for (int i = 0; i < 4; i++) {
        free(bad[i].body);
    }
    free(missing.body);
}

static void test_fetcher__gives_up_without_a_first_byte(void **state)
{
    house_t *house = *state;
    tseed_transfer_t silent = ask(house, "/hang"), half = ask(house, "/half");
    apr_interval_time_t *first = &house->upstream.first_byte_timeout;

    *first = 200 * 1000;
    fetch_within(house, first, &silent, "no answer", "");
    assert_int_equal(silent.result, TSEED_FETCH_AWAY);
    wait_until_equal(&house->server.gone, house->server.requests);
    house->upstream.timeout = 400 * 1000; /* what has begun has more time */
    fetch(house, &half);
    while (!half.length && *first < NEVER / 10) { /* the machine is too busy for the first byte */
        *first *= 2;
        house->upstream.timeout = 2 * *first;
        fetch(house, &half);
    }
    assert_non_null(strstr(half.cause, "answer not complete within"));
    assert_non_null(strstr(half.cause, " s, 7 bytes came"));
    free(half.body);
}

/* After three answers of an upstream that is away only one probe at a time is sent: what was
 * answered before, and what waits is not touched. */
static void test_fetcher__probes_with_what_was_answered(void **state)
{
    house_t *house = *state;
    tseed_transfer_t good = ask(house, "/gate?g"), bad[3], waiting = ask(house, "/404");
    tseed_outlook_t outlook;

    submit_before_bad_ones(house, &good, bad);
    assert_true(outlook_since(house, &outlook));
    assert_string_equal(outlook.cause, "503 Service Unavailable");
    assert_true(outlook.next > bad[2].ended);
    fetch(house, &waiting);
    assert_int_equal(waiting.http_status, 404);
    assert_true(waiting.ended >= outlook.next);
    assert_false(outlook_since(house, &outlook));
    assert_int_equal(house->server.requests, 7); /* one of them the probe */
    for (int i = 0; i < 3; i++) {
        free(bad[i].body);
    }
    free(waiting.body);
    free(good.body);
}

/* One answer like that may be the request's own fault; the fetcher finds out by itself. */
static void test_fetcher__asks_when_in_doubt(void **state)
{
    house_t *house = *state;
    tseed_transfer_t good = ask(house, "/picture"), bad = ask(house, "/503");
    tseed_outlook_t outlook;

    fetch(house, &good);
    fetch(house, &bad);
    wait_until_equal(&house->server.requests, 3);
    do {
        usleep(1000);
        tseed_fetcher_outlook(house->fetcher, &outlook, &house->upstream);
    } while (outlook.heard <= bad.ended && tseed_clock_monotonic() < bad.ended + NEVER);
    assert_true(outlook.heard > bad.ended);
    free(good.body);
    free(bad.body);
}

/* ---- cancelling ---- */

static void assert_cancelled(const tseed_transfer_t *transfer, int sent)
{
    assert_int_equal(transfer->result, TSEED_FETCH_CANCELLED);
    assert_int_equal(transfer->sent, sent);
    assert_int_equal(transfer->http_status, 0);
    assert_string_equal(transfer->cause, "");
}

/* Under way and waiting for a turn. */
static void test_fetcher__cancels_at_once_while_the_upstream_hangs(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfers[4];

    house->upstream.connections = 2;
    for (int i = 0; i < 4; i++) {
        transfers[i] = ask(house, "/hang");
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    wait_until_equal(&house->server.busy, 2);
    tseed_fetcher_cancel(house->fetcher, house);
    assert_true(waits_for(house, 4));         /* far less than the timeouts of the upstream */
    wait_until_equal(&house->server.gone, 2); /* the sockets are closed */
    for (int i = 0; i < 4; i++) {
        assert_cancelled(&transfers[i], i < 2);
    }
}

static void test_fetcher__cancels_one_owner_only(void **state)
{
    house_t *house = *state;
    tseed_transfer_t hanging = ask(house, "/hang"), waiting = ask(house, "/picture");
    tseed_transfer_t other = ask(house, "/picture");

    house->upstream.connections = 1;
    other.owner = &other;
    tseed_fetcher_submit(house->fetcher, &hanging);
    wait_until_equal(&house->server.busy, 1);
    tseed_fetcher_submit(house->fetcher, &waiting);
    tseed_fetcher_submit(house->fetcher, &other);
    tseed_fetcher_cancel(house->fetcher, house);
    assert_true(waits_for(house, 3));
    assert_cancelled(&hanging, 1);
    assert_cancelled(&waiting, 0);
    assert_picture(&other); /* it has got the place that became free */
    free(other.body);
}

static void test_fetcher__spares_what_comes_after_a_cancel(void **state)
{
    house_t *house = *state;
    tseed_transfer_t before = ask(house, "/hang"), after = ask(house, "/picture");

    tseed_fetcher_submit(house->fetcher, &before);
    tseed_fetcher_cancel(house->fetcher, house);
    tseed_fetcher_submit(house->fetcher, &after);
    assert_true(waits_for(house, 2));
    assert_int_equal(before.result, TSEED_FETCH_CANCELLED);
    assert_picture(&after);
    free(after.body);
}

/* More often than it takes to call the upstream away. */
static void test_fetcher__orphans_make_way(void **state)
{
    house_t *house = *state;
    tseed_outlook_t outlook;

    house->upstream.connections = 1;
    for (int i = 0; i < 4; i++) {
        tseed_transfer_t orphan = ask(house, "/hang"), other = ask(house, "/picture");

        tseed_fetcher_submit(house->fetcher, &orphan);
        wait_until_equal(&house->server.requests, 2 * i + 1);
        tseed_fetcher_orphan(house->fetcher, &orphan);
        tseed_fetcher_submit(house->fetcher, &other);
        assert_true(waits_for(house, 2 * i + 2));
        assert_ptr_equal(house->back[2 * i], &orphan);
        assert_cancelled(&orphan, 1);
        assert_picture(&other);
        wait_until_equal(&house->server.gone, i + 1);
        free(other.body);
    }
    tseed_fetcher_outlook(house->fetcher, &outlook, &house->upstream);
    assert_true(outlook.since == 0);
}

/* Somebody waits for it again before it is in the way. */
static void test_fetcher__adopted_orphans_go_on(void **state)
{
    house_t *house = *state;
    tseed_transfer_t adopted = ask(house, "/gate?a"), waiting = ask(house, "/gate?w");

    house->upstream.connections = 1;
    tseed_fetcher_submit(house->fetcher, &adopted);
    wait_until_equal(&house->server.busy, 1);
    tseed_fetcher_orphan(house->fetcher, &adopted);
    tseed_fetcher_adopt(house->fetcher, &adopted);
    tseed_fetcher_submit(house->fetcher, &waiting);
    wait_until_taken_in(house);
    usleep(500000); /* it would have been cancelled by now */
    server_open_gate(&house->server);
    assert_true(waits_for(house, 3));
    assert_picture(&adopted);
    assert_picture(&waiting);
    free(adopted.body);
    free(waiting.body);
}

static void test_fetcher__forgets_what_an_earlier_use_left(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfer = ask(house, "/404"), hanging = ask(house, "/hang");

    house->upstream.connections = 1;
    fetch(house, &transfer);
    tseed_fetcher_submit(house->fetcher, &hanging);
    tseed_fetcher_submit(house->fetcher, &transfer);
    tseed_fetcher_cancel(house->fetcher, house);
    assert_true(waits_for(house, 3));
    assert_cancelled(&transfer, 0);
    free(transfer.body);
}

static void test_fetcher__hands_all_back_at_its_end(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfers[6];

    for (int i = 0; i < 6; i++) {
        transfers[i] = ask(house, "/hang");
        transfers[i].owner = &transfers[i];
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    tseed_fetcher_destroy(house->fetcher);
    house->fetcher = NULL;
    assert_int_equal(house->count, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(transfers[i].result, TSEED_FETCH_CANCELLED);
    }
}

/* ---- many ---- */

typedef struct {
    house_t *house;
    tseed_transfer_t transfers[50];
} crowd_t;

static void *submit_and_cancel(void *baton)
{
    crowd_t *crowd = baton;

    for (int i = 0; i < 50; i++) {
        tseed_fetcher_submit(crowd->house->fetcher, &crowd->transfers[i]);
        if (i % 10 == 9) {
            tseed_fetcher_cancel(crowd->house->fetcher, crowd);
        }
    }
    return NULL;
}

/* Four threads at once: each transfer comes back once, and those that nobody cancelled are there.
 */
static void test_fetcher__takes_letters_from_many_threads(void **state)
{
    house_t *house = *state;
    crowd_t crowds[4];
    pthread_t threads[4];

    for (int i = 0; i < 200; i++) {
        tseed_transfer_t *transfer = &crowds[i / 50].transfers[i % 50];

        crowds[i / 50].house = house;
        *transfer = ask(house, "/picture");
        transfer->owner = i % 5 ? (const void *)&crowds[i / 50] : transfer;
    }
    for (int t = 0; t < 4; t++) {
        pthread_create(&threads[t], NULL, submit_and_cancel, &crowds[t]);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
    }
    assert_true(waits_for(house, 200));
    for (int i = 0; i < 200; i++) {
        tseed_transfer_t *transfer = &crowds[i / 50].transfers[i % 50];

        if (i % 5 == 0) {
            assert_picture(transfer);
        }
        free(transfer->body);
    }
    tseed_fetcher_destroy(house->fetcher);
    house->fetcher = NULL;
    assert_int_equal(house->count, 200);
}

extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static int64_t memory_in_use(void)
{
    if (__sanitizer_get_current_allocated_bytes) {
        return (int64_t)__sanitizer_get_current_allocated_bytes();
    }
    return (int64_t)mallinfo2().uordblks;
}

/* Eight transfers that are handed in again and again by `done` itself. */
static void test_fetcher__does_not_grow(void **state)
{
    house_t *house = *state;
    tseed_transfer_t transfers[8];
    int64_t before;

    hand_in_again(house, MANY / 10 - 8);
    for (int i = 0; i < 8; i++) {
        transfers[i] = ask(house, "/picture");
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    assert_true(waits_for(house, MANY / 10));
    before = memory_in_use();
    hand_in_again(house, MANY * 9 / 10 - 8);
    for (int i = 0; i < 8; i++) {
        tseed_fetcher_submit(house->fetcher, &transfers[i]);
    }
    assert_true(waits_for(house, MANY));
    assert_in_range(memory_in_use() - before + 32768, 0, 65536);
    assert_int_equal(house->server.requests, MANY);
    assert_int_equal(house->server.connections, 4);
    for (int i = 0; i < 8; i++) {
        free(transfers[i].body);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_fetcher__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(brings_a_picture),
        TEST(unpacks_gzip),
        TEST(says_what_was_wrong),
        TEST(refuses_broken_compression),
        TEST(redirects_to_http_only),
        TEST(takes_the_longest_answer_allowed),
        TEST(keeps_a_body_for_the_next_use),
        TEST(says_who_refused),
        TEST(gives_up_on_a_silent_upstream),
        TEST(gives_up_on_connecting),
        TEST(names_what_tls_lacks),
        TEST(names_a_proxy_that_refused),
        TEST(introduces_itself),
        TEST(sends_headers_and_credentials),
        TEST(asks_a_proxy),
        TEST(keeps_connections_and_their_limit),
        TEST(limits_each_upstream_by_itself),
        TEST(serves_owners_in_turn),
        TEST(lets_nobody_overtake_by_coming_back),
        TEST(obeys_retry_after),
        TEST(reads_retry_after_as_a_date),
        TEST(holds_the_rate_for_all_owners),
        TEST(gives_up_without_a_first_byte),
        TEST(probes_with_what_was_answered),
        TEST(probes_with_what_was_no_picture),
        TEST(asks_when_in_doubt),
        TEST(cancels_at_once_while_the_upstream_hangs),
        TEST(cancels_one_owner_only),
        TEST(spares_what_comes_after_a_cancel),
        TEST(orphans_make_way),
        TEST(adopted_orphans_go_on),
        TEST(forgets_what_an_earlier_use_left),
        TEST(hands_all_back_at_its_end),
        TEST(takes_letters_from_many_threads),
        TEST(does_not_grow),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
