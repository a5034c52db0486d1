/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How often pages of operators ask for overview.json: a hundred open pages cost httpd no more than
 * forty. Polls are counted by periods of ten seconds. When more than 20 polls a second come, each
 * page is told to make a longer pause between its polls, of ten seconds at most. Children, any
 * thread, without a lock. */
#ifndef TSEED_POLLS_H
#define TSEED_POLLS_H

#include "board/tseed_board.h"

#define TSEED_POLLS_LEAST 2  /* seconds between two polls of a page while tasks run */
#define TSEED_POLLS_MOST  10 /* … and where there are very many pages */

/* Counts a poll. `now` is monotonic. Returns the seconds after which that page may ask again, from
 * TSEED_POLLS_LEAST to TSEED_POLLS_MOST whatever stands on the board. */
int tseed_polls_count(tseed_board_t *board, apr_time_t now);

#endif
