/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How fast a run gets on, for those who watch it. Main thread only. */
#ifndef TSEED_RATE_H
#define TSEED_RATE_H

#include "usage/tseed_display.h"

/* Takes the rate once a tick: tiles in 1000 s, as a mean in which older ticks count less, so that
 * the rate soon shows a break. Only the board shows the rate: `dirty` stays as it was, because a
 * rate alone is nothing to save. now: monotonic. */
void tseed_rate_take(tseed_run_t *run, const tseed_display_t *display, apr_time_t now);

#endif
