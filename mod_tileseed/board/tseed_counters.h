/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Counters: what is counted for the metrics, on the board. protocol/tseed_metrics.h says what each
 * of them means.
 *
 *      names of layers and upstreams    parent         which number counts which of them
 *      requests for tiles, latencies    children       in stripes, see below
 *      everything else                  seeder         any of its threads
 *      readings of the present          seeder         main thread, a pair (tseed_pair.h)
 *
 * Counters are raised by one relaxed addition and never set back. They outlive seeders and
 * generations of children; httpd's start makes them 0. If a seeder is killed between an addition
 * and the record of what it has counted, the next seeder counts that metatile again: a metatile may
 * count twice, but none is lost.
 *
 * Children count in eight stripes, each on cache lines of its own, so that two of them rarely wait
 * for the same line. A reader adds the stripes up.
 *
 * Layers and upstreams have numbers: the parent gives them out before it forks and keeps them in
 * the configuration (`counted`), so nobody looks for a name while counting. A number stays with its
 * name as long as httpd runs, unless the table is full and the name is configured no more. Number 0
 * is all that have no number of their own.
 */
#ifndef TSEED_COUNTERS_H
#define TSEED_COUNTERS_H

#include "board/tseed_board.h"
#include "protocol/tseed_metrics.h"

/* Gives numbers to the layers and upstreams of a configuration. Parent, in post_config, before any
 * fork. */
void tseed_counters_enter(tseed_board_t *board, const tseed_catalog_t *catalog);

/* Counts a request for a tile. `took`: until its answer begins. `stripe` is any number that differs
 * between threads. Any thread of a child. */
void tseed_counters_request(tseed_board_t *board, unsigned layer, tseed_tile_outcome_t outcome,
                            apr_interval_time_t took, unsigned stripe);

/* Counts another request to a location of tiles: refused, or for a document. Any thread of a
 * child. */
void tseed_counters_service(tseed_board_t *board, tseed_tile_outcome_t outcome);

/* Tiles of one layer, by what became of them, and the bytes that were written. */
typedef struct {
    int64_t acts[TSEED_ACTS];
    int64_t bytes;
} tseed_counted_t;

/* Reads out of a task's progress what is counted of it. Any thread. */
tseed_counted_t tseed_counted_of(const tseed_progress_t *progress);

/* Counts what `now` has more than `*counted`, and notes `now` there. Seeder, any thread. */
void tseed_counters_tiles(tseed_board_t *board, unsigned layer, tseed_work_kind_t work,
                          tseed_counted_t *counted, const tseed_counted_t *now);

/* Counts a task that has ended. Seeder, any thread. */
void tseed_counters_end(tseed_board_t *board, tseed_task_type_t type, tseed_end_t end);

/* Notes that a seed or reseed of the layer has ended without a failure. Seeder, main thread. */
void tseed_counters_success(tseed_board_t *board, unsigned layer, apr_time_t now);

/* Counts an answer of an upstream, the time it took, and the bytes of its body. Seeder, any thread.
 */
void tseed_counters_reply(tseed_board_t *board, unsigned upstream, tseed_upstream_reply_t reply,
                          apr_interval_time_t took, uint64_t received);

/* Counts something without a label. Seeder, any thread. */
void tseed_counters_add(tseed_board_t *board, tseed_server_count_t count, int64_t more);

/* Shows what was measured. Seeder, main thread. */
void tseed_counters_readings_set(tseed_board_t *board, const tseed_readings_t *readings);

/* ---- reading; any process and thread ---- */

/* 0: nothing was measured yet, or it can't be read just now. */
int tseed_counters_readings(const tseed_board_t *board, tseed_readings_t *readings);

/* The counters of the server, of a layer, of an upstream. The name is the caller's to set. */
void tseed_counters_server(const tseed_board_t *board, tseed_server_counts_t *counts);
void tseed_counters_layer(const tseed_board_t *board, unsigned layer, tseed_layer_counts_t *counts);
void tseed_counters_upstream(const tseed_board_t *board, unsigned upstream,
                             tseed_upstream_counts_t *counts);

#endif
