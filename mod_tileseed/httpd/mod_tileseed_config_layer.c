/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Directives of a layer: in its block, or before all layers as the default for those that don't
 * say it themselves. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "mod_tileseed_draft.h"
#include "work/tseed_job.h"
#include "source/tseed_wms.h"

/* A year: HTTP caches have always taken it for "for ever". */
#define EXPIRES_MAX (365 * 86400 * APR_USEC_PER_SEC)

/* ---- drafts ---- */

static tseed_draft_t *draft_create(const ap_directive_t *where, const char *name, apr_pool_t *pool)
{
    tseed_draft_t *draft = apr_pcalloc(pool, sizeof(*draft));
    tseed_layer_t *layer = &draft->layer;

    draft->where = where;
    draft->grids = apr_array_make(pool, 2, sizeof(tseed_grid_choice_t));
    layer->name = name;
    layer->subsets = apr_array_make(pool, 2, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 2, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 2, sizeof(tseed_filter_t));
    layer->meta_width = layer->meta_height = TSEED_METATILE_SIDE;
    layer->most_width = layer->most_height = TSEED_REQUEST_SIDE;
    layer->retries = 2;
    layer->failure_limit = 1000;
    layer->expires = -1;
    layer->tilesets_most = 256;
    return draft;
}

tseed_drafts_t *tseed_drafts_create(apr_pool_t *pool)
{
    tseed_drafts_t *drafts = apr_pcalloc(pool, sizeof(*drafts));

    drafts->defaults = draft_create(NULL, NULL, pool);
    drafts->layers = apr_array_make(pool, 8, sizeof(tseed_draft_t *));
    drafts->references = apr_array_make(pool, 4, sizeof(tseed_layer_reference_t));
    drafts->locations = apr_array_make(pool, 2, sizeof(const ap_directive_t *));
    drafts->tile_bases = apr_array_make(pool, 2, sizeof(const char *));
    apr_pool_create(&drafts->systems_pool, pool);
    drafts->systems = tseed_systems_create(drafts->systems_pool);
    return drafts;
}

static tseed_drafts_t *drafts_of_server(void)
{
    return tseed_conf_main()->drafts;
}

/* The draft that a directive speaks to: its block's or the defaults. */
static const char *find_draft(tseed_draft_t **draft, const cmd_parms *cmd)
{
    tseed_drafts_t *drafts = drafts_of_server();

    *draft = drafts->current ? drafts->current : drafts->defaults;
    if (drafts->current || drafts->layers->nelts == 0) {
        return NULL;
    }
    return apr_psprintf(
        cmd->pool,
        "a default for all layers must stand before the first <TileSeedLayer>, "
        "which is on %s",
        tseed_directive_place(APR_ARRAY_IDX(drafts->layers, 0, tseed_draft_t *)->where, cmd->pool));
}

/* The same, for a directive that may be there several times. */
static const char *say_again(tseed_draft_t **draft, tseed_said_t what, const cmd_parms *cmd)
{
    const char *error = find_draft(draft, cmd);

    if (!error && !(*draft)->said[what]) {
        (*draft)->said[what] = cmd->directive;
    }
    return error;
}

const char *tseed_draft_say_once(tseed_draft_t **draft, tseed_said_t what, const cmd_parms *cmd)
{
    const char *error = find_draft(draft, cmd);

    if (!error && (*draft)->said[what]) {
        return apr_psprintf(cmd->pool, "it is there twice, the first is on %s",
                            tseed_directive_place((*draft)->said[what], cmd->pool));
    }
    return error ? error : say_again(draft, what, cmd);
}

static const char *check_new_layer(const tseed_drafts_t *drafts, const char *name, apr_pool_t *pool)
{
    const char *error = tseed_name_check("a layer", name, pool);

    for (int i = 0; !error && i < drafts->layers->nelts; i++) {
        const tseed_draft_t *other = APR_ARRAY_IDX(drafts->layers, i, tseed_draft_t *);

        if (strcmp(other->layer.name, name) == 0) {
            error = apr_psprintf(pool, "there is a layer '%s' already, on %s", name,
                                 tseed_directive_place(other->where, pool));
        }
    }
    return error;
}

const char *tseed_set_layer(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_drafts_t *drafts = drafts_of_server();
    const char *name = APR_ARRAY_IDX(words, 0, const char *);
    const char *error = check_new_layer(drafts, name, cmd->pool);

    (void)dir;
    if (error) {
        return error;
    }
    drafts->current = draft_create(cmd->directive, name, cmd->pool);
    APR_ARRAY_PUSH(drafts->layers, tseed_draft_t *) = drafts->current;
    error = tseed_section_walk(cmd);
    drafts->current = NULL;
    return error;
}

/* ---- grid sets, formats, metatiles, parameters ---- */

const char *tseed_set_grid(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("zoom", tseed_read_text, tseed_grid_choice_t, zoom),
        TSEED_OPTION("extent", tseed_read_text, tseed_grid_choice_t, extent),
        TSEED_OPTION("srs", tseed_read_text, tseed_grid_choice_t, srs),
        {.name = NULL},
    };
    tseed_grid_choice_t choice = {.where = cmd->directive,
                                  .gridset = APR_ARRAY_IDX(words, 0, const char *)};
    const char *error = tseed_options_read(&choice, options, words, 1, cmd->pool);
    tseed_draft_t *draft;

    (void)dir;
    if (!error) {
        error = say_again(&draft, TSEED_SAID_GRID, cmd);
    }
    if (error) {
        return error;
    }
    for (int i = 0; i < draft->grids->nelts; i++) {
        if (strcmp(APR_ARRAY_IDX(draft->grids, i, tseed_grid_choice_t).gridset, choice.gridset) ==
            0) {
            return apr_psprintf(cmd->pool, "the layer has the grid set '%s' already",
                                choice.gridset);
        }
    }
    APR_ARRAY_PUSH(draft->grids, tseed_grid_choice_t) = choice;
    return NULL;
}

const char *const tseed_words_palette[] = {
    [TSEED_PALETTE_KEEP] = "keep",
    [TSEED_PALETTE_AUTO] = "auto",
    [TSEED_PALETTE_NONE] = "none",
    NULL,
};

static const char *read_image_type(void *member, const tseed_option_t *option, const char *text,
                                   apr_pool_t *pool)
{
    if (apr_cstr_casecmpn(text, "image/", 6) != 0) {
        return apr_psprintf(pool, "'%s' is no type of an image, such as image/png", text);
    }
    return tseed_read_text(member, option, text, pool);
}

#define CODEC(name) (1u << TSEED_CODEC_##name)
#define MIXES       (CODEC(JPEG_PNG) | CODEC(JPEG_PNG8))

/* The options that mean nothing to some formats. */
static const struct {
    const char *name;
    unsigned codecs; /* which know it */
    const char *formats;
} special[] = {
    {"quality", CODEC(JPEG) | CODEC(WEBP) | MIXES, "image/jpeg, image/webp and the mixes"},
    {"level", CODEC(PNG) | CODEC(PNG8) | CODEC(WEBP) | MIXES,
     "image/png, image/png8, image/webp and the mixes"},
    {"palette", CODEC(PNG) | CODEC(JPEG_PNG), "image/png and image/vnd.jpeg-png"},
    {"lossless", CODEC(WEBP), "image/webp"},
};

int tseed_format_takes(const tseed_format_t *format, const char *name)
{
    size_t i = 0;

    while (i < sizeof(special) / sizeof(special[0]) &&
           apr_cstr_casecmp(special[i].name, name) != 0) {
        i++;
    }
    return i == sizeof(special) / sizeof(special[0]) || special[i].codecs & 1u << format->codec;
}

static const char *check_option(const tseed_format_t *format, const char *word, apr_pool_t *pool)
{
    const char *name, *value;

    tseed_option_cut(&name, &value, word, pool);
    for (size_t i = 0; !tseed_format_takes(format, name); i++) {
        if (apr_cstr_casecmp(special[i].name, name) == 0) {
            return apr_psprintf(pool, "%s is for %s, not for %s", word, special[i].formats,
                                format->mime);
        }
    }
    if (format->lossless && apr_cstr_casecmp(name, "quality") == 0) {
        return apr_psprintf(pool, "%s means nothing with lossless=on", word);
    }
    return NULL;
}

/* Whether each option that is written means something to the format. */
static const char *check_options(const tseed_format_t *format, const apr_array_header_t *words,
                                 apr_pool_t *pool)
{
    const char *error = NULL;

    for (int i = 1; i < words->nelts && !error; i++) {
        error = check_option(format, APR_ARRAY_IDX(words, i, const char *), pool);
    }
    return error;
}

const char *tseed_set_format(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("from", read_image_type, tseed_format_t, from),
        TSEED_OPTION_RANGE("quality", tseed_read_int, tseed_format_t, quality, 1, 100),
        TSEED_OPTION_RANGE("level", tseed_read_int, tseed_format_t, level, 1, 12),
        TSEED_OPTION_WORD("palette", tseed_format_t, palette, tseed_words_palette),
        TSEED_OPTION("lossless", tseed_read_switch, tseed_format_t, lossless),
        {.name = NULL},
    };
    tseed_format_t format;
    tseed_draft_t *draft;
    const char *error =
        tseed_format_init(&format, APR_ARRAY_IDX(words, 0, const char *), cmd->pool);

    (void)dir;
    if (!error) {
        error = tseed_options_read(&format, options, words, 1, cmd->pool);
    }
    if (!error) {
        error = check_options(&format, words, cmd->pool);
    }
    if (!error) {
        error = say_again(&draft, TSEED_SAID_FORMAT, cmd);
    }
    if (!error && tseed_layer_find_format(&draft->layer, format.mime)) {
        error = apr_psprintf(cmd->pool, "the layer has the format %s already", format.mime);
    }
    if (!error) {
        APR_ARRAY_PUSH(draft->layer.formats, tseed_format_t) = format;
    }
    return error;
}

static const char *check_parameter_name(const char *name, apr_pool_t *pool)
{
    for (const char *c = name; *c; c++) {
        if (!tseed_ascii_is_alnum(*c) && !strchr("_-.:", *c)) {
            return apr_psprintf(pool,
                                "'%s' is no name of a parameter, letters, digits and _-.: are "
                                "expected",
                                name);
        }
    }
    return *name ? tseed_wms_check_key(name, pool) : "the name of a parameter must not be empty";
}

const char *const tseed_words_case[] = {
    [TSEED_CASE_KEEP] = "keep",
    [TSEED_CASE_UPPER] = "upper",
    [TSEED_CASE_LOWER] = "lower",
    NULL,
};

const char *tseed_set_parameter(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("default", tseed_read_text, tseed_filter_t, default_value),
        TSEED_OPTION("value", tseed_read_list, tseed_filter_t, values),
        TSEED_OPTION("regex", tseed_read_text, tseed_filter_t, regex),
        TSEED_OPTION_RANGE("max", tseed_read_int, tseed_filter_t, most, 1, 16384),
        TSEED_OPTION_WORD("case", tseed_filter_t, letter_case, tseed_words_case),
        {.name = NULL},
    };
    char *name = apr_pstrdup(cmd->pool, APR_ARRAY_IDX(words, 0, const char *));
    tseed_filter_t filter = {.name = name, .default_value = ""};
    tseed_draft_t *draft;
    const char *error = check_parameter_name(name, cmd->pool);

    (void)dir;
    ap_str_toupper(name);
    filter.values = apr_array_make(cmd->pool, 4, sizeof(const char *));
    if (!error) {
        error = tseed_options_read(&filter, options, words, 1, cmd->pool);
    }
    if (!error) {
        error = tseed_filter_compile(&filter, cmd->pool);
    }
    if (!error) {
        error = say_again(&draft, TSEED_SAID_PARAMETER, cmd);
    }
    if (!error && tseed_layer_find_filter(&draft->layer, name)) {
        error = apr_psprintf(cmd->pool, "the layer has the parameter %s already", name);
    }
    if (!error) {
        APR_ARRAY_PUSH(draft->layer.filters, tseed_filter_t) = filter;
    }
    return error;
}

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

const char *tseed_set_derive(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("zoom", read_derived, tseed_layer_t, derived),
        {.name = NULL},
    };
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_DERIVE, cmd);

    (void)dir;
    if (!error && strcmp(APR_ARRAY_IDX(words, 0, const char *), "off") == 0) {
        return NULL;
    }
    if (!error) {
        error = tseed_option_apart(words, 0, "zoom", cmd->pool);
    }
    return error ? error : tseed_options_read(&draft->layer, options, words, 0, cmd->pool);
}

/* ---- limits ---- */

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

const char *tseed_set_keep(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("zoom", read_kept, tseed_layer_t, kept),
        {.name = NULL},
    };
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_KEEP, cmd);

    (void)dir;
    if (!error) {
        error = tseed_option_apart(words, 0, "zoom", cmd->pool);
    }
    return error ? error : tseed_options_read(&draft->layer, options, words, 0, cmd->pool);
}

const char *tseed_set_reseed(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const char *const choices[] = {"changed", "all", NULL};
    static const tseed_option_t option = {.words = choices};
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_RESEED, cmd);

    (void)dir;
    return error ? error
                 : tseed_read_word(&draft->layer.reseed_all, &option,
                                   APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}

const char *tseed_set_retries(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.highest = 1000};
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_RETRIES, cmd);

    (void)dir;
    return error ? error
                 : tseed_read_int(&draft->layer.retries, &range,
                                  APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}

static const char *read_percent(int64_t *percent, const char *text, apr_pool_t *pool)
{
    if (tseed_text_int64(percent, apr_pstrmemdup(pool, text, strlen(text) - 1), 0, 100) != 0) {
        return apr_psprintf(pool, "'%s' is not possible, a share from 0%% to 100%% is expected",
                            tseed_text_quote(text, 60, pool));
    }
    return NULL;
}

const char *tseed_set_failure_limit(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.lowest = -1, .highest = INT64_MAX};
    const char *text = APR_ARRAY_IDX(words, 0, const char *);
    size_t length = strlen(text);
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_FAILURE_LIMIT, cmd);

    (void)dir;
    if (!error && length > 0 && text[length - 1] == '%') {
        error = read_percent(&draft->layer.failure_limit, text, cmd->pool);
        draft->layer.failure_is_share = 1;
    } else if (!error) {
        error = tseed_read_int64(&draft->layer.failure_limit, &range, text, cmd->pool);
    }
    return error;
}

const char *tseed_set_expires(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.highest = EXPIRES_MAX};
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_EXPIRES, cmd);

    (void)dir;
    return error ? error
                 : tseed_read_duration(&draft->layer.expires, &range,
                                       APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}

const char *const tseed_words_on_miss[] = {
    [TSEED_ON_MISS_FETCH] = "fetch",
    [TSEED_ON_MISS_404] = "404",
    [TSEED_ON_MISS_EMPTY] = "empty",
    NULL,
};

const char *tseed_set_on_miss(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t option = {.words = tseed_words_on_miss};
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_ON_MISS, cmd);

    (void)dir;
    return error ? error
                 : tseed_read_word(&draft->layer.on_miss, &option,
                                   APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}

const char *tseed_set_max_tilesets(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.lowest = 0, .highest = 1000000};
    tseed_draft_t *draft;
    const char *error = tseed_draft_say_once(&draft, TSEED_SAID_MAX_TILESETS, cmd);

    (void)dir;
    return error ? error
                 : tseed_read_int(&draft->layer.tilesets_most, &range,
                                  APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}
