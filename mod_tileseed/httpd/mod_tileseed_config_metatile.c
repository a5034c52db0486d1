/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TileSeedPrune: what is not asked for. TileSeedMetatile: how many tiles a request asks for. */
#include <stddef.h>
#include <string.h>

#include <apr_cstr.h>
#include <apr_strings.h>

#include "base/tseed_text.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_options.h"
#include "work/tseed_job.h"

/* ---- TileSeedPrune ---- */

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

static const tseed_option_t prune_options[] = {
    TSEED_OPTION("sparse", tseed_read_switch, tseed_uniform_config_t, sparse),
    TSEED_OPTION("check", read_share, tseed_uniform_config_t, share),
    {.name = NULL},
};

/* Reads "off", "uniform" or "uniform=3". */
static const char *read_choice(tseed_uniform_config_t *prune, const char *text, apr_pool_t *pool)
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

const char *tseed_set_uniform(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_uniform_config_t prune = {.depth = DEPTH_DEFAULT, .share = SHARE_DEFAULT};
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
        error = tseed_options_read(&prune, prune_options, words, 1, cmd->pool);
    }
    if (!error) {
        error = tseed_draft_say_once(&draft, TSEED_SAID_UNIFORM, cmd);
    }
    if (!error) {
        draft->layer.uniform = prune;
    }
    return error;
}

/* ---- TileSeedMetatile ---- */

/* What stands behind the size. */
typedef struct {
    int gutter, edge;
    const char *most;
} options_t;

/* The seeder chooses how many metatiles a request asks for. */
static const char *read_auto(tseed_layer_t *layer, const char *most, apr_pool_t *pool)
{
    const char *error = NULL;

    layer->meta_width = layer->meta_height = TSEED_METATILE_SIDE;
    layer->most_width = layer->most_height = TSEED_REQUEST_SIDE;
    if (most) {
        error = tseed_read_pair(&layer->most_width, &layer->most_height, most,
                                TSEED_METATILE_SIDE_MAX, pool);
    }
    if (!error &&
        (layer->most_width < TSEED_METATILE_SIDE || layer->most_height < TSEED_METATILE_SIDE)) {
        error = apr_psprintf(pool,
                             "max=%s is smaller than a metatile of auto, %dx%d: max=%dx%d to "
                             "max=%dx%d is expected, or the fixed size %s instead of auto",
                             most, TSEED_METATILE_SIDE, TSEED_METATILE_SIDE, TSEED_METATILE_SIDE,
                             TSEED_METATILE_SIDE, TSEED_METATILE_SIDE_MAX, TSEED_METATILE_SIDE_MAX,
                             most);
    }
    return error;
}

static const char *read_fixed(tseed_layer_t *layer, const char *size, const char *most,
                              apr_pool_t *pool)
{
    const char *error;

    if (most) {
        return apr_psprintf(pool, "max=%s says how large auto may become, and %s is fixed", most,
                            size);
    }
    layer->most_width = layer->most_height = 0;
    error = tseed_read_pair(&layer->meta_width, &layer->meta_height, size, TSEED_METATILE_SIDE_MAX,
                            pool);
    return error ? apr_pstrcat(pool, error, ", or auto", NULL) : NULL;
}

const char *tseed_set_metatile(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const char *const edges[] = {"cut", "ask", NULL};
    static const tseed_option_t options[] = {
        TSEED_OPTION("max", tseed_read_text, options_t, most),
        TSEED_OPTION_RANGE("gutter", tseed_read_int, options_t, gutter, 0, TSEED_GUTTER_MAX),
        TSEED_OPTION_WORD("edge", options_t, edge, edges),
        {.name = NULL},
    };
    const char *size = APR_ARRAY_IDX(words, 0, const char *);
    const int is_auto = apr_cstr_casecmp(size, "auto") == 0;
    options_t read = {0};
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_METATILE, cmd);

    (void)dir;
    if (!error && is_auto) {
        error = tseed_option_apart(words, 1, "max", cmd->pool);
    }
    if (!error) {
        error = tseed_options_read(&read, options, words, 1, cmd->pool);
    }
    if (!error) {
        draft->layer.gutter = read.gutter;
        draft->layer.gutter_beyond = read.edge;
        error = is_auto ? read_auto(&draft->layer, read.most, cmd->pool)
                        : read_fixed(&draft->layer, size, read.most, cmd->pool);
    }
    return error;
}
