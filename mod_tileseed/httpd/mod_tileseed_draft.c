/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Drafts of layers while their directives are read. */
#include "mod_tileseed_draft.h"

#include <apr_strings.h>
#include <string.h>

#include "mod_tileseed.h"
#include "work/tseed_job.h"

/* ---- drafts ---- */

static void set_default(tseed_layer_t *layer, const tseed_rule_t *rule, apr_pool_t *pool)
{
    if (rule->initial) {
        rule->value.read((char *)layer + rule->value.offset, &rule->value, rule->initial, pool);
    }
}

tseed_draft_t *tseed_draft_create(const ap_directive_t *where, const char *name, apr_pool_t *pool)
{
    tseed_draft_t *draft = apr_pcalloc(pool, sizeof(*draft));
    tseed_layer_t *layer = &draft->layer;

    draft->where = where;
    draft->said = apr_hash_make(pool);
    draft->grids = apr_array_make(pool, 2, sizeof(tseed_grid_choice_t));
    layer->name = name;
    layer->subsets = apr_array_make(pool, 2, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 2, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 2, sizeof(tseed_filter_t));
    layer->meta_width = layer->meta_height = TSEED_METATILE_SIDE;
    layer->most_width = layer->most_height = TSEED_REQUEST_SIDE;
    layer->failure_limit = 1000;
    layer->expires = -1;
    for (const command_rec *command = tileseed_module.cmds; command->name; command++) {
        set_default(layer, command->cmd_data, pool);
    }
    return draft;
}

/* ---- what is said ---- */

/* The draft that a directive speaks to: its block's or the defaults. */
static const char *find_draft(tseed_draft_t **draft, const cmd_parms *cmd)
{
    tseed_drafts_t *drafts = tseed_conf_main()->drafts;

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

const char *tseed_draft_say(tseed_draft_t **draft, const cmd_parms *cmd, int may_repeat)
{
    const char *error = find_draft(draft, cmd);
    const ap_directive_t *first = error ? NULL : tseed_draft_said(*draft, cmd->cmd->name);

    if (first && !may_repeat) {
        error = apr_psprintf(cmd->pool, "it is there twice, the first is on %s",
                             tseed_directive_place(first, cmd->pool));
    }
    if (!error && !first) {
        apr_hash_set((*draft)->said, cmd->cmd->name, APR_HASH_KEY_STRING, cmd->directive);
    }
    return error;
}
