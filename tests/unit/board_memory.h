/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Memory of a board. */
#ifndef BOARD_MEMORY_H
#define BOARD_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "board/tseed_board_layout.h"
#include "pool_fixture.h"

/* An empty board of so many slots of tasks and workers; free its segment. */
static inline tseed_board_t *make_board(unsigned slots, unsigned workers)
{
    const size_t size = (tseed_board_size(slots, workers) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);

    memset(memory, 0, size);
    return tseed_board_init(memory, slots, workers, pool);
}

#endif
