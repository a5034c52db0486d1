/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that remove or count: what a worker does in pages and levels without an answer. The worker
 * that has the job calls these. */
#ifndef TSEED_JOB_REMOVE_H
#define TSEED_JOB_REMOVE_H

#include "board/tseed_board.h"
#include "work/tseed_run.h"

/* Removes the wanted tiles, or renames their level away. The trace of the job on the board says
 * which tile is next. */
void tseed_job_remove(tseed_board_t *board, tseed_store_t *store, tseed_job_t *job);

/* Removes the shared files that no tile is a name of any more. */
void tseed_job_sweep(tseed_store_t *store, tseed_job_t *job);

/* Counts the wanted tiles, or the shared files of the tile set. */
void tseed_job_count(tseed_store_t *store, tseed_job_t *job);

#endif
