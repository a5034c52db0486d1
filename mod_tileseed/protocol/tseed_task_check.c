/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What has changed in the configuration since a task was accepted. */
#include "protocol/tseed_task_check.h"

#include <apr_strings.h>
#include <string.h>

static const char *check_parameters(const tseed_tileset_t *tileset, const tseed_task_t *task,
                                    apr_pool_t *pool)
{
    const apr_array_header_t *today = apr_table_elts(tileset->parameters);

    for (int i = 0; i < today->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(today, i, apr_table_entry_t);
        const char *then = apr_table_get(task->parameters, entry->key);

        if (!then) {
            return apr_psprintf(pool,
                                "layer %s has got the parameter %s since the task was "
                                "accepted: send the request again",
                                task->layer, entry->key);
        }
        if (strcmp(then, entry->val) != 0) {
            return apr_psprintf(pool,
                                "parameter %s turns '%s' into '%s' since the task was "
                                "accepted: send the request again",
                                entry->key, then, entry->val);
        }
    }
    return NULL;
}

/* Earlier versions wrote the root into the print as well. */
static int is_store_of(const tseed_task_t *task, const tseed_store_config_t *store,
                       apr_pool_t *pool)
{
    return strcmp(tseed_store_layout_print(store, pool), task->store_print) == 0 ||
           strcmp(tseed_store_print(store, pool), task->store_print) == 0;
}

int tseed_task_has_gridset(const tseed_task_t *task, const tseed_gridset_t *gridset,
                           apr_pool_t *pool)
{
    return strcmp(tseed_gridset_print(gridset, pool), task->gridset_print) == 0 &&
           task->zoom_stop < gridset->levels;
}

const char *tseed_task_tileset(tseed_tileset_t *tileset, const tseed_task_t *task,
                               const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    const tseed_layer_t *layer = tseed_catalog_find_layer(catalog, task->layer);
    const tseed_subset_t *subset = layer ? tseed_layer_find_subset(layer, task->gridset) : NULL;
    const tseed_format_t *format = layer ? tseed_layer_find_format(layer, task->format) : NULL;
    const char *problem;

    if (!layer) {
        return apr_psprintf(pool, "layer %s is not configured", task->layer);
    }
    if (!subset) {
        return apr_psprintf(pool, "layer %s no longer has the grid set %s", task->layer,
                            task->gridset);
    }
    if (!tseed_task_has_gridset(task, subset->gridset, pool)) {
        return apr_psprintf(pool,
                            "the grid set %s has changed since the task was accepted: send "
                            "the request again",
                            task->gridset);
    }
    if (!format) {
        return apr_psprintf(pool, "layer %s no longer has the format %s", task->layer,
                            task->format);
    }
    if (!is_store_of(task, &layer->store, pool)) {
        return apr_psprintf(
            pool,
            "the layout of layer %s's store has changed since the task was accepted: "
            "send the request again",
            task->layer);
    }
    problem = tseed_tileset_init(tileset, layer, subset, format, task->parameters, pool);
    return problem ? problem : check_parameters(tileset, task, pool);
}
