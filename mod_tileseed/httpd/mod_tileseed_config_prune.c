/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TileSeedPrune: whether what lies below metatiles of one colour is taken to be of that colour. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed_draft.h"

#define UNIFORM       "uniform"
#define DEPTH_MOST    30
#define DEPTH_DEFAULT 2
#define SHARE_DEFAULT 1

/* A percentage, perhaps with a point, and with or without its sign. */
static const char *read_share(void *member, const tseed_option_t *option, const char *text,
                              apr_pool_t *pool)
{
    const size_t length = strlen(text);
    const size_t digits = length > 0 && text[length - 1] == '%' ? length - 1 : length;
    double share;

    (void)option;
    if (tseed_text_double(&share, apr_pstrmemdup(pool, text, digits)) != 0 ||
        !(share >= 0 && share <= 100)) {
        return apr_psprintf(pool, "'%s' is not possible, a percentage from 0 to 100 is expected",
                            tseed_text_quote(text, 60, pool));
    }
    *(double *)member = share;
    return NULL;
}

static const char *const switches[] = {"off", "on", NULL};

static const tseed_option_t options[] = {
    {.name = "sparse",
     .read = tseed_read_word,
     .offset = offsetof(tseed_prune_config_t, sparse),
     .words = switches},
    {.name = "check", .read = read_share, .offset = offsetof(tseed_prune_config_t, share)},
    {.name = NULL},
};

/* Reads "off", "uniform" or "uniform=3". */
static const char *read_choice(tseed_prune_config_t *prune, const char *text, apr_pool_t *pool)
{
    static const tseed_option_t range = {.highest = DEPTH_MOST};
    const size_t length = strlen(UNIFORM);

    if (apr_cstr_casecmp(text, "off") == 0) {
        return NULL;
    }
    if (apr_cstr_casecmpn(text, UNIFORM, length) != 0 || (text[length] && text[length] != '=')) {
        return apr_psprintf(pool, "'%s' is not possible, off, uniform or uniform=3 is expected",
                            tseed_text_quote(text, 60, pool));
    }
    prune->is_on = 1;
    return text[length] ? tseed_read_int(&prune->depth, &range, text + length + 1, pool) : NULL;
}

const char *tseed_set_prune(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_prune_config_t prune = {.depth = DEPTH_DEFAULT, .share = SHARE_DEFAULT};
    const char *error = read_choice(&prune, APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
    tseed_draft_t *draft;

    (void)dir;
    if (!error && !prune.is_on && words->nelts > 1) {
        error = "off takes no options";
    }
    if (!error) {
        error = tseed_option_apart(words, 1, UNIFORM, cmd->pool);
    }
    if (!error) {
        error = tseed_options_read(&prune, options, words, 1, cmd->pool);
    }
    if (!error) {
        error = tseed_draft_say_once(&draft, TSEED_SAID_PRUNE, cmd);
    }
    if (!error) {
        draft->layer.prune = prune;
    }
    return error;
}
