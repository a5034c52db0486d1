/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruned tiles that are answered from memory. Main thread only. */
#ifndef TSEED_PRUNED_TILES_H
#define TSEED_PRUNED_TILES_H

#include "books/tseed_prune.h"
#include "seeder/tseed_miss.h"

/* Answers requests for pruned tiles of a layer that never writes them, and requests that want no
 * other tiles than pruned ones. `run` and `position`: of the tile. Returns 1 if the request has its
 * answer, and `end` is closed; 0 if the tile is to be made. */
int tseed_pruned_tiles_answer(tseed_prune_t *prune, const tseed_question_t *question,
                              tseed_run_t *run, int64_t position, int end);

#endif
