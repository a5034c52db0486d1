/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parent's part: the board and the doorbell, which outlive generations, and the seeder, which
 * the parent starts and watches.
 *
 * Everything here runs in the httpd parent, except seeder_main, the seeder's first function.
 */
#ifndef MOD_TILESEED_SUPERVISE_H
#define MOD_TILESEED_SUPERVISE_H

#include <httpd.h>

#include "board/tseed_board.h"
#include "protocol/tseed_settings.h"

/* The board, or NULL if there is none. Any process of this generation. */
tseed_board_t *tseed_supervise_board(void);

/* Whether this process has the configuration in force: a child that a graceful restart has left
 * behind has not. */
int tseed_supervise_is_newest(void);

/* Whether the seeder has given a sign of life in the last ten seconds. Any process of this
 * generation. */
int tseed_supervise_responds(void);

/* Tells the seeder that something has been committed. Any process; never blocks. */
void tseed_supervise_ring(void);

/* Where a request thread asks the seeder for a missing tile (work/tseed_miss.h); -1: nowhere. */
int tseed_supervise_miss_socket(void);

#endif
