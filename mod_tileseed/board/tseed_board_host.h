/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the board says of the hosts that share the state database: which one works. A
 * seeder that has the database for itself says nothing. */
#ifndef TSEED_BOARD_HOST_H
#define TSEED_BOARD_HOST_H

#include "board/tseed_board.h"
#include "protocol/tseed_host_document.h"

typedef struct {
    int64_t tenure; /* of the seeder's role: what the board says of tasks is of that tenure; 0: the
                     * database has one host */
    char active[TSEED_HOST_NAME_MAX + 1]; /* who works; "": nobody, or nobody else can */
} tseed_board_host_t;

/* Says it. Seeder, main thread. */
void tseed_board_host_set(tseed_board_t *board, const tseed_board_host_t *host);

/* Reads what was said last; all 0 before. Any process and thread. */
tseed_board_host_t tseed_board_host_get(const tseed_board_t *board);

/* Whether this host stands by: it has no tasks on the board, and the database knows them all. Any
 * process and thread. */
int tseed_board_is_standby(const tseed_board_t *board);

/* Forgets all tasks and traces on the board. Seeder, main thread. */
void tseed_board_clear(tseed_board_t *board);

#endif
