/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Ghosts: how hot pages were that are gone, so that one which comes back does not begin anew: a
 * page that is read now and then, but not often enough to stay, would never be seen to be read more
 * than once. A table of fixed size; of two that meet in a place the hotter one stays. Private to
 * the quota room. The seeder's main thread. */
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
