/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A wire: options that stay, options of a transfer, and where the body goes. */
#include "source/tseed_wire.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "source/tseed_redirect.h"

#ifdef TSEED_VERSION
#define USER_AGENT "mod_tileseed/" TSEED_VERSION
#else
#define USER_AGENT "mod_tileseed"
#endif
#define RECEIVE_BYTES (256 << 10)
#define BODY_FIRST    (64 << 10)

#define IF_NONE_MATCH     "If-None-Match: "
#define IF_MODIFIED_SINCE "If-Modified-Since: "
#define SETTLED_SECONDS   60

/* The web is younger than 1990. Programs that keep no times write 1970 or 1980 instead. */
#define FIRST_TIME 631152000

/* ---- the body ---- */

/* Room for `need` bytes: what the answer announced if that is known, else twice what there was. */
static int reserve(tseed_transfer_t *transfer, CURL *easy, size_t need)
{
    size_t capacity = transfer->capacity ? 2 * transfer->capacity : BODY_FIRST;
    curl_off_t announced = -1;
    unsigned char *body;

    if (need <= transfer->capacity) {
        return 1;
    }
    curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (transfer->length == 0 && announced > 0) {
        capacity = (size_t)announced;
    }
    capacity = capacity < transfer->most ? capacity : transfer->most;
    capacity = capacity > need ? capacity : need;
    body = realloc(transfer->body, capacity);
    if (!body) {
        return 0;
    }
    transfer->body = body;
    transfer->capacity = capacity;
    return 1;
}

/* Taking less than was offered ends the transfer with CURLE_WRITE_ERROR. */
static size_t take_body(char *data, size_t one, size_t count, void *baton)
{
    tseed_wire_t *wire = baton;
    tseed_transfer_t *transfer = wire->transfer;

    (void)one;
    if (count > transfer->most - transfer->length) {
        return 0;
    }
    if (!reserve(transfer, wire->easy, transfer->length + count)) {
        wire->no_memory = 1;
        return 0;
    }
    memcpy(transfer->body + transfer->length, data, count);
    transfer->length += count;
    return count;
}

/* ---- what curl reports on the way ---- */

/* Where a redirect leads to is looked at here, where curl connects, for only here it is known what
 * a name stands for. */
static curl_socket_t open_socket(void *baton, curlsocktype purpose, struct curl_sockaddr *address)
{
    tseed_wire_t *wire = baton;

    (void)purpose;
    if (wire->hops > 0 && wire->was_public && !tseed_redirect_is_public(&address->addr)) {
        wire->is_closed = 1;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void tseed_wire_listen(tseed_wire_t *wire, apr_time_t now)
{
    curl_off_t sent = 0;

    if (wire->transfer && !wire->silent_until && !wire->has_begun) {
        curl_easy_getinfo(wire->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
        if (sent > 0) {
            wire->silent_until = now + wire->transfer->upstream->first_byte_timeout;
        }
    }
}

/* The value of a header line if it has that name, without the white space around it. */
static int read_header(char value[TSEED_CONDITION_SIZE], const char *line, size_t length,
                       const char *name)
{
    const size_t before = strlen(name);

    if (length <= before || apr_cstr_casecmpn(line, name, before) != 0) {
        return 0;
    }
    line += before;
    length -= before;
    while (length > 0 && strchr(" \t\r\n", line[length - 1])) {
        length--;
    }
    while (length > 0 && strchr(" \t", *line)) {
        line++;
        length--;
    }
    if (length == 0 || length >= TSEED_CONDITION_SIZE || memchr(line, '\0', length)) {
        return 0;
    }
    memcpy(value, line, length);
    value[length] = '\0';
    return 1;
}

/* Whether a text is the value of an ETag (RFC 9110, 8.8.3), or a token (5.6.2), which some servers
 * write without the quotes. The seeder sends back nothing else: a line end of another value would
 * begin a header of the upstream's choice, and "*" means any answer. */
static int is_etag(const char *text)
{
    const char *at = strncmp(text, "W/", 2) == 0 ? text + 2 : text;

    if (*at != '"') {
        return *text && strcmp(text, "*") != 0 &&
               !text[strspn(text, "!#$%&'*+-.^_`|~0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")];
    }
    for (at++; *at && *at != '"'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7F) {
            return 0;
        }
    }
    return *at && !at[1];
}

/* Whether a condition may be sent: an earlier version may have stored other ones. */
static int is_condition(const char *condition)
{
    return strncmp(condition, IF_NONE_MATCH, strlen(IF_NONE_MATCH)) == 0
               ? is_etag(condition + strlen(IF_NONE_MATCH))
               : strncmp(condition, IF_MODIFIED_SINCE, strlen(IF_MODIFIED_SINCE)) == 0 &&
                     !strpbrk(condition, "\r\n");
}

/* Codings that the body may really have. Whatever else an answer names is a mistake of who stored
 * the object: "UTF-8" is met at S3, and "aws-chunked", which S3 has undone already. */
static int is_coding(const char *names)
{
    static const char *const codings[] = {"gzip", "deflate", "br", "zstd", "compress", "identity"};

    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        if (tseed_ascii_find(names, codings[i])) {
            return 1;
        }
    }
    return 0;
}

/* The condition by which a later request can ask. An ETag says more than a time. A document that
 * was modified less than a minute before it was sent may have been modified again within the same
 * second (RFC 9110, 8.8.2.2): its time says nothing. */
static void take_condition(tseed_wire_t *wire, const char *line, size_t length)
{
    char *condition = wire->transfer->next_condition;
    char value[TSEED_CONDITION_SIZE];

    if (read_header(value, line, length, "ETag:")) {
        condition[0] = '\0';
        if (is_etag(value) && strlen(IF_NONE_MATCH) + strlen(value) < TSEED_CONDITION_SIZE) {
            apr_snprintf(condition, TSEED_CONDITION_SIZE, "%s%s", IF_NONE_MATCH, value);
        }
    } else if (read_header(value, line, length, "Last-Modified:")) {
        wire->modified = curl_getdate(value, NULL);
    } else if (read_header(value, line, length, "Date:")) {
        wire->answered = curl_getdate(value, NULL);
    } else if (read_header(value, line, length, "Content-Encoding:")) {
        wire->is_unknown = !is_coding(value);
        wire->has_coding |= is_coding(value) && !tseed_ascii_find(value, "identity");
    } else if (length > 5 && memcmp(line, "HTTP/", 5) == 0) { /* another answer begins */
        condition[0] = '\0';
        wire->modified = wire->answered = -1;
        wire->is_unknown = wire->has_coding = 0;
    }
}

static size_t take_header(char *data, size_t one, size_t count, void *baton)
{
    tseed_wire_t *wire = baton;

    (void)one;
    wire->silent_until = 0;
    wire->has_begun = 1;
    wire->headers_length += count;
    if (wire->headers_length > TSEED_HEADERS_MOST) {
        return 0; /* ends the transfer with CURLE_WRITE_ERROR */
    }
    take_condition(wire, data, count);
    return count;
}

/* Once all headers have come. The words of another origin are not for the upstream. */
static void settle_condition(const tseed_wire_t *wire)
{
    char *condition = wire->transfer->next_condition;
    char date[APR_RFC822_DATE_LEN];

    if (wire->is_other) {
        condition[0] = '\0';
    } else if (!*condition && wire->modified >= FIRST_TIME &&
               wire->answered - wire->modified >= SETTLED_SECONDS) {
        apr_rfc822_date(date, apr_time_from_sec(wire->modified));
        apr_snprintf(condition, TSEED_CONDITION_SIZE, "%s%s", IF_MODIFIED_SINCE, date);
    }
}

/* ---- options ---- */

static void set_basics(tseed_wire_t *wire)
{
    CURL *easy = wire->easy;

    curl_easy_setopt(easy, CURLOPT_PRIVATE, wire);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, wire->detail);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, wire);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, wire);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, wire);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if CURL_AT_LEAST_VERSION(7, 87, 0)
    /* a cancel must not wait for a name server; with older libraries it does */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, USER_AGENT);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
#if CURL_AT_LEAST_VERSION(7, 85, 0)
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
}

static void set_upstream(CURL *easy, const tseed_upstream_t *upstream)
{
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)apr_time_as_msec(upstream->connect_timeout));
    /* the configuration decides alone, whatever proxies httpd's environment names */
    curl_easy_setopt(easy, CURLOPT_PROXY, upstream->proxy ? upstream->proxy : "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
    if (upstream->ca) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, upstream->ca);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
}

tseed_wire_t *tseed_wire_create(const tseed_upstream_t *upstream, struct curl_slist *headers,
                                CURLSH *share)
{
    tseed_wire_t *wire = calloc(1, sizeof(*wire));

    if (!wire || !(wire->easy = curl_easy_init())) {
        abort();
    }
    set_basics(wire);
    set_upstream(wire->easy, upstream);
    curl_easy_setopt(wire->easy, CURLOPT_SHARE, share);
    wire->headers = headers;
    return wire;
}

void tseed_wire_destroy(tseed_wire_t *wire)
{
    curl_easy_cleanup(wire->easy);
    free(wire);
}

/* Credentials, headers and the condition, which only the upstream's own origin gets. */
static void set_identity(tseed_wire_t *wire)
{
    const tseed_upstream_t *upstream = wire->transfer->upstream;
    const char *condition = wire->transfer->condition;
    struct curl_slist *headers = wire->is_other ? NULL : wire->headers;
    const int has_condition = condition && !wire->is_other && is_condition(condition);

    wire->condition = (struct curl_slist){(char *)condition, headers};
    curl_easy_setopt(wire->easy, CURLOPT_HTTPHEADER, has_condition ? &wire->condition : headers);
    curl_easy_setopt(wire->easy, CURLOPT_USERPWD, wire->is_other ? NULL : upstream->credentials);
}

/* To compress a picture that is compressed already would cost the upstream time and gain nothing.
 * Either way curl takes any coding that it knows, asked for or not. */
static void set_coding(const tseed_wire_t *wire)
{
    curl_easy_setopt(wire->easy, CURLOPT_ACCEPT_ENCODING,
                     wire->transfer->is_document ? "" : "identity");
}

/* A connection that is kept may lead anywhere: one that must not is opened anew, and looked at. */
static void aim(tseed_wire_t *wire, const char *url, apr_time_t now)
{
    apr_interval_time_t left = wire->begun + wire->transfer->upstream->timeout - now;
    long is_watched = wire->is_other && wire->was_public;

    wire->silent_until = 0;
    wire->has_begun = wire->is_closed = wire->is_unknown = wire->has_coding = 0;
    wire->detail[0] = '\0';
    wire->answered = wire->modified = -1;
    set_identity(wire);
    curl_easy_setopt(wire->easy, CURLOPT_URL, url);
    curl_easy_setopt(wire->easy, CURLOPT_HTTP_CONTENT_DECODING, wire->is_plain ? 0L : 1L);
    curl_easy_setopt(wire->easy, CURLOPT_FRESH_CONNECT, is_watched || wire->is_repeated ? 1L : 0L);
    curl_easy_setopt(wire->easy, CURLOPT_FORBID_REUSE, is_watched);
    curl_easy_setopt(wire->easy, CURLOPT_TIMEOUT_MS,
                     left > APR_USEC_PER_SEC / 1000 ? (long)apr_time_as_msec(left) : 1L);
}

void tseed_wire_load(tseed_wire_t *wire, tseed_transfer_t *transfer, apr_time_t now)
{
    wire->transfer = transfer;
    wire->no_memory = wire->is_other = wire->was_public = wire->is_refused = 0;
    wire->is_repeated = 0;
    wire->headers_length = 0;
    wire->hops = 0;
    wire->begun = now;
    aim(wire, transfer->url, now);
    set_coding(wire);
    curl_easy_setopt(wire->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)transfer->most);
}

/* ---- redirects ---- */

/* Where the answer leads to, or NULL. RFC 9110, 15.4: these five are to be followed. */
static const char *next_address(const tseed_wire_t *wire)
{
    const char *url = NULL;
    long status = 0;

    curl_easy_getinfo(wire->easy, CURLINFO_RESPONSE_CODE, &status);
    if ((status >= 301 && status <= 303) || status == 307 || status == 308) {
        curl_easy_getinfo(wire->easy, CURLINFO_REDIRECT_URL, &url);
    }
    return url;
}

static int may_follow(tseed_redirect_t *redirect, tseed_wire_t *wire, const char *to)
{
    const char *from = "";

    if (wire->hops == TSEED_REDIRECTS_MAX) {
        apr_snprintf(wire->transfer->cause, TSEED_CAUSE_SIZE, "more than %d redirects",
                     TSEED_REDIRECTS_MAX);
        return 0;
    }
    curl_easy_getinfo(wire->easy, CURLINFO_EFFECTIVE_URL, &from);
    return tseed_redirect_judge(redirect, wire->transfer->cause, wire->transfer, from, to);
}

/* Goes on with a request of the same transfer. */
static void ask_again(tseed_wire_t *wire, CURLM *multi, const char *url)
{
    wire->transfer->length = 0;
    curl_multi_remove_handle(multi, wire->easy);
    aim(wire, url, tseed_clock_monotonic());
    if (curl_multi_add_handle(multi, wire->easy) != CURLM_OK) {
        abort();
    }
}

/* Follows the redirect with which a transfer came to its end. 0: there is none that may be
 * followed. */
static int follow(tseed_wire_t *wire, CURLM *multi, CURLcode code)
{
    const char *to = code == CURLE_OK ? next_address(wire) : NULL;
    const char *peer = NULL;
    tseed_redirect_t redirect = {0};

    if (!to) {
        return 0;
    }
    wire->is_refused = !may_follow(&redirect, wire, to);
    if (!wire->is_refused) {
        curl_easy_getinfo(wire->easy, CURLINFO_PRIMARY_IP, &peer);
        wire->was_public |= peer && tseed_redirect_is_public_text(peer);
        wire->is_other |= redirect.is_other;
        wire->hops++;
        ask_again(wire, multi, redirect.url);
    }
    free(redirect.url);
    return !wire->is_refused;
}

/* Sends a request again, once, if its connection of HTTP/2 broke before its answer began: a stream
 * that was cancelled, of another request, may have broken it. Or if the wire decodes bodies and the
 * answer has a coding that does not exist, or the wire does not and the answer has a coding. The
 * request is that to which the last redirect led. */
static int repeat(tseed_wire_t *wire, CURLM *multi, CURLcode code)
{
    const char *to = "";
    char *url;

    const int is_broken = code == CURLE_HTTP2 && !wire->has_begun;
    const int is_misread = wire->is_plain ? wire->has_coding && code == CURLE_OK
                                          : wire->is_unknown && code == CURLE_BAD_CONTENT_ENCODING;

    if (wire->is_repeated || (!is_broken && !is_misread)) {
        return 0;
    }
    wire->is_repeated = 1;
    wire->is_plain ^= is_misread;
    curl_easy_getinfo(wire->easy, CURLINFO_EFFECTIVE_URL, &to);
    url = tseed_memory_copy(to);
    ask_again(wire, multi, url);
    free(url);
    return 1;
}

int tseed_wire_go_on(tseed_wire_t *wire, CURLM *multi, CURLcode code)
{
    return follow(wire, multi, code) || repeat(wire, multi, code);
}

tseed_transfer_t *tseed_wire_unload(tseed_wire_t *wire)
{
    tseed_transfer_t *transfer = wire->transfer;
    long request_bytes = 0;

    settle_condition(wire);
    curl_easy_getinfo(wire->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    transfer->sent = request_bytes > 0 || wire->hops > 0;
    transfer->received = transfer->length;
    wire->transfer = NULL;
    return transfer;
}
