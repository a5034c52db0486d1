/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verdict on a transfer that came to its end: what curl and the upstream say becomes a result
 * and one line of cause. The line names host and port, never the address, which may hold secrets.
 */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "source/tseed_explain.h"
#include "source/tseed_secrets.h"
#include "source/tseed_wire.h"

#define QUIET_MOST   300 /* seconds that one answer is believed; then one request asks again */
#define PEER_SIZE    120
#define SECONDS_SIZE 24
#define WORDS_SIZE   (TSEED_CAUSE_SIZE - 40) /* a document's, behind what stands before them */
#define LONG_SIZE    4096                    /* they are cut when they hold no secret any more */

typedef struct {
    int code;
    const char *name;
} status_t;

/* RFC 9110, 15; HTTP/2 sends no names, so they are kept here. */
static const status_t statuses[] = {
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {410, "Gone"},
    {414, "URI Too Long"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

static void write_status(char *text, size_t size, int code)
{
    const char *name = "";

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i].code == code) {
            name = statuses[i].name;
        }
    }
    apr_snprintf(text, size, "%d%s%s", code, *name ? " " : "", name);
}

/* ---- answers ---- */

/* The words of an answer, without secrets. Words of another origin are not for our readers: the
 * upstream chose what the seeder should fetch there. */
static const char *explain(char words[LONG_SIZE], const tseed_transfer_t *transfer)
{
    const char *kind =
        tseed_explain(words, LONG_SIZE, transfer->content_type, transfer->body, transfer->length);

    if (transfer->is_other) {
        words[0] = '\0';
    }
    tseed_secrets_blank(words, strlen(words) > LONG_SIZE - 8, transfer);
    tseed_text_cut(words, WORDS_SIZE);
    return kind;
}

const char *tseed_transfer_words(const tseed_transfer_t *transfer, apr_pool_t *pool)
{
    char words[LONG_SIZE] = "";
    size_t looked_at = transfer->length < 64 ? transfer->length : 64;

    for (size_t i = 0; i < looked_at; i++) {
        if (transfer->body[i] < 0x20 && !strchr("\t\r\n", transfer->body[i])) {
            return "";
        }
    }
    if (!transfer->is_other) {
        tseed_explain(words, LONG_SIZE, "text/plain", transfer->body, transfer->length);
        tseed_secrets_blank(words, strlen(words) > LONG_SIZE - 8, transfer);
        tseed_text_cut(words, WORDS_SIZE / 2);
    }
    return apr_pstrdup(pool, words);
}

static void judge_error_status(tseed_transfer_t *transfer)
{
    char status[60], words[LONG_SIZE];

    write_status(status, sizeof(status), transfer->http_status);
    if (!explain(words, transfer) || apr_cstr_casecmpn(words, status, strlen(status)) == 0) {
        words[0] = '\0'; /* no document, or a page that only repeats the status */
    }
    tseed_text_say(transfer->cause, sizeof(transfer->cause), "%s%s%s", status, *words ? ": " : "",
                   words);
}

/* "Not now", from the upstream or from what stands before it. */
static int is_away(int status)
{
    return status == 429 || (status >= 502 && status <= 504);
}

static void judge_answer(tseed_transfer_t *transfer)
{
    char words[LONG_SIZE];
    const char *kind;

    if (transfer->http_status == 304 && transfer->condition && *transfer->condition) {
        transfer->result = TSEED_FETCH_UNCHANGED;
    } else if (transfer->http_status == 204) {
        apr_cpystrn(transfer->cause, "empty answer (204)", sizeof(transfer->cause));
    } else if (transfer->http_status != 200) {
        judge_error_status(transfer);
    } else if (transfer->length == 0) {
        apr_cpystrn(transfer->cause, "empty answer", sizeof(transfer->cause));
    } else if ((kind = explain(words, transfer))) {
        tseed_text_say(transfer->cause, sizeof(transfer->cause), "200 with %s%s%s", kind,
                       *words ? ": " : "", words);
    } else {
        transfer->result = TSEED_FETCH_OK;
    }
}

/* ---- troubles on the way ---- */

/* Host and port of the machine that was talked to. */
static void write_peer(char text[PEER_SIZE], const tseed_wire_t *wire)
{
    const char *proxy = wire->transfer->upstream->proxy;
    const char *url = proxy;
    char *host = NULL, *port = NULL;
    CURLU *parts = curl_url();

    if (!proxy) {
        curl_easy_getinfo(wire->easy, CURLINFO_EFFECTIVE_URL, &url);
    }
    curl_url_set(parts, CURLUPART_URL, url ? url : "",
                 CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME);
    curl_url_get(parts, CURLUPART_HOST, &host, 0);
    curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    apr_snprintf(text, PEER_SIZE, "%s%s%s%s", proxy ? "the proxy " : "",
                 host ? host : "the upstream", port ? ":" : "", port ? port : "");
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
}

/* Writes a cause that takes more than a sentence of the table below. */
typedef void say_t(char *cause, const tseed_wire_t *wire, const char *peer);

static void say_no_connection(char *cause, const tseed_wire_t *wire, const char *peer)
{
    long error = 0;
    char why[80];

    curl_easy_getinfo(wire->easy, CURLINFO_OS_ERRNO, &error);
    if (error == ECONNREFUSED) {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "connection refused by %s", peer);
        return;
    }
    tseed_text_say(cause, TSEED_CAUSE_SIZE, "no connection to %s: %s", peer,
                   error ? apr_strerror((apr_status_t)error, why, sizeof(why)) : wire->detail);
}

static void say_closed(char *cause, const tseed_wire_t *wire, const char *peer)
{
    (void)wire;
    tseed_text_say(cause, TSEED_CAUSE_SIZE,
                   "redirected from a public address to one that is not, of %s", peer);
}

/* "60 s" or "0.5 s"; APR's %g leaves the zero out. */
static void write_seconds(char text[SECONDS_SIZE], apr_interval_time_t time)
{
    tseed_ascii_print(text, SECONDS_SIZE, "%g s", (double)time / APR_USEC_PER_SEC);
}

static void say_too_late(char *cause, const tseed_wire_t *wire, const char *peer)
{
    const tseed_upstream_t *upstream = wire->transfer->upstream;
    int whole_first = upstream->timeout < upstream->connect_timeout;
    char whole[SECONDS_SIZE], connect[SECONDS_SIZE], first[SECONDS_SIZE];
    long request_bytes = 0;

    write_seconds(whole, upstream->timeout);
    write_seconds(first, upstream->first_byte_timeout);
    write_seconds(connect, upstream->connect_timeout);
    curl_easy_getinfo(wire->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    if (request_bytes == 0) {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "no connection to %s within %s", peer,
                       whole_first ? whole : connect);
    } else if (wire->transfer->http_status == 0) {
        tseed_text_say(
            cause, TSEED_CAUSE_SIZE, "no answer within %s",
            wire->silent_until && upstream->first_byte_timeout < upstream->timeout ? first : whole);
    } else {
        tseed_text_say(cause, TSEED_CAUSE_SIZE,
                       "answer not complete within %s, %" APR_SIZE_T_FMT " bytes came", whole,
                       wire->transfer->length);
    }
}

static void say_cut_short(char *cause, const tseed_wire_t *wire, const char *peer)
{
    (void)peer;
    tseed_text_say(cause, TSEED_CAUSE_SIZE, "answer cut short after %" APR_SIZE_T_FMT " bytes",
                   wire->transfer->length);
}

static void say_too_long(char *cause, const tseed_wire_t *wire, const char *peer)
{
    (void)peer;
    if (wire->headers_length > TSEED_HEADERS_MOST) {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "headers longer than %d bytes", TSEED_HEADERS_MOST);
    } else if (wire->no_memory) {
        apr_cpystrn(cause, "no memory for an answer of this length", TSEED_CAUSE_SIZE);
    } else {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "answer longer than %" APR_SIZE_T_FMT " bytes",
                       wire->transfer->most);
    }
}

/* libcurl says that memory is lacking when one header line is longer than it takes. */
static void say_long_header(char *cause, const tseed_wire_t *wire, const char *peer)
{
    if (wire->has_begun) {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "a header of the answer is too long, of %s", peer);
    } else {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "no memory for a request to %s", peer);
    }
}

/* What OpenSSL's words mean comes first: they are long, and tell what the two sides lack in common.
 */
static void say_no_tls(char *cause, const tseed_wire_t *wire, const char *peer)
{
    static const struct {
        const char *words, *begin;
    } meanings[] = {
        {"legacy sigalg disallowed", "no TLS 1.2 or newer with "},
        {"unsupported protocol", "no TLS 1.2 or newer with "},
        {"alert protocol version", "no TLS 1.2 or newer with "},
        {"wrong version number", "plain HTTP instead of TLS with "},
        {"", "no TLS with "},
    };
    const char *detail = *wire->detail ? wire->detail : curl_easy_strerror(CURLE_SSL_CONNECT_ERROR);
    size_t i = 0;

    while (!strstr(detail, meanings[i].words)) {
        i++;
    }
    tseed_text_say(cause, TSEED_CAUSE_SIZE, "%s%s: %s", meanings[i].begin, peer, detail);
}

/* Writes the cause: "<begin><peer>", and curl's words behind it if they add something. */
typedef struct {
    CURLcode code;
    const char *begin;
    int with_detail;
    int is_away; /* it says nothing of the request */
    say_t *say;  /* instead of the words */
} trouble_t;

/* No code of curl's: it would be one that could not be connected to. */
#define CLOSED CURLE_ABORTED_BY_CALLBACK

/* The last one takes what is left. */
static const trouble_t troubles[] = {
    {CURLE_COULDNT_RESOLVE_HOST, "no network address found for ", 0, 1, NULL},
    {CURLE_COULDNT_RESOLVE_PROXY, "no network address found for ", 0, 1, NULL},
    {CLOSED, NULL, 0, 0, say_closed},
    {CURLE_COULDNT_CONNECT, NULL, 0, 1, say_no_connection},
    {CURLE_OPERATION_TIMEDOUT, NULL, 0, 1, say_too_late},
    {CURLE_GOT_NOTHING, "connection closed without an answer by ", 0, 1, NULL},
    {CURLE_SEND_ERROR, "connection broken to ", 1, 1, NULL},
    {CURLE_RECV_ERROR, "connection broken to ", 1, 1, NULL},
    {CURLE_PARTIAL_FILE, NULL, 0, 0, say_cut_short},
    {CURLE_FILESIZE_EXCEEDED, NULL, 0, 0, say_too_long},
    {CURLE_WRITE_ERROR, NULL, 0, 0, say_too_long},
    {CURLE_OUT_OF_MEMORY, NULL, 0, 0, say_long_header},
    {CURLE_SSL_CONNECT_ERROR, NULL, 0, 1, say_no_tls},
    {CURLE_PEER_FAILED_VERIFICATION, "no TLS with ", 1, 1, NULL},
    {CURLE_SSL_CACERT_BADFILE, "unreadable file of ca= for TLS with ", 0, 1, NULL},
    {CURLE_OK, "failed request to ", 1, 0, NULL},
};

static void judge_trouble(tseed_wire_t *wire, CURLcode code)
{
    const char *detail = *wire->detail ? wire->detail : curl_easy_strerror(code);
    const trouble_t *trouble = troubles;
    char peer[PEER_SIZE];

    while (trouble->code != code && trouble->code != CURLE_OK) {
        trouble++;
    }
    write_peer(peer, wire);
    wire->transfer->result = trouble->is_away ? TSEED_FETCH_AWAY : TSEED_FETCH_FAILED;
    if (trouble->say) {
        trouble->say(wire->transfer->cause, wire, peer);
    } else {
        tseed_text_say(wire->transfer->cause, TSEED_CAUSE_SIZE, "%s%s%s%s", trouble->begin, peer,
                       trouble->with_detail ? ": " : "", trouble->with_detail ? detail : "");
    }
}

/* Where an answer came from, if the upstream itself did not give it. */
static void add_origin(tseed_wire_t *wire)
{
    tseed_transfer_t *transfer = wire->transfer;
    char peer[PEER_SIZE];

    if (wire->is_other && *transfer->cause && transfer->http_status) {
        write_peer(peer, wire);
        tseed_text_cut(transfer->cause,
                       TSEED_CAUSE_SIZE - sizeof(", redirected to ") - strlen(peer));
        strcat(strcat(transfer->cause, ", redirected to "), peer);
    }
}

/* An upstream that wants none of what auth= can send says so in a header alone. */
static void add_wish(tseed_wire_t *wire)
{
    static const char wish[] = ", it wants Digest, and auth= sends Basic";
    long ways = 0;

    curl_easy_getinfo(wire->easy, CURLINFO_HTTPAUTH_AVAIL, &ways);
    if (wire->transfer->http_status == 401 && (ways & (long)CURLAUTH_DIGEST) &&
        !(ways & (long)CURLAUTH_BASIC)) {
        tseed_text_cut(wire->transfer->cause, TSEED_CAUSE_SIZE - sizeof(wish));
        strcat(wire->transfer->cause, wish);
    }
}

/* Names and curl's own words hold what the upstream has sent, too. */
static void clean(tseed_transfer_t *transfer)
{
    char line[2 * TSEED_CAUSE_SIZE]; /* a byte of ISO 8859-1 becomes two */

    tseed_explain(line, sizeof(line), "text/plain", (const unsigned char *)transfer->cause,
                  strlen(transfer->cause));
    tseed_text_fit(transfer->cause, sizeof(transfer->cause), line);
    tseed_secrets_blank(transfer->cause, 0, transfer);
}

static void judge(tseed_wire_t *wire, CURLcode code)
{
    tseed_transfer_t *transfer = wire->transfer;

    if (wire->is_refused) {
        return; /* its cause stands there already */
    }
    if (code == CURLE_OK) {
        judge_answer(transfer);
    } else if (transfer->http_status >= 400) {
        judge_error_status(transfer); /* says more than a body that did not come whole */
    } else {
        judge_trouble(wire, wire->is_closed && code == CURLE_COULDNT_CONNECT ? CLOSED : code);
    }
    add_wish(wire);
    add_origin(wire);
}

void tseed_wire_judge(tseed_wire_t *wire, CURLcode code)
{
    tseed_transfer_t *transfer = wire->transfer;
    const char *type = NULL;
    long status = 0;
    curl_off_t seconds = 0;

    curl_easy_getinfo(wire->easy, CURLINFO_RETRY_AFTER, &seconds);
    curl_easy_getinfo(wire->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(wire->easy, CURLINFO_CONTENT_TYPE, &type);
    apr_cpystrn(transfer->content_type, type ? type : "", sizeof(transfer->content_type));
    transfer->http_status = (int)status;
    transfer->is_other = wire->is_other;
    transfer->result = is_away((int)status) ? TSEED_FETCH_AWAY : TSEED_FETCH_FAILED;
    if ((status == 429 || status == 503) && seconds > 0) {
        transfer->retry_after = apr_time_from_sec(seconds < QUIET_MOST ? seconds : QUIET_MOST);
    }
    judge(wire, code);
    if (transfer->result == TSEED_FETCH_FAILED) {
        tseed_explain_code(transfer->exception, sizeof(transfer->exception), transfer->body,
                           transfer->length);
    }
    clean(transfer);
}
