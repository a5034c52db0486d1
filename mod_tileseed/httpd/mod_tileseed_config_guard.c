/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What is said at the start of locations whose guard is none, or less than it seems. */
#include "mod_tileseed.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <http_log.h>
#include <string.h>

#include "mod_tileseed_draft.h"

APLOG_USE_MODULE(tileseed);

/* ---- open locations ---- */

/* Methods that change something. */
static const char *const changes[] = {"POST", "PUT", "DELETE"};
#define CHANGES     3
#define ALL_CHANGES ((1u << CHANGES) - 1)

/* The changes that a <Limit> or <LimitExcept> names, as bits of their places above. */
static unsigned methods_named(const char *args, apr_pool_t *pool)
{
    char *state, *words = apr_pstrdup(pool, args);
    unsigned named = 0;

    for (char *word = apr_strtok(words, " \t>", &state); word;
         word = apr_strtok(NULL, " \t>", &state)) {
        for (unsigned i = 0; i < CHANGES; i++) {
            named |= strcmp(word, changes[i]) == 0 ? 1u << i : 0;
        }
    }
    return named;
}

/* The changes that a section applies to. */
static unsigned changes_of(const ap_directive_t *section, apr_pool_t *pool)
{
    if (apr_cstr_casecmp(section->directive, "<Limit") == 0) {
        return methods_named(section->args, pool);
    }
    if (apr_cstr_casecmp(section->directive, "<LimitExcept") == 0) {
        return ALL_CHANGES & ~methods_named(section->args, pool);
    }
    return ALL_CHANGES;
}

/* The changes from which a list of directives keeps anybody away. Reads what is written, decides
 * nothing: who gets in is up to httpd's access control, and that alone. */
static unsigned restricted(const ap_directive_t *directive, apr_pool_t *pool)
{
    unsigned kept = 0;

    for (; directive; directive = directive->next) {
        if (apr_cstr_casecmp(directive->directive, "Deny") == 0 ||
            (apr_cstr_casecmp(directive->directive, "Require") == 0 &&
             apr_cstr_casecmp(directive->args, "all granted") != 0)) {
            return ALL_CHANGES;
        }
        kept |= changes_of(directive, pool) & restricted(directive->first_child, pool);
    }
    return kept;
}

/* The path of a <Location>, without quotes and '>'; NULL for other sections. */
static const char *location_path(const ap_directive_t *section, apr_pool_t *pool)
{
    const char *args = section->args;
    char *path;

    if (apr_cstr_casecmp(section->directive, "<Location") != 0) {
        return NULL;
    }
    path = ap_getword_conf(pool, &args);
    if (strlen(path) > 1 && path[strlen(path) - 1] == '>') {
        path[strlen(path) - 1] = '\0';
    }
    return path;
}

/* Whether requests for `path` pass a <Location> for `around`. */
static int is_within(const char *path, const char *around)
{
    size_t length = strlen(around);

    return strncmp(path, around, length) == 0 &&
           (around[length - 1] == '/' || path[length] == '/' || !path[length]);
}

/* The changes from which those of these sections keep anybody away that apply to the path. */
static unsigned restricted_by(const ap_directive_t *section, const char *path, apr_pool_t *pool)
{
    unsigned kept = 0;

    for (; section; section = section->next) {
        const char *around = location_path(section, pool);

        if (around && *around && is_within(path, around)) {
            kept |= restricted(section->first_child, pool);
        }
    }
    return kept;
}

/* By its own section, or one around it in its virtual host or outside of all. */
static int is_guarded(const ap_directive_t *rest, apr_pool_t *pool)
{
    const ap_directive_t *host = rest->parent->parent;
    const char *path = location_path(rest->parent, pool);
    unsigned kept = restricted_by(ap_conftree, path, pool);

    return (kept | (host ? restricted_by(host->first_child, path, pool) : 0)) == ALL_CHANGES;
}

static void warn_of_open(const ap_directive_t *rest, const server_rec *server, apr_pool_t *pool)
{
    if (!is_guarded(rest, pool)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "tileseed: %s: nothing in <Location %s says who may seed and truncate: "
                     "add AuthType and Require, as conf/tileseed.conf shows",
                     tseed_directive_place(rest, pool), rest->parent->args);
    }
}

/* ---- locations that guard one address of many ---- */

/* The layer that the first segment of `path` behind `base` names; NULL: none, or no segment. */
static const tseed_layer_t *layer_of(const tseed_catalog_t *catalog, const char *path,
                                     const char *base, apr_pool_t *pool)
{
    size_t length = strlen(base);

    length -= length > 0 && base[length - 1] == '/';
    if (!is_within(path, base) || path[length] != '/') {
        return NULL;
    }
    path += length + 1;
    return tseed_catalog_find_layer(catalog, apr_pstrmemdup(pool, path, strcspn(path, "/")));
}

/* What keeps people from /tiles/LAYER keeps nobody from its other addresses. */
static void warn_of_one_address(const ap_directive_t *tiles, const server_rec *server,
                                apr_pool_t *pool)
{
    const char *base = location_path(tiles->parent, pool);
    const ap_directive_t *host = tiles->parent->parent;

    for (const ap_directive_t *at = host ? host->first_child : ap_conftree; at; at = at->next) {
        const char *path = location_path(at, pool);
        const tseed_layer_t *layer =
            path ? layer_of(tseed_conf_get(server)->catalog, path, base, pool) : NULL;

        if (layer && restricted(at->first_child, pool)) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                         "tileseed: %s: <Location %s guards one address of the layer %s, which has "
                         "others below %s: TileSeedLayers guards a layer, or the <Directory> of "
                         "its tiles, as README's section \"Security\" shows",
                         tseed_directive_place(at, pool), at->args, layer->name, base);
        }
    }
}

/* Whoever asks for tiles makes a tile set with each new value. */
static void warn_of_parameters(const server_rec *server, const tseed_layer_t *layer)
{
    for (int i = 0; layer->on_miss == TSEED_ON_MISS_FETCH && i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        if (tseed_filter_is_open(filter)) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                         "tileseed: layer %s: TileSeedParameter %s takes values that are not "
                         "listed, and with TileSeedOnMiss fetch each of them that is asked for "
                         "makes a tile set, up to TileSeedMaxTileSets %d of them",
                         layer->name, filter->name, layer->tilesets_most);
        }
    }
}

void tseed_config_warn(const server_rec *server, apr_pool_t *pool)
{
    const apr_array_header_t *locations = tseed_conf_get(server)->drafts->locations;
    const apr_array_header_t *layers = tseed_conf_get(server)->catalog->order;

    for (int i = 0; i < layers->nelts; i++) {
        warn_of_parameters(server, APR_ARRAY_IDX(layers, i, const tseed_layer_t *));
    }

    for (int i = 0; i < locations->nelts; i++) {
        const ap_directive_t *location = APR_ARRAY_IDX(locations, i, const ap_directive_t *);

        if (apr_cstr_casecmp(location->directive, "TileSeedRest") == 0) {
            warn_of_open(location, server, pool);
        } else {
            warn_of_one_address(location, server, pool);
        }
    }
}
