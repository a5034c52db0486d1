/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Directives of a <Location>. */
#include "mod_tileseed.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "mod_tileseed_config_upstream.h"
#include "mod_tileseed_draft.h"

static const char *path_without_slash(const cmd_parms *cmd)
{
    size_t length = strlen(cmd->path);

    while (length > 0 && cmd->path[length - 1] == '/') {
        length--;
    }
    return apr_pstrmemdup(cmd->pool, cmd->path, length);
}

const char *tseed_set_rest(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

const char *tseed_set_page(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

const char *tseed_set_tiles(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

const char *tseed_set_dialect(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

const char *tseed_set_metrics(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_dir_conf_t *conf = dir;

    return tseed_read_switch(&conf->metrics, NULL, APR_ARRAY_IDX(words, 0, const char *),
                             cmd->pool);
}

/* Whether the layers exist shows when the whole configuration has been read. */
const char *tseed_set_layers(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

const char *tseed_set_check_origin(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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
const char *tseed_set_public_url(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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
