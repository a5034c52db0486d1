/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A board in memory of each test's own. */
#ifndef BOARD_FIXTURE_H
#define BOARD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "board_memory.h"

static tseed_board_t *board;

static inline int setup(void **state)
{
    setup_group(state);
    board = make_board(4, 2);
    return 0;
}

static inline int teardown(void **state)
{
    free(board->segment);
    return teardown_group(state);
}

#endif
