/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A fetcher, and a server whose answers are told by the path of the request. */
#ifndef FETCHER_FIXTURE_H
#define FETCHER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <time.h>

#include "base/tseed_clock.h"
#include "pool_fixture.h"
#include "source/tseed_fetcher.h"
#include "upstream_fixture.h"

#define MOST         100000
#define TEST_TIMEOUT 200 /* seconds until a test that waits has failed */
#define NEVER        (2 * TEST_TIMEOUT * APR_USEC_PER_SEC)
#define MINUTES      4 /* of a Retry-After */

static const char gzipped[] = "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\x0B\xF0\x74\x0E\x09\x0D"
                              "\x72\x0D\x18\xA5\x50\x29\x00\x45\x26\x74\x15\x18\x01\x00\x00";

/* ---- the server's script: the path says what happens ---- */

typedef struct {
    const char *path, *answer;
    int stays;
} fixed_t;

#define XML_HEAD "<?xml version='1.0' encoding=\"UTF-8\"?>\n"

/* Answers without a length are ended by closing the connection. */
static const fixed_t fixed[] = {
    {"/picture", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 7\r\n\r\nPICTURE",
     1},
    {"/untyped", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nPICTURE", 1},
    {"/http10", "HTTP/1.0 200 OK\r\nContent-Type: image/png\r\n\r\nPICTURE", 0},
    {"/chunked",
     "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n"
     "3\r\nPIC\r\n4\r\nTURE\r\n0\r\n\r\n",
     1},
    {"/chunked-short",
     "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nPIC\r\n",
     0},
    {"/short", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\nPICTURE",
     0},
    {"/empty", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 0\r\n\r\n", 1},
    {"/204", "HTTP/1.1 204 No Content\r\n\r\n", 1},
    {"/206", "HTTP/1.1 206 Partial Content\r\nContent-Length: 7\r\n\r\nPICTURE", 1},
    {"/304", "HTTP/1.1 304 Not Modified\r\n\r\n", 1},
    {"/digest",
     "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
     "WWW-Authenticate: Digest realm=\"m\", nonce=\"n\"\r\n\r\n",
     0},
    {"/404",
     "HTTP/1.1 404 Gone Fishing\r\nContent-Type: image/png\r\nContent-Length: 7\r\n\r\n"
     "PICTURE",
     1},
    {"/500",
     "HTTP/1.1 500 Oops\r\nContent-Type: text/xml\r\n\r\n" XML_HEAD
     "<ServiceExceptionReport><ServiceException>disk\nfull</ServiceException>"
     "</ServiceExceptionReport>",
     0},
    {"/503",
     "HTTP/1.1 503 x\r\nContent-Type: text/html\r\n\r\n<html><title>503 Service Unavailable"
     "</title><body>503 Service Unavailable</body></html>",
     0},
    {"/599", "HTTP/1.1 599 Curious\r\nContent-Length: 0\r\n\r\n", 1},
    {"/exception",
     "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.ogc.se_xml\r\n\r\n" XML_HEAD
     "<!DOCTYPE ServiceExceptionReport SYSTEM \"exception_1_1_1.dtd\">\n"
     "<ServiceExceptionReport version=\"1.1.1\">\n<ServiceException code=\"LayerNotDefined\">\n"
     "msWMSLoadGetMapParams(): WMS server error. Invalid layer(s) &quot;x&quot;\n"
     "</ServiceException>\n</ServiceExceptionReport>\n",
     0},
    {"/mislabelled",
     "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n<html><body>Log in, please"
     "</body></html>",
     0},
    {"/text", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nOut of cheese", 0},
    {"/garbage", "I am no HTTP server\r\n\r\n", 0},
    {"/bad-gzip",
     "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Encoding: gzip\r\n"
     "Content-Length: 7\r\n\r\nPICTURE",
     0},
    {"/redirect", "HTTP/1.1 302 Found\r\nLocation: /picture\r\nContent-Length: 0\r\n\r\n", 1},
    {"/loop", "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n", 1},
    {"/lost", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 1},
    {"/to-ftp", "HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\nContent-Length: 0\r\n\r\n",
     1},
    {"/long-announced",
     "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 100001\r\n\r\nPICTURE", 0},
    {"/retry-seconds", "HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", 1},
    {"/retry-day", "HTTP/1.1 503 No\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n", 1},
    {"/close", "", 0},
    {"/utf-8",
     "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Encoding: UTF-8\r\n"
     "Content-Length: 7\r\n\r\nPICTURE",
     1},
};

static inline int is_at(const char *request, const char *path)
{
    const char *target = strchr(request, ' ') + 1;
    size_t length = strlen(path);

    return strncmp(target, path, length) == 0 && strchr(" ?", target[length]);
}

static inline void answer(int connection, const char *body, size_t length)
{
    server_send_answer(connection, 200, "Content-Type: image/png\r\n", body, length);
}

/* `size` bytes without saying how many. */
static inline void send_long(int connection, int size)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n";
    char thousand[1000];

    memset(thousand, 'x', sizeof(thousand));
    server_send(connection, head, sizeof(head) - 1);
    for (; size > 0; size -= 1000) {
        server_send(connection, thousand, size < 1000 ? (size_t)size : 1000);
    }
}

static inline void reset(int connection)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* More headers than are taken, in front of the body or behind it, each shorter than libcurl takes.
 */
static inline void send_headers(int connection, int are_trailers)
{
    static const char begin[] = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n";
    static const char chunked[] = "Transfer-Encoding: chunked\r\n\r\n7\r\nPICTURE\r\n0\r\n";
    char header[1000];

    memset(header, 'x', sizeof(header));
    memcpy(header, "X-Long: ", 8);
    memcpy(header + sizeof(header) - 2, "\r\n", 2);
    server_send(connection, begin, sizeof(begin) - 1);
    server_send(connection, chunked, are_trailers ? sizeof(chunked) - 1 : 0);
    for (int i = 0; i < 280; i++) {
        server_send(connection, header, sizeof(header));
    }
    server_send(connection, are_trailers ? "\r\n" : "Content-Length: 0\r\n\r\n",
                are_trailers ? 2 : 21);
}

/* In some minutes, in the format of RFC 9110, 5.6.7. */
static inline void refuse_until(int connection)
{
    char header[80];
    time_t then = time(NULL) + MINUTES * 60;
    struct tm parts;

    gmtime_r(&then, &parts);
    strftime(header, sizeof(header), "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    server_send_answer(connection, 503, header, "", 0);
}

/* Returns whether the connection stays open. */
static inline int send_fixed(int connection, const char *path)
{
    const fixed_t *found = fixed;

    while (strcmp(found->path, path) != 0) {
        found++;
    }
    server_send(connection, found->answer, strlen(found->answer));
    return found->stays;
}

/* "localhost" is another host than "127.0.0.1", and the same server. */
static inline int follow_script(server_t *server, int connection, const char *request)
{
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n"
                               "Content-Length: 14\r\n\r\nPICTURE";

    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        if (is_at(request, fixed[i].path)) {
            return send_fixed(connection, fixed[i].path);
        }
    }
    if (is_at(request, "/hang") || is_at(request, "/half")) {
        server_send(connection, half, is_at(request, "/half") ? sizeof(half) - 1 : 0);
        server_hang(server, connection);
        return 0;
    }
    if (is_at(request, "/gate")) {
        server_pass_gate(server, *(strchr(request, '?') + 1));
        answer(connection, "PICTURE", 7);
        return 1;
    }
    if (is_at(request, "/404-gate")) {
        server_pass_gate(server, *(strchr(request, '?') + 1));
        return send_fixed(connection, "/404");
    }
    if (is_at(request, "/gzip")) {
        server_send_answer(connection, 200, "Content-Type: image/png\r\nContent-Encoding: gzip\r\n",
                           gzipped, sizeof(gzipped) - 1);
        return 1;
    }
    if (is_at(request, "/headers") || is_at(request, "/trailers")) {
        send_headers(connection, is_at(request, "/trailers"));
        return 0;
    }
    if (is_at(request, "/retry-date")) {
        refuse_until(connection);
        return 1;
    }
    if (is_at(request, "/long") || is_at(request, "/longest")) {
        send_long(connection, is_at(request, "/long") ? MOST + 1 : MOST);
        return 0;
    }
    if (is_at(request, "/reset")) {
        reset(connection);
        return 0;
    }
    answer(connection, request, strlen(request)); /* "/echo", and what a proxy is asked for */
    return 1;
}

/* ---- what a test has at hand ---- */

typedef struct {
    apr_pool_t *pool;
    server_t server;
    tseed_fetcher_t *fetcher;
    tseed_upstream_t upstream;
    char authority[40];

    /* what has come back, under lock */
    pthread_mutex_t lock;
    pthread_cond_t came;
    tseed_transfer_t *back[64]; /* the first ones, in order */
    int count;
    int again; /* how many more times what comes back is handed in again */
} fixture_t;

static inline int setup_fetchers(void **state)
{
    setenv("http_proxy", "http://127.0.0.1:1", 1); /* nobody shall listen to it */
    return setup_group(state);
}

/* The fetcher's thread. */
static inline void take_back(void *baton, tseed_transfer_t *transfer)
{
    fixture_t *fixture = baton;
    int again;

    pthread_mutex_lock(&fixture->lock);
    if (fixture->count < 64) {
        fixture->back[fixture->count] = transfer;
    }
    fixture->count++;
    again = fixture->again > 0 && fixture->again--;
    pthread_cond_signal(&fixture->came);
    pthread_mutex_unlock(&fixture->lock);
    if (again) {
        tseed_fetcher_submit(fixture->fetcher, transfer);
    }
}

static inline int setup(void **state)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));

    apr_pool_create(&fixture->pool, NULL);
    pthread_mutex_init(&fixture->lock, NULL);
    pthread_cond_init(&fixture->came, NULL);
    server_start(&fixture->server, follow_script);
    snprintf(fixture->authority, sizeof(fixture->authority), "127.0.0.1:%d", fixture->server.port);
    fixture->upstream = (tseed_upstream_t){
        .name = "test",
        .connections = 4,
        .timeout = NEVER,
        .first_byte_timeout = NEVER,
        .connect_timeout = NEVER,
    };
    *state = fixture;
    return tseed_fetcher_create(&fixture->fetcher, take_back, fixture, fixture->pool);
}

static inline int teardown(void **state)
{
    fixture_t *fixture = *state;

    if (fixture->fetcher) {
        tseed_fetcher_destroy(fixture->fetcher);
    }
    server_stop(&fixture->server);
    pthread_cond_destroy(&fixture->came);
    pthread_mutex_destroy(&fixture->lock);
    apr_pool_destroy(fixture->pool);
    free(fixture);
    return 0;
}

/* What comes back is handed in again, that many times in all. */
static inline void hand_in_again(fixture_t *fixture, int times)
{
    pthread_mutex_lock(&fixture->lock);
    fixture->again = times;
    pthread_mutex_unlock(&fixture->lock);
}

static inline int waits_for(fixture_t *fixture, int count)
{
    struct timespec end;
    int got;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += TEST_TIMEOUT;
    pthread_mutex_lock(&fixture->lock);
    while (fixture->count < count &&
           pthread_cond_timedwait(&fixture->came, &fixture->lock, &end) == 0) {
    }
    got = fixture->count;
    pthread_mutex_unlock(&fixture->lock);
    return got >= count;
}

/* Something that another thread brings about. */
static inline void wait_until_equal(const _Atomic int *value, int expected)
{
    apr_time_t end = tseed_clock_monotonic() + TEST_TIMEOUT * APR_USEC_PER_SEC;

    while (atomic_load(value) != expected && tseed_clock_monotonic() < end) {
        usleep(1000);
    }
    assert_int_equal(atomic_load(value), expected);
}

static inline tseed_transfer_t ask(fixture_t *fixture, const char *path)
{
    return (tseed_transfer_t){
        .url = apr_psprintf(fixture->pool, "http://%s%s", fixture->authority, path),
        .upstream = &fixture->upstream,
        .owner = fixture,
        .most = MOST,
    };
}

/* Submits and waits; the body stays the caller's to free. */
static inline void fetch(fixture_t *fixture, tseed_transfer_t *transfer)
{
    int before = fixture->count;

    tseed_fetcher_submit(fixture->fetcher, transfer);
    assert_true(waits_for(fixture, before + 1));
    assert_ptr_equal(fixture->back[before], transfer);
}

static inline void assert_picture(const tseed_transfer_t *transfer)
{
    assert_string_equal(transfer->cause, "");
    assert_int_equal(transfer->result, TSEED_FETCH_OK);
    assert_int_equal(transfer->http_status, 200);
    assert_int_equal(transfer->length, 7);
    assert_memory_equal(transfer->body, "PICTURE", 7);
}

#endif
