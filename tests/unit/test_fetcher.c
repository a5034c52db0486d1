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
    fixture_t *fixture = *state;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        tseed_transfer_t transfer = ask(fixture, paths[i]);

        fetch(fixture, &transfer);
        assert_picture(&transfer);
        assert_int_equal(transfer.sent, 1);
        assert_string_equal(transfer.content_type, i == 1 ? "" : "image/png");
        free(transfer.body);
    }
}

static void test_fetcher__unpacks_gzip(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/gzip");

    fetch(fixture, &transfer);
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
    {"/digest", 401, "401 Unauthorized, it wants Digest, and auth= sends Basic", 0},
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
    {"/headers", 200, "headers longer than 262144 bytes", 0},
    {"/trailers", 200, "headers longer than 262144 bytes", 0},
    {"/close", 0, "connection closed without an answer by %s", 1},
    {"/garbage", 0, "failed request to %s: Received HTTP/0.9 when not allowed", 0},
    {"/reset", 0, "connection broken to %s: Recv failure: Connection reset by peer", 1},
};

static void test_fetcher__says_what_was_wrong(void **state)
{
    fixture_t *fixture = *state;

    for (size_t i = 0; i < sizeof(bad_answers) / sizeof(bad_answers[0]); i++) {
        tseed_transfer_t transfer = ask(fixture, bad_answers[i].path);
        const char *named = strstr(bad_answers[i].cause, "%s");
        const char *cause = bad_answers[i].cause;

        if (named) {
            cause = apr_psprintf(fixture->pool, "%.*s%s%s", (int)(named - cause), cause,
                                 fixture->authority, named + 2);
        }
        fetch(fixture, &transfer);
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
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/bad-gzip");

    fetch(fixture, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_FAILED);
    assert_non_null(strstr(transfer.cause, "failed request to 127.0.0.1:"));
    free(transfer.body);
}

/* "UTF-8" is no coding of a body. The first answer of a kind is asked for twice, others once. */
static void test_fetcher__takes_a_coding_that_does_not_exist(void **state)
{
    static const struct {
        const char *path;
        int requests;
    } asked[] = {{"/utf-8", 2}, {"/utf-8", 3}, {"/picture", 4}, {"/gzip", 6}, {"/gzip", 7}};
    fixture_t *fixture = *state;

    fixture->upstream.connections = 1;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        tseed_transfer_t transfer = ask(fixture, asked[i].path);

        fetch(fixture, &transfer);
        assert_string_equal(transfer.cause, "");
        assert_int_equal(transfer.result, TSEED_FETCH_OK);
        assert_int_equal(transfer.length, i < 3 ? 7 : 280);
        assert_memory_equal(transfer.body, "PICTURE", 7);
        assert_int_equal(atomic_load(&fixture->server.requests), asked[i].requests);
        free(transfer.body);
    }
}

#define DATE  "Date: Thu, 01 Oct 2026 10:00:00 GMT\r\n"
#define SINCE "If-Modified-Since: Tue, 01 Sep 2026 10:00:00 GMT"

/* What an answer says of itself, and the condition that comes of it. */
static const struct {
    const char *headers, *condition;
} validators[] = {
    {"ETag: \"a b-\xE4\"\r\n", "If-None-Match: \"a b-\xE4\""},
    {"ETag: W/\"\"\r\n", "If-None-Match: W/\"\""},
    {"ETag: d41d8cd98f\r\n", "If-None-Match: d41d8cd98f"},
    {"ETag: \"a\rX-Evil: 1\"\r\n", ""},
    {"ETag: a\rX-Evil:1\r\n", ""},
    {"ETag: \"a\tb\"\r\n", ""},
    {"ETag: \"a\", \"b\"\r\n", ""},
    {"ETag: \"a\r\n", ""},
    {"ETag: a, b\r\n", ""},
    {"ETag: *\r\n", ""},
    {"ETag: W/\r\n", ""},
    {"ETag: \"a\r\"\r\n" DATE "Last-Modified: Tue, 01 Sep 2026 10:00:00 GMT\r\n", SINCE},
    {DATE "Last-Modified: Tue, 1 Sep 2026 10:00:00 GMT\r\n", SINCE},
    {DATE "Last-Modified: 2026\r\n", ""},
    {DATE "Last-Modified: Thu, 01 Jan 1970 00:00:01 GMT\r\n", ""},
    {DATE "Last-Modified: Tue, 01 Jan 1980 00:00:00 GMT\r\n", ""},
};

static int say_validator(server_t *server, int connection, const char *request)
{
    (void)server;
    server_send_answer(connection, 200, validators[atoi(strchr(request, '/') + 1)].headers,
                       "PICTURE", 7);
    return 1;
}

/* RFC 9110, 8.8.3. A line end in an ETag would begin a header. */
static void test_fetcher__asks_with_validators_only(void **state)
{
    fixture_t *fixture = *state;

    fixture->server.script = say_validator;
    for (size_t i = 0; i < sizeof(validators) / sizeof(validators[0]); i++) {
        tseed_transfer_t transfer = ask(fixture, apr_psprintf(fixture->pool, "/%d", (int)i));

        fetch(fixture, &transfer);
        assert_string_equal(transfer.next_condition, validators[i].condition);
        free(transfer.body);
    }
}

/* The database may have one that an earlier version has taken. */
static void test_fetcher__sends_no_condition_of_several_lines(void **state)
{
    static const char *const conditions[] = {"If-None-Match: a\rX-Evil: 1",
                                             "If-Modified-Since: x\r\nX-Evil: 1", "X-Evil: 1"};
    fixture_t *fixture = *state;

    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        tseed_transfer_t transfer = ask(fixture, "/echo");

        transfer.condition = conditions[i];
        fetch(fixture, &transfer);
        assert_int_equal(transfer.result, TSEED_FETCH_OK);
        assert_null(memmem(transfer.body, transfer.length, "Evil", 4));
        free(transfer.body);
    }
}

static void test_fetcher__redirects_to_http_only(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/to-ftp");

    fetch(fixture, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_FAILED);
    assert_non_null(strstr(transfer.cause, "ftp"));
    free(transfer.body);
}

static void test_fetcher__takes_the_longest_answer_allowed(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/longest");

    fetch(fixture, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_OK);
    assert_int_equal(transfer.length, MOST);
    assert_true(transfer.capacity <= MOST);
    free(transfer.body);
}

static void test_fetcher__keeps_a_body_for_the_next_use(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/longest");
    const unsigned char *body;
    size_t capacity;

    fetch(fixture, &transfer);
    body = transfer.body;
    capacity = transfer.capacity;
    transfer.url = ask(fixture, "/picture").url;
    fetch(fixture, &transfer);
    assert_picture(&transfer);
    assert_ptr_equal(transfer.body, body);
    assert_int_equal(transfer.capacity, capacity);
    transfer.url = ask(fixture, "/404").url;
    fetch(fixture, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_FAILED);
    transfer.url = ask(fixture, "/picture").url;
    fetch(fixture, &transfer);
    assert_picture(&transfer);
    free(transfer.body);
}

/* ---- no answer ---- */

static void test_fetcher__says_who_refused(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/picture");
    int port;
    int silent = server_bind(&port); /* bound, but nobody listens */

    transfer.url = apr_psprintf(fixture->pool, "http://127.0.0.1:%d/wms?token=secret", port);
    fetch(fixture, &transfer);
    close(silent);
    assert_string_equal(transfer.cause,
                        apr_psprintf(fixture->pool, "connection refused by 127.0.0.1:%d", port));
    assert_int_equal(transfer.result, TSEED_FETCH_AWAY);
    assert_int_equal(transfer.sent, 0);
    assert_int_equal(transfer.http_status, 0);
}

/* Fetches until the cause is the expected one: "`what` within TIMEOUT s`rest`". A machine that is
 * too busy to get as far as that within the timeout is given twice the time. */
static void fetch_within(fixture_t *fixture, apr_interval_time_t *timeout,
                         tseed_transfer_t *transfer, const char *what, const char *rest)
{
    char cause[100];

    for (;; *timeout *= 2) {
        snprintf(cause, sizeof(cause), "%s within %g s%s", what,
                 (double)*timeout / APR_USEC_PER_SEC, rest);
        fetch(fixture, transfer);
        if (strcmp(transfer->cause, cause) == 0 || *timeout > NEVER / 10) {
            break;
        }
    }
    assert_string_equal(transfer->cause, cause);
}

static void test_fetcher__gives_up_on_a_silent_upstream(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/hang");
    tseed_transfer_t half = ask(fixture, "/half");
    apr_time_t begin = tseed_clock_monotonic();

    fixture->upstream.timeout = 300 * 1000;
    fetch_within(fixture, &fixture->upstream.timeout, &transfer, "no answer", "");
    assert_true(tseed_clock_monotonic() - begin >= 290 * 1000);
    assert_int_equal(transfer.sent, 1);
    fetch_within(fixture, &fixture->upstream.timeout, &half, "answer not complete",
                 ", 7 bytes came");
    assert_int_equal(half.http_status, 200);
    free(half.body);
}

/* A listener whose queue is full lets the next one's SYN go unanswered. */
static void test_fetcher__gives_up_on_connecting(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/picture");
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
    fixture->upstream.connect_timeout = 200 * 1000;
    transfer.url = apr_psprintf(fixture->pool, "http://127.0.0.1:%d/", port);
    fetch(fixture, &transfer);
    for (int i = 0; i < 8; i++) {
        close(clients[i]);
    }
    close(listener);
    assert_string_equal(
        transfer.cause,
        apr_psprintf(fixture->pool, "no connection to 127.0.0.1:%d within 0.2 s", port));
    assert_int_equal(transfer.sent, 0);
}

static void test_fetcher__names_what_tls_lacks(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t plain = ask(fixture, "/picture");
    tseed_transfer_t authority = ask(fixture, "/picture");
    tseed_upstream_t other = fixture->upstream;

    plain.url = authority.url = apr_psprintf(fixture->pool, "https://%s/", fixture->authority);
    fetch(fixture, &plain);
    assert_non_null(strstr(
        plain.cause, apr_pstrcat(fixture->pool, "no TLS with ", fixture->authority, ": ", NULL)));
    assert_int_equal(plain.sent, 0);
    other.ca = "/nowhere/ca.pem";
    authority.upstream = &other;
    fetch(fixture, &authority);
    assert_string_equal(authority.cause,
                        apr_pstrcat(fixture->pool, "unreadable file of ca= for TLS with ",
                                    fixture->authority, NULL));
}

static void test_fetcher__names_a_proxy_that_refused(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/picture");
    int port;
    int silent = server_bind(&port);

    fixture->upstream.proxy = apr_psprintf(fixture->pool, "http://me:secret@127.0.0.1:%d", port);
    fetch(fixture, &transfer);
    close(silent);
    assert_string_equal(
        transfer.cause,
        apr_psprintf(fixture->pool, "connection refused by the proxy 127.0.0.1:%d", port));
}

/* ---- what is sent ---- */

static const char *echo(fixture_t *fixture, const char *path)
{
    tseed_transfer_t transfer = ask(fixture, path);
    const char *request;

    fetch(fixture, &transfer);
    assert_string_equal(transfer.cause, "");
    request = apr_pstrmemdup(fixture->pool, (char *)transfer.body, transfer.length);
    free(transfer.body);
    return request;
}

static void test_fetcher__introduces_itself(void **state)
{
    fixture_t *fixture = *state;
    const char *request = echo(fixture, "/echo?LAYERS=a%20b");

    assert_ptr_equal(strstr(request, "GET /echo?LAYERS=a%20b HTTP/1.1\r\n"), request);
    assert_non_null(strstr(request, "\r\nUser-Agent: mod_tileseed"));
    assert_non_null(strstr(request, "\r\nAccept-Encoding: identity\r\n"));
    assert_null(strstr(request, "Authorization"));
}

static void test_fetcher__sends_headers_and_credentials(void **state)
{
    fixture_t *fixture = *state;
    apr_array_header_t *headers = apr_array_make(fixture->pool, 2, sizeof(const char *));
    const char *request;

    APR_ARRAY_PUSH(headers, const char *) = "X-Key: one";
    APR_ARRAY_PUSH(headers, const char *) = "X-Other: two";
    fixture->upstream.headers = headers;
    fixture->upstream.credentials = "Aladdin:open sesame"; /* RFC 7617's own example */
    request = echo(fixture, "/echo");
    assert_non_null(strstr(request, "\r\nX-Key: one\r\n"));
    assert_non_null(strstr(request, "\r\nX-Other: two\r\n"));
    assert_non_null(strstr(request, "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
}

static void test_fetcher__asks_a_proxy(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "");

    fixture->upstream.proxy = apr_pstrcat(fixture->pool, "http://", fixture->authority, NULL);
    transfer.url = "http://tiles.example/any";
    fetch(fixture, &transfer);
    assert_int_equal(transfer.result, TSEED_FETCH_OK);
    assert_memory_equal(transfer.body, "GET http://tiles.example/any HTTP/1.1\r\n", 39);
    free(transfer.body);
}

/* ---- turns ---- */

static void test_fetcher__keeps_connections_and_their_limit(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[40];

    fixture->upstream.connections = 3;
    for (int i = 0; i < 40; i++) {
        transfers[i] = ask(fixture, "/gate?x");
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    wait_until_equal(&fixture->server.busy, 3);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, 40));
    for (int i = 0; i < 40; i++) {
        assert_picture(&transfers[i]);
        free(transfers[i].body);
    }
    assert_int_equal(fixture->server.requests, 40);
    assert_int_equal(fixture->server.busiest, 3);
    assert_int_equal(fixture->server.connections, 3);
}

static void test_fetcher__limits_each_upstream_by_itself(void **state)
{
    fixture_t *fixture = *state;
    tseed_upstream_t other = fixture->upstream;
    tseed_transfer_t transfers[8];

    fixture->upstream.connections = 2;
    other.connections = 1;
    for (int i = 0; i < 8; i++) {
        transfers[i] = ask(fixture, "/gate?x");
        transfers[i].upstream = i % 2 ? &other : &fixture->upstream;
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    wait_until_equal(&fixture->server.busy, 3);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, 8));
    assert_int_equal(fixture->server.busiest, 3);
    for (int i = 0; i < 8; i++) {
        free(transfers[i].body);
    }
}

/* The notes that requests to /gate have left, in order of arrival. */
static const char *order_of(fixture_t *fixture)
{
    const char *order;

    pthread_mutex_lock(&fixture->server.lock);
    order = apr_pstrmemdup(fixture->pool, fixture->server.order, (size_t)fixture->server.noted);
    pthread_mutex_unlock(&fixture->server.lock);
    return order;
}

/* The fetcher takes in what is handed to it in order: what comes back here was last. */
static void wait_until_taken_in(fixture_t *fixture)
{
    static tseed_upstream_t other; /* outlives the fetcher */
    tseed_transfer_t last = ask(fixture, "/picture");

    other = fixture->upstream;
    last.upstream = &other;
    fetch(fixture, &last);
    free(last.body);
}

/* While one transfer of a third owner is under way, A queues five, then B two, then C one. */
static void test_fetcher__serves_owners_in_turn(void **state)
{
    static const char owners[] = "zAAAAABBC";
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[9];

    fixture->upstream.connections = 1;
    for (int i = 0; i < 9; i++) {
        transfers[i] = ask(fixture, apr_psprintf(fixture->pool, "/gate?%c", owners[i]));
        transfers[i].owner = strchr(owners, owners[i]);
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
        if (i == 0) {
            wait_until_equal(&fixture->server.busy, 1);
        }
    }
    wait_until_taken_in(fixture);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, 10));
    assert_string_equal(order_of(fixture), "zABCABAAA");
    for (int i = 0; i < 9; i++) {
        free(transfers[i].body);
    }
}

/* The first and B come back at once with one transfer each, A with three. */
static void test_fetcher__lets_nobody_overtake_by_coming_back(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t first = ask(fixture, "/gate?z"), transfers[4];
    int a = 0;

    fixture->upstream.connections = 1;
    first.owner = &first;
    tseed_fetcher_submit(fixture->fetcher, &first);
    wait_until_equal(&fixture->server.busy, 1);
    for (int i = 0; i < 4; i++) {
        transfers[i] = ask(fixture, i < 3 ? "/gate?A" : "/gate?B");
        transfers[i].owner = i < 3 ? &transfers[0] : &transfers[3];
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    wait_until_taken_in(fixture);
    hand_in_again(fixture, 20);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, 26));
    for (int i = 1; i < 9; i++) {
        a += order_of(fixture)[i] == 'A';
    }
    assert_in_range(a, 2, 5); /* of eight; in order of arrival it would get six */
    for (int i = 0; i < 4; i++) {
        free(transfers[i].body);
    }
    free(first.body);
}

/* ---- an upstream that is away ---- */

static int outlook_since(fixture_t *fixture, tseed_outlook_t *outlook)
{
    tseed_fetcher_outlook(fixture->fetcher, outlook, &fixture->upstream);
    return outlook->since != 0;
}

static void check_refused(fixture_t *fixture, tseed_outlook_t *outlook, tseed_transfer_t *refused)
{
    fetch(fixture, refused);
    assert_int_equal(refused->result, TSEED_FETCH_AWAY);
    assert_true(outlook_since(fixture, outlook));
    assert_int_equal(outlook->next, refused->ended + refused->retry_after);
}

/* RFC 9110, 10.2.3: seconds or a date. Nobody is sent there before, whoever the owner is. */
static void test_fetcher__obeys_retry_after(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t refused = ask(fixture, "/retry-seconds"), next = ask(fixture, "/picture");
    tseed_outlook_t outlook;

    check_refused(fixture, &outlook, &refused);
    assert_int_equal(refused.retry_after, APR_USEC_PER_SEC);
    next.owner = &next;
    fetch(fixture, &next);
    assert_picture(&next);
    assert_true(next.ended >= outlook.next);
    assert_false(outlook_since(fixture, &outlook));
    assert_true(outlook.heard >= outlook.next);
    free(refused.body);
    free(next.body);
}

/* One answer silences an upstream for no more than some minutes. */
static void test_fetcher__believes_no_retry_after_of_a_day(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t refused = ask(fixture, "/retry-day");
    tseed_outlook_t outlook;

    check_refused(fixture, &outlook, &refused);
    assert_int_equal(refused.retry_after, 5 * 60 * APR_USEC_PER_SEC);
    free(refused.body);
}

/* Words of an answer may name what the layer asked for. */
static void test_fetcher__keeps_words_of_an_answer_from_other_layers(void **state)
{
    static const struct {
        const char *cause, *others;
    } causes[] = {
        {"503 Service Unavailable: no LAYERS=secret", "503 Service Unavailable"},
        {"503 Service Unavailable", "503 Service Unavailable"},
        {"connection refused by 127.0.0.1:80", "connection refused by 127.0.0.1:80"},
        {"no TLS with a.example.org:443: unknown CA", "no TLS with a.example.org:443: unknown CA"},
        {"", ""},
    };
    const tseed_layer_t one = {.name = "one"}, other = {.name = "other"};
    char told[TSEED_CAUSE_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        tseed_cause_for(told, causes[i].cause, &one, &one);
        assert_string_equal(told, causes[i].cause);
        tseed_cause_for(told, causes[i].cause, &one, &other);
        assert_string_equal(told, causes[i].others);
        tseed_cause_for(told, causes[i].cause, NULL, &other);
        assert_string_equal(told, causes[i].others);
    }
}

/* Others are asked on, where one of them has got a picture just now. */
static void test_fetcher__pauses_one_layer_while_others_get_answers(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t refused = ask(fixture, "/retry-day"), good = ask(fixture, "/picture");
    const tseed_layer_t one = {.name = "one"}, other = {.name = "other"};
    tseed_outlook_t outlook;

    good.layer = &one;
    fetch(fixture, &good);
    refused.layer = &other;
    fetch(fixture, &refused);
    assert_int_equal(refused.result, TSEED_FETCH_AWAY);
    assert_true(refused.pauses_layer);
    assert_false(outlook_since(fixture, &outlook));
    fetch(fixture, &good);
    assert_picture(&good);

    refused.layer = &one; /* all that was heard of others is a pause */
    check_refused(fixture, &outlook, &refused);
    assert_false(refused.pauses_layer);
    free(refused.body);
    free(good.body);
}

/* Both clocks are read in whole seconds, and the answer takes a while to come. */
static void test_fetcher__reads_retry_after_as_a_date(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t refused = ask(fixture, "/retry-date");
    tseed_outlook_t outlook;
    time_t begin = time(NULL), lasted;

    check_refused(fixture, &outlook, &refused);
    lasted = time(NULL) - begin;
    assert_in_range(refused.retry_after, (MINUTES * 60 - lasted) * APR_USEC_PER_SEC,
                    MINUTES * 60 * APR_USEC_PER_SEC);
    free(refused.body);
}

/* 20 of two owners at 100 a second: the twentieth is sent 19 intervals after the first, or 18 when
 * the last one was late. */
static void test_fetcher__holds_the_rate_for_all_owners(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[20];
    apr_time_t begin = tseed_clock_monotonic();

    fixture->upstream.interval = APR_USEC_PER_SEC / 100;
    fixture->upstream.connections = 16;
    for (int i = 0; i < 20; i++) {
        transfers[i] = ask(fixture, "/picture");
        transfers[i].owner = &transfers[i % 2];
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    assert_true(waits_for(fixture, 20));
    assert_true(tseed_clock_monotonic() - begin >= 18 * (APR_USEC_PER_SEC / 100));
    for (int i = 0; i < 20; i++) {
        assert_picture(&transfers[i]);
        free(transfers[i].body);
    }
}

/* Has one good answer followed by three bad ones, without a pause in which a probe would be sent.
 */
static void submit_before_bad_ones(fixture_t *fixture, tseed_transfer_t *good,
                                   tseed_transfer_t bad[3])
{
    fixture->upstream.connections = 1;
    tseed_fetcher_submit(fixture->fetcher, good);
    for (int i = 0; i < 3; i++) {
        bad[i] = ask(fixture, "/503");
        tseed_fetcher_submit(fixture->fetcher, &bad[i]);
    }
    wait_until_taken_in(fixture);
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, 5));
}

/* Where there was no picture yet, an answer that was none is asked again, not what fails always. */
static void test_fetcher__probes_with_what_was_no_picture(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t missing = ask(fixture, "/404-gate?m"), bad[4];
    tseed_outlook_t outlook;

    submit_before_bad_ones(fixture, &missing, bad);
    assert_true(outlook_since(fixture, &outlook));
    bad[3] = ask(fixture, "/503");
    fetch(fixture, &bad[3]);
    assert_false(outlook_since(fixture, &outlook));
    assert_int_equal(fixture->server.requests, 7); /* one of them the probe */
    for (int i = 0; i < 4; i++) {
        free(bad[i].body);
    }
    free(missing.body);
}

static void test_fetcher__gives_up_without_a_first_byte(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t silent = ask(fixture, "/hang"), half = ask(fixture, "/half");
    apr_interval_time_t *first = &fixture->upstream.first_byte_timeout;

    *first = 200 * 1000;
    fetch_within(fixture, first, &silent, "no answer", "");
    assert_int_equal(silent.result, TSEED_FETCH_AWAY);
    wait_until_equal(&fixture->server.gone, fixture->server.requests);
    fixture->upstream.timeout = 400 * 1000; /* what has begun has more time */
    fetch(fixture, &half);
    while (!half.length && *first < NEVER / 10) { /* the machine is too busy for the first byte */
        *first *= 2;
        fixture->upstream.timeout = 2 * *first;
        fetch(fixture, &half);
    }
    assert_non_null(strstr(half.cause, "answer not complete within"));
    assert_non_null(strstr(half.cause, " s, 7 bytes came"));
    free(half.body);
}

/* After three answers of an upstream that is away only one probe at a time is sent: what was
 * answered before, and what waits is not touched. */
static void test_fetcher__probes_with_what_was_answered(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t good = ask(fixture, "/gate?g"), bad[3], waiting = ask(fixture, "/404");
    tseed_outlook_t outlook;

    submit_before_bad_ones(fixture, &good, bad);
    assert_true(outlook_since(fixture, &outlook));
    assert_string_equal(outlook.cause, "503 Service Unavailable");
    assert_true(outlook.next > bad[2].ended);
    fetch(fixture, &waiting);
    assert_int_equal(waiting.http_status, 404);
    assert_true(waiting.ended >= outlook.next);
    assert_false(outlook_since(fixture, &outlook));
    assert_int_equal(fixture->server.requests, 7); /* one of them the probe */
    for (int i = 0; i < 3; i++) {
        free(bad[i].body);
    }
    free(waiting.body);
    free(good.body);
}

/* One answer like that may be the request's own fault; the fetcher finds out by itself. */
static void test_fetcher__asks_when_in_doubt(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t good = ask(fixture, "/picture"), bad = ask(fixture, "/503");
    tseed_outlook_t outlook;

    fetch(fixture, &good);
    fetch(fixture, &bad);
    wait_until_equal(&fixture->server.requests, 3);
    do {
        usleep(1000);
        tseed_fetcher_outlook(fixture->fetcher, &outlook, &fixture->upstream);
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
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[4];

    fixture->upstream.connections = 2;
    for (int i = 0; i < 4; i++) {
        transfers[i] = ask(fixture, "/hang");
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    wait_until_equal(&fixture->server.busy, 2);
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    assert_true(waits_for(fixture, 4));         /* far less than the timeouts of the upstream */
    wait_until_equal(&fixture->server.gone, 2); /* the sockets are closed */
    for (int i = 0; i < 4; i++) {
        assert_cancelled(&transfers[i], i < 2);
    }
}

static void test_fetcher__cancels_one_owner_only(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t hanging = ask(fixture, "/hang"), waiting = ask(fixture, "/picture");
    tseed_transfer_t other = ask(fixture, "/picture");

    fixture->upstream.connections = 1;
    other.owner = &other;
    tseed_fetcher_submit(fixture->fetcher, &hanging);
    wait_until_equal(&fixture->server.busy, 1);
    tseed_fetcher_submit(fixture->fetcher, &waiting);
    tseed_fetcher_submit(fixture->fetcher, &other);
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    assert_true(waits_for(fixture, 3));
    assert_cancelled(&hanging, 1);
    assert_cancelled(&waiting, 0);
    assert_picture(&other); /* it has got the place that became free */
    free(other.body);
}

static void test_fetcher__spares_what_comes_after_a_cancel(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t before = ask(fixture, "/hang"), after = ask(fixture, "/picture");

    tseed_fetcher_submit(fixture->fetcher, &before);
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    tseed_fetcher_submit(fixture->fetcher, &after);
    assert_true(waits_for(fixture, 2));
    assert_int_equal(before.result, TSEED_FETCH_CANCELLED);
    assert_picture(&after);
    free(after.body);
}

/* More often than it takes to call the upstream away. */
static void test_fetcher__orphans_make_way(void **state)
{
    fixture_t *fixture = *state;
    tseed_outlook_t outlook;

    fixture->upstream.connections = 1;
    for (int i = 0; i < 4; i++) {
        tseed_transfer_t orphan = ask(fixture, "/hang"), other = ask(fixture, "/picture");

        tseed_fetcher_submit(fixture->fetcher, &orphan);
        wait_until_equal(&fixture->server.requests, 2 * i + 1);
        tseed_fetcher_orphan(fixture->fetcher, &orphan);
        tseed_fetcher_submit(fixture->fetcher, &other);
        assert_true(waits_for(fixture, 2 * i + 2));
        assert_ptr_equal(fixture->back[2 * i], &orphan);
        assert_cancelled(&orphan, 1);
        assert_picture(&other);
        wait_until_equal(&fixture->server.gone, i + 1);
        free(other.body);
    }
    tseed_fetcher_outlook(fixture->fetcher, &outlook, &fixture->upstream);
    assert_true(outlook.since == 0);
}

/* Somebody waits for it again before it is in the way. */
static void test_fetcher__adopted_orphans_go_on(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t adopted = ask(fixture, "/gate?a"), waiting = ask(fixture, "/gate?w");

    fixture->upstream.connections = 1;
    tseed_fetcher_submit(fixture->fetcher, &adopted);
    wait_until_equal(&fixture->server.busy, 1);
    tseed_fetcher_orphan(fixture->fetcher, &adopted);
    tseed_fetcher_adopt(fixture->fetcher, &adopted);
    tseed_fetcher_submit(fixture->fetcher, &waiting);
    wait_until_taken_in(fixture);
    usleep(500000); /* it would have been cancelled by now */
    server_open_gate(&fixture->server);
    assert_true(waits_for(fixture, 3));
    assert_picture(&adopted);
    assert_picture(&waiting);
    free(adopted.body);
    free(waiting.body);
}

static void test_fetcher__forgets_what_an_earlier_use_left(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/404"), hanging = ask(fixture, "/hang");

    fixture->upstream.connections = 1;
    fetch(fixture, &transfer);
    tseed_fetcher_submit(fixture->fetcher, &hanging);
    tseed_fetcher_submit(fixture->fetcher, &transfer);
    tseed_fetcher_cancel(fixture->fetcher, fixture);
    assert_true(waits_for(fixture, 3));
    assert_cancelled(&transfer, 0);
    free(transfer.body);
}

static void test_fetcher__hands_all_back_at_its_end(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[6];

    for (int i = 0; i < 6; i++) {
        transfers[i] = ask(fixture, "/hang");
        transfers[i].owner = &transfers[i];
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    tseed_fetcher_destroy(fixture->fetcher);
    fixture->fetcher = NULL;
    assert_int_equal(fixture->count, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(transfers[i].result, TSEED_FETCH_CANCELLED);
    }
}

/* ---- many ---- */

typedef struct {
    fixture_t *fixture;
    tseed_transfer_t transfers[50];
} crowd_t;

static void *submit_and_cancel(void *baton)
{
    crowd_t *crowd = baton;

    for (int i = 0; i < 50; i++) {
        tseed_fetcher_submit(crowd->fixture->fetcher, &crowd->transfers[i]);
        if (i % 10 == 9) {
            tseed_fetcher_cancel(crowd->fixture->fetcher, crowd);
        }
    }
    return NULL;
}

/* Four threads at once: each transfer comes back once, and those that nobody cancelled are there.
 */
static void test_fetcher__takes_letters_from_many_threads(void **state)
{
    fixture_t *fixture = *state;
    crowd_t crowds[4];
    pthread_t threads[4];

    for (int i = 0; i < 200; i++) {
        tseed_transfer_t *transfer = &crowds[i / 50].transfers[i % 50];

        crowds[i / 50].fixture = fixture;
        *transfer = ask(fixture, "/picture");
        transfer->owner = i % 5 ? (const void *)&crowds[i / 50] : transfer;
    }
    for (int t = 0; t < 4; t++) {
        pthread_create(&threads[t], NULL, submit_and_cancel, &crowds[t]);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
    }
    assert_true(waits_for(fixture, 200));
    for (int i = 0; i < 200; i++) {
        tseed_transfer_t *transfer = &crowds[i / 50].transfers[i % 50];

        if (i % 5 == 0) {
            assert_picture(transfer);
        }
        free(transfer->body);
    }
    tseed_fetcher_destroy(fixture->fetcher);
    fixture->fetcher = NULL;
    assert_int_equal(fixture->count, 200);
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
    fixture_t *fixture = *state;
    tseed_transfer_t transfers[8];
    int64_t before;

    hand_in_again(fixture, MANY / 10 - 8);
    for (int i = 0; i < 8; i++) {
        transfers[i] = ask(fixture, "/picture");
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    assert_true(waits_for(fixture, MANY / 10));
    before = memory_in_use();
    hand_in_again(fixture, MANY * 9 / 10 - 8);
    for (int i = 0; i < 8; i++) {
        tseed_fetcher_submit(fixture->fetcher, &transfers[i]);
    }
    assert_true(waits_for(fixture, MANY));
    assert_in_range(memory_in_use() - before + 32768, 0, 65536);
    assert_int_equal(fixture->server.requests, MANY);
    assert_int_equal(fixture->server.connections, 4);
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
        TEST(takes_a_coding_that_does_not_exist),
        TEST(asks_with_validators_only),
        TEST(sends_no_condition_of_several_lines),
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
        TEST(believes_no_retry_after_of_a_day),
        TEST(pauses_one_layer_while_others_get_answers),
        TEST(keeps_words_of_an_answer_from_other_layers),
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

    return cmocka_run_group_tests(tests, setup_fetchers, teardown_group);
}
