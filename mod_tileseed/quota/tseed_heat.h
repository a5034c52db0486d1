/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Heat: how often something was used, each use worth half as much a week later.
 *
 * Forward decay (Cormode, Shkapenyuk, Srivastava, Xu: Forward Decay, ICDE 2009): old uses do not
 * fade, but later uses count for more, 2 ^ (weeks since the landmark). So heats keep their order
 * while nothing happens, and need no pass that decays them. A heat is the binary logarithm of the
 * sum, in steps of 2 ^ -20; 32 bits last until 2098. Pure functions.
 */
#ifndef TSEED_HEAT_H
#define TSEED_HEAT_H

#include <stdint.h>

typedef uint32_t tseed_heat_t; /* greater is hotter; 0: never used */

/* The heat after so many uses more at `now`, seconds since 1970. */
tseed_heat_t tseed_heat_add(tseed_heat_t heat, int64_t uses, int64_t now);

/* How many uses at `now` the heat is worth. */
double tseed_heat_uses(tseed_heat_t heat, int64_t now);

#endif
