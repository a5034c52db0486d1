/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Heat: sums of weights as logarithms. */
#include "quota/tseed_heat.h"

#include <math.h>

#define HALF_LIFE (7 * 86400.0) /* seconds */
#define LANDMARK  1577836800.0  /* 2020-01-01T00:00:00Z */
#define STEPS     (1 << 20)     /* of a power of two */

/* The logarithm of what one use at `now` counts. Before the landmark it is as good as at it. */
static double weight(int64_t now)
{
    double age = ((double)now - LANDMARK) / HALF_LIFE;

    return age > 0 ? age : 0;
}

tseed_heat_t tseed_heat_add(tseed_heat_t heat, int64_t uses, int64_t now)
{
    double old = (double)heat / STEPS, more, steps;

    if (uses <= 0) {
        return heat;
    }
    more = weight(now) + log2((double)uses);
    if (heat > 0) {
        more = fmax(old, more) + log2(1 + exp2(-fabs(old - more)));
    }
    steps = more * STEPS + 0.5;
    if (steps >= UINT32_MAX) {
        return UINT32_MAX;
    }
    return steps < 1 ? 1 : (tseed_heat_t)steps;
}

double tseed_heat_uses(tseed_heat_t heat, int64_t now)
{
    return heat ? exp2((double)heat / STEPS - weight(now)) : 0;
}
