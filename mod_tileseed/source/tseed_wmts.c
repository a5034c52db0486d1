/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMTS as a source. The request is a table of parameters, whose keys ignore case as WMTS does; they
 * become a query or fill a template. */
#include "source/tseed_wmts.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"

#define QUOTE_MAX 60

/* ---- the request ---- */

static const char *fill_name(void *baton, const char *name, apr_pool_t *pool)
{
    const tseed_ask_t *ask = baton;

    if (strcmp(name, "gridset") == 0) {
        return ask->tileset->subset->gridset->name;
    }
    return tseed_address_level(name, ask->whole->z, pool);
}

/* The check has let no other placeholder through. */
static void expand_value(apr_table_t *query, const char *key, tseed_ask_t *ask, apr_pool_t *pool)
{
    const char *wrong;

    apr_table_setn(query, key,
                   tseed_address_expand(apr_table_get(query, key), fill_name, ask, &wrong, pool));
}

static apr_table_t *query_of(const tseed_ask_t *ask, apr_pool_t *pool)
{
    apr_table_t *query = apr_table_make(pool, 16);
    tseed_ask_t copy = *ask;

    apr_table_setn(query, "SERVICE", "WMTS");
    apr_table_setn(query, "REQUEST", "GetTile");
    apr_table_setn(query, "VERSION", "1.0.0");
    apr_table_setn(query, "LAYER", "");
    apr_table_setn(query, "STYLE", "");
    apr_table_setn(query, "FORMAT", ask->tileset->format->from);
    apr_table_setn(query, "TILEMATRIXSET", "{gridset}");
    apr_table_setn(query, "TILEMATRIX", "{z}");
    tseed_address_override(query, ask->tileset->layer->source.parameters);
    expand_value(query, "TILEMATRIXSET", &copy, pool);
    expand_value(query, "TILEMATRIX", &copy, pool);
    tseed_address_override(query, ask->tileset->parameters);
    apr_table_setn(query, "TILEROW", tseed_address_row(ask, pool));
    apr_table_setn(query, "TILECOL", tseed_address_column(ask, pool));
    return query;
}

static const char *fill(void *baton, const char *name, apr_pool_t *pool)
{
    const char *value = apr_table_get(baton, name);

    return value ? tseed_address_encode(value, ":", pool) : NULL;
}

const char *tseed_wmts_url(const tseed_ask_t *ask, apr_pool_t *pool)
{
    apr_table_t *query = query_of(ask, pool);
    const char *wrong;

    return strchr(ask->url, '{') ? tseed_address_expand(ask->url, fill, query, &wrong, pool)
                                 : tseed_address_join(ask->url, query, pool);
}

/* ---- what an administrator may write ---- */

static const char *const decided[] = {"SERVICE", "REQUEST", "VERSION",
                                      "FORMAT",  "TILEROW", "TILECOL"};

static const char *check_keys(const apr_table_t *parameters, apr_pool_t *pool)
{
    for (size_t i = 0; i < sizeof(decided) / sizeof(decided[0]); i++) {
        if (apr_table_get(parameters, decided[i])) {
            return apr_psprintf(pool, "%s can't be set: each request brings its own", decided[i]);
        }
    }
    return NULL;
}

static const char *check_name(const char *key, const apr_table_t *parameters, apr_pool_t *pool)
{
    static const tseed_gridset_t gridset = {.name = ""};
    static const tseed_subset_t subset = {.gridset = &gridset};
    static const tseed_tileset_t tileset = {.subset = &subset};
    static const tseed_range_t level;
    tseed_ask_t ask = {.tileset = &tileset, .whole = &level};
    const char *value = apr_table_get(parameters, key);
    const char *wrong = NULL;

    if (!value || tseed_address_expand(value, fill_name, &ask, &wrong, pool)) {
        return NULL;
    }
    return apr_psprintf(pool, "{%s} in %s= is unknown, {gridset}, {z}, {z:02} or {z-1} is expected",
                        tseed_text_quote(wrong, QUOTE_MAX, pool), key);
}

/* The placeholders that a template has, each once. */
typedef struct {
    const tseed_layer_t *layer;
    int matrix, row, column;
} draft_t;

static const char *try_fill(void *baton, const char *name, apr_pool_t *pool)
{
    static const char *const others[] = {"TileMatrixSet", "Style", "Layer"};
    draft_t *draft = baton;

    (void)pool;
    draft->matrix |= apr_cstr_casecmp(name, "TileMatrix") == 0;
    draft->row |= apr_cstr_casecmp(name, "TileRow") == 0;
    draft->column |= apr_cstr_casecmp(name, "TileCol") == 0;
    if (apr_cstr_casecmpn(name, "Tile", 4) == 0 &&
        (apr_cstr_casecmp(name + 4, "Matrix") == 0 || apr_cstr_casecmp(name + 4, "Row") == 0 ||
         apr_cstr_casecmp(name + 4, "Col") == 0)) {
        return "";
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (apr_cstr_casecmp(name, others[i]) == 0) {
            return "";
        }
    }
    return apr_table_get(draft->layer->source.parameters, name) ||
                   tseed_layer_find_filter(draft->layer, name)
               ? ""
               : NULL;
}

/* What a request brings of its own must not stand in the address too. */
static const char *check_query(const char *url, const apr_table_t *parameters, apr_pool_t *pool)
{
    static const char *const written[] = {"LAYER", "STYLE", "TILEMATRIXSET", "TILEMATRIX"};
    const apr_array_header_t *keys = tseed_address_keys(url, pool);

    for (int i = 0; i < keys->nelts; i++) {
        const char *key = APR_ARRAY_IDX(keys, i, const char *);
        int is_written = apr_table_get(parameters, key) != NULL;

        for (size_t k = 0; k < sizeof(decided) / sizeof(decided[0]); k++) {
            if (apr_cstr_casecmp(decided[k], key) == 0) {
                return apr_psprintf(pool,
                                    "the address has %s in its query: leave it out, each request "
                                    "brings its own",
                                    key);
            }
        }
        for (size_t k = 0; k < sizeof(written) / sizeof(written[0]); k++) {
            is_written |= apr_cstr_casecmp(written[k], key) == 0;
        }
        if (is_written) {
            return apr_psprintf(pool,
                                "the address has %s in its query: leave it out there and write it "
                                "behind the address as %s=VALUE",
                                key, key);
        }
    }
    return NULL;
}

static const char *check_address(const char *url, const tseed_layer_t *layer, apr_pool_t *pool)
{
    const apr_table_t *parameters = layer->source.parameters;
    draft_t draft = {.layer = layer};
    const char *wrong = NULL;
    const char *problem = tseed_address_check(url, 1, pool);

    if (problem) {
        return problem;
    }
    if (!strpbrk(url, "{}")) {
        return apr_table_get(parameters, "LAYER")
                   ? check_query(url, parameters, pool)
                   : "layer= is missing: it names the layer of the WMTS";
    }
    if (!tseed_address_expand(url, try_fill, &draft, &wrong, pool)) {
        return apr_psprintf(pool,
                            "{%s} in the address is unknown, {TileMatrixSet} {TileMatrix} "
                            "{TileRow} {TileCol} {Style} {Layer}, NAME= behind the address or a "
                            "TileSeedParameter of the layer are expected",
                            tseed_text_quote(wrong, QUOTE_MAX, pool));
    }
    return draft.matrix && draft.row && draft.column
               ? NULL
               : "the address does not say which tile: it needs {TileMatrix}, {TileRow} and "
                 "{TileCol}";
}

const char *tseed_wmts_check(const tseed_layer_t *layer, apr_pool_t *pool)
{
    const tseed_source_t *source = &layer->source;
    const char *problem = check_keys(source->parameters, pool);

    if (!problem) {
        problem = check_name("TILEMATRIXSET", source->parameters, pool);
    }
    if (!problem) {
        problem = check_name("TILEMATRIX", source->parameters, pool);
    }
    for (int i = 0; !problem && i < source->count; i++) {
        problem = check_address(source->addresses[i].url, layer, pool);
    }
    return problem;
}
