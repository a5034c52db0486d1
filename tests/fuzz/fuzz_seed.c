/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the seed request: 'X' or 'J', then a document. What is accepted must be a possible task.
 */
#include "protocol/tseed_seed_request.h"
#include "target.h"

static int lies_within(const tseed_bounds_t *inner, const tseed_bounds_t *outer)
{
    return inner->minx >= outer->minx && inner->maxx <= outer->maxx && inner->miny >= outer->miny &&
           inner->maxy <= outer->maxy;
}

static void check_task(const tseed_task_t *task, const tseed_layer_t *layer)
{
    const tseed_subset_t *subset = tseed_layer_find_subset(layer, task->gridset);

    assert(subset);
    assert(tseed_layer_find_format(layer, task->format));
    assert(task->thread_count >= 1);
    assert(task->retries >= 0 && task->retry_wait >= 0);
    if (task->has_area) {
        assert(task->zoom_start >= subset->zoom_first && task->zoom_stop <= subset->zoom_last);
        assert(task->zoom_start <= task->zoom_stop);
        assert(lies_within(&task->bounds, &subset->extent));
        assert(task->tiles_total > 0);
    } else {
        assert(task->tiles_total == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    const tseed_layer_t *layer = target_layer(pool);
    tseed_seed_document_t document = {0};
    tseed_task_t task = {0};
    tseed_tileset_t tileset = {0};

    if (size > 0 &&
        !tseed_seed_document_read(&document, target_format(data[0]), (const char *)data + 1,
                                  size - 1, pool) &&
        !tseed_seed_document_resolve(&task, &tileset, &document, layer, pool)) {
        check_task(&task, layer);
    }
    apr_pool_destroy(pool);
    return 0;
}
