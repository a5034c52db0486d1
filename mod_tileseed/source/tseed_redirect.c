/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Redirects: origins are compared as curl reads them, addresses with a table of networks. */
#include "source/tseed_redirect.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>

#include "base/tseed_memory.h"
#include "base/tseed_text.h"

/* ---- origins ---- */

typedef struct {
    CURLU *parts;
    char *scheme, *host, *port; /* NULL: the address can't be read */
} origin_t;

static void origin_read(origin_t *origin, const char *url)
{
    memset(origin, 0, sizeof(*origin));
    origin->parts = curl_url();
    if (!origin->parts) {
        abort();
    }
    if (curl_url_set(origin->parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK) {
        curl_url_get(origin->parts, CURLUPART_SCHEME, &origin->scheme, 0);
        curl_url_get(origin->parts, CURLUPART_HOST, &origin->host, 0);
        curl_url_get(origin->parts, CURLUPART_PORT, &origin->port, CURLU_DEFAULT_PORT);
    }
}

static void origin_free(origin_t *origin)
{
    curl_free(origin->scheme);
    curl_free(origin->host);
    curl_free(origin->port);
    curl_url_cleanup(origin->parts);
}

static int is_whole(const origin_t *origin)
{
    return origin->scheme && origin->host && origin->port;
}

static int is_https(const origin_t *origin)
{
    return apr_cstr_casecmp(origin->scheme, "https") == 0;
}

static int is_http(const origin_t *origin)
{
    return is_https(origin) || apr_cstr_casecmp(origin->scheme, "http") == 0;
}

static int has_same_host(const origin_t *a, const origin_t *b)
{
    return apr_cstr_casecmp(a->host, b->host) == 0;
}

static int is_same(const origin_t *a, const origin_t *b)
{
    return apr_cstr_casecmp(a->scheme, b->scheme) == 0 && has_same_host(a, b) &&
           strcmp(a->port, b->port) == 0;
}

/* The two usual ports of one web server. */
static int is_upgrade(const origin_t *from, const origin_t *to)
{
    return has_same_host(from, to) && !is_https(from) && strcmp(from->port, "80") == 0 &&
           is_https(to) && strcmp(to->port, "443") == 0;
}

/* "host" allows any host, NAME all ports of one, NAME:PORT one port. */
static int is_allowed(const tseed_upstream_t *upstream, const origin_t *to)
{
    const size_t length = strlen(to->host);

    for (int i = 0; upstream->redirects && i < upstream->redirects->nelts; i++) {
        const char *allowed = APR_ARRAY_IDX(upstream->redirects, i, const char *);

        if (apr_cstr_casecmp(allowed, TSEED_REDIRECT_ANY) == 0 ||
            (apr_cstr_casecmpn(allowed, to->host, length) == 0 &&
             (allowed[length] == '\0' ||
              (allowed[length] == ':' && strcmp(allowed + length + 1, to->port) == 0)))) {
            return 1;
        }
    }
    return 0;
}

/* Why the way from `from` to `to` is closed to what was asked of `first`; NULL: it is open. */
static const char *objection(const origin_t *first, const origin_t *from, const origin_t *to,
                             const tseed_upstream_t *upstream)
{
    if (!is_http(to)) {
        return "redirected to an address of neither http nor https but ";
    }
    if (is_https(from) && !is_https(to)) {
        return "redirected from https to http, to ";
    }
    if (is_same(first, to) || is_upgrade(first, to) || is_allowed(upstream, to)) {
        return NULL;
    }
    return has_same_host(first, to)
               ? "redirected to another port, which redirect= of TileSeedUpstream does not name: "
               : "redirected to another host, which redirect= of TileSeedUpstream does not name: ";
}

/* The address without what it says of user and password: nobody but the administrator decides whom
 * we are to it. */
static char *bare(const origin_t *origin)
{
    char *url = NULL, *kept;

    curl_url_set(origin->parts, CURLUPART_USER, NULL, 0);
    curl_url_set(origin->parts, CURLUPART_PASSWORD, NULL, 0);
    curl_url_get(origin->parts, CURLUPART_URL, &url, 0);
    kept = url ? tseed_memory_copy(url) : NULL;
    curl_free(url);
    return kept;
}

static int judge(tseed_redirect_t *redirect, char *cause, const tseed_upstream_t *upstream,
                 const origin_t origins[3])
{
    const origin_t *first = &origins[0], *from = &origins[1], *to = &origins[2];
    char part[100];
    const char *why;

    if (!to->scheme || (is_http(to) && !is_whole(to))) {
        apr_cpystrn(cause, "redirected to what is no address", TSEED_CAUSE_SIZE);
        return 0;
    }
    why = objection(first, from, to, upstream);
    if (why && !is_http(to)) {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "%s%s", why,
                       tseed_text_fit(part, sizeof(part), to->scheme));
    } else if (why) {
        tseed_text_say(cause, TSEED_CAUSE_SIZE, "%s%s:%s", why,
                       tseed_text_fit(part, sizeof(part), to->host), to->port);
    }
    redirect->is_other = is_whole(to) && !is_same(first, to);
    redirect->url = why ? NULL : bare(to);
    return redirect->url != NULL;
}

int tseed_redirect_judge(tseed_redirect_t *redirect, char *cause, const tseed_transfer_t *transfer,
                         const char *from, const char *to)
{
    const char *const urls[3] = {transfer->url, from, to};
    origin_t origins[3];
    int is_open = 0;

    memset(redirect, 0, sizeof(*redirect));
    for (int i = 0; i < 3; i++) {
        origin_read(&origins[i], urls[i]);
    }
    if (is_whole(&origins[0]) && is_whole(&origins[1])) {
        is_open = judge(redirect, cause, transfer->upstream, origins);
    }
    for (int i = 0; i < 3; i++) {
        origin_free(&origins[i]);
    }
    return is_open;
}

/* ---- addresses ---- */

typedef struct {
    uint32_t address;
    int bits;
} network_t;

/* RFC 6890, RFC 5771, RFC 1112. */
static const network_t closed[] = {
    {0x00000000, 8},  /* this host */
    {0x0A000000, 8},  /* private */
    {0x64400000, 10}, /* shared by a provider's customers */
    {0x7F000000, 8},  /* loopback */
    {0xA9FE0000, 16}, /* link-local, clouds' metadata among it */
    {0xAC100000, 12}, /* private */
    {0xC0000000, 24}, /* protocol assignments */
    {0xC0A80000, 16}, /* private */
    {0xC6120000, 15}, /* benchmarks */
    {0xE0000000, 4},  /* multicast */
    {0xF0000000, 4},  /* reserved, broadcast */
};

static int is_public_4(uint32_t address)
{
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
        if ((address ^ closed[i].address) >> (32 - closed[i].bits) == 0) {
            return 0;
        }
    }
    return 1;
}

static uint32_t carried(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Public are 2000::/3 (RFC 4291, 2.4; IANA's registry) and what carries a public IPv4 address:
 * mapped, by NAT64 (RFC 6052) and 6to4 (RFC 3056). Teredo (RFC 4380) hides one: not public. */
static int is_public_6(const unsigned char bytes[16])
{
    static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    static const unsigned char nat64[12] = {0x00, 0x64, 0xFF, 0x9B};

    if (memcmp(bytes, mapped, 12) == 0 || memcmp(bytes, nat64, 12) == 0) {
        return is_public_4(carried(bytes + 12));
    }
    if (bytes[0] == 0x20 && bytes[1] == 0x02) {
        return is_public_4(carried(bytes + 2));
    }
    return bytes[0] >> 5 == 1 && memcmp(bytes, "\x20\x01\x00\x00", 4) != 0;
}

int tseed_redirect_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        return is_public_4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
    }
    return address->sa_family == AF_INET6 &&
           is_public_6(((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr);
}

int tseed_redirect_is_public_text(const char *address)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, address, &four.sin_addr) == 1) {
        return tseed_redirect_is_public((const struct sockaddr *)&four);
    }
    return inet_pton(AF_INET6, address, &six.sin6_addr) == 1 &&
           tseed_redirect_is_public((const struct sockaddr *)&six);
}
