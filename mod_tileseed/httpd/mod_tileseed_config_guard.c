/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Warnings at the start about locations that have no guard, or a weaker one than it seems. */
#include "mod_tileseed.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <httpd.h>
#include <http_core.h>
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

static int is_named(const ap_directive_t *directive, const char *name)
{
    return apr_cstr_casecmp(directive->directive, name) == 0;
}

/* The changes from which a Require keeps anybody away. */
static unsigned kept_by_require(const char *args, apr_pool_t *pool)
{
    if (apr_cstr_casecmp(args, "all granted") == 0 || apr_cstr_casecmp(args, "expr true") == 0 ||
        apr_cstr_casecmp(args, "expr \"true\"") == 0) {
        return 0;
    }
    if (apr_cstr_casecmpn(args, "method ", 7) == 0) {
        return ALL_CHANGES & ~methods_named(args + 7, pool);
    }
    if (apr_cstr_casecmpn(args, "not method ", 11) == 0) {
        return methods_named(args + 11, pool);
    }
    return ALL_CHANGES;
}

/* What access a list of directives grants. */
typedef struct {
    int requires;      /* it has a Require of its own */
    int decides;       /* the same, or in a <Limit>: sections before it are not asked any more */
    int satisfies_any; /* who passes either Require or Deny gets in */
    unsigned any, all; /* kept by its Requires if one of them is enough; if all are needed */
    unsigned kept;     /* by whatever else */
} rules_t;

static rules_t rules_of(const ap_directive_t *directive, apr_pool_t *pool);

static unsigned kept_by(const rules_t *rules)
{
    if (rules->requires && rules->satisfies_any) {
        return rules->any & rules->kept;
    }
    return (rules->requires ? rules->any : 0) | rules->kept;
}

/* The changes from which a list keeps anybody away: one of its Requires is enough to get in. */
static unsigned restricted(const ap_directive_t *directive, apr_pool_t *pool)
{
    const rules_t rules = rules_of(directive, pool);

    return kept_by(&rules);
}

/* Whether it is a Require, or several in a frame, and then the changes that it keeps from. */
static int is_require(unsigned *kept, const ap_directive_t *directive, apr_pool_t *pool)
{
    *kept = ALL_CHANGES;
    if (is_named(directive, "Require")) {
        *kept = kept_by_require(directive->args, pool);
    } else if (is_named(directive, "<RequireAny")) {
        *kept = restricted(directive->first_child, pool);
    } else if (is_named(directive, "<RequireAll")) {
        *kept = rules_of(directive->first_child, pool).all;
    } else if (!is_named(directive, "<RequireNone")) {
        return 0;
    }
    return 1;
}

/* Reads what is written, decides nothing: who gets in is up to httpd's access control, and that
 * alone. */
static rules_t rules_of(const ap_directive_t *directive, apr_pool_t *pool)
{
    rules_t rules = {.any = ALL_CHANGES};
    unsigned kept;

    for (; directive; directive = directive->next) {
        if (is_require(&kept, directive, pool)) {
            rules.requires = rules.decides = 1;
            rules.any &= kept;
            rules.all |= kept;
        } else if (is_named(directive, "Deny")) {
            rules.kept = ALL_CHANGES;
        } else if (is_named(directive, "Satisfy")) {
            rules.satisfies_any = apr_cstr_casecmp(directive->args, "any") == 0;
        } else if (directive->first_child) {
            rules.decides |= rules_of(directive->first_child, pool).decides;
            rules.kept |= changes_of(directive, pool) & restricted(directive->first_child, pool);
        }
    }
    return rules;
}

/* The next argument of a section, without quotes and '>'. */
static char *location_text(const char **args, apr_pool_t *pool)
{
    char *text = ap_getword_conf(pool, args);

    if (strlen(text) > 1 && text[strlen(text) - 1] == '>') {
        text[strlen(text) - 1] = '\0';
    }
    return text;
}

/* The path of a <Location>; NULL for other sections. */
static const char *location_path(const ap_directive_t *section, apr_pool_t *pool)
{
    const char *args = section->args;

    return is_named(section, "<Location") ? location_text(&args, pool) : NULL;
}

/* Whether requests for `path` pass a <Location> for `around`. */
static int is_within(const char *path, const char *around)
{
    size_t length = strlen(around);

    return strncmp(path, around, length) == 0 &&
           (around[length - 1] == '/' || path[length] == '/' || !path[length]);
}

/* Whether requests for `address` pass a section: a <Location>, or one with a pattern. */
static int applies(const ap_directive_t *section, const char *address, apr_pool_t *pool)
{
    const char *args = section->args, *path;
    int is_pattern = is_named(section, "<LocationMatch");
    ap_regex_t *pattern;

    if (!is_pattern && !is_named(section, "<Location")) {
        return 0;
    }
    path = location_text(&args, pool);
    if (!is_pattern && strcmp(path, "~") == 0) {
        is_pattern = 1;
        path = location_text(&args, pool);
    }
    if (!is_pattern) {
        return *path && is_within(address, path);
    }
    pattern = ap_pregcomp(pool, path, AP_REG_EXTENDED);
    return pattern && ap_regexec(pattern, address, 0, NULL, 0) == 0;
}

/* How a section's rules go with those of the sections before it: AuthMerging And, Or, Off. */
static unsigned merged(unsigned before, const ap_directive_t *section, apr_pool_t *pool)
{
    const rules_t rules = rules_of(section->first_child, pool);
    const unsigned own = kept_by(&rules);
    const char *how = "Off";

    for (const ap_directive_t *at = section->first_child; at; at = at->next) {
        how = is_named(at, "AuthMerging") ? at->args : how;
    }
    if (!rules.decides || apr_cstr_casecmp(how, "And") == 0) {
        return before | own;
    }
    return apr_cstr_casecmp(how, "Or") == 0 ? before & own : own;
}

/* The changes at an address from which the sections keep anybody away, after those before. */
static unsigned restricted_by(unsigned before, const ap_directive_t *section, const char *address,
                              apr_pool_t *pool)
{
    for (; section; section = section->next) {
        if (applies(section, address, pool)) {
            before = merged(before, section, pool);
        }
    }
    return before;
}

/* By its own section, or others of its virtual host or outside of all; everywhere below it. */
static int is_guarded(const ap_directive_t *rest, apr_pool_t *pool)
{
    static const char *const addresses[] = {"/seed", "/seed/layer.json", "/diskquota.json", NULL};
    const ap_directive_t *host = rest->parent->parent;
    const char *path = location_path(rest->parent, pool);

    for (int i = 0; addresses[i]; i++) {
        const char *address = apr_pstrcat(pool, path, addresses[i] + (strlen(path) == 1), NULL);
        const unsigned outside = restricted_by(0, ap_conftree, address, pool);

        if (restricted_by(outside, host ? host->first_child : NULL, address, pool) != ALL_CHANGES) {
            return 0;
        }
    }
    return 1;
}

static void warn_of_open(const ap_directive_t *rest, const server_rec *server, apr_pool_t *pool)
{
    if (!is_guarded(rest, pool)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "TS0018: %s: nothing in <Location %s says who may seed and truncate: add "
                     "AuthType and Require, as conf/tileseed.conf shows",
                     tseed_directive_place(rest, pool), rest->parent->args);
    }
}

/* ---- locations that guard one address of many ---- */

/* The layer that `path` names behind `base`, as the tiles' own address does or a service's
 * (/tms/1.0.0/LAYER@GRIDSET@png); NULL: none. */
static const tseed_layer_t *layer_of(const tseed_catalog_t *catalog, const char *path,
                                     const char *base, apr_pool_t *pool)
{
    static const char *const services[] = {"service", "rest", "tms", "wmts", "1.0.0", NULL};
    const tseed_layer_t *layer = NULL;
    size_t length = strlen(base);
    int i = 0;

    length -= length > 0 && base[length - 1] == '/';
    if (!is_within(path, base)) {
        return NULL;
    }
    for (path += length; *path == '/' && !layer && services[i];) {
        char *name = apr_pstrmemdup(pool, path + 1, strcspn(path + 1, "/"));

        path += 1 + strlen(name);
        for (i = 0; services[i] && strcmp(services[i], name) != 0;) {
            i++;
        }
        name[strcspn(name, "@")] = '\0';
        layer = tseed_catalog_find_layer(catalog, name);
    }
    return layer;
}

/* A guard of /tiles/LAYER does not guard the layer's other addresses. */
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
                         "TS0019: %s: <Location %s guards one address of the layer %s, which has "
                         "others below %s: TileSeedLayers guards a layer, or the <Directory> of "
                         "its tiles, as the manual's page security.md shows",
                         tseed_directive_place(at, pool), at->args, layer->name, base);
        }
    }
}

/* Clients that ask for tiles make a tile set with each new value. */
static void warn_of_parameters(const server_rec *server, const tseed_layer_t *layer)
{
    for (int i = 0; layer->on_miss == TSEED_ON_MISS_FETCH && i < layer->filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t);

        if (tseed_filter_is_open(filter)) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                         "TS0020: layer %s: TileSeedParameter %s takes values that are not listed, "
                         "and with TileSeedOnMiss fetch each of them that is asked for makes a "
                         "tile set, up to TileSeedMaxTileSets %d of them",
                         layer->name, filter->name, layer->tilesets_most);
        }
    }
}

static void warn(server_rec *server, apr_pool_t *pconf, apr_pool_t *pool)
{
    const apr_array_header_t *locations = tseed_conf_get(server)->drafts->locations;
    const apr_array_header_t *layers = tseed_conf_get(server)->catalog->order;

    (void)pconf;
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

const tseed_module_part_t tseed_config_guard_part = {.start = warn};
