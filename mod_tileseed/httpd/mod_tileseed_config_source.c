/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TileSeedSource: where a layer's images come from. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "mod_tileseed_draft.h"
#include "source/tseed_source.h"

/* One parameter of the requests, whatever its name. */
static const char *add_parameter(apr_table_t *parameters, const char *word, apr_pool_t *pool)
{
    const char *name, *value;
    char *key;

    if (!tseed_option_cut(&name, &value, word, pool)) {
        return apr_psprintf(pool, "'%s' is not understood, NAME=VALUE is expected", word);
    }
    key = apr_pstrdup(pool, name);
    ap_str_toupper(key);
    if (apr_table_get(parameters, key)) {
        return apr_psprintf(pool, "%s= is there twice, once is expected", name);
    }
    apr_table_setn(parameters, key, value);
    return NULL;
}

const char *const tseed_words_source[] = {
    [TSEED_SOURCE_WMS] = "wms",
    [TSEED_SOURCE_XYZ] = "xyz",
    [TSEED_SOURCE_WMTS] = "wmts",
    NULL,
};

const char *const tseed_words_source_mode[] = {
    [TSEED_SOURCE_FALLBACK] = "fallback",
    [TSEED_SOURCE_SHARE] = "share",
    NULL,
};

static int is_address(const char *word)
{
    return apr_cstr_casecmpn(word, "http://", 7) == 0 ||
           apr_cstr_casecmpn(word, "https://", 8) == 0 ||
           strncmp(word, UPSTREAM_PREFIX, strlen(UPSTREAM_PREFIX)) == 0;
}

/* The first word behind the kind is an address whatever it looks like, and so are those that look
 * so behind it. Moves `*at` on. */
static const char *read_addresses(tseed_source_t *source, int *at, const apr_array_header_t *words,
                                  apr_pool_t *pool)
{
    do {
        if (source->count == TSEED_ADDRESSES_MAX) {
            return apr_psprintf(pool, "there are more than %d addresses", TSEED_ADDRESSES_MAX);
        }
        source->addresses[source->count++].url = APR_ARRAY_IDX(words, (*at)++, const char *);
    } while (*at < words->nelts && is_address(APR_ARRAY_IDX(words, *at, const char *)));
    return NULL;
}

/* mode= is ours where there are several addresses, and the source's parameter else. */
static const char *read_mode(tseed_source_t *source, apr_table_t *parameters, apr_pool_t *pool)
{
    static const tseed_option_t option = {.words = tseed_words_source_mode};
    const char *mode = source->count > 1 ? apr_table_get(parameters, "MODE") : NULL;

    if (!mode) {
        return NULL;
    }
    apr_table_unset(parameters, "MODE");
    return tseed_read_word(&source->mode, &option, mode, pool);
}

/* missing= is ours where the upstream has tiles, and a parameter of a WMS. */
static const char *read_missing(tseed_source_t *source, apr_table_t *parameters, apr_pool_t *pool)
{
    static const char *const words[] = {"error", "empty", NULL};
    static const tseed_option_t option = {.words = words};
    const char *missing =
        tseed_source_is_tiled(source) ? apr_table_get(parameters, "MISSING") : NULL;

    if (!missing) {
        return NULL;
    }
    apr_table_unset(parameters, "MISSING");
    return tseed_read_word(&source->missing_is_empty, &option, missing, pool);
}

const char *tseed_set_source(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t kind = {.words = tseed_words_source};
    apr_table_t *parameters = apr_table_make(cmd->pool, 8);
    tseed_source_t source = {.parameters = parameters};
    tseed_draft_t *draft;
    int at = 1;
    const char *error =
        tseed_read_word(&source.kind, &kind, APR_ARRAY_IDX(words, 0, const char *), cmd->pool);

    (void)dir;
    if (!error) {
        error = tseed_draft_say_once(&draft, TSEED_SAID_SOURCE, cmd);
    }
    if (!error) {
        error = read_addresses(&source, &at, words, cmd->pool);
    }
    for (; !error && at < words->nelts; at++) {
        error = add_parameter(parameters, APR_ARRAY_IDX(words, at, const char *), cmd->pool);
    }
    if (!error) {
        error = read_mode(&source, parameters, cmd->pool);
    }
    if (!error) {
        error = read_missing(&source, parameters, cmd->pool);
    }
    if (!error) {
        draft->layer.source = source;
    }
    return error;
}
