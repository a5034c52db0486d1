/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* XYZ as a source. */
#include "source/tseed_xyz.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"

#define QUOTE_MAX 60
#define PARAM     "param:"
#define KNOWN     "{z} {z:02} {z-1} {x} {y} {-y} {quadkey} {bbox} {layer} {param:NAME}"

static const char *bbox(const tseed_ask_t *ask, apr_pool_t *pool)
{
    return tseed_address_bbox(ask, 0, pool);
}

static const char *row_from_bottom(const tseed_ask_t *ask, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%" APR_INT64_T_FMT, ask->whole->miny);
}

/* One digit a level, from the first: 1 for the right half, 2 for the lower one. */
static const char *quadkey(const tseed_ask_t *ask, apr_pool_t *pool)
{
    int z = ask->whole->z;
    int64_t x = ask->whole->minx;
    int64_t y = ask->tileset->subset->gridset->rows[z] - 1 - ask->whole->miny;
    char *key = apr_pcalloc(pool, (apr_size_t)z + 1);

    for (int i = 0; i < z; i++) {
        int bit = z - 1 - i;

        key[i] = (char)('0' + (x >> bit & 1) + 2 * (y >> bit & 1));
    }
    return key;
}

static const char *layer_name(const tseed_ask_t *ask, apr_pool_t *pool)
{
    return tseed_address_encode(ask->tileset->layer->name, ":", pool);
}

/* The placeholders that a template needs so that each tile has an address of its own. */
enum { HAS_Z = 1, HAS_X = 2, HAS_Y = 4, HAS_TILE = 7 };

typedef struct {
    const char *name;
    int has;
    const char *(*write)(const tseed_ask_t *ask, apr_pool_t *pool);
} placeholder_t;

static const placeholder_t placeholders[] = {
    {"x", HAS_X, tseed_address_column}, {"y", HAS_Y, tseed_address_row},
    {"-y", HAS_Y, row_from_bottom},     {"quadkey", HAS_TILE, quadkey},
    {"bbox", HAS_TILE, bbox},           {"layer", 0, layer_name},
};

static const placeholder_t *find(const char *name)
{
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
        if (strcmp(placeholders[i].name, name) == 0) {
            return &placeholders[i];
        }
    }
    return NULL;
}

/* ---- the request ---- */

static const char *fill(void *baton, const char *name, apr_pool_t *pool)
{
    const tseed_ask_t *ask = baton;
    const placeholder_t *placeholder = find(name);
    const char *value = tseed_address_level(name, ask->whole->z, pool);

    if (placeholder || value) {
        return placeholder ? placeholder->write(ask, pool) : value;
    }
    value = apr_table_get(ask->tileset->parameters, name + strlen(PARAM));
    return tseed_address_encode(value ? value : "", "", pool);
}

const char *tseed_xyz_url(const tseed_ask_t *ask, apr_pool_t *pool)
{
    tseed_ask_t copy = *ask;
    const char *wrong;

    return tseed_address_expand(ask->url, fill, &copy, &wrong, pool);
}

/* ---- what an administrator may write ---- */

typedef struct {
    const tseed_layer_t *layer;
    int has;
} draft_t;

static const char *try_fill(void *baton, const char *name, apr_pool_t *pool)
{
    draft_t *draft = baton;
    const placeholder_t *placeholder = find(name);

    if (placeholder || tseed_address_level(name, 0, pool)) {
        draft->has |= placeholder ? placeholder->has : HAS_Z;
        return "";
    }
    return strncmp(name, PARAM, strlen(PARAM)) == 0 &&
                   tseed_layer_find_filter(draft->layer, name + strlen(PARAM))
               ? ""
               : NULL;
}

static const char *check_template(const char *url, const tseed_layer_t *layer, apr_pool_t *pool)
{
    draft_t draft = {.layer = layer};
    const char *wrong = NULL;
    const char *problem = tseed_address_check(url, 1, pool);

    if (problem) {
        return problem;
    }
    if (!tseed_address_expand(url, try_fill, &draft, &wrong, pool)) {
        return apr_psprintf(pool,
                            "{%s} in the address is unknown, " KNOWN
                            " are expected, NAME being a TileSeedParameter of the layer",
                            tseed_text_quote(wrong, QUOTE_MAX, pool));
    }
    return draft.has == HAS_TILE
               ? NULL
               : "the address does not say which tile: it needs {z}, {x} and one of {y} {-y}, or "
                 "{quadkey}, or {bbox}";
}

const char *tseed_xyz_check(const tseed_layer_t *layer, apr_pool_t *pool)
{
    const tseed_source_t *source = &layer->source;
    const char *problem = NULL;

    if (apr_table_elts(source->parameters)->nelts > 0) {
        return "a source xyz has no NAME=VALUE but mode= and missing=, write it into the address";
    }
    for (int i = 0; !problem && i < source->count; i++) {
        problem = check_template(source->addresses[i].url, layer, pool);
    }
    return problem;
}
