/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TileSeedStore: where a layer's tiles go. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "mod_tileseed_draft.h"
#include "store/tseed_store.h"

const char *const tseed_words_layout[] = {
    [TSEED_LAYOUT_GEOWEBCACHE] = "geowebcache",
    [TSEED_LAYOUT_XYZ] = "xyz",
    [TSEED_LAYOUT_TMS] = "tms",
    [TSEED_LAYOUT_ARCGIS] = "arcgis",
    [TSEED_LAYOUT_QUADKEY] = "quadkey",
    [TSEED_LAYOUT_TILECACHE] = "tilecache",
    [TSEED_LAYOUT_TEMPLATE] = "a template such as {layer}/{z}/{x}/{y}.{ext}",
    NULL,
};

/* A layout's name, or a template, which has braces. */
static const char *read_layout(void *member, const tseed_option_t *option, const char *text,
                               apr_pool_t *pool)
{
    tseed_store_config_t *store = member;

    if (strchr(text, '{')) {
        store->layout = TSEED_LAYOUT_TEMPLATE;
        store->path_template = apr_pstrdup(pool, text);
        return NULL;
    }
    return tseed_read_word(&store->layout, option, text, pool);
}

static const char *const switches[] = {"off", "on", NULL};

static const tseed_option_t options[] = {
    {.name = "layout", .read = read_layout, .words = tseed_words_layout},
    {.name = "link-uniform",
     .read = tseed_read_word,
     .offset = offsetof(tseed_store_config_t, link_uniform),
     .words = switches},
    {.name = "mode",
     .read = tseed_read_mode,
     .offset = offsetof(tseed_store_config_t, mode),
     .lowest = 0400,
     .highest = 0777},
    {.name = "dirmode",
     .read = tseed_read_mode,
     .offset = offsetof(tseed_store_config_t, dirmode),
     .lowest = 0700,
     .highest = 07777},
    {.name = NULL},
};

const char *tseed_set_store(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *kind = APR_ARRAY_IDX(words, 0, const char *);
    const char *root = APR_ARRAY_IDX(words, 1, const char *);
    tseed_store_config_t store = {
        .layout = TSEED_LAYOUT_GEOWEBCACHE, .link_uniform = 1, .mode = 0644, .dirmode = 0755};
    tseed_draft_t *draft;
    const char *error;

    (void)dir;
    if (apr_cstr_casecmp(kind, "file") != 0) {
        return apr_psprintf(cmd->pool, "the store '%s' is unknown, file is expected", kind);
    }
    store.root = ap_server_root_relative(cmd->pool, root);
    if (!store.root) {
        return apr_psprintf(cmd->pool, "'%s' is no path of a directory", root);
    }
    error = tseed_options_read(&store, options, words, 2, cmd->pool);
    if (!error) {
        error = tseed_store_check(&store, cmd->pool);
    }
    if (!error) {
        error = tseed_draft_say_once(&draft, TSEED_SAID_STORE, cmd);
    }
    if (!error) {
        draft->layer.store = store;
    }
    return error;
}
