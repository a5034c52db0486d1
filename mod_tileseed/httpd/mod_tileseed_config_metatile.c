/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TileSeedMetatile: how many tiles a request asks for. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <stddef.h>

#include "mod_tileseed_draft.h"
#include "mod_tileseed_options.h"
#include "work/tseed_job.h"


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
        {.name = "max", .read = tseed_read_text, .offset = offsetof(options_t, most)},
        {.name = "gutter",
         .read = tseed_read_int,
         .offset = offsetof(options_t, gutter),
         .highest = TSEED_GUTTER_MAX},
        {.name = "edge",
         .read = tseed_read_word,
         .offset = offsetof(options_t, edge),
         .words = edges},
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
