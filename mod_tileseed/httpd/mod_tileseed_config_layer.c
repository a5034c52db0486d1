/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* <TileSeedLayer>, and what says how the tiles of a layer are drawn, encoded and kept: in its
 * block, or before all layers as the default for those that don't say it themselves. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_dump.h"
#include "source/tseed_wms.h"
#include "store/tseed_store.h"
#include "work/tseed_job.h"

#define QUOTE_MAX 100 /* of a value, in a message */

/* ---- the block ---- */

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

static const char *set_layer(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_drafts_t *drafts = tseed_conf_main()->drafts;
    const char *name = APR_ARRAY_IDX(words, 0, const char *);
    const char *error = check_new_layer(drafts, name, cmd->pool);

    (void)dir;
    if (error) {
        return error;
    }
    drafts->current = tseed_draft_create(cmd->directive, name, cmd->pool);
    APR_ARRAY_PUSH(drafts->layers, tseed_draft_t *) = drafts->current;
    error = tseed_section_walk(cmd);
    drafts->current = NULL;
    return error;
}

/* ---- grid sets ---- */

static const char *set_grid(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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
        error = tseed_draft_say(&draft, cmd, 1);
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

static void dump_subset(const tseed_dump_t *dump, const tseed_subset_t *subset)
{
    tseed_dump_line(dump, "TileSeedGrid %s zoom=%d-%d extent=%s%s",
                    tseed_show_word(subset->gridset->name, dump->pool), subset->zoom_first,
                    subset->zoom_last, tseed_show_box(&subset->extent, ",", dump->pool),
                    tseed_dump_option(dump, "srs", subset->srs));
}

static void show_subsets(const tseed_dump_t *dump, const void *layer)
{
    const apr_array_header_t *all = ((const tseed_layer_t *)layer)->subsets;

    for (int i = 0; i < all->nelts; i++) {
        dump_subset(dump, &APR_ARRAY_IDX(all, i, tseed_subset_t));
    }
}

/* ---- formats ---- */

static const char *const words_palette[] = {
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

static int takes(const tseed_format_t *format, const char *name)
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
    for (size_t i = 0; !takes(format, name); i++) {
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

static const char *set_format(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("from", read_image_type, tseed_format_t, from),
        TSEED_OPTION_RANGE("quality", tseed_read_int, tseed_format_t, quality, 1, 100),
        TSEED_OPTION_RANGE("level", tseed_read_int, tseed_format_t, level, 1, 12),
        TSEED_OPTION_WORD("palette", tseed_format_t, palette, words_palette),
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
        error = tseed_draft_say(&draft, cmd, 1);
    }
    if (!error && tseed_layer_find_format(&draft->layer, format.mime)) {
        error = apr_psprintf(cmd->pool, "the layer has the format %s already", format.mime);
    }
    if (!error) {
        APR_ARRAY_PUSH(draft->layer.formats, tseed_format_t) = format;
    }
    return error;
}

static const char *show_number(const tseed_dump_t *dump, const tseed_format_t *format,
                               const char *name, int value)
{
    return takes(format, name) ? apr_psprintf(dump->pool, " %s=%d", name, value) : "";
}

static void dump_format(const tseed_dump_t *dump, const tseed_format_t *format)
{
    const char *palette = words_palette[format->palette];

    tseed_dump_line(dump, "TileSeedFormat %s%s%s%s%s%s", tseed_show_word(format->mime, dump->pool),
                    tseed_dump_option(dump, "from", format->from),
                    format->lossless ? "" : show_number(dump, format, "quality", format->quality),
                    show_number(dump, format, "level", format->level),
                    takes(format, "palette") ? tseed_dump_option(dump, "palette", palette) : "",
                    format->lossless ? " lossless=on" : "");
}

static void show_formats(const tseed_dump_t *dump, const void *layer)
{
    const apr_array_header_t *all = ((const tseed_layer_t *)layer)->formats;

    for (int i = 0; i < all->nelts; i++) {
        dump_format(dump, &APR_ARRAY_IDX(all, i, tseed_format_t));
    }
}

/* ---- TileSeedMetatile ---- */

/* What stands behind the size. */
typedef struct {
    int gutter, edge;
    const char *most;
} metatile_options_t;

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

static const char *set_metatile(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const char *const edges[] = {"cut", "ask", NULL};
    static const tseed_option_t options[] = {
        TSEED_OPTION("max", tseed_read_text, metatile_options_t, most),
        TSEED_OPTION_RANGE("gutter", tseed_read_int, metatile_options_t, gutter, 0,
                           TSEED_GUTTER_MAX),
        TSEED_OPTION_WORD("edge", metatile_options_t, edge, edges),
        {.name = NULL},
    };
    const char *size = APR_ARRAY_IDX(words, 0, const char *);
    const int is_auto = apr_cstr_casecmp(size, "auto") == 0;
    metatile_options_t read = {0};
    tseed_draft_t *draft;
    const char *error = tseed_draft_say(&draft, cmd, 0);

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

static void show_metatile(const tseed_dump_t *dump, const void *of)
{
    const tseed_layer_t *layer = of;
    const char *size = apr_psprintf(dump->pool, "%dx%d", layer->meta_width, layer->meta_height);

    if (layer->most_width > 0) {
        size = apr_psprintf(dump->pool, "auto max=%dx%d", layer->most_width, layer->most_height);
    }
    tseed_dump_line(dump, "TileSeedMetatile %s gutter=%d edge=%s", size, layer->gutter,
                    layer->gutter_beyond ? "ask" : "cut");
}

/* ---- parameters ---- */

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

static const char *const words_case[] = {
    [TSEED_CASE_KEEP] = "keep",
    [TSEED_CASE_UPPER] = "upper",
    [TSEED_CASE_LOWER] = "lower",
    NULL,
};

static const char *set_parameter(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t options[] = {
        TSEED_OPTION("default", tseed_read_text, tseed_filter_t, default_value),
        TSEED_OPTION("value", tseed_read_list, tseed_filter_t, values),
        TSEED_OPTION("regex", tseed_read_text, tseed_filter_t, regex),
        TSEED_OPTION_RANGE("max", tseed_read_int, tseed_filter_t, most, 1, 16384),
        TSEED_OPTION_WORD("case", tseed_filter_t, letter_case, words_case),
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
        error = tseed_draft_say(&draft, cmd, 1);
    }
    if (!error && tseed_layer_find_filter(&draft->layer, name)) {
        error = apr_psprintf(cmd->pool, "the layer has the parameter %s already", name);
    }
    if (!error) {
        APR_ARRAY_PUSH(draft->layer.filters, tseed_filter_t) = filter;
    }
    return error;
}

static void dump_filter(const tseed_dump_t *dump, const tseed_filter_t *filter)
{
    tseed_dump_line(dump, "TileSeedParameter %s%s%s%s max=%d case=%s", filter->name,
                    tseed_dump_option(dump, "default", filter->default_value),
                    tseed_dump_options(dump, "value", filter->values),
                    tseed_dump_option(dump, "regex", filter->regex),
                    filter->most > 0 ? filter->most : TSEED_FILTER_USUAL,
                    words_case[filter->letter_case]);
}

static void show_filters(const tseed_dump_t *dump, const void *layer)
{
    const apr_array_header_t *all = ((const tseed_layer_t *)layer)->filters;

    for (int i = 0; i < all->nelts; i++) {
        dump_filter(dump, &APR_ARRAY_IDX(all, i, tseed_filter_t));
    }
}

/* ---- TileSeedStore ---- */

/* Octal permission bits. */
static const char *read_mode(void *member, const tseed_option_t *option, const char *text,
                             apr_pool_t *pool)
{
    long bits = strtol(text, NULL, 8);

    if (!*text || text[strspn(text, "01234567")] || bits < option->lowest ||
        bits > option->highest) {
        return apr_psprintf(pool,
                            "'%s' is not possible, octal permission bits from 0%lo to 0%lo are "
                            "expected",
                            tseed_text_quote(text, QUOTE_MAX, pool), (long)option->lowest,
                            (long)option->highest);
    }
    *(int *)member = (int)bits;
    return NULL;
}

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

static const tseed_option_t store_options[] = {
    {.name = "layout", .read = read_layout, .words = tseed_layout_words},
    TSEED_OPTION("link-uniform", tseed_read_switch, tseed_store_config_t, link_uniform),
    TSEED_OPTION_RANGE("mode", read_mode, tseed_store_config_t, mode, 0400, 0777),
    TSEED_OPTION_RANGE("dirmode", read_mode, tseed_store_config_t, dirmode, 0700, 07777),
    {.name = NULL},
};

static const char *set_store(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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
    error = tseed_options_read(&store, store_options, words, 2, cmd->pool);
    if (!error) {
        error = tseed_store_check(&store, cmd->pool);
    }
    if (!error) {
        error = tseed_draft_say(&draft, cmd, 0);
    }
    if (!error) {
        draft->layer.store = store;
    }
    return error;
}

static void show_store(const tseed_dump_t *dump, const void *layer)
{
    const tseed_store_config_t *store = &((const tseed_layer_t *)layer)->store;
    const char *layout = store->layout == TSEED_LAYOUT_TEMPLATE ? store->path_template
                                                                : tseed_layout_words[store->layout];

    tseed_dump_line(dump, "TileSeedStore file %s%s link-uniform=%s mode=%04o dirmode=%04o",
                    tseed_show_word(store->root, dump->pool),
                    tseed_dump_option(dump, "layout", layout), store->link_uniform ? "on" : "off",
                    (unsigned)store->mode, (unsigned)store->dirmode);
}

/* ---- the table ---- */

/* In the order of the dump. */
static const command_rec directives[] = {
    TSEED_DIRECTIVE("<TileSeedLayer", TSEED_RULE(TSEED_IN_SERVER, 1, 1, set_layer),
                    "NAME, a layer"),
    TSEED_DIRECTIVE("TileSeedGrid", TSEED_SHOWN(TSEED_IN_LAYERS, 1, -1, set_grid, show_subsets),
                    "GRIDSET [zoom=FIRST-LAST] [extent=minx,miny,maxx,maxy] [srs=EPSG:N]"),
    TSEED_DIRECTIVE("TileSeedFormat",
                    TSEED_LAYER_OWN(formats, formats, 1, -1, set_format, show_formats),
                    "MIME [from=MIME] [quality=85] [level=1] [palette=keep|auto|none]"),
    TSEED_DIRECTIVE("TileSeedMetatile",
                    TSEED_LAYER_OWN(meta_width, gutter_beyond, 1, -1, set_metatile, show_metatile),
                    "auto|WIDTHxHEIGHT [max=WIDTHxHEIGHT] [gutter=N] [edge=cut|ask]"),
    TSEED_DIRECTIVE("TileSeedParameter",
                    TSEED_LAYER_OWN(filters, filters, 1, -1, set_parameter, show_filters),
                    "NAME [default=V] [value=V ...] [regex=RE] [case=keep|upper|lower]"),
    TSEED_DIRECTIVE("TileSeedStore", TSEED_LAYER_OWN(store, store, 2, -1, set_store, show_store),
                    "file DIR [layout=geowebcache] [link-uniform=on] [mode=0644] [dirmode=0755]"),
    {.name = NULL},
};

const tseed_module_part_t tseed_config_layer_part = {.directives = directives};
