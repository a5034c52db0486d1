/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Ghosts: the heats of pages that are gone. A page that comes back gets its heat back. Without
 * ghosts a page that is read now and then, but not often enough to stay, would seem to be read only
 * once each time. A table of fixed size, with one slot for each print; when two pages share a slot
 * the hotter one stays. Private to the quota room. The seeder's main thread. */
#ifndef TSEED_GHOSTS_H
#define TSEED_GHOSTS_H

#include "quota/tseed_heat.h"

enum { TSEED_GHOSTS = 16384 };

typedef struct {
    uint64_t prints[TSEED_GHOSTS]; /* 0: a free place */
    tseed_heat_t heats[TSEED_GHOSTS];
} tseed_ghosts_t;

/* Remembers the heat of a page that goes. */
static inline void tseed_ghosts_put(tseed_ghosts_t *ghosts, uint64_t print, tseed_heat_t heat)
{
    uint64_t place = print % TSEED_GHOSTS;

    if (heat >= ghosts->heats[place]) {
        ghosts->prints[place] = print;
        ghosts->heats[place] = heat;
    }
}

/* 0: unknown. */
static inline tseed_heat_t tseed_ghosts_take(tseed_ghosts_t *ghosts, uint64_t print)
{
    uint64_t place = print % TSEED_GHOSTS;
    tseed_heat_t heat = 0;

    if (ghosts->prints[place] == print) {
        heat = ghosts->heats[place];
        ghosts->heats[place] = 0;
    }
    return heat;
}

#endif
