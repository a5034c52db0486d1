/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The pulse: the seeder's heartbeat while its main thread does one long thing, such as reading a
 * database from a slow disk. Trust has an end: when it takes too long after all, the seeder counts
 * as hung. */
#ifndef TSEED_HEARTBEAT_H
#define TSEED_HEARTBEAT_H

#include "board/tseed_board.h"

/* Most that one step of the main thread may take without a beat of its own. */
#define TSEED_LONGEST_STEP (600 * APR_USEC_PER_SEC)

typedef struct tseed_heartbeat_t tseed_heartbeat_t;

/* Begins to beat on the board, for `most` at the longest; the pulse lives until it is ended. NULL:
 * there is no thread for it, the main thread's own beats must do. Main thread. */
tseed_heartbeat_t *tseed_heartbeat_begin(tseed_board_t *board, apr_interval_time_t most);

/* Ends it, and returns when it does not beat any more. NULL is fine. */
void tseed_heartbeat_end(tseed_heartbeat_t *pulse);

#endif
