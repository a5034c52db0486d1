/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How the levels of a layer are seeded, when its tasks give up, and what becomes of its tiles: in
 * its block, or before all layers as the default for those that don't say it themselves. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_dump.h"

/* A year: HTTP caches have always taken it for "for ever". */
#define EXPIRES_MAX (365 * 86400 * APR_USEC_PER_SEC)

/* ---- TileSeedDerive ---- */

/* The levels count in every grid set that has them. */
static const char *read_derived(void *member, const tseed_option_t *option, const char *text,
                                apr_pool_t *pool)
{
    tseed_derived_t *derived = member;
    int last;

    (void)option;
    if (tseed_read_levels(&derived->first, &last, text, TSEED_LEVELS_MAX - 2, pool) != 0) {
        return apr_psprintf(pool, "'%s' is not possible, FIRST-LAST within 0 to %d is expected",
                            text, TSEED_LEVELS_MAX - 2);
    }
    derived->end = last + 1;
    return NULL;
}

static const char *set_derive(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("zoom", read_derived, tseed_layer_t, derived),
        {.name = NULL},
    };
    tseed_draft_t *draft;
    const char *error = tseed_draft_say(&draft, cmd, 0);

    (void)dir;
    if (!error && strcmp(APR_ARRAY_IDX(words, 0, const char *), "off") == 0) {
        return NULL;
    }
    if (!error) {
        error = tseed_option_apart(words, 0, "zoom", cmd->pool);
    }
    return error ? error : tseed_options_read(&draft->layer, options, words, 0, cmd->pool);
}

static void show_derived(const tseed_dump_t *dump, const void *layer)
{
    const tseed_derived_t *derived = &((const tseed_layer_t *)layer)->derived;

    if (derived->end > 0) {
        tseed_dump_line(dump, "TileSeedDerive zoom=%d-%d", derived->first, derived->end - 1);
    } else {
        tseed_dump_line(dump, "TileSeedDerive off");
    }
}

/* ---- TileSeedKeep ---- */

/* The levels count in every grid set, whichever levels it has. */
static const char *read_kept(void *member, const tseed_option_t *option, const char *text,
                             apr_pool_t *pool)
{
    uint64_t *kept = member;
    int first, last;

    (void)option;
    if (tseed_read_levels(&first, &last, text, TSEED_LEVELS_MAX - 1, pool) != 0) {
        return apr_psprintf(pool, "'%s' is not possible, FIRST-LAST within 0 to %d is expected",
                            text, TSEED_LEVELS_MAX - 1);
    }
    for (int z = first; z <= last; z++) {
        *kept |= UINT64_C(1) << z;
    }
    return NULL;
}

static const char *set_keep(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("zoom", read_kept, tseed_layer_t, kept),
        {.name = NULL},
    };
    tseed_draft_t *draft;
    const char *error = tseed_draft_say(&draft, cmd, 0);

    (void)dir;
    if (!error) {
        error = tseed_option_apart(words, 0, "zoom", cmd->pool);
    }
    return error ? error : tseed_options_read(&draft->layer, options, words, 0, cmd->pool);
}

/* The levels are one run: TileSeedKeep says them as FIRST-LAST. */
static void show_kept(const tseed_dump_t *dump, const void *layer)
{
    const uint64_t kept = ((const tseed_layer_t *)layer)->kept;
    int first = 0, last = TSEED_LEVELS_MAX - 1;

    if (kept == 0) {
        return;
    }
    while (!(kept >> first & 1)) {
        first++;
    }
    while (!(kept >> last & 1)) {
        last--;
    }
    tseed_dump_line(dump, "TileSeedKeep zoom=%d-%d", first, last);
}

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

static const char *set_uniform(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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
        error = tseed_draft_say(&draft, cmd, 0);
    }
    if (!error) {
        draft->layer.uniform = prune;
    }
    return error;
}

static void show_prune(const tseed_dump_t *dump, const void *layer)
{
    const tseed_uniform_config_t *prune = &((const tseed_layer_t *)layer)->uniform;

    if (prune->is_on) {
        tseed_dump_line(dump, "TileSeedPrune uniform=%d sparse=%s check=%g", prune->depth,
                        prune->sparse ? "on" : "off", prune->share);
    } else {
        tseed_dump_line(dump, "TileSeedPrune off");
    }
}

/* ---- TileSeedFailureLimit ---- */

static const char *read_percent(int64_t *percent, const char *text, apr_pool_t *pool)
{
    if (tseed_text_int64(percent, apr_pstrmemdup(pool, text, strlen(text) - 1), 0, 100) != 0) {
        return apr_psprintf(pool, "'%s' is not possible, a share from 0%% to 100%% is expected",
                            tseed_text_quote(text, 60, pool));
    }
    return NULL;
}

static const char *set_failure_limit(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.lowest = -1, .highest = INT64_MAX};
    const char *text = APR_ARRAY_IDX(words, 0, const char *);
    size_t length = strlen(text);
    tseed_draft_t *draft;
    const char *error = tseed_draft_say(&draft, cmd, 0);

    (void)dir;
    if (!error && length > 0 && text[length - 1] == '%') {
        error = read_percent(&draft->layer.failure_limit, text, cmd->pool);
        draft->layer.failure_is_share = 1;
    } else if (!error) {
        error = tseed_read_int64(&draft->layer.failure_limit, &range, text, cmd->pool);
    }
    return error;
}

static void show_failure_limit(const tseed_dump_t *dump, const void *of)
{
    const tseed_layer_t *layer = of;

    tseed_dump_line(dump, "TileSeedFailureLimit %" APR_INT64_T_FMT "%s", layer->failure_limit,
                    layer->failure_is_share ? "%" : "");
}

/* ---- the table ---- */

/* Reads what the rule describes into the layer of the draft. */
static const char *set_value(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_draft_t *draft;
    const char *error = tseed_draft_say(&draft, cmd, 0);

    (void)dir;
    return error ? error : tseed_rule_read(&draft->layer, cmd->info, words, cmd->pool);
}

/* Rules of directives that a row says all about: how a layer's member is read, inherited and
 * dumped. One word with its default; one of several words, NULL at their end; "off", which is the
 * default and all zeros, or options. */
#define LAYER(member, reader, low, high, by_default)                                               \
    TSEED_VALUED(TSEED_IN_LAYERS, 1, 1, set_value, TSEED_MEMBERS(member, member),                  \
                 .value.read = reader, .value.lowest = low, .value.highest = high,                 \
                 .initial = by_default)
#define LAYER_WORD(member, choices)                                                                \
    TSEED_VALUED(TSEED_IN_LAYERS, 1, 1, set_value, TSEED_MEMBERS(member, member),                  \
                 .value.read = tseed_read_word, .value.words = choices)
#define LAYER_OPTIONS(member, rows)                                                                \
    TSEED_VALUED(TSEED_IN_LAYERS, 1, -1, set_value, TSEED_MEMBERS(member, member), .options = rows)

static const char *const reseed_words[] = {"changed", "all", NULL};

static const char *const on_miss_words[] = {
    [TSEED_ON_MISS_FETCH] = "fetch",
    [TSEED_ON_MISS_404] = "404",
    [TSEED_ON_MISS_EMPTY] = "empty",
    NULL,
};

/* In the order of the dump. */
static const command_rec directives[] = {
    TSEED_DIRECTIVE("TileSeedDerive",
                    TSEED_LAYER_OWN(derived, derived, 1, 1, set_derive, show_derived),
                    "off|zoom=FIRST-LAST, levels whose tiles are made of the tiles below them"),
    TSEED_DIRECTIVE("TileSeedKeep", TSEED_LAYER_OWN(kept, kept, 1, 1, set_keep, show_kept),
                    "zoom=FIRST-LAST, levels that the disk quota never removes"),
    TSEED_DIRECTIVE("TileSeedReseed", LAYER_WORD(reseed_all, reseed_words),
                    "changed|all, which tiles a reseed makes again"),
    TSEED_DIRECTIVE("TileSeedPrune",
                    TSEED_LAYER_OWN(uniform, uniform, 1, -1, set_uniform, show_prune),
                    "off|uniform[=LEVELS] [sparse=off] [check=PERCENT], whether what lies below "
                    "metatiles of one colour is taken to be of that colour"),
    TSEED_DIRECTIVE("TileSeedRetries", LAYER(retries, tseed_read_int, 0, 1000, "2"),
                    "N, how often a metatile is tried again"),
    TSEED_DIRECTIVE("TileSeedFailureLimit",
                    TSEED_LAYER_OWN(failure_is_share, failure_limit, 1, 1, set_failure_limit,
                                    show_failure_limit),
                    "N|P%, failed metatiles after which a task is aborted, -1: none"),
    TSEED_DIRECTIVE("TileSeedExpires", LAYER(expires, tseed_read_duration, 0, EXPIRES_MAX, NULL),
                    "DURATION, how long caches may keep served tiles"),
    TSEED_DIRECTIVE("TileSeedMaxTileSets", LAYER(tilesets_most, tseed_read_int, 0, 1000000, "256"),
                    "N, how many tile sets requests for tiles may make with values not listed"),
    TSEED_DIRECTIVE("TileSeedOnMiss", LAYER_WORD(on_miss, on_miss_words),
                    "fetch|404|empty, what is served where there is no tile"),
    {.name = NULL},
};

const tseed_module_part_t tseed_config_seeding_part = {.directives = directives};
