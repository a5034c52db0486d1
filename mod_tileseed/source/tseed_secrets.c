/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Secrets are looked for one after the other: texts are short, and there is a text only after a
 * failure. A list has the names of a query whose values stay; all other values are blanked. */
#include "source/tseed_secrets.h"

#include <apr_base64.h>
#include <apr_cstr.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_memory.h"
#include "source/tseed_explain.h"

#define BLANK     "***"
#define LEAST     (sizeof(BLANK) - 1) /* shorter ones would blank half of the words there are */
#define KEY_LEAST 16                  /* a part of the path that looks like a key */

typedef struct {
    const char *at, *end;
} span_t;

static size_t span_length(span_t span)
{
    return (size_t)(span.end - span.at);
}

static span_t span_of(const char *text)
{
    return (span_t){text, text + strlen(text)};
}

/* ---- the text ---- */

typedef struct {
    char *text;
    int is_cut;
} page_t;

static int digit_of(char c)
{
    return tseed_ascii_is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* ---- the ways in which a byte is written ---- */

static int hex_of(const char *at)
{
    return tseed_ascii_is_xdigit(at[0]) && tseed_ascii_is_xdigit(at[1])
               ? digit_of(at[0]) * 16 + digit_of(at[1])
               : -1;
}

/* Of an address: %3D */
static int read_percent(span_t *rest)
{
    const int byte = span_length(*rest) > 2 && *rest->at == '%' ? hex_of(rest->at + 1) : -1;

    rest->at += byte >= 0 ? 3 : 0;
    return byte;
}

/* Of JSON: \/ and \u003d */
static int read_backslash(span_t *rest)
{
    const char *at = rest->at;
    int byte = -1;

    if (span_length(*rest) > 1 && at[0] == '\\' && at[1] == '/') {
        rest->at += 2;
        return '/';
    }
    if (span_length(*rest) > 5 && memcmp(at, "\\u00", 4) == 0) {
        byte = hex_of(at + 4);
    }
    rest->at += byte >= 0 ? 6 : 0;
    return byte;
}

/* Of HTML and XML: &#61; and &amp; */
static int read_reference(span_t *rest)
{
    uint32_t code;
    const size_t length = tseed_explain_reference(&code, rest->at, span_length(*rest));

    if (length == 0 || code > 0xFF) {
        return -1;
    }
    rest->at += length;
    return (int)code;
}

/* The next byte, whichever way it is written. A plus may stand for a blank or for itself, and who
 * repeats a text may have changed its case: neither makes a difference. */
static int next_byte(span_t *rest)
{
    int byte = read_percent(rest);

    byte = byte < 0 ? read_backslash(rest) : byte;
    byte = byte < 0 ? read_reference(rest) : byte;
    byte = byte < 0 ? (unsigned char)*rest->at++ : byte;
    return byte == '+' ? ' ' : tseed_ascii_lower(byte);
}

/* How much of the text's beginning is the secret, or its beginning where the text ends early. */
static size_t match(span_t text, span_t secret, int is_cut)
{
    const char *begin = text.at;

    while (secret.at < secret.end && text.at < text.end) {
        if (next_byte(&text) != next_byte(&secret)) {
            return 0;
        }
    }
    if (secret.at == secret.end || (is_cut && (size_t)(text.at - begin) >= LEAST)) {
        return (size_t)(text.at - begin);
    }
    return 0;
}

/* The replacement is never longer than the text that it replaces. */
static void blank(page_t *page, span_t secret)
{
    span_t text = span_of(page->text);
    char *to = page->text;

    if (span_length(secret) < LEAST) {
        return;
    }
    while (text.at < text.end) {
        size_t found = match(text, secret, page->is_cut);

        if (found >= LEAST) {
            memcpy(to, BLANK, LEAST);
            to += LEAST;
            text.at += found;
        } else {
            *to++ = *text.at++;
        }
    }
    *to = '\0';
}

/* ---- the query ---- */

static const char *const harmless[] = {
    "SERVICE", "VERSION",       "REQUEST",    "LAYERS",     "LAYER",   "STYLES",
    "STYLE",   "SRS",           "CRS",        "BBOX",       "WIDTH",   "HEIGHT",
    "FORMAT",  "TRANSPARENT",   "BGCOLOR",    "EXCEPTIONS", "TIME",    "ELEVATION",
    "TILED",   "TILEMATRIXSET", "TILEMATRIX", "TILEROW",    "TILECOL", "DPI",
};

static int is_harmless(span_t key)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        if (span_length(key) == strlen(harmless[i]) &&
            apr_cstr_casecmpn(key.at, harmless[i], span_length(key)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The stretch up to one of `ends`; `rest` goes on behind it. */
static span_t take_until(span_t *rest, const char *ends)
{
    span_t part = *rest;

    while (rest->at < rest->end && !strchr(ends, *rest->at)) {
        rest->at++;
    }
    part.end = rest->at;
    rest->at += rest->at < rest->end;
    return part;
}

static void blank_query(page_t *page, span_t query)
{
    while (query.at < query.end) {
        span_t value = take_until(&query, "&;");
        span_t key = take_until(&value, "=");

        if (!is_harmless(key)) {
            blank(page, value);
        }
    }
}

/* ---- the path ---- */

static int looks_like_key(span_t part)
{
    int digits = 0;

    for (const char *c = part.at; c < part.end; c++) {
        digits += tseed_ascii_is_digit(*c) != 0;
    }
    return span_length(part) >= KEY_LEAST && digits > 0;
}

/* The path as a whole if it has several parts, then those that look like keys. */
static void blank_path(page_t *page, span_t path)
{
    span_t rest = {path.at + (path.at < path.end), path.end};

    if (memchr(rest.at, '/', span_length(rest))) {
        blank(page, path);
    }
    while (rest.at < rest.end) {
        span_t part = take_until(&rest, "/");

        if (looks_like_key(part)) {
            blank(page, part);
        }
    }
}

/* ---- what the upstream was told besides ---- */

/* "Name: value", "Authorization: Bearer value" */
static void blank_header(page_t *page, const char *header)
{
    span_t value = span_of(header);
    const char *last;

    take_until(&value, ":");
    while (value.at < value.end && *value.at == ' ') {
        value.at++;
    }
    blank(page, value);
    last = strrchr(value.at, ' ');
    if (last) {
        blank(page, span_of(last + 1));
    }
}

static void blank_credentials(page_t *page, const char *credentials)
{
    const int length = (int)strlen(credentials);
    char *encoded = tseed_memory_get((size_t)apr_base64_encode_len(length));

    apr_base64_encode(encoded, credentials, length);
    blank(page, span_of(encoded));
    blank(page, span_of(credentials));
    blank(page, span_of(strchr(credentials, ':') + 1));
    free(encoded);
}

void tseed_secrets_blank(char *text, int is_cut, const tseed_transfer_t *transfer)
{
    const tseed_upstream_t *upstream = transfer->upstream;
    const char *host = strstr(transfer->url, "://");
    page_t page = {text, is_cut};
    span_t query = span_of(host ? host + 3 : transfer->url), path;

    path = take_until(&query, "?");
    path.at += strcspn(path.at, "/?");
    blank_query(&page, query);
    blank_path(&page, path);
    for (int i = 0; upstream->headers && i < upstream->headers->nelts; i++) {
        blank_header(&page, APR_ARRAY_IDX(upstream->headers, i, const char *));
    }
    if (upstream->credentials) {
        blank_credentials(&page, upstream->credentials);
    }
}
