/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layouts: templates, patterns, and from tiles to names: one printer for every layout there is. */
#include <apr_strings.h>
#include <string.h>

#include "store/tseed_layout_body.h"

/* {.hash} is "_" and the hash, or nothing. */
static const char *const templates[] = {
    [TSEED_LAYOUT_GEOWEBCACHE] =
        "{layer}/{gridset}_{.z}{.hash}/{.half-x}_{.half-y}/{.x}_{.y}.{ext}",
    [TSEED_LAYOUT_XYZ] = "{layer}/{gridset}{.hash}/{z}/{x}/{y}.{ext}",
    [TSEED_LAYOUT_TMS] = "{layer}/{gridset}{.hash}/{z}/{x}/{-y}.{ext}",
    [TSEED_LAYOUT_ARCGIS] = "{layer}/{gridset}{.hash}/L{.z}/R{.row}/C{.column}.{ext}",
    [TSEED_LAYOUT_QUADKEY] = "{layer}/{gridset}{.hash}/{quadkey}.{ext}",
    [TSEED_LAYOUT_TILECACHE] =
        "{layer}/{gridset}{.hash}/{.z}/{.x-6}/{.x-3}/{.x-0}/{.y-6}/{.y-3}/{.y-0}.{ext}",
};

/* Names */

static const char *safe_name(const char *name, apr_pool_t *pool)
{
    char *safe = apr_palloc(pool, 3 * strlen(name) + 1);
    char *out = safe;

    for (const char *in = name; *in; in++) {
        if (*in == '/' || (*in == '.' && in == name)) {
            memcpy(out, *in == '/' ? "%2F" : "%2E", 3);
            out += 3;
        } else {
            *out++ = *in == ':' || *in == ' ' ? '_' : *in;
        }
    }
    *out = '\0';
    return safe;
}

static const char *resolve(const tseed_token_t *token, const tseed_tileset_t *tileset,
                           apr_pool_t *pool)
{
    if (tseed_token_is(token, "layer")) {
        return safe_name(tileset->layer->name, pool);
    }
    if (tseed_token_is(token, "gridset")) {
        return safe_name(tileset->subset->gridset->name, pool);
    }
    if (tseed_token_is(token, "ext")) {
        return safe_name(tileset->format->extension, pool);
    }
    if (tseed_token_is(token, "hash")) {
        return tileset->hash ? tileset->hash : "default";
    }
    return tileset->hash ? apr_pstrcat(pool, "_", tileset->hash, NULL) : "";
}

const char *tseed_layout_links(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    return apr_pstrcat(pool, TSEED_HIDDEN "/links/", safe_name(tileset->layer->name, pool), "/",
                       safe_name(tileset->subset->gridset->name, pool), tileset->hash ? "_" : "",
                       tileset->hash ? tileset->hash : "", "/",
                       safe_name(tileset->format->extension, pool), NULL);
}

static tseed_part_t part_of(const tseed_token_t *token, const tseed_tileset_t *tileset,
                            apr_pool_t *pool)
{
    tseed_part_t part = {NULL, token->text, token->length};

    if (token->kind == TSEED_TOKEN_PLACEHOLDER) {
        part.field = tseed_field_find(token);
        part.text = part.field ? "" : resolve(token, tileset, pool);
        part.length = strlen(part.text);
    }
    return part;
}

tseed_pattern_t *tseed_layout_compile(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const tseed_store_config_t *config = &tileset->layer->store;
    const char *at =
        config->layout == TSEED_LAYOUT_TEMPLATE ? config->path_template : templates[config->layout];
    tseed_pattern_t *pattern = apr_pcalloc(pool, sizeof(*pattern));
    tseed_token_t token;

    pattern->gridset = tileset->subset->gridset;
    pattern->parts = apr_array_make(pool, 16, sizeof(tseed_part_t));
    pattern->ends = apr_array_make(pool, 8, sizeof(int));
    do {
        token = tseed_template_next(&at);
        if (token.kind == TSEED_TOKEN_SLASH || token.kind == TSEED_TOKEN_END) {
            APR_ARRAY_PUSH(pattern->ends, int) = pattern->parts->nelts;
            pattern->longest++;
        } else {
            tseed_part_t part = part_of(&token, tileset, pool);

            APR_ARRAY_PUSH(pattern->parts, tseed_part_t) = part;
            pattern->longest += part.field ? TSEED_FIELD_LONGEST : part.length;
        }
    } while (token.kind != TSEED_TOKEN_END);
    return pattern;
}

tseed_range_t tseed_layout_level(const tseed_pattern_t *pattern, int z)
{
    return (tseed_range_t){z, 0, 0, pattern->gridset->columns[z] - 1,
                           pattern->gridset->rows[z] - 1};
}

const char *tseed_layout_prefix(const tseed_pattern_t *pattern, apr_pool_t *pool)
{
    const char *prefix = "";
    int depth = 0;

    for (int i = 0; i < pattern->parts->nelts; i++) {
        const tseed_part_t *part = &APR_ARRAY_IDX(pattern->parts, i, tseed_part_t);

        if (i == APR_ARRAY_IDX(pattern->ends, depth, int)) {
            prefix = apr_pstrcat(pool, prefix, "/", NULL);
            depth++;
        }
        if (part->field) {
            break;
        }
        prefix = apr_pstrcat(pool, prefix, apr_pstrmemdup(pool, part->text, part->length), NULL);
    }
    return prefix;
}

int tseed_layout_depth(const tseed_pattern_t *pattern)
{
    return pattern->ends->nelts;
}

size_t tseed_layout_longest(const tseed_pattern_t *pattern)
{
    return pattern->longest;
}

static int component_holds(const tseed_pattern_t *pattern, int depth, int level)
{
    const tseed_part_t *end = tseed_layout_parts(pattern, depth + 1);

    for (const tseed_part_t *part = tseed_layout_parts(pattern, depth); part < end; part++) {
        if (part->field && (part->field->axis == TSEED_AXIS_Z) == level) {
            return 1;
        }
    }
    return 0;
}

int tseed_layout_component_varies(const tseed_pattern_t *pattern, int depth)
{
    return component_holds(pattern, depth, 0) || component_holds(pattern, depth, 1);
}

int tseed_layout_level_depth(const tseed_pattern_t *pattern)
{
    int depth = 0, has_level = 0;

    while (!component_holds(pattern, depth, 0)) {
        has_level |= component_holds(pattern, depth, 1);
        depth++;
    }
    return has_level ? depth - 1 : -1;
}

/* Tile to name */

size_t tseed_layout_name(char *name, const tseed_pattern_t *pattern, int depth, int z, int64_t x,
                         int64_t y)
{
    const tseed_part_t *end = tseed_layout_parts(pattern, depth + 1);
    char *out = name;

    for (const tseed_part_t *part = tseed_layout_parts(pattern, depth); part < end; part++) {
        if (!part->field) {
            memcpy(out, part->text, part->length);
            out += part->length;
        } else if (part->field->axis == TSEED_AXIS_QUADKEY) {
            out +=
                tseed_field_print_quadkey(out, z, x, tseed_field_turn_row(pattern->gridset, z, y));
        } else {
            out += tseed_field_print(out, part->field, z,
                                     tseed_field_value(part->field, pattern->gridset, z, x, y));
        }
    }
    *out = '\0';
    return (size_t)(out - name);
}

size_t tseed_layout_path(char *path, const tseed_pattern_t *pattern, int z, int64_t x, int64_t y)
{
    char *out = path;

    for (int depth = 0; depth < pattern->ends->nelts; depth++) {
        if (depth > 0) {
            *out++ = '/';
        }
        out += tseed_layout_name(out, pattern, depth, z, x, y);
    }
    return (size_t)(out - path);
}
