/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Addresses of upstreams: numbers, queries and templates. */
#include "source/tseed_address.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <apr_uri.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"

/* "." as it is, or encoded: 1 or 3 bytes; 0: something else stands there. */
static size_t dot_at(const char *text)
{
    if (*text == '.') {
        return 1;
    }
    return apr_cstr_casecmpn(text, "%2E", 3) == 0 ? 3 : 0;
}

/* The length of a character that some server takes for the end of a part: 1 byte, or 3 if it is
 * encoded; 0: it is none. */
static size_t separator_at(const char *text)
{
    if (*text == '/' || *text == '\\') {
        return 1;
    }
    return apr_cstr_casecmpn(text, "%2F", 3) == 0 || apr_cstr_casecmpn(text, "%5C", 3) == 0 ? 3 : 0;
}

static int is_dots(const char *part)
{
    size_t first = dot_at(part);
    size_t second = first ? dot_at(part + first) : 0;
    const char *end = part + first + second;

    return first && (!*end || *end == '?' || separator_at(end));
}

int tseed_address_has_dots(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host ? host + 3 + strcspn(host + 3, "/?") : url;

    while (*path && *path != '?') {
        size_t between = separator_at(path);

        if (between && is_dots(path + between)) {
            return 1;
        }
        path += between ? between : 1;
    }
    return 0;
}

/* A placeholder in the host, as maps in browsers have it for several hosts of one service. */
static const char *check_host(const char *hostname, apr_pool_t *pool)
{
    const char *brace = strchr(hostname, '{');
    size_t length = brace ? strcspn(brace, "}") : 0;

    return brace && brace[length]
               ? apr_psprintf(pool,
                              "%s in the host is not possible: write the address once for each "
                              "host, one behind the other, and mode=share",
                              apr_pstrmemdup(pool, brace, length + 1))
               : NULL;
}

const char *tseed_address_check(const char *url, int is_template, apr_pool_t *pool)
{
    const char *forbidden = is_template ? "\"#<>\\^`|" : "\"#<>\\^`{|}";
    apr_uri_t uri;
    int is_read;

    for (const char *p = url; *p; p++) {
        if (!tseed_ascii_is_graph(*p) || strchr(forbidden, *p)) {
            return apr_psprintf(pool, "the address has a character that must be written as %%%02X",
                                (unsigned char)*p);
        }
    }
    is_read = apr_uri_parse(pool, url, &uri) == APR_SUCCESS;
    if (is_read && uri.hostname && check_host(uri.hostname, pool)) {
        return check_host(uri.hostname, pool);
    }
    if (!is_read || !uri.scheme || !uri.hostname || !*uri.hostname || strpbrk(uri.hostname, "{}") ||
        (apr_cstr_casecmp(uri.scheme, "http") != 0 && apr_cstr_casecmp(uri.scheme, "https") != 0)) {
        return "the address of a source is written as http://host:port/path or "
               "https://host:port/path";
    }
    if (uri.user || uri.password) {
        return "user and password don't belong into the address: write user:password into a file "
               "and name it with auth=FILE of TileSeedUpstream";
    }
    return tseed_address_has_dots(url) ? "the address has . or .. as a part of its path" : NULL;
}

/* The fewest digits that read back as the same double, without an exponent, which not every server
 * reads. */
static const char *decimal(double value, apr_pool_t *pool)
{
    char text[400]; /* the largest double has 309 digits */
    int digits = 0;
    int exponent, decimals;

    do {
        tseed_ascii_print(text, sizeof(text), "%.*e", digits, value);
    } while (digits++ < 17 && tseed_ascii_strtod(text, NULL) != value);
    exponent = atoi(strchr(text, 'e') + 1);
    decimals = digits - 1 - exponent;
    tseed_ascii_print(text, sizeof(text), "%.*f", decimals > 0 ? decimals : 0,
                      value == 0 ? 0.0 : value);
    return apr_pstrdup(pool, text);
}

const char *tseed_address_bbox(const tseed_ask_t *ask, int swapped, apr_pool_t *pool)
{
    const tseed_gridset_t *gridset = ask->tileset->subset->gridset;
    tseed_bounds_t bounds = tseed_range_bounds(gridset, ask->whole);
    const tseed_margin_t *margin = &ask->margin;
    double pixel = gridset->resolution[ask->whole->z];
    const char *minx = decimal(bounds.minx - margin->left * pixel, pool);
    const char *miny = decimal(bounds.miny - margin->bottom * pixel, pool);
    const char *maxx = decimal(bounds.maxx + margin->right * pixel, pool);
    const char *maxy = decimal(bounds.maxy + margin->top * pixel, pool);

    return swapped ? apr_pstrcat(pool, miny, ",", minx, ",", maxy, ",", maxx, NULL)
                   : apr_pstrcat(pool, minx, ",", miny, ",", maxx, ",", maxy, NULL);
}

const char *tseed_address_encode(const char *text, const char *allowed, apr_pool_t *pool)
{
    static const char digits[] = "0123456789ABCDEF";
    char *encoded = apr_palloc(pool, 3 * strlen(text) + 1);
    char *end = encoded;

    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < 0x80 &&
            (tseed_ascii_is_alnum(byte) || strchr("-._~", byte) || strchr(allowed, byte))) {
            *end++ = *text;
        } else {
            *end++ = '%';
            *end++ = digits[byte >> 4];
            *end++ = digits[byte & 15];
        }
    }
    *end = '\0';
    return encoded;
}

apr_array_header_t *tseed_address_keys(const char *url, apr_pool_t *pool)
{
    apr_array_header_t *keys = apr_array_make(pool, 4, sizeof(const char *));
    const char *query = strchr(url, '?');
    char *rest = apr_pstrdup(pool, query ? query + 1 : "");
    char *state;

    for (char *pair = apr_strtok(rest, "&", &state); pair; pair = apr_strtok(NULL, "&", &state)) {
        APR_ARRAY_PUSH(keys, const char *) = apr_pstrmemdup(pool, pair, strcspn(pair, "="));
    }
    return keys;
}

void tseed_address_override(apr_table_t *query, const apr_table_t *values)
{
    const apr_array_header_t *entries = apr_table_elts(values);

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        apr_table_setn(query, entry->key, entry->val);
    }
}

/* How the service's address goes on: it may have a query of its own ("?map=/maps/world.map"). */
static const char *joint(const char *url)
{
    const char *query = strchr(url, '?');

    if (!query) {
        return "?";
    }
    return query[1] && url[strlen(url) - 1] != '&' ? "&" : "";
}

/* Comma, colon and slash may stand in a query as they are, and WMS wants its list separator so. */
const char *tseed_address_join(const char *url, const apr_table_t *query, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(query);
    const char *separator = joint(url);

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        if (*entry->val || apr_cstr_casecmpn(entry->key, "STYLE", 5) == 0) {
            url = apr_pstrcat(pool, url, separator, tseed_address_encode(entry->key, ",:/", pool),
                              "=", tseed_address_encode(entry->val, ",:/", pool), NULL);
            separator = "&";
        }
    }
    return url;
}
