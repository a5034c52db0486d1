/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Positions go from level to level, derived levels last. So the metatiles of a level are a span of
 * positions, be they all of the task, or the list of a task that retries another. */
#include "protocol/tseed_task_levels.h"

#include "tiling/tseed_positions.h"

/* How many positions from..to-1 are finished. */
static int64_t count_finished(const tseed_progress_t *progress, int64_t from, int64_t to)
{
    const int64_t low = progress->low;
    int64_t finished = 0;

    if (low >= to) {
        return to - from;
    }
    for (int64_t i = from > low ? from - low : 0; i < TSEED_WINDOW && i < to - low; i++) {
        finished += tseed_progress_is_done(progress, low + i);
    }
    return finished + (low > from ? low - from : 0);
}

static void positions_of(tseed_positions_t *positions, const tseed_task_t *task,
                         const tseed_gridset_t *gridset)
{
    const tseed_shape_t shape = {task->zoom_start, task->zoom_stop, task->meta_width,
                                 task->meta_height};

    tseed_positions_init_derived(positions, gridset, &task->bounds, &shape, &task->derived);
}

static int64_t count_metatiles(const tseed_task_t *task, const tseed_positions_t *positions, int z)
{
    return task->type == TSEED_TRUNCATE ? positions->tiles > 0
                                        : positions->metatiles[z];
}

/* The first position of a level: the metatiles of the levels before it. */
static int64_t first_of(const tseed_task_t *task, const tseed_positions_t *positions,
                        const int64_t *listed, int z)
{
    int64_t first = 0;
    int other;

    for (int i = 0; (other = tseed_derived_level(&task->derived, task->zoom_start, task->zoom_stop,
                                                 i)) != z;
         i++) {
        first += listed ? listed[other] : count_metatiles(task, positions, other);
    }
    return first;
}

apr_array_header_t *tseed_task_levels(const tseed_task_t *task, const tseed_progress_t *progress,
                                      const tseed_gridset_t *gridset, const int64_t *listed,
                                      apr_pool_t *pool)
{
    apr_array_header_t *levels = apr_array_make(pool, 8, sizeof(tseed_task_level_t));
    tseed_positions_t positions;

    if (!task->has_area) {
        return levels;
    }
    positions_of(&positions, task, gridset);
    for (int z = task->zoom_start; z <= task->zoom_stop; z++) {
        const int64_t metatiles = listed ? listed[z] : count_metatiles(task, &positions, z);
        const int64_t first = first_of(task, &positions, listed, z);

        APR_ARRAY_PUSH(levels, tseed_task_level_t) = (tseed_task_level_t){
            .z = z,
            .metatiles = metatiles,
            .finished = count_finished(progress, first, first + metatiles),
            .tiles = listed ? -1 : tseed_range_count(&positions.range[z]),
        };
    }
    return levels;
}

int tseed_task_adds_up(const tseed_task_t *task, const tseed_progress_t *progress,
                       const tseed_gridset_t *gridset)
{
    tseed_positions_t positions;
    int64_t tiles;

    if (task->type == TSEED_TRUNCATE || task->retry_of || !task->has_area) {
        return 1;
    }
    positions_of(&positions, task, gridset);
    if (progress->low > positions.count) {
        return 0;
    }
    tiles = tseed_positions_tiles_before(&positions, progress->low);
    for (int i = 0; i < TSEED_WINDOW && i < positions.count - progress->low; i++) {
        if (tseed_progress_is_done(progress, progress->low + i)) {
            const tseed_metatile_t metatile = tseed_positions_at(&positions, progress->low + i);

            tiles += tseed_range_count(&metatile.wanted);
        }
    }
    return tiles == tseed_progress_processed(progress);
}
