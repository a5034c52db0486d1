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

#include "board/tseed_board_layout.h"
#include "pool_fixture.h"

static tseed_board_t *board;

static inline int setup(void **state)
{
    size_t size = (tseed_board_size(4, 2) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);

    setup_group(state);
    memset(memory, 0, size);
    board = tseed_board_init(memory, 4, 2, pool);
    return 0;
}

static inline int teardown(void **state)
{
    free(board->segment);
    return teardown_group(state);
}

#endif
