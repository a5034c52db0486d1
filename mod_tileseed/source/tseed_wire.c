/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A wire: options that stay, options of a transfer, and where the body goes. */
#include "source/tseed_wire.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"

#ifdef TSEED_VERSION
#define USER_AGENT "mod_tileseed/" TSEED_VERSION
#else
#define USER_AGENT "mod_tileseed"
#endif
#define PROTOCOLS     "http,https"
#define RECEIVE_BYTES (256 << 10)
#define BODY_FIRST    (64 << 10)

#define IF_NONE_MATCH   "If-None-Match: "
#define SETTLED_SECONDS 60

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

/* Connected, a request is about to be sent: the first one or one to which a redirect leads. */
static int before_request(void *baton, char *peer, char *self, int peer_port, int self_port)
{
    tseed_wire_t *wire = baton;
    const char *url = "";

    (void)peer;
    (void)self;
    (void)peer_port;
    (void)self_port;
    curl_easy_getinfo(wire->easy, CURLINFO_EFFECTIVE_URL, &url);
    if (strncasecmp(url, "https:", 6) == 0) {
        wire->secure = 1;
    } else if (wire->secure) {
        return CURL_PREREQFUNC_ABORT;
    }
    wire->silent_until = tseed_clock_monotonic() + wire->transfer->upstream->first_byte_timeout;
    return CURL_PREREQFUNC_OK;
}

/* The value of a header line if it has that name, without the white space around it. */
static int read_header(char value[TSEED_CONDITION_SIZE], const char *line, size_t length,
                       const char *name)
{
    const size_t before = strlen(name);

    if (length <= before || strncasecmp(line, name, before) != 0) {
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

/* What a later request can ask by. An ETag says more than a time. What was modified less than a
 * minute before it was sent may have been modified again within the same second (RFC
 * 9110, 8.8.2.2): its time says nothing. */
static void take_validator(tseed_wire_t *wire, const char *line, size_t length)
{
    char *validator = wire->transfer->validator;
    char value[TSEED_CONDITION_SIZE];

    if (read_header(value, line, length, "ETag:")) {
        apr_snprintf(validator, TSEED_CONDITION_SIZE, "%s%s", IF_NONE_MATCH, value);
        if (strlen(validator) != strlen(IF_NONE_MATCH) + strlen(value)) {
            validator[0] = '\0';
        }
    } else if (read_header(value, line, length, "Last-Modified:")) {
        wire->modified = curl_getdate(value, NULL);
    } else if (read_header(value, line, length, "Date:")) {
        wire->answered = curl_getdate(value, NULL);
    } else if (length > 5 && memcmp(line, "HTTP/", 5) == 0) { /* another answer begins */
        validator[0] = '\0';
        wire->modified = wire->answered = -1;
    }
}

static size_t take_header(char *data, size_t one, size_t count, void *baton)
{
    tseed_wire_t *wire = baton;

    (void)one;
    wire->silent_until = 0;
    take_validator(wire, data, count);
    return count;
}

/* Once all headers have come. */
static void settle_validator(const tseed_wire_t *wire)
{
    char *validator = wire->transfer->validator;
    char date[APR_RFC822_DATE_LEN];

    if (!*validator && wire->modified >= 0 && wire->answered - wire->modified >= SETTLED_SECONDS) {
        apr_rfc822_date(date, apr_time_from_sec(wire->modified));
        apr_snprintf(validator, TSEED_CONDITION_SIZE, "If-Modified-Since: %s", date);
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
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, wire);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* a cancel must not wait for a name server */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, USER_AGENT);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, ""); /* all that curl can decode */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, PROTOCOLS);
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, PROTOCOLS);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)TSEED_REDIRECTS_MAX);
}

/* Credentials are for the upstream's own host, curl sends them to no other. Its headers go wherever
 * it redirects to, Authorization and Cookie excepted. */
static void set_upstream(CURL *easy, const tseed_upstream_t *upstream)
{
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)apr_time_as_msec(upstream->timeout));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)apr_time_as_msec(upstream->connect_timeout));
    /* the configuration decides alone, whatever proxies httpd's environment names */
    curl_easy_setopt(easy, CURLOPT_PROXY, upstream->proxy ? upstream->proxy : "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    if (upstream->credentials) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(easy, CURLOPT_USERPWD, upstream->credentials);
    }
    if (upstream->ca) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, upstream->ca);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
}

tseed_wire_t *tseed_wire_create(const tseed_upstream_t *upstream, struct curl_slist *headers)
{
    tseed_wire_t *wire = calloc(1, sizeof(*wire));

    if (!wire || !(wire->easy = curl_easy_init())) {
        abort();
    }
    set_basics(wire);
    set_upstream(wire->easy, upstream);
    wire->headers = headers;
    return wire;
}

void tseed_wire_destroy(tseed_wire_t *wire)
{
    curl_easy_cleanup(wire->easy);
    free(wire);
}

void tseed_wire_load(tseed_wire_t *wire, tseed_transfer_t *transfer, apr_time_t now)
{
    wire->transfer = transfer;
    wire->no_memory = wire->secure = 0;
    wire->begun = now;
    wire->silent_until = 0;
    wire->detail[0] = '\0';
    wire->answered = wire->modified = -1;
    wire->condition = (struct curl_slist){(char *)transfer->condition, wire->headers};
    curl_easy_setopt(wire->easy, CURLOPT_HTTPHEADER,
                     transfer->condition ? &wire->condition : wire->headers);
    curl_easy_setopt(wire->easy, CURLOPT_URL, transfer->url);
    curl_easy_setopt(wire->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)transfer->most);
}

tseed_transfer_t *tseed_wire_unload(tseed_wire_t *wire)
{
    tseed_transfer_t *transfer = wire->transfer;
    long request_bytes = 0;

    settle_validator(wire);
    curl_easy_getinfo(wire->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    transfer->sent = request_bytes > 0;
    wire->transfer = NULL;
    return transfer;
}
