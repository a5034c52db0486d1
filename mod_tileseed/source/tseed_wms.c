/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMS as a source. The parameters are collected in a table, whose keys ignore case as WMS does, and
 * joined to the service's address at the end. */
#include "source/tseed_wms.h"

#include <apr_cstr.h>
#include <apr_strings.h>
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
        if (apr_cstr_casecmp(reserved[i].key, key) == 0) {
            return apr_psprintf(pool, "%s can't be set: it %s", reserved[i].key,
                                reserved[i].decided_by);
        }
    }
    return NULL;
}

/* Every request brings LAYERS, STYLES and VERSION of its own beside the configured ones. */
static int is_sent_anyway(const char *key, const apr_table_t *parameters)
{
    return apr_cstr_casecmp(key, "LAYERS") == 0 || apr_cstr_casecmp(key, "STYLES") == 0 ||
           apr_cstr_casecmp(key, "VERSION") == 0 || apr_table_get(parameters, key);
}

/* The query that the address may have already must not repeat what will be appended. */
static const char *check_query(const char *url, const apr_table_t *parameters, apr_pool_t *pool)
{
    const apr_array_header_t *keys = tseed_address_keys(url, pool);

    for (int i = 0; i < keys->nelts; i++) {
        const char *key = APR_ARRAY_IDX(keys, i, const char *);
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

static const char *check_address(const char *url, const apr_table_t *parameters, apr_pool_t *pool)
{
    const char *problem = tseed_address_check(url, 0, pool);

    return problem ? problem : check_query(url, parameters, pool);
}

static int is_one_of(const char *value, const char *const *choices)
{
    while (*choices && apr_cstr_casecmp(*choices, value) != 0) {
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
    const char *problem = NULL;

    for (int i = 0; !problem && i < source->count; i++) {
        problem = check_address(source->addresses[i].url, source->parameters, pool);
    }
    for (int i = 0; !problem && i < entries->nelts; i++) {
        problem = tseed_wms_check_key(APR_ARRAY_IDX(entries, i, apr_table_entry_t).key, pool);
    }
    return problem ? problem : check_values(source->parameters, pool);
}

/* ---- the request ---- */

static int is_1_3(const apr_table_t *query)
{
    return strncmp(apr_table_get(query, "VERSION"), "1.3", 3) == 0;
}

/* The axis order is that of the system that is asked for. */
static int north_first(const apr_table_t *query, const tseed_subset_t *subset)
{
    return is_1_3(query) && tseed_subset_north_east(subset);
}

const char *tseed_wms_url(const tseed_ask_t *ask, apr_pool_t *pool)
{
    const tseed_subset_t *subset = ask->tileset->subset;
    apr_table_t *query = apr_table_make(pool, 16);

    apr_table_setn(query, "SERVICE", "WMS");
    apr_table_setn(query, "VERSION", VERSION_DEFAULT);
    apr_table_setn(query, "REQUEST", "GetMap");
    apr_table_setn(query, "LAYERS", "");
    apr_table_setn(query, "STYLES", "");
    tseed_address_override(query, ask->tileset->layer->source.parameters);
    tseed_address_override(query, ask->tileset->parameters);
    apr_table_setn(query, is_1_3(query) ? "CRS" : "SRS", subset->srs);
    apr_table_setn(query, "BBOX", tseed_address_bbox(ask, north_first(query, subset), pool));
    apr_table_setn(query, "WIDTH", apr_itoa(pool, ask->width));
    apr_table_setn(query, "HEIGHT", apr_itoa(pool, ask->height));
    apr_table_setn(query, "FORMAT", ask->tileset->format->from);
    return tseed_address_join(ask->url, query, pool);
}

const char *tseed_wms_capabilities_url(const char *url, const char *version, apr_pool_t *pool)
{
    apr_table_t *query = apr_table_make(pool, 3);

    apr_table_setn(query, "SERVICE", "WMS");
    apr_table_setn(query, "VERSION", version ? version : VERSION_DEFAULT);
    apr_table_setn(query, "REQUEST", "GetCapabilities");
    return tseed_address_join(url, query, pool);
}
