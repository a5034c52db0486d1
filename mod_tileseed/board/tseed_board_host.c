/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The hosts on the board. */
#include "board/tseed_board_host.h"

#include "board/tseed_board_layout.h"

#define TRIES 512 /* of a reader; the writer writes once a second */

void tseed_board_host_set(tseed_board_t *board, const tseed_board_host_t *host)
{
    tseed_segment_t *segment = board->segment;

    if (tseed_pair_show(&segment->host_turn, segment->host, host, TSEED_WORDS(*host))) {
        tseed_board_change(board);
    }
}

tseed_board_host_t tseed_board_host_get(const tseed_board_t *board)
{
    const tseed_segment_t *segment = board->segment;
    tseed_board_host_t host = {0};
    int tries = atomic_load(&segment->host_turn) ? TRIES : 0;

    while (tries > 0 &&
           !tseed_pair_read(&host, &segment->host_turn, segment->host, TSEED_WORDS(host))) {
        tries--;
    }
    host.active[sizeof(host.active) - 1] = '\0';
    return host;
}

int tseed_board_is_standby(const tseed_board_t *board)
{
    return tseed_board_seeder(board, NULL, NULL, NULL) == TSEED_SEEDER_STANDBY;
}

void tseed_board_clear(tseed_board_t *board)
{
    for (unsigned used = tseed_board_used(board); used > 0; used--) {
        if (!tseed_board_slot_is_free(tseed_board_slot_at(board, used - 1))) {
            tseed_board_slot_release(board, (int)used - 1);
        }
    }
    for (unsigned trace = tseed_traces_used(board); trace > 0; trace--) {
        tseed_trace_end(board, trace);
    }
}
