/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What outlives a generation: the board's segment, the doorbell, the miss socket. These belong to
 * the process pool and are found again through retained data, so that the children of two
 * generations see one table. post_config of the real pass, parent. */
#ifndef MOD_TILESEED_RETAINED_H
#define MOD_TILESEED_RETAINED_H

#include <httpd.h>

#include "board/tseed_board.h"
#include "protocol/tseed_settings.h"

/* Finds the board of an earlier generation, or makes a new one: at the first start, and when
 * another build laid the board out. The new generation of the configuration is noted on the board.
 * NULL when there is no memory, which is logged. */
tseed_board_t *tseed_retained_board(uint64_t *generation, const tseed_settings_t *settings,
                                    server_rec *server, apr_pool_t *pconf);

/* The eventfd that children ring; -1: there is none. */
int tseed_retained_doorbell(server_rec *server);

/* One end of the miss socket (seeder/tseed_miss.h): 0 is the seeder's, 1 the children's. -1: there
 * is none. */
int tseed_retained_miss_socket(int end, int most, server_rec *server);

#endif
