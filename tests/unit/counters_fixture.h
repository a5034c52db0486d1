/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A board for modules that count on it and show nothing. */
#ifndef COUNTERS_FIXTURE_H
#define COUNTERS_FIXTURE_H

#include "board/tseed_counters.h"
#include "pool_fixture.h"

static inline tseed_board_t *board_for_counters(void)
{
    char *memory = apr_pcalloc(pool, tseed_board_size(4, 2) + 64);

    return tseed_board_init(memory + (64 - (uintptr_t)memory % 64) % 64, 4, 2, pool);
}

#endif
