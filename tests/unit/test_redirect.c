/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where redirects lead to, and what goes along. Names end in .test and stand for addresses of this
 * test's choice; whoever connects to 203.0.113.5, a public address, comes to this host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>

#include "source/tseed_fetcher.h"
#include "source/tseed_redirect.h"
#include <arpa/inet.h>
#include "upstream_fixture.h"

#define PUBLIC "203.0.113.5"

/* ---- the network, as libcurl sees it ---- */

int connect(int file, const struct sockaddr *address, socklen_t size);
int getpeername(int file, struct sockaddr *restrict address, socklen_t *restrict size);
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found);

static _Atomic int is_public[1024]; /* by descriptor */

static void *next_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) {
        abort();
    }
    return found;
}

int connect(int file, const struct sockaddr *address, socklen_t size)
{
    int (*next)(int, const struct sockaddr *, socklen_t);
    struct sockaddr_in here;

    *(void **)&next = next_function("connect");
    atomic_store(&is_public[file], 0);
    if (address->sa_family != AF_INET ||
        ((const struct sockaddr_in *)address)->sin_addr.s_addr != inet_addr(PUBLIC)) {
        return next(file, address, size);
    }
    memcpy(&here, address, sizeof(here));
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    atomic_store(&is_public[file], 1);
    return next(file, (const struct sockaddr *)&here, sizeof(here));
}

int getpeername(int file, struct sockaddr *restrict address, socklen_t *restrict size)
{
    int (*next)(int, struct sockaddr *restrict, socklen_t *restrict);
    int result;

    *(void **)&next = next_function("getpeername");
    result = next(file, address, size);
    if (result == 0 && atomic_load(&is_public[file])) {
        ((struct sockaddr_in *)address)->sin_addr.s_addr = inet_addr(PUBLIC);
    }
    return result;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    *(void **)&next = next_function("getaddrinfo");
    name = name && strcmp(name, "inside.test") == 0    ? "127.0.0.1"
           : name && strcmp(name, "outside.test") == 0 ? PUBLIC
                                                       : name;
    return next(name, service, hints, found);
}

/* ---- a server that sends on to where its address says ---- */

/* "/to/PORT/HOST/path" leads to http://HOST:PORT/path, "/as/NNN" has that status and says why; all
 * else is a picture that holds what was asked. */
static int script(server_t *server, int connection, const char *request)
{
    char headers[400], host[100], path[200];
    int port, status;
    const char *target = strchr(request, ' ') + 1;

    (void)server;
    if (sscanf(target, "/to/%d/%99[^/]%199[^ ]", &port, host, path) == 3) {
        snprintf(headers, sizeof(headers), "Location: http://%s:%d%s\r\n", host, port, path);
        server_send_answer(connection, 302, headers, "", 0);
    } else if (sscanf(target, "/as/%d", &status) == 1) {
        server_send_answer(connection, status, "Content-Type: text/plain\r\n",
                           "token of the inside", 19);
    } else {
        server_send_answer(connection, 200, "Content-Type: image/png\r\nETag: \"here\"\r\n",
                           request, strlen(request));
    }
    return 1;
}

typedef struct {
    apr_pool_t *pool;
    server_t server, other;
    tseed_fetcher_t *fetcher;
    tseed_upstream_t upstream;
    sem_t came;
} fixture_t;

static void came(void *baton, tseed_transfer_t *transfer)
{
    fixture_t *fixture = baton;

    (void)transfer;
    sem_post(&fixture->came);
}

static int setup(void **state)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));
    apr_array_header_t *headers;

    apr_initialize();
    apr_pool_create(&fixture->pool, NULL);
    sem_init(&fixture->came, 0, 0);
    server_start(&fixture->server, script);
    server_start(&fixture->other, script);
    headers = apr_array_make(fixture->pool, 1, sizeof(const char *));
    APR_ARRAY_PUSH(headers, const char *) = "X-Key: sesame";
    fixture->upstream = (tseed_upstream_t){
        .name = "test",
        .connections = 1,
        .timeout = 200 * APR_USEC_PER_SEC,
        .first_byte_timeout = 200 * APR_USEC_PER_SEC,
        .connect_timeout = 200 * APR_USEC_PER_SEC,
        .credentials = "Aladdin:open sesame",
        .headers = headers,
        .redirects = apr_array_make(fixture->pool, 1, sizeof(const char *)),
    };
    *state = fixture;
    return tseed_fetcher_create(&fixture->fetcher, came, fixture, fixture->pool);
}

static int teardown(void **state)
{
    fixture_t *fixture = *state;

    tseed_fetcher_destroy(fixture->fetcher);
    server_stop(&fixture->server);
    server_stop(&fixture->other);
    sem_destroy(&fixture->came);
    apr_pool_destroy(fixture->pool);
    free(fixture);
    return 0;
}

static void allow(fixture_t *fixture, const char *host)
{
    APR_ARRAY_PUSH((apr_array_header_t *)fixture->upstream.redirects, const char *) = host;
}

/* What comes of asking the first server, as `host`, for `path`; in its pool. */
static tseed_transfer_t fetch(fixture_t *fixture, const char *host, const char *path)
{
    tseed_transfer_t transfer = {
        .url = apr_psprintf(fixture->pool, "http://%s:%d%s", host, fixture->server.port, path),
        .condition = "If-None-Match: \"of-upstream\"",
        .upstream = &fixture->upstream,
        .owner = fixture,
        .most = 100000,
    };
    unsigned char *body;

    tseed_fetcher_submit(fixture->fetcher, &transfer);
    while (sem_wait(&fixture->came) != 0) {
    }
    body = (unsigned char *)apr_pstrmemdup(fixture->pool, (char *)transfer.body, transfer.length);
    free(transfer.body);
    transfer.body = body;
    return transfer;
}

static const char *path_to(fixture_t *fixture, int port, const char *host, const char *path)
{
    return apr_psprintf(fixture->pool, "/to/%d/%s%s", port, host, path);
}

/* ---- origins ---- */

static void test_redirect__tells_its_own_origin_who_we_are(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t answer =
        fetch(fixture, "127.0.0.1", path_to(fixture, fixture->server.port, "127.0.0.1", "/echo"));
    const char *request = (char *)answer.body;

    assert_string_equal(answer.cause, "");
    assert_int_equal(answer.is_other, 0);
    assert_non_null(strstr(request, "GET /echo "));
    assert_non_null(strstr(request, "\r\nX-Key: sesame\r\n"));
    assert_non_null(strstr(request, "\r\nAuthorization: Basic "));
    assert_non_null(strstr(request, "\r\nIf-None-Match: \"of-upstream\""));
    assert_string_equal(answer.next_condition, "If-None-Match: \"here\"");
    assert_int_equal(atomic_load(&fixture->server.connections), 1);
}

static void test_redirect__tells_no_other_origin(void **state)
{
    fixture_t *fixture = *state;
    const char *const hosts[] = {"127.0.0.1", "inside.test"};

    allow(fixture, "INSIDE.test");
    allow(fixture, apr_psprintf(fixture->pool, "127.0.0.1:%d", fixture->other.port));
    for (size_t i = 0; i < 2; i++) {
        tseed_transfer_t answer =
            fetch(fixture, "127.0.0.1", path_to(fixture, fixture->other.port, hosts[i], "/echo"));
        const char *request = (char *)answer.body;

        assert_string_equal(answer.cause, "");
        assert_int_equal(answer.is_other, 1);
        assert_non_null(strstr(request, "GET /echo "));
        assert_null(strstr(request, "X-Key"));
        assert_null(strstr(request, "Authorization"));
        assert_null(strstr(request, "If-None-Match"));
        assert_string_equal(answer.next_condition, "");
    }
}

/* Nor when it leads back: who has been elsewhere may have been told where to go. */
static void test_redirect__tells_nobody_on_the_way_back(void **state)
{
    fixture_t *fixture = *state;
    const char *back = path_to(fixture, fixture->server.port, "127.0.0.1", "/echo");
    tseed_transfer_t answer;

    allow(fixture, "127.0.0.1");
    answer = fetch(fixture, "127.0.0.1", path_to(fixture, fixture->other.port, "127.0.0.1", back));
    assert_non_null(strstr((char *)answer.body, "GET /echo "));
    assert_null(strstr((char *)answer.body, "X-Key"));
}

static void test_redirect__goes_to_no_host_that_is_not_named(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t answer;

    allow(fixture, "another.test");
    answer =
        fetch(fixture, "127.0.0.1", path_to(fixture, fixture->other.port, "inside.test", "/echo"));
    assert_int_equal(answer.result, TSEED_FETCH_FAILED);
    assert_int_equal(answer.http_status, 302);
    assert_string_equal(answer.cause, apr_psprintf(fixture->pool,
                                                   "redirected to another host, which redirect= of "
                                                   "TileSeedUpstream does not name: inside.test:%d",
                                                   fixture->other.port));
    allow(fixture, TSEED_REDIRECT_ANY);
    answer =
        fetch(fixture, "127.0.0.1", path_to(fixture, fixture->other.port, "inside.test", "/echo"));
    assert_string_equal(answer.cause, "");
}

/* Else an upstream finds out which ports of its host the seeder reaches, and asks there. */
static void test_redirect__goes_to_no_port_that_is_not_named(void **state)
{
    fixture_t *fixture = *state;
    const char *path = path_to(fixture, fixture->other.port, "127.0.0.1", "/echo");
    tseed_transfer_t answer;

    allow(fixture, apr_psprintf(fixture->pool, "127.0.0.1:%d", fixture->server.port));
    allow(fixture, "127.0.0.11");
    answer = fetch(fixture, "127.0.0.1", path);
    assert_int_equal(answer.result, TSEED_FETCH_FAILED);
    assert_string_equal(answer.cause, apr_psprintf(fixture->pool,
                                                   "redirected to another port, which redirect= of "
                                                   "TileSeedUpstream does not name: 127.0.0.1:%d",
                                                   fixture->other.port));
    assert_int_equal(atomic_load(&fixture->other.connections), 0);
    allow(fixture, apr_psprintf(fixture->pool, "127.0.0.1:%d", fixture->other.port));
    answer = fetch(fixture, "127.0.0.1", path);
    assert_string_equal(answer.cause, "");
}

/* Most web servers send those who come without TLS to the same name with it. */
static void test_redirect__goes_from_http_to_https(void **state)
{
    static const struct {
        const char *from, *to;
        int is_open;
    } ways[] = {
        {"http://a.test/x", "https://A.test/x", 1},
        {"http://a.test:80/x", "https://a.test:443/x", 1},
        {"http://a.test/x", "https://a.test:8443/x", 0},
        {"http://a.test:8080/x", "https://a.test/x", 0},
        {"http://a.test/x", "http://a.test:443/x", 0},
        {"http://a.test/x", "https://b.test/x", 0},
    };
    fixture_t *fixture = *state;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const tseed_transfer_t transfer = {.url = ways[i].from, .upstream = &fixture->upstream};
        tseed_redirect_t redirect;
        char cause[TSEED_CAUSE_SIZE] = "";

        assert_int_equal(
            tseed_redirect_judge(&redirect, cause, &transfer, ways[i].from, ways[i].to),
            ways[i].is_open);
        free(redirect.url);
    }
}

static void test_redirect__takes_no_credentials_from_an_upstream(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t answer;

    allow(fixture, "127.0.0.1");
    answer = fetch(fixture, "127.0.0.1",
                   path_to(fixture, fixture->other.port, "me:secret@127.0.0.1", "/echo"));
    assert_string_equal(answer.cause, "");
    assert_null(strstr((char *)answer.body, "Authorization"));
}

static void test_redirect__repeats_no_words_from_elsewhere(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t answer;

    allow(fixture, "127.0.0.1");
    answer = fetch(fixture, "127.0.0.1", "/as/500");
    assert_string_equal(answer.cause, "500 Internal Server Error: token of the inside");
    answer =
        fetch(fixture, "127.0.0.1", path_to(fixture, fixture->other.port, "127.0.0.1", "/as/500"));
    assert_string_equal(answer.cause, apr_psprintf(fixture->pool,
                                                   "500 Internal Server Error, redirected to "
                                                   "127.0.0.1:%d",
                                                   fixture->other.port));
    answer =
        fetch(fixture, "127.0.0.1", path_to(fixture, fixture->other.port, "127.0.0.1", "/as/200"));
    assert_string_equal(answer.cause,
                        apr_psprintf(fixture->pool, "200 with text, redirected to 127.0.0.1:%d",
                                     fixture->other.port));
    assert_string_equal(tseed_transfer_words(&answer, fixture->pool), "");
}

/* ---- addresses ---- */

static void assert_closed(fixture_t *fixture, const char *from, const char *to)
{
    tseed_transfer_t answer =
        fetch(fixture, from, path_to(fixture, fixture->other.port, to, "/echo"));

    assert_string_equal(answer.cause,
                        apr_psprintf(fixture->pool,
                                     "redirected from a public address to one that is not, of "
                                     "%s:%d",
                                     to, fixture->other.port));
    assert_int_equal(answer.result, TSEED_FETCH_FAILED);
    assert_int_equal(atomic_load(&fixture->other.requests), 0);
}

static void test_redirect__leads_from_no_public_address_inside(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t answer;

    allow(fixture, TSEED_REDIRECT_ANY);
    assert_closed(fixture, PUBLIC, "127.0.0.1");
    assert_closed(fixture, "outside.test", "inside.test");
    answer = fetch(fixture, PUBLIC, path_to(fixture, fixture->other.port, "outside.test", "/echo"));
    assert_string_equal(answer.cause, "");
}

/* A connection that somebody else has left open is no way in. */
static void test_redirect__takes_no_open_connection_inside(void **state)
{
    fixture_t *fixture = *state;
    tseed_upstream_t inside = fixture->upstream;
    tseed_transfer_t transfer = {
        .url = apr_psprintf(fixture->pool, "http://inside.test:%d/echo", fixture->other.port),
        .upstream = &inside,
        .owner = fixture,
        .most = 100000,
    };

    tseed_fetcher_submit(fixture->fetcher, &transfer);
    while (sem_wait(&fixture->came) != 0) {
    }
    assert_int_equal(transfer.result, TSEED_FETCH_OK);
    free(transfer.body);
    atomic_store(&fixture->other.requests, 0);
    allow(fixture, TSEED_REDIRECT_ANY);
    assert_closed(fixture, PUBLIC, "inside.test");
}

static void test_redirect__remembers_who_has_sent_us(void **state)
{
    fixture_t *fixture = *state;
    const char *on;

    allow(fixture, TSEED_REDIRECT_ANY);
    on = path_to(fixture, fixture->other.port, "127.0.0.1", "/echo");
    on = path_to(fixture, fixture->server.port, PUBLIC, on);
    assert_int_equal(fetch(fixture, "127.0.0.1", on).result, TSEED_FETCH_FAILED);
    assert_int_equal(atomic_load(&fixture->other.requests), 0);
}

static void test_redirect__knows_which_addresses_are_public(void **state)
{
    static const char *const are[] = {"8.8.8.8",         "172.15.255.255", "172.32.0.0",
                                      "100.63.255.255",  "2001:db9::1",    "64:ff9b::808:808",
                                      "2002:808:808::1", "::ffff:8.8.8.8"};
    static const char *const are_not[] = {"0.0.0.0",
                                          "10.1.2.3",
                                          "100.64.0.1",
                                          "127.0.0.1",
                                          "127.255.255.255",
                                          "169.254.169.254",
                                          "172.16.0.1",
                                          "172.31.255.255",
                                          "192.168.1.1",
                                          "198.18.0.1",
                                          "224.0.0.1",
                                          "255.255.255.255",
                                          "::",
                                          "::1",
                                          "fe80::1",
                                          "fd00:ec2::254",
                                          "ff02::1",
                                          "::ffff:127.0.0.1",
                                          "::ffff:10.0.0.1",
                                          "64:ff9b::a00:1",
                                          "2002:a00:1::1",
                                          "::127.0.0.1",
                                          "2001:0:1::1",
                                          "no address",
                                          ""};

    (void)state;
    for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++) {
        assert_int_equal(tseed_redirect_is_public_text(are[i]), 1);
    }
    for (size_t i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++) {
        assert_int_equal(tseed_redirect_is_public_text(are_not[i]), 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_redirect__##name, setup, teardown)

/* IANA's special-purpose address registries; mapped and translated ones are what they carry. */
static void test_redirect__knows_public_addresses(void **state)
{
    static const struct {
        const char *text;
        int is_public;
    } rows[] = {{"8.8.8.8", 1},
                {"10.0.0.1", 0},
                {"11.0.0.1", 1},
                {"127.0.0.1", 0},
                {"169.254.169.254", 0},
                {"172.15.255.255", 1},
                {"172.16.0.1", 0},
                {"172.31.255.255", 0},
                {"172.32.0.1", 1},
                {"192.168.1.1", 0},
                {"192.167.1.1", 1},
                {"100.64.0.1", 0},
                {"0.0.0.0", 0},
                {"224.0.0.1", 0},
                {"255.255.255.255", 0},
                {"2606:4700::1111", 1},
                {"::1", 0},
                {"::", 0},
                {"fe80::1", 0},
                {"fc00::1", 0},
                {"ff02::1", 0},
                {"::ffff:8.8.8.8", 1},
                {"::ffff:10.0.0.1", 0},
                {"64:ff9b::8.8.8.8", 1},
                {"64:ff9b::10.0.0.1", 0},
                {"2002:808:808::1", 1},
                {"2002:a00:1::1", 0},
                {"2001::1", 0},
                {"2001:4860:4860::8", 1},
                {"4000::1", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sockaddr_in four = {.sin_family = AF_INET};
        struct sockaddr_in6 six = {.sin6_family = AF_INET6};
        const int is_six = strchr(rows[i].text, ':') != NULL;
        int found;

        assert_int_equal(inet_pton(is_six ? AF_INET6 : AF_INET, rows[i].text,
                                   is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr),
                         1);
        found = tseed_redirect_is_public(is_six ? (const struct sockaddr *)(void *)&six
                                                : (const struct sockaddr *)(void *)&four);
        if (found != rows[i].is_public) {
            fail_msg("%s: %d", rows[i].text, found);
        }
    }
    assert_false(tseed_redirect_is_public(&(struct sockaddr){.sa_family = AF_UNIX}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_its_own_origin_who_we_are),
        TEST(tells_no_other_origin),
        TEST(tells_nobody_on_the_way_back),
        TEST(goes_to_no_host_that_is_not_named),
        TEST(goes_to_no_port_that_is_not_named),
        TEST(goes_from_http_to_https),
        TEST(takes_no_credentials_from_an_upstream),
        TEST(repeats_no_words_from_elsewhere),
        TEST(leads_from_no_public_address_inside),
        TEST(takes_no_open_connection_inside),
        TEST(remembers_who_has_sent_us),
        TEST(knows_which_addresses_are_public),
        cmocka_unit_test(test_redirect__knows_public_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
