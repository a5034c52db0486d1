/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Directives of a <Location>. */
#include "mod_tileseed.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "mod_tileseed_draft.h"

static const char *path_without_slash(const cmd_parms *cmd)
{
    size_t length = strlen(cmd->path);

    while (length > 0 && cmd->path[length - 1] == '/') {
        length--;
    }
    return apr_pstrmemdup(cmd->pool, cmd->path, length);
}

static const char *set_rest(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_drafts_t *drafts = tseed_conf_main()->drafts;
    tseed_dir_conf_t *conf = dir;
    const char *error =
        tseed_read_switch(&conf->rest, NULL, APR_ARRAY_IDX(words, 0, const char *), cmd->pool);

    conf->base = path_without_slash(cmd);
    if (conf->rest == TSEED_ON) {
        APR_ARRAY_PUSH(drafts->locations, const ap_directive_t *) = cmd->directive;
    }
    return error;
}

static const char *set_page(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *word = APR_ARRAY_IDX(words, 0, const char *);
    tseed_dir_conf_t *conf = dir;

    conf->page = TSEED_ON;
    conf->page_dir = *word == '/' ? word : NULL;
    if (!conf->page_dir && tseed_read_switch(&conf->page, NULL, word, cmd->pool)) {
        return apr_psprintf(
            cmd->pool, "'%s' is unknown, on, off or the path of a directory is expected", word);
    }
    return NULL;
}

static const char *set_tiles(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const char *const states[] = {
        [TSEED_TILES_OFF] = "off",
        [TSEED_TILES_ON] = "on",
        [TSEED_TILES_COUNT] = "count",
        NULL,
    };
    static const tseed_option_t option = {.words = states};
    const int is_location = apr_cstr_casecmp(cmd->directive->parent->directive, "<Location") == 0;
    tseed_dir_conf_t *conf = dir;
    const char *error =
        tseed_read_word(&conf->tiles, &option, APR_ARRAY_IDX(words, 0, const char *), cmd->pool);

    if (!error && conf->tiles == (is_location ? TSEED_TILES_COUNT : TSEED_TILES_ON)) {
        return is_location ? "count is for the <Directory> of a store, on or off is expected"
                           : "on is for a <Location>, count or off is expected";
    }
    conf->tiles_base = path_without_slash(cmd);
    if (conf->tiles == TSEED_TILES_ON) {
        APR_ARRAY_PUSH(tseed_conf_main()->drafts->locations, const ap_directive_t *) =
            cmd->directive;
        APR_ARRAY_PUSH(tseed_conf_main()->drafts->tile_bases, const char *) = conf->tiles_base;
    }
    return error;
}

static const char *set_dialect(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const char *const dialects[] = {
        [TSEED_DIALECT_DOCUMENT] = "document",
        [TSEED_DIALECT_GEOWEBCACHE] = "geowebcache",
        NULL,
    };
    static const tseed_option_t option = {.words = dialects};
    tseed_dir_conf_t *conf = dir;

    return tseed_read_word(&conf->dialect, &option, APR_ARRAY_IDX(words, 0, const char *),
                           cmd->pool);
}

static const char *set_metrics(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_dir_conf_t *conf = dir;

    return tseed_read_switch(&conf->metrics, NULL, APR_ARRAY_IDX(words, 0, const char *),
                             cmd->pool);
}

/* Whether the layers exist shows when the whole configuration has been read. */
static const char *set_layers(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_drafts_t *drafts = tseed_conf_main()->drafts;
    tseed_dir_conf_t *conf = dir;

    for (int i = 0; i < words->nelts; i++) {
        tseed_layer_reference_t reference = {cmd->directive, APR_ARRAY_IDX(words, i, const char *)};

        APR_ARRAY_PUSH(drafts->references, tseed_layer_reference_t) = reference;
    }
    conf->layers = words;
    return NULL;
}

static const char *check_origin(const char *origin, apr_pool_t *pool)
{
    apr_uri_t uri;

    if (tseed_url_check(&uri, origin, pool) || uri.path || uri.query) {
        return apr_psprintf(pool,
                            "'%s' is unknown, on, off or origins such as "
                            "https://maps.example.org are expected",
                            origin);
    }
    return NULL;
}

static const char *set_check_origin(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_dir_conf_t *conf = dir;
    const char *error = NULL;

    if (words->nelts == 1 && !tseed_read_switch(&conf->check_origin, NULL,
                                                APR_ARRAY_IDX(words, 0, const char *), cmd->pool)) {
        conf->origins = NULL;
        return NULL;
    }
    for (int i = 0; !error && i < words->nelts; i++) {
        error = check_origin(APR_ARRAY_IDX(words, i, const char *), cmd->pool);
    }
    conf->check_origin = TSEED_ON;
    conf->origins = words;
    return error;
}

/* Whether a segment of the path is `.` or `..`, escaped or not: clients take it out. */
static int has_dot_segment(const char *path)
{
    while (path && *path) {
        int dots = 0;

        for (; *path == '.' || apr_cstr_casecmpn(path, "%2e", 3) == 0; dots++) {
            path += *path == '.' ? 1 : 3;
        }
        if ((dots == 1 || dots == 2) && (!*path || *path == '/')) {
            return 1;
        }
        path += strcspn(path, "/");
        path += *path == '/';
    }
    return 0;
}

/* Reads TileSeedPublicURL, which documents and headers repeat as it is written. */
static const char *set_public_url(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *url = APR_ARRAY_IDX(words, 0, const char *);
    tseed_dir_conf_t *conf = dir;
    size_t length = strlen(url);
    apr_uri_t uri;
    const char *error = tseed_url_check(&uri, url, cmd->pool);

    if (!error && (uri.query || url[strcspn(url, " \"<>\\^`{|}")])) {
        error = "the address ends in front of a '?' and has none of the characters that an address "
                "escapes";
    }
    if (!error && has_dot_segment(uri.path)) {
        error = "the path of the address has no segment '.' or '..'";
    }
    for (size_t i = 0; !error && i < length; i++) {
        error = url[i] > ' ' && url[i] < 0x7F ? NULL : "the address is not pure ASCII";
    }
    while (length > 0 && url[length - 1] == '/') {
        length--;
    }
    conf->public_url = apr_pstrmemdup(cmd->pool, url, length);
    conf->public_base = path_without_slash(cmd);
    return error ? apr_psprintf(cmd->pool, "'%s': %s", url, error) : NULL;
}

static const command_rec directives[] = {
    TSEED_DIRECTIVE("TileSeedRest", TSEED_RULE(TSEED_IN_LOCATION, 1, 1, set_rest),
                    "on|off, whether this location is the root of the REST interface"),
    TSEED_DIRECTIVE("TileSeedPage", TSEED_RULE(TSEED_IN_LOCATION, 1, 1, set_page),
                    "on|off|DIR, whether the REST interface has a page for operators, and where "
                    "its files are"),
    TSEED_DIRECTIVE("TileSeedTiles",
                    TSEED_RULE(TSEED_IN_LOCATION | TSEED_IN_DIRECTORY, 1, 1, set_tiles),
                    "on|off in a location, count|off in a directory"),
    TSEED_DIRECTIVE("TileSeedDialect", TSEED_RULE(TSEED_IN_LOCATION, 1, 1, set_dialect),
                    "document|geowebcache"),
    TSEED_DIRECTIVE("TileSeedLayers", TSEED_RULE(TSEED_IN_LOCATION, 1, -1, set_layers),
                    "NAME ..., the only layers that this location sees"),
    TSEED_DIRECTIVE("TileSeedCheckOrigin", TSEED_RULE(TSEED_IN_LOCATION, 1, -1, set_check_origin),
                    "on|off|ORIGIN ..., whether pages of other sites may send requests"),
    TSEED_DIRECTIVE("TileSeedMetrics", TSEED_RULE(TSEED_IN_LOCATION, 1, 1, set_metrics),
                    "on|off, whether this location tells the metrics"),
    TSEED_DIRECTIVE("TileSeedPublicURL", TSEED_RULE(TSEED_IN_LOCATION, 1, 1, set_public_url),
                    "URL, the address by which clients call this location"),
    {.name = NULL},
};

const tseed_module_part_t tseed_config_location_part = {.directives = directives};
