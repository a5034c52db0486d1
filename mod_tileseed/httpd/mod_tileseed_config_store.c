/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TileSeedStore: where a layer's tiles go. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "mod_tileseed_draft.h"
#include "store/tseed_store.h"

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

static const tseed_option_t options[] = {
    {.name = "layout", .read = read_layout, .words = tseed_layout_words},
    TSEED_OPTION("link-uniform", tseed_read_switch, tseed_store_config_t, link_uniform),
    TSEED_OPTION_RANGE("mode", tseed_read_mode, tseed_store_config_t, mode, 0400, 0777),
    TSEED_OPTION_RANGE("dirmode", tseed_read_mode, tseed_store_config_t, dirmode, 0700, 07777),
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
