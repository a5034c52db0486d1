/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMS as a source. The parameters are collected in a table, whose keys ignore case as WMS does, and
 * joined to the service's address at the end. */
#include "source/tseed_wms.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <apr_uri.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"

#define VERSION_DEFAULT "1.1.1"
#define QUOTE_MAX       60

/* ---- what an administrator may write ---- */

typedef struct {
    const char *key, *decided_by;
} reserved_t;

static const reserved_t reserved[] = {
    {"SERVICE", "is always WMS"},
    {"REQUEST", "is always GetMap"},
    {"BBOX", "follows from the tiles that are asked for"},
    {"WIDTH", "follows from the tiles that are asked for"},
    {"HEIGHT", "follows from the tiles that are asked for"},
    {"SRS", "follows from TileSeedGrid, whose srs= can name another one"},
    {"CRS", "follows from TileSeedGrid, whose srs= can name another one"},
    {"FORMAT", "follows from TileSeedFormat, whose from= can name another one"},
};

const char *tseed_wms_check_key(const char *key, apr_pool_t *pool)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (strcasecmp(reserved[i].key, key) == 0) {
            return apr_psprintf(pool, "%s can't be set: it %s", reserved[i].key,
                                reserved[i].decided_by);
        }
    }
    return NULL;
}

/* Every request brings LAYERS, STYLES and VERSION of its own beside the configured ones. */
static int is_sent_anyway(const char *key, const apr_table_t *parameters)
{
    return strcasecmp(key, "LAYERS") == 0 || strcasecmp(key, "STYLES") == 0 ||
           strcasecmp(key, "VERSION") == 0 || apr_table_get(parameters, key);
}

/* The query that the address may have already must not repeat what will be appended. */
static const char *check_query(const char *query, const apr_table_t *parameters, apr_pool_t *pool)
{
    char *rest = apr_pstrdup(pool, query);
    char *state;

    for (char *pair = apr_strtok(rest, "&", &state); pair; pair = apr_strtok(NULL, "&", &state)) {
        const char *key = apr_pstrmemdup(pool, pair, strcspn(pair, "="));
        const char *problem = tseed_wms_check_key(key, pool);

        if (problem) {
            return apr_psprintf(pool, "the address has %s in its query: leave it out, %s", key,
                                problem);
        }
        if (is_sent_anyway(key, parameters)) {
            return apr_psprintf(pool,
                                "the address has %s in its query: leave it out there and write it "
                                "behind the address as %s=VALUE",
                                key, key);
        }
    }
    return NULL;
}

/* The address itself is quoted in no sentence: it may hold a password. */
static const char *check_address(const tseed_source_t *source, apr_pool_t *pool)
{
    apr_uri_t uri;

    for (const char *p = source->url; *p; p++) {
        if (!apr_isgraph(*p) || strchr("\"#<>\\^`{|}", *p)) {
            return apr_psprintf(pool, "the address has a character that must be written as %%%02X",
                                (unsigned char)*p);
        }
    }
    if (apr_uri_parse(pool, source->url, &uri) != APR_SUCCESS || !uri.scheme || !uri.hostname ||
        !*uri.hostname || (strcasecmp(uri.scheme, "http") && strcasecmp(uri.scheme, "https"))) {
        return "the address of a WMS is written as http://host:port/path or https://host:port/path";
    }
    if (uri.user || uri.password) {
        return "user and password don't belong into the address: write user:password into a file "
               "and name it with auth=FILE of TileSeedUpstream";
    }
    return uri.query ? check_query(uri.query, source->parameters, pool) : NULL;
}

static int is_one_of(const char *value, const char *const *choices)
{
    while (*choices && strcasecmp(*choices, value) != 0) {
        choices++;
    }
    return *choices != NULL;
}

static const char *check_values(const apr_table_t *parameters, apr_pool_t *pool)
{
    static const char *const versions[] = {"1.1.0", "1.1.1", "1.3.0", NULL};
    static const char *const booleans[] = {"true", "false", NULL};
    const char *version = apr_table_get(parameters, "VERSION");
    const char *layers = apr_table_get(parameters, "LAYERS");
    const char *transparent = apr_table_get(parameters, "TRANSPARENT");

    if (version && !is_one_of(version, versions)) {
        return apr_psprintf(pool, "version=%s is none that is spoken: 1.1.0, 1.1.1 or 1.3.0",
                            tseed_text_quote(version, QUOTE_MAX, pool));
    }
    if (!layers || !*layers) {
        return "layers= is missing: it names the layers of the WMS that are drawn";
    }
    if (transparent && !is_one_of(transparent, booleans)) {
        return apr_psprintf(pool, "transparent=%s is neither true nor false",
                            tseed_text_quote(transparent, QUOTE_MAX, pool));
    }
    return NULL;
}

const char *tseed_wms_check(const tseed_source_t *source, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(source->parameters);
    const char *problem = check_address(source, pool);

    for (int i = 0; !problem && i < entries->nelts; i++) {
        problem = tseed_wms_check_key(APR_ARRAY_IDX(entries, i, apr_table_entry_t).key, pool);
    }
    return problem ? problem : check_values(source->parameters, pool);
}

/* ---- the request ---- */

/* The fewest digits that read back as the same double, without an exponent, which not every server
 * reads. */
static const char *decimal(double value, apr_pool_t *pool)
{
    char text[400]; /* the largest double has 309 digits */
    int digits = 0;
    int exponent, decimals;

    do {
        snprintf(text, sizeof(text), "%.*e", digits, value);
    } while (digits++ < 17 && strtod(text, NULL) != value);
    exponent = atoi(strchr(text, 'e') + 1);
    decimals = digits - 1 - exponent;
    snprintf(text, sizeof(text), "%.*f", decimals > 0 ? decimals : 0, value == 0 ? 0.0 : value);
    return apr_pstrdup(pool, text);
}

static int is_1_3(const apr_table_t *query)
{
    return strncmp(apr_table_get(query, "VERSION"), "1.3", 3) == 0;
}

/* The axis order is that of the system that is asked for: CRS:84 and its kin are east, north
 * whatever the grid set's own system says (06-042, annex B). */
static int north_first(const apr_table_t *query, const tseed_subset_t *subset)
{
    return is_1_3(query) && subset->gridset->north_east && strncasecmp(subset->srs, "CRS:", 4) != 0;
}

static const char *bbox(const tseed_subset_t *subset, const tseed_range_t *whole, int gutter,
                        int swapped, apr_pool_t *pool)
{
    tseed_bounds_t bounds = tseed_range_bounds(subset->gridset, whole);
    double margin = gutter * subset->gridset->resolution[whole->z];
    const char *minx = decimal(bounds.minx - margin, pool);
    const char *miny = decimal(bounds.miny - margin, pool);
    const char *maxx = decimal(bounds.maxx + margin, pool);
    const char *maxy = decimal(bounds.maxy + margin, pool);

    return swapped ? apr_pstrcat(pool, miny, ",", minx, ",", maxy, ",", maxx, NULL)
                   : apr_pstrcat(pool, minx, ",", miny, ",", maxx, ",", maxy, NULL);
}

/* RFC 3986 2.1. Comma, colon and slash may stand in a query as they are, and WMS wants its list
 * separator so. */
static const char *encode(const char *text, apr_pool_t *pool)
{
    static const char digits[] = "0123456789ABCDEF";
    char *encoded = apr_palloc(pool, 3 * strlen(text) + 1);
    char *end = encoded;

    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < 0x80 && (apr_isalnum(byte) || strchr("-._~,:/", byte))) {
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

static void override(apr_table_t *query, const apr_table_t *values)
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

static const char *join(const char *url, const apr_table_t *query, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(query);
    const char *separator = joint(url);

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        if (*entry->val || strcasecmp(entry->key, "STYLES") == 0) {
            url = apr_pstrcat(pool, url, separator, encode(entry->key, pool), "=",
                              encode(entry->val, pool), NULL);
            separator = "&";
        }
    }
    return url;
}

const char *tseed_wms_url(int *width, int *height, const tseed_tileset_t *tileset,
                          const tseed_range_t *whole, int gutter, apr_pool_t *pool)
{
    const tseed_source_t *source = &tileset->layer->source;
    const tseed_subset_t *subset = tileset->subset;
    apr_table_t *query = apr_table_make(pool, 16);

    *width = (int)(whole->maxx - whole->minx + 1) * subset->gridset->tile_width + 2 * gutter;
    *height = (int)(whole->maxy - whole->miny + 1) * subset->gridset->tile_height + 2 * gutter;
    apr_table_setn(query, "SERVICE", "WMS");
    apr_table_setn(query, "VERSION", VERSION_DEFAULT);
    apr_table_setn(query, "REQUEST", "GetMap");
    apr_table_setn(query, "LAYERS", "");
    apr_table_setn(query, "STYLES", "");
    override(query, source->parameters);
    override(query, tileset->parameters);
    apr_table_setn(query, is_1_3(query) ? "CRS" : "SRS", subset->srs);
    apr_table_setn(query, "BBOX", bbox(subset, whole, gutter, north_first(query, subset), pool));
    apr_table_setn(query, "WIDTH", apr_itoa(pool, *width));
    apr_table_setn(query, "HEIGHT", apr_itoa(pool, *height));
    apr_table_setn(query, "FORMAT", tileset->format->from);
    return join(source->url, query, pool);
}
