/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How far a task is at each zoom level, and whether its counts can be true. Worked out of its
 * finished positions: nothing is counted by level. Pure functions; any thread. */
#ifndef TSEED_TASK_LEVELS_H
#define TSEED_TASK_LEVELS_H

#include "protocol/tseed_task.h"

/* A level of a task. Metatiles of a truncate are whole levels. */
typedef struct {
    int z;
    int64_t metatiles, finished;
    int64_t tiles; /* -1: not known, of a task that retries another */
} tseed_task_level_t;

/* The levels (tseed_task_level_t) of a task, ascending, in `pool`. `gridset` is the task's, as it
 * was when the task was accepted. `listed` has for each of TSEED_LEVELS_MAX levels the number of
 * metatiles that a task with retry_of is about; NULL for other tasks. */
apr_array_header_t *tseed_task_levels(const tseed_task_t *task, const tseed_progress_t *progress,
                                      const tseed_gridset_t *gridset, const int64_t *listed,
                                      apr_pool_t *pool);

/* Whether the tiles that a progress counts are the tiles of its finished positions, as they are
 * whenever a seed or reseed under way is shown or saved. Says 1 of other tasks: a truncate counts
 * within a level, and the list of a task with retry_of is not at hand. `gridset` as above. */
int tseed_task_adds_up(const tseed_task_t *task, const tseed_progress_t *progress,
                       const tseed_gridset_t *gridset);

#endif
