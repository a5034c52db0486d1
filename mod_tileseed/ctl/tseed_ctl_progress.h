/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How far a task is, in one line. Pure functions over a task's document; results live in `pool`. */
#ifndef TSEED_CTL_PROGRESS_H
#define TSEED_CTL_PROGRESS_H

#include "ctl/tseed_ctl_members.h"

/* "z14  61.3 %  1.37M/2.24M tiles  412/s  ETA 35 min  failed 2 (HTTP 500)"; the level only where
 * the document has `levels`. `cause` is why metatiles failed, or NULL. */
const char *tseed_ctl_progress(const tseed_node_t *task, const char *cause, apr_pool_t *pool);

/* "task 7 done: 341 tiles, 329 made, 12 skipped; ...": how it ended. */
const char *tseed_ctl_result(const tseed_node_t *task, apr_pool_t *pool);

/* Whether the task waits for the disk quota, or for room on the disk. */
int tseed_ctl_is_at_quota(const tseed_node_t *task);

#endif
