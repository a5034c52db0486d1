/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Gauges on the board: how the upstreams and the disk quota are doing.
 *
 * Each gauge is a pair (board/tseed_pair.h). The seeder alone writes gauges, and only those that
 * have changed; children read them without a lock. The gauges of upstreams are numbered in the
 * order in which the seeder asked them first. They go when a seeder begins.
 */
#ifndef TSEED_GAUGES_H
#define TSEED_GAUGES_H

#include "board/tseed_board.h"
#include "protocol/tseed_gauge.h"

/* Upstreams that the board has room for. Those beyond are not shown. */
#define TSEED_GAUGES_UPSTREAMS 256

/* Shows an upstream from now on; number < TSEED_GAUGES_UPSTREAMS, and no number is left out. Writes
 * nothing when the board shows that already. Seeder, main thread. */
void tseed_gauges_upstream_set(tseed_board_t *board, unsigned number,
                               const tseed_upstream_gauge_t *gauge);

/* Shows the disk quota. Seeder, main thread. */
void tseed_gauges_quota_set(tseed_board_t *board, const tseed_quota_gauge_t *gauge);

/* Shows the quota configuration that is in force. Seeder, main thread. */
void tseed_gauges_rule_set(tseed_board_t *board, const tseed_quota_rule_t *rule);

/* How many upstreams there are. Any process. */
unsigned tseed_gauges_upstreams(const tseed_board_t *board);

/* Copy a gauge; 0 if there is none, or if it can't be read just now. Texts end within their space
 * and a policy is one, whatever stands there. Any process. */
int tseed_gauges_upstream_get(const tseed_board_t *board, unsigned number,
                              tseed_upstream_gauge_t *gauge);
int tseed_gauges_quota_get(const tseed_board_t *board, tseed_quota_gauge_t *gauge);
int tseed_gauges_rule_get(const tseed_board_t *board, tseed_quota_rule_t *rule);

#endif
