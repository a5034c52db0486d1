/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A thread that beats for the seeder while its main thread does one long thing, such as reading a
 * database from a slow disk, or waits for a database server. It beats for a limited time. When the
 * main thread takes longer, the seeder counts as hung. */
#ifndef TSEED_HEARTBEAT_H
#define TSEED_HEARTBEAT_H

#include "board/tseed_board.h"

/* Most that one step of the main thread may take without a beat of its own. */
#define TSEED_LONGEST_STEP (600 * APR_USEC_PER_SEC)

typedef struct tseed_heartbeat_t tseed_heartbeat_t;

/* Begins to beat on the board, for `most` at the longest. The heartbeat lives until it is ended.
 * NULL: there is no thread for it, and the main thread must beat itself. Main thread. */
tseed_heartbeat_t *tseed_heartbeat_begin(tseed_board_t *board, apr_interval_time_t most);

/* Begins to beat whenever *waits is not 0, for TSEED_LONGEST_STEP since then (monotonic) at the
 * longest. The heartbeat lives until it is ended. NULL as above. Main thread. */
tseed_heartbeat_t *tseed_heartbeat_beside(tseed_board_t *board, const _Atomic int64_t *waits);

/* Ends a heartbeat, and returns when its thread has ended. NULL is fine. Main thread. */
void tseed_heartbeat_end(tseed_heartbeat_t *heartbeat);

#endif
